/**
 * What the tests of PostgreSQL share: a database of their own, and a schema in it per case.
 */

// @ts-types="@types/pg"
import pg from "pg";
import { postgresStore, type PostgresStoreOptions } from "../../drivers/postgres/mod.ts";
import { postgresQueue } from "../../drivers/queues/postgres.ts";
import { type QueueDriver, type StoreDriver, systemClock } from "../../mod.ts";
import { wait } from "../../src/seams/clock.ts";
import type { CaseDatabase, CaseQueue } from "../../src/testing/conformance.ts";
import { type FreshDatabase, freshPostgres, postgresServer } from "../_servers.ts";

/** Whether there is a server to test on; without one the tests are left out, and in CI they fail. */
export const HAS_POSTGRES: boolean = await postgresServer() !== null;

/** A pool for a test, which ends it. */
export function testPool(url: string, config: pg.PoolConfig = {}): pg.Pool & AsyncDisposable {
  const pool = new pg.Pool({ connectionString: url, max: 4, ...config });
  // It does not wait for its connections to end, and the database is dropped with those still open.
  pool.on("error", () => {});
  return Object.assign(pool, { [Symbol.asyncDispose]: () => pool.end() });
}

/** Runs one statement on a connection of its own. */
export async function queryOn(
  url: string,
  text: string,
  params: readonly unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query(text, [...params])).rows;
  } finally {
    await client.end();
  }
}

/** A database with what tests do in it. */
export interface TestDatabase extends FreshDatabase {
  /** Runs one statement. */
  query(text: string, params?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** Opens a store on it, by its URL. */
  store(options?: PostgresStoreOptions): StoreDriver<pg.ClientBase> & AsyncDisposable;
}

/** Registers a test on a fresh database; it is left out where there is no server. */
export function postgresTest(name: string, test: (database: TestDatabase) => Promise<void>): void {
  Deno.test({
    name,
    ignore: !HAS_POSTGRES,
    async fn() {
      await using database = await freshPostgres();
      await test(testDatabase(database));
    },
  });
}

function testDatabase(database: FreshDatabase): TestDatabase {
  const { url } = database;
  return {
    ...database,
    query: (text, params) => queryOn(url, text, params),
    store: (options = {}) => disposable(postgresStore(url, { maxConnections: 4, ...options })),
  };
}

/** A store that is closed at the end of its scope. */
export function disposable<Tx>(store: StoreDriver<Tx>): StoreDriver<Tx> & AsyncDisposable {
  return { ...store, [Symbol.asyncDispose]: () => store.close() };
}

let shared: Promise<FreshDatabase> | null = null;
const made = new Set<string>();

Deno.test.afterAll(async () => await (await shared)?.drop());

/**
 * A database for one case, reached by URL or through a pool of the application, with keys that the
 * database makes or with UUIDs. Making tables takes longer than most cases, so those of one kind
 * share theirs, and leave them empty.
 */
export async function caseDatabase(kind: "url" | "pool" | "uuid"): Promise<CaseDatabase> {
  const own = await caseUrl(kind);
  const pools: pg.Pool[] = [];

  function open(): StoreDriver {
    if (kind === "pool") {
      const pool = testPool(own.href);
      pools.push(pool);
      return postgresStore(pool);
    }
    const store = postgresStore(own, { maxConnections: 4 });
    if (kind === "url") return store;
    return { ...store, migrate: (options) => store.migrate({ keyType: "uuid", ...options }) };
  }

  return {
    open,
    query: (sql, params) => queryOn(own.href, sql, params),
    async drop() {
      for (const pool of pools) await pool.end();
      await queryOn(own.href, "DELETE FROM pawl_workflows");
      await queryOn(own.href, "UPDATE pawl_duties SET held_until = $1", ["1970-01-01T00:00:00Z"]);
    },
  };
}

async function caseUrl(kind: string): Promise<URL> {
  shared ??= freshPostgres();
  const { url } = await shared;
  const own = new URL(url);
  own.searchParams.set("options", `-c search_path=${kind}_cases`);
  if (!made.has(kind)) await queryOn(url, `CREATE SCHEMA ${kind}_cases`);
  made.add(kind);
  return own;
}

/** An empty queue for one case, on real time. */
export async function queueBench(): Promise<CaseQueue> {
  const own = await caseUrl("queue");
  await using store = disposable(postgresStore(own, { maxConnections: 1 }));
  await store.migrate();
  return {
    queue: postgresQueue(own) as QueueDriver,
    clock: systemClock,
    advance: (ms) => wait(systemClock, ms),
    drop: () => queryOn(own.href, "DELETE FROM pawl_jobs").then(() => {}),
  };
}

/** The tables in a schema. */
export async function tablesIn(database: TestDatabase, schema: string): Promise<string[]> {
  const rows = await database.query(
    "SELECT tablename FROM pg_tables WHERE schemaname = $1 ORDER BY tablename",
    [schema],
  );
  return rows.map((row) => String(row.tablename));
}

/** Everything that the migrations make, in words that no version of the server says differently. */
export async function dumped(database: TestDatabase): Promise<string> {
  const lines: string[] = [];
  for (const table of await tablesIn(database, "public")) {
    lines.push(`${table}`);
    const columns = await database.query(
      "SELECT attname AS name, format_type(atttypid, atttypmod) AS type, attnotnull AS required, " +
        "attidentity AS made, collname AS collation FROM pg_attribute a " +
        "LEFT JOIN pg_collation c ON c.oid = a.attcollation AND c.collname <> 'default' " +
        "WHERE attrelid = $1::regclass AND attnum > 0 ORDER BY attnum",
      [table],
    );
    for (const { name, type, required, made, collation } of columns) {
      const more = [
        collation === null ? "" : ` COLLATE "${collation}"`,
        required ? " NOT NULL" : "",
        made === "d" ? " GENERATED BY DEFAULT AS IDENTITY" : "",
      ];
      lines.push(`  ${name} ${type}${more.join("")}`);
    }
    const parts = await database.query(
      "SELECT pg_get_constraintdef(oid) AS text FROM pg_constraint WHERE conrelid = $1::text::regclass " +
        "AND contype IN ('p', 'f', 'c') UNION ALL SELECT indexdef FROM pg_indexes " +
        "WHERE schemaname = 'public' AND tablename = $1::text",
      [table],
    );
    lines.push(...parts.map(({ text }) => `  ${String(text)}`).sort(), "");
  }
  return lines.join("\n");
}
