/**
 * The records: what users see of a workflow and of its executions. They are the stored rows
 * (`src/state/records.ts`) with their JSON decoded and the bookkeeping of leases left out.
 *
 * @module
 */

/** The states of a workflow. */
export type WorkflowState = "ready" | "performing" | "paused" | "finished" | "canceled";

/** The states of an execution. */
export type ExecutionState =
  | "scheduled"
  | "in_progress"
  | "completed"
  | "failed"
  | "canceled"
  | "skipped";

/** How an execution ended; null while it has not. */
export type Outcome =
  | "success"
  | "reattempted"
  | "skipped"
  | "canceled"
  | "failed"
  | "recovered"
  | "workflow_paused"
  | "continued";

/** What made an execution end the way it did; null for an ordinary end. */
export type Cause =
  | "condition"
  | "flow_control"
  | "exception"
  | "operator"
  | "recovery"
  | "interrupt";

/** How far a resumable step says it is. */
export interface Progress {
  /** Items done so far. */
  readonly done: number;
  /** Items in all, where known. */
  readonly total: number | null;
  /** A sentence for people. */
  readonly message: string | null;
}

/** What users see of a workflow: the row with its JSON decoded, frozen. */
export interface WorkflowRecord {
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
  /** The input it was started with. */
  readonly input: unknown;
  /** Free JSON. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** When its first step was first claimed. */
  readonly startedAt: Date | null;
  /** When it was paused, finished or canceled; null while it goes on. */
  readonly transitionedAt: Date | null;
  /** When it was created. */
  readonly createdAt: Date;
  /** When the row was last written. */
  readonly updatedAt: Date;
}

/** What users see of an execution: the row with its JSON decoded, frozen. */
export interface ExecutionRecord {
  /** The primary key, as text; every attempt has its own. */
  readonly id: string;
  /** The workflow it belongs to. */
  readonly workflowId: string;
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
  /** The execution whose cursor this one continues from. */
  readonly continuesFromId: string | null;
  /** The cursor, decoded. */
  readonly cursor: unknown;
  /** How far a resumable step says it is. */
  readonly progress: Progress | null;
  /** The signal that a `waitFor` step waits for. */
  readonly waitingFor: string | null;
  /** When it is or was due. */
  readonly scheduledFor: Date;
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
  /** What the engine noted: reasons, errors of reattempts, the last cursor. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The queue it runs in. */
  readonly queue: string;
  /** Its priority: smaller runs first. */
  readonly priority: number;
  /** The worker that holds or held it. */
  readonly worker: string | null;
  /** When the row was made. */
  readonly createdAt: Date;
}
