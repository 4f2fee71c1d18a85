/**
 * Judging a claim: may this worker run this execution now?
 *
 * The queue is a hint, so every delivery is judged against the rows: a job may come twice, early,
 * late, for a workflow that was paused, or for a row that is gone.
 *
 * @module
 */

import type { ExecutionRow, Hold, WorkflowRow, WorkflowState } from "./records.ts";
import { receiveSignal, type SignalRow } from "./signal.ts";
import { closeExecution, dueAt, moveWorkflow } from "./transitions.ts";

/** A claim that was granted. */
export interface Claimed {
  /** Granted. */
  readonly kind: "claimed";
  /** The workflow, performing. */
  readonly workflow: WorkflowRow;
  /** The execution, in progress, with the claim's token. */
  readonly execution: ExecutionRow;
  /** `in_progress`: the lease of an earlier claim had ended, and this one took over. */
  readonly from: "scheduled" | "in_progress";
  /** Who had it before, when it was taken over: dead, frozen, or unable to yield. */
  readonly previous?: ClaimHolder | undefined;
}

/** Who has a claim, and until when. */
export interface ClaimHolder {
  /** The worker. */
  readonly worker: string | null;
  /** The end of its lease. */
  readonly leaseUntil: Date | null;
}

/** What came of a claim. */
export type Claim =
  | Claimed
  /** Not due yet; `runAt` is when it is, null when only a signal or a resume can make it so. */
  | { readonly kind: "early"; readonly runAt: Date | null }
  /** Somebody else has it, or it has ended. */
  | { readonly kind: "taken" }
  /** Its workflow does not run; the execution is now canceled. */
  | { readonly kind: "stopped"; readonly state: WorkflowState }
  /** No such execution. */
  | { readonly kind: "missing" };

/** What a store must write for a claim. */
export type Judgement =
  | { readonly kind: "grant"; readonly claimed: Claimed; readonly consume: SignalRow | null }
  | { readonly kind: "stop"; readonly execution: ExecutionRow; readonly state: WorkflowState }
  | { readonly kind: "refuse"; readonly claim: Exclude<Claim, Claimed> };

/** The rows that a claim is judged by. */
export interface ClaimView {
  /** The workflow, locked. */
  readonly workflow: WorkflowRow;
  /** The execution, locked. */
  readonly execution: ExecutionRow;
  /** The oldest kept signal that the execution waits for, if it waits. */
  readonly signal: SignalRow | null;
}

/** How a claim is meant. */
export interface ClaimIntent extends Hold {
  /** The instant of the claim. */
  readonly now: Date;
  /** Take it even when it is not due. */
  readonly ignoreDue?: boolean | undefined;
  /** Take it over when the lease of its holder has ended: the sweep does, a delivered job does not. */
  readonly takeOver: boolean;
}

/** Decides what a claim on these rows is worth. */
export function judgeClaim(view: ClaimView, intent: ClaimIntent): Judgement {
  const { workflow, execution, signal } = view;
  if (execution.state === "in_progress") {
    // Only a row that somebody edited has no lease; it is looked at when it wakes.
    const until = execution.leaseUntil ?? execution.wakeAt;
    const ended = until !== null && until.getTime() <= intent.now.getTime();
    return intent.takeOver && ended ? takeOver(view, intent) : refuse({ kind: "taken" });
  }
  if (execution.state !== "scheduled") return refuse({ kind: "taken" });
  if (workflow.state === "performing") return refuse({ kind: "taken" });
  const due = dueAt(execution, signal !== null);
  const early = due === null || due.getTime() > intent.now.getTime();
  // A paused workflow keeps its execution for the resume: only a job that comes in time uses it up.
  if (workflow.state === "paused" && intent.takeOver) return refuse({ kind: "taken" });
  if (workflow.state === "paused" && early) return refuse({ kind: "early", runAt: null });
  if (workflow.state !== "ready") {
    const closed = closeExecution(
      execution,
      { state: "canceled", outcome: "canceled", cause: "operator" },
      intent.now,
    );
    return { kind: "stop", execution: closed, state: workflow.state };
  }
  // Running ahead of time skips a wait, but it cannot stand in for a signal that has not come.
  const ahead = intent.ignoreDue === true && (execution.waitingFor === null || signal !== null);
  if (due === null || (early && !ahead)) return refuse({ kind: "early", runAt: due });
  return grant(view, intent);
}

function grant(view: ClaimView, intent: ClaimIntent): Judgement {
  const { signal } = view;
  const execution = signal === null ? view.execution : receiveSignal(view.execution, signal);
  return {
    kind: "grant",
    consume: signal,
    claimed: {
      kind: "claimed",
      from: "scheduled",
      workflow: performing(view, intent),
      execution: { ...hold(execution, intent), state: "in_progress", startedAt: intent.now },
    },
  };
}

function performing({ workflow, execution }: ClaimView, { now }: ClaimIntent): WorkflowRow {
  return {
    ...moveWorkflow(workflow, {
      state: "performing",
      currentStepName: execution.stepName,
      nextStepName: workflow.nextStepName,
    }, now),
    startedAt: workflow.startedAt ?? now,
  };
}

function takeOver(view: ClaimView, intent: ClaimIntent): Judgement {
  const { workflow, execution } = view;
  return {
    kind: "grant",
    consume: null,
    claimed: {
      kind: "claimed",
      from: "in_progress",
      // It performs, or was stopped meanwhile; one that is ready was edited, and performs from now on.
      workflow: workflow.state === "ready" ? performing(view, intent) : workflow,
      execution: hold(execution, intent),
      previous: { worker: execution.worker, leaseUntil: execution.leaseUntil },
    },
  };
}

function hold(execution: ExecutionRow, intent: ClaimIntent): ExecutionRow {
  const leaseUntil = new Date(intent.now.getTime() + intent.leaseMs);
  return {
    ...execution,
    token: intent.token,
    worker: intent.worker,
    leaseUntil,
    wakeAt: leaseUntil,
  };
}

function refuse(claim: Exclude<Claim, Claimed>): Judgement {
  return { kind: "refuse", claim };
}
