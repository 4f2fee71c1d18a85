/**
 * Rows that are written as sets.
 *
 * A statement costs about a microsecond before it touches a row, and the rows of one moment are
 * mostly alike: a hundred steps that end together get the same state, the same times, the same
 * token, and differ in their ids. So rows that agree in all other values are written by one
 * statement with a list of ids. Measured on a hundred steps, per step: closing takes 1.3 µs against
 * 2.9 row by row, moving the workflow 0.6 against 1.5, inserting the next 1.1 against 2.0 with 25 rows
 * per statement.
 *
 * @module
 */

import type { Plan, Reply, Request, SqlScalar } from "../sql/client.ts";
import {
  type Column,
  inList,
  type Insert,
  insertHead,
  type Update,
  type ValueRows,
} from "../sql/dialect.ts";

const ID: Column = { name: "id", kind: "id" };

/** Beyond so many kinds of rows in a batch, what is of yet another kind is written by itself. */
const MAX_KINDS = 8;

/** No statement gets more ids than this; SQLite takes 32,766 parameters. */
const MAX_LISTED = 512;

/** Rows that agree in all values but some; the values of the first stand for all. */
interface Kind {
  readonly rows: (readonly SqlScalar[])[];
  /** Where each stands in the batch. */
  readonly places: number[];
}

/** Divides rows into kinds: those of one are the same in the values at these places. */
function kindsOf(rows: ValueRows, at: readonly number[]): Kind[] {
  const kinds: Kind[] = [];
  for (let place = 0; place < rows.length; place++) {
    const row = rows[place] as ValueRows[number];
    const kind = kindOf(kinds, row, at);
    if (kind === null) kinds.push({ rows: [row], places: [place] });
    else {
      kind.rows.push(row);
      kind.places.push(place);
    }
  }
  return kinds;
}

function kindOf(
  kinds: readonly Kind[],
  row: ValueRows[number],
  at: readonly number[],
): Kind | null {
  const count = Math.min(kinds.length, MAX_KINDS);
  for (let index = 0; index < count; index++) {
    const kind = kinds[index] as Kind;
    const { rows } = kind;
    if (rows.length < MAX_LISTED && isAlike(rows[0] as ValueRows[number], row, at)) return kind;
  }
  return null;
}

function isAlike(one: ValueRows[number], other: ValueRows[number], at: readonly number[]): boolean {
  for (let index = 0; index < at.length; index++) {
    const place = at[index] as number;
    if (one[place] !== other[place]) return false;
  }
  return true;
}

/** Writes columns of rows by id. */
export function updateSets(table: string, columns: readonly Column[]): Update {
  const write = setWriter(table, columns, null);
  return function* (rows) {
    yield* write(rows);
  };
}

/** Writes columns of rows by id where the guard holds what it must; answers how many it wrote. */
export function updateSetsIf(
  table: string,
  columns: readonly Column[],
  guard: Column,
): (rows: ValueRows) => Plan<number> {
  return setWriter(table, columns, guard);
}

function setWriter(
  table: string,
  columns: readonly Column[],
  guard: Column | null,
): (rows: ValueRows) => Plan<number> {
  const idAt = columns.length;
  const bound = columns.map((_, at) => at);
  if (guard !== null) bound.push(idAt + 1);
  const set = columns.map((column) => `${column.name} = ?`).join(", ");
  // With the plus no index of the guard's column is taken: the rows are found by their keys.
  const guarded = guard === null ? "" : `+${guard.name} = ? AND `;
  const head = `UPDATE ${table} SET ${set} WHERE ${guarded}`;
  const texts = new Map<string, string>();
  const textOf = (listed: string): string => {
    let text = texts.get(listed);
    if (text === undefined) {
      text = head + listed;
      texts.set(listed, text);
    }
    return text;
  };
  const requestOf = ({ rows }: Kind): Request => {
    const { text, params } = inList(ID, rows.map((row) => row[idAt] as SqlScalar));
    const values = bound.map((at) => rows[0]?.[at] as SqlScalar);
    return { text: textOf(text), runs: [[...values, ...params]] };
  };
  return function* (rows): Plan<number> {
    const [first, ...also] = kindsOf(rows, bound).map(requestOf);
    if (first === undefined) return 0;
    const replies: readonly Reply[] = yield also.length === 0 ? first : { ...first, also };
    return replies.reduce((sum, { changes }) => sum + changes, 0);
  };
}

/** Fewer rows of a kind than this are inserted with the others. */
const MIN_SET = 4;

/**
 * Inserts rows that are sure to be inserted: those that agree in all but their keys from a list of
 * keys, in its order, and the others as `otherwise` does.
 */
export function insertSets(table: string, columns: readonly Column[], otherwise: Insert): Insert {
  const made = columns[0]?.name === "id";
  const workflowAt = columns.findIndex(({ name }) => name === "workflow_id");
  const isKey = (at: number): boolean => at === workflowAt || (made && at === 0);
  const bound = columns.flatMap((_, at) => isKey(at) ? [] : [at]);
  const text = setText(table, columns, workflowAt);

  const requestOf = ({ rows }: Kind): Request => ({
    text,
    runs: [[...bound.map((at) => rows[0]?.[at] as SqlScalar), keysOf(rows, made, workflowAt)]],
  });

  return function* (rows: ValueRows): Plan<unknown[]> {
    if (rows.length < MIN_SET) return yield* otherwise(rows);
    const kinds = kindsOf(rows, bound);
    // Workflows are listed by their keys, which follow the order in which they were given.
    if (workflowAt < 0 && kinds.length > 1) return yield* otherwise(rows);
    const sets = kinds.filter((kind) => kind.rows.length >= MIN_SET);
    const ids: unknown[] = rows.map((row) => made ? row[0] : null);
    const [first, ...also] = sets.map(requestOf);
    if (first !== undefined) {
      const replies: readonly Reply[] = yield also.length === 0 ? first : { ...first, also };
      for (const [index, { places }] of sets.entries()) {
        if (made) break;
        const { lastId } = replies[index] as Reply;
        for (const [at, place] of places.entries()) {
          ids[place] = keyBefore(lastId, places.length - 1 - at);
        }
      }
    }
    const rest = kinds.flatMap((kind) => kind.rows.length < MIN_SET ? kind.places : []);
    if (rest.length === 0) return ids;
    const others = yield* otherwise(rest.map((place) => rows[place] as ValueRows[number]));
    for (const [index, place] of rest.entries()) ids[place] = others[index];
    return ids;
  };
}

/** A list gives the one key that the store knows, an object both; the database makes the others. */
function setText(table: string, columns: readonly Column[], workflowAt: number): string {
  const head = insertHead(table, columns);
  const values = columns.map(({ name }, at) => {
    if (at === workflowAt) return "value";
    if (name === "id") return workflowAt >= 0 ? "key" : "value";
    return "?";
  });
  return `${head.slice(0, head.lastIndexOf("VALUES"))}SELECT ${
    values.join(", ")
  } FROM json_each(?)`;
}

function keysOf(rows: ValueRows, made: boolean, workflowAt: number): string {
  const json = (key: SqlScalar | undefined): string =>
    typeof key === "string" ? JSON.stringify(key) : String(key ?? 0);
  if (made && workflowAt >= 0) {
    return `{${rows.map((row) => `${json(row[0])}:${json(row[workflowAt])}`).join(",")}}`;
  }
  return `[${rows.map((row) => json(made ? row[0] : row[workflowAt])).join(",")}]`;
}

/** AUTOINCREMENT counts on by one within a statement, and nobody else writes meanwhile. */
export function keyBefore(lastId: unknown, places: number): unknown {
  return typeof lastId === "bigint" ? lastId - BigInt(places) : Number(lastId) - places;
}
