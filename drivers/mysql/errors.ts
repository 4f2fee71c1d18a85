/**
 * What MySQL, MariaDB and the client say, in words that name the database and the way out.
 *
 * @module
 */

import { MigrationError, PawlError, StoreError } from "../../src/errors.ts";

/** The driver's name, for messages. */
export const DRIVER = "mysql";

const DEADLOCK = 1213;
const LOCK_WAIT_TIMEOUT = 1205;
const RECORD_CHANGED = 1020;
const DUPLICATE = 1062;
const TOO_MANY_CONNECTIONS = 1040;
const MISSING_TABLE = 1146;
const MISSING_COLUMN = 1054;

/** The server ended the connection, or is about to: a shutdown, a KILL, an idle time that was too long. */
const ENDED_BY_SERVER: readonly number[] = [1053, 1077, 1079, 1317, 1927, 4031];

const LOST_CODES: readonly string[] = [
  "PROTOCOL_CONNECTION_LOST",
  "PROTOCOL_SEQUENCE_TIMEOUT",
  "PROTOCOL_PACKETS_OUT_OF_ORDER",
  "ECONNRESET",
  "EPIPE",
];

/**
 * A value that does not fit its column, or a row that a constraint or an index refuses: the same row
 * would be refused again.
 */
const REFUSED: readonly number[] = [
  ...[1048, DUPLICATE, 1153, 1264, 1265, 1292, 1364, 1366, 1406, 1451, 1452, 3819, 4025],
];

/** What is wrong and what to do, by the number of the server's error. */
const ADVICE: Readonly<Record<number, string>> = {
  1044: "the user may not use this database; GRANT it the rights, or check the database's name",
  1045: "user or password are wrong, or the user may not come from this host; check the URL",
  1698: "the server does not let this user in; check the user in the URL, and how he may log in",
  1046: "no database is selected; name one in the URL or in the pool's options",
  1049: "the database does not exist; create it, or check the name in the URL",
  1142: "the user lacks a right on this table; GRANT it SELECT, INSERT, UPDATE and DELETE",
  1227: "the user lacks a right; GRANT it",
  1153: "a value is larger than max_allowed_packet; raise it on the server, or store less",
  1114: "the disk or the table space is full; free some space and try again",
  1021: "the disk is full; free some space and try again",
  1290: "the server only reads; connect to the primary",
  1792: "the transaction only reads; begin one that may write",
  1836: "the server only reads; connect to the primary",
  1366: "the text does not fit the column's character set; this is a bug in Pawl or in whoever " +
    "changed its tables",
  1406:
    "the text is longer than its column; this is a bug in Pawl or in whoever changed its tables",
  1568: "a connection of the pool was given back with an open transaction; end each transaction " +
    "before its connection is released",
  [DUPLICATE]:
    "a unique index refused it; this is a bug in Pawl or in whoever else writes to its " +
    "tables",
  [TOO_MANY_CONNECTIONS]: "the server has no connection left; raise max_connections, or lower " +
    "maxConnections",
  [DEADLOCK]: "it was the victim of a deadlock time and again; keep transactions short",
  [LOCK_WAIT_TIMEOUT]:
    "another transaction kept a row locked for too long; keep transactions short",
  [RECORD_CHANGED]:
    "a row was changed after the transaction began; begin it READ COMMITTED, or run " +
    "it again",
};

/** What is wrong and what to do, by the code of the client or of the network. */
const NETWORK_ADVICE: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there; start the server, or check host and port",
  ENOTFOUND: "the host is unknown; check the URL",
  EAI_AGAIN: "the host's name cannot be looked up just now; check the network",
  ETIMEDOUT: "nobody answers there; check host, port and firewall",
  EHOSTUNREACH: "there is no way to that host; check the network",
  ENETUNREACH: "there is no way to that host; check the network",
  HANDSHAKE_NO_SSL_SUPPORT: "the server offers no TLS; leave ssl out, or enable it there",
  HANDSHAKE_SSL_ERROR: "the TLS handshake failed; check the certificates",
  POOL_CLOSED: "the pool was ended; end it after the engine is closed",
};

interface Told {
  readonly message: string;
  readonly errno?: unknown;
  readonly code?: unknown;
  readonly fatal?: unknown;
  readonly name?: unknown;
}

/** The number of the server's error; 0 when it did not come from a server. */
export function numberOf(error: unknown): number {
  const { errno } = (error ?? {}) as Told;
  return typeof errno === "number" && errno > 0 ? errno : 0;
}

function codeOf(error: unknown): string {
  const { code, message } = (error ?? {}) as Told;
  if (message === "Pool is closed.") return "POOL_CLOSED";
  return typeof code === "string" ? code : "";
}

/** Whether a unique index refused a row; a primary key that exists already is another matter. */
export function isDuplicate(error: unknown): boolean {
  return numberOf(error) === DUPLICATE && !/PRIMARY'?$/.test((error as Told).message);
}

/** Whether the connection is gone: nothing more can be said over it. */
export function isLost(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof PawlError) return false;
  return LOST_CODES.includes(codeOf(error)) || ENDED_BY_SERVER.includes(numberOf(error)) ||
    /in closed state/.test(error.message);
}

/** Whether the database undid the whole transaction because of others, and it may just be repeated. */
export function isConflict(error: unknown): boolean {
  return [DEADLOCK, RECORD_CHANGED].includes(numberOf(error));
}

/** Whether a lock did not come in time. */
export function isLockTimeout(error: unknown): boolean {
  return numberOf(error) === LOCK_WAIT_TIMEOUT;
}

/** Whether the database has chosen this transaction as the victim, and so ended it. */
export function isDeadlock(error: unknown): boolean {
  return numberOf(error) === DEADLOCK;
}

/** Whether no connection is to be had just now. */
export function isExhausted(error: unknown): boolean {
  const { message } = (error ?? {}) as Told;
  return numberOf(error) === TOO_MANY_CONNECTIONS || message === "No connections available." ||
    message === "Queue limit reached.";
}

/** Carries what somebody else's code threw past whoever explains errors of the database. */
export class PassedOn extends Error {
  /** Wraps what was thrown. */
  constructor(cause: unknown) {
    super("", { cause });
  }
}

/** The COMMIT was sent, and its answer was lost: nobody knows yet whether it took place. */
export class InDoubtError extends StoreError {
  /** What the operation would have answered. */
  readonly result: unknown;

  /** Makes the error; `result` is what the operation would have answered. */
  constructor(where: string, result: unknown, cause: unknown) {
    super(
      DRIVER,
      `Cannot tell whether a write to ${where} took place: the connection was lost while it was ` +
        `being committed; look at the rows before you repeat it`,
      { cause, uncertain: true },
    );
    this.result = result;
  }
}

/** The error for callers: what the server or the network said, explained; all others as they are. */
export function explained(error: unknown, action: string, where: string): unknown {
  if (error instanceof PassedOn) return error.cause;
  if (error instanceof PawlError || !(error instanceof Error)) return error;
  const number = numberOf(error);
  const code = codeOf(error);
  // Several addresses of one host fail together, with nothing but a code.
  const said = error.message || code;
  const what = `Cannot ${action} ${where}: ${said}`;
  if (number === MISSING_TABLE || number === MISSING_COLUMN) {
    return new MigrationError(`[${DRIVER}] ${what}; run \`await engine.migrate()\` first`, {
      cause: error,
    });
  }
  const advice = ADVICE[number] ?? NETWORK_ADVICE[code] ?? permissionAdvice(error) ??
    (isLost(error) ? "the connection was lost; check the server's log, and try again" : undefined);
  const refused = REFUSED.includes(number);
  if (advice !== undefined) {
    return new StoreError(DRIVER, `${what}; ${advice}`, { cause: error, refused });
  }
  return number > 0 || code !== "" || (error as Told).fatal === true
    ? new StoreError(DRIVER, what, { cause: error, refused })
    : error;
}

function permissionAdvice({ name }: Told): string | undefined {
  return name === "NotCapable" || name === "PermissionDenied"
    ? "run Deno with --allow-net for the host"
    : undefined;
}
