/**
 * What differs between databases, and nothing else. Everything that a dialect does not name here is
 * portable text in `statements.ts`.
 *
 * @module
 */

import type { WorkflowState } from "../../src/state/records.ts";
import type { MigrateOptions } from "../../src/seams/store.ts";
import { eachOf, type Plan, type SqlValue, type Statement } from "./client.ts";

/** What a column holds; a codec says how each kind is bound and read. */
export type ColumnKind = "id" | "text" | "json" | "integer" | "real" | "boolean" | "time";

/** A column of a table. */
export interface Column {
  /** The name, which needs no quoting in any database. */
  readonly name: string;
  /** What it holds. */
  readonly kind: ColumnKind;
}

/** How values travel. Null is handled before a codec sees it. */
export interface Codec {
  /** An id for binding, or null when the text cannot be an id of this database. */
  idIn(id: string): SqlValue;
  /** An id as text. */
  idOut(value: unknown): string;
  /** An instant for binding. */
  timeIn(time: Date): SqlValue;
  /** An instant as read. */
  timeOut(value: unknown): Date;
  /** A truth value for binding. */
  booleanIn(value: boolean): SqlValue;
  /** A truth value as read. */
  booleanOut(value: unknown): boolean;
}

/** The names of the tables, with the prefix. */
export interface Tables {
  /** The workflows. */
  readonly workflows: string;
  /** Their executions. */
  readonly executions: string;
  /** Their signals. */
  readonly signals: string;
  /** The applied migrations. */
  readonly schema: string;
}

/** Rows of values to write, in the order of the columns that were named. */
export type ValueRows = readonly (readonly SqlValue[])[];

/** One checkpoint, ready for binding. */
export interface CheckpointValues {
  /** The execution's id. */
  readonly id: SqlValue;
  /** The claim's token. */
  readonly token: string;
  /** The new end of the lease. */
  readonly leaseUntil: SqlValue;
  /** The new cursor in an array of one; empty: the stored one stays. */
  readonly cursor: readonly [] | readonly [string | null];
  /** The new progress (done, total, message); empty: the stored one stays. */
  readonly progress: readonly [] | readonly [number, number | null, string | null];
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
  /** How values travel. */
  readonly codec: Codec;
  /** Suffixes of a SELECT that locks: one that waits, and one that skips what others hold. */
  readonly lock: { readonly wait: string; readonly skip: string };
  /** True when a transaction that writes is alone: what it read before locking cannot change. */
  readonly singleWriter: boolean;

  /** A text with `?` placeholders in the placeholders of this database. */
  text(sql: string): string;
  /** `column IN (values)`, best as one text however many values there are; uses `?`. */
  oneOf(column: Column, values: readonly SqlValue[]): Statement;
  /** An expression as text, to compare a hero's id of any type with `hero_id`. */
  asText(expression: string): string;

  /** Inserts rows and answers their ids, in order. The id is not among the columns. */
  insert(table: string, columns: readonly Column[]): (rows: ValueRows) => Plan<string[]>;
  /** The same, but a row that a unique index refuses is left out, and its id is null. */
  insertUnlessTaken(
    table: string,
    columns: readonly Column[],
  ): (rows: ValueRows) => Plan<(string | null)[]>;
  /** Writes columns of rows; the last value of each row is its id. */
  update(table: string, columns: readonly Column[]): (rows: ValueRows) => Plan<void>;
  /**
   * Stores what each checkpoint carries and moves `lease_until` and `wake_at`, where the id and the
   * token match an execution in progress; answers the workflow's state, or null where none matched.
   */
  checkpoint(
    tables: Tables,
  ): (batch: readonly CheckpointValues[]) => Plan<(WorkflowState | null)[]>;

  /** Whether a table exists: a row, or none. */
  tableExists(table: string): Statement;
  /** Keeps other migrations out until the transaction ends, or until `unlockMigration`. */
  lockMigration(tables: Tables): Plan<void>;
  /** Lets them in again, where the end of the transaction does not. */
  unlockMigration(tables: Tables): Plan<void>;
  /** The type of the primary keys, given what was asked for and what the database holds. */
  keyType(asked: NonNullable<MigrateOptions["keyType"]>): Plan<"bigint" | "uuid">;
}

/** An `update` that runs one text per row: right where a statement is not a round trip. */
export function updateEach(
  dialect: Pick<Dialect, "text">,
  table: string,
  columns: readonly Column[],
): (rows: ValueRows) => Plan<void> {
  const set = columns.map((column) => `${column.name} = ?`).join(", ");
  const text = dialect.text(`UPDATE ${table} SET ${set} WHERE id = ?`);
  return function* (rows) {
    yield* eachOf(text, rows);
  };
}

/** The head of an INSERT of one row: table, columns and placeholders. */
export function insertHead(table: string, columns: readonly Column[]): string {
  const names = columns.map((column) => column.name).join(", ");
  const marks = columns.map(() => "?").join(", ");
  return `INSERT INTO ${table} (${names}) VALUES (${marks})`;
}
