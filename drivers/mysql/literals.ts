/**
 * Values as literals in the text of a statement.
 *
 * Statements go to the server as text, with the values in it, and not as prepared statements. Those
 * are a resource of the whole server (16,382 of them by default, for all clients together), a batch
 * of another size would be another one, and their numbers travel as DOUBLE. Measured on 64 rows, text
 * is also the faster of the two: 0.77 ms against 0.97 ms to insert them.
 *
 * A literal must mean the same whatever `sql_mode` a session has. So a quotation mark is doubled,
 * which all modes understand, and a text with a backslash, which they do not agree about, is written
 * in hexadecimal. Every text names its character set: so all have the same collation, whatever that
 * of the session is, and can stand side by side in a CASE.
 *
 * @module
 */

import { StoreError } from "../../src/errors.ts";
import type { SqlScalar, SqlValue } from "../sql/client.ts";
import { DRIVER } from "./errors.ts";

/** What cannot stand between quotation marks in every mode and through every proxy. */
// deno-lint-ignore no-control-regex -- these very characters are meant
const DELICATE = /[\\\u0000\u001a]/;

/** What no formatter of statements can take for anything else. */
const INERT = /^\w*$/;

/** How values become text. */
export interface Manner {
  /** Write nearly everything in hexadecimal: the connection has a formatter that rewrites texts. */
  readonly cautious: boolean;
}

/** A text with its values in place of the question marks. */
export function inlined(text: string, params: readonly SqlValue[], manner: Manner): string {
  if (params.length === 0) return text;
  const parts = text.split("?");
  if (parts.length !== params.length + 1) {
    throw new StoreError(
      DRIVER,
      `Cannot run a statement: it has ${parts.length - 1} places for ${params.length} values`,
    );
  }
  let whole = parts[0] as string;
  for (const [at, value] of params.entries()) {
    whole += literal(value as SqlScalar, manner) + (parts[at + 1] as string);
  }
  return whole;
}

/** One value as a literal. */
export function literal(value: SqlScalar, { cautious }: Manner): string {
  switch (typeof value) {
    case "string":
      return (cautious ? INERT.test(value) : !DELICATE.test(value))
        ? `_utf8mb4'${value.replaceAll("'", "''")}'`
        : `_utf8mb4 X'${hexadecimal(value)}'`;
    case "number":
      if (Number.isFinite(value)) return String(value);
      throw new StoreError(DRIVER, `Cannot write ${value}: the database has no such number`);
    case "bigint":
      return String(value);
    case "boolean":
      return value ? "1" : "0";
    default:
      return "NULL";
  }
}

const UTF8 = new TextEncoder();

function hexadecimal(text: string): string {
  let digits = "";
  for (const byte of UTF8.encode(text)) digits += byte.toString(16).padStart(2, "0");
  return digits;
}
