/**
 * What the tests of MySQL and MariaDB share: databases of their own, a pool with the worst settings,
 * and ways to see and to disturb what goes on in the server.
 *
 * @module
 */

import mysql from "mysql2/promise";
import { mysqlStore, type MysqlStoreOptions } from "../../drivers/mysql/mod.ts";
import type { MigrateOptions, StoreDriver } from "../../src/seams/store.ts";
import type { CaseDatabase } from "../../src/testing/conformance.ts";
import { type FreshDatabase, freshMysql, mysqlServer } from "../_servers.ts";

/** Whether there is a server to test on; without one the tests are left out, and in CI they fail. */
export const HAS_MYSQL: boolean = await mysqlServer() !== null;

/** A row as the client returns it. */
export type Row = Record<string, unknown>;

/** Runs statements on a connection of its own; answers the rows of the last one. */
export async function queryOn(
  url: string,
  text: string,
  params: readonly unknown[] = [],
): Promise<Row[]> {
  const connection = await mysql.createConnection({
    uri: url,
    supportBigNumbers: true,
    bigNumberStrings: true,
    dateStrings: true,
  });
  try {
    const [rows] = await connection.query(text, [...params]);
    return Array.isArray(rows) ? rows as Row[] : [];
  } finally {
    await connection.end();
  }
}

/** Registers a test on a fresh database; it is left out where there is no server. */
export function mysqlTest(name: string, test: (database: FreshDatabase) => Promise<void>): void {
  Deno.test({
    name,
    ignore: !HAS_MYSQL,
    async fn() {
      await using database = await freshMysql();
      await test(database);
    },
  });
}

/** A store with what lies under it. */
export interface Bench {
  /** The store, migrated. */
  readonly store: StoreDriver<mysql.Connection>;
  /** The address of its database. */
  readonly url: string;
  /** Runs a statement beside the store. */
  query(text: string, params?: readonly unknown[]): Promise<Row[]>;
}

/** Registers a test with a migrated store on a fresh database. */
export function storeTest(
  name: string,
  test: (bench: Bench) => Promise<void>,
  options: MysqlStoreOptions & MigrateOptions = {},
): void {
  const { keyType, dryRun: _, ...rest } = options;
  mysqlTest(name, async ({ url }) => {
    const store = mysqlStore(url, rest);
    try {
      await store.migrate({ keyType });
      await test({ store, url, query: (text, params) => queryOn(url, text, params) });
    } finally {
      await store.close();
    }
  });
}

/** Everything that a pool of an application may be set to, and that a store must not mind. */
export const HOSTILE: mysql.PoolOptions = {
  timezone: "+05:30",
  dateStrings: false,
  supportBigNumbers: false,
  bigNumberStrings: false,
  decimalNumbers: true,
  rowsAsArray: true,
  nestTables: true,
  namedPlaceholders: true,
  multipleStatements: true,
  jsonStrings: false,
  stringifyObjects: true,
  flags: ["-FOUND_ROWS"],
  typeCast: (field, next) => field.type === "LONGLONG" ? "cast by the application" : next(),
  queryFormat: (text, values) =>
    text.replaceAll(/:(\w+)/g, (found, name) => name in Object(values) ? "'formatted'" : found),
};

/** Sessions that allow nearly everything: text is cut, nothing is strict, nothing commits by itself. */
const HOSTILE_SESSION =
  "SET SESSION sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT', " +
  "autocommit = 0, time_zone = '-07:00'";

/** A pool whose settings and sessions are as hostile as can be. */
export function hostilePool(url: string, options: mysql.PoolOptions = {}): mysql.Pool {
  const pool = mysql.createPool({ uri: url, ...HOSTILE, ...options });
  pool.pool.on("connection", (connection) => {
    connection.query(HOSTILE_SESSION, () => {});
  });
  return pool;
}

/** A case's database: of a URL and with keys of numbers, or of a hostile pool and with UUIDs. */
export async function caseDatabase(kind: "url" | "pool"): Promise<CaseDatabase> {
  const database = await freshMysql();
  const { url } = database;
  const query = (text: string, params: readonly unknown[]): Promise<Row[]> =>
    queryOn(url, text, params);
  if (kind === "url") return { open: () => mysqlStore(url), query, drop: database.drop };
  const pools: mysql.Pool[] = [];
  return {
    open() {
      const pool = hostilePool(url);
      pools.push(pool);
      const store = mysqlStore(pool);
      return { ...store, migrate: (how) => store.migrate({ keyType: "uuid", ...how }) };
    },
    query,
    async drop() {
      for (const pool of pools) await pool.end();
      await database.drop();
    },
  };
}

/** Waits until something is the case; fails when it does not become so. */
export async function until(what: string, check: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!await check()) {
    if (performance.now() > deadline) throw new Error(`It did not come to this: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The ids of transactions in this database that wait for a lock. */
export async function waitingForLocks(url: string): Promise<string[]> {
  // The server shows an old picture to whoever asks again within a tenth of a second.
  await new Promise((resolve) => setTimeout(resolve, 120));
  const rows = await queryOn(
    url,
    "SELECT t.trx_id AS id FROM information_schema.innodb_trx t " +
      "JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id " +
      "WHERE t.trx_state = 'LOCK WAIT' AND p.db = DATABASE()",
  );
  return rows.map((row) => String(row.id));
}

/** The ids of all connections to this database but the one that asks. */
export async function connectionsTo(url: string): Promise<string[]> {
  const rows = await queryOn(
    url,
    "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()",
  );
  return rows.map((row) => String(row.id));
}

/** Ends all connections to this database but the one that asks. */
export async function killConnections(url: string): Promise<number> {
  const ids = await connectionsTo(url);
  for (const id of ids) {
    // It may have gone by itself.
    await queryOn(url, `KILL CONNECTION ${id}`).catch(() => {});
  }
  return ids.length;
}
