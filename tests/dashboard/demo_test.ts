import assert from "node:assert/strict";
import { openShop } from "../../examples/dashboard/main.ts";

Deno.test("the demo opens a shop with a believable day, and closes it without a trace", async () => {
  const shop = await openShop({ port: 0, workflows: 300, actions: false, traffic: false });
  try {
    const data = await (await fetch(`${shop.url}json/overview`)).json();
    const names = data.definitions.map((one: { name: string }) => one.name);
    assert.deepEqual(names, [
      "catalogue_import",
      "erasure",
      "order_fulfilment",
      "refund",
      "welcome",
    ]);
    const sums = { ready: 0, paused: 0, finished: 0, canceled: 0 };
    for (const one of data.definitions) {
      for (const state of Object.keys(sums) as (keyof typeof sums)[]) sums[state] += one[state];
    }
    for (const [state, count] of Object.entries(sums)) assert.ok(count > 0, `${count} ${state}`);
    assert.ok(data.failures.length >= 2);
    const day = data.lastDay.filter((one: { completed: number }) => one.completed > 0);
    assert.ok(day.length > 60, `something ended in ${day.length} of 96 quarters of an hour`);
    assert.deepEqual(data.deployFindings, []);
    assert.ok(data.lagMs < 60_000, "nothing is overdue");

    const list = await (await fetch(`${shop.url}json/workflows?workflow=catalogue_import`)).json();
    const [running] = list.workflows;
    const one = await (await fetch(`${shop.url}json/workflows/${running.id}`)).json();
    const last = one.executions.at(-1);
    assert.equal(last.cursor, 112_500, "the import goes on where it was");
    assert.notEqual(last.continuesFromId, null);
  } finally {
    await shop.close();
  }
  await assert.rejects(fetch(shop.url));
});
