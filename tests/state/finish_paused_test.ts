import assert from "node:assert/strict";
import type { Finished } from "../../src/state/finish.ts";
import { settleFinish } from "../../src/state/finish.ts";
import type { ExecutionRow, WorkflowRow } from "../../src/state/records.ts";
import { at, executionIn, newExecution, parsed, TOKEN, workflowIn } from "./_rows.ts";

const NOW = at(500);

const SUCCESS: Finished = {
  executionId: "e1",
  workflowId: "w1",
  token: TOKEN,
  closing: { state: "completed", outcome: "success", cause: null },
  error: null,
  metadata: null,
  keepCursor: false,
  bodyStarted: true,
  workflowState: "ready",
  nextStepName: "mail",
  next: newExecution({ stepName: "mail", scheduledFor: at(60_000) }),
};

function settle(
  finished: Partial<Finished>,
  workflow: WorkflowRow,
  execution: ExecutionRow = executionIn("in_progress", { cursor: "8" }),
): { workflow: WorkflowRow; execution: ExecutionRow; next: unknown } {
  const settled = settleFinish({ ...SUCCESS, ...finished }, { workflow, execution }, NOW);
  assert.equal(settled.kind, "write");
  return settled as Extract<typeof settled, { kind: "write" }>;
}

Deno.test("SCH-06 the next execution is inserted in the write that closes this one", () => {
  const { workflow, next } = settle({}, workflowIn("performing"));
  assert.equal(next, SUCCESS.next);
  assert.deepEqual(workflow, {
    ...workflowIn("performing"),
    state: "ready",
    currentStepName: null,
    nextStepName: "mail",
    updatedAt: NOW,
  });
});

Deno.test("EXE-01 AUD-15 when the next execution is inserted already claimed, the workflow goes on performing it", () => {
  const hold = { token: "token-2", leaseMs: 30_000, worker: "worker-1" };
  const held = newExecution({ stepName: "mail", hold });
  const { workflow, next } = settle({ next: held }, workflowIn("performing"));
  assert.equal(next, held);
  assert.deepEqual(workflow, {
    ...workflowIn("performing"),
    state: "performing",
    currentStepName: "mail",
    nextStepName: "mail",
    updatedAt: NOW,
  });
});

Deno.test("EXT-27 a claim that was to be kept on the next execution is not kept when the workflow was paused or canceled", () => {
  const hold = { token: "token-2", leaseMs: 30_000, worker: "worker-1" };
  for (const state of ["paused", "canceled"] as const) {
    const held = newExecution({ stepName: "mail", hold });
    const { workflow, next } = settle({ next: held }, workflowIn(state));
    assert.equal(next, null);
    assert.equal(workflow.state, state);
  }
});

Deno.test("CND-12 a body that never started leaves no startedAt", () => {
  for (const state of ["performing", "paused", "canceled"] as const) {
    assert.equal(settle({ bodyStarted: false }, workflowIn(state)).execution.startedAt, null);
    assert.deepEqual(settle({}, workflowIn(state)).execution.startedAt, at(10));
  }
});

Deno.test("RES-19 the cursor goes with a success, also when the workflow was paused meanwhile", () => {
  for (const state of ["performing", "paused"] as const) {
    assert.equal(settle({}, workflowIn(state)).execution.cursor, null);
    assert.equal(settle({ keepCursor: true }, workflowIn(state)).execution.cursor, "8");
  }
});

Deno.test("U15 SCH-04 AUD-08 what was to be scheduled is remembered with its time, and the pause keeps its own", () => {
  const paused = workflowIn("paused", { currentStepName: "import", transitionedAt: at(20) });
  const { workflow, execution } = settle({ metadata: '{"note":1}' }, paused);
  assert.deepEqual(parsed(execution.metadata), { note: 1, nextDueAt: at(60_000).toISOString() });
  assert.deepEqual(workflow, {
    ...paused,
    currentStepName: null,
    nextStepName: "mail",
    updatedAt: NOW,
  });
});

Deno.test("AUD-08 an end that comes after a pause is a transition of its own", () => {
  const paused = workflowIn("paused", { currentStepName: "import", transitionedAt: at(20) });
  const last = { workflowState: "finished", nextStepName: null, next: null } as const;
  const { workflow, execution } = settle(last, paused);
  assert.deepEqual(workflow.transitionedAt, NOW);
  assert.equal(execution.metadata, null);
});

Deno.test("RES-26 RES-31 the row of a step that is to run again shows where, so that a rewind survives a pause", () => {
  const again = {
    closing: { state: "completed", outcome: "reattempted", cause: "flow_control" },
    keepCursor: true,
    nextStepName: "import",
  } as const;
  for (const cursor of ["8", null]) {
    const next = newExecution({ stepName: "import", cursor, continuesFromId: "e1" });
    const { execution } = settle({ ...again, next }, workflowIn("paused"));
    assert.equal(execution.cursor, cursor);
  }
});

Deno.test("EXE-19 a workflow that is neither performing nor paused gets nothing scheduled and does not change", () => {
  for (const state of ["ready", "finished", "canceled"] as const) {
    const workflow = workflowIn(state);
    const settled = settle({}, workflow);
    assert.deepEqual(settled.workflow, workflow);
    assert.equal(settled.execution.state, "canceled");
    assert.equal(settled.next, null);
  }
});
