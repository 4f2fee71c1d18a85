/**
 * What a step's functions are given: the context, its flow functions, and the iter object of
 * resumable steps. Only types; `src/run` and `src/iterate` make the objects.
 *
 * @module
 */

import type { Duration } from "./durations.ts";
import type { ExecutionRecord, WorkflowRecord } from "./records.ts";

/** A logger as Pawl uses one; `console` is one, and so are the loggers of most libraries. */
export interface Logger {
  /** Logs a detail. */
  debug(message: string, fields?: Record<string, unknown>): void;
  /** Logs what happened. */
  info(message: string, fields?: Record<string, unknown>): void;
  /** Logs what somebody should look at. */
  warn(message: string, fields?: Record<string, unknown>): void;
  /** Logs a failure. */
  error(message: string, fields?: Record<string, unknown>): void;
}

/** What was stored of the error that ended the attempt before. */
export interface PreviousError {
  /** The error's class name. */
  readonly class: string;
  /** Its message. */
  readonly message: string | null;
}

/** What a `wait` that is a function sees: it is called when its step is scheduled. */
export interface WaitContext<Hero = unknown, Input = unknown> {
  /** The hero, freshly loaded; null where there is none. */
  readonly hero: Hero;
  /** The input the workflow was started with. */
  readonly input: Input;
  /** The workflow's row; read-only. */
  readonly workflow: WorkflowRecord;
  /** A logger that tags every line with what it is about. */
  readonly log: Logger;
}

/** What conditions, hooks and bodies all see. */
export interface ConditionContext<Hero = unknown, Input = unknown>
  extends WaitContext<Hero, Input> {
  /**
   * This attempt's row. The next attempt is another row: a key for calls to the outside that all
   * attempts share is made of the workflow, such as `${workflow.id}/charge`.
   */
  readonly execution: ExecutionRecord;
  /** Which attempt of this step this is, from 1. */
  readonly attempt: number;
  /** The error of the attempt before, if there was one. */
  readonly previousError: PreviousError | null;
  /** Aborted on shutdown, lost lease, timeout, and pause or cancel from outside. */
  readonly signal: AbortSignal;
}

/** How a step may be asked to run again. */
export interface ReattemptOptions {
  /** How long to wait first; default: not at all. */
  readonly wait?: Duration;
  /** In a resumable step: start over instead of continuing from the cursor. */
  readonly rewind?: boolean;
}

/** The functions with which a body decides where its workflow goes; each ends the body. */
export interface FlowFunctions {
  /** Ends the whole workflow as canceled. */
  cancel(): never;
  /** Pauses the workflow at this step; a resume runs the step again. */
  pause(): never;
  /** Ends this step as skipped and goes on with the next. */
  skip(): never;
  /** Runs this step again, now or after a wait; not limited by `maxReattempts`. */
  reattempt(options?: ReattemptOptions): never;
  /** Ends the whole workflow as finished. */
  finish(): never;
}

/** What the body of a plain step is given. */
export interface StepContext<Hero = unknown, Input = unknown>
  extends ConditionContext<Hero, Input>, FlowFunctions {}

/** What a resumable step is given besides. */
export interface ResumablePart {
  /** The cursor, and iteration over sources with a checkpoint after each item. */
  readonly iter: Iter;
  /** Ends this execution and goes on in another one, from the last cursor. */
  suspend(options?: { readonly wait?: Duration }): never;
}

/** The signal that a `waitFor` step received. */
export interface SignalEvent {
  /** The signal's name. */
  readonly name: string;
  /** What was sent with it. */
  // deno-lint-ignore no-explicit-any -- the sender's type; a body narrows or validates it
  readonly payload: any;
  /** When it was sent. */
  readonly sentAt: Date;
}

/** What a `waitFor` step is given besides. */
export interface EventPart {
  /** The signal that ended the waiting. */
  readonly event: SignalEvent;
}

/** What a step with `transaction: true` is given besides. */
export interface TransactionPart {
  /** The store's own transaction handle: what is written through it commits with the step. */
  // deno-lint-ignore no-explicit-any -- the type belongs to the database client; annotate it to be strict
  readonly tx: any;
}

/** What an `onException` handler is given: the step's context and the error. */
export interface ExceptionContext<Hero = unknown, Input = unknown>
  extends StepContext<Hero, Input> {
  /** The error that was thrown. */
  // deno-lint-ignore no-explicit-any -- a handler is written for the errors its policy matches
  readonly error: any;
}

/** Returned by a callback to end an iteration early. */
export interface IterationStop {
  /** The mark of the value; `iter.stop` is the only one. */
  readonly stop: true;
  /** Whether `onComplete` is left out. */
  readonly silent: boolean;
}

/** What a callback of an iteration may return: anything, or `iter.stop` to end early. */
// deno-lint-ignore no-explicit-any -- what a callback returns is ignored, save for the stop signal
export type IterationResult = any;

/** What a cursor may be made of. */
export type CursorValue = unknown;

/** A position of a key-set: one value, or one per column. */
export type RecordKey = unknown;

/** Records that are fetched page by page, each strictly after a key. */
export interface RecordSource<Item> {
  /** Fetches at most `limit` records after a key (null: from the start), in ascending order. */
  fetch(
    // deno-lint-ignore no-explicit-any -- what `cursor` made, or null: the source knows its type
    page: { readonly after: any; readonly limit: number },
  ): Promise<readonly Item[]> | readonly Item[];
  /** The key of a record: its place in that order, one value or an array of them. */
  cursor(item: Item): RecordKey;
  /** How many to fetch at once; default 1000. */
  readonly pageSize?: number;
}

/** Rows of a table of the application, paged by key-set SQL that Pawl builds. */
export interface TableSource {
  /** The table, with its schema if need be. */
  readonly table: string;
  /** The ordering columns; the last must make the key unique. Default `["id"]`. */
  readonly cursor?: string | readonly string[];
  /** The columns to select; default all. */
  readonly columns?: readonly string[];
  /** A condition in SQL with `?` for each parameter. */
  readonly where?: { readonly sql: string; readonly params?: readonly unknown[] } | string;
  /** How many rows to fetch at once; default 1000. */
  readonly pageSize?: number;
  /** Which SQL to write. */
  readonly dialect: "sqlite" | "postgres" | "mysql";
  /** Runs a query on the application's own connection and resolves to the rows. */
  // deno-lint-ignore no-explicit-any -- each client has a type of its own for what it binds
  query(sql: string, params: any[]): Promise<readonly TableRow[]> | readonly TableRow[];
}

/** A row of a table source. */
// deno-lint-ignore no-explicit-any -- the application knows its columns
export type TableRow = Record<string, any>;

/** Something to iterate over that can be made again: from a cursor, with pairs of item and cursor. */
export type PairSource<Item> =
  | Iterable<readonly [Item, CursorValue]>
  | AsyncIterable<readonly [Item, CursorValue]>
  | null
  | undefined;

/** Callbacks around an iteration. */
export interface IterationOptions {
  /** Once per chain, before the first item. */
  onStart?(): unknown;
  /** In every execution whose iteration ended without an error, before it is closed. */
  onShutdown?(): unknown;
  /** Once, when the source is exhausted or was stopped. */
  onComplete?(): unknown;
  /** Around every item: call `next` to process it. */
  aroundIteration?(next: () => Promise<void>, item: unknown): unknown;
  /** How often to store the cursor: every so many items, or at most every so many milliseconds. */
  readonly checkpointEvery?: { readonly items?: number; readonly ms?: number };
}

/** Options of an iteration in batches. */
export interface BatchOptions extends IterationOptions {
  /** How many items a batch has at the most. */
  readonly batchSize: number;
}

/** Options of an iteration over CSV. */
export interface CsvOptions extends IterationOptions {
  /** Deliver this many rows at a time, as an array. */
  readonly batchSize?: number;
  /** The separator; default a comma. */
  readonly separator?: string;
  /** The column names; default: the first line. */
  readonly columns?: readonly string[];
}

/** What CSV may be read from: text, a `file:` URL or a path, or a stream of bytes or text. */
export type CsvSource =
  | string
  | URL
  | ReadableStream<Uint8Array>
  | ReadableStream<string>
  | (() =>
    | ReadableStream<Uint8Array>
    | ReadableStream<string>
    | Promise<ReadableStream<Uint8Array>>);

/** What can be iterated again from its start: an array, a set, a map, or a function that makes items. */
export type ItemSource<Item> =
  | readonly Item[]
  | (Iterable<Item> & { readonly next?: never })
  | (() => MadeItems<Item> | Promise<MadeItems<Item>>);

/** What a function may make to be iterated over; nothing at all is fine too. */
export type MadeItems<Item> = Iterable<Item> | AsyncIterable<Item> | null | undefined;

/** The cursor of a resumable step, and iteration that keeps it. */
export interface Iter {
  /** Where to continue: exactly what was last stored; null (or the step's `start`) at first. */
  // deno-lint-ignore no-explicit-any -- the body knows what it stored
  readonly cursor: any;
  /** Whether this execution continues another one. */
  readonly resumed: boolean;
  /** Whether the cursor was set in this execution. */
  readonly advanced: boolean;
  /** Return it from a callback to end the iteration as complete. */
  readonly stop: IterationStop;
  /** Return it from a callback to end the iteration without `onComplete`. */
  readonly stopSilently: IterationStop;
  /** Stores the cursor, then stops here if somebody asks to stop. */
  set(value: CursorValue): Promise<void>;
  /** Stores the integer cursor plus one; with `from`, that plus one. */
  advance(options?: { readonly from?: number | bigint }): Promise<void>;
  /** Stores the cursor as it is, then stops here if somebody asks to stop. */
  checkpoint(): Promise<void>;
  /** Stores the cursor and goes on in another execution, now or after a wait. */
  skipTo(value: CursorValue, options?: { readonly wait?: Duration }): Promise<never>;
  /** Says how far the step is; stored with the next checkpoint. */
  progress(done: number, total?: number | null, message?: string | null): void;
  /** Iterates over an array, or what a factory makes again each time; the cursor is the next index. */
  over<Item>(
    source: ItemSource<Item>,
    fn: (item: Item, index: number) => IterationResult,
    options?: IterationOptions,
  ): Promise<void>;
  /** Iterates over records in the order of a key; the cursor is the last record's key. */
  overRecords<Item>(
    source: RecordSource<Item>,
    fn: (item: Item) => IterationResult,
    options?: IterationOptions,
  ): Promise<void>;
  /** Iterates over rows of a table of the application. */
  overRecords(
    source: TableSource,
    fn: (row: TableRow) => IterationResult,
    options?: IterationOptions,
  ): Promise<void>;
  /** Iterates over batches of records; the cursor is taken before the callback. */
  overBatches<Item>(
    source: RecordSource<Item>,
    options: BatchOptions,
    fn: (batch: readonly Item[]) => IterationResult,
  ): Promise<void>;
  /** Iterates over batches of rows of a table of the application. */
  overBatches(
    source: TableSource,
    options: BatchOptions,
    fn: (batch: readonly TableRow[]) => IterationResult,
  ): Promise<void>;
  /** Iterates over pairs of an item and the cursor to store once the item is done. */
  overPairs<Item>(
    source: (cursor: CursorValue) => PairSource<Item> | Promise<PairSource<Item>>,
    fn: (item: Item) => IterationResult,
    options?: IterationOptions,
  ): Promise<void>;
  /** Iterates over sources within sources; the cursor has one entry per level. */
  overNested(
    // deno-lint-ignore no-explicit-any -- each level is given the items of the levels above it
    sources: readonly ((...itemsAndCursor: any[]) => PairSource<any> | Promise<PairSource<any>>)[],
    // deno-lint-ignore no-explicit-any -- the innermost item first, then the outer ones
    fn: (innermost: any, ...outers: any[]) => IterationResult,
    options?: IterationOptions,
  ): Promise<void>;
  /** Iterates over the rows of CSV, as objects keyed by the header; the cursor is the next index. */
  overCsv(
    source: CsvSource,
    fn: (row: Record<string, string>, index: number) => IterationResult,
    options?: CsvOptions & { readonly batchSize?: never },
  ): Promise<void>;
  /** Iterates over batches of CSV rows; the cursor is the next batch's index. */
  overCsv(
    source: CsvSource,
    fn: (rows: readonly Record<string, string>[], index: number) => IterationResult,
    options: CsvOptions & { readonly batchSize: number },
  ): Promise<void>;
  /** Before every item of the sources that follow: when the predicate holds, wait in another execution. */
  throttle(
    predicate: () => boolean | Promise<boolean>,
    options: { readonly backoff: Duration },
  ): void;
}
