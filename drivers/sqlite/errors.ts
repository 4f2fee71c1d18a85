/**
 * What SQLite says, in words that name the file and the way out.
 *
 * @module
 */

import { MigrationError, PawlError, StoreError } from "../../src/errors.ts";

/** The driver's name, for messages. */
export const DRIVER = "sqlite";

const BUSY = 5;
const LOCKED = 6;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const CONSTRAINT = 19;
const NOTADB = 26;

/** A value is too big, breaks a constraint, or is not of its column's type: so it will be again. */
const REFUSED: readonly number[] = [18, CONSTRAINT, 20];

/** What is wrong and what to do, by SQLite's primary result code. */
const ADVICE: Readonly<Record<number, string>> = {
  [BUSY]: "another connection kept its write lock too long; keep transactions short, begin them " +
    "with BEGIN IMMEDIATE, or raise busyTimeoutMs",
  [LOCKED]: "a statement of this connection is still being read; finish the iteration first",
  [READONLY]:
    "the file or its directory cannot be written; check permissions and how it was opened",
  [IOERR]: "reading or writing the file failed; check the disk and the file system",
  [CORRUPT]: "the file is damaged; stop all writers and restore a backup (PRAGMA integrity_check " +
    "shows the damage)",
  [FULL]: "the disk is full, or PRAGMA max_page_count is reached; free some space and try again",
  [CANTOPEN]: "the file cannot be opened; check that its directory exists and can be written",
  [CONSTRAINT]: "a constraint of the schema refused it; this is a bug in Pawl or in whoever else " +
    "writes to its tables",
  [NOTADB]: "the file is not an SQLite database, or it is encrypted; check the path",
};

/** Marks that the application's own transaction is open on a connection that it gave. */
export class ForeignTransactionError extends Error {}

/** SQLite's primary result code, where the error has one. */
function codeOf(error: unknown): number | null {
  const { errcode, message } = (error ?? {}) as { errcode?: unknown; message?: unknown };
  if (typeof errcode === "number") return errcode & 0xff;
  // Deno's constructor of a database tells no code.
  return typeof message === "string" && message.includes("unable to open database file")
    ? CANTOPEN
    : null;
}

/** Whether it may work a moment later: somebody else has the database. */
export function isBusy(error: unknown): boolean {
  const code = codeOf(error);
  return code === BUSY || code === LOCKED || error instanceof ForeignTransactionError;
}

/** Whether the database cannot be written at all. */
export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === READONLY;
}

/** Marks that a key was made that a JavaScript number cannot hold. */
export class LargeKeyError extends Error {}

/** Whether a value was read that a JavaScript number cannot hold. */
export function isOutOfRange(error: unknown): boolean {
  if (error instanceof LargeKeyError) return true;
  return error instanceof RangeError && (error as { code?: unknown }).code === "ERR_OUT_OF_RANGE";
}

/** The error for callers: what SQLite or the runtime said, explained; all others as they are. */
export function explained(error: unknown, action: string, path: string): unknown {
  if (error instanceof PawlError || !(error instanceof Error)) return error;
  const what = `Cannot ${action} ${path}`;
  if (error instanceof ForeignTransactionError) {
    return new StoreError(
      DRIVER,
      `${what}: a transaction of the application is open on this connection; pass it as tx, ` +
        `or give the store a connection of its own`,
      { cause: error },
    );
  }
  if (/^no such (table|column)|has no column named/.test(error.message)) {
    return new MigrationError(
      `[${DRIVER}] ${what}: ${error.message}; run \`await engine.migrate()\` first`,
      { cause: error },
    );
  }
  const code = codeOf(error);
  const advice = code === null ? undefined : ADVICE[code];
  const refused = code !== null && REFUSED.includes(code);
  if (advice !== undefined) {
    return new StoreError(DRIVER, `${what}: ${error.message}: ${advice}`, {
      cause: error,
      refused,
    });
  }
  if (error.name === "NotCapable" || error.name === "PermissionDenied") {
    return new StoreError(
      DRIVER,
      `${what}: ${error.message}; run Deno with --allow-read and --allow-write for the file`,
      { cause: error },
    );
  }
  const { code: word } = error as { code?: unknown };
  return typeof word === "string" && word.startsWith("ERR_")
    ? new StoreError(DRIVER, `${what}: ${error.message}`, { cause: error, refused })
    : error;
}
