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
import { mergeMetadata } from "./metadata.ts";
import type { ExecutionRow, Job, NewExecution, StoredError, WorkflowRow } from "./records.ts";
import { exceptionIn } from "./stored_error.ts";
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
  /**
   * The two rows as the store last answered them to whoever holds the claim, where no cursor was
   * stored since. As long as the token is the execution's and the workflow is still in that state,
   * they are as they are here, so that a store need not read them as a whole; it may always do so.
   */
  readonly seen?: { readonly workflow: WorkflowRow; readonly execution: ExecutionRow } | undefined;
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
    /** The job of what was inserted, to be announced; null when there is none. */
    readonly job: Job | null;
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
 * but nothing is scheduled: the resume does that, not before the time that was meant. Only an end
 * is still an end.
 */
function settlePaused(
  finished: Finished,
  view: { workflow: WorkflowRow; execution: ExecutionRow },
  now: Date,
): FinishSettlement {
  const { next, workflowState } = finished;
  const ends = workflowState === "finished" || workflowState === "canceled";
  const closed = close(view.execution, finished, closingWhenPaused(finished.closing), now);
  const isAgain = next !== null && next.stepName === closed.stepName;
  return {
    kind: "write",
    execution: {
      ...closed,
      metadata: mergeMetadata(closed.metadata, { nextDueAt: next?.scheduledFor.toISOString() }),
      // The resume continues from this row, so a rewind must show here.
      cursor: isAgain ? next.cursor : closed.cursor,
    },
    workflow: moveWorkflow(view.workflow, {
      state: ends ? workflowState : "paused",
      currentStepName: null,
      nextStepName: finished.nextStepName,
    }, now),
    next: null,
  };
}

/** A step that was interrupted does not go on: a resumable one was paused, a plain one canceled. */
function closingWhenPaused(closing: Closing): Closing {
  if (closing.outcome === "continued") {
    return { state: "completed", outcome: "workflow_paused", cause: "operator" };
  }
  return closing.outcome === "reattempted" && closing.cause === "interrupt"
    ? { state: "canceled", outcome: "canceled", cause: "operator" }
    : closing;
}

/**
 * The workflow was canceled while the body ran: the execution is canceled with it, and the workflow
 * stays as it is. An error of the body is stored also where its policy would have kept it out of
 * the columns.
 */
function settleEnded(
  finished: Finished,
  view: { workflow: WorkflowRow; execution: ExecutionRow },
  now: Date,
): FinishSettlement {
  const recovered = finished.closing.outcome === "recovered";
  const closing: Closing = recovered
    ? { state: "canceled", outcome: "recovered", cause: "recovery" }
    : { state: "canceled", outcome: "canceled", cause: "operator" };
  const canceled: Finished = {
    ...finished,
    error: finished.error ?? exceptionIn(finished.metadata),
    metadata: mergeMetadata(finished.metadata, { reattemptReason: undefined }),
    keepCursor: true,
  };
  return {
    kind: "write",
    execution: close(view.execution, canceled, closing, now),
    workflow: view.workflow,
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
