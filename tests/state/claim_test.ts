import assert from "node:assert/strict";
import { type ClaimIntent, judgeClaim, type Judgement } from "../../src/state/claim.ts";
import type { ExecutionState, WorkflowState } from "../../src/state/records.ts";
import type { SignalRow } from "../../src/state/signal.ts";
import {
  at,
  EXECUTION_STATES,
  executionIn,
  LEASE_MS,
  parsed,
  signalRow,
  T0,
  WORKFLOW_STATES,
  workflowIn,
} from "./_rows.ts";

/** A job of a queue asks at this instant. */
const DELIVERED: ClaimIntent = {
  now: at(100),
  token: "token-2",
  leaseMs: LEASE_MS,
  worker: "worker-2",
  takeOver: false,
};
/** The sweep asks, long after every lease has ended. */
const SWEEP: ClaimIntent = { ...DELIVERED, now: at(10 + LEASE_MS), takeOver: true };

function verdictOf(judgement: Judgement): string {
  return judgement.kind === "refuse" ? judgement.claim.kind : judgement.kind;
}

function claimed(judgement: Judgement): Extract<Judgement, { kind: "grant" }>["claimed"] {
  assert.equal(judgement.kind, "grant");
  return (judgement as Extract<Judgement, { kind: "grant" }>).claimed;
}

type Row = Readonly<Record<WorkflowState, string>>;
const TAKEN: Row = {
  ready: "taken",
  performing: "taken",
  paused: "taken",
  finished: "taken",
  canceled: "taken",
};
const GRANTED: Row = {
  ready: "grant",
  performing: "grant",
  paused: "grant",
  finished: "grant",
  canceled: "grant",
};

const BY_A_JOB: Readonly<Record<ExecutionState, Row>> = {
  scheduled: { ...TAKEN, ready: "grant", paused: "stop", finished: "stop", canceled: "stop" },
  in_progress: TAKEN,
  completed: TAKEN,
  failed: TAKEN,
  canceled: TAKEN,
  skipped: TAKEN,
};

const BY_THE_SWEEP: Readonly<Record<ExecutionState, Row>> = {
  ...BY_A_JOB,
  scheduled: { ...BY_A_JOB.scheduled, paused: "taken" },
  in_progress: GRANTED,
};

Deno.test("EXE-01 EXE-04 EXE-05 EXE-06 EXE-07 EXE-08 EXE-09 EXE-22 what a delivered job gets in every state of both rows", () => {
  for (const state of EXECUTION_STATES) {
    for (const workflowState of WORKFLOW_STATES) {
      const view = {
        workflow: workflowIn(workflowState),
        execution: executionIn(state),
        signal: null,
      };
      const expected = BY_A_JOB[state][workflowState];
      assert.equal(verdictOf(judgeClaim(view, DELIVERED)), expected, `${state}, ${workflowState}`);
      // A job never takes over, however long ago the lease ended: that is for the sweep.
      const late = { ...DELIVERED, now: at(10 * LEASE_MS) };
      assert.equal(verdictOf(judgeClaim(view, late)), expected, `${state}, ${workflowState}, late`);
    }
  }
});

Deno.test("HSK-08 HSK-23 HSK-24 what the sweep gets in every state of both rows", () => {
  for (const state of EXECUTION_STATES) {
    for (const workflowState of WORKFLOW_STATES) {
      const view = {
        workflow: workflowIn(workflowState),
        execution: executionIn(state),
        signal: null,
      };
      const expected = BY_THE_SWEEP[state][workflowState];
      assert.equal(verdictOf(judgeClaim(view, SWEEP)), expected, `${state}, ${workflowState}`);
    }
  }
});

Deno.test("HSK-10 the sweep takes over when the lease has ended, not a millisecond before", () => {
  const workflow = workflowIn("performing");
  const cases = [
    { leaseUntil: at(500), now: at(499), expected: "taken" },
    { leaseUntil: at(500), now: at(500), expected: "grant" },
    { leaseUntil: at(500), now: at(501), expected: "grant" },
  ];
  for (const { leaseUntil, now, expected } of cases) {
    const execution = executionIn("in_progress", { leaseUntil });
    const judgement = judgeClaim({ workflow, execution, signal: null }, { ...SWEEP, now });
    assert.equal(verdictOf(judgement), expected);
  }
});

Deno.test("a row that was set to in progress by hand, without a lease, is taken over when it wakes", () => {
  const cases = [
    { wakeAt: at(500), now: at(499), expected: "taken" },
    { wakeAt: at(500), now: at(500), expected: "grant" },
    { wakeAt: null, now: at(9e9), expected: "taken" },
  ];
  for (const { wakeAt, now, expected } of cases) {
    const edited = { leaseUntil: null, token: null, worker: null, startedAt: null, wakeAt };
    const view = {
      workflow: workflowIn("ready"),
      execution: executionIn("in_progress", edited),
      signal: null,
    };
    const judgement = judgeClaim(view, { ...SWEEP, now });
    assert.equal(verdictOf(judgement), expected);
    assert.equal(verdictOf(judgeClaim(view, { ...DELIVERED, now })), "taken");
    if (judgement.kind !== "grant") continue;
    const { workflow, execution, previous } = judgement.claimed;
    assert.deepEqual([workflow.state, workflow.currentStepName], ["performing", "import"]);
    assert.equal(execution.token, SWEEP.token);
    assert.deepEqual(previous, { worker: null, leaseUntil: null });
  }
});

Deno.test("EXE-01 AUD-05 AUD-09 AUD-15 a granted claim starts the execution and the workflow, and leaves nextStepName", () => {
  const workflow = workflowIn("ready", { startedAt: null });
  const execution = executionIn("scheduled", { cursor: "5", metadata: '{"a":1}', attempt: 2 });
  const judgement = judgeClaim({ workflow, execution, signal: null }, DELIVERED);
  assert.deepEqual(judgement, {
    kind: "grant",
    consume: null,
    claimed: {
      kind: "claimed",
      from: "scheduled",
      workflow: {
        ...workflow,
        state: "performing",
        currentStepName: "import",
        nextStepName: "import",
        startedAt: at(100),
        updatedAt: at(100),
      },
      execution: {
        ...execution,
        state: "in_progress",
        token: "token-2",
        worker: "worker-2",
        startedAt: at(100),
        leaseUntil: at(100 + LEASE_MS),
        wakeAt: at(100 + LEASE_MS),
      },
    },
  });
});

Deno.test("AUD-09 startedAt of a workflow stays at its first start", () => {
  const workflow = workflowIn("ready", { startedAt: at(1) });
  const view = { workflow, execution: executionIn("scheduled"), signal: null };
  assert.deepEqual(claimed(judgeClaim(view, DELIVERED)).workflow.startedAt, at(1));
});

Deno.test("U2 a take-over changes the token, the worker and the lease, and nothing else of either row", () => {
  for (const state of ["performing", "paused", "canceled"] as const) {
    const workflow = workflowIn(state);
    const execution = executionIn("in_progress", { cursor: "5" });
    assert.deepEqual(judgeClaim({ workflow, execution, signal: null }, SWEEP), {
      kind: "grant",
      consume: null,
      claimed: {
        kind: "claimed",
        from: "in_progress",
        workflow,
        execution: {
          ...execution,
          token: "token-2",
          worker: "worker-2",
          leaseUntil: at(10 + 2 * LEASE_MS),
          wakeAt: at(10 + 2 * LEASE_MS),
        },
        previous: { worker: execution.worker, leaseUntil: execution.leaseUntil },
      },
    });
  }
});

Deno.test("EXE-08 EXE-09 AUD-07 a job for a workflow that does not run cancels the execution", () => {
  for (const state of ["paused", "finished", "canceled"] as const) {
    for (const scheduledFor of state === "paused" ? [T0] : [T0, at(9_999)]) {
      const execution = executionIn("scheduled", { scheduledFor, metadata: '{"a":1}' });
      const view = { workflow: workflowIn(state), execution, signal: null };
      assert.deepEqual(judgeClaim(view, DELIVERED), {
        kind: "stop",
        state,
        execution: {
          ...execution,
          state: "canceled",
          outcome: "canceled",
          cause: "operator",
          canceledAt: at(100),
          finishedAt: at(100),
          wakeAt: null,
        },
      });
    }
  }
});

interface DueCase {
  readonly scheduledFor: Date;
  readonly waitUntil?: Date;
  readonly waits?: true;
  readonly signal?: SignalRow;
  readonly ignoreDue?: true;
  /** "grant", or when it says the execution is due. */
  readonly expected: "grant" | Date | null;
}

const DUE_CASES: readonly DueCase[] = [
  { scheduledFor: at(99), expected: "grant" },
  { scheduledFor: at(100), expected: "grant" },
  { scheduledFor: at(101), expected: at(101) },
  { scheduledFor: at(9_000), expected: at(9_000) },
  { scheduledFor: at(9_000), ignoreDue: true, expected: "grant" },
  { scheduledFor: T0, waits: true, expected: null },
  { scheduledFor: T0, waits: true, ignoreDue: true, expected: null },
  { scheduledFor: T0, waits: true, signal: signalRow(), expected: "grant" },
  { scheduledFor: at(101), waits: true, signal: signalRow(), expected: at(101) },
  { scheduledFor: at(101), waits: true, signal: signalRow(), ignoreDue: true, expected: "grant" },
  { scheduledFor: T0, waits: true, waitUntil: at(101), expected: at(101) },
  { scheduledFor: T0, waits: true, waitUntil: at(100), expected: "grant" },
  { scheduledFor: T0, waits: true, waitUntil: at(101), ignoreDue: true, expected: at(101) },
  { scheduledFor: T0, waits: true, waitUntil: at(101), signal: signalRow(), expected: "grant" },
  { scheduledFor: T0, waits: true, waitUntil: at(50), signal: signalRow(), expected: "grant" },
];

Deno.test("EXT-05 EXE-15 a job that comes early to a paused workflow leaves its execution for the resume", () => {
  const execution = executionIn("scheduled", { scheduledFor: at(101), wakeAt: null });
  for (const state of ["paused", "canceled", "finished"] as const) {
    const view = { workflow: workflowIn(state), execution, signal: null };
    const judgement = judgeClaim(view, DELIVERED);
    if (state === "paused") {
      assert.deepEqual(judgement, { kind: "refuse", claim: { kind: "early", runAt: null } });
    } else assert.equal(judgement.kind, "stop");
  }
});

Deno.test("EXE-15 NEW-05 TST-01 a job that comes early is told when to come again, and changes nothing", () => {
  for (const [index, given] of DUE_CASES.entries()) {
    const { scheduledFor, waitUntil = null, signal = null, ignoreDue, expected } = given;
    const waitingFor = given.waits ? "approved" : null;
    const execution = executionIn("scheduled", { scheduledFor, waitingFor, waitUntil });
    const view = { workflow: workflowIn("ready"), execution, signal };
    const judgement = judgeClaim(view, { ...DELIVERED, ignoreDue });
    if (expected === "grant") assert.equal(judgement.kind, "grant", `case ${index}`);
    else {
      const claim = { kind: "early", runAt: expected };
      assert.deepEqual(judgement, { kind: "refuse", claim }, `case ${index}`);
    }
  }
});

Deno.test("NEW-05 NEW-08 a claim consumes the signal it waited for and keeps it as the execution's event", () => {
  const signal = signalRow({ payload: '{"by":"ann"}', sentAt: at(5) });
  const execution = executionIn("scheduled", {
    waitingFor: "approved",
    waitUntil: at(50),
    metadata: '{"previousError":{"class":"E"}}',
  });
  const judgement = judgeClaim({ workflow: workflowIn("ready"), execution, signal }, DELIVERED);
  assert.equal(judgement.kind === "grant" && judgement.consume, signal);
  const granted = claimed(judgement).execution;
  assert.equal(granted.waitingFor, null);
  assert.equal(granted.waitUntil, null);
  assert.deepEqual(parsed(granted.metadata), {
    previousError: { class: "E" },
    event: { name: "approved", payload: '{"by":"ann"}', sentAt: at(5).toISOString() },
  });
});

Deno.test("NEW-05 a wait that ended without its signal is claimed still waiting, so that the step can time out", () => {
  const execution = executionIn("scheduled", { waitingFor: "approved", waitUntil: at(50) });
  const view = { workflow: workflowIn("ready"), execution, signal: null };
  const granted = claimed(judgeClaim(view, DELIVERED)).execution;
  assert.equal(granted.waitingFor, "approved");
  assert.equal(granted.metadata, null);
});
