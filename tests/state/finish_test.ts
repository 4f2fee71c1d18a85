import assert from "node:assert/strict";
import {
  decide,
  type FlowRequest,
  type Handling,
  type StepResult,
  verdictOf,
} from "../../src/state/decide.ts";
import { type Finished, type FinishSettlement, settleFinish } from "../../src/state/finish.ts";
import type { ExecutionRow, NewExecution, WorkflowRow } from "../../src/state/records.ts";
import {
  at,
  BOOM,
  BOOM_COPY,
  EXECUTION_STATES,
  executionIn,
  newExecution,
  parsed,
  policyOf,
  TOKEN,
  WORKFLOW_STATES,
  workflowIn,
} from "./_rows.ts";
import { plain, resumable } from "./_situations.ts";

const NOW = at(500);
const NEXT = newExecution({ stepName: "mail", scheduledFor: at(60_500) });

interface Given {
  readonly result: StepResult;
  readonly resumable?: boolean;
  /** The step after this one; null: this is the last. */
  readonly following?: NewExecution | null;
}

/** What the engine hands to the store after a step that was claimed by `TOKEN`. */
function finishedOf(given: Given, execution: ExecutionRow): Finished {
  const base = given.resumable ? resumable() : plain();
  const ruling = decide(given.result, { ...base, execution, cursor: execution.cursor });
  const { then } = ruling;
  const following = given.following === undefined ? NEXT : given.following;
  const planned = then.to === "again"
    ? newExecution({ ...then, scheduledFor: new Date(NOW.getTime() + then.waitMs) })
    : following;
  const verdict = verdictOf(ruling, { stepName: "import", next: planned });
  return { ...verdict, executionId: "e1", workflowId: "w1", token: TOKEN };
}

type Written = Extract<FinishSettlement, { kind: "write" }>;

function settle(given: Given, workflow: WorkflowRow, row: Partial<ExecutionRow> = {}): Written {
  const cursor = given.resumable ? "8" : null;
  const execution = executionIn("in_progress", { cursor, ...row });
  const settled = settleFinish(finishedOf(given, execution), { workflow, execution }, NOW);
  assert.equal(settled.kind, "write");
  return settled as Written;
}

/** `completed/success/null, ready at mail, next mail`, as the table writes it. */
function inShort({ execution, workflow, next }: Written): string {
  const { state, outcome, cause } = execution;
  const pointer = workflow.nextStepName ?? "its end";
  return `${state}/${outcome}/${cause}, ${workflow.state} at ${pointer}, next ${
    next?.stepName ?? "none"
  }`;
}

function flow(request: FlowRequest): StepResult {
  return { kind: "flow", flow: request };
}
function thrown(action: "pause" | "cancel" | "skip" | "reattempt"): StepResult {
  const handling: Handling = { kind: "policy", policy: policyOf({ action }), cap: null, waitMs: 0 };
  return { kind: "error", phase: "body", error: BOOM, handling };
}

const REATTEMPT: FlowRequest = { action: "reattempt", waitMs: 60_000, rewind: false };
const INTERRUPTED: StepResult = { kind: "interrupted", reason: "paused", waitMs: 0 };
const CANCELED = "canceled/canceled/operator, canceled at import, next none";

/** Statement, what happened, and what is written while performing, and when paused meanwhile. */
const TABLE: readonly (readonly [string, Given, string, string])[] = [
  [
    "EXE-03 U15",
    { result: { kind: "completed" } },
    "completed/success/null, ready at mail, next mail",
    "completed/success/null, paused at mail, next none",
  ],
  [
    "SCH-07 U15 the last step",
    { result: { kind: "completed" }, following: null },
    "completed/success/null, finished at its end, next none",
    "completed/success/null, finished at its end, next none",
  ],
  [
    "FLW-01",
    { result: flow({ action: "cancel" }) },
    "canceled/canceled/flow_control, canceled at import, next none",
    "canceled/canceled/flow_control, canceled at import, next none",
  ],
  [
    "FLW-02",
    { result: flow({ action: "pause" }) },
    "canceled/canceled/flow_control, paused at import, next none",
    "canceled/canceled/flow_control, paused at import, next none",
  ],
  [
    "RES-28 a resumable step",
    { result: flow({ action: "pause" }), resumable: true },
    "completed/workflow_paused/flow_control, paused at import, next none",
    "completed/workflow_paused/flow_control, paused at import, next none",
  ],
  [
    "FLW-03 U15",
    { result: flow({ action: "skip" }) },
    "skipped/skipped/flow_control, ready at mail, next mail",
    "skipped/skipped/flow_control, paused at mail, next none",
  ],
  [
    "FLW-04 the last step",
    { result: flow({ action: "skip" }), following: null },
    "skipped/skipped/flow_control, finished at its end, next none",
    "skipped/skipped/flow_control, finished at its end, next none",
  ],
  [
    "FLW-05",
    { result: flow(REATTEMPT) },
    "completed/reattempted/flow_control, ready at import, next import",
    "completed/reattempted/flow_control, paused at import, next none",
  ],
  [
    "FLW-06 FLW-12",
    { result: flow({ action: "finish" }) },
    "completed/success/flow_control, finished at its end, next none",
    "completed/success/flow_control, finished at its end, next none",
  ],
  [
    "U14 EXE-19 a plain step",
    { result: INTERRUPTED },
    "completed/reattempted/interrupt, ready at import, next import",
    "canceled/canceled/operator, paused at import, next none",
  ],
  [
    "RES-15 RES-25 a resumable step",
    { result: INTERRUPTED, resumable: true },
    "completed/continued/interrupt, ready at import, next import",
    "completed/workflow_paused/operator, paused at import, next none",
  ],
  [
    "CND-01",
    { result: { kind: "precondition", action: "skip", why: "skip_if" } },
    "skipped/skipped/condition, ready at mail, next mail",
    "skipped/skipped/condition, paused at mail, next none",
  ],
  [
    "CND-07",
    { result: { kind: "precondition", action: "cancel", why: "cancel_if" } },
    "canceled/canceled/condition, canceled at import, next none",
    "canceled/canceled/condition, canceled at import, next none",
  ],
  [
    "EXC-01",
    { result: thrown("pause") },
    "failed/failed/exception, paused at import, next none",
    "failed/failed/exception, paused at import, next none",
  ],
  [
    "EXC-02",
    { result: thrown("cancel") },
    "failed/canceled/exception, canceled at import, next none",
    "failed/canceled/exception, canceled at import, next none",
  ],
  [
    "EXC-03",
    { result: thrown("skip") },
    "skipped/skipped/exception, ready at mail, next mail",
    "skipped/skipped/exception, paused at mail, next none",
  ],
  [
    "EXC-04",
    { result: thrown("reattempt") },
    "completed/reattempted/exception, ready at import, next import",
    "completed/reattempted/exception, paused at import, next none",
  ],
  [
    "HSK-08",
    { result: { kind: "recovered", action: "reattempt" } },
    "completed/recovered/recovery, ready at import, next import",
    "completed/recovered/recovery, paused at import, next none",
  ],
  [
    "HSK-09",
    { result: { kind: "recovered", action: "cancel" } },
    "canceled/recovered/recovery, canceled at import, next none",
    "canceled/recovered/recovery, canceled at import, next none",
  ],
];

for (const [ids, given, performing, paused] of TABLE) {
  const name = given.result.kind === "flow" ? `${given.result.flow.action}()` : given.result.kind;
  const what = `${ids}: ${name}, ${performing.split(",")[0]}`;

  Deno.test(`${what} is written as decided while the workflow performs`, () => {
    const written = settle(given, workflowIn("performing"));
    assert.equal(inShort(written), performing);
  });

  Deno.test(`EXT-27 ${what} schedules nothing when the workflow was paused meanwhile`, () => {
    // The pause left the running step in currentStepName.
    const written = settle(given, workflowIn("paused", { currentStepName: "import" }));
    assert.equal(inShort(written), paused);
  });

  Deno.test(`EXE-19 U17 RES-27 HSK-24 ${what} is canceled when the workflow was canceled meanwhile`, () => {
    const workflow = workflowIn("canceled");
    const written = settle(given, workflow);
    const expected = given.result.kind === "recovered"
      ? CANCELED.replace("canceled/canceled/operator", "canceled/recovered/recovery")
      : CANCELED;
    assert.equal(inShort(written), expected);
    assert.deepEqual(written.workflow, workflow, "an ended workflow never changes");
    assert.equal(written.execution.cursor, given.resumable ? "8" : null);
  });

  Deno.test(`EXE-20 AUD-06 AUD-08 ${what} leaves no running step, no claim and equal timestamps`, () => {
    for (const state of ["performing", "paused", "canceled"] as const) {
      const current = state === "canceled" ? null : "import";
      const { workflow, execution } = settle(
        given,
        workflowIn(state, { currentStepName: current }),
      );
      assert.equal(workflow.currentStepName, null);
      const { token, leaseUntil, wakeAt, finishedAt } = execution;
      assert.deepEqual({ token, leaseUntil, wakeAt, finishedAt }, {
        token: null,
        leaseUntil: null,
        wakeAt: null,
        finishedAt: NOW,
      });
      const ends = [execution.completedAt, execution.failedAt];
      ends.push(execution.canceledAt, execution.skippedAt);
      assert.deepEqual(ends.filter((end) => end !== null), [NOW]);
      const goesOn = workflow.state === "ready";
      assert.equal(workflow.transitionedAt === null, goesOn);
    }
  });
}

Deno.test("EXE-18 U2 U28 HSK-22 FLW-18 a finish without the claim, or without its rows, is lost and writes nothing", () => {
  const execution = executionIn("in_progress");
  const finished = finishedOf({ result: { kind: "completed" } }, execution);
  for (const state of WORKFLOW_STATES) {
    const workflow = workflowIn(state);
    for (const executionState of EXECUTION_STATES) {
      const row = executionIn(executionState, { token: "token-2" });
      const view = { workflow, execution: row };
      assert.deepEqual(settleFinish(finished, view, NOW), { kind: "lost" });
      if (executionState === "in_progress") continue;
      const stale = { workflow, execution: executionIn(executionState, { token: TOKEN }) };
      assert.deepEqual(settleFinish(finished, stale, NOW), { kind: "lost" });
    }
    assert.deepEqual(settleFinish(finished, { workflow, execution: null }, NOW), { kind: "lost" });
  }
  assert.deepEqual(settleFinish(finished, { workflow: null, execution }, NOW), { kind: "lost" });
});

Deno.test("U17 AUD-12 an error that comes after a cancel is stored whatever the policy, and nothing says it was reattempted", () => {
  for (const action of ["pause", "cancel", "skip", "reattempt"] as const) {
    const { execution } = settle({ result: thrown(action) }, workflowIn("canceled"));
    const { errorClass, errorMessage, errorStack } = execution;
    assert.deepEqual({ errorClass, message: errorMessage, stack: errorStack }, { ...BOOM });
    assert.deepEqual(parsed(execution.metadata), { exception: BOOM_COPY });
  }
});

Deno.test("AUD-10 AUD-12 the error columns are written for a failed step and stay empty for a reattempted one", () => {
  const failed = settle({ result: thrown("pause") }, workflowIn("performing")).execution;
  assert.deepEqual(
    [failed.errorClass, failed.errorMessage, failed.errorStack],
    [BOOM.errorClass, BOOM.message, BOOM.stack],
  );
  const again = settle({ result: thrown("reattempt") }, workflowIn("performing")).execution;
  assert.deepEqual(
    [again.errorClass, again.errorMessage, again.errorStack],
    [null, null, null],
  );
});
