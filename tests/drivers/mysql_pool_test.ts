/**
 * A pool of the application is used as it is: whatever its settings, and without changing them. That
 * a store on the most hostile of them passes every case is proved in `tests/conformance`.
 *
 * @module
 */

import assert from "node:assert/strict";
import mysql from "mysql2/promise";
import { mysqlStore } from "../../drivers/mysql/mod.ts";
import { createEngine, hero, workflow } from "../../mod.ts";
import {
  dueOptions,
  finished,
  newWorkflows,
  start,
  T0,
} from "../../src/testing/store_cases/_builders.ts";
import { connectionsTo, hostilePool, mysqlTest, queryOn, until } from "./_mysql.ts";

const SETTINGS = "SHOW SESSION VARIABLES WHERE Variable_name IN ('sql_mode', 'autocommit', " +
  "'time_zone', 'tx_isolation', 'transaction_isolation', 'character_set_client')";

/** Everything that a store does, once. */
async function use(pool: mysql.Pool): Promise<void> {
  const store = mysqlStore(pool);
  await store.migrate();
  await start(store, { heroId: "before" });
  await store.create(newWorkflows(3), { now: T0 });
  const claims = await store.claimDue(dueOptions());
  await store.finish(claims.map((one) => finished(one)), { now: T0 });
  await store.transaction(() => Promise.resolve());
  await store.counts();
  await store.close();
}

mysqlTest(
  "a pool's settings and sessions are afterwards what they were before",
  async ({ url }) => {
    const pool = hostilePool(url, { connectionLimit: 1 });
    const look = async (): Promise<unknown[]> => [
      (await pool.query(SETTINGS))[0],
      (await pool.query("SELECT 1 AS one, CAST(9007199254740993 AS SIGNED) AS big, NOW() - NOW()"))[
        0
      ],
    ];
    const before = await look();
    const seen = Deno.inspect(before, { depth: 5 });
    assert.match(seen, /NO_BACKSLASH_ESCAPES.*REPEATABLE-READ.*cast by the application/s);
    await use(pool);
    assert.deepEqual(await look(), before);
    const [formatted] = await pool.query("SELECT :length AS word", []);
    assert.match(Deno.inspect(formatted, { depth: 5 }), /"formatted"/);
    await pool.end();
  },
);

mysqlTest("a pool without autocommit is left without an open transaction", async ({ url }) => {
  const pool = hostilePool(url, { connectionLimit: 2 });
  await use(pool);
  await until("no transaction is open", async () => {
    const open = await queryOn(
      url,
      "SELECT t.trx_id FROM information_schema.innodb_trx t JOIN information_schema.processlist p " +
        "ON p.id = t.trx_mysql_thread_id WHERE p.db = DATABASE() AND p.id <> CONNECTION_ID()",
    );
    await new Promise((resolve) => setTimeout(resolve, 120));
    return open.length === 0;
  });
  await pool.end();
});

mysqlTest("close() ends the connections of a URL, and none of a given pool", async ({ url }) => {
  const own = mysqlStore(url);
  await own.migrate();
  await Promise.all(newWorkflows(4).map((one) => own.create([one], { now: T0 })));
  assert.ok((await connectionsTo(url)).length > 1);
  await own.close();
  await until("all are gone", async () => (await connectionsTo(url)).length === 0);
  const pool = mysql.createPool(url);
  const given = mysqlStore(pool);
  await given.counts();
  await given.close();
  const [rows] = await pool.query("SELECT 7 AS seven");
  assert.deepEqual(rows, [{ seven: 7 }]);
  await pool.end();
});

mysqlTest("maxConnections is kept", async ({ url }) => {
  const store = mysqlStore(url, { maxConnections: 3 });
  await store.migrate();
  await Promise.all(newWorkflows(20).map((one) => store.create([one], { now: T0 })));
  assert.equal((await connectionsTo(url)).length, 3);
  await store.close();
});

mysqlTest(
  "QRY-08 a presence query finds heroes without a workflow, by keys of any type",
  async ({ url }) => {
    const store = mysqlStore(url);
    await store.migrate();
    const users = hero("User", { load: (id: string) => ({ id }) });
    const definition = workflow({
      name: "onboarding",
      hero: users,
      steps: [{ name: "greet", run: () => {} }],
    });
    const engine = createEngine({ store, workflows: [definition] });
    await queryOn(
      url,
      "CREATE TABLE users (id BIGINT PRIMARY KEY, email VARCHAR(50) CHARACTER SET latin1, " +
        "name VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci)",
    );
    await queryOn(
      url,
      "INSERT INTO users VALUES (1, 'ann@x', 'ann'), (2, 'Ann@x', 'ANN'), (3, 'bob@x', 'bob')",
    );
    const without = async (column: string): Promise<unknown[]> => {
      const { sql, params } = engine.presenceSql(definition, { heroIdColumn: column });
      const text = `SELECT id FROM users WHERE NOT EXISTS (${sql}) ORDER BY id`;
      return (await queryOn(url, text, params)).map((row) => Number(row.id));
    };
    await engine.start(definition, { hero: "2" });
    assert.deepEqual(await without("users.id"), [1, 3]);
    // What a case-insensitive column takes for equal is two heroes all the same.
    await engine.start(definition, { hero: "ann" });
    assert.deepEqual(await without("users.name"), [2, 3]);
    await engine.start(definition, { hero: "Ann@x" });
    assert.deepEqual(await without("users.email"), [1, 3]);
    const { sql, params } = engine.presenceSql(definition, { heroIdColumn: "users.id" });
    const plan = await queryOn(
      url,
      `EXPLAIN SELECT id FROM users WHERE NOT EXISTS (${sql})`,
      params,
    );
    const look = plan.find((row) => row.table === "pawl_presence");
    assert.ok(["ref", "eq_ref", "range"].includes(String(look?.type)), JSON.stringify(plan));
    await engine.close();
  },
);

mysqlTest(
  "P2 the server's time is told in milliseconds, whatever the time zone of the session",
  async ({ url }) => {
    const pool = hostilePool(url);
    const store = mysqlStore(pool);
    const before = Date.now();
    const told = await store.serverTime?.() as number;
    const after = Date.now();
    assert.ok(Number.isInteger(told));
    assert.ok(told >= before - 1_000 && told <= after + 1_000, `${told} is not ${before}`);
    await pool.end();
  },
);
