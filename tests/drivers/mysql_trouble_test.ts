/**
 * What goes wrong between an application and its database, and what is said about it.
 *
 * @module
 */

import assert from "node:assert/strict";
import mysql from "mysql2/promise";
import { explained, PassedOn } from "../../drivers/mysql/errors.ts";
import { mysqlStore } from "../../drivers/mysql/mod.ts";
import { InvalidInputError, StoreError } from "../../src/errors.ts";
import type { StoreDriver } from "../../src/seams/store.ts";
import { newSignal, newWorkflow, start, T0 } from "../../src/testing/store_cases/_builders.ts";
import { mysqlTest, queryOn, storeTest, until } from "./_mysql.ts";

const PASSWORD = "s3cret-word";

/** Everything that an error would show, its causes included. */
function shown(error: unknown): string {
  return Deno.inspect(error, { depth: 10, strAbbreviateSize: 100_000 });
}

/** The error of a call, which must be a `StoreError` that keeps the password to itself. */
async function refusal(store: StoreDriver<mysql.Connection>): Promise<Error> {
  try {
    await store.list({}, { limit: 1 });
  } catch (error) {
    assert.ok(error instanceof Error);
    assert.equal(shown(error).includes(PASSWORD), false, "the password is not shown");
    return error;
  } finally {
    await store.close();
  }
  throw new Error("The call should have failed");
}

function atServer(url: string, change: (url: URL) => void): string {
  const changed = new URL(url);
  change(changed);
  return changed.href;
}

Deno.test("a URL that cannot be used is refused without repeating it", () => {
  const bad: [string, RegExp][] = [
    [`mysql//root:${PASSWORD}@localhost/app`, /it is not one; write "mysql:\/\//],
    [`mysql://root:${PASSWORD}%@localhost/app`, /percent-encoded/],
    [`mysql://root:${PASSWORD}@localhost:99999/app`, /it is not one/],
    [`mysql://root:${PASSWORD}@db.example.com`, /db\.example\.com:3306: the URL names no database/],
    [`mysql://root:${PASSWORD}@db.example.com/`, /names no database/],
    [`postgres://root:${PASSWORD}@localhost/app`, /begins with "postgres:": use "mysql:\/\/"/],
    ["", /it is not one/],
  ];
  for (const [url, message] of bad) {
    assert.throws(() => mysqlStore(url), (error: Error) => {
      assert.ok(error instanceof StoreError, url);
      assert.match(error.message, /^\[mysql\] Cannot open/);
      assert.match(error.message, message);
      return !shown(error).includes(PASSWORD);
    });
  }
});

Deno.test("a source or an option of another kind is refused", async () => {
  const callbacks = mysql.createPool("mysql://localhost/app");
  const bad: [unknown, RegExp][] = [
    [undefined, /undefined; pass a URL/],
    [42, /number; pass a URL/],
    [callbacks.pool, /pass pool\.promise\(\)/],
    [{ query: () => {} }, /pass a pool/],
  ];
  for (const [source, message] of bad) {
    const make = (): unknown => mysqlStore(source as string);
    assert.throws(make, { name: "InvalidInputError", message });
  }
  await callbacks.end();
  for (
    const options of [{ maxConnections: 0 }, { maxConnections: 1.5 }, { acquireTimeoutMs: -1 }]
  ) {
    assert.throws(() => mysqlStore("mysql://localhost/app", options), InvalidInputError);
  }
});

Deno.test("making a store connects to nothing", async () => {
  const store = mysqlStore(new URL("mysql://nobody@localhost:1/app"));
  assert.equal(store.name, "mysql");
  await store.close();
  await store.close();
});

mysqlTest("nobody listens there: the error says where and what to do", async ({ url }) => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  const dead = atServer(url, (one) => {
    one.port = String(port);
    one.password = PASSWORD;
  });
  const error = await refusal(mysqlStore(dead));
  assert.ok(error instanceof StoreError);
  assert.match(
    error.message,
    new RegExp(`^\\[mysql\\] Cannot read 127\\.0\\.0\\.1:${port}/pawl_test_`),
  );
  assert.match(error.message, /ECONNREFUSED.*start the server, or check host and port/s);
  const nowhere = atServer(url, (one) => one.hostname = "no-such-host.invalid");
  assert.match((await refusal(mysqlStore(nowhere))).message, /check the (URL|network)/);
});

mysqlTest(
  "a missing database, a wrong password and a missing right are told apart",
  async ({ url }) => {
    const missing = atServer(url, (one) => one.pathname = "/pawl_test_that_is_not_there");
    const unknown = await refusal(mysqlStore(missing));
    assert.match(unknown.message, /Unknown database.*create it, or check the name/);
    const stranger = atServer(url, (one) => {
      one.username = "pawl_stranger";
      one.password = PASSWORD;
    });
    const denied = await refusal(mysqlStore(stranger));
    assert.match(denied.message, /Access denied.*user or password are wrong/);
    const user = `pawl_${crypto.randomUUID().slice(0, 8)}`;
    const host = new URL(url).hostname === "127.0.0.1" ? "'%'" : "'%'";
    await queryOn(url, `CREATE USER '${user}'@${host} IDENTIFIED BY '${PASSWORD}'`);
    try {
      const name = new URL(url).pathname.slice(1);
      const reader = atServer(url, (one) => {
        one.username = user;
        one.password = PASSWORD;
      });
      assert.match((await refusal(mysqlStore(reader))).message, /may not use this database/);
      const owner = mysqlStore(url);
      await owner.migrate();
      await queryOn(url, `GRANT SELECT ON ${name}.* TO '${user}'@${host}`);
      const store = mysqlStore(reader);
      await assert.rejects(start(store), (error: Error) => {
        assert.match(error.message, /denied to user.*GRANT it SELECT, INSERT, UPDATE and DELETE/s);
        return error instanceof StoreError && !shown(error).includes(PASSWORD);
      });
      assert.deepEqual(await store.counts(), []);
      await Promise.all([store.close(), owner.close()]);
    } finally {
      await queryOn(url, `DROP USER '${user}'@${host}`);
    }
  },
);

mysqlTest("missing tables and columns are a matter of migrating", async ({ url }) => {
  const store = mysqlStore(url);
  const refusals = { name: "MigrationError", message: /\[mysql\].*await engine\.migrate\(\)/ };
  await assert.rejects(store.counts(), refusals);
  await assert.rejects(start(store), refusals);
  await assert.rejects(
    store.claimDue({
      ...{ now: T0, token: "t", leaseMs: 1, worker: "w" },
      limit: 1,
    }),
    refusals,
  );
  await store.migrate();
  await queryOn(url, "ALTER TABLE pawl_workflows DROP COLUMN traceparent");
  await assert.rejects(store.list({}, { limit: 1 }), refusals);
  await store.close();
});

storeTest(
  "an error of the server keeps the application's values out of the logs",
  async ({ store, query }) => {
    await query("ALTER TABLE pawl_workflows ADD CONSTRAINT never CHECK (name <> 'forbidden')");
    const input = JSON.stringify("a private matter");
    const attempt = store.create([newWorkflow({ name: "forbidden", input })], { now: T0 });
    await assert.rejects(attempt, (error: Error) => {
      assert.match(error.message, /never/);
      return error instanceof StoreError && !shown(error).includes("private matter");
    });
  },
);

mysqlTest("a pool whose connections would lose text is refused", async ({ url }) => {
  const pool = mysql.createPool({ uri: url, charset: "latin1_swedish_ci" });
  await assert.rejects(mysqlStore(pool).migrate(), {
    name: "StoreError",
    message: /character set \(client\) is latin1.*charset "utf8mb4"/,
  });
  await pool.end();
});

mysqlTest(
  "a connection that was given back in the middle of a transaction is noticed",
  async ({ url }) => {
    const pool = mysql.createPool({ uri: url, connectionLimit: 1 });
    const store = mysqlStore(pool);
    await store.migrate();
    const forgotten = await pool.getConnection();
    await forgotten.query("START TRANSACTION");
    await forgotten.query("SELECT * FROM pawl_workflows");
    forgotten.release();
    await assert.rejects(start(store), {
      name: "StoreError",
      message: /end each transaction before/,
    });
    // It was rolled back, so that the next one finds it in order.
    assert.equal((await start(store)).workflow.state, "ready");
    await pool.end();
  },
);

storeTest(
  "a pool that is used up is waited for, and then complained about",
  async ({ store, url }) => {
    const small = mysqlStore(url, { maxConnections: 1, acquireTimeoutMs: 150 });
    let release = (): void => {};
    const held = new Promise<void>((resolve) => release = resolve);
    const { workflow } = await start(store);
    const holding = small.transaction(() => held);
    await assert.rejects(small.get(workflow.id), {
      name: "StoreError",
      message: /no connection became free within 150 ms/,
    });
    const patient = small.get(workflow.id);
    release();
    await holding;
    assert.equal((await patient)?.id, workflow.id);
    // Who gave up has left nothing behind that keeps the connection.
    assert.equal((await small.get(workflow.id))?.id, workflow.id);
    await small.close();
  },
);

storeTest("a pool that refuses to wait is waited for all the same", async ({ store, url }) => {
  const { workflow } = await start(store);
  for (const limits of [{ waitForConnections: false }, { queueLimit: 1 }]) {
    const pool = mysql.createPool({ uri: url, connectionLimit: 1, ...limits });
    const strict = mysqlStore(pool);
    const answers = await Promise.all(Array.from({ length: 12 }, () => strict.get(workflow.id)));
    assert.deepEqual(new Set(answers.map((one) => one?.id)), new Set([workflow.id]));
    await pool.end();
  }
});

mysqlTest("a given pool that was ended says so", async ({ url }) => {
  const pool = mysql.createPool(url);
  const store = mysqlStore(pool);
  await store.migrate();
  await pool.end();
  await assert.rejects(store.counts(), {
    name: "StoreError",
    message: /Pool is closed.*end it after the engine is closed/,
  });
});

storeTest("close() waits for what is under way, and refuses what comes after", async ({ url }) => {
  const store = mysqlStore(url);
  let isOpen = false;
  let release = (): void => {};
  const held = new Promise<void>((resolve) => release = resolve);
  const working = store.transaction(async (tx) => {
    isOpen = true;
    await held;
    return (await start(store, {}, { now: T0, tx })).workflow.id;
  });
  await until("the transaction is open", () => isOpen);
  const closing = store.close();
  await assert.rejects(store.counts(), { name: "StoreError", message: /store is closed/ });
  release();
  const id = await working;
  await closing;
  const rows = await queryOn(url, "SELECT id FROM pawl_workflows");
  assert.deepEqual(rows.map((row) => row.id), [id]);
});

storeTest(
  "text that a column cannot hold is refused, and nothing is written",
  async ({ store, query }) => {
    const long = "x".repeat(256);
    for (const over of [{ name: long }, { heroType: long }, { heroId: long }]) {
      const attempt = store.create([newWorkflow({ heroId: "2" }), newWorkflow(over)], { now: T0 });
      await assert.rejects(attempt, {
        name: "InvalidInputError",
        message: /of 256 characters: MySQL and MariaDB hold 255; use a shorter one/,
      });
    }
    assert.deepEqual(await query("SELECT id FROM pawl_workflows"), []);
    // Characters count, not their bytes.
    const { workflow } = await start(store, { heroId: "🐢".repeat(255), name: "ż".repeat(255) });
    assert.equal((await store.get(workflow.id))?.heroId, "🐢".repeat(255));
    const sent = store.signal(workflow.id, newSignal({ idempotencyKey: long }), { now: T0 });
    await assert.rejects(sent, InvalidInputError);
  },
);

Deno.test("explained() leaves alone what is not the database's", () => {
  const bug = new TypeError("x is not a function");
  assert.equal(explained(bug, "read", "here"), bug);
  assert.equal(explained("thrown", "read", "here"), "thrown");
  assert.equal(explained(new PassedOn(bug), "read", "here"), bug);
  const refused = new InvalidInputError("no");
  assert.equal(explained(refused, "read", "here"), refused);
  const odd = Object.assign(new Error("odd"), { errno: 4711, code: "ER_ODD" });
  const error = explained(odd, "write to", "here") as StoreError;
  assert.equal(error.message, "[mysql] Cannot write to here: odd");
  assert.equal(error.cause, odd);
});
