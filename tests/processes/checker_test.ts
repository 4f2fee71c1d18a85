/** The checker of the cluster must find what is wrong; here everything is made wrong on purpose. */

import assert from "node:assert/strict";
import { check, type Verdict } from "../../examples/cluster/checker.ts";
import { order } from "../../examples/cluster/order.ts";
import { memoryStore } from "../../drivers/memory/mod.ts";
import { createEngine, type Engine } from "../../mod.ts";
import { speedrunWorkflow } from "../../src/testing/mod.ts";

/** Two orders that ran as they should, and the journal of their bodies. */
async function twoOrders(): Promise<{ engine: Engine; journal: string[] }> {
  const journal: string[] = [];
  const definition = order({ visit: (line) => void journal.push(line), waitMs: 0 });
  const engine = createEngine({ store: memoryStore(), workflows: [definition] });
  for (let started = 0; started < 2; started++) {
    await speedrunWorkflow(await engine.start(definition));
  }
  return { engine, journal };
}

function broken({ promises }: Verdict): number[] {
  return promises.map((one) => one.broken.length);
}

const CALM = { crashes: false, kills: [] };
const text = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

Deno.test("the checker finds nothing in two orders that ran as they should", async () => {
  const { engine, journal } = await twoOrders();
  const verdict = await check(engine, 2, [text(journal)], CALM);
  assert.deepEqual(broken(verdict), [0, 0, 0, 0]);
  assert.deepEqual([verdict.bodies, verdict.recovered], [10, 0]);
  await engine.close();
});

Deno.test("the checker finds lost workflows, bodies that ran twice, and bodies that never ran", async () => {
  const { engine, journal } = await twoOrders();
  const [first, ...rest] = journal as [string, ...string[]];
  assert.deepEqual(broken(await check(engine, 3, [text(journal)], CALM)), [1, 1, 0, 0]);
  const twice = await check(engine, 2, [text(journal), text([first])], CALM);
  assert.deepEqual(broken(twice), [0, 2, 0, 0]);
  assert.match(twice.promises[1]?.broken[0] ?? "", /^the body of execution \S+ ran 2 times$/);
  assert.deepEqual(broken(await check(engine, 2, [text(rest)], CALM)), [0, 2, 0, 0]);
  // Half a line is what a kill leaves of a write that did not happen.
  assert.deepEqual(broken(await check(engine, 2, [`${text(rest)}${first}`], CALM)), [0, 2, 0, 0]);
  await engine.close();
});

Deno.test("the checker finds workflows that have not ended, and recoveries without a reason", async () => {
  const journal: string[] = [];
  const definition = order({ visit: (line) => void journal.push(line), waitMs: 0 });
  const store = memoryStore();
  const engine = createEngine({ store, workflows: [definition], leaseMs: 50, heartbeatMs: 10 });
  const run = await engine.start(definition);
  const execution = await run.currentExecution();
  const token = { now: new Date(0), token: "dead", worker: "dead", leaseMs: 1, ignoreDue: true };
  await store.claim([execution?.id ?? ""], token);
  await engine.housekeep();
  assert.equal((await run.history())[0]?.outcome, "recovered");
  // What follows the recovered execution has no outcome yet, which is a complaint by itself.
  assert.deepEqual(broken(await check(engine, 1, [text(journal)], CALM)), [1, 1, 2, 0]);
  const lost = { crashes: false, lostJobs: true, kills: [] };
  assert.deepEqual(broken(await check(engine, 1, [text(journal)], lost)), [1, 1, 1, 0]);
  const killed = { crashes: true, kills: [Date.now() - 60_000] };
  assert.deepEqual(broken(await check(engine, 1, [text(journal)], killed)), [1, 0, 1, 1]);
  await engine.close();
});
