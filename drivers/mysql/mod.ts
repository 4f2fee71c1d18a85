/**
 * The store for MySQL and MariaDB: workflows in the database that the application has already. It is
 * tested on MariaDB 10.11, and keeps to what MySQL 8.0.17 and MariaDB 10.6 have in common.
 *
 * In Node, install the client `mysql2` beside Pawl.
 *
 * @example On a URL, or on a pool that the application has
 * ```ts
 * import { createEngine } from "@pawl/pawl";
 * import { mysqlStore } from "@pawl/pawl/mysql";
 *
 * const store = mysqlStore("mysql://localhost/shop"); // connects at the first use
 * const engine = createEngine({ store, workflows: [] });
 * // await engine.migrate(); and then start and work
 * await engine.close();
 * ```
 *
 * @module
 */

import type * as mysql from "mysql2/promise";
import { optionsObject } from "../../src/define/options.ts";
import { InvalidInputError } from "../../src/errors.ts";
import type { StoreDriver } from "../../src/seams/store.ts";
import { mustBeSilence, SILENCE_MS } from "../sql/silence.ts";
import { sqlStore } from "../sql/store.ts";
import { tablesOf } from "../sql/texts.ts";
import { mysqlClient } from "./client.ts";
import { mysqlDialect } from "./dialect.ts";
import { surely } from "./in_doubt.ts";
import { MIGRATIONS } from "./migrations.gen.ts";
import { isPool, refuseSource } from "./pool.ts";

export type { StoreDriver } from "../../src/seams/store.ts";

/** A pool of the client `mysql2/promise`. */
export type MysqlPool = mysql.Pool;

/** A connection of the client `mysql2/promise`, in a transaction. */
export type MysqlTransaction = mysql.Connection;

/** What `mysqlStore` may be told. */
export interface MysqlStoreOptions {
  /**
   * What the names of all tables begin with.
   *
   * @default {"pawl_"}
   */
  readonly tablePrefix?: string;
  /**
   * How many connections the store opens at the most, when it is given a URL.
   *
   * @default {10}
   */
  readonly maxConnections?: number;
  /**
   * How long a call waits for a free connection, in milliseconds.
   *
   * @default {10000}
   */
  readonly acquireTimeoutMs?: number;
  /**
   * How long an answer may be silent, in milliseconds, before the server is asked over another
   * connection whether it is still at work; a connection for which it is not is half-open, and is
   * ended.
   *
   * @default {10000}
   */
  readonly silenceMs?: number;
}

/**
 * Makes a store that keeps its tables in a MySQL or MariaDB database.
 *
 * A URL is connected to at the first use, and `close()` ends those connections; options of `mysql2`
 * may follow in it, as in `?ssl={}`. A pool that the application gives is used as it is, whatever its
 * settings, and never ended. `tx` takes a connection on which the caller began a transaction, so that
 * a start commits together with the application's own writes.
 *
 * Transactions of the store are READ COMMITTED. One that a deadlock or a lost connection undid is run
 * again. When the answer of a COMMIT is lost, a start and a signal find out by their row whether they
 * took place, and happen once; other writes reject with a `StoreError` that is `uncertain`.
 *
 * @param source A URL such as `mysql://user:password@host:3306/database`, or a pool of `mysql2/promise`.
 * @param options Prefix, size and patience.
 * @returns The store.
 * @throws {InvalidInputError} When an argument is not one of these.
 * @throws {StepConfigurationError} When there is no such option.
 * @throws {StoreError} When the URL cannot be used.
 *
 * @example A pool of the application
 * ```ts ignore
 * const pool = mysql.createPool("mysql://app@localhost/shop");
 * const engine = createEngine({ store: mysqlStore(pool), workflows: [onboarding] });
 * await engine.migrate();
 * ```
 */
export function mysqlStore(
  source: string | URL | MysqlPool,
  options: MysqlStoreOptions = {},
): StoreDriver<MysqlTransaction> {
  optionsObject(
    options,
    ["tablePrefix", "maxConnections", "acquireTimeoutMs", "silenceMs"],
    "the options of mysqlStore()",
  );
  const { tablePrefix = "pawl_", maxConnections = 10, acquireTimeoutMs = 10_000 } = options;
  const { silenceMs = SILENCE_MS } = options;
  if (!Number.isInteger(maxConnections) || maxConnections < 1) {
    throw new InvalidInputError(
      `Cannot use ${String(maxConnections)} as maxConnections: use a whole number, 1 or more`,
    );
  }
  if (!Number.isFinite(acquireTimeoutMs) || acquireTimeoutMs < 0) {
    throw new InvalidInputError(
      `Cannot use ${String(acquireTimeoutMs)} as acquireTimeoutMs: it is not a time to wait; ` +
        `use milliseconds, 0 or more`,
    );
  }
  mustBeSilence(silenceMs);
  const from = source instanceof URL ? source.href : source;
  if (typeof from !== "string" && !isPool(from)) refuseSource(from);
  const client = mysqlClient(from, { maxConnections, acquireTimeoutMs, silenceMs });
  const store = sqlStore(client, mysqlDialect, { tablePrefix, migrations: MIGRATIONS });
  return surely(store, client, tablesOf(tablePrefix));
}
