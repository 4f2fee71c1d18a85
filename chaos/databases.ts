/** The databases under chaos: how a store is opened, and what can be done to each. */

import type { DatabaseSync } from "node:sqlite";
import mysql from "mysql2/promise";
// @ts-types="@types/pg"
import pg from "pg";
import { mysqlStore } from "../drivers/mysql/mod.ts";
import { postgresStore } from "../drivers/postgres/mod.ts";
import { sqliteStore } from "../drivers/sqlite/mod.ts";
import type { StoreDriver } from "../mod.ts";

/** A connection of the application, beside Pawl's. */
export interface Application {
  /** Runs statements. */
  run(sql: string): Promise<void>;
  /** One number. */
  count(sql: string): Promise<number>;
  /** Ends every other connection to this database; how many. */
  cutConnections(): Promise<number>;
  close(): Promise<void>;
}

/** Opens a store by its address. */
export function openStore(address: string): StoreDriver {
  if (address.startsWith("postgres")) return postgresStore(address);
  return address.startsWith("mysql") ? mysqlStore(address) : sqliteStore(address);
}

/** Books a workflow in the ledger, with the handle of the step's transaction. */
export async function book(address: string, tx: unknown, workflowId: string): Promise<void> {
  if (address.startsWith("postgres")) {
    await (tx as pg.PoolClient).query("INSERT INTO ledger VALUES ($1)", [workflowId]);
  } else if (address.startsWith("mysql")) {
    await (tx as mysql.Connection).query("INSERT INTO ledger VALUES (?)", [workflowId]);
  } else (tx as DatabaseSync).prepare("INSERT INTO ledger VALUES (?)").run(workflowId);
}

/** Connects the application. */
export async function openApplication(address: string): Promise<Application> {
  if (address.startsWith("postgres")) return await postgresApplication(address);
  return address.startsWith("mysql")
    ? await mysqlApplication(address)
    : await sqliteApplication(address);
}

async function postgresApplication(address: string): Promise<Application> {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  return {
    run: async (sql) => void await client.query(sql),
    count: async (sql) => Number((await client.query(sql)).rows[0]?.n),
    async cutConnections() {
      const { rows } = await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      );
      return rows.length;
    },
    close: () => client.end(),
  };
}

async function mysqlApplication(address: string): Promise<Application> {
  const connection = await mysql.createConnection(address);
  return {
    run: async (sql) => void await connection.query(sql),
    async count(sql) {
      const [rows] = await connection.query<mysql.RowDataPacket[]>(sql);
      return Number(rows[0]?.n);
    },
    async cutConnections() {
      const [rows] = await connection.query<mysql.RowDataPacket[]>(
        "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()",
      );
      // One that has gone by itself meanwhile is as good as cut.
      for (const { id } of rows) await connection.query(`KILL CONNECTION ${id}`).catch(() => {});
      return rows.length;
    },
    close: () => connection.end(),
  };
}

async function sqliteApplication(address: string): Promise<Application> {
  const { DatabaseSync } = await import("node:sqlite");
  const db = new DatabaseSync(address);
  db.exec("PRAGMA busy_timeout = 5000");
  return {
    run: (sql) => Promise.resolve(db.exec(sql)),
    count: (sql) => Promise.resolve(Number(db.prepare(sql).get()?.n)),
    /** There are no connections to cut: the file is locked for a while instead. */
    async cutConnections() {
      db.exec("BEGIN IMMEDIATE");
      await new Promise((resolve) => setTimeout(resolve, 150));
      db.exec("COMMIT");
      return 1;
    },
    close: () => Promise.resolve(db.close()),
  };
}
