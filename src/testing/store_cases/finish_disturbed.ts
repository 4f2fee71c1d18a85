/**
 * Cases about `finish` when the workflow was paused or canceled while the body ran.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { StoreDriver } from "../../seams/store.ts";
import type { Finished, FinishResult } from "../../state/finish.ts";
import {
  after,
  assertSame,
  CLOSINGS,
  command,
  dueOptions,
  executionRow,
  expectKind,
  finished,
  LEASE_MS,
  newExecution,
  only,
  resume,
  stored,
} from "./_builders.ts";
import { type StoreCase, storeCase } from "./_case.ts";
import { bring } from "./_situations.ts";

const NOW = after(9_000);

/** Finishes the body of a workflow that was paused or canceled while it ran. */
async function finishLate(
  store: StoreDriver,
  state: "paused" | "canceled",
  verdict: Partial<Finished>,
): Promise<Extract<FinishResult, { kind: "done" }>> {
  const { executionId } = await bring(store, `${state} while running`);
  const execution = await executionRow(store, executionId);
  const beat = { executionId, token: "token-1", cursor: "[4]" };
  await store.checkpoint([beat], { now: after(8_000), leaseMs: LEASE_MS });
  const results = await store.finish([finished({ execution }, verdict)], { now: NOW });
  const done = expectKind(only(results), "done");
  assert.equal(done.next, null, "nothing is scheduled");
  assert.equal(done.job, null, "nothing is announced");
  const rows = await stored(store, done.workflow.id);
  assertSame(rows, { workflow: done.workflow, history: [done.execution], signals: [] });
  return done;
}

const second = newExecution({ stepName: "second", scheduledFor: NOW });

/** The cases about late finishes. */
export const disturbedCases: readonly StoreCase[] = [
  storeCase(
    "U15 a success under a pause counts, and the workflow stays paused before the next step",
    async (store) => {
      const done = await finishLate(store, "paused", { next: second });
      assertSame([done.execution.state, done.execution.outcome], ["completed", "success"]);
      const { state, nextStepName, currentStepName, transitionedAt } = done.workflow;
      assertSame([state, nextStepName, currentStepName], ["paused", "second", null]);
      assertSame(transitionedAt, after(2_000), "the pause is as old as it was");
    },
  ),

  storeCase(
    "U15 the resume after such a success schedules the next step and does not run the first again",
    async (store) => {
      const { workflow } = await finishLate(store, "paused", { next: second });
      const fresh = newExecution({ stepName: "second", scheduledFor: after(10_000) });
      const resumed = await command(store, workflow.id, resume({ expected: "second", fresh }), {
        now: after(10_000),
      });
      assert.equal(resumed.workflow.state, "ready");
      const active = await store.active(workflow.id);
      assert.equal(active?.stepName, "second");
      assert.equal(resumed.job?.executionId, active?.id);
    },
  ),

  storeCase("U15 the last step finishes its workflow even under a pause", async (store) => {
    const { workflow, execution } = await finishLate(store, "paused", {});
    assert.equal(workflow.state, "finished");
    assertSame(workflow.transitionedAt, NOW);
    assert.equal(execution.outcome, "success");
  }),

  storeCase("a step that cancels its workflow does so even under a pause", async (store) => {
    const verdict = { workflowState: "canceled" as const, nextStepName: "first" };
    const done = await finishLate(store, "paused", { closing: CLOSINGS.cancel, ...verdict });
    assert.equal(done.workflow.state, "canceled");
    assertSame(done.workflow.transitionedAt, NOW);
  }),

  storeCase(
    "a failure under a pause is a failure, and the workflow stays at its step",
    async (store) => {
      const done = await finishLate(store, "paused", {
        closing: CLOSINGS.failure,
        error: { errorClass: "TypeError", message: "It broke", stack: null },
        workflowState: "paused",
        nextStepName: "first",
      });
      assertSame([done.execution.state, done.execution.errorMessage], ["failed", "It broke"]);
      assertSame([done.workflow.state, done.workflow.nextStepName], ["paused", "first"]);
    },
  ),

  storeCase(
    "RES EXT-27 a resumable step that was interrupted by a pause keeps its cursor",
    async (store) => {
      const done = await finishLate(store, "paused", {
        closing: { state: "completed", outcome: "continued", cause: "interrupt" },
        keepCursor: true,
        next: newExecution({ cursor: "[4]", scheduledFor: NOW }),
      });
      const { state, outcome, cause, cursor } = done.execution;
      assertSame([state, outcome, cause, cursor], [
        "completed",
        "workflow_paused",
        "operator",
        "[4]",
      ]);
      assertSame([done.workflow.state, done.workflow.nextStepName], ["paused", "first"]);
    },
  ),

  storeCase(
    "EXE-19 EXT-27 what a body did for a canceled workflow is canceled with it",
    async (store) => {
      const { execution, workflow } = await finishLate(store, "canceled", { next: second });
      const { state, outcome, cause, canceledAt, completedAt, finishedAt } = execution;
      assertSame([state, outcome, cause], ["canceled", "canceled", "operator"]);
      assertSame([canceledAt, completedAt, finishedAt], [NOW, null, NOW]);
      assert.equal(execution.cursor, "[4]", "the position is kept for whoever looks");
      assert.equal(workflow.state, "canceled");
      assertSame(workflow.transitionedAt, after(2_000));
      assert.equal(workflow.currentStepName, null);
    },
  ),

  storeCase("U17 an error of a body whose workflow was canceled is stored", async (store) => {
    const error = { errorClass: "TypeError", message: "It broke", stack: "TypeError: It broke" };
    const verdict = { workflowState: "paused" as const, nextStepName: "first" };
    const done = await finishLate(store, "canceled", {
      closing: CLOSINGS.failure,
      error,
      ...verdict,
    });
    const { state, errorClass, errorMessage, errorStack } = done.execution;
    assertSame([state, errorClass, errorMessage, errorStack], [
      "canceled",
      error.errorClass,
      error.message,
      error.stack,
    ]);
    assert.equal(done.workflow.state, "canceled");
  }),

  storeCase(
    "HSK-24 HSK-09 the recovery of a canceled workflow closes the row and nothing else",
    async (store) => {
      const { workflowId } = await bring(store, "canceled while running");
      const before = await store.get(workflowId);
      const now = after(LEASE_MS);
      const taken = only(await store.claimDue(dueOptions({ token: "token-2", now })));
      const verdict = finished(taken, {
        closing: { state: "completed", outcome: "recovered", cause: "recovery" },
        next: newExecution({ scheduledFor: now }),
      });
      const done = expectKind(only(await store.finish([verdict], { now })), "done");
      const { state, outcome, cause } = done.execution;
      assertSame([state, outcome, cause], ["canceled", "recovered", "recovery"]);
      assert.equal(done.next, null);
      assertSame(
        [done.workflow.state, done.workflow.transitionedAt],
        [before?.state, before?.transitionedAt],
      );
      assert.equal(await store.active(workflowId), null);
    },
  ),
];
