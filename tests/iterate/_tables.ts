/**
 * Tables of an application on every database that can be reached: SQLite in memory, Postgres through
 * `pg`, MySQL or MariaDB through `mysql2`, each used as an application would use it.
 */

import assert from "node:assert/strict";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import mysql from "mysql2/promise";
// @ts-types="@types/pg"
import pg from "pg";
import {
  CursorError,
  InvalidInputError,
  type Iter,
  type Run,
  type TableRow,
  type TableSource,
} from "../../mod.ts";
import { interruptEvery, performNextStep, testEngine } from "../../src/testing/mod.ts";
import {
  freshMysql,
  freshPostgres,
  mysqlServer,
  postgresServer,
  recordSqlite,
} from "../_servers.ts";
import { importing, range } from "./_chain.ts";

/** An application's database. */
export interface Tables {
  /** Which SQL it speaks. */
  readonly dialect: TableSource["dialect"];
  /** Runs statements that answer nothing. */
  run(...statements: readonly string[]): Promise<void>;
  /** Runs a query, and notes that it did. */
  readonly query: TableSource["query"];
  /** The queries so far. */
  readonly queries: string[];
  /** A source over a table of it. */
  source(table: string, options?: Partial<TableSource>): TableSource;
}

type Client = Pick<Tables, "dialect"> & {
  query(sql: string, params: readonly unknown[]): Promise<readonly TableRow[]>;
  close(): Promise<void>;
};

const CLIENTS: Readonly<Record<string, { missing: boolean; open(): Promise<Client> }>> = {
  SQLite: { missing: false, open: openSqlite },
  Postgres: { missing: await postgresServer() === null, open: openPostgres },
  MySQL: { missing: await mysqlServer() === null, open: openMysql },
};

/** Registers a test for every database; one that cannot be reached here is shown as ignored. */
export function onEveryDatabase(name: string, test: (tables: Tables) => Promise<void>): void {
  for (const [kind, { missing, open }] of Object.entries(CLIENTS)) {
    Deno.test({ name: `${name} (${kind})`, ignore: missing }, async () => {
      const client = await open();
      try {
        await test(tablesOf(client));
      } finally {
        await client.close();
      }
    });
  }
}

function tablesOf({ dialect, query }: Client): Tables {
  const queries: string[] = [];
  const tables: Tables = {
    dialect,
    queries,
    async run(...statements) {
      for (const sql of statements) await query(sql, []);
    },
    query(sql, params) {
      queries.push(sql);
      return query(sql, params);
    },
    source: (table, options = {}) => ({ table, dialect, query: tables.query, ...options }),
  };
  return tables;
}

async function openSqlite(): Promise<Client> {
  await recordSqlite();
  const database = new DatabaseSync(":memory:");
  return {
    dialect: "sqlite",
    query(sql, params) {
      const statement = database.prepare(sql);
      // Integers beyond 2^53 would throw; as the other clients do, only these are given otherwise.
      statement.setReadBigInts(true);
      const rows = statement.all(...params as SQLInputValue[]);
      return Promise.resolve(rows.map((row) => mapped(row)));
    },
    close: () => Promise.resolve(database.close()),
  };
}

function mapped(row: Record<string, unknown>): TableRow {
  const safe = (value: unknown): unknown =>
    typeof value === "bigint" && Number.isSafeInteger(Number(value)) ? Number(value) : value;
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, safe(value)]));
}

async function openPostgres(): Promise<Client> {
  const database = await freshPostgres();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  return {
    dialect: "postgres",
    query: async (sql, params) => (await client.query(sql, [...params])).rows,
    async close() {
      await client.end();
      await database.drop();
    },
  };
}

async function openMysql(): Promise<Client> {
  const database = await freshMysql();
  const client = await mysql.createConnection({
    uri: database.url,
    charset: "utf8mb4",
    supportBigNumbers: true,
  });
  return {
    dialect: "mysql",
    async query(sql, params) {
      const [rows] = await client.execute(sql, params as string[]);
      return Array.isArray(rows) ? rows as TableRow[] : [];
    },
    async close() {
      await client.end();
      await database.drop();
    },
  };
}

/** Runs a walk on an engine of its own and hands over its run. */
export async function walking(
  walk: (iter: Iter) => unknown,
  perform: (run: Run) => Promise<unknown>,
): Promise<Run> {
  const definition = importing(({ iter }) => walk(iter));
  await using t = await testEngine({ workflows: [definition] });
  const run = await t.engine.start(definition);
  await perform(run);
  return run;
}

/** Walks over a table, interrupted after every so many rows, and gives what it saw. */
export async function walked(source: TableSource, every: number = 1): Promise<TableRow[]> {
  const seen: TableRow[] = [];
  await walking(
    (iter) => iter.overRecords(source, (row) => void seen.push(row)),
    (run) => interruptEvery(run, every),
  );
  return seen;
}

/** Asserts that a walk over a table fails before its first row. */
export async function refused(source: TableSource, message: RegExp): Promise<void> {
  const never = (): never => assert.fail("no row must be passed");
  await walking((iter) => iter.overRecords(source, never), async (run) => {
    await assert.rejects(performNextStep(run), (error) => {
      assert.ok(error instanceof InvalidInputError || error instanceof CursorError, String(error));
      assert.match(error.message, message);
      return true;
    });
  });
}

/** Twenty-five contacts in four cities. */
export async function contacts({ run }: Tables): Promise<void> {
  const cities = ["Bern", "Oslo", "Rome", "Wien"];
  await run(
    "CREATE TABLE contacts (id INTEGER PRIMARY KEY, city VARCHAR(20) NOT NULL, age INTEGER)",
    `INSERT INTO contacts VALUES ${
      range(25).map((n) => `(${n + 1}, '${cities[(n * 7) % 4]}', ${n % 5 === 0 ? "NULL" : n})`)
    }`,
  );
}
