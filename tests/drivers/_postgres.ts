/**
 * What the tests of PostgreSQL share: a database of their own, and a schema in it per test.
 */

// @ts-types="@types/pg"
import pg from "pg";
import { postgresStore, type PostgresStoreOptions } from "../../drivers/postgres/mod.ts";
import type { CaseDatabase } from "../../src/testing/conformance.ts";
import { type FreshDatabase, freshPostgres, postgresServer } from "../_servers.ts";

/** Whether there is a server to test on; without one the tests are left out, and in CI they fail. */
export const HAS_POSTGRES: boolean = await postgresServer() !== null;

/** A pool for a test; it must be ended by the test. */
export function testPool(url: string, config: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 4, ...config });
  pool.on("error", () => {});
  return pool;
}

/** Runs one statement with a pool of its own. */
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

/** Registers a test on a fresh database; it is left out where there is no server. */
export function postgresTest(
  name: string,
  test: (database: FreshDatabase) => Promise<void>,
): void {
  Deno.test({
    name,
    ignore: !HAS_POSTGRES,
    async fn() {
      await using database = await freshPostgres();
      await test(database);
    },
  });
}

let shared: Promise<FreshDatabase> | null = null;
let count = 0;

/** An empty schema in a database that all cases of a file share: making one is quick. */
export async function caseDatabase(options: PostgresStoreOptions = {}): Promise<CaseDatabase> {
  shared ??= freshPostgres();
  const { url } = await shared;
  const schema = `case_${++count}`;
  const search = new URL(url);
  search.searchParams.set("options", `-c search_path=${schema}`);
  await queryOn(url, `CREATE SCHEMA ${schema}`);
  return {
    open: () => postgresStore(search.href, { maxConnections: 4, ...options }),
    query: (sql, params) => queryOn(search.href, sql, params),
    drop: () => queryOn(url, `DROP SCHEMA ${schema} CASCADE`).then(() => {}),
  };
}

/** Drops what `caseDatabase` made, when a file is done. */
export async function dropShared(): Promise<void> {
  const database = await shared;
  shared = null;
  await database?.drop();
}
