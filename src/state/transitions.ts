/**
 * The two transition tables, and the only functions that move a row from one state to another.
 *
 * @module
 */

import { InvalidStateError } from "../errors.ts";
import type {
  Cause,
  ExecutionRow,
  ExecutionState,
  NewExecution,
  Outcome,
  WorkflowRow,
  WorkflowState,
} from "./records.ts";

/** Where an execution may go: scheduled to anywhere, in progress to an end, an end to nowhere. */
export const EXECUTION_TRANSITIONS: Readonly<Record<ExecutionState, readonly ExecutionState[]>> = {
  scheduled: ["in_progress", "completed", "failed", "canceled", "skipped"],
  in_progress: ["completed", "failed", "canceled", "skipped"],
  completed: [],
  failed: [],
  canceled: [],
  skipped: [],
};

/** Where a workflow may go; a state that stands in its own list may be entered again. */
export const WORKFLOW_TRANSITIONS: Readonly<Record<WorkflowState, readonly WorkflowState[]>> = {
  ready: ["ready", "performing", "paused", "finished", "canceled"],
  performing: ["performing", "ready", "paused", "finished", "canceled"],
  paused: ["ready", "performing", "paused", "finished", "canceled"],
  finished: [],
  canceled: [],
};

/** How an execution is closed. */
export interface Closing {
  /** The final state. */
  readonly state: Exclude<ExecutionState, "scheduled" | "in_progress">;
  /** The outcome. */
  readonly outcome: Outcome;
  /** What made it end so. */
  readonly cause: Cause | null;
}

/** Closes an execution: state, outcome, both timestamps, and the claim let go. */
export function closeExecution(row: ExecutionRow, closing: Closing, now: Date): ExecutionRow {
  if (!EXECUTION_TRANSITIONS[row.state].includes(closing.state)) {
    throw new InvalidStateError(
      `Cannot move execution ${row.id} from "${row.state}" to "${closing.state}": ` +
        `an execution that has ended never changes`,
      { state: row.state },
    );
  }
  return {
    ...row,
    state: closing.state,
    outcome: closing.outcome,
    cause: closing.cause,
    completedAt: closing.state === "completed" ? now : null,
    failedAt: closing.state === "failed" ? now : null,
    canceledAt: closing.state === "canceled" ? now : null,
    skippedAt: closing.state === "skipped" ? now : null,
    finishedAt: now,
    wakeAt: null,
    token: null,
    leaseUntil: null,
  };
}

/** Moves a workflow: state, pointers and the time of the transition. */
export function moveWorkflow(
  row: WorkflowRow,
  to: { state: WorkflowState; currentStepName: string | null; nextStepName: string | null },
  now: Date,
): WorkflowRow {
  if (!WORKFLOW_TRANSITIONS[row.state].includes(to.state)) {
    throw new InvalidStateError(
      `Cannot move workflow ${row.id} from "${row.state}" to "${to.state}": ` +
        `a workflow that has ended never changes`,
      { state: row.state },
    );
  }
  const goesOn = to.state === "ready" || to.state === "performing";
  return {
    ...row,
    state: to.state,
    currentStepName: to.currentStepName,
    nextStepName: to.state === "finished" ? null : to.nextStepName,
    transitionedAt: goesOn ? null : (row.state === to.state ? row.transitionedAt : now),
    updatedAt: now,
  };
}

/**
 * When an execution can run: its due time, or, while it waits for a signal that is not there, the
 * end of its waiting; null: not before a signal comes.
 */
export function dueAt(
  row: { scheduledFor: Date; waitingFor: string | null; waitUntil: Date | null },
  signalPending: boolean,
): Date | null {
  return row.waitingFor === null || signalPending ? row.scheduledFor : row.waitUntil;
}

/** When somebody must look at a scheduled execution: its due time plus the queue's grace. */
export function wakeAt(due: Date | null, graceMs: number): Date | null {
  return due === null ? null : new Date(due.getTime() + graceMs);
}

/** The row of a new execution: scheduled, or already claimed when it comes with a hold. */
export function newExecutionRow(
  fresh: NewExecution,
  place: { id: string; workflowId: string; seq: number; now: Date; signalPending: boolean },
): ExecutionRow {
  const { hold, graceMs } = fresh;
  const leaseUntil = hold === null ? null : new Date(place.now.getTime() + hold.leaseMs);
  // Field by field: an object that is spread and then grows takes four times the memory.
  return {
    id: place.id,
    workflowId: place.workflowId,
    seq: place.seq,
    stepName: fresh.stepName,
    state: hold === null ? "scheduled" : "in_progress",
    outcome: null,
    cause: null,
    attempt: fresh.attempt,
    failures: fresh.failures,
    continuesFromId: fresh.continuesFromId,
    cursor: fresh.cursor,
    progress: null,
    waitingFor: fresh.waitingFor,
    waitUntil: fresh.waitUntil,
    scheduledFor: fresh.scheduledFor,
    wakeAt: leaseUntil ?? wakeAt(dueAt(fresh, place.signalPending), graceMs),
    token: hold?.token ?? null,
    leaseUntil,
    worker: hold?.worker ?? null,
    startedAt: hold === null ? null : place.now,
    completedAt: null,
    failedAt: null,
    canceledAt: null,
    skippedAt: null,
    finishedAt: null,
    errorClass: null,
    errorMessage: null,
    errorStack: null,
    metadata: fresh.metadata,
    jobId: null,
    queue: fresh.queue,
    priority: fresh.priority,
    createdAt: place.now,
  };
}
