/**
 * A ledger on each database, for `ledger_transfer.ts`: the same two statements in the words of three
 * clients. What they have in common is that `tx` is the client's own handle on the transaction that
 * the step runs in.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import mysql from "mysql2/promise";
import type { StoreDriver } from "@pawl/pawl";
import { mysqlStore } from "@pawl/pawl/mysql";
import { postgresStore } from "@pawl/pawl/postgres";
import { sqliteStore } from "@pawl/pawl/sqlite";
// @ts-types="@types/pg"
import pg from "pg";

/** Money that moves from one account to another. */
export interface Transfer {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly cents: number;
}

/** A ledger in the database of the workflows. */
export interface Ledger<Tx> {
  readonly name: string;
  readonly store: StoreDriver<Tx>;
  /** Makes the tables, with 1,000.00 on each account. */
  open(accounts: readonly string[]): Promise<void>;
  /** Books a transfer inside the transaction of a step. */
  book(tx: Tx, transfer: Transfer): Promise<void>;
  /** What is on each account, in cents, and how many bookings there are. */
  totals(): Promise<{ balances: Record<string, number>; bookings: number }>;
  close(): Promise<void>;
}

const TABLES = [
  "CREATE TABLE accounts (name VARCHAR(50) PRIMARY KEY, cents BIGINT NOT NULL)",
  "CREATE TABLE bookings (transfer_id VARCHAR(50) NOT NULL, cents BIGINT NOT NULL)",
];
const BALANCES = "SELECT name, cents FROM accounts ORDER BY name";
const BOOKINGS = "SELECT count(*) AS n FROM bookings";

type Row = Record<string, unknown>;

function totalsOf(balances: readonly Row[], bookings: Row | undefined) {
  return {
    balances: Object.fromEntries(balances.map(({ name, cents }) => [name, Number(cents)])),
    bookings: Number(bookings?.n),
  };
}

/** A ledger in SQLite, in memory. */
export function sqliteLedger(): Ledger<DatabaseSync> {
  const db = new DatabaseSync(":memory:");
  return {
    name: "SQLite",
    store: sqliteStore(db),
    open(accounts) {
      for (const table of TABLES) db.exec(table);
      const insert = db.prepare("INSERT INTO accounts VALUES (?, 100000)");
      for (const account of accounts) insert.run(account);
      return Promise.resolve();
    },
    book(tx, { id, from, to, cents }) {
      const add = tx.prepare("UPDATE accounts SET cents = cents + ? WHERE name = ?");
      add.run(-cents, from);
      add.run(cents, to);
      tx.prepare("INSERT INTO bookings VALUES (?, ?)").run(id, cents);
      return Promise.resolve();
    },
    totals: () => Promise.resolve(totalsOf(db.prepare(BALANCES).all(), db.prepare(BOOKINGS).get())),
    close: () => Promise.resolve(db.close()),
  };
}

/** A ledger in PostgreSQL. */
export function postgresLedger(url: string): Ledger<pg.ClientBase> {
  const pool = new pg.Pool({ connectionString: url });
  return {
    name: "PostgreSQL",
    store: postgresStore(pool),
    async open(accounts) {
      for (const table of TABLES) await pool.query(table);
      for (const account of accounts) {
        await pool.query("INSERT INTO accounts VALUES ($1, 100000)", [account]);
      }
    },
    async book(tx, { id, from, to, cents }) {
      const add = "UPDATE accounts SET cents = cents + $1 WHERE name = $2";
      await tx.query(add, [-cents, from]);
      await tx.query(add, [cents, to]);
      await tx.query("INSERT INTO bookings VALUES ($1, $2)", [id, cents]);
    },
    async totals() {
      const { rows: balances } = await pool.query(BALANCES);
      const { rows: [bookings] } = await pool.query(BOOKINGS);
      return totalsOf(balances, bookings);
    },
    close: () => pool.end(),
  };
}

/** A ledger in MySQL or MariaDB. */
export function mysqlLedger(url: string): Ledger<mysql.Connection> {
  const pool = mysql.createPool(url);
  const rowsOf = async (sql: string): Promise<Row[]> => (await pool.query(sql))[0] as Row[];
  return {
    name: "MySQL",
    store: mysqlStore(pool),
    async open(accounts) {
      for (const table of TABLES) await pool.query(table);
      for (const account of accounts) {
        await pool.execute("INSERT INTO accounts VALUES (?, 100000)", [account]);
      }
    },
    async book(tx, { id, from, to, cents }) {
      const add = "UPDATE accounts SET cents = cents + ? WHERE name = ?";
      await tx.execute(add, [-cents, from]);
      await tx.execute(add, [cents, to]);
      await tx.execute("INSERT INTO bookings VALUES (?, ?)", [id, cents]);
    },
    totals: async () => totalsOf(await rowsOf(BALANCES), (await rowsOf(BOOKINGS))[0]),
    close: () => pool.end(),
  };
}
