/**
 * Cases about `signal`: kept, counted once, matched to the execution that waits.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { StoreDriver } from "../../seams/store.ts";
import type { Claimed } from "../../state/claim.ts";
import {
  after,
  assertSame,
  assertUnchanged,
  claim,
  claimOptions,
  executionRow,
  finish,
  finished,
  newExecution,
  only,
  send,
  start,
  startClaimed,
  T0,
} from "./_builders.ts";
import { type StoreCase, storeCase } from "./_case.ts";
import { bring } from "./_situations.ts";

const NOW = after(3_000);

/** The event that a claimed execution has received. */
function eventOf({ execution }: Claimed): unknown {
  return JSON.parse(execution.metadata ?? "{}").event;
}

async function startWaiting(
  store: StoreDriver,
  over: Parameters<typeof newExecution>[0] = {},
): Promise<Awaited<ReturnType<typeof start>>> {
  return await start(store, { first: newExecution({ waitingFor: "approved", ...over }) });
}

const wakeCases: readonly StoreCase[] = [
  storeCase("NEW-05 a signal wakes the step that waits for it", async (store) => {
    const { workflow, execution } = await startWaiting(store, { queue: "mail", priority: 2 });
    const sent = await send(store, workflow.id, { payload: '{"by":"ann"}', graceMs: 40 });
    assertSame(sent.signal, {
      id: sent.signal.id,
      workflowId: workflow.id,
      name: "approved",
      payload: '{"by":"ann"}',
      idempotencyKey: null,
      sentAt: NOW,
      consumedById: null,
    });
    const executionId = execution.id;
    assertSame(sent.job, { executionId, runAt: T0, queue: "mail", priority: 2 });
    assertSame(await store.getExecution(executionId), { ...execution, wakeAt: after(3_040) });
    assertSame(await store.signals(workflow.id), [sent.signal]);
    assertSame(await store.get(workflow.id), workflow);
  }),

  storeCase("NEW-05 the claim hands the signal over, and it is used up", async (store) => {
    const { workflow, execution } = await startWaiting(store, {
      metadata: '{"chain":{"ranMs":1}}',
    });
    const { signal } = await send(store, workflow.id, { payload: '{"by":"ann"}' });
    const claimed = await claim(store, execution.id, { now: after(4_000) });
    assertSame(eventOf(claimed), {
      name: "approved",
      payload: '{"by":"ann"}',
      sentAt: NOW.toISOString(),
    });
    assertSame(JSON.parse(claimed.execution.metadata ?? "{}").chain, { ranMs: 1 });
    assert.equal(claimed.execution.waitingFor, null);
    assert.equal(claimed.execution.waitUntil, null);
    assertSame(await executionRow(store, execution.id), claimed.execution);
    assertSame(await store.signals(workflow.id), [
      { ...signal, consumedById: execution.id },
    ]);
  }),

  storeCase("NEW-05 the look at the table hands the signal over as well", async (store) => {
    const { workflow, execution } = await startWaiting(store);
    await send(store, workflow.id);
    const options = { ...claimOptions({ now: NOW }), limit: 10 };
    const claimed = only(await store.claimDue(options));
    assert.equal(claimed.execution.id, execution.id);
    assertSame(eventOf(claimed), {
      name: "approved",
      payload: null,
      sentAt: NOW.toISOString(),
    });
    assert.equal(only(await store.signals(workflow.id)).consumedById, execution.id);
  }),

  storeCase("NEW-05 a signal does not run a step before its time", async (store) => {
    const due = after(60_000);
    const { workflow, execution } = await startWaiting(store, { scheduledFor: due });
    const sent = await send(store, workflow.id, { graceMs: 5 });
    assertSame(sent.job?.runAt, due);
    assertSame((await executionRow(store, execution.id)).wakeAt, after(60_005));
    assertSame(await store.claim([execution.id], claimOptions({ now: NOW })), [
      { kind: "early", runAt: due },
    ]);
    await claim(store, execution.id, { now: due });
  }),

  storeCase("NEW-05 a signal ends a wait for a limited time before that time", async (store) => {
    const { workflow, execution } = await startWaiting(store, { waitUntil: after(90_000) });
    await send(store, workflow.id);
    const claimed = await claim(store, execution.id, { now: NOW });
    assert.notEqual(eventOf(claimed), undefined);
  }),

  storeCase(
    "NEW-05 a signal that is there when the time is up is still received",
    async (store) => {
      const { workflow, execution } = await startWaiting(store, { waitUntil: after(1_000) });
      await send(store, workflow.id);
      const claimed = await claim(store, execution.id, { now: after(9_000) });
      assert.notEqual(eventOf(claimed), undefined);
      assert.equal(only(await store.signals(workflow.id)).consumedById, execution.id);
    },
  ),

  storeCase(
    "a signal of another name wakes nobody, not even one that differs in case",
    async (store) => {
      const { workflow, execution } = await startWaiting(store);
      for (const name of ["rejected", "Approved", "approved "]) {
        assert.equal((await send(store, workflow.id, { name })).job, null);
      }
      assert.equal((await executionRow(store, execution.id)).wakeAt, null);
      assertSame(await store.claim([execution.id], claimOptions({ now: NOW })), [
        { kind: "early", runAt: null },
      ]);
      assert.equal((await store.signals(workflow.id)).length, 3);
    },
  ),

  storeCase("a signal to another workflow wakes nobody here", async (store) => {
    const { workflow } = await startWaiting(store);
    const other = await start(store, { heroId: "2" });
    await assertUnchanged(store, workflow.id, () => send(store, other.workflow.id));
  }),
];

const keptCases: readonly StoreCase[] = [
  ...(["ready", "performing", "paused", "paused while running"] as const).map((situation) =>
    storeCase(
      `NEW-05 NEW-07 a signal to a workflow that is ${situation} is kept and wakes nobody`,
      async (store) => {
        const { workflowId } = await bring(store, situation);
        const before = await store.history(workflowId, { limit: 10 });
        const sent = await send(store, workflowId);
        assert.equal(sent.job, null);
        assertSame(await store.signals(workflowId), [sent.signal]);
        assertSame(await store.history(workflowId, { limit: 10 }), before);
      },
    )
  ),

  storeCase(
    "NEW-07 a signal does not wake a step that waits in a paused workflow",
    async (store) => {
      const first = newExecution({ waitingFor: "approved" });
      const { workflowId, executionId } = await bring(store, "paused", { first });
      assert.equal((await send(store, workflowId)).job, null);
      assert.equal((await executionRow(store, executionId)).wakeAt, null);
    },
  ),

  storeCase(
    "NEW-05 a signal that came early is received by the step that waits for it later",
    async (store) => {
      const held = await startClaimed(store);
      await send(store, held.workflow.id, { payload: "7" }, { now: after(100) });
      const next = newExecution({ stepName: "second", waitingFor: "approved" });
      const done = await finish(store, finished(held, { next }));
      const claimed = await claim(store, done.next?.id ?? "", { now: NOW, token: "token-2" });
      assertSame(eventOf(claimed), {
        name: "approved",
        payload: "7",
        sentAt: after(100).toISOString(),
      });
    },
  ),

  storeCase("the oldest signal of a name is received first, and each only once", async (store) => {
    const held = await startClaimed(store);
    const { workflow } = held;
    await send(store, workflow.id, { payload: "1" }, { now: after(10) });
    await send(store, workflow.id, { payload: "0", name: "other" }, { now: after(10) });
    await send(store, workflow.id, { payload: "2" }, { now: after(10) });
    const payloads: unknown[] = [];
    let holder = held;
    for (const stepName of ["second", "third"]) {
      const next = newExecution({ stepName, waitingFor: "approved" });
      const done = await finish(store, finished(holder, { next }));
      assert.notEqual(done.job, null);
      holder = await claim(store, done.next?.id ?? "", { now: NOW, token: stepName });
      payloads.push((eventOf(holder) as { payload: string }).payload);
    }
    assertSame(payloads, ["1", "2"]);
    const next = newExecution({ stepName: "fourth", waitingFor: "approved" });
    const done = await finish(store, finished(holder, { next }));
    assert.equal(done.job, null, "there is no third signal");
  }),

  storeCase("a step that waits for nothing leaves the signals alone", async (store) => {
    const { workflow, execution } = await start(store);
    await send(store, workflow.id);
    const claimed = await claim(store, execution.id, { now: NOW });
    assert.equal(claimed.execution.metadata, null);
    assert.equal(only(await store.signals(workflow.id)).consumedById, null);
  }),

  storeCase("signals are listed oldest first", async (store) => {
    const { workflow } = await start(store);
    for (const [at, payload] of ["1", "2", "3", "4"].entries()) {
      await send(store, workflow.id, { payload }, { now: after(at < 2 ? 10 : 20) });
    }
    const payloads = (await store.signals(workflow.id)).map((signal) => signal.payload);
    assertSame(payloads, ["1", "2", "3", "4"]);
  }),
];

/** The cases about `signal`. */
export const signalCases: readonly StoreCase[] = [
  ...wakeCases,
  ...keptCases,
];
