/**
 * What the parts of the engine share: the two drivers, the clock, the definitions and the settings.
 *
 * @module
 */

import type { Logger } from "../define/context.ts";
import type { WorkflowDefinition } from "../define/definition.ts";
import type { EventBus } from "../observe/events.ts";
import type { Redactor } from "../observe/redact.ts";
import type { Tracing } from "../observe/tracing.ts";
import type { Clock } from "../seams/clock.ts";
import type { QueueDriver } from "../seams/queue.ts";
import type { StoreDriver } from "../seams/store.ts";
import type { Checkpoint, CheckpointAnswer } from "../state/checkpoint.ts";
import type { Codec } from "../state/codec.ts";
import type { Finished, FinishResult } from "../state/finish.ts";
import type { NewWorkflow } from "../state/records.ts";
import type { Created } from "../seams/store.ts";
import type { Holdings } from "./holdings.ts";
import type { Send } from "./settle.ts";

/** What the error reporter is told beside the error. */
export interface ReportContext {
  /** The workflow. */
  readonly workflowId: string;
  /** Its definition's name. */
  readonly workflowName: string;
  /** The execution. */
  readonly executionId: string;
  /** The step. */
  readonly stepName: string;
  /** The hero's type. */
  readonly heroType: string | null;
  /** The hero's id. */
  readonly heroId: string | null;
}

/** Hears of errors; what it throws itself is logged and forgotten. */
export type ReportError = (error: Error, context: ReportContext) => void | Promise<void>;

/** The settings of an engine, with their defaults filled in. */
export interface Settings {
  /** How long a claim holds without a heartbeat. */
  readonly leaseMs: number;
  /** How often a held claim is renewed. */
  readonly heartbeatMs: number;
  /** How often a polling queue looks at the table. */
  readonly pollMs: number;
  /** How many steps a worker runs at a time. */
  readonly concurrency: number;
  /** The largest cursor in bytes; null: any size. */
  readonly maxCursorBytes: number | null;
  /** How many continuations in a row may leave the cursor where it was; null: any number. */
  readonly maxUnchangedContinuations: number | null;
  /** How many workers in a row may die over a step at one place; null: any number. */
  readonly maxRecoveries: number | null;
  /** The longest run of a resumable step's execution, for all steps; null: no limit. */
  readonly maxRuntimeMs: number | null;
  /** How long a continuation waits by default. */
  readonly resumeDelayMs: number;
  /** What to do with a step whose worker died. */
  readonly recovery: "reattempt" | "cancel";
  /** How long past its time a job counts as lost. */
  readonly lostJobMs: number;
  /** How long after its end a workflow is kept; null: for ever. */
  readonly retentionMs: number | null;
  /** How often a worker runs housekeeping; null: never by itself. */
  readonly housekeepingMs: number | null;
  /** Jobs due later than this are left to `cycle()`; null: every job is enqueued at once. */
  readonly cycleMs: number | null;
}

/** The engine's inside. */
export interface Core {
  /** The database. */
  readonly store: StoreDriver;
  /** The job queue. */
  readonly queue: QueueDriver;
  /** The time. */
  readonly clock: Clock;
  /** Cursors, inputs and payloads to text and back. */
  readonly codec: Codec;
  /** The definitions by name. */
  readonly definitions: Map<string, WorkflowDefinition>;
  /** The settings. */
  readonly settings: Settings;
  /** Everything that happens. */
  readonly events: EventBus;
  /** Masks what nobody is meant to read; null when nothing is masked. */
  readonly redactor: Redactor | null;
  /** Spans of an OpenTelemetry tracer; null when nobody traces. */
  readonly tracing: Tracing | null;
  /** The injected logger, made safe. */
  readonly log: Logger;
  /** The injected error reporter, made safe; without one, an error is a line of `log`. */
  readonly report: (error: Error, context: ReportContext, log?: Logger) => Promise<void>;
  /** This process in the rows: unique per start, so that nobody takes over by name. */
  readonly workerId: string;
  /** The claims that are held now. */
  readonly holdings: Holdings;
  /** Closes an execution, together with others of the same moment. */
  readonly finish: Send<Finished, FinishResult>;
  /** Stores a position, together with others of the same moment. */
  readonly checkpoint: Send<Checkpoint, CheckpointAnswer>;
  /** Inserts a workflow, together with others of the same moment. */
  readonly create: Send<NewWorkflow, Created>;
  /** The workers of this engine that poll the table: what they look after is not lost. */
  readonly pollers: Set<object>;
  /** The instant, as a Date. */
  now(): Date;
  /** A token that was never used. */
  token(): string;
  /**
   * The token of executions that this engine inserts already claimed. One is enough for all: a row is
   * inserted once, and whoever claims it later brings a token of his own. Writes of one moment are
   * then alike but for their ids, and a store can make them in one statement.
   */
  readonly heldToken: string;
  /** A random number from 0 to 1. */
  chance(): number;
}

/** The time since an instant; a clock that was set back meanwhile makes no negative durations. */
export function elapsedMs({ clock }: Pick<Core, "clock">, sinceMs: number): number {
  return Math.max(0, clock.now() - sinceMs);
}
