import assert from "node:assert/strict";
import { postgresClient } from "../../drivers/postgres/client.ts";
import { postgresDialect } from "../../drivers/postgres/dialect.ts";
import { MIGRATIONS } from "../../drivers/postgres/migrations.gen.ts";
import { postgresStore } from "../../drivers/postgres/mod.ts";
import { connectionsOf } from "../../drivers/postgres/pool.ts";
import type { Migration } from "../../drivers/sql/migrate.ts";
import { sqlStore } from "../../drivers/sql/store.ts";
import { InvalidInputError, MigrationError, type StoreDriver, StoreError } from "../../mod.ts";
import { start } from "../../src/testing/store_cases/_builders.ts";
import { disposable, dumped, postgresTest, tablesIn, type TestDatabase } from "./_postgres.ts";

const NAMES = MIGRATIONS.map((one) => one.name);

/** A store of a version that has other migrations. */
function versionWith(
  { url }: TestDatabase,
  migrations: readonly Migration[],
): StoreDriver & AsyncDisposable {
  const connections = connectionsOf(url, { maxConnections: 2, silenceMs: 10_000 });
  const client = postgresClient(connections, { preparedStatements: true });
  return disposable(sqlStore(client, postgresDialect({ notify: false }), { migrations }));
}

const LATER: Migration = {
  name: "0099_later",
  checksum: "aa",
  breaking: false,
  sql: "-- Only a comment;\n\nALTER TABLE {{schema}}{{prefix}}workflows ADD COLUMN later text;\n",
};

async function columnTypes(database: TestDatabase, table: string): Promise<Map<string, string>> {
  const rows = await database.query(
    "SELECT column_name, data_type || CASE is_nullable WHEN 'NO' THEN ' not null' ELSE '' END AS type " +
      "FROM information_schema.columns WHERE table_name = $1",
    [table],
  );
  return new Map(rows.map((row) => [String(row.column_name), String(row.type)]));
}

postgresTest(
  "MIG-01 MIG-12 MIG-14 MIG-19 a fresh install has the tables with their columns",
  async (database) => {
    await using store = database.store();
    const report = await store.migrate();
    assert.deepEqual(report.applied, NAMES);
    assert.equal(report.keyType, "bigint");
    const workflows = await columnTypes(database, "pawl_workflows");
    const executions = await columnTypes(database, "pawl_step_executions");
    for (const column of ["input", "metadata", "job_options"]) {
      assert.equal(workflows.get(column), "jsonb", column);
    }
    assert.equal(executions.get("cursor_value"), "jsonb");
    assert.equal(executions.get("metadata"), "jsonb");
    assert.equal(workflows.get("hero_type"), "text");
    assert.equal(workflows.get("hero_id"), "text");
    assert.equal(executions.get("wake_at"), "timestamp with time zone");
    assert.equal(executions.get("scheduled_for"), "timestamp with time zone not null");
  },
);

postgresTest("MIG-01 the schema is the one that is written down", async (database) => {
  await using store = database.store();
  await store.migrate({ keyType: "bigint" });
  const pinned = await Deno.readTextFile(new URL("./postgres_schema.sql", import.meta.url));
  assert.equal(await dumped(database), pinned);
});

postgresTest(
  "MIG-08 MIG-10 the uniqueness rules hold for whoever writes to the tables",
  async (database) => {
    await using store = database.store();
    await store.migrate();
    const workflow = (state: string, multiple: boolean): Promise<unknown> =>
      database.query(
        "INSERT INTO pawl_workflows (name, hero_type, hero_id, state, allow_multiple, created_at, " +
          "updated_at) VALUES ('n', 'User', '1', $1, $2, now(), now())",
        [state, multiple],
      );
    await workflow("paused", false);
    await assert.rejects(workflow("ready", false), { code: "23505" });
    await workflow("ready", true);
    await workflow("finished", false);
    const execution = (seq: number, state: string): Promise<unknown> =>
      database.query(
        "INSERT INTO pawl_step_executions (workflow_id, seq, step_name, state, attempt, failures, " +
          "scheduled_for, queue, priority, created_at) SELECT min(id), $1, 's', $2, 1, 0, now(), " +
          "'default', 0, now() FROM pawl_workflows",
        [seq, state],
      );
    await execution(1, "completed");
    await execution(2, "in_progress");
    await assert.rejects(execution(3, "scheduled"), { code: "23505" });
    await assert.rejects(execution(4, "nonsense"), { code: "23514" });
  },
);

postgresTest(
  "MIG-11 MIG-13 AUD-19 a deleted workflow takes its rows along, a deleted predecessor leaves null",
  async (database) => {
    await using store = database.store();
    await store.migrate();
    const { workflow, execution } = await start(store);
    await database.query(
      "INSERT INTO pawl_step_executions (workflow_id, seq, step_name, state, attempt, failures, " +
        "continues_from_id, scheduled_for, queue, priority, created_at) " +
        "VALUES ($1, 2, 's', 'completed', 1, 0, $2, now(), 'default', 0, now())",
      [workflow.id, execution.id],
    );
    await database.query("DELETE FROM pawl_step_executions WHERE seq = 1");
    const [left] = await database.query("SELECT continues_from_id FROM pawl_step_executions");
    assert.equal(left?.continues_from_id, null);
    await database.query("DELETE FROM pawl_workflows");
    const [count] = await database.query("SELECT count(*) AS count FROM pawl_step_executions");
    assert.equal(count?.count, "0");
  },
);

postgresTest("MIG-02 migrating again applies nothing, and rows stay", async (database) => {
  await using store = database.store();
  await store.migrate();
  const { workflow } = await start(store);
  assert.deepEqual(await store.migrate(), {
    applied: [],
    present: NAMES,
    sql: "",
    keyType: "bigint",
  });
  await using newer = versionWith(database, [...MIGRATIONS, LATER]);
  assert.deepEqual((await newer.migrate()).applied, ["0099_later"]);
  assert.equal((await store.get(workflow.id))?.id, workflow.id);
});

postgresTest("MIG-02 of twenty that migrate at once one applies", async (database) => {
  const stores = Array.from({ length: 20 }, () => database.store({ maxConnections: 1 }));
  try {
    const reports = await Promise.all(stores.map((store) => store.migrate()));
    const applied = reports.filter((report) => report.applied.length > 0);
    assert.equal(applied.length, 1);
    for (const report of reports) {
      assert.deepEqual([...report.present, ...report.applied], NAMES);
    }
  } finally {
    for (const store of stores) await store.close();
  }
});

postgresTest("MIG-02 a newer schema that breaks this version is refused", async (database) => {
  await using newer = versionWith(database, [...MIGRATIONS, { ...LATER, breaking: true }]);
  await newer.migrate();
  await using store = database.store();
  const refusal = /"0099_later" is newer than this version of Pawl.*update the package/s;
  for (const use of [() => store.migrate(), () => store.get("1")]) {
    await assert.rejects(use(), (error) => {
      assert.ok(error instanceof MigrationError);
      assert.match(error.message, refusal);
      return true;
    });
  }
});

postgresTest("MIG-02 a newer schema that only adds is tolerated", async (database) => {
  await using newer = versionWith(database, [...MIGRATIONS, LATER]);
  await newer.migrate();
  await using store = database.store();
  assert.deepEqual((await store.migrate()).present, [...NAMES, "0099_later"]);
  assert.equal((await start(store)).workflow.state, "ready");
});

postgresTest("MIG-18 code that is newer than the schema keeps working", async (database) => {
  await using store = database.store();
  await store.migrate();
  await using newer = versionWith(database, [...MIGRATIONS, LATER]);
  assert.equal((await start(newer)).workflow.state, "ready");
});

postgresTest("MIG-02 a migration with another text is refused", async (database) => {
  await using store = database.store();
  await store.migrate();
  await database.query("UPDATE pawl_schema SET checksum = 'other'");
  await assert.rejects(store.migrate(), /was applied with another text than this version has/);
});

postgresTest("MIG-02 a migration that fails leaves nothing of itself", async (database) => {
  const broken = { ...LATER, sql: `${LATER.sql}CREATE TABLE pawl_workflows (id text);\n` };
  await using newer = versionWith(database, [...MIGRATIONS, broken]);
  await assert.rejects(newer.migrate(), /already exists/);
  assert.deepEqual(await tablesIn(database, "public"), []);
});

postgresTest("a dry run says what it would do, and does nothing", async (database) => {
  await using store = database.store({ schema: "flows", tablePrefix: "x_" });
  const report = await store.migrate({ dryRun: true });
  assert.deepEqual(report.applied, NAMES);
  assert.match(report.sql, /CREATE TABLE IF NOT EXISTS flows\.x_workflows/);
  assert.deepEqual(await tablesIn(database, "flows"), []);
  // The text is complete: by hand it does the same.
  await database.query(report.sql);
  assert.deepEqual((await store.migrate()).present, NAMES);
});

postgresTest("a prefix and a schema keep stores apart in one database", async (database) => {
  await using plain = database.store();
  await using other = database.store({ tablePrefix: "other_", schema: "Flows" });
  await plain.migrate();
  await other.migrate();
  const { workflow } = await start(other, { heroType: "User", heroId: "1" });
  await start(plain, { heroType: "User", heroId: "1" });
  assert.equal((await other.get(workflow.id))?.heroId, "1");
  assert.equal((await plain.list({}, { limit: 10 })).length, 1);
  assert.equal((await other.list({}, { limit: 10 })).length, 1);
  assert.ok((await tablesIn(database, "flows")).every((name) => name.startsWith("other_")));
  const claims = await other.claimDue({
    now: new Date("2027-01-01"),
    token: "t",
    leaseMs: 1_000,
    worker: "w",
    limit: 5,
  });
  assert.deepEqual(claims.map((one) => one.workflow.id), [workflow.id]);
});

postgresTest("a schema that exists is used without the right to make one", async (database) => {
  const role = `pawl_role_${crypto.randomUUID().slice(0, 8)}`;
  await database.query(`CREATE ROLE ${role} LOGIN`);
  try {
    await database.query(`CREATE SCHEMA theirs AUTHORIZATION ${role}`);
    const url = new URL(database.url);
    url.username = role;
    await using theirs = disposable(postgresStore(url, { schema: "theirs" }));
    assert.deepEqual((await theirs.migrate()).applied, NAMES);
    assert.equal((await start(theirs)).workflow.state, "ready");
    await using another = disposable(postgresStore(url, { schema: "another" }));
    await assert.rejects(another.migrate(), /permission denied for database .*grant/s);
  } finally {
    await database.query(`DROP OWNED BY ${role}`);
    await database.query(`DROP ROLE ${role}`);
  }
});

postgresTest("a user with the usual grants can work, and one without is told", async (database) => {
  const role = `pawl_role_${crypto.randomUUID().slice(0, 8)}`;
  await using owner = database.store();
  await owner.migrate();
  await database.query(`CREATE ROLE ${role} LOGIN`);
  try {
    const url = new URL(database.url);
    url.username = role;
    await using store = disposable(postgresStore(url));
    await assert.rejects(start(store), (error) => {
      assert.ok(error instanceof StoreError);
      assert.match(error.message, /^\[postgres\] Cannot .*permission denied for table .*; .*grant/);
      return true;
    });
    await database.query(
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`,
    );
    await database.query(`GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ${role}`);
    assert.equal((await start(store)).workflow.state, "ready");
  } finally {
    await database.query(`DROP OWNED BY ${role}`);
    await database.query(`DROP ROLE ${role}`);
  }
});

postgresTest("names that need quoting are refused", (database) => {
  for (const name of ["", "a-b", "1a", "a.b", 'a"b', "x".repeat(31), "ä"]) {
    assert.throws(() => database.store({ tablePrefix: name }), InvalidInputError, name);
    assert.throws(() => database.store({ schema: name }), InvalidInputError, name);
  }
  return Promise.resolve();
});
