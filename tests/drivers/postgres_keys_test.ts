import assert from "node:assert/strict";
import { createEngine, workflow } from "../../mod.ts";
import { majorityDefault } from "../../drivers/sql/key_type.ts";
import {
  after,
  claim,
  finish,
  finished,
  newExecution,
  NO_IDS,
  start,
} from "../../src/testing/store_cases/_builders.ts";
import { postgresTest, type TestDatabase } from "./_postgres.ts";

const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

async function detected(database: TestDatabase, ...tables: string[]): Promise<string> {
  for (const sql of tables) await database.query(sql);
  await using store = database.store();
  return (await store.migrate()).keyType;
}

async function idDefault(database: TestDatabase, table: string): Promise<unknown> {
  const [row] = await database.query(
    "SELECT column_default FROM information_schema.columns " +
      "WHERE table_name = $1 AND column_name = 'id'",
    [table],
  );
  return row?.column_default;
}

postgresTest("MIG-03 an empty database gets bigint keys", async (database) => {
  assert.equal(await detected(database), "bigint");
});

postgresTest("MIG-04 a majority of UUID keys of any spelling decides", async (database) => {
  assert.equal(
    await detected(
      database,
      "CREATE TABLE users (id uuid PRIMARY KEY)",
      "CREATE TABLE orders (id char(36) PRIMARY KEY)",
      "CREATE TABLE items (id varchar(36) PRIMARY KEY)",
      "CREATE TABLE notes (id bigserial PRIMARY KEY)",
    ),
    "uuid",
  );
  const types = await database.query(
    "SELECT table_name || '.' || column_name AS name, data_type FROM information_schema.columns " +
      "WHERE table_name IN ('pawl_workflows', 'pawl_step_executions') " +
      "AND column_name IN ('id', 'workflow_id', 'continues_from_id')",
  );
  assert.equal(types.length, 4);
  for (const { name, data_type } of types) assert.equal(data_type, "uuid", String(name));
});

postgresTest("MIG-05 a tie is for bigint", async (database) => {
  assert.equal(
    await detected(
      database,
      "CREATE TABLE users (id uuid PRIMARY KEY)",
      "CREATE TABLE notes (id bigserial PRIMARY KEY)",
    ),
    "bigint",
  );
});

postgresTest(
  "MIG-06 tables of frameworks, and keys of two columns, have no vote",
  async (database) => {
    assert.equal(
      await detected(
        database,
        "CREATE TABLE users (id uuid PRIMARY KEY)",
        "CREATE TABLE schema_migrations (version varchar(255) PRIMARY KEY)",
        "CREATE TABLE _prisma_migrations (id bigserial PRIMARY KEY)",
        "CREATE TABLE memberships (a bigint, b bigint, PRIMARY KEY (a, b))",
      ),
      "uuid",
    );
  },
);

postgresTest("MIG-06 tables of other schemas vote too, partitions do not", async (database) => {
  assert.equal(
    await detected(
      database,
      "CREATE SCHEMA shop",
      "CREATE TABLE shop.users (id uuid PRIMARY KEY)",
      "CREATE TABLE shop.orders (id uuid PRIMARY KEY)",
      "CREATE TABLE events (id bigint PRIMARY KEY) PARTITION BY RANGE (id)",
      "CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (1) TO (10)",
      "CREATE TABLE events_2 PARTITION OF events FOR VALUES FROM (10) TO (20)",
    ),
    "uuid",
  );
});

postgresTest("MIG-07 the function that makes most UUIDs is reused", async (database) => {
  await detected(
    database,
    "CREATE FUNCTION own_uuid() RETURNS uuid LANGUAGE sql AS 'SELECT gen_random_uuid()'",
    "CREATE TABLE a (id uuid PRIMARY KEY DEFAULT own_uuid())",
    "CREATE TABLE b (id uuid PRIMARY KEY DEFAULT own_uuid())",
    "CREATE TABLE c (id uuid PRIMARY KEY DEFAULT gen_random_uuid())",
  );
  assert.equal(await idDefault(database, "pawl_workflows"), "own_uuid()");
  assert.equal(await idDefault(database, "pawl_step_executions"), "own_uuid()");
});

postgresTest("MIG-07 a tie of functions, or none, leaves no default", async (database) => {
  await detected(
    database,
    "CREATE FUNCTION own_uuid() RETURNS uuid LANGUAGE sql AS 'SELECT gen_random_uuid()'",
    "CREATE TABLE a (id uuid PRIMARY KEY DEFAULT own_uuid())",
    "CREATE TABLE b (id uuid PRIMARY KEY DEFAULT gen_random_uuid())",
    "CREATE TABLE c (id uuid PRIMARY KEY)",
  );
  assert.equal(await idDefault(database, "pawl_workflows"), null);
});

Deno.test("MIG-07 only a plain call counts as a function", () => {
  const keys = (...defaults: (string | null)[]): { [key: string]: unknown }[] =>
    defaults.map((key_default, at) => ({ table_name: `t${at}`, key_type: "uuid", key_default }));
  assert.equal(majorityDefault(keys("gen_random_uuid()", null), []), "gen_random_uuid()");
  assert.equal(majorityDefault(keys('ext."uuid v7"()', "(f())", "f()"), []), "f()");
  assert.equal(majorityDefault(keys("f('x'); DROP TABLE t", "f(1)", "'a'::uuid"), []), null);
  assert.equal(majorityDefault(keys(null), []), null);
  assert.equal(majorityDefault([], []), null);
  assert.equal(majorityDefault(keys("f()", "f()"), ["t0", "t1"]), null);
});

postgresTest("MIG-04 MIG-17 with UUID keys everything goes from start to end", async (database) => {
  await using store = database.store();
  assert.equal((await store.migrate({ keyType: "uuid" })).keyType, "uuid");
  const { workflow: row, execution } = await start(store);
  assert.match(row.id, UUID7);
  assert.match(execution.id, UUID7);
  const claimed = await claim(store, execution.id);
  const done = await finish(
    store,
    finished(claimed, { nextStepName: "second", next: newExecution({ stepName: "second" }) }),
    { now: after(10) },
  );
  assert.match(done.next?.id ?? "", UUID7);
  assert.ok((done.next?.id ?? "") > execution.id, "ids grow with time");
  assert.equal((await store.get(row.id.toUpperCase()))?.id, row.id);
  for (const id of NO_IDS) {
    assert.equal(await store.get(id), null);
    assert.deepEqual(
      await store.claim([id], {
        now: after(0),
        token: "t",
        leaseMs: 1,
        worker: "w",
      }),
      [{ kind: "missing" }],
    );
  }
});

postgresTest("MIG-04 an engine on UUID keys runs a workflow", async (database) => {
  const ran: string[] = [];
  const greeting = workflow({
    name: "greeting",
    steps: ["hello", "again"].map((name) => ({ name, run: () => void ran.push(name) })),
  });
  await using store = database.store();
  await using engine = createEngine({ store, workflows: [greeting], pollMs: 10 });
  await engine.migrate({ keyType: "uuid" });
  const ended = new Promise<void>((resolve) => {
    engine.events.on("finalize", ({ workflowState }) => workflowState === "finished" && resolve());
  });
  const run = await engine.start(greeting);
  assert.match(run.id, UUID7);
  await using _worker = engine.work();
  await ended;
  assert.deepEqual(ran, ["hello", "again"]);
});

postgresTest(
  "the type of the keys of a schema that is there cannot be changed",
  async (database) => {
    await using store = database.store();
    await store.migrate({ keyType: "uuid" });
    assert.equal((await store.migrate()).keyType, "uuid");
    await assert.rejects(
      store.migrate({ keyType: "bigint" }),
      /the tables have keys of type "uuid"/,
    );
    await assert.rejects(
      store.migrate({ keyType: "text" as "uuid" }),
      /use "auto", "bigint" or "uuid"/,
    );
  },
);
