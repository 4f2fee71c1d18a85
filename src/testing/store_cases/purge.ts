/**
 * Cases about `purge`: what has ended long ago goes, with all that belongs to it, and nothing else.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { StoreDriver } from "../../seams/store.ts";
import {
  after,
  assertSame,
  assertUnchanged,
  claim,
  command,
  executionRow,
  finish,
  finished,
  newExecution,
  newWorkflows,
  send,
  start,
  startClaimed,
  T0,
} from "./_builders.ts";
import { type StoreCase, storeCase } from "./_case.ts";
import { bring } from "./_situations.ts";

/** Starts a workflow of a name for a hero of its own, and cancels it at an instant. */
async function endedAt(store: StoreDriver, name: string, at: Date): Promise<string> {
  const { workflow } = await start(store, { name, heroId: `${name} ${at.getTime()}` });
  await command(store, workflow.id, { kind: "cancel" }, { now: at });
  return workflow.id;
}

async function remaining(store: StoreDriver): Promise<Set<string>> {
  return new Set((await store.list({}, { limit: 1_000 })).map((row) => row.id));
}

/** The cases about `purge`. */
export const purgeCases: readonly StoreCase[] = [
  storeCase(
    "HSK-01 HSK-07 AUD-19 an ended workflow goes with its executions and signals",
    async (store) => {
      const held = await startClaimed(store);
      const { id } = held.workflow;
      await send(store, id, {}, { now: after(10) });
      const again = newExecution({ continuesFromId: held.execution.id, cursor: "1" });
      const { next } = await finish(store, finished(held, { next: again }));
      const second = await claim(store, next?.id ?? "", { now: after(2_000), token: "token-2" });
      await finish(store, finished(second), { now: after(3_000) });
      const deleted = await store.purge({ before: after(3_001), limit: 10 });
      assertSame(deleted, { workflows: 1, executions: 2 });
      assert.equal(await store.get(id), null);
      assert.equal(await store.active(id), null);
      assertSame(await store.history(id, { limit: 10 }), []);
      assertSame(await store.signals(id), []);
      assert.equal(await store.getExecution(held.execution.id), null);
      assert.equal(await store.getExecution(second.execution.id), null);
      assertSame(await store.list({}, { limit: 10 }), []);
      assertSame(await store.counts(), []);
    },
  ),

  storeCase("purge() of an empty store deletes nothing", async (store) => {
    const deleted = await store.purge({ before: after(1), limit: 10 });
    assertSame(deleted, { workflows: 0, executions: 0 });
  }),

  storeCase("HSK-01 HSK-03 the end of a workflow decides, not its beginning", async (store) => {
    const before = await endedAt(store, "billing", after(4_999));
    const exactly = await endedAt(store, "billing", after(5_000));
    const later = await endedAt(store, "billing", after(5_001));
    const deleted = await store.purge({ before: after(5_000), limit: 10 });
    assertSame(deleted, { workflows: 1, executions: 1 });
    assertSame(await remaining(store), new Set([exactly, later]));
    assert.equal(await store.get(before), null);
  }),

  ...([
    "ready",
    "performing",
    "paused",
    "paused after a failure",
    "paused while running",
  ] as const).map((situation) =>
    storeCase(`HSK-04 a workflow that is ${situation} stays, however old`, async (store) => {
      const { workflowId } = await bring(store, situation);
      const deleted = await assertUnchanged(
        store,
        workflowId,
        () => store.purge({ before: after(1e11), limit: 10 }),
      );
      assertSame(deleted, { workflows: 0, executions: 0 });
    })
  ),

  storeCase("a workflow without executions is deleted too", async (store) => {
    await store.create(newWorkflows(2, { first: null }), { now: T0 });
    const deleted = await store.purge({ before: after(1), limit: 10 });
    assertSame(deleted, { workflows: 2, executions: 0 });
  }),

  storeCase("HSK-05 a limit is kept, and calls repeat until none is left", async (store) => {
    for (let at = 0; at < 5; at++) await endedAt(store, "billing", after(at));
    const kept = (await start(store)).workflow.id;
    const counts: number[] = [];
    for (let call = 0; call < 4; call++) {
      counts.push((await store.purge({ before: after(60_000), limit: 2 })).workflows);
    }
    assertSame(counts, [2, 2, 1, 0]);
    assertSame(await remaining(store), new Set([kept]));
  }),

  storeCase("definitions can be named, or excepted, or both", async (store) => {
    const ids: Record<string, string> = {};
    for (const name of ["a", "b", "c", "A"]) ids[name] = await endedAt(store, name, after(1));
    const base = { before: after(60_000), limit: 10 };
    const none = { workflows: 0, executions: 0 };
    assertSame(await store.purge({ ...base, names: [] }), none);
    assertSame(await store.purge({ ...base, names: ["d"] }), none);
    assertSame(await store.purge({ ...base, names: ["a"], exceptNames: ["a"] }), none);
    assertSame(await store.purge({ ...base, exceptNames: ["a", "b", "c", "A"] }), none);
    assert.equal((await store.purge({ ...base, names: ["a", "d"] })).workflows, 1);
    assert.equal((await store.purge({ ...base, exceptNames: ["c", "A"] })).workflows, 1);
    assertSame(await remaining(store), new Set([ids.c, ids.A]));
    assert.equal((await store.purge({ ...base, exceptNames: [] })).workflows, 2);
  }),

  storeCase("the limit counts over all definitions", async (store) => {
    for (const name of ["a", "b", "c"]) {
      for (let at = 0; at < 3; at++) await endedAt(store, name, after(at));
    }
    assert.equal((await store.purge({ before: after(60_000), limit: 5 })).workflows, 5);
    assert.equal((await remaining(store)).size, 4);
  }),

  storeCase("the history of those that stay is whole", async (store) => {
    const gone = await endedAt(store, "billing", after(1));
    const held = await startClaimed(store);
    await send(store, held.workflow.id);
    const next = newExecution({ stepName: "second" });
    await finish(store, finished(held, { next }), { now: after(5_000) });
    await assertUnchanged(
      store,
      held.workflow.id,
      () => store.purge({ before: after(60_000), limit: 10 }),
    );
    assert.equal(await store.get(gone), null);
  }),

  storeCase("the id of a deleted row never comes again", async (store) => {
    const { workflowId, executionId } = await bring(store, "canceled");
    await store.purge({ before: after(60_000), limit: 10 });
    const { workflow, execution } = await start(store);
    assert.notEqual(workflow.id, workflowId);
    assert.notEqual(execution.id, executionId);
  }),

  storeCase("U28 a body that runs on after its workflow was deleted has lost", async (store) => {
    const { executionId } = await bring(store, "canceled while running");
    const row = await executionRow(store, executionId);
    const deleted = await store.purge({ before: after(60_000), limit: 10 });
    assertSame(deleted, { workflows: 1, executions: 1 });
    const beat = { executionId, token: row.token ?? "", cursor: "1" };
    assertSame(await store.checkpoint([beat], { now: T0, leaseMs: 1 }), ["lost"]);
    const options = { token: "token-2", worker: "w", leaseMs: 1, limit: 10 };
    assertSame(await store.claimDue({ ...options, now: after(1e9) }), []);
  }),
];
