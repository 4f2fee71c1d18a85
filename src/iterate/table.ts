/**
 * Rows of a table of the application, by key-set SQL.
 *
 * A page is asked for by the key of the row before it, never by an offset, so that the last page
 * costs as much as the first and rows that come and go do not shift the others. The row with that
 * very key comes along, and the database says which one it takes for it: if there are several, the
 * key tells rows apart less well than it must (equal values, or texts that its collation takes for
 * equal), and the others would be left out without a word. Where the client gives a column as a
 * `Date`, the key is taken from the column's text: a `Date` has milliseconds, the database
 * microseconds, and the difference would repeat rows.
 *
 * @module
 */

import type { RecordKey, RecordSource, TableRow, TableSource } from "../define/context.ts";
import { CursorError, InvalidInputError } from "../errors.ts";
import { partsOf } from "./keys.ts";
import { callable } from "./options.ts";
import { condition } from "./where.ts";

/** A statement and its parameters. */
export interface Statement {
  /** The text. */
  readonly sql: string;
  /** The parameters, in the order of the text. */
  readonly params: readonly unknown[];
}

/** Makes a record source of a table. */
export function tableRecords(source: TableSource): RecordSource<TableRow> {
  callable(source.query, "query");
  const table = describeTable(source);
  const keys = new WeakMap<TableRow, RecordKey>();
  // Here nulls come last and compare as unknown: past the first page they would just be left out.
  let nullsArePossible = source.dialect === "postgres";
  return {
    ...(source.pageSize !== undefined && { pageSize: source.pageSize }),
    async fetch({ after, limit }): Promise<readonly TableRow[]> {
      if (after === null && nullsArePossible) {
        const { sql, params } = nullProbe(table);
        if ((await source.query(sql, [...params])).length > 0) throw nullKeys(table);
        nullsArePossible = false;
      }
      const { sql, params } = pageStatement(table, { after, limit });
      const rows = withoutCursorRow(table, await source.query(sql, [...params])).slice(0, limit);
      for (const row of rows) keys.set(row, takeKey(table, row));
      return rows;
    },
    cursor: (row) => keys.get(row),
  };
}

/** A table as the statements need it: checked, its names quoted. */
export interface Table {
  /** Which SQL to write. */
  readonly dialect: TableSource["dialect"];
  /** The table's quoted name. */
  readonly name: string;
  /** What is selected. */
  readonly selection: string;
  /** The columns of the key. */
  readonly keys: readonly string[];
  /** The same, quoted. */
  readonly quotedKeys: readonly string[];
  /** The user's condition; null: none. */
  readonly where: Statement | null;
}

/** Checks a table source and quotes its names. */
export function describeTable(source: TableSource): Table {
  const quote = quoting(source.dialect);
  const keys = typeof source.cursor === "string" ? [source.cursor] : source.cursor ?? ["id"];
  if (keys.length === 0) {
    throw new InvalidInputError("Cannot iterate: a table needs a cursor column");
  }
  const quotedKeys = keys.map((key) => quote(key, "cursor column"));
  const columns = source.columns === undefined
    ? ["*"]
    : [...new Set([...source.columns, ...keys])].map((column) => quote(column, "column"));
  return {
    dialect: source.dialect,
    name: tableParts(source.table).map((part) => quote(part, "table")).join("."),
    selection: [...columns, ...keyTexts(source.dialect, quotedKeys)].join(", "),
    keys,
    quotedKeys,
    where: condition(source.dialect, source.where),
  };
}

/** The statement for the first page, or for the row with a key and the page after it. */
export function pageStatement(
  table: Table,
  page: { readonly after: RecordKey | null; readonly limit: number },
): Statement {
  const { where, quotedKeys } = table;
  const order = `ORDER BY ${quotedKeys.join(", ")}`;
  if (page.after === null) {
    const condition = where === null ? "" : ` WHERE (${where.sql})`;
    const sql = `SELECT ${table.selection} FROM ${table.name}${condition} ${order}`;
    return { sql: `${sql} LIMIT ${page.limit}`, params: where?.params ?? [] };
  }
  const key = keyFor(table, page.after);
  const { params, bind } = binding(table, key);
  const same = quotedKeys.map((column, at) => `${column} = ${bind(at)}`).join(" AND ");
  if (table.dialect !== "postgres") params.push(...where?.params ?? []);
  const condition = where === null ? "" : `(${where.sql}) AND `;
  const sql = `SELECT ${table.selection}, (${same}) AS ${SAME} FROM ${table.name} ` +
    `WHERE ${condition}${fromKey(table, bind)} ${order} LIMIT ${page.limit + 1}`;
  return { sql, params };
}

/** Writes the parameter for a column of the key. */
type Bind = (column: number) => string;

/** On Postgres parameters have numbers, the condition's own first; elsewhere the order of the text counts. */
function binding(
  { dialect, where }: Table,
  key: readonly unknown[],
): { readonly params: unknown[]; readonly bind: Bind } {
  if (dialect === "postgres") {
    const before = where?.params ?? [];
    return { params: [...before, ...key], bind: (column) => `$${before.length + column + 1}` };
  }
  const params: unknown[] = [];
  return {
    params,
    bind(column): string {
      params.push(key[column]);
      return "?";
    },
  };
}

/** The column in which the database says whether a row's key is the one that was asked for. */
const SAME = "pawl_same";

function keyFor({ name, quotedKeys }: Table, after: RecordKey): readonly unknown[] {
  const key = partsOf(after);
  if (key.length === quotedKeys.length) return key;
  throw new InvalidInputError(
    `Cannot continue over ${name}: the cursor has ${key.length} columns, ` +
      `the key has ${quotedKeys.length}`,
  );
}

/** Compares the columns with the key, as one value. */
function fromKey({ dialect, quotedKeys: columns }: Table, bind: Bind): string {
  if (columns.length === 1) return `${columns[0]} >= ${bind(0)}`;
  if (dialect !== "mysql") {
    return `(${columns.join(", ")}) >= (${columns.map((_, at) => bind(at)).join(", ")})`;
  }
  // MySQL compares rows without using the index; the first column's range brings it in.
  return `${columns[0]} >= ${bind(0)} AND ${expanded(columns, 0, bind)}`;
}

/** `(a > ? OR (a = ? AND (b > ? OR ... z >= ?)))`: a comparison of rows, spelt out. */
function expanded(columns: readonly string[], at: number, bind: Bind): string {
  const column = columns[at];
  if (at === columns.length - 1) return `${column} >= ${bind(at)}`;
  const first = `${column} > ${bind(at)} OR (${column} = ${bind(at)}`;
  return `(${first} AND ${expanded(columns, at + 1, bind)}))`;
}

/** The rows after the one with the cursor's key, which is there no more if it was deleted. */
function withoutCursorRow(table: Table, rows: readonly TableRow[]): readonly TableRow[] {
  const isSame = (row: TableRow): boolean => [true, 1, 1n, "1", "t"].includes(row[SAME]);
  const others = rows.filter((row) => !isSame(row));
  if (rows.length - others.length > 1) {
    throw new CursorError(
      `Cannot continue over ${table.name}: to the database several rows have the cursor's key ` +
        `(${table.quotedKeys.join(", ")}); add a column to the cursor that tells them apart`,
    );
  }
  for (const row of others) delete row[SAME];
  return others;
}

function nullProbe(table: Table): Statement {
  const anyNull = table.quotedKeys.map((column) => `${column} IS NULL`).join(" OR ");
  const where = table.where === null ? "" : `(${table.where.sql}) AND `;
  return {
    sql: `SELECT 1 FROM ${table.name} WHERE ${where}(${anyNull}) LIMIT 1`,
    params: table.where?.params ?? [],
  };
}

function nullKeys(table: Table): InvalidInputError {
  return new InvalidInputError(
    `Cannot iterate over ${table.name}: ${table.quotedKeys.join(" or ")} is null in some rows; ` +
      `order by columns that are never null, or leave these rows out with "where"`,
  );
}

/** Reads the key of a row and removes what was selected only for it. */
function takeKey(table: Table, row: TableRow): RecordKey {
  const key = table.keys.map((column, index) => {
    const text: unknown = row[`pawl_key_${index}`];
    delete row[`pawl_key_${index}`];
    return row[column] instanceof Date && typeof text === "string" ? text : row[column];
  });
  return key.length === 1 ? key[0] : key;
}

/** The key's columns as text, next to the row's own; SQLite has no type that a client makes a Date of. */
function keyTexts(dialect: TableSource["dialect"], quotedKeys: readonly string[]): string[] {
  if (dialect === "sqlite") return [];
  const type = dialect === "postgres" ? "TEXT" : "CHAR";
  return quotedKeys.map((key, index) => `CAST(${key} AS ${type}) AS pawl_key_${index}`);
}

const IDENTIFIER = /^[\p{L}_][\p{L}\p{N}_$]{0,127}$/u;

function quoting(dialect: TableSource["dialect"]): (name: unknown, what: string) => string {
  if (!["sqlite", "postgres", "mysql"].includes(dialect)) {
    throw new InvalidInputError(
      `Cannot iterate over a table: dialect must be "sqlite", "postgres" or "mysql"`,
    );
  }
  const mark = dialect === "mysql" ? "`" : '"';
  return (name, what) => {
    if (typeof name === "string" && IDENTIFIER.test(name)) return `${mark}${name}${mark}`;
    throw new InvalidInputError(
      `Cannot iterate over a table: ${JSON.stringify(name)} is no plain name of a ${what}; ` +
        `joins and expressions are not offered, use { fetch, cursor } for these`,
    );
  };
}

function tableParts(table: unknown): readonly string[] {
  return typeof table === "string" ? table.split(".") : [table as string];
}
