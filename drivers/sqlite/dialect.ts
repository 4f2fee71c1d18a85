/**
 * What SQLite does its own way.
 *
 * @module
 */

import type { WorkflowState } from "../../src/state/records.ts";
import { eachOf, type Plan, type Reply, type SqlScalar, type Statement } from "../sql/client.ts";
import {
  type CheckpointValues,
  type Column,
  type Dialect,
  inList,
  type Insert,
  insertHead,
  instantOf,
  type KeyType,
  type Tables,
  type ValueCodec,
  type ValueRows,
} from "../sql/dialect.ts";
import { integerId, textId } from "../sql/ids.ts";
import { insertSets, keyBefore, updateSets, updateSetsIf } from "./sets.ts";

/** SQLite refuses a statement with more than 32,766 parameters; far below that, JSON is shorter. */
const MAX_LISTED = 512;

/** The differences of SQLite. */
export const sqliteDialect: Dialect = {
  name: "sqlite",
  // BEGIN IMMEDIATE lets one transaction write at a time: there are no rows to lock.
  lock: { wait: "", skip: "" },
  codec: (keyType) => keyType === "uuid" ? { ...VALUES, ...UUID_KEYS } : VALUES,
  text: (sql) => sql,
  oneOf: (column, values) =>
    values.length <= MAX_LISTED ? inList(column, values) : inJson(column, values),
  limit: (count) => ({ text: "LIMIT ?", params: [count] }),
  quote: (identifier) => `"${identifier}"`,
  asText: (expression) => `CAST(${expression} AS TEXT)`,

  insert: insertSure,
  insertUnlessTaken,
  update: updateSets,
  updateIf: updateSetsIf,
  checkpoint,

  tableExists: (table) => ({
    text: "SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?",
    params: [table],
  }),
  // The transaction is the lock.
  *lockMigration(): Plan<void> {},
  *unlockMigration(): Plan<void> {},
  primaryKeys: () => ({
    text: "SELECT m.name AS table_name, k.type AS key_type FROM sqlite_master m " +
      "JOIN pragma_table_info(m.name) k WHERE m.type = 'table' AND k.pk > 0",
    params: [],
  }),
  variables: keyVariables,
};

/** AUTOINCREMENT, because an id is an idempotency key to the outside and must never come again. */
function keyVariables(keyType: KeyType): Record<string, string> {
  return keyType === "uuid"
    ? { id: "TEXT NOT NULL PRIMARY KEY", key: "TEXT" }
    : { id: "INTEGER PRIMARY KEY AUTOINCREMENT", key: "INTEGER" };
}

const LEAST = -(2 ** 63);

/** Times are epoch milliseconds and truth values 0 and 1: SQLite has types for neither. */
const VALUES: ValueCodec = {
  idIn: integerId,
  // The least of all is read as a number that is not exact: its absolute value has none.
  idOut: (value) => String(value === LEAST ? BigInt(LEAST) : value),
  timeIn: (time) => time.getTime(),
  timeOut: (value) => instantOf(Number(value)),
  booleanIn: (value) => value ? 1 : 0,
  booleanOut: (value) => Number(value) !== 0,
};

const UUID_KEYS: Pick<ValueCodec, "idIn" | "idOut"> = {
  idIn: textId,
  idOut: (value) => String(value),
};

function inJson(column: Column, values: readonly SqlScalar[]): Statement {
  const list = values.map((value) => typeof value === "string" ? JSON.stringify(value) : value);
  return {
    text: `${column.name} IN (SELECT value FROM json_each(?))`,
    params: [`[${list.join(",")}]`],
  };
}

/** One row per statement: each tells its own key, or that it was left out. */
function insertEach(text: string, columns: readonly Column[]): Insert {
  const made = columns[0]?.name === "id";
  return function* (rows: ValueRows): Plan<unknown[]> {
    const replies = yield* eachOf(text, rows);
    return replies.map(({ changes, lastId }: Reply, at) => {
      if (changes === 0) return null;
      return made ? rows[at]?.[0] ?? null : lastId;
    });
  };
}

/** How many rows one INSERT takes: starting a workflow takes 7.0 µs with one, 5.0 with 5, 4.6 with 25. */
const GROUP = 25;

/** Several rows per statement, where every row is sure to be inserted; their keys follow each other. */
function insertGroups(
  text: string,
  columns: readonly Column[],
): Insert {
  const made = columns[0]?.name === "id";
  const each = insertEach(text, columns);
  const marks = `(${columns.map(() => "?").join(", ")})`;
  const head = text.slice(0, text.lastIndexOf("VALUES"));
  const many = `${head}VALUES ${Array.from({ length: GROUP }, () => marks).join(", ")}`;
  return function* (rows: ValueRows): Plan<unknown[]> {
    if (rows.length < GROUP) return yield* each(rows);
    const grouped = rows.length - rows.length % GROUP;
    const groups: ValueRows[] = [];
    for (let at = 0; at < grouped; at += GROUP) groups.push(rows.slice(at, at + GROUP));
    const replies = yield* eachOf(many, groups.map((group) => group.flat()));
    const ids = replies.flatMap(({ lastId }, at) =>
      (groups[at] as ValueRows).map((row, place) =>
        made ? row[0] : keyBefore(lastId, GROUP - 1 - place)
      )
    );
    const rest = rows.slice(grouped);
    return rest.length === 0 ? ids : [...ids, ...yield* each(rest)];
  };
}

/** Rows that nothing can be in the way of. */
function insertSure(table: string, columns: readonly Column[]): Insert {
  return insertSets(table, columns, insertGroups(insertHead(table, columns), columns));
}

/** Only a workflow of a hero who may have no second one can be in the way of another. */
function insertUnlessTaken(table: string, columns: readonly Column[]): Insert {
  const head = insertHead(table, columns);
  const heroId = columns.findIndex(({ name }) => name === "hero_id");
  const allowMultiple = columns.findIndex(({ name }) => name === "allow_multiple");
  const isSure = (row: ValueRows[number]): boolean =>
    row[heroId] === null || row[allowMultiple] === 1;
  // Not INSERT OR IGNORE: that would also swallow what breaks a CHECK or a NOT NULL.
  const cautious = insertEach(`${head} ON CONFLICT DO NOTHING`, columns);
  const sure = insertSure(table, columns);
  return (rows) => rows.every(isSure) ? sure(rows) : cautious(rows);
}

/** One statement per checkpoint: it stores, renews and answers; one text for each thing it may carry. */
function checkpoint(
  tables: Tables,
): (batch: readonly CheckpointValues[]) => Plan<(WorkflowState | null)[]> {
  const texts = new Map<number, string>();
  const textOf = ({ leaseUntil, cursor, progress }: CheckpointValues): string => {
    const form = (leaseUntil === null ? 0 : 1) + 2 * cursor.length + 4 * progress.length;
    let text = texts.get(form);
    if (text === undefined) {
      const set = [
        ...(leaseUntil === null ? [] : ["lease_until = ?", "wake_at = ?"]),
        ...(cursor.length === 0 ? [] : ["cursor_value = ?"]),
        ...(progress.length === 0
          ? []
          : ["progress_done = ?", "progress_total = ?", "progress_message = ?"]),
      ];
      text = `UPDATE ${tables.executions} SET ${set.join(", ")} ` +
        `WHERE id = ? AND token = ? AND state = 'in_progress' ` +
        `RETURNING (SELECT w.state FROM ${tables.workflows} w WHERE w.id = workflow_id) AS state`;
      texts.set(form, text);
    }
    return text;
  };
  return function* (batch): Plan<(WorkflowState | null)[]> {
    const states: (WorkflowState | null)[] = [];
    for (const one of batch) {
      const lease = one.leaseUntil === null ? [] : [one.leaseUntil, one.leaseUntil];
      const run = [...lease, ...one.cursor, ...one.progress, one.id, one.token];
      const replies = yield { text: textOf(one), runs: [run], last: batch.length === 1 };
      states.push((replies[0]?.rows[0]?.state ?? null) as WorkflowState | null);
    }
    return states;
  };
}
