/**
 * The rows: what is stored of a workflow and of each attempt to run one of its steps.
 *
 * A *row* is what a store reads and writes: JSON columns are text in it, because a store must not
 * fail on a value that only the engine can judge. What users see of it is a *record*
 * (`src/define/records.ts`).
 *
 * @module
 */

import type { Cause, ExecutionState, Outcome, Progress, WorkflowState } from "../define/records.ts";

export type {
  Cause,
  ExecutionRecord,
  ExecutionState,
  Outcome,
  Progress,
  WorkflowRecord,
  WorkflowState,
} from "../define/records.ts";

/** An error as it is stored: text only, already cut to size. */
export interface StoredError {
  /** The error's class name. */
  readonly errorClass: string;
  /** Its message. */
  readonly message: string;
  /** Its stack with the chain of causes, or null. */
  readonly stack: string | null;
}

/** One row of the workflows table. */
export interface WorkflowRow {
  /** The primary key, as text. */
  readonly id: string;
  /** The definition's name. */
  readonly name: string;
  /** The hero's type, null without a hero. */
  readonly heroType: string | null;
  /** The hero's id, null without a hero. */
  readonly heroId: string | null;
  /** Where the workflow stands. */
  readonly state: WorkflowState;
  /** The step whose body runs now. */
  readonly currentStepName: string | null;
  /** The step that runs next, or runs now; null at the end. */
  readonly nextStepName: string | null;
  /** Whether it may be ongoing beside others of its hero. */
  readonly allowMultiple: boolean;
  /** The input as JSON text. */
  readonly input: string | null;
  /** Free JSON text. */
  readonly metadata: string | null;
  /** The instance's own job options as JSON text. */
  readonly jobOptions: string | null;
  /** The W3C trace context of whoever started it. */
  readonly traceparent: string | null;
  /** When its first step was first claimed. */
  readonly startedAt: Date | null;
  /** When it was paused, finished or canceled; null while it goes on. */
  readonly transitionedAt: Date | null;
  /** When it was created. */
  readonly createdAt: Date;
  /** When the row was last written. */
  readonly updatedAt: Date;
}

/** One row of the executions table. */
export interface ExecutionRow {
  /** The primary key, as text: the idempotency key of this attempt. */
  readonly id: string;
  /** The workflow it belongs to. */
  readonly workflowId: string;
  /** Its place in the workflow's history, from 1: order never depends on ids or clocks. */
  readonly seq: number;
  /** The step. */
  readonly stepName: string;
  /** Where the attempt stands. */
  readonly state: ExecutionState;
  /** How it ended. */
  readonly outcome: Outcome | null;
  /** What made it end so. */
  readonly cause: Cause | null;
  /** Which attempt of the step this is, from 1. */
  readonly attempt: number;
  /** Consecutive error reattempts that led here: what a policy's cap is compared with. */
  readonly failures: number;
  /** The execution whose cursor this one continues from. */
  readonly continuesFromId: string | null;
  /** The cursor as JSON text (column `cursor_value`). */
  readonly cursor: string | null;
  /** How far a resumable step says it is. */
  readonly progress: Progress | null;
  /** The signal that a `waitFor` step waits for; null once it has it. */
  readonly waitingFor: string | null;
  /** Until when it waits for that signal; null: for ever. */
  readonly waitUntil: Date | null;
  /** When it is due. */
  readonly scheduledFor: Date;
  /** When somebody must look at this row again; null: never. */
  readonly wakeAt: Date | null;
  /** The token of the claim that holds it. */
  readonly token: string | null;
  /** Until when that claim holds. */
  readonly leaseUntil: Date | null;
  /** The worker that holds or held it. */
  readonly worker: string | null;
  /** When its body started. */
  readonly startedAt: Date | null;
  /** When it completed. */
  readonly completedAt: Date | null;
  /** When it failed. */
  readonly failedAt: Date | null;
  /** When it was canceled. */
  readonly canceledAt: Date | null;
  /** When it was skipped. */
  readonly skippedAt: Date | null;
  /** When it ended, however it ended. */
  readonly finishedAt: Date | null;
  /** The class of the error that ended it. */
  readonly errorClass: string | null;
  /** The message of that error. */
  readonly errorMessage: string | null;
  /** The stack of that error. */
  readonly errorStack: string | null;
  /** JSON text kept by the engine. */
  readonly metadata: string | null;
  /** The queue's own id of the job, for debugging. */
  readonly jobId: string | null;
  /** The queue it runs in. */
  readonly queue: string;
  /** Its priority: smaller runs first. */
  readonly priority: number;
  /** When the row was made. */
  readonly createdAt: Date;
}

/** The right to run an execution: what a claim writes beside the state. */
export interface Hold {
  /** The claim's token: every later write carries it. */
  readonly token: string;
  /** How long the claim holds without a heartbeat. */
  readonly leaseMs: number;
  /** Who holds it. */
  readonly worker: string;
}

/** An execution to be inserted: what the engine decides; ids, seq and state come with the row. */
export interface NewExecution {
  /** The step. */
  readonly stepName: string;
  /** When it is due. */
  readonly scheduledFor: Date;
  /** How long after its due time somebody must look at it: more than 0 for a queue that may lose jobs. */
  readonly graceMs: number;
  /** Which attempt of the step this is. */
  readonly attempt: number;
  /** Consecutive error reattempts so far. */
  readonly failures: number;
  /** The execution it continues. */
  readonly continuesFromId: string | null;
  /** The cursor it starts from, as JSON text. */
  readonly cursor: string | null;
  /** The signal it waits for. */
  readonly waitingFor: string | null;
  /** Until when it waits for that signal; null: for ever. */
  readonly waitUntil: Date | null;
  /** JSON text kept by the engine. */
  readonly metadata: string | null;
  /** The queue it runs in. */
  readonly queue: string;
  /** Its priority. */
  readonly priority: number;
  /** Insert it already claimed, so that the same worker goes on with it; null: scheduled. */
  readonly hold: Hold | null;
}

/** A workflow to be inserted, with its first execution. */
export interface NewWorkflow {
  /** The definition's name. */
  readonly name: string;
  /** The hero's type. */
  readonly heroType: string | null;
  /** The hero's id. */
  readonly heroId: string | null;
  /** Whether it may be ongoing beside others of its hero. */
  readonly allowMultiple: boolean;
  /** The input as JSON text. */
  readonly input: string | null;
  /** Free JSON text. */
  readonly metadata: string | null;
  /** The instance's own job options as JSON text. */
  readonly jobOptions: string | null;
  /** The W3C trace context of whoever starts it. */
  readonly traceparent: string | null;
  /** The first execution; null when the definition has no step, and the workflow is finished at once. */
  readonly first: NewExecution | null;
}

/** The hint a queue carries: which execution, and when. */
export interface Job {
  /** The execution to run. */
  readonly executionId: string;
  /** When it is due. */
  readonly runAt: Date;
  /** The queue it runs in. */
  readonly queue: string;
  /** Its priority: smaller runs first. */
  readonly priority: number;
}

/** The queue of executions that name none. */
export const DEFAULT_QUEUE = "default";

/** Whether a workflow in this state still goes on, and so occupies its hero's slot. */
export function isOngoing(state: WorkflowState): boolean {
  return state !== "finished" && state !== "canceled";
}

/** Whether an execution in this state is the active one of its workflow. */
export function isActive(state: ExecutionState): boolean {
  return state === "scheduled" || state === "in_progress";
}
