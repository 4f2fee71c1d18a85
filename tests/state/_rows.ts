/**
 * Rows to decide about: consistent ones for every state, each field of which a test may replace.
 *
 * @module
 */

import type { Policy } from "../../src/define/definition.ts";
import type {
  ExecutionRow,
  ExecutionState,
  NewExecution,
  StoredError,
  WorkflowRow,
  WorkflowState,
} from "../../src/state/records.ts";
import type { SignalRow } from "../../src/state/signal.ts";

/** When everything in these tests begins. */
export const T0: Date = new Date("2026-03-01T12:00:00.000Z");

/** The instant so many milliseconds after the beginning. */
export function at(ms: number): Date {
  return new Date(T0.getTime() + ms);
}

export const WORKFLOW_STATES: readonly WorkflowState[] = [
  "ready",
  "performing",
  "paused",
  "finished",
  "canceled",
];

export const EXECUTION_STATES: readonly ExecutionState[] = [
  "scheduled",
  "in_progress",
  "completed",
  "failed",
  "canceled",
  "skipped",
];

/** The states in which an execution has ended. */
export const ENDED = ["completed", "failed", "canceled", "skipped"] as const;

export const TOKEN = "token-1";
export const LEASE_MS = 30_000;

/** The workflow of these tests, ready for its step "import". */
export function workflowRow(over: Partial<WorkflowRow> = {}): WorkflowRow {
  return {
    id: "w1",
    name: "onboarding",
    heroType: "User",
    heroId: "42",
    state: "ready",
    currentStepName: null,
    nextStepName: "import",
    allowMultiple: false,
    input: null,
    metadata: null,
    jobOptions: null,
    traceparent: null,
    startedAt: null,
    transitionedAt: null,
    createdAt: T0,
    updatedAt: T0,
    ...over,
  };
}

/** That workflow as it is in a state. */
export function workflowIn(state: WorkflowState, over: Partial<WorkflowRow> = {}): WorkflowRow {
  const goesOn = state === "ready" || state === "performing";
  return workflowRow({
    state,
    currentStepName: state === "performing" ? "import" : null,
    nextStepName: state === "finished" ? null : "import",
    startedAt: state === "ready" ? null : at(10),
    transitionedAt: goesOn ? null : at(20),
    ...over,
  });
}

/** The execution of these tests, scheduled and due at the beginning. */
export function executionRow(over: Partial<ExecutionRow> = {}): ExecutionRow {
  return {
    id: "e1",
    workflowId: "w1",
    seq: 1,
    stepName: "import",
    state: "scheduled",
    outcome: null,
    cause: null,
    attempt: 1,
    failures: 0,
    continuesFromId: null,
    cursor: null,
    progress: null,
    waitingFor: null,
    waitUntil: null,
    scheduledFor: T0,
    wakeAt: T0,
    token: null,
    leaseUntil: null,
    worker: null,
    startedAt: null,
    completedAt: null,
    failedAt: null,
    canceledAt: null,
    skippedAt: null,
    finishedAt: null,
    errorClass: null,
    errorMessage: null,
    errorStack: null,
    metadata: null,
    jobId: null,
    queue: "default",
    priority: 0,
    createdAt: T0,
    ...over,
  };
}

/** That execution as it is in a state. */
export function executionIn(
  state: ExecutionState,
  over: Partial<ExecutionRow> = {},
): ExecutionRow {
  if (state === "scheduled") return executionRow(over);
  if (state === "in_progress") {
    const leaseUntil = at(10 + LEASE_MS);
    return executionRow({
      state,
      token: TOKEN,
      worker: "worker-1",
      startedAt: at(10),
      leaseUntil,
      wakeAt: leaseUntil,
      ...over,
    });
  }
  const outcomes = {
    completed: "success",
    failed: "failed",
    canceled: "canceled",
    skipped: "skipped",
  } as const;
  return executionRow({
    state,
    outcome: outcomes[state],
    worker: "worker-1",
    startedAt: at(10),
    [`${state}At`]: at(20),
    finishedAt: at(20),
    wakeAt: null,
    ...over,
  });
}

/** An execution to be inserted. */
export function newExecution(over: Partial<NewExecution> = {}): NewExecution {
  return {
    stepName: "import",
    scheduledFor: T0,
    graceMs: 0,
    attempt: 1,
    failures: 0,
    continuesFromId: null,
    cursor: null,
    waitingFor: null,
    waitUntil: null,
    metadata: null,
    queue: "default",
    priority: 0,
    hold: null,
    ...over,
  };
}

/** A kept signal. */
export function signalRow(over: Partial<SignalRow> = {}): SignalRow {
  return {
    id: "s1",
    workflowId: "w1",
    name: "approved",
    payload: '{"by":"ann"}',
    idempotencyKey: null,
    sentAt: at(5),
    consumedById: null,
    ...over,
  };
}

/** A policy as a checked definition holds it. */
export function policyOf(over: Partial<Policy> = {}): Policy {
  return {
    kind: "policy",
    action: "pause",
    handler: null,
    matching: null,
    wait: null,
    maxReattempts: null,
    terminalAction: "pause",
    report: "always",
    ...over,
  };
}

/** What was thrown in these tests, as it is stored. */
export const BOOM: StoredError = {
  errorClass: "TimeoutError",
  message: "boom",
  stack: "TimeoutError: boom\n    at sync",
};

/** The copy of it that the metadata column gets. */
export const BOOM_COPY: Readonly<Record<string, unknown>> = {
  class: "TimeoutError",
  message: "boom",
  stack: ["TimeoutError: boom", "    at sync"],
};

/** The object in a metadata column that must have one. */
export function parsed(text: string | null): Record<string, unknown> {
  return JSON.parse(text ?? "null");
}
