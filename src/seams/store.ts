/**
 * The seam to a database.
 *
 * A store locks, reads and writes; it decides nothing. Each member below is one atomic transaction,
 * and the write path takes batches. Inside the transaction a store hands the locked rows to the
 * pure functions of `src/state` (`judgeClaim`, `settleFinish`, `settleCommand`, …) and writes what
 * they answer, so that the semantics are the same on every database.
 *
 * Locks are always taken in one order: workflow rows first, then execution rows, each by id. A
 * claim of whatever is due skips rows that others hold, because there is other work to find; a claim
 * of named executions waits for them, because its job would be lost if it passed them by.
 *
 * Members of a batch do not affect each other: each has its own result at its own index. An id that
 * is unknown or not even well-formed is "missing" (or "lost"), never an error. Where a batch names one
 * execution twice, the first claim and the first finish count, and checkpoints count in their order.
 *
 * Names, hero ids, keys and names of signals compare exactly, case, accents and trailing spaces
 * included. A filter with an empty list matches nothing. An id never comes again, also after a purge.
 * `beforeCommit` may be called with no jobs; when it fails, nothing of its write remains, also inside
 * a transaction of the caller, which itself goes on.
 *
 * @module
 */

import type { Activity, ActivityOptions } from "../state/activity.ts";
import type { Clock } from "./clock.ts";
import type { Command, CommandResult } from "../state/command.ts";
import type { Checkpoint, CheckpointAnswer } from "../state/checkpoint.ts";
import type { Claim, Claimed } from "../state/claim.ts";
import type { Finished, FinishResult } from "../state/finish.ts";
import type { NewSignal, SignalResult, SignalRow } from "../state/signal.ts";
import type {
  ExecutionRow,
  Job,
  NewWorkflow,
  WorkflowRow,
  WorkflowState,
} from "../state/records.ts";

/** What every write gets. */
export interface WriteOptions<Tx = unknown> {
  /** The instant of the write, from the engine's clock. */
  readonly now: Date;
  /** A transaction of the caller to join; the store then neither begins nor commits. */
  readonly tx?: Tx | undefined;
  /**
   * Called inside the transaction, before its commit, with the jobs that the write scheduled. A
   * method, so that a store with its own type of transaction passes for a store of any.
   */
  beforeCommit?(tx: Tx, jobs: readonly Job[]): Promise<void>;
}

/** What a claim gets. */
export interface ClaimOptions {
  /** The instant of the claim. */
  readonly now: Date;
  /** A fresh token; the claims of one call share it, and it is never used again. */
  readonly token: string;
  /** How long the claim holds without a heartbeat. */
  readonly leaseMs: number;
  /** Who claims. */
  readonly worker: string;
  /** Take executions that are not due yet: test helpers run ahead of time. */
  readonly ignoreDue?: boolean | undefined;
}

/** What a claim of whatever is due gets. */
export interface ClaimDueOptions extends Omit<ClaimOptions, "ignoreDue"> {
  /** How many at the most. */
  readonly limit: number;
  /** Only these queues; undefined: all. */
  readonly queues?: readonly string[] | undefined;
  /** Only executions in this state: `in_progress` are those whose lease has ended; undefined: both. */
  readonly state?: "scheduled" | "in_progress" | undefined;
  /** Take rows whose `wakeAt` is at or before this; default `now`. */
  readonly before?: Date | undefined;
  /** Within a priority, take those first that woke last: what is new must not wait for a backlog. */
  readonly newestFirst?: boolean | undefined;
}

/** What came of one new workflow. */
export type Created =
  | {
    readonly kind: "created";
    readonly workflow: WorkflowRow;
    /** The first execution; null when the definition has no step. */
    readonly execution: ExecutionRow | null;
    /** Its job, to be announced; null when there is none. */
    readonly job: Job | null;
  }
  | { readonly kind: "duplicate"; readonly existingId: string | null };

/** Which workflows to list. */
export interface WorkflowFilter {
  /** Definitions, by name. */
  readonly names?: readonly string[] | undefined;
  /** States. */
  readonly states?: readonly WorkflowState[] | undefined;
  /** The hero's type. */
  readonly heroType?: string | undefined;
  /** The hero's id. */
  readonly heroId?: string | undefined;
  /** The step the workflow points at. */
  readonly nextStepName?: string | undefined;
  /** Rows last written before this instant. */
  readonly updatedBefore?: Date | undefined;
  /**
   * The class of the error that the newest execution ended with. No index knows it: every workflow
   * that the rest of the filter lets through is looked at.
   */
  readonly errorClass?: string | undefined;
}

/** One page of a list, newest first. */
export interface PageOptions {
  /** How many at the most. */
  readonly limit: number;
  /** The id of the last row of the page before. */
  readonly after?: string | undefined;
}

/** How many workflows of a definition are in a state. */
export interface Count {
  /** The definition's name. */
  readonly workflow: string;
  /** The state. */
  readonly state: WorkflowState;
  /** How many. */
  readonly count: number;
}

/** The newest execution of a paused workflow, when it failed: what a person has to look at. */
export interface Failure {
  /** The name of the workflow's definition. */
  readonly workflowName: string;
  /** The execution that failed. */
  readonly execution: ExecutionRow;
}

/** How many ongoing workflows stand at a step with a cursor, and how many without one. */
export interface CursorCount {
  /** The step they point at. */
  readonly stepName: string;
  /** How many hold a cursor for it. */
  readonly withCursor: number;
  /** How many have begun it, or are at a further attempt, and hold none. */
  readonly begunWithout: number;
}

/** Which terminal workflows to delete. */
export interface PurgeOptions {
  /** Those that ended before this instant. */
  readonly before: Date;
  /** How many workflows at the most. */
  readonly limit: number;
  /** Only these definitions. */
  readonly names?: readonly string[] | undefined;
  /** All but these definitions. */
  readonly exceptNames?: readonly string[] | undefined;
}

/** Who takes a duty, and for how long. */
export interface DutyOptions {
  /** The instant. */
  readonly now: Date;
  /** Who takes it. */
  readonly holder: string;
  /** How long it is held without being taken again. */
  readonly holdMs: number;
}

/** What `migrate` may be told. */
export interface MigrateOptions {
  /** Only say what would be done. */
  readonly dryRun?: boolean | undefined;
  /** The type of the primary keys; `auto` looks at the application's own tables. */
  readonly keyType?: "auto" | "bigint" | "uuid" | undefined;
}

/** What `migrate` did, or would do. */
export interface MigrationReport {
  /** The names of the migrations that were applied now. */
  readonly applied: readonly string[];
  /** The names of those that had been applied before. */
  readonly present: readonly string[];
  /** The statements of the applied ones. */
  readonly sql: string;
  /** The type of the primary keys. */
  readonly keyType: "bigint" | "uuid";
}

/** A correlated sub-query and its parameters. */
export interface PresenceSql {
  /** The text, for `WHERE NOT EXISTS (…)`. */
  readonly sql: string;
  /** Its parameters, in order. */
  readonly params: readonly string[];
}

/** What a presence query is about. */
export interface PresenceOptions {
  /** The definition's name. */
  readonly name: string;
  /** The hero's type. */
  readonly heroType: string;
  /** The column of the outer query that holds the hero's id, such as `users.id`. */
  readonly heroIdColumn: string;
  /** Count only ongoing workflows. */
  readonly ongoing: boolean;
}

/** A database, as far as Pawl needs one. */
export interface StoreDriver<Tx = unknown> {
  /** The driver's name, for messages. */
  readonly name: string;
  /**
   * True when a transaction keeps every other write waiting: a write without `tx` inside one would
   * then wait for itself, and the engine refuses it.
   */
  readonly exclusive?: boolean;

  /** Brings the schema up to date; safe to run concurrently and again. */
  migrate(options?: MigrateOptions): Promise<MigrationReport>;

  /** Inserts workflows with their first executions; a duplicate is a result, and leaves no row. */
  create(batch: readonly NewWorkflow[], options: WriteOptions<Tx>): Promise<Created[]>;

  /**
   * Claims the executions that a queue delivered, as `judgeClaim` says of each. One whose workflow
   * is paused or ended is closed as canceled and answered "stopped".
   */
  claim(ids: readonly string[], options: ClaimOptions): Promise<Claim[]>;

  /**
   * Claims whatever is due by `wakeAt`, smallest priority first, then oldest first (or newest first,
   * where the options say so): scheduled
   * executions of ready workflows, and executions in progress whose lease has ended (these get the
   * new token, so that the old holder's writes are lost from then on).
   */
  claimDue(options: ClaimDueOptions): Promise<Claimed[]>;

  /** Stores cursors and progress, renews leases and answers whether to go on. */
  checkpoint(
    batch: readonly Checkpoint[],
    options: { readonly now: Date; readonly leaseMs: number },
  ): Promise<CheckpointAnswer[]>;

  /** Closes executions, moves their workflows and inserts what is next, as `settleFinish` says. */
  finish(batch: readonly Finished[], options: WriteOptions<Tx>): Promise<FinishResult[]>;

  /** Pauses, resumes, skips, cancels or places a workflow from outside, as `settleCommand` says. */
  command(workflowId: string, command: Command, options: WriteOptions<Tx>): Promise<CommandResult>;

  /** Keeps a signal, once per idempotency key, and wakes the execution that waits for it. */
  signal(workflowId: string, signal: NewSignal, options: WriteOptions<Tx>): Promise<SignalResult>;

  /** Deletes ended workflows with their executions and signals; executions first. */
  purge(
    options: PurgeOptions,
  ): Promise<{ readonly workflows: number; readonly executions: number }>;

  /** Notes the queue's own ids of jobs, for debugging. */
  noteJobIds(entries: readonly { executionId: string; jobId: string }[]): Promise<void>;

  /**
   * Takes a duty that one of all workers does (`housekeeping`), or keeps it; false while somebody
   * else holds it.
   */
  takeDuty(name: "housekeeping", options: DutyOptions): Promise<boolean>;

  /** One workflow, or null. */
  get(id: string, options?: { tx?: Tx | undefined }): Promise<WorkflowRow | null>;

  /** One execution, or null. */
  getExecution(id: string): Promise<ExecutionRow | null>;

  /** The scheduled or running execution of a workflow, or null. */
  active(workflowId: string): Promise<ExecutionRow | null>;

  /** A page of workflows, newest first. */
  list(filter: WorkflowFilter, page: PageOptions): Promise<WorkflowRow[]>;

  /** The executions of a workflow in the order of `seq`, from `afterSeq` on. */
  history(
    workflowId: string,
    page: { readonly limit: number; readonly afterSeq?: number | undefined },
  ): Promise<ExecutionRow[]>;

  /** The signals of a workflow, oldest first. */
  signals(workflowId: string): Promise<SignalRow[]>;

  /** How many workflows of each definition are in each state. */
  counts(): Promise<Count[]>;

  /** How many workflows of one definition point at each step, while they are ongoing. */
  stepCounts(name: string): Promise<{ stepName: string; count: number }[]>;

  /**
   * How many workflows of one definition hold a cursor, or have begun without one, at the step they
   * point at, while they are ongoing; steps at which there are neither may be left out.
   */
  cursorCounts(name: string): Promise<CursorCount[]>;

  /**
   * The failures of paused workflows, newest workflow first; `after` is the id of the last
   * workflow of the page before. It costs no more than the paused workflows are many.
   */
  failures(
    filter: { readonly names?: readonly string[] | undefined },
    page: PageOptions,
  ): Promise<Failure[]>;

  /**
   * Scheduled executions of ready workflows that are due before an instant, oldest first; those
   * that wait for a signal are not among them.
   */
  due(options: { readonly before: Date; readonly limit: number }): Promise<ExecutionRow[]>;

  /**
   * How many executions ended in each slice of a span of time, and which workers hold executions
   * now. It costs no more than what ended in that span and what runs.
   */
  activity(options: ActivityOptions): Promise<Activity>;

  /** A correlated sub-query that is true for heroes that have such a workflow. */
  presence(options: PresenceOptions): PresenceSql;

  /** Runs work in a transaction of its own and commits when it resolves. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;

  /**
   * Calls `heard` whenever something was scheduled, through whatever connection, with the instant
   * when somebody must look; resolves when the signal is aborted. A hint: it may come twice, late or
   * never. Absent where the database cannot tell.
   */
  listen?(
    heard: (at: number) => void,
    options: { readonly signal: AbortSignal; readonly clock: Clock },
  ): Promise<void>;

  /** The database's own clock in epoch milliseconds, to warn of skew; absent where there is none. */
  serverTime?(): Promise<number>;

  /** Closes what the driver opened, and only that. */
  close(): Promise<void>;
}
