/**
 * Where connections come from: a pool that the driver makes for a URL, or one of the application.
 *
 * @module
 */

import mysql, { type Pool, type PoolConnection } from "mysql2/promise";
import { InvalidInputError, StoreError } from "../../src/errors.ts";
import { type Connection, connectionOf } from "./connection.ts";
import { DRIVER, isExhausted } from "./errors.ts";
import { destroy, watch, type Watching, whenGone } from "./half_open.ts";
import { inTime, jittered, pause } from "./turns.ts";

/** How connections are made and waited for. */
export interface PoolOptions {
  /** How many connections the driver's own pool has at the most. */
  readonly maxConnections: number;
  /** How long a call waits for a connection. */
  readonly acquireTimeoutMs: number;
  /** How long an answer may be silent before the server is asked after it. */
  readonly silenceMs: number;
}

/** Connections, one at a time. */
export interface Connections {
  /** What messages call the database; never with a user or a password. */
  readonly where: string;
  /** The statements that begin a transaction on one of these connections. */
  readonly begin: readonly string[];
  /** Runs work on a connection; when it fails, what is still open is rolled back. */
  use<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  /** Closes the pool, if it is the driver's own. */
  close(): Promise<void>;
}

/** How long a goodbye may take. */
const GOODBYE_MS = 1_000;

const READ_COMMITTED = "TRANSACTION ISOLATION LEVEL READ COMMITTED";

/** The connections of a URL, or of a pool that the application has. */
export function connectionsOf(source: string | Pool, options: PoolOptions): Connections {
  return typeof source === "string" ? ownConnections(source, options) : given(source, options);
}

/** Whether a value is a pool of `mysql2/promise`. */
export function isPool(value: unknown): value is Pool {
  const { getConnection, promise } = (value ?? {}) as {
    getConnection?: unknown;
    promise?: unknown;
  };
  // A pool of plain `mysql2` has callbacks, and a function that makes promises of them.
  return typeof getConnection === "function" && typeof promise !== "function";
}

function given(pool: Pool, options: PoolOptions): Connections {
  const where = "the database of the given pool";
  /** How its connections are made is the application's secret, so one of them is asked. */
  async function ask(text: string): Promise<unknown> {
    const [rows] = await pool.query(text);
    return rows;
  }
  return {
    where,
    // For the next transaction only: the session stays as the application wants it.
    begin: [`SET ${READ_COMMITTED}`, "START TRANSACTION"],
    use: (work) => lend(pool, { where, prepare: [], ask }, options, work),
    close: () => Promise.resolve(),
  };
}

function ownConnections(url: string, options: PoolOptions): Connections {
  const { where, settings } = readUrl(url);
  let pool: Pool | null = null;
  let closing: Promise<void> | null = null;
  const busy = new Set<Promise<unknown>>();
  const open = new Set<PoolConnection>();

  async function close(): Promise<void> {
    // Whatever is under way may still end well; after that long nobody is going to end it.
    await inTime(Promise.allSettled(busy), options.acquireTimeoutMs, () => {});
    const ended = pool?.end().catch(() => {}).then(() => ({}));
    if (ended !== undefined) await inTime(ended, GOODBYE_MS, () => {});
    // One that does not say goodbye is ended without one.
    open.forEach(destroy);
  }

  function make(): Pool {
    const made = mysql.createPool({ ...settings, connectionLimit: options.maxConnections });
    made.on("connection", (connection) => {
      open.add(connection);
      whenGone(connection, () => open.delete(connection));
    });
    return made;
  }

  async function ask(text: string): Promise<unknown> {
    const connection = await mysql.createConnection(settings);
    // Whoever asks hears of it anyway.
    connection.on("error", () => {});
    try {
      const [rows] = await connection.query(text);
      return rows;
    } finally {
      destroy(connection);
    }
  }

  return {
    where,
    begin: ["START TRANSACTION"],
    async use(work) {
      if (closing !== null) {
        throw new StoreError(DRIVER, `Cannot use ${where}: the store is closed; open a new one`);
      }
      pool ??= make();
      const prepare = [`SET SESSION ${READ_COMMITTED}`];
      const working = lend(pool, { where, prepare, ask }, options, work);
      busy.add(working);
      try {
        return await working;
      } finally {
        busy.delete(working);
      }
    },
    close: () => closing ??= close(),
  };
}

/** Lends one connection to some work. */
async function lend<T>(
  pool: Pool,
  { where, prepare, ask }: Pick<Watching, "ask"> & {
    readonly where: string;
    readonly prepare: readonly string[];
  },
  options: PoolOptions,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const handle = await acquire(pool, where, options);
  const stopWatching = watch(handle, { silenceMs: options.silenceMs, ask });
  try {
    const result = await work(await connectionOf(handle, where, prepare));
    handle.release();
    return result;
  } catch (error) {
    await cleanUp(handle);
    throw error;
  } finally {
    stopWatching();
  }
}

/** Ends what may still be open; a connection that does not answer is no connection any more. */
async function cleanUp(handle: PoolConnection): Promise<void> {
  try {
    await handle.query("ROLLBACK");
    handle.release();
  } catch {
    handle.destroy();
  }
}

async function acquire(
  pool: Pool,
  where: string,
  { acquireTimeoutMs }: PoolOptions,
): Promise<PoolConnection> {
  const until = performance.now() + acquireTimeoutMs;
  for (let tries = 1;; tries++) {
    const left = Math.max(0, until - performance.now());
    let cause: unknown;
    try {
      const handle = await inTime(pool.getConnection(), left, (late) => late.release());
      if (handle !== null) return handle;
    } catch (error) {
      if (!isExhausted(error)) throw error;
      cause = error;
      const waitMs = jittered(tries);
      if (waitMs < left) {
        await pause(waitMs);
        continue;
      }
    }
    throw new StoreError(
      DRIVER,
      `Cannot use ${where}: no connection became free within ${acquireTimeoutMs} ms; allow more ` +
        `connections, or find out who keeps them (a transaction left open?)`,
      { cause },
    );
  }
}

interface Address {
  readonly where: string;
  readonly settings: mysql.PoolOptions;
}

/** Reads a URL; what is wrong with it is said without repeating it, because it may hold a password. */
function readUrl(url: string): Address {
  let parsed: URL;
  let database: string;
  try {
    parsed = new URL(url);
    database = decodeURIComponent(parsed.pathname.slice(1));
    decodeURIComponent(parsed.username + parsed.password);
  } catch {
    throw new StoreError(
      DRIVER,
      `Cannot open the given URL: it is not one; write "mysql://user:password@host:3306/database", ` +
        `with special characters percent-encoded`,
    );
  }
  const { protocol, hostname, port } = parsed;
  if (protocol !== "mysql:" && protocol !== "mariadb:") {
    throw new StoreError(
      DRIVER,
      `Cannot open a URL that begins with "${protocol}": use "mysql://" or "mariadb://"`,
    );
  }
  const host = `${hostname || "localhost"}:${port || "3306"}`;
  if (database === "" || database.includes("/")) {
    throw new StoreError(
      DRIVER,
      `Cannot open ${host}: the URL names no database; write it after the host, as in ` +
        `"mysql://${host}/app"`,
    );
  }
  return { where: `${host}/${database}`, settings: settingsFor(url) };
}

/** Explicit settings win over those in the URL. */
function settingsFor(uri: string): mysql.PoolOptions {
  return {
    uri,
    charset: "utf8mb4_unicode_ci",
    timezone: "Z",
    supportBigNumbers: true,
    bigNumberStrings: true,
    jsonStrings: true,
    multipleStatements: false,
    waitForConnections: true,
    enableKeepAlive: true,
    keepAliveInitialDelay: 10_000,
  };
}

/** Refuses what is neither a URL nor a pool. */
export function refuseSource(source: unknown): never {
  const { getConnection, query } = (source ?? {}) as { getConnection?: unknown; query?: unknown };
  const what = typeof getConnection === "function"
    ? "a pool with callbacks; pass pool.promise(), or one made by mysql2/promise"
    : typeof query === "function"
    ? "one connection, but a store works on several at once; pass a pool"
    : `${typeof source}; pass a URL, or a pool made by mysql2/promise`;
  throw new InvalidInputError(`Cannot make a store from this value: it is ${what}`);
}
