/**
 * Cases about `finish`: how an execution closes, and who may not close it.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  after,
  assertSame,
  assertUnchanged,
  CLOSINGS,
  executionRow,
  finish,
  finished,
  LEASE_MS,
  newExecution,
  NO_IDS,
  start,
  startClaimed,
  T0,
} from "./_builders.ts";
import { type StoreCase, storeCase } from "./_case.ts";
import { bring } from "./_situations.ts";

const NOW = after(1_000);

const STAMPS = {
  success: "completedAt",
  failure: "failedAt",
  cancel: "canceledAt",
  skip: "skippedAt",
} as const;

const closingCases: readonly StoreCase[] = [
  ...(["success", "failure", "cancel", "skip"] as const).map((how) =>
    storeCase(
      `AUD-02 AUD-04 AUD-06 P4 an execution that ended by ${how} says so, and when`,
      async (store) => {
        const claimed = await startClaimed(store);
        const closing = CLOSINGS[how];
        await finish(store, finished(claimed, { closing }));
        const row = await executionRow(store, claimed.execution.id);
        assertSame([row.state, row.outcome, row.cause], [
          closing.state,
          closing.outcome,
          closing.cause,
        ]);
        for (const stamp of Object.values(STAMPS)) {
          assertSame(row[stamp], stamp === STAMPS[how] ? NOW : null, stamp);
        }
        assertSame(row.finishedAt, NOW);
        assertSame(row.startedAt, T0);
        assert.equal(row.worker, "worker-1");
      },
    )
  ),

  storeCase(
    "AUD-12 EXT-31 a failure keeps its error and pauses the workflow at its step",
    async (store) => {
      const claimed = await startClaimed(store);
      const error = { errorClass: "TypeError", message: "It broke", stack: "TypeError: It broke" };
      const metadata = '{"exception":{"class":"TypeError"}}';
      const done = await finish(
        store,
        finished(claimed, {
          closing: CLOSINGS.failure,
          error,
          metadata,
          workflowState: "paused",
          nextStepName: "first",
        }),
      );
      const row = await executionRow(store, claimed.execution.id);
      assertSame(row, done.execution);
      assertSame(
        [row.errorClass, row.errorMessage, row.errorStack, row.metadata],
        [error.errorClass, error.message, error.stack, metadata],
      );
      const { state, nextStepName, currentStepName, transitionedAt } = done.workflow;
      assertSame([state, nextStepName, currentStepName, transitionedAt], [
        "paused",
        "first",
        null,
        NOW,
      ]);
      assertSame(await store.get(claimed.workflow.id), done.workflow);
      assert.equal(await store.active(claimed.workflow.id), null);
    },
  ),

  storeCase("a step can cancel its workflow, which keeps its pointer", async (store) => {
    const claimed = await startClaimed(store);
    const verdict = { workflowState: "canceled" as const, nextStepName: "first" };
    const done = await finish(store, finished(claimed, { closing: CLOSINGS.cancel, ...verdict }));
    const { state, nextStepName, transitionedAt } = done.workflow;
    assertSame([state, nextStepName, transitionedAt], ["canceled", "first", NOW]);
    assertSame(await store.get(claimed.workflow.id), done.workflow);
  }),

  storeCase("CND-12 an execution whose body never started shows no start", async (store) => {
    const claimed = await startClaimed(store);
    await finish(store, finished(claimed, { closing: CLOSINGS.skip, bodyStarted: false }));
    const row = await executionRow(store, claimed.execution.id);
    assert.equal(row.startedAt, null);
    assertSame(row.finishedAt, NOW);
  }),

  ...[true, false].map((keepCursor) =>
    storeCase(
      `P6 a cursor is ${keepCursor ? "kept" : "cleared"} at the end as the verdict says`,
      async (store) => {
        const claimed = await startClaimed(store);
        const beat = { executionId: claimed.execution.id, token: "token-1", cursor: "[7]" };
        await store.checkpoint([beat], { now: NOW, leaseMs: LEASE_MS });
        await finish(store, finished(claimed, { keepCursor }));
        const row = await executionRow(store, claimed.execution.id);
        assert.equal(row.cursor, keepCursor ? "[7]" : null);
      },
    )
  ),

  storeCase("progress stays on the closed row", async (store) => {
    const claimed = await startClaimed(store);
    const progress = { done: 2, total: 2, message: null };
    const beat = { executionId: claimed.execution.id, token: "token-1", progress };
    await store.checkpoint([beat], { now: NOW, leaseMs: LEASE_MS });
    await finish(store, finished(claimed));
    assertSame((await executionRow(store, claimed.execution.id)).progress, progress);
  }),
];

const lostCases: readonly StoreCase[] = [
  storeCase("EXE-18 a stale token has lost and writes nothing", async (store) => {
    const claimed = await startClaimed(store);
    const next = newExecution({ stepName: "second" });
    for (const token of ["token-0", "TOKEN-1", ""]) {
      const results = await assertUnchanged(
        store,
        claimed.workflow.id,
        () => store.finish([finished(claimed, { token, next })], { now: NOW }),
      );
      assertSame(results, [{ kind: "lost" }]);
    }
  }),

  storeCase("an execution that nobody has claimed cannot be finished", async (store) => {
    const { workflow, execution } = await start(store);
    const results = await assertUnchanged(
      store,
      workflow.id,
      () => store.finish([finished({ execution }, { token: "token-1" })], { now: NOW }),
    );
    assertSame(results, [{ kind: "lost" }]);
  }),

  storeCase("HSK-22 a second finish has lost", async (store) => {
    const claimed = await startClaimed(store);
    await finish(store, finished(claimed));
    const results = await assertUnchanged(
      store,
      claimed.workflow.id,
      () => store.finish([finished(claimed, { closing: CLOSINGS.failure })], { now: after(2_000) }),
    );
    assertSame(results, [{ kind: "lost" }]);
  }),

  storeCase("unknown and malformed ids cannot be finished", async (store) => {
    const claimed = await startClaimed(store);
    const batch = NO_IDS.flatMap((id) => [
      finished(claimed, { executionId: id, workflowId: id }),
      finished(claimed, { executionId: id }),
    ]);
    const results = await assertUnchanged(
      store,
      claimed.workflow.id,
      () => store.finish(batch, { now: NOW }),
    );
    assertSame(results, batch.map(() => ({ kind: "lost" })));
  }),

  storeCase("U28 a finish after its workflow was deleted has lost", async (store) => {
    const { workflowId, executionId } = await bring(store, "canceled while running");
    const row = await executionRow(store, executionId);
    await store.purge({ before: after(60_000), limit: 10 });
    const results = await store.finish([finished({ execution: row })], { now: after(61_000) });
    assertSame(results, [{ kind: "lost" }]);
    assert.equal(await store.get(workflowId), null);
  }),
];

/** The cases about how an execution closes. */
export const closingStoreCases: readonly StoreCase[] = [...closingCases, ...lostCases];
