/**
 * Rows of a table of the application, by key-set SQL.
 *
 * A page is asked for by the key of the row before it, never by an offset, so that the last page
 * costs as much as the first and rows that come and go do not shift the others. Where the client
 * gives a column as a `Date`, the key is taken from the column's text: a `Date` has milliseconds,
 * the database microseconds, and the difference would repeat rows.
 *
 * @module
 */

import type { Key, RecordSource, Row, TableSource } from "../define/context.ts";
import { InvalidInputError } from "../errors.ts";
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
export function tableRecords(source: TableSource): RecordSource<Row> {
  callable(source.query, "query");
  const table = describeTable(source);
  const keys = new WeakMap<Row, Key>();
  // Here nulls come last and compare as unknown: past the first page they would just be left out.
  let nullsArePossible = source.dialect === "postgres";
  return {
    ...(source.pageSize !== undefined && { pageSize: source.pageSize }),
    async fetch({ after, limit }): Promise<readonly Row[]> {
      if (after === null && nullsArePossible) {
        const { sql, params } = nullProbe(table);
        if ((await source.query(sql, params)).length > 0) throw nullKeys(table);
        nullsArePossible = false;
      }
      const { sql, params } = pageStatement(table, { after, limit });
      const rows = await source.query(sql, params);
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

/** The statement for the page after a key, or for the first page. */
export function pageStatement(
  table: Table,
  page: { readonly after: Key | null; readonly limit: number },
): Statement {
  const params: unknown[] = [...table.where?.params ?? []];
  const conditions = table.where === null ? [] : [`(${table.where.sql})`];
  if (page.after !== null) conditions.push(afterKey(table, partsOf(page.after), params));
  const where = conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`;
  const sql = `SELECT ${table.selection} FROM ${table.name}${where} ` +
    `ORDER BY ${table.quotedKeys.join(", ")} LIMIT ${page.limit}`;
  return { sql, params };
}

/** Appends the key to the parameters and compares the columns with it, as one value. */
function afterKey(table: Table, key: readonly unknown[], params: unknown[]): string {
  const { dialect, quotedKeys: columns } = table;
  if (key.length !== columns.length) {
    throw new InvalidInputError(
      `Cannot continue over ${table.name}: the cursor has ${key.length} columns, ` +
        `the key has ${columns.length}`,
    );
  }
  const bind = (value: unknown): string => {
    params.push(value);
    return dialect === "postgres" ? `$${params.length}` : "?";
  };
  if (columns.length === 1) return `${columns[0]} > ${bind(key[0])}`;
  if (dialect !== "mysql") return `(${columns.join(", ")}) > (${key.map(bind).join(", ")})`;
  // MySQL compares rows without using the index; the first column's range brings it in.
  return `${columns[0]} >= ${bind(key[0])} AND ${expanded(columns, key, bind)}`;
}

/** `(a > ? OR (a = ? AND (b > ? OR ...)))`: a comparison of rows, spelt out. */
function expanded(
  columns: readonly string[],
  key: readonly unknown[],
  bind: (value: unknown) => string,
): string {
  const greater = `${columns[0]} > ${bind(key[0])}`;
  if (columns.length === 1) return greater;
  const equal = `${columns[0]} = ${bind(key[0])}`;
  return `(${greater} OR (${equal} AND ${expanded(columns.slice(1), key.slice(1), bind)}))`;
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
function takeKey(table: Table, row: Row): Key {
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
