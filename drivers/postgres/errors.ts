/**
 * What PostgreSQL and its client say, in words that name the driver and the way out.
 *
 * @module
 */

import { InvalidInputError, MigrationError, PawlError, StoreError } from "../../src/errors.ts";

/** The driver's name, for messages. */
export const DRIVER = "postgres";

/** Marks that a connection was lost while its COMMIT was under way. */
export class InDoubtError extends Error {
  /** The transaction's number; null when it wrote nothing, undefined when nobody knows it. */
  readonly xid: string | null | undefined;
  /** What the transaction came to, if it was committed; null when that was lost with the answer. */
  readonly outcome: { readonly value: unknown } | null;

  /** Makes the error; `cause` is what broke the connection. */
  constructor(
    xid: string | null | undefined,
    cause: unknown,
    outcome: { readonly value: unknown } | null = null,
  ) {
    super("The connection was lost during COMMIT", { cause });
    this.xid = xid;
    this.outcome = outcome;
  }
}

/** Carries what the caller's own code threw past whoever explains or retries errors. */
export class PassedOn extends Error {
  /** Wraps what was thrown. */
  constructor(cause: unknown) {
    super("", { cause });
  }
}

/** The code of an error: an SQLSTATE of the server, or the word of the operating system. */
export function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" ? code : "";
}

/** Whether it is the server that said so, and not the client or the network. */
export function isSaid(error: unknown): boolean {
  return error instanceof Error && "severity" in error;
}

const NETWORK = new Set([
  ...["ECONNREFUSED", "ECONNRESET", "ECONNABORTED", "EPIPE", "ETIMEDOUT", "EHOSTUNREACH"],
  ...["ENETUNREACH", "ENETDOWN", "EAI_AGAIN"],
]);

/** The client has no codes for these. */
const LOST = [
  "Connection terminated",
  "Client has encountered a connection error",
  "Client was closed and is not queryable",
  "timeout expired",
];

/** Whether the connection is gone, or could not be made. */
export function isLost(error: unknown): boolean {
  const code = codeOf(error);
  // 08P01 is a message that the server does not understand: the connection is there.
  if (NETWORK.has(code) || (code.startsWith("08") && code !== "08P01")) return true;
  // The server goes down or starts up; administrators end connections.
  if (["57P01", "57P02", "57P03", "57P05"].includes(code)) return true;
  const { message } = (error ?? {}) as { message?: unknown };
  return typeof message === "string" && LOST.some((text) => message.startsWith(text));
}

/** The server does not know a prepared statement, or knows it under another text. */
export function isForgotten(error: unknown): boolean {
  return ["26000", "42P05", "0A000"].includes(codeOf(error)) &&
    /prepared statement|cached plan/.test((error as Error).message);
}

/** A row was not as it was remembered, and the division by zero that says so was made. */
export function isStale(error: unknown): boolean {
  return codeOf(error) === "22012";
}

/** Whether the same transaction may well succeed when it is run again. */
export function isTransient(error: unknown): boolean {
  // Serialization failure, deadlock, lock timeout, too many connections.
  return isLost(error) || isForgotten(error) || isStale(error) ||
    ["40001", "40P01", "55P03", "53300"].includes(codeOf(error));
}

/** What is wrong and what to do, by SQLSTATE or the operating system's word. */
const ADVICE: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there; start the server, or correct the address",
  ENOTFOUND: "the host is not known; correct the address",
  EAI_AGAIN: "the host's name cannot be looked up now; check the network",
  ETIMEDOUT: "the server does not answer; check the network and the firewall",
  "28P01": "the user or the password is wrong; correct them",
  "28000": "the server does not let this user in; check the user and pg_hba.conf",
  "3D000": "the database does not exist; create it, or correct its name",
  "42501": "the user lacks a privilege; grant SELECT, INSERT, UPDATE and DELETE on the tables, " +
    "USAGE on their sequences and on the schema, or migrate as the owner",
  "25006": "this server is a standby or the session is read-only; connect to the primary",
  "25P02": "the transaction has already failed; roll it back",
  "40001": "transactions met too often; try again",
  "40P01": "transactions met in a deadlock too often; take locks in one order, and try again",
  "55P03": "a lock was held too long; keep transactions short, or raise lock_timeout",
  "57014": "it took longer than statement_timeout allows, or somebody canceled it",
  "53100": "the server's disk is full; free some space",
  "53300": "the server has no connection left; raise max_connections, or use fewer",
  "22P02": "a value is not of the column's type; a codec must write JSON",
  "22P05": "the database's encoding lacks a character; create the database with ENCODING 'UTF8'",
  "22021": "a text holds a NUL character, which PostgreSQL cannot store; leave it out",
  "57P01": "the server ended the connection; it may be restarting",
  "57P03": "the server is starting up or shutting down; try again",
};

/** What the pool says without a code. */
const POOL_ADVICE: Readonly<Record<string, string>> = {
  "timeout exceeded when trying to connect":
    "all connections of the pool were in use for too long; give it more, " +
    "and inside a transaction pass { tx }",
  "Cannot use a pool after calling end on the pool":
    "the application has ended its pool; end it after the store is closed",
};

/** The error for callers: what the server or the client said, explained; all others as they are. */
export function explained(error: unknown, action: string, place: string): unknown {
  if (error instanceof PassedOn) return error.cause;
  if (error instanceof PawlError || !(error instanceof Error)) return error;
  const what = `Cannot ${action} ${place}`;
  const code = codeOf(error);
  const said = error.message || code;
  if (["42P01", "42703", "3F000"].includes(code)) {
    return new MigrationError(
      `[${DRIVER}] ${what}: ${said}; run \`await engine.migrate()\` first`,
      { cause: error },
    );
  }
  if (code === "25P01") {
    return new InvalidInputError(
      "Cannot join the transaction: none is open on the given client; " +
        "begin one, or leave tx out",
      { cause: error },
    );
  }
  const advice = adviceOn(error, code);
  // Data exceptions and violated constraints: the same row would be refused again.
  const refused = code.startsWith("22") || code.startsWith("23");
  if (advice !== undefined) {
    return new StoreError(DRIVER, `${what}: ${said}; ${advice}`, { cause: error, refused });
  }
  // Errors of the server carry a severity; whatever else comes here is a bug or the caller's own.
  return isSaid(error) || code !== ""
    ? new StoreError(DRIVER, `${what}: ${said}`, { cause: error, refused })
    : error;
}

function adviceOn(error: Error, code: string): string | undefined {
  const known = POOL_ADVICE[error.message] ?? ADVICE[code];
  if (known !== undefined) return known;
  if (isForgotten(error)) {
    return "a connection pooler mixes up prepared statements; pass { preparedStatements: false }";
  }
  return isLost(error) ? "the connection was lost; check the server" : undefined;
}

/** The error for a COMMIT of which nobody can say whether it happened. */
export function uncertain(action: string, place: string, cause: unknown): StoreError {
  return new StoreError(
    DRIVER,
    `Cannot ${action} ${place}: the connection was lost during COMMIT, and whether it happened ` +
      `cannot be told; look at the rows before you try again`,
    { cause, uncertain: true },
  );
}
