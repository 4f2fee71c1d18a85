/**
 * Every order of the operations of two workers, of a worker and an operator, and of a clock that
 * ends leases: never two bodies of one workflow under valid leases, and nothing recorded twice.
 */

import assert from "node:assert/strict";
import { memoryStore } from "../../drivers/memory/mod.ts";
import type { StoreDriver } from "../../mod.ts";
import { STORE_KINDS } from "../security/_stores.ts";
import { storeWith } from "../run/_doubles.ts";
import {
  type Act,
  checkpoint,
  claimFirst,
  command,
  finish,
  finishAndGoOn,
  orders,
  play,
  sweep,
  tick,
} from "./_scripts.ts";

type Scripts = readonly (readonly Act[])[];

/** The schedules, each of scripts that are made in every order. */
const SCHEDULES: Readonly<Record<string, Scripts>> = {
  "one job delivered twice": [
    [claimFirst, checkpoint, finishAndGoOn, finish],
    [claimFirst, checkpoint, finish],
    [tick, tick],
  ],
  "a delivery and a sweep": [
    [claimFirst, checkpoint, finishAndGoOn, finish],
    [sweep, finish, sweep, finish],
    [tick, tick],
  ],
  "two sweeps": [
    [sweep, checkpoint, finish],
    [sweep, finishAndGoOn, finish],
    [tick, tick, tick],
  ],
  "a worker and an operator who pauses": [
    [sweep, checkpoint, finishAndGoOn, finish],
    [command("pause"), command("resume"), command("pause")],
    [tick, tick],
  ],
  "a worker and an operator who skips and cancels": [
    [claimFirst, finish, sweep, finish],
    [command("pause"), command("skip"), command("resume"), command("cancel")],
    [tick],
  ],
};

function ordersOf(scripts: Scripts): number[][] {
  return [...orders(scripts.map((script) => script.length))];
}

Deno.test("orders() makes every order of the turns, each once", () => {
  assert.deepEqual([...orders([1, 1])], [[0, 1], [1, 0]]);
  const all = [...orders([4, 4, 2])];
  assert.equal(all.length, 3_150);
  assert.equal(new Set(all.map((one) => one.join(""))).size, all.length);
});

for (const [name, scripts] of Object.entries(SCHEDULES)) {
  Deno.test(`EXE-05 EXE-17 no order breaks a promise: ${name} (memory)`, async () => {
    for (const order of ordersOf(scripts)) await playOn(memoryStore(), scripts, order);
  });

  for (const kind of STORE_KINDS.filter((one) => one.name !== "memory")) {
    Deno.test({
      name: `EXE-05 EXE-17 no order breaks a promise: ${name} (${kind.name})`,
      ignore: !kind.isHere,
      async fn() {
        const bench = await kind.open();
        // A server takes milliseconds for what memory does in none: its schedules are shorter.
        const short = kind.isServer ? scripts.map((one) => one.slice(0, 2)) : scripts;
        try {
          for (const order of ordersOf(short)) {
            await bench.clear();
            await playOn(bench.store, short, order);
          }
        } finally {
          await bench.drop();
        }
      },
    });
  }
}

async function playOn(
  store: StoreDriver,
  scripts: Scripts,
  order: readonly number[],
): Promise<void> {
  try {
    await play(store, scripts, order);
  } catch (cause) {
    throw new Error(`In the order ${order.join(" ")}: ${(cause as Error).message}`, { cause });
  }
}

/** Stores that break a promise; the check is worth something only if it catches them. */
const BROKEN: Readonly<Record<string, (real: StoreDriver) => Partial<StoreDriver>>> = {
  "takes over leases that have not ended": (real) => ({
    claimDue: (options) => {
      const later = new Date(options.now.getTime() + 10);
      return real.claimDue({ ...options, now: later });
    },
  }),
  "closes an execution for whoever asks": (real) => ({
    async finish(batch, options) {
      const rows = await Promise.all(batch.map((one) => real.getExecution(one.executionId)));
      const forced = batch.map((one, at) => ({ ...one, token: rows[at]?.token ?? one.token }));
      return await real.finish(forced, options);
    },
  }),
  "tells a worker that lost its claim that it holds it": (real) => ({
    async checkpoint(batch, options) {
      await real.checkpoint(batch, options);
      return batch.map(() => "held" as const);
    },
  }),
  "answers done without writing": (real) => ({
    async finish(batch, options) {
      const results = await real.finish(batch.slice(1), options);
      const [first] = batch;
      const [workflow, execution] = await Promise.all([
        real.get(first?.workflowId ?? ""),
        real.getExecution(first?.executionId ?? ""),
      ]);
      assert.ok(workflow !== null && execution !== null);
      const done = { ...execution, outcome: "success" as const };
      return [{ kind: "done", workflow, execution: done, next: null, job: null }, ...results];
    },
  }),
};

for (const [name, change] of Object.entries(BROKEN)) {
  Deno.test(`the schedules catch a store that ${name}`, async () => {
    let caught = 0;
    for (const scripts of Object.values(SCHEDULES)) {
      for (const order of ordersOf(scripts)) {
        await play(storeWith(memoryStore(), change), scripts, order).catch(() => caught++);
      }
    }
    assert.ok(caught > 0);
  });
}
