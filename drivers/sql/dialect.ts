/**
 * What differs between databases, and nothing else. Everything that a dialect does not name here is
 * portable text in `statements.ts`.
 *
 * Texts are written with `?` for a parameter and go through `Dialect.text` before they reach the
 * client. What a dialect answers as a `Statement` (`oneOf`, `limit`, `tableExists`, `primaryKeys`)
 * is in that portable form too; the plans that it makes itself yield final texts.
 *
 * @module
 */

import type { WorkflowState } from "../../src/state/records.ts";
import { type Plan, type SqlRow, type SqlScalar, type SqlValue, type Statement } from "./client.ts";

/** The two types of primary keys: made by the database, or version 7 UUIDs made by the store. */
export type KeyType = "bigint" | "uuid";

/** What a column holds: enough for a dialect to know its type. */
export type ColumnKind = "id" | "text" | "json" | "integer" | "real" | "boolean" | "time";

/** A column of a table. */
export interface Column {
  /** The name, which needs no quoting in any database. */
  readonly name: string;
  /** What it holds. */
  readonly kind: ColumnKind;
}

/** How values travel. Null is handled before a codec sees it; text and numbers go as they are. */
export interface ValueCodec {
  /** An id for binding, or null when the text cannot be an id of this schema. */
  idIn(id: string): SqlScalar;
  /** An id as text: what was read, or what `idIn` made. */
  idOut(value: unknown): string;
  /** An instant for binding. */
  timeIn(time: Date): SqlScalar;
  /** An instant as read. */
  timeOut(value: unknown): Date;
  /** A truth value for binding. */
  booleanIn(value: boolean): SqlScalar;
  /** A truth value as read. */
  booleanOut(value: unknown): boolean;
  /** JSON text for binding; absent where it goes as it is. */
  jsonIn?(text: string): SqlScalar;
  /** JSON as read, as text; absent where it comes as text. */
  jsonOut?(value: unknown): string;
}

/** The first and the last instant that every database can hold and write as text. */
const FIRST = Date.parse("0001-01-01T00:00:00.000Z");
const LAST = Date.parse("9999-12-31T23:59:59.999Z");

/**
 * An instant as read, in epoch milliseconds. Somebody may have written by hand what no Date can
 * hold, such as infinity: the nearest instant stands for it, because one that is invalid would be
 * neither before nor after any other, and keep whoever waits behind it from their turn.
 */
export function instantOf(ms: number): Date {
  return new Date(ms >= FIRST ? (ms <= LAST ? ms : LAST) : FIRST);
}

/** The names of the tables, with prefix and schema. */
export interface Tables {
  /** The workflows. */
  readonly workflows: string;
  /** Their executions. */
  readonly executions: string;
  /** Their signals. */
  readonly signals: string;
  /** What one worker of all does. */
  readonly duties: string;
  /** The applied migrations. */
  readonly schema: string;
}

/** Rows of values to write, each in the order of the columns that were named. */
export type ValueRows = readonly (readonly SqlScalar[])[];

/** Inserts rows and answers their ids as the database gave them; null for a row left out. */
export type Insert = (rows: ValueRows) => Plan<unknown[]>;

/** The ids of an inserted workflow and of its first execution; null for what was not inserted. */
export interface StartIds {
  /** The workflow's. */
  readonly workflow: unknown;
  /** Its first execution's. */
  readonly execution: unknown;
}

/** Writes rows, all the columns that were named; the last value of each row is its id. */
export type Update = (rows: ValueRows) => Plan<void>;

/** One checkpoint, ready for binding. */
export interface CheckpointValues {
  /** The execution's id. */
  readonly id: SqlScalar;
  /** The claim's token. */
  readonly token: string;
  /** The new end of the lease; null: it stays, and there is a cursor or progress to store. */
  readonly leaseUntil: SqlScalar;
  /** The new cursor in an array of one; empty: the stored one stays. */
  readonly cursor: readonly [] | readonly [string | null];
  /** The new progress (done, total, message); empty: the stored one stays. */
  readonly progress: readonly [] | readonly [number, number | null, string | null];
}

/** What the text of `Dialect.best` is made of. */
export interface BestParts {
  /** A SELECT of all lanes: `state`, `queue`, `priority` and the first `wake_at`. */
  readonly lanes: string;
  /** The columns of a pair. */
  readonly columns: string;
  /** What stands in FROM for executions `e` with their workflows `w`. */
  readonly from: string;
  /** By what they are ordered. */
  readonly order: string;
}

/** What a database offers whose rows tell by which transaction they were written. */
export interface Versions {
  /** The number of the current transaction. */
  current(): Plan<string>;
  /**
   * Writes columns of rows by id, in the order given; the last two values of each row are its id
   * and the number of the transaction that it must have been written by. Where that is not so for
   * all of them it fails, and the client runs the plan again. Answers the current transaction's
   * number.
   */
  update(table: string, columns: readonly Column[]): (rows: ValueRows) => Plan<string>;
}

/**
 * The differences of one database.
 *
 * The writers are made once per store, so that a dialect can compose its texts in advance; each
 * takes as many rows as there are, and may turn them into one statement.
 */
export interface Dialect {
  /** The driver's name, for messages. */
  readonly name: string;
  /**
   * What ends a SELECT that locks all the rows it answers: `wait` for those that others hold, or
   * `skip` them. Both begin with a space, or are empty where a transaction that writes is alone.
   * `look` ends one that only has to see what is committed by now; absent where every SELECT does.
   */
  readonly lock: { readonly wait: string; readonly skip: string; readonly look?: string };

  /** How values travel under this type of key. */
  codec(keyType: KeyType): ValueCodec;
  /** The same dialect for one type of key; absent where the texts do not depend on it. */
  withKeys?(keyType: KeyType): Dialect;
  /** What is selected for a column, named like it; absent where that is the expression itself. */
  selected?(column: Column, expression: string): string;
  /** A text with `?` placeholders in the placeholders of this database. */
  text(sql: string): string;
  /** `column IN (values)` with `?`, best as few texts however many values there are (at least one). */
  oneOf(column: Column, values: readonly SqlScalar[]): Statement;
  /** What limits a SELECT to so many rows: a whole number of at least 1. */
  limit(count: number): Statement;
  /** An identifier in quotes; it holds only letters, digits and underscores. */
  quote(identifier: string): string;
  /** An expression as text, to compare an id of any type with `hero_id`. */
  asText(expression: string): string;

  /** Inserts rows; the id is among the columns (first) when the store made it, and only then. */
  insert(table: string, columns: readonly Column[]): Insert;
  /** The same, but a row that a unique index refuses is left out. */
  insertUnlessTaken(table: string, columns: readonly Column[]): Insert;
  /**
   * Inserts workflows, like `insertUnlessTaken`, and the first execution of each that has one
   * (without `workflow_id` among its columns) in one statement; absent where that takes two.
   */
  insertStarts?(
    tables: Tables,
    columns: { readonly workflow: readonly Column[]; readonly execution: readonly Column[] },
  ): (workflows: ValueRows, firsts: readonly (ValueRows[number] | null)[]) => Plan<StartIds[]>;
  /** Writes columns of rows by id. */
  update(table: string, columns: readonly Column[]): Update;
  /**
   * Stores what each checkpoint carries and moves `lease_until` and `wake_at`, where the id and the
   * token match an execution in progress; answers the workflow's state, or null where none matched.
   */
  checkpoint(
    tables: Tables,
  ): (batch: readonly CheckpointValues[]) => Plan<(WorkflowState | null)[]>;
  /**
   * Writes columns of rows by id where another column, `guard`, still holds a value; the last two
   * values of each row are its id and that value. Answers how many rows were written. Absent where
   * `versions` tell more.
   */
  updateIf?(
    table: string,
    columns: readonly Column[],
    guard: Column,
  ): (rows: ValueRows) => Plan<number>;
  /** Rows that tell by which transaction they were written; absent where they do not. */
  readonly versions?: Versions;
  /**
   * Tells other processes, once the transaction commits, that something wakes at an instant; absent
   * where the database cannot tell.
   */
  announce?(tables: Tables): (wakeAt: Date) => Plan<void>;

  /**
   * What stands in FROM where rows are looked up and locked by their ids, for a planner that needs a
   * hint; absent: the table.
   */
  byId?(table: string): string;
  /**
   * What stands in FROM for the workflows (without an alias) of listed executions, each once; absent:
   * the table, with the executions in a sub-query.
   */
  workflowsOf?(tables: Tables, listed: string): string;
  /**
   * What stands in FROM for live executions `e` with their workflows `w`, where the index that the
   * statement must begin with needs to be named; absent: a plain join.
   */
  live?(tables: Tables, index: "live" | "due"): string;
  /**
   * Finds the lanes of some states: `state`, `queue`, `priority` and the first `wake_at` of each;
   * absent: the portable text.
   */
  lanes?(tables: Tables): (states: readonly string[]) => Plan<readonly SqlRow[]>;

  /**
   * The text that finds what `Locks.best` answers in one statement, with the bounds of executions in
   * progress and of scheduled ones, the queues (or null) and the limit as its parameters, and a truth
   * value `more`; absent where that takes several statements.
   */
  best?(parts: BestParts): string;

  /** Whether a table of ours exists: a row, or none; its name comes as `Tables` has it. */
  tableExists(table: string): Statement;
  /** Keeps other migrations out until the transaction ends, or until `unlockMigration`. */
  lockMigration(tables: Tables): Plan<void>;
  /** Lets them in again, where the end of the transaction does not; runs after a failure too. */
  unlockMigration(tables: Tables): Plan<void>;
  /**
   * The primary keys of all tables where the store's tables are or will be, one row per column of
   * a key: `table_name` and `key_type`, the latter as the database writes it ("bigint", "char(36)"),
   * and `key_default`, the expression that makes a key, where the store could use the same.
   */
  primaryKeys(): Statement;
  /**
   * What stands for `{{name}}` in the migrations, beside `{{prefix}}` and `{{schema}}`; `keyDefault`
   * is the expression that makes the keys of most of the application's own tables.
   */
  variables(keyType: KeyType, keyDefault: string | null): Readonly<Record<string, string>>;
  /** An instant as a literal; absent where it is written as epoch milliseconds. */
  instant?(time: Date): string;
}

/** What stands in FROM for live executions `e` with their workflows `w`. */
export function liveJoin(
  dialect: Pick<Dialect, "live">,
  tables: Tables,
  index: "live" | "due",
): string {
  return dialect.live?.(tables, index) ??
    `${tables.executions} e JOIN ${tables.workflows} w ON w.id = e.workflow_id`;
}

/** The head of an INSERT of one row: table, columns and placeholders. */
export function insertHead(table: string, columns: readonly Column[]): string {
  const names = columns.map((column) => column.name).join(", ");
  const marks = columns.map(() => "?").join(", ");
  return `INSERT INTO ${table} (${names}) VALUES (${marks})`;
}

/**
 * `column IN (?, ?, …)` whose number of placeholders is a power of two, the last value repeated:
 * so few texts serve all lengths, and prepared statements can be kept.
 */
export function inList(column: Column, values: readonly SqlScalar[]): Statement {
  let size = 1;
  while (size < values.length) size *= 2;
  const last = values.at(-1) ?? null;
  const params: SqlValue[] = [...values];
  while (params.length < size) params.push(last);
  return { text: `${column.name} IN (${params.map(() => "?").join(", ")})`, params };
}
