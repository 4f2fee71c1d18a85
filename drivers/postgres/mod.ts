/**
 * The PostgreSQL store: workflows in the application's own database.
 *
 * In Node, install the client `pg` beside Pawl.
 *
 * @example On a URL, or on a pool that the application has
 * ```ts
 * import { createEngine } from "@pawl/pawl";
 * import { postgresStore } from "@pawl/pawl/postgres";
 *
 * const store = postgresStore("postgres://localhost/shop"); // connects at the first use
 * const engine = createEngine({ store, workflows: [] });
 * // await engine.migrate(); and then start and work
 * await engine.close();
 * ```
 *
 * @module
 */

// @ts-types="@types/pg"
import type * as pg from "pg";
import { optionsObject } from "../../src/define/options.ts";
import { InvalidInputError } from "../../src/errors.ts";
import type { StoreDriver } from "../../src/seams/store.ts";
import { mustBeSilence, SILENCE_MS } from "../sql/silence.ts";
import { sqlStore } from "../sql/store.ts";
import { tablesOf } from "../sql/texts.ts";
import { postgresClient } from "./client.ts";
import { channelOf, postgresDialect } from "./dialect.ts";
import { listen } from "./listen.ts";
import { MIGRATIONS } from "./migrations.gen.ts";
import { connectionsOf } from "./pool.ts";

export type { StoreDriver } from "../../src/seams/store.ts";

/** A pool of the client `pg`. */
export type PostgresPool = pg.Pool;

/** A connection of the client `pg`, in a transaction. */
export type PostgresTransaction = pg.ClientBase;

/** What `postgresStore` may be told. */
export interface PostgresStoreOptions {
  /**
   * What the names of all tables and indexes begin with.
   *
   * @default {"pawl_"}
   */
  readonly tablePrefix?: string;
  /** The schema of the tables; it is created when it is missing. Default: the connection's own. */
  readonly schema?: string;
  /**
   * Whether statements are prepared once per connection. False is for connection poolers that mix
   * up prepared statements in transaction mode (PgBouncer before 1.21).
   *
   * @default {true}
   */
  readonly preparedStatements?: boolean;
  /**
   * How many connections the store opens at the most when it is given a URL.
   *
   * @default {10}
   */
  readonly maxConnections?: number;
  /**
   * How long an answer may be silent, in milliseconds, before the server is asked over another
   * connection whether it is still at work; a connection for which it is not is half-open, and is
   * ended.
   *
   * @default {10000}
   */
  readonly silenceMs?: number;
  /**
   * Whether processes tell each other of what they schedule (NOTIFY), and workers listen for it on
   * a connection of their own. Without it they find it when they look the next time.
   *
   * @default {true}
   */
  readonly notify?: boolean;
}

/**
 * Makes a store that keeps its tables in a PostgreSQL database.
 *
 * A URL is connected to at the first use, with a pool that `close()` ends. A pool that the
 * application gives is used as it is and never ended. `tx` is a client of `pg` in a transaction
 * that the caller began, so that a start commits together with the application's own writes.
 *
 * @param source A `postgres:` URL or a `pg.Pool`.
 * @param options Names, schema, and how connections are used.
 * @returns The store.
 * @throws {InvalidInputError} When an argument is not one of these.
 * @throws {StepConfigurationError} When there is no such option.
 *
 * @example A database of the application
 * ```ts ignore
 * const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
 * const engine = createEngine({ store: postgresStore(pool), workflows: [onboarding] });
 * await engine.migrate();
 * ```
 */
export function postgresStore(
  source: string | URL | PostgresPool,
  options: PostgresStoreOptions = {},
): StoreDriver<PostgresTransaction> {
  optionsObject(
    options,
    ["tablePrefix", "schema", "preparedStatements", "maxConnections", "silenceMs", "notify"],
    "the options of postgresStore()",
  );
  const { maxConnections = 10, silenceMs = SILENCE_MS, preparedStatements = true } = options;
  const { notify = true } = options;
  if (!Number.isSafeInteger(maxConnections) || maxConnections < 1) {
    throw new InvalidInputError(
      `Cannot use ${String(maxConnections)} as maxConnections: use a whole number of at least 1`,
    );
  }
  mustBeSilence(silenceMs);
  const connections = connectionsOf(source, { maxConnections, silenceMs });
  const client = postgresClient(connections, { preparedStatements });
  const store = sqlStore(client, postgresDialect({ notify }), {
    tablePrefix: options.tablePrefix,
    schema: options.schema,
    migrations: MIGRATIONS,
  });
  if (!notify) return store;
  const channel = channelOf(tablesOf(options.tablePrefix ?? "pawl_"));
  return {
    ...store,
    listen: (heard, how) =>
      listen({
        ...how,
        channel,
        client: connections.extraClient,
        heard: (payload) => heard(payload === null ? how.clock.now() : Number(payload)),
      }),
  };
}
