import assert from "node:assert/strict";
import { InvalidStateError } from "../../src/errors.ts";
import {
  closeExecution,
  type Closing,
  dueAt,
  EXECUTION_TRANSITIONS,
  moveWorkflow,
  newExecutionRow,
  wakeAt,
  WORKFLOW_TRANSITIONS,
} from "../../src/state/transitions.ts";
import {
  at,
  ENDED,
  EXECUTION_STATES,
  executionIn,
  newExecution,
  T0,
  WORKFLOW_STATES,
  workflowIn,
} from "./_rows.ts";

const CLOSINGS: readonly Closing[] = [
  { state: "completed", outcome: "success", cause: null },
  { state: "completed", outcome: "reattempted", cause: "exception" },
  { state: "completed", outcome: "continued", cause: "interrupt" },
  { state: "completed", outcome: "workflow_paused", cause: "operator" },
  { state: "completed", outcome: "recovered", cause: "recovery" },
  { state: "failed", outcome: "failed", cause: "exception" },
  { state: "failed", outcome: "canceled", cause: "exception" },
  { state: "canceled", outcome: "canceled", cause: "flow_control" },
  { state: "skipped", outcome: "skipped", cause: "condition" },
];

Deno.test("EXE-27 AUD-02 an execution moves from scheduled anywhere, from in progress to an end, from an end nowhere", () => {
  assert.deepEqual(Object.keys(EXECUTION_TRANSITIONS), EXECUTION_STATES);
  assert.deepEqual([...EXECUTION_TRANSITIONS.scheduled].sort(), [...ENDED, "in_progress"].sort());
  assert.deepEqual([...EXECUTION_TRANSITIONS.in_progress].sort(), [...ENDED].sort());
  for (const state of ENDED) assert.deepEqual(EXECUTION_TRANSITIONS[state], []);
});

Deno.test("EXE-27 closing an execution that has ended is an InvalidStateError, for every pair of states", () => {
  for (const from of ENDED) {
    for (const closing of CLOSINGS) {
      assert.throws(() => closeExecution(executionIn(from), closing, at(30)), (error) => {
        assert.ok(error instanceof InvalidStateError);
        assert.equal(error.state, from);
        assert.equal(
          error.message,
          `Cannot move execution e1 from "${from}" to "${closing.state}": ` +
            `an execution that has ended never changes`,
        );
        return true;
      });
    }
  }
});

Deno.test("AUD-06 AUD-07 a closed execution has finishedAt equal to the one timestamp of its state, and no claim", () => {
  for (const from of ["scheduled", "in_progress"] as const) {
    for (const closing of CLOSINGS) {
      const row = executionIn(from, { cursor: "7", metadata: '{"a":1}', attempt: 3, failures: 2 });
      const now = at(30);
      const none = { completedAt: null, failedAt: null, canceledAt: null, skippedAt: null };
      assert.deepEqual(closeExecution(row, closing, now), {
        ...row,
        ...closing,
        ...none,
        [`${closing.state}At`]: now,
        finishedAt: now,
        wakeAt: null,
        token: null,
        leaseUntil: null,
      });
    }
  }
});

Deno.test("AUD-03 AUD-08 a workflow moves as its table says, and has transitionedAt when it does not go on", () => {
  assert.deepEqual(Object.keys(WORKFLOW_TRANSITIONS), WORKFLOW_STATES);
  for (const from of WORKFLOW_STATES) {
    for (const to of WORKFLOW_STATES) {
      const row = workflowIn(from);
      const move = { state: to, currentStepName: "sync", nextStepName: "sync" };
      if (from === "finished" || from === "canceled") {
        assert.throws(() => moveWorkflow(row, move, at(30)), (error) => {
          assert.ok(error instanceof InvalidStateError);
          assert.equal(error.state, from);
          assert.equal(
            error.message,
            `Cannot move workflow w1 from "${from}" to "${to}": ` +
              `a workflow that has ended never changes`,
          );
          return true;
        });
        continue;
      }
      const goesOn = to === "ready" || to === "performing";
      assert.deepEqual(moveWorkflow(row, move, at(30)), {
        ...row,
        state: to,
        currentStepName: "sync",
        nextStepName: to === "finished" ? null : "sync",
        transitionedAt: goesOn ? null : from === to ? row.transitionedAt : at(30),
        updatedAt: at(30),
      });
    }
  }
});

Deno.test("AUD-08 a workflow that stays paused keeps the time it was paused at", () => {
  const paused = workflowIn("paused", { transitionedAt: at(20) });
  const moved = moveWorkflow(paused, { ...paused, nextStepName: "sync" }, at(99));
  assert.deepEqual(moved.transitionedAt, at(20));
  assert.equal(moved.nextStepName, "sync");
});

Deno.test("SCH-03 NEW-05 an execution is due at its time; one that waits for a signal, when it is there or the waiting ends", () => {
  const cases = [
    { waitingFor: null, waitUntil: null, pending: false, due: at(5) },
    { waitingFor: null, waitUntil: null, pending: true, due: at(5) },
    { waitingFor: "approved", waitUntil: null, pending: false, due: null },
    { waitingFor: "approved", waitUntil: null, pending: true, due: at(5) },
    { waitingFor: "approved", waitUntil: at(9), pending: false, due: at(9) },
    { waitingFor: "approved", waitUntil: at(9), pending: true, due: at(5) },
  ];
  for (const { waitingFor, waitUntil, pending, due } of cases) {
    assert.deepEqual(dueAt({ scheduledFor: at(5), waitingFor, waitUntil }, pending), due);
  }
});

Deno.test("BLK-10 somebody looks at an execution at its due time plus the queue's grace, and never at one that is not due", () => {
  assert.deepEqual(wakeAt(at(5), 0), at(5));
  assert.deepEqual(wakeAt(at(5), 900_000), at(900_005));
  assert.equal(wakeAt(null, 900_000), null);
});

const PLACE = { id: "e9", workflowId: "w1", seq: 4, now: at(100), signalPending: false };

const UNTOUCHED = {
  outcome: null,
  cause: null,
  progress: null,
  completedAt: null,
  failedAt: null,
  canceledAt: null,
  skippedAt: null,
  finishedAt: null,
  errorClass: null,
  errorMessage: null,
  errorStack: null,
  jobId: null,
};

Deno.test("AUD-01 AUD-20 a new execution is scheduled, and nothing has happened to it", () => {
  const fresh = newExecution({
    scheduledFor: at(60_000),
    graceMs: 500,
    attempt: 2,
    failures: 1,
    continuesFromId: "e8",
    cursor: "5",
    metadata: '{"event":{}}',
    queue: "mail",
    priority: 10,
  });
  const { hold: _hold, graceMs: _graceMs, ...given } = fresh;
  assert.deepEqual(newExecutionRow(fresh, PLACE), {
    ...given,
    ...UNTOUCHED,
    id: "e9",
    workflowId: "w1",
    seq: 4,
    state: "scheduled",
    wakeAt: at(60_500),
    token: null,
    leaseUntil: null,
    worker: null,
    startedAt: null,
    createdAt: at(100),
  });
});

Deno.test("AUD-05 a new execution that comes with a hold is in progress, and wakes when the lease ends", () => {
  const hold = { token: "token-9", leaseMs: 30_000, worker: "worker-9" };
  const { hold: _hold, graceMs: _graceMs, ...given } = newExecution();
  assert.deepEqual(newExecutionRow(newExecution({ hold, graceMs: 500 }), PLACE), {
    ...given,
    ...UNTOUCHED,
    id: "e9",
    workflowId: "w1",
    seq: 4,
    state: "in_progress",
    wakeAt: at(30_100),
    token: "token-9",
    leaseUntil: at(30_100),
    worker: "worker-9",
    startedAt: at(100),
    createdAt: at(100),
  });
});

Deno.test("NEW-05 a new execution that waits for a signal is parked, unless the signal is there or the waiting ends", () => {
  const cases = [
    { waitUntil: null, signalPending: false, wakes: null },
    { waitUntil: null, signalPending: true, wakes: at(7) },
    { waitUntil: at(1_000), signalPending: false, wakes: at(1_007) },
    { waitUntil: at(1_000), signalPending: true, wakes: at(7) },
  ];
  for (const { waitUntil, signalPending, wakes } of cases) {
    const fresh = newExecution({ scheduledFor: T0, waitingFor: "approved", waitUntil, graceMs: 7 });
    const row = newExecutionRow(fresh, { ...PLACE, signalPending });
    assert.deepEqual(row.wakeAt, wakes);
    assert.equal(row.state, "scheduled");
    assert.equal(row.waitingFor, "approved");
    assert.deepEqual(row.waitUntil, waitUntil);
  }
});
