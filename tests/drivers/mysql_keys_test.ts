import assert from "node:assert/strict";
import mysql from "mysql2/promise";
import { mysqlStore } from "../../drivers/mysql/mod.ts";
import {
  claim,
  claimOptions,
  dueOptions,
  expectKind,
  finish,
  finished,
  newExecution,
  newSignal,
  newWorkflows,
  send,
  start,
  T0,
} from "../../src/testing/store_cases/_builders.ts";
import { freshMysql } from "../_servers.ts";
import { mysqlTest, queryOn, storeTest } from "./_mysql.ts";

const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** What `migrate` chooses in a database with these tables, and what makes its keys. */
async function chosenFor(...ddl: string[]): Promise<{ keyType: string; makesKeys: string | null }> {
  await using database = await freshMysql();
  for (const statement of ddl) await queryOn(database.url, statement);
  const store = mysqlStore(database.url);
  const { keyType } = await store.migrate();
  await store.close();
  const [row] = await queryOn(
    database.url,
    "SELECT column_default AS made FROM information_schema.columns WHERE table_schema = DATABASE() " +
      "AND table_name = 'pawl_workflows' AND column_name = 'id'",
  );
  return { keyType, makesKeys: row?.made as string | null };
}

mysqlTest("MIG-03 an empty schema gets bigint keys", async () => {
  assert.equal((await chosenFor()).keyType, "bigint");
});

mysqlTest("MIG-04 a majority of UUID keys, however declared, gets UUID keys", async () => {
  for (const type of ["char(36)", "CHAR (36)", "varchar(36)"]) {
    const { keyType } = await chosenFor(`CREATE TABLE users (id ${type} PRIMARY KEY)`);
    assert.equal(keyType, "uuid", type);
  }
  const mixed = [
    "CREATE TABLE users (id varchar(36) PRIMARY KEY)",
    "CREATE TABLE orders (id char(36) PRIMARY KEY)",
    "CREATE TABLE counters (id INTEGER PRIMARY KEY)",
  ];
  assert.equal((await chosenFor(...mixed)).keyType, "uuid");
});

mysqlTest(
  "MIG-04 keys of other types, and keys of several columns, do not make it UUID",
  async () => {
    for (const type of ["int", "bigint unsigned", "varchar(255)", "char(32)", "binary(16)"]) {
      const { keyType } = await chosenFor(`CREATE TABLE users (id ${type} PRIMARY KEY)`);
      assert.equal(keyType, "bigint", type);
    }
    const joined = "CREATE TABLE members (user_id char(36), team_id char(36), " +
      "PRIMARY KEY (user_id, team_id))";
    assert.equal((await chosenFor(joined)).keyType, "bigint");
  },
);

mysqlTest("MIG-05 a tie gets bigint keys", async () => {
  const tie = [
    "CREATE TABLE users (id char(36) PRIMARY KEY)",
    "CREATE TABLE orders (id INTEGER PRIMARY KEY)",
  ];
  assert.equal((await chosenFor(...tie)).keyType, "bigint");
});

mysqlTest(
  "MIG-06 tables of frameworks, of other databases, and the own ones have no vote",
  async ({ url }) => {
    await queryOn(url, "CREATE TABLE numbers (id INT PRIMARY KEY)");
    const frameworks = [
      "schema_migrations",
      "_prisma_migrations",
      "SequelizeMeta",
      "knex_migrations",
    ];
    const ddl = frameworks.map((name) => `CREATE TABLE ${name} (id INTEGER PRIMARY KEY)`);
    const users = "CREATE TABLE users (id char(36) PRIMARY KEY)";
    assert.equal((await chosenFor(...ddl, users)).keyType, "uuid");
  },
);

mysqlTest("MIG-07 the function that makes most UUIDs of the application is used too", async () => {
  const made = (table: string, by: string): string =>
    `CREATE TABLE ${table} (id char(36) NOT NULL${by} PRIMARY KEY)`;
  const both = await chosenFor(
    made("users", " DEFAULT (uuid())"),
    made("orders", " DEFAULT (uuid())"),
  );
  assert.deepEqual(both, { keyType: "uuid", makesKeys: "uuid()" });
  const none = await chosenFor(made("users", ""), made("orders", ""));
  assert.equal(none.makesKeys, null);
});

storeTest(
  "MIG-04 the key type can be chosen, is kept, and cannot be changed later",
  async ({ store, url }) => {
    assert.equal((await store.migrate()).keyType, "uuid");
    await assert.rejects(store.migrate({ keyType: "bigint" }), {
      name: "MigrationError",
      message: /"bigint".*"uuid"/,
    });
    // A store that was told nothing finds it again.
    const { workflow } = await start(store);
    const other = mysqlStore(url);
    assert.equal((await other.get(workflow.id))?.id, workflow.id);
    assert.match((await start(other, { heroId: "2" })).workflow.id, UUID_7);
    await other.close();
  },
  { keyType: "uuid" },
);

storeTest(
  "MIG-04 MIG-17 UUID keys work from end to end, one by one and in batches",
  async ({ store }) => {
    const created = await store.create([...newWorkflows(5), ...newWorkflows(1)], { now: T0 });
    const first = created.slice(0, 5).map((one) => expectKind(one, "created"));
    for (const { workflow, execution } of first) {
      assert.match(workflow.id, UUID_7);
      assert.match(execution?.id ?? "", UUID_7);
    }
    const duplicate = expectKind(created[5], "duplicate");
    assert.equal(duplicate.existingId, first[0]?.workflow.id);
    await send(store, first[0]?.workflow.id as string, newSignal());
    const claims = await store.claimDue(dueOptions());
    assert.equal(claims.length, 5);
    const next = newExecution({
      stepName: "second",
      continuesFromId: claims[0]?.execution.id ?? null,
    });
    const results = await store.finish(
      claims.map((one) => finished(one, { next, nextStepName: "second", workflowState: "ready" })),
      { now: T0 },
    );
    for (const result of results) assert.match(expectKind(result, "done").next?.id ?? "", UUID_7);
    const upper = (first[0]?.workflow.id as string).toUpperCase();
    assert.equal((await store.get(upper))?.id, first[0]?.workflow.id);
    assert.equal(await store.get("1"), null);
  },
  { keyType: "uuid" },
);

storeTest("keys beyond 2^53 are exact, one by one and in batches", async ({ store, query }) => {
  for (const table of ["workflows", "step_executions", "signals"]) {
    await query(`ALTER TABLE pawl_${table} AUTO_INCREMENT = 9007199254740993`);
  }
  const { workflow, execution } = await start(store, { heroId: "big" });
  assert.equal(workflow.id, "9007199254740993");
  assert.equal(execution.id, "9007199254740993");
  const created = await store.create(newWorkflows(3), { now: T0 });
  const ids = created.map((one) => expectKind(one, "created").execution?.id as string);
  assert.deepEqual(ids, ["9007199254740994", "9007199254740995", "9007199254740996"]);
  const claims = await store.claim([execution.id, ...ids], claimOptions());
  assert.deepEqual(claims.map((one) => expectKind(one, "claimed").execution.id), [
    execution.id,
    ...ids,
  ]);
  const signal = await send(store, workflow.id, newSignal());
  assert.equal(signal.signal.id, "9007199254740993");
  const [result] = await store.finish([finished(expectKind(claims[1], "claimed"))], { now: T0 });
  assert.equal(expectKind(result, "done").execution.id, "9007199254740994");
});

storeTest(
  "keys of a batch are right whatever steps the server counts in",
  async ({ store, url }) => {
    // A cluster of writers counts in steps; such a session does so too.
    const pool = mysql.createPool({ uri: url, connectionLimit: 3 });
    pool.pool.on("connection", (connection) => {
      connection.query(
        "SET SESSION auto_increment_increment = 7, auto_increment_offset = 3",
        () => {},
      );
    });
    const stepping = mysqlStore(pool);
    const batches = await Promise.all(
      [0, 1, 2].map((at) =>
        (at === 1 ? store : stepping).create(
          newWorkflows(40).map((one, index) => ({ ...one, heroId: `${at}-${index}` })),
          { now: T0 },
        )
      ),
    );
    for (const [at, batch] of batches.entries()) {
      for (const [index, one] of batch.entries()) {
        const { workflow, execution } = expectKind(one, "created");
        const stored = await store.get(workflow.id);
        assert.equal(stored?.heroId, `${at}-${index}`);
        assert.equal((await store.getExecution(execution?.id as string))?.workflowId, workflow.id);
      }
    }
    await pool.end();
  },
);

storeTest(
  "a batch of finishes gets the keys of what it inserted, each its own",
  async ({ store }) => {
    await store.create(newWorkflows(300), { now: T0 });
    const claims = await store.claimDue(dueOptions({ limit: 300 }));
    assert.equal(claims.length, 300);
    const results = await store.finish(
      claims.map((one, at) =>
        finished(one, {
          next: newExecution({ stepName: `step ${at}` }),
          nextStepName: `step ${at}`,
          workflowState: "ready",
        })
      ),
      { now: T0 },
    );
    for (const [at, result] of results.entries()) {
      const { next, workflow } = expectKind(result, "done");
      const row = await store.getExecution(next?.id as string);
      assert.deepEqual([row?.workflowId, row?.stepName], [workflow.id, `step ${at}`]);
      assert.equal((await store.get(workflow.id))?.nextStepName, `step ${at}`);
    }
  },
);

storeTest(
  "claim() and finish() of one row take the short way to the same end",
  async ({ store }) => {
    const { execution } = await start(store);
    const claimed = await claim(store, execution.id);
    const { next } = await finish(
      store,
      finished(claimed, { next: newExecution({ stepName: "second" }), workflowState: "ready" }),
    );
    assert.deepEqual([next?.seq, next?.stepName, next?.state], [2, "second", "scheduled"]);
  },
);
