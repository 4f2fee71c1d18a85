/**
 * Cases about leases: an ended one is taken over, once, and its old holder has lost.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  after,
  assertSame,
  assertUnchanged,
  claimOptions,
  dueOptions,
  finished,
  LEASE_MS,
  newExecution,
  only,
  start,
  startClaimed,
} from "./_builders.ts";
import { type StoreCase, storeCase } from "./_case.ts";
import { look, schedule } from "./_due.ts";
import { bring } from "./_situations.ts";

/** The cases about leases. */
export const leaseCases: readonly StoreCase[] = [
  storeCase("P3 HSK-10 a lease that has not ended is nobody else's", async (store) => {
    const { workflow } = await startClaimed(store);
    const claims = await assertUnchanged(
      store,
      workflow.id,
      () => store.claimDue(dueOptions({ token: "token-2", now: after(LEASE_MS - 1) })),
    );
    assertSame(claims, []);
  }),

  storeCase(
    "P3 HSK-08 HSK-21 an ended lease is taken over with a new token, and nothing else moves",
    async (store) => {
      const held = await startClaimed(store, { first: newExecution({ cursor: "7" }) });
      const now = after(LEASE_MS);
      const taken = only(
        await store.claimDue(dueOptions({ token: "token-2", worker: "two", now })),
      );
      assertSame(taken, {
        kind: "claimed",
        from: "in_progress",
        workflow: held.workflow,
        execution: {
          ...held.execution,
          token: "token-2",
          worker: "two",
          leaseUntil: after(2 * LEASE_MS),
          wakeAt: after(2 * LEASE_MS),
        },
        previous: { worker: held.execution.worker, leaseUntil: held.execution.leaseUntil },
      });
      assertSame(await store.getExecution(held.execution.id), taken.execution);
      assertSame(await store.claimDue(dueOptions({ token: "token-3", now })), []);
    },
  ),

  storeCase("U2 HSK-22 EXE-18 after a take-over the old token has lost", async (store) => {
    const held = await startClaimed(store);
    const now = after(LEASE_MS + 1);
    only(await store.claimDue(dueOptions({ token: "token-2", now })));
    const { workflow, execution } = held;
    await assertUnchanged(store, workflow.id, async () => {
      const beat = { executionId: execution.id, token: "token-1", cursor: "99" };
      assertSame(await store.checkpoint([beat], { now, leaseMs: LEASE_MS }), ["lost"]);
      const next = newExecution({ stepName: "second" });
      const results = await store.finish([finished(held, { next })], { now });
      assertSame(results, [{ kind: "lost" }]);
    });
    const beat = { executionId: execution.id, token: "token-2", cursor: "99" };
    assertSame(await store.checkpoint([beat], { now, leaseMs: LEASE_MS }), ["held"]);
  }),

  storeCase("U1 a checkpoint keeps a long execution from being taken over", async (store) => {
    const { execution } = await startClaimed(store);
    const beat = { executionId: execution.id, token: "token-1" };
    await store.checkpoint([beat], { now: after(20_000), leaseMs: LEASE_MS });
    assertSame(await look(store, { token: "token-2", now: after(49_999) }), []);
    assertSame(await look(store, { token: "token-3", now: after(50_000) }), ["first"]);
  }),

  storeCase(
    "a lease of an execution that was inserted claimed ends like any other",
    async (store) => {
      const hold = { token: "held", leaseMs: 1_000, worker: "worker-1" };
      await start(store, { first: newExecution({ hold }) });
      assertSame(await look(store, { now: after(999) }), []);
      const taken = only(await store.claimDue(dueOptions({ token: "token-2", now: after(1_000) })));
      assert.equal(taken.from, "in_progress");
      assert.equal(taken.execution.token, "token-2");
    },
  ),

  ...(["paused while running", "canceled while running"] as const).map((situation) =>
    storeCase(
      `HSK-24 a dead worker's execution is taken over when its workflow is ${situation}`,
      async (store) => {
        const { workflowId, executionId } = await bring(store, situation);
        const before = await store.get(workflowId);
        const options = dueOptions({ token: "token-2", now: after(LEASE_MS) });
        const taken = only(await store.claimDue(options));
        assert.equal(taken.from, "in_progress");
        assert.equal(taken.execution.id, executionId);
        assertSame(taken.workflow, before);
        assertSame(await store.get(workflowId), before);
      },
    )
  ),

  storeCase("scheduled executions and ended leases can be asked for one by one", async (store) => {
    await schedule(store, { dead: {} });
    assertSame(await look(store, { token: "token-1" }), ["dead"]);
    await schedule(store, { waiting: {} });
    const now = after(LEASE_MS);
    const options = { now, token: "token-2" };
    assertSame(await look(store, { ...options, state: "in_progress" }), ["dead"]);
    assertSame(await look(store, { ...options, state: "in_progress" }), []);
    assertSame(await look(store, { ...options, state: "scheduled" }), ["waiting"]);
    assertSame(await look(store, { ...options, state: "scheduled" }), []);
  }),

  storeCase("scheduled executions and ended leases come in one order", async (store) => {
    await schedule(store, { dead: { priority: 3 } });
    await look(store);
    await schedule(store, { "more urgent": { priority: 1 }, "less urgent": { priority: 5 } });
    const options = { token: "token-2", now: after(LEASE_MS) };
    assertSame(await look(store, options), ["more urgent", "dead", "less urgent"]);
  }),

  storeCase("a claim that is finished has no lease left to take over", async (store) => {
    const held = await startClaimed(store);
    await store.finish([finished(held)], { now: after(1) });
    const options = { ...claimOptions({ token: "token-2", now: after(LEASE_MS * 2) }), limit: 10 };
    assertSame(await store.claimDue(options), []);
  }),
];
