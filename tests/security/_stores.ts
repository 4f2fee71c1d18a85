/**
 * The stores that hostile input is tried on, with a look at their tables from outside.
 */

import { DatabaseSync } from "node:sqlite";
import { memoryDatabase, memoryStore } from "../../drivers/memory/mod.ts";
import { mysqlStore } from "../../drivers/mysql/mod.ts";
import { postgresStore } from "../../drivers/postgres/mod.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import type { StoreDriver } from "../../mod.ts";
import {
  freshMysql,
  freshPostgres,
  mysqlQuery,
  mysqlServer,
  postgresQuery,
  postgresServer,
  recordSqlite,
} from "../_servers.ts";

/** A store with what a test needs beside it. */
export interface StoreBench {
  /** The store, migrated. */
  readonly store: StoreDriver;
  /** What the database says of its tables, as text: it changes when anybody changes a table. */
  schema(): Promise<string>;
  /** Deletes all workflows. */
  clear(): Promise<void>;
  /** Removes everything. */
  drop(): Promise<void>;
}

/** A kind of store. */
export interface StoreKind {
  /** Its name, for the names of tests. */
  readonly name: string;
  /** Whether it is a server, where every statement is a round trip. */
  readonly isServer: boolean;
  /** Whether there is one to test on. */
  readonly isHere: boolean;
  /** Opens one of its own. */
  open(): Promise<StoreBench>;
}

const COLUMNS = "SELECT table_name AS t, column_name AS c, data_type AS d " +
  "FROM information_schema.columns WHERE table_schema = ";

/** All the stores there are. */
export const STORE_KINDS: readonly StoreKind[] = [
  {
    name: "memory",
    isServer: false,
    isHere: true,
    open() {
      const database = memoryDatabase();
      return Promise.resolve({
        store: memoryStore({ database }),
        schema: () => Promise.resolve(""),
        clear: () => Promise.reject(new Error("Open another one instead")),
        drop: () => Promise.resolve(),
      });
    },
  },
  {
    name: "SQLite",
    isServer: false,
    isHere: true,
    async open() {
      await recordSqlite();
      const db = new DatabaseSync(":memory:");
      const store = sqliteStore(db);
      await store.migrate();
      return {
        store: store as StoreDriver,
        schema: () =>
          Promise.resolve(
            JSON.stringify(db.prepare("SELECT name, sql FROM sqlite_master ORDER BY name").all()),
          ),
        clear: () => Promise.resolve(db.exec("DELETE FROM pawl_workflows")),
        drop: () => Promise.resolve(db.close()),
      };
    },
  },
  {
    name: "PostgreSQL",
    isServer: true,
    isHere: await postgresServer() !== null,
    async open() {
      const database = await freshPostgres();
      const store = postgresStore(database.url, { maxConnections: 4 });
      await store.migrate();
      return {
        store: store as StoreDriver,
        schema: async () =>
          JSON.stringify(
            await postgresQuery(database.url, `${COLUMNS} 'public' ORDER BY 1, 2, 3`),
          ),
        clear: () => postgresQuery(database.url, "DELETE FROM pawl_workflows").then(() => {}),
        async drop() {
          await store.close();
          await database.drop();
        },
      };
    },
  },
  {
    name: "MariaDB",
    isServer: true,
    isHere: await mysqlServer() !== null,
    async open() {
      const database = await freshMysql();
      const store = mysqlStore(database.url);
      await store.migrate();
      return {
        store: store as StoreDriver,
        schema: async () =>
          JSON.stringify(await mysqlQuery(database.url, `${COLUMNS} DATABASE() ORDER BY 1, 2, 3`)),
        clear: () => mysqlQuery(database.url, "DELETE FROM pawl_workflows").then(() => {}),
        async drop() {
          await store.close();
          await database.drop();
        },
      };
    },
  },
];

/** Registers a test for every store; it is left out where there is no server. */
export function onEveryStore(
  name: string,
  test: (bench: StoreBench, kind: StoreKind) => Promise<void>,
): void {
  for (const kind of STORE_KINDS) {
    Deno.test({
      name: `${name} (${kind.name})`,
      ignore: !kind.isHere,
      async fn() {
        const bench = await kind.open();
        try {
          await test(bench, kind);
        } finally {
          await bench.drop();
        }
      },
    });
  }
}
