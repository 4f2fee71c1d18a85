/**
 * Orders with Kysely and with Drizzle: the query builder writes in the transaction of a start, and in
 * that of a step.
 *
 * `deno run -A examples/orm.ts [postgres://…]`; SQLite without an address. The database must be
 * empty: the example makes its own table in it.
 *
 * A query builder that begins a transaction hides the connection it uses, so it is the other way
 * round: Pawl begins the transaction, and the builder is put on its handle.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import { createEngine, type StoreDriver, workflow } from "@pawl/pawl";
import { postgresStore } from "@pawl/pawl/postgres";
import { sqliteStore } from "@pawl/pawl/sqlite";
// @ts-types="@types/pg"
import pg from "pg";
import {
  drizzleInPostgres,
  drizzleInSqlite,
  kyselyPostgres,
  kyselySqlite,
  type Orders,
} from "./_orders.ts";

const TABLE = "CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT, status TEXT)";
const SERIAL = TABLE.replace("PRIMARY KEY", "PRIMARY KEY GENERATED ALWAYS AS IDENTITY");
const ROWS = "SELECT item, status FROM orders ORDER BY id";

type Row = Record<string, unknown>;

async function tell<Tx>(
  orders: Orders<Tx>,
  store: StoreDriver,
  rows: () => Row[] | Promise<Row[]>,
): Promise<void> {
  const checkout = workflow({
    name: "checkout",
    steps: [{
      name: "pay",
      transaction: true,
      onException: "reattempt",
      async run({ input, attempt, tx }) {
        await orders.markPaid(tx, Number(input));
        if (attempt === 1) throw new Error("fails after its write, which is rolled back");
      },
    }],
  });
  // Its first attempt fails because the story wants it; else it would be told on the console.
  const engine = createEngine({ store, workflows: [checkout], reportError: () => {} });
  await engine.migrate();

  await engine.transaction(async (tx) => {
    const id = await orders.insert(tx, "a lamp");
    await engine.start(checkout, { input: id, tx });
  });
  await engine.transaction(async (tx) => {
    await engine.start(checkout, { input: await orders.insert(tx, "a table"), tx });
    throw new Error("the customer changed his mind");
  }).catch(() => {});

  const worker = engine.work();
  await worker.idle();
  await engine.close();
  const stored = (await rows()).map(({ item, status }) => `${item} is ${status}`);
  console.log(`${orders.name}: ${stored.join(", ")}`);
}

async function main(url: string | undefined): Promise<void> {
  for (const orders of [kyselySqlite, drizzleInSqlite]) {
    if (url !== undefined) break;
    const db = new DatabaseSync(":memory:");
    db.exec(TABLE);
    await tell(orders, sqliteStore(db), () => db.prepare(ROWS).all());
    db.close();
  }
  for (const orders of [kyselyPostgres, drizzleInPostgres]) {
    if (url === undefined) break;
    const pool = new pg.Pool({ connectionString: url });
    await pool.query(SERIAL);
    await tell(orders, postgresStore(pool), async () => (await pool.query(ROWS)).rows);
    await pool.query("DROP TABLE orders");
    await pool.end();
  }
}

if (import.meta.main) await main(Deno.args[0]);

/* It prints:

Kysely, SQLite: a lamp is paid
Drizzle, SQLite: a lamp is paid
*/
