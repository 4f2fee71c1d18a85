/**
 * Batches: rows of values on their way into one statement.
 *
 * Columns that differ from row to row travel as arrays, which `unnest` turns into rows again, so
 * that one text serves a batch of any size. A column that is the same in all rows (most are: the
 * state, the time, what is null) travels as one value: less to write here, and less to read there.
 * Which columns these are makes the text, and a prepared statement is met again as long as the
 * batches are alike.
 *
 * @module
 */

import type { SqlScalar, SqlValue, Statement } from "../sql/client.ts";
import type { Column, ColumnKind, ValueRows } from "../sql/dialect.ts";

/** The types of the columns, to cast parameters to. */
export type Types = Readonly<Record<ColumnKind, string>>;

/** A text with `$1`, `$2` and so on for its question marks. */
export function numbered(sql: string): string {
  let count = 0;
  return sql.replaceAll("?", () => `$${++count}`);
}

/** The rows of a batch within a statement. */
export interface BatchSource {
  /** What stands after FROM: it has one row for each of the batch, with its number in `u.place`. */
  readonly from: string;
  /** How many rows there are. */
  readonly count: string;
  /** The value of a column. */
  value(name: string): string;
}

/** How many texts a statement may have: the server keeps a plan of each, on each connection. */
const MAX_TEXTS = 10;

/** A text, and which columns have the same value in all rows that it is for. */
interface Form {
  readonly text: string;
  readonly same: readonly boolean[];
}

/** Makes the statement for a batch; `build` composes the text around its rows. */
export function batchStatement(
  columns: readonly Column[],
  types: Types,
  build: (source: BatchSource) => string,
): (rows: ValueRows) => Statement {
  const forms = new Map<string, Form>();
  const makeForm = (same: readonly boolean[]): Form => ({
    text: build(sourceOf(columns, types, same)),
    same,
  });
  const general = makeForm(columns.map(() => false));

  /** The text for exactly these columns or, when there are many already, the best that fits. */
  function formFor(same: readonly boolean[]): Form {
    const key = keyOf(same);
    let form = forms.get(key);
    if (form === undefined && forms.size < MAX_TEXTS) {
      form = makeForm(same);
      forms.set(key, form);
    }
    return form ?? closest([...forms.values()], same) ?? general;
  }

  return (rows) => {
    const { text, same } = formFor(columns.map((_, at) => isSame(rows, at)));
    const params = columns.map((_, at): SqlValue =>
      same[at] ? rows[0]?.[at] ?? null : rows.map((row) => row[at] as SqlScalar)
    );
    if (text.includes(countOf(columns))) params.push(rows.length);
    return { text, params };
  };
}

/** What is the same in all rows may travel as an array too, but not the other way round. */
function closest(forms: readonly Form[], same: readonly boolean[]): Form | undefined {
  const fitting = forms.filter((form) => form.same.every((one, at) => !one || same[at]));
  const count = (form: Form): number => form.same.filter(Boolean).length;
  return fitting.sort((a, b) => count(b) - count(a))[0];
}

function isSame(rows: ValueRows, at: number): boolean {
  const first = rows[0]?.[at];
  for (let row = 1; row < rows.length; row++) if (rows[row]?.[at] !== first) return false;
  return true;
}

function keyOf(same: readonly boolean[]): string {
  let key = "";
  for (const one of same) key += one ? "1" : "n";
  return key;
}

/** The number of rows, which only some texts ask for: the parameter after those of the columns. */
function countOf(columns: readonly Column[]): string {
  return `$${columns.length + 1}::integer`;
}

/** Each column has the parameter of its place. */
function sourceOf(columns: readonly Column[], types: Types, same: readonly boolean[]): BatchSource {
  const values = new Map<string, string>();
  const arrays: string[] = [];
  const names: string[] = [];
  for (const [at, { name, kind }] of columns.entries()) {
    const parameter = `$${at + 1}::${types[kind]}`;
    values.set(name, same[at] ? parameter : `u.${name}`);
    if (same[at]) continue;
    arrays.push(`${parameter}[]`);
    names.push(name);
  }
  const count = countOf(columns);
  const from = arrays.length === 0
    ? `generate_series(1, ${count}) AS u (place)`
    : `unnest(${arrays.join(", ")}) WITH ORDINALITY AS u (${[...names, "place"].join(", ")})`;
  return { from, count, value: (name) => values.get(name) as string };
}
