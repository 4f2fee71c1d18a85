/**
 * Settling a finish: a verdict meets the rows as they are now.
 *
 * The engine decides a verdict while nobody holds a lock, so the workflow may have been paused or
 * canceled meanwhile, or the claim lost. What then becomes of the verdict is decided here, in one
 * place for every store.
 *
 * @module
 */

import { isHeld } from "./checkpoint.ts";
import type { ExecutionRow, NewExecution, StoredError, WorkflowRow } from "./records.ts";
import { closeExecution, type Closing, moveWorkflow } from "./transitions.ts";

/** What the engine decided after a step ended. */
export interface Verdict {
  /** How the execution closes. */
  readonly closing: Closing;
  /** The error to store in the error columns, or null. */
  readonly error: StoredError | null;
  /** The metadata column's new text. */
  readonly metadata: string | null;
  /** Whether the cursor stays on the closed row. */
  readonly keepCursor: boolean;
  /** False when the body never started: the row then shows no start. */
  readonly bodyStarted: boolean;
  /** Where the workflow goes. */
  readonly workflowState: "ready" | "paused" | "finished" | "canceled";
  /** The step it points at then. */
  readonly nextStepName: string | null;
  /** What is scheduled next. */
  readonly next: NewExecution | null;
}

/** A verdict on its way to the store, with the claim it stands on. */
export interface Finished extends Verdict {
  /** The execution to close. */
  readonly executionId: string;
  /** Its workflow. */
  readonly workflowId: string;
  /** The token of the claim. */
  readonly token: string;
}

/** What came of a finish. */
export type FinishResult =
  | {
    readonly kind: "done";
    /** The workflow as it is now. */
    readonly workflow: WorkflowRow;
    /** The closed execution. */
    readonly execution: ExecutionRow;
    /** What was inserted. */
    readonly next: ExecutionRow | null;
  }
  | { readonly kind: "lost" };

/** What the store must write for a finish. */
export type FinishSettlement =
  | {
    readonly kind: "write";
    readonly workflow: WorkflowRow;
    readonly execution: ExecutionRow;
    readonly next: NewExecution | null;
  }
  | { readonly kind: "lost" };

/** Decides what a finish writes, given the locked rows. */
export function settleFinish(
  finished: Finished,
  view: { workflow: WorkflowRow | null; execution: ExecutionRow | null },
  now: Date,
): FinishSettlement {
  const { workflow, execution } = view;
  if (workflow === null || execution === null || !isHeld(execution, finished.token)) {
    return { kind: "lost" };
  }
  if (workflow.state === "performing") {
    return {
      kind: "write",
      execution: close(execution, finished, finished.closing, now),
      workflow: moveOn(workflow, finished, now),
      next: finished.next,
    };
  }
  return workflow.state === "paused"
    ? settlePaused(finished, { workflow, execution }, now)
    : settleEnded(finished, { workflow, execution }, now);
}

/**
 * The workflow was paused while the body ran. What the body did is recorded and the pointer moves,
 * but nothing is scheduled: the resume does that. Only an end is still an end.
 */
function settlePaused(
  finished: Finished,
  view: { workflow: WorkflowRow; execution: ExecutionRow },
  now: Date,
): FinishSettlement {
  const ends = finished.workflowState === "finished" || finished.workflowState === "canceled";
  const closing: Closing = finished.closing.outcome === "continued"
    ? { ...finished.closing, outcome: "workflow_paused", cause: "operator" }
    : finished.closing;
  return {
    kind: "write",
    execution: close(view.execution, finished, closing, now),
    workflow: moveWorkflow(view.workflow, {
      state: ends ? finished.workflowState : "paused",
      currentStepName: null,
      nextStepName: finished.nextStepName,
    }, now),
    next: null,
  };
}

/** The workflow was canceled while the body ran: the execution is canceled with it. */
function settleEnded(
  finished: Finished,
  view: { workflow: WorkflowRow; execution: ExecutionRow },
  now: Date,
): FinishSettlement {
  const recovered = finished.closing.outcome === "recovered";
  const closing: Closing = recovered
    ? { state: "canceled", outcome: "recovered", cause: "recovery" }
    : { state: "canceled", outcome: "canceled", cause: "operator" };
  return {
    kind: "write",
    execution: close(view.execution, { ...finished, keepCursor: true }, closing, now),
    workflow: { ...view.workflow, currentStepName: null, updatedAt: now },
    next: null,
  };
}

function close(
  execution: ExecutionRow,
  finished: Finished,
  closing: Closing,
  now: Date,
): ExecutionRow {
  const row = closeExecution(execution, closing, now);
  return {
    ...row,
    startedAt: finished.bodyStarted ? row.startedAt : null,
    cursor: finished.keepCursor ? row.cursor : null,
    metadata: finished.metadata,
    errorClass: finished.error?.errorClass ?? null,
    errorMessage: finished.error?.message ?? null,
    errorStack: finished.error?.stack ?? null,
  };
}

function moveOn(workflow: WorkflowRow, finished: Finished, now: Date): WorkflowRow {
  const goesOn = finished.next !== null && finished.next.hold !== null;
  return moveWorkflow(workflow, {
    state: goesOn ? "performing" : finished.workflowState,
    currentStepName: goesOn ? finished.nextStepName : null,
    nextStepName: finished.nextStepName,
  }, now);
}
