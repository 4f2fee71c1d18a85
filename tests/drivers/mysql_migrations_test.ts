import assert from "node:assert/strict";
import mysql, { type Connection } from "mysql2/promise";
import { type Migration, statementsOf } from "../../drivers/sql/migrate.ts";
import { sqlStore } from "../../drivers/sql/store.ts";
import { mysqlClient } from "../../drivers/mysql/client.ts";
import { mysqlDialect } from "../../drivers/mysql/dialect.ts";
import { MIGRATIONS } from "../../drivers/mysql/migrations.gen.ts";
import { mysqlStore } from "../../drivers/mysql/mod.ts";
import { InvalidInputError, MigrationError } from "../../src/errors.ts";
import type { StoreDriver } from "../../src/seams/store.ts";
import { newSignal, send, start } from "../../src/testing/store_cases/_builders.ts";
import { freshMysql, mysqlServer } from "../_servers.ts";
import { mysqlTest, queryOn, storeTest } from "./_mysql.ts";

const NAMES = MIGRATIONS.map((one) => one.name);
const TABLES = [
  ...["pawl_duties", "pawl_schema", "pawl_signals", "pawl_step_executions", "pawl_workflows"],
];
const IS_MARIADB = (await mysqlServer())?.version.startsWith("MariaDB") ?? false;

const LATER: Migration = {
  name: "0099_later",
  checksum: "aa",
  breaking: false,
  sql: "-- Only a comment;\n\nALTER TABLE {{prefix}}workflows ADD COLUMN later TEXT;\n",
};

/** Runs some work with the store of a version that has other migrations. */
async function withVersion<T>(
  url: string,
  migrations: readonly Migration[],
  work: (store: StoreDriver<Connection>) => Promise<T>,
): Promise<T> {
  const client = mysqlClient(url, {
    maxConnections: 2,
    acquireTimeoutMs: 10_000,
    silenceMs: 10_000,
  });
  try {
    return await work(sqlStore(client, mysqlDialect, { migrations }));
  } finally {
    await client.close();
  }
}

async function tablesIn(url: string): Promise<string[]> {
  const rows = await queryOn(
    url,
    "SELECT table_name AS name FROM information_schema.tables " +
      "WHERE table_schema = DATABASE() ORDER BY table_name",
  );
  return rows.map((row) => String(row.name));
}

async function columnsOf(
  url: string,
  table: string,
): Promise<Map<string, { type: string; nullable: string; fallback: unknown }>> {
  const rows = await queryOn(
    url,
    "SELECT column_name AS name, column_type AS type, is_nullable AS nullable, " +
      "column_default AS fallback FROM information_schema.columns " +
      "WHERE table_schema = DATABASE() AND table_name = ?",
    [table],
  );
  return new Map(rows.map(({ name, type, nullable, fallback }) => [String(name), {
    type: String(type),
    nullable: String(nullable),
    fallback: fallback === "NULL" ? null : fallback,
  }]));
}

storeTest(
  "MIG-01 MIG-12 MIG-14 MIG-19 a fresh install has the tables with their columns",
  async ({ url }) => {
    assert.deepEqual(await tablesIn(url), TABLES);
    const workflows = await columnsOf(url, "pawl_workflows");
    const executions = await columnsOf(url, "pawl_step_executions");
    for (const column of ["hero_type", "hero_id"]) {
      const found = workflows.get(column);
      assert.deepEqual(found, { type: "varchar(255)", nullable: "YES", fallback: null }, column);
    }
    for (const column of ["cursor_value", "metadata", "error_stack"]) {
      const found = executions.get(column);
      assert.deepEqual(found, { type: "longtext", nullable: "YES", fallback: null }, column);
    }
    for (const column of ["step_name", "scheduled_for", "seq", "state"]) {
      assert.equal(executions.get(column)?.nullable, "NO", column);
    }
    assert.equal(executions.get("wake_at")?.type, "datetime(3)");
    assert.equal(executions.get("id")?.type.startsWith("bigint"), true);
  },
);

storeTest(
  "MIG-09 MIG-10 the uniqueness rules are stored columns with unique indexes",
  async ({ store, query }) => {
    const { workflow, execution } = await start(store);
    const copy = "INSERT INTO pawl_workflows (name, hero_type, hero_id, state, allow_multiple, " +
      "created_at, updated_at) SELECT name, hero_type, hero_id, ?, ?, created_at, updated_at " +
      "FROM pawl_workflows WHERE id = ?";
    for (const state of ["ready", "performing", "paused"]) {
      const refused = query(copy, [state, 0, workflow.id]);
      await assert.rejects(refused, { errno: 1062, message: /ongoing/ }, state);
      await query(copy, [state, 1, workflow.id]);
    }
    for (const state of ["finished", "canceled"]) await query(copy, [state, 0, workflow.id]);
    const second =
      "INSERT INTO pawl_step_executions (workflow_id, seq, step_name, state, attempt, " +
      "failures, scheduled_for, queue, priority, created_at) SELECT workflow_id, ?, step_name, ?, " +
      "attempt, failures, scheduled_for, queue, priority, created_at FROM pawl_step_executions " +
      "WHERE id = ?";
    for (const state of ["scheduled", "in_progress"]) {
      const refused = query(second, [2, state, execution.id]);
      await assert.rejects(refused, { errno: 1062, message: /active/ }, state);
    }
    const ended = ["completed", "failed", "canceled", "skipped"];
    for (const [at, state] of ended.entries()) await query(second, [at + 2, state, execution.id]);
  },
);

storeTest(
  "MIG-11 MIG-13 AUD-19 a deleted workflow takes its rows along, a deleted predecessor leaves null",
  async ({ store, query }) => {
    const { workflow, execution } = await start(store);
    await query(
      "INSERT INTO pawl_step_executions (workflow_id, seq, step_name, state, attempt, failures, " +
        "continues_from_id, scheduled_for, queue, priority, created_at) " +
        "VALUES (?, 2, 'first', 'completed', 1, 0, ?, '2026-01-01', 'default', 0, '2026-01-01')",
      [workflow.id, execution.id],
    );
    await query("DELETE FROM pawl_step_executions WHERE seq = 1");
    const left = await query("SELECT continues_from_id FROM pawl_step_executions");
    assert.deepEqual(left.map((row) => row.continues_from_id), [null]);
    await send(store, workflow.id, newSignal());
    await query("DELETE FROM pawl_workflows");
    for (const table of ["step_executions", "signals"]) {
      assert.deepEqual(await query(`SELECT id FROM pawl_${table}`), [], table);
    }
  },
);

storeTest("MIG-02 migrating again applies nothing and says what is there", async ({ store }) => {
  const again = await store.migrate();
  assert.deepEqual(again, { applied: [], present: NAMES, sql: "", keyType: "bigint" });
});

storeTest("MIG-02 only what is missing is added, and rows stay", async ({ store, url }) => {
  const { workflow } = await start(store);
  const report = await withVersion(url, [...MIGRATIONS, LATER], (newer) => newer.migrate());
  assert.deepEqual(report.applied, ["0099_later"]);
  assert.deepEqual(report.present, NAMES);
  assert.ok((await columnsOf(url, "pawl_workflows")).has("later"));
  assert.equal((await store.get(workflow.id))?.id, workflow.id);
});

storeTest(
  "MIG-02 a schema whose notes were lost is migrated again without losing rows",
  async ({ store, query }) => {
    await start(store);
    await query("DROP TABLE pawl_schema");
    assert.deepEqual((await store.migrate()).applied, NAMES);
    assert.equal((await query("SELECT id FROM pawl_step_executions")).length, 1);
  },
);

mysqlTest(
  "MIG-02 a migration that broke off after some of its statements is completed",
  async ({ url }) => {
    const store = mysqlStore(url);
    const { sql } = await store.migrate({ dryRun: true });
    // DDL commits by itself: whoever is killed in between leaves these behind.
    for (const statement of statementsOf(sql).slice(0, 3)) await queryOn(url, statement);
    assert.deepEqual((await store.migrate()).applied, NAMES);
    assert.deepEqual(await tablesIn(url), TABLES);
    assert.equal((await start(store)).workflow.state, "ready");
    await store.close();
  },
);

storeTest(
  "MIG-18 code that is newer than the schema keeps working before it is migrated",
  ({ url }) =>
    withVersion(url, [...MIGRATIONS, LATER], async (newer) => {
      assert.equal((await start(newer)).workflow.state, "ready");
    }),
);

storeTest("MIG-02 a newer schema that only adds is tolerated", async ({ store, url }) => {
  await withVersion(url, [...MIGRATIONS, LATER], (newer) => newer.migrate());
  assert.deepEqual((await store.migrate()).present, [...NAMES, "0099_later"]);
  assert.equal((await start(store)).workflow.state, "ready");
});

storeTest(
  "MIG-02 a newer schema that breaks this version is refused, with what to do",
  async ({ store, url }) => {
    await withVersion(
      url,
      [...MIGRATIONS, { ...LATER, breaking: true }],
      (newer) => newer.migrate(),
    );
    const refusal = { name: "MigrationError", code: "migration", message: /0099_later.*update/s };
    await assert.rejects(store.migrate(), refusal);
    const fresh = mysqlStore(url);
    await assert.rejects(fresh.list({}, { limit: 1 }), refusal);
    await fresh.close();
  },
);

storeTest(
  "MIG-02 a migration that was applied with another text is refused",
  async ({ store, query }) => {
    await query("UPDATE pawl_schema SET checksum = 'edited'");
    await assert.rejects(store.migrate(), { name: "MigrationError", message: /another text/ });
  },
);

storeTest(
  "MIG-02 a migration that fails is not noted, and lets the next one in",
  async ({ url, query }) => {
    const broken = { ...LATER, sql: "CREATE TABLE nonsense (;\n" };
    await withVersion(url, [...MIGRATIONS, broken], async (newer) => {
      const refusal = { name: "StoreError", message: /\[mysql\] Cannot write to .*SQL syntax/ };
      await assert.rejects(newer.migrate(), refusal);
      await assert.rejects(newer.migrate(), refusal);
    });
    const noted = await query("SELECT name FROM pawl_schema");
    assert.deepEqual(noted.map((row) => row.name), NAMES);
  },
);

mysqlTest("MIG-01 a dry run says what it would do and does nothing", async ({ url }) => {
  const store = mysqlStore(url);
  const report = await store.migrate({ dryRun: true });
  assert.deepEqual(report.applied, NAMES);
  assert.match(report.sql, /CREATE TABLE IF NOT EXISTS pawl_workflows/);
  assert.equal(report.sql.includes("{{"), false);
  assert.deepEqual(await tablesIn(url), []);
  await assert.rejects(store.counts(), MigrationError);
  // What it prints is complete: run by hand it installs the schema.
  for (const statement of statementsOf(report.sql)) await queryOn(url, statement);
  const again = await store.migrate();
  assert.deepEqual([again.applied, again.present], [[], NAMES]);
  assert.equal((await start(store)).workflow.state, "ready");
  await store.close();
});

storeTest(
  "MIG-01 a table prefix keeps two installs apart in one database",
  async ({ store, url, query }) => {
    const other = mysqlStore(url, { tablePrefix: "billing2_" });
    await other.migrate({ keyType: "uuid" });
    const { workflow } = await start(other);
    assert.match(workflow.id, /^[0-9a-f]{8}-/);
    assert.equal((await query("SELECT id FROM billing2_workflows")).length, 1);
    assert.deepEqual(await store.list({}, { limit: 10 }), []);
    const strangers = (await tablesIn(url)).filter((name) => !/^(pawl_|billing2_)/.test(name));
    assert.deepEqual(strangers, []);
    await other.close();
  },
);

Deno.test("MIG-01 a prefix that would need quoting is refused", () => {
  const bad = ["", "1st_", "a-b", "x`; DROP TABLE users; --", "é_", "a".repeat(31), "a.b"];
  for (const tablePrefix of bad) {
    const make = (): unknown => mysqlStore("mysql://localhost/app", { tablePrefix });
    assert.throws(make, InvalidInputError, tablePrefix);
  }
});

mysqlTest(
  "MIG-02 of twenty that migrate one new database at once exactly one applies",
  async ({ url }) => {
    const stores = Array.from({ length: 20 }, () => mysqlStore(url));
    const reports = await Promise.all(stores.map((store) => store.migrate()));
    await Promise.all(stores.map((store) => store.close()));
    assert.equal(reports.filter((report) => report.applied.length > 0).length, 1);
    const applied = await queryOn(url, "SELECT name FROM pawl_schema");
    assert.deepEqual(applied.map((row) => row.name), NAMES);
  },
);

mysqlTest(
  "MIG-02 migrations of two databases of one server do not wait for each other",
  async ({ url }) => {
    const name = "CONCAT('pawl_', SHA1(CONCAT('somewhere_else', '.', 'pawl_schema')))";
    const other = await mysql.createConnection(url);
    const [rows] = await other.query(`SELECT GET_LOCK(${name}, 0) AS got`);
    assert.equal((rows as { got: number }[])[0]?.got, 1);
    const store = mysqlStore(url);
    assert.deepEqual((await store.migrate()).applied, NAMES);
    await store.close();
    await other.end();
  },
);

/** The schema as the server has it, which is not always as it was told. */
async function dumped(url: string): Promise<string> {
  const texts: string[] = [];
  for (const table of TABLES) {
    const [row] = await queryOn(url, `SHOW CREATE TABLE ${table}`);
    texts.push(`${row?.["Create Table"]};\n`.replace(/ AUTO_INCREMENT=\d+/, ""));
  }
  return texts.join("\n");
}

Deno.test({
  name: "MIG-01 the installed schema is the one that is written down",
  // MySQL writes the same tables down in other words.
  ignore: !IS_MARIADB,
  async fn() {
    await using database = await freshMysql();
    const store = mysqlStore(database.url);
    await store.migrate();
    await store.close();
    const pinned = await Deno.readTextFile(new URL("./mysql_schema.sql", import.meta.url));
    assert.equal(await dumped(database.url), pinned);
  },
});
