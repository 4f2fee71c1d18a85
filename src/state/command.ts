/**
 * Settling a command: somebody outside pauses, resumes, skips, cancels or places a workflow.
 *
 * The caller plans without a lock (which step is next, when it is due), so a plan says what it
 * expects to find; when the workflow has moved on meanwhile the answer is "moved" and the caller
 * plans again.
 *
 * @module
 */

import { mergeMetadata, metadataOf } from "./metadata.ts";
import type { ExecutionRow, Job, NewExecution, WorkflowRow, WorkflowState } from "./records.ts";
import { exceptionIn } from "./stored_error.ts";
import { closeExecution, type Closing, dueAt, moveWorkflow, wakeAt } from "./transitions.ts";

/** What somebody outside wants of a workflow. */
export type Command =
  | { readonly kind: "pause" }
  | { readonly kind: "cancel" }
  | {
    readonly kind: "resume";
    /** The step the plan is about. */
    readonly expected: string | null;
    /** The execution to make when none was preserved; null: there is no step left. */
    readonly fresh: NewExecution | null;
    /** Whether the step is resumable, so that a fresh execution continues from the last cursor. */
    readonly resumable: boolean;
    /** The queue's grace, for a preserved execution. */
    readonly graceMs: number;
  }
  | {
    readonly kind: "skip";
    /** The step to skip. */
    readonly expected: string | null;
    /** The step after it; null: the workflow is finished. */
    readonly next: NewExecution | null;
  }
  | {
    readonly kind: "place";
    /** The state the workflow must be in. */
    readonly from: "paused" | "ready";
    /** What to schedule. */
    readonly next: NewExecution;
  };

/** The rows a command is settled by. */
export interface CommandView {
  /** The workflow, locked. */
  readonly workflow: WorkflowRow;
  /** Its scheduled or running execution, locked. */
  readonly active: ExecutionRow | null;
  /** Its newest execution, whatever its state. */
  readonly last: ExecutionRow | null;
  /** Whether the signal that `active` waits for is there. */
  readonly signalPending: boolean;
}

/** What the store must write for a command. */
export type CommandSettlement =
  | {
    readonly kind: "write";
    readonly workflow: WorkflowRow;
    /** The active execution as it must be now; null when it is unchanged or there is none. */
    readonly active: ExecutionRow | null;
    readonly next: NewExecution | null;
    /** The preserved execution wakes again: its job is announced once more. */
    readonly reannounce: boolean;
  }
  | { readonly kind: "refused"; readonly state: WorkflowState; readonly running: boolean }
  | { readonly kind: "moved" };

/** What came of a command. */
export type CommandResult =
  | {
    readonly kind: "done";
    /** The workflow as it is now. */
    readonly workflow: WorkflowRow;
    /** The job of what was scheduled or woken, to be announced; null when there is none. */
    readonly job: Job | null;
  }
  /** The state forbids it; `running`: a body is still running. */
  | { readonly kind: "refused"; readonly state: WorkflowState; readonly running: boolean }
  /** The workflow is not where the plan expected it; plan again. */
  | { readonly kind: "moved" }
  | { readonly kind: "missing" };

/** The states in which each command is possible. */
export const COMMAND_STATES: Readonly<
  Record<Exclude<Command["kind"], "place">, readonly WorkflowState[]>
> = {
  pause: ["ready", "performing"],
  cancel: ["ready", "performing", "paused"],
  resume: ["paused"],
  skip: ["ready", "paused"],
};

/** Decides what a command writes, given the locked rows. */
export function settleCommand(command: Command, view: CommandView, now: Date): CommandSettlement {
  const { state } = view.workflow;
  const running = view.active?.state === "in_progress";
  const allowed = command.kind === "place" ? [command.from] : COMMAND_STATES[command.kind];
  const needsRest = command.kind === "skip" || command.kind === "place";
  if (!allowed.includes(state) || (needsRest && running)) {
    return { kind: "refused", state, running };
  }
  switch (command.kind) {
    case "pause":
      return pause(view, now);
    case "cancel":
      return cancel(view, now);
    case "resume":
      return view.workflow.nextStepName === command.expected
        ? resume(command, view, now)
        : { kind: "moved" };
    case "skip":
      return view.workflow.nextStepName === command.expected
        ? advance(command.next, SKIPPED, view, now)
        : { kind: "moved" };
    case "place":
      return advance(command.next, CANCELED, view, now);
  }
}

const SKIPPED: Closing = { state: "skipped", outcome: "skipped", cause: "operator" };
const CANCELED: Closing = { state: "canceled", outcome: "canceled", cause: "operator" };

/** The scheduled execution keeps its state and its due time; only nobody looks at it any more. */
function pause({ workflow, active }: CommandView, now: Date): CommandSettlement {
  return {
    kind: "write",
    workflow: moveWorkflow(workflow, { ...workflow, state: "paused" }, now),
    active: active?.state === "scheduled" ? { ...active, wakeAt: null } : null,
    next: null,
    reannounce: false,
  };
}

function cancel({ workflow, active }: CommandView, now: Date): CommandSettlement {
  return {
    kind: "write",
    workflow: moveWorkflow(
      workflow,
      { ...workflow, state: "canceled", currentStepName: null },
      now,
    ),
    active: active?.state === "scheduled" ? closeExecution(active, CANCELED, now) : null,
    next: null,
    reannounce: false,
  };
}

function resume(
  command: Extract<Command, { kind: "resume" }>,
  { workflow, active, last, signalPending }: CommandView,
  now: Date,
): CommandSettlement {
  if (active?.state === "in_progress") {
    const performing = moveWorkflow(
      workflow,
      { ...workflow, state: "performing", currentStepName: active.stepName },
      now,
    );
    return { kind: "write", workflow: performing, active: null, next: null, reannounce: false };
  }
  const ready = moveWorkflow(workflow, { ...workflow, state: "ready" }, now);
  if (active !== null) {
    const woken = { ...active, wakeAt: wakeAt(dueAt(active, signalPending), command.graceMs) };
    return { kind: "write", workflow: ready, active: woken, next: null, reannounce: true };
  }
  if (command.fresh === null) {
    // The plan was made before the workflow was paused, and so without a step to go on with.
    if (workflow.nextStepName !== null) return { kind: "moved" };
    const finished = moveWorkflow(workflow, { ...workflow, state: "finished" }, now);
    return { kind: "write", workflow: finished, active: null, next: null, reannounce: false };
  }
  const next = continueFrom(command.fresh, last, command.resumable);
  return { kind: "write", workflow: ready, active: null, next, reannounce: false };
}

/** A fresh execution takes over what its predecessor had: cursor, event, last error, totals. */
function continueFrom(
  fresh: NewExecution,
  last: ExecutionRow | null,
  resumable: boolean,
): NewExecution {
  if (last === null) return fresh;
  const due = notBeforeDue(fresh, last);
  const isUnfinished = last.stepName === fresh.stepName && last.outcome !== "success" &&
    last.outcome !== "skipped";
  if (!isUnfinished) return due;
  const { event, chain } = metadataOf(last.metadata);
  const begun = last.startedAt !== null || last.continuesFromId !== null;
  return {
    ...due,
    continuesFromId: resumable && begun ? last.id : null,
    cursor: resumable ? last.cursor : due.cursor,
    waitingFor: event === undefined ? due.waitingFor : null,
    waitUntil: event === undefined ? due.waitUntil : null,
    metadata: mergeMetadata(due.metadata, { event, chain, previousError: previousErrorOf(last) }),
  };
}

/** The error that the predecessor ended with; one that never started hands on what it was handed. */
function previousErrorOf(last: ExecutionRow): unknown {
  if (last.errorClass !== null) return { class: last.errorClass, message: last.errorMessage };
  const error = exceptionIn(last.metadata);
  if (error !== null) return { class: error.errorClass, message: error.message };
  return last.startedAt === null ? metadataOf(last.metadata).previousError : undefined;
}

/** What was to be scheduled while the workflow was paused is not run before its time. */
function notBeforeDue(fresh: NewExecution, last: ExecutionRow): NewExecution {
  const { nextDueAt } = metadataOf(last.metadata);
  const dueAtMs = typeof nextDueAt === "string" ? Date.parse(nextDueAt) : NaN;
  const laterMs = dueAtMs - fresh.scheduledFor.getTime();
  if (!(laterMs > 0)) return fresh;
  return {
    ...fresh,
    scheduledFor: new Date(dueAtMs),
    waitUntil: fresh.waitUntil && new Date(fresh.waitUntil.getTime() + laterMs),
  };
}

/** Closes what was scheduled and goes to another step, or to the end. */
function advance(
  next: NewExecution | null,
  closing: Closing,
  { workflow, active }: CommandView,
  now: Date,
): CommandSettlement {
  return {
    kind: "write",
    workflow: moveWorkflow(workflow, {
      state: next === null ? "finished" : "ready",
      currentStepName: null,
      nextStepName: next?.stepName ?? null,
    }, now),
    active: active === null ? null : closeExecution(active, closing, now),
    next,
    reannounce: false,
  };
}
