/**
 * Connections: from a pool that the store makes for a URL, or from one that the application has.
 *
 * A connection can die at any time, and `pg` tells so by an event that ends the process when nobody
 * listens; so somebody always does. A connection that died, or of which nobody can say in what
 * state it is, is destroyed when it is given back.
 *
 * @module
 */

// @ts-types="@types/pg"
import pg from "pg";
import { InvalidInputError, StoreError } from "../../src/errors.ts";
import { DRIVER } from "./errors.ts";
import { destroy, endWithin, watch, type Watching } from "./half_open.ts";

/** How a pool is made. */
export interface PoolOptions {
  /** How many connections it may hold. */
  readonly maxConnections: number;
  /** How long an answer may be silent before the server is asked after it. */
  readonly silenceMs: number;
}

/** A connection that is in use. */
export interface Taken {
  /** The client. */
  readonly client: pg.PoolClient;
  /** Says that nobody knows in what state it is: it is closed when it is given back. */
  spoil(): void;
  /** Gives it back. */
  giveBack(): void;
}

/** Where connections come from. */
export interface Connections {
  /** Where the database is, without user and password, for messages. */
  readonly place: string;
  /** True once a connection was had: from then on a refused one is a passing trouble. */
  readonly reached: boolean;
  /** Takes a connection. */
  take(): Promise<Taken>;
  /** A client of its own beside the pool, to be connected and ended by whoever asked for it. */
  extraClient(): pg.Client;
  /** Closes the pool if it is the store's own. */
  close(): Promise<void>;
}

/** How long a connection is waited for. */
const CONNECT_MS = 10_000;

/** The connections of a URL or of a pool of the application. */
export function connectionsOf(source: string | URL | pg.Pool, options: PoolOptions): Connections {
  if (typeof source === "string" || source instanceof URL) return own(configOf(source), options);
  if (isPool(source)) return given(source, options);
  throw new InvalidInputError(
    "Cannot open the database: pass a URL such as postgres://user@host:5432/name, or a pg.Pool",
  );
}

/**
 * The settings for connections of one's own, made as a URL or a pool of the application says. A
 * pool hides its password from whoever copies its settings.
 */
export function settingsOf(source: string | URL | pg.Pool): pg.PoolConfig {
  if (!isPool(source)) return configOf(source);
  const { options } = source as unknown as { options: pg.PoolConfig };
  return { ...options, password: options.password, keepAlive: true };
}

/** Whether a value is a pool of `pg`, of whatever copy of the package. */
export function isPool(value: unknown): value is pg.Pool {
  const { connect, totalCount } = (value ?? {}) as Partial<pg.Pool>;
  return typeof connect === "function" && typeof totalCount === "number";
}

/** The settings for a URL; whatever is wrong with it, the message does not repeat it. */
function configOf(url: string | URL): pg.PoolConfig {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw badUrl("it is not a URL");
  }
  if (parsed.protocol !== "postgres:" && parsed.protocol !== "postgresql:") {
    throw badUrl(`its scheme is "${parsed.protocol.slice(0, -1)}"`);
  }
  if (!parsed.searchParams.has("application_name")) {
    parsed.searchParams.set("application_name", "pawl");
  }
  return { connectionString: parsed.href, connectionTimeoutMillis: CONNECT_MS, keepAlive: true };
}

function badUrl(why: string): InvalidInputError {
  return new InvalidInputError(
    `Cannot use the database's URL: ${why}; ` +
      `write it as postgres://user:password@host:5432/name`,
  );
}

function own(config: pg.PoolConfig, options: PoolOptions): Connections {
  const place = placeOf(config);
  const clients = new Set<pg.PoolClient>();
  const extraClient = (): pg.Client => new pg.Client(config);
  let pool: pg.Pool | null = null;
  let closing: Promise<void> | null = null;

  /** Ends the pool, which does not wait for the goodbyes of its connections; a process would. */
  async function end(): Promise<void> {
    await pool?.end();
    if (clients.size === 0) return;
    const goodbye = new Promise<void>((resolve) => {
      pool?.on("remove", () => clients.size === 0 && resolve());
    });
    await endWithin(goodbye, () => clients.forEach(destroy));
  }

  /** Made at the first use, so that a store that is never used needs no closing. */
  function open(): pg.Pool {
    if (closing !== null) {
      throw new StoreError(DRIVER, `Cannot use ${place}: the store is closed; open a new one`);
    }
    if (pool === null) {
      pool = new pg.Pool({ ...config, max: options.maxConnections });
      pool.on("error", ignore);
      pool.on("connect", (client) => void clients.add(client));
      pool.on("remove", (client) => void clients.delete(client));
    }
    return pool;
  }

  let reached = false;
  return {
    place,
    get reached() {
      return reached;
    },
    async take() {
      const taken = await takeFrom(open(), { ...options, extraClient });
      reached = true;
      return taken;
    },
    extraClient,
    close: () => closing ??= end(),
  };
}

function given(pool: pg.Pool, { silenceMs }: PoolOptions): Connections {
  // The application may listen as well; nobody must not.
  pool.on("error", ignore);
  const { options, Client } = pool as unknown as {
    options: pg.PoolConfig;
    Client: typeof pg.Client;
  };
  const extraClient = (): pg.Client => new Client({ ...settingsOf(pool), keepAlive: true });
  let reached = false;
  return {
    place: placeOf(options),
    get reached() {
      return reached || pool.totalCount > 0;
    },
    async take() {
      const taken = await takeFrom(pool, { silenceMs, extraClient });
      reached = true;
      return taken;
    },
    extraClient,
    close() {
      pool.off("error", ignore);
      return Promise.resolve();
    },
  };
}

/** A dead connection shows again at the next query on it; until then there is nothing to do. */
function ignore(): void {}

/**
 * Takes a connection. By callback, because the death of a connection can be in the very bytes that
 * say that it is made: whoever awaits a promise listens too late.
 */
function takeFrom(pool: pg.Pool, how: Watching): Promise<Taken> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      if (client === undefined) return reject(error);
      let spoilt = false;
      const spoil = (): void => {
        spoilt = true;
      };
      client.on("error", spoil);
      const stopWatching = watch(client, how);
      resolve({
        client,
        spoil,
        giveBack() {
          stopWatching();
          // The pool listens again first, so that there is no moment in which nobody does.
          client.release(spoilt);
          client.off("error", spoil);
        },
      });
    });
  });
}

/** Host, port and database of a configuration. */
function placeOf(config: pg.PoolConfig): string {
  let client: pg.Client;
  try {
    client = new pg.Client(config);
  } catch (error) {
    if (error instanceof Error && error.name === "NotCapable") {
      // The client looks for PGPASSWORD and its like, also when the URL says everything.
      const advice = "run Deno with --allow-env and --allow-net";
      throw new StoreError(DRIVER, `Cannot open the database: ${error.message}; ${advice}`, {
        cause: error,
      });
    }
    // Only a URL can be wrong here: a pool has made clients of its settings before.
    throw badUrl(error instanceof Error ? error.message : "it cannot be read");
  }
  const { host, port, database } = (client as unknown as {
    connectionParameters: { host: string; port: number; database: string };
  }).connectionParameters;
  return `${host}:${port}/${database}`;
}
