/**
 * The orders of a shop, for `orm.ts`: in the words of Kysely and of Drizzle, on SQLite and on
 * PostgreSQL. Each makes its query builder on the handle it is given, and that handle is the
 * transaction; none of them begins one of its own.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import { eq } from "drizzle-orm";
import { drizzle as drizzlePostgres } from "drizzle-orm/node-postgres";
import { integer as pgInteger, pgTable, text as pgText } from "drizzle-orm/pg-core";
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { drizzle as drizzleSqlite } from "drizzle-orm/sqlite-proxy";
import {
  type Generated,
  Kysely,
  PostgresDialect,
  type PostgresPoolClient,
  SqliteDialect,
} from "kysely";
// @ts-types="@types/pg"
import type { PoolClient } from "pg";

/** What the story does with orders; `tx` is the transaction that it happens in. */
export interface Orders<Tx> {
  readonly name: string;
  /** Inserts an order and gives its id. */
  insert(tx: Tx, item: string): Promise<number>;
  /** Notes that an order is paid. */
  markPaid(tx: Tx, id: number): Promise<void>;
}

interface Database {
  orders: { id: Generated<number>; item: string; status: string };
}

/** Kysely's SQLite dialect speaks to better-sqlite3; this lets it speak to `node:sqlite`. */
function kyselyOnSqlite(db: DatabaseSync): Kysely<Database> {
  const database = {
    prepare(sql: string) {
      const statement = db.prepare(sql);
      type Values = Parameters<typeof statement.all>;
      return {
        reader: statement.columns().length > 0,
        all: (values: readonly unknown[]) => statement.all(...values as Values),
        run: (values: readonly unknown[]) => statement.run(...values as Values),
        iterate: (values: readonly unknown[]) => statement.iterate(...values as Values),
      };
    },
    close: () => {},
  };
  return new Kysely({ dialect: new SqliteDialect({ database }) });
}

/** Kysely wants a pool; this one has a single connection, that of the transaction. */
function kyselyOnPostgres(client: PoolClient): Kysely<Database> {
  // Whoever began the transaction gives the connection back; Kysely must not.
  const connection = { query: client.query.bind(client), release: () => {} };
  const pool = {
    connect: () => Promise.resolve(connection as PostgresPoolClient),
    end: () => Promise.resolve(),
    options: {},
  };
  return new Kysely({ dialect: new PostgresDialect({ pool }) });
}

function kyselyOrders<Tx>(name: string, on: (tx: Tx) => Kysely<Database>): Orders<Tx> {
  return {
    name,
    async insert(tx, item) {
      const row = await on(tx).insertInto("orders").values({ item, status: "new" })
        .returning("id").executeTakeFirstOrThrow();
      return row.id;
    },
    async markPaid(tx, id) {
      await on(tx).updateTable("orders").set({ status: "paid" }).where("id", "=", id).execute();
    },
  };
}

/** Orders with Kysely in SQLite. */
export const kyselySqlite: Orders<DatabaseSync> = kyselyOrders("Kysely, SQLite", kyselyOnSqlite);

/** Orders with Kysely in PostgreSQL. */
export const kyselyPostgres: Orders<PoolClient> = kyselyOrders(
  "Kysely, PostgreSQL",
  kyselyOnPostgres,
);

/** Drizzle has no driver for `node:sqlite`; its proxy needs rows as arrays of their values. */
function drizzleOnSqlite(db: DatabaseSync) {
  return drizzleSqlite((sql, params, method) => {
    const rows = db.prepare(sql).all(...params).map((row) => Object.values(row));
    return Promise.resolve({ rows: method === "get" ? rows[0] ?? [] : rows });
  });
}

const sqliteOrders = sqliteTable("orders", {
  id: integer().primaryKey(),
  item: text().notNull(),
  status: text().notNull(),
});

/** Orders with Drizzle in SQLite. */
export const drizzleInSqlite: Orders<DatabaseSync> = {
  name: "Drizzle, SQLite",
  async insert(tx, item) {
    const [row] = await drizzleOnSqlite(tx).insert(sqliteOrders).values({ item, status: "new" })
      .returning();
    return (row as { id: number }).id;
  },
  async markPaid(tx, id) {
    await drizzleOnSqlite(tx).update(sqliteOrders).set({ status: "paid" })
      .where(eq(sqliteOrders.id, id));
  },
};

const postgresOrders = pgTable("orders", {
  id: pgInteger().primaryKey().generatedAlwaysAsIdentity(),
  item: pgText().notNull(),
  status: pgText().notNull(),
});

/** Orders with Drizzle in PostgreSQL: it takes a client as readily as a pool. */
export const drizzleInPostgres: Orders<PoolClient> = {
  name: "Drizzle, PostgreSQL",
  async insert(tx, item) {
    const [row] = await drizzlePostgres({ client: tx }).insert(postgresOrders)
      .values({ item, status: "new" }).returning();
    return (row as { id: number }).id;
  },
  async markPaid(tx, id) {
    await drizzlePostgres({ client: tx }).update(postgresOrders).set({ status: "paid" })
      .where(eq(postgresOrders.id, id));
  },
};
