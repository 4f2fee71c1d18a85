import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { isUuidType, majorityKeyType } from "../../drivers/sql/key_type.ts";
import { type Migration, statementsOf } from "../../drivers/sql/migrate.ts";
import { sqlStore } from "../../drivers/sql/store.ts";
import { sqliteClient } from "../../drivers/sqlite/client.ts";
import { sqliteDialect } from "../../drivers/sqlite/dialect.ts";
import { MIGRATIONS } from "../../drivers/sqlite/migrations.gen.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { InvalidInputError, MigrationError } from "../../src/errors.ts";
import type { StoreDriver } from "../../src/seams/store.ts";
import { NOW, rowCount, start, withFile, withMemory, withStore } from "./_sqlite.ts";

const NAMES = MIGRATIONS.map((one) => one.name);

/** A store of a version that has other migrations. */
function versionWith(
  db: DatabaseSync,
  migrations: readonly Migration[],
): StoreDriver<DatabaseSync> {
  const client = sqliteClient(db, { busyTimeoutMs: 1_000, synchronous: "normal" });
  return sqlStore(client, sqliteDialect, { migrations });
}

const LATER: Migration = {
  name: "0099_later",
  checksum: "aa",
  breaking: false,
  sql: "-- Only a comment;\n\nALTER TABLE {{prefix}}workflows ADD COLUMN later TEXT;\n",
};

function columnsOf(
  db: DatabaseSync,
  table: string,
): Map<string, { type: string; notnull: number }> {
  const rows = db.prepare(`PRAGMA table_info(${table})`).all();
  return new Map(
    rows.map((row) => [String(row.name), { type: String(row.type), notnull: Number(row.notnull) }]),
  );
}

function indexSql(db: DatabaseSync, name: string): string {
  const row = db.prepare("SELECT sql FROM sqlite_master WHERE name = ?").get(name);
  return String(row?.sql).replaceAll(/\s+/g, " ");
}

Deno.test("MIG-01 MIG-12 MIG-14 MIG-19 a fresh install has the tables with their columns", () =>
  withMemory((_, db) => {
    const workflows = columnsOf(db, "pawl_workflows");
    const executions = columnsOf(db, "pawl_step_executions");
    for (const column of ["hero_type", "hero_id", "input", "metadata", "job_options"]) {
      assert.deepEqual(workflows.get(column), { type: "TEXT", notnull: 0 }, column);
    }
    for (const column of ["cursor_value", "metadata", "error_stack", "outcome", "cause"]) {
      assert.deepEqual(executions.get(column), { type: "TEXT", notnull: 0 }, column);
    }
    for (const column of ["step_name", "scheduled_for", "seq", "state"]) {
      assert.equal(executions.get(column)?.notnull, 1, column);
    }
    assert.equal(executions.get("wake_at")?.type, "INTEGER");
    assert.ok(columnsOf(db, "pawl_signals").has("idempotency_key"));
    assert.equal(rowCount(db, "pawl_schema"), MIGRATIONS.length);
    return Promise.resolve();
  }));

Deno.test("MIG-08 MIG-10 the uniqueness rules are partial unique indexes", () =>
  withMemory((_, db) => {
    assert.match(
      indexSql(db, "pawl_workflows_ongoing"),
      /UNIQUE .*\(name, hero_type, hero_id\) WHERE state NOT IN .* allow_multiple = 0/,
    );
    assert.match(
      indexSql(db, "pawl_step_executions_active"),
      /UNIQUE .*\(workflow_id\) WHERE state IN \('scheduled', 'in_progress'\)/,
    );
    return Promise.resolve();
  }));

Deno.test("MIG-11 MIG-13 AUD-19 a deleted workflow takes its rows along, a deleted predecessor leaves null", () =>
  withMemory(async (store, db) => {
    const { workflow, execution } = await start(store);
    db.prepare("UPDATE pawl_step_executions SET continues_from_id = NULL").run();
    const copy = db.prepare(
      "INSERT INTO pawl_step_executions (workflow_id, seq, step_name, state, attempt, failures, " +
        "continues_from_id, scheduled_for, queue, priority, created_at) " +
        "VALUES (?, 2, 'welcome', 'completed', 1, 0, ?, 0, 'default', 0, 0)",
    );
    copy.run(Number(workflow.id), Number(execution?.id));
    db.prepare("DELETE FROM pawl_step_executions WHERE seq = 1").run();
    const left = db.prepare("SELECT continues_from_id FROM pawl_step_executions").all();
    assert.deepEqual(left.map((row) => row.continues_from_id), [null]);
    await store.signal(workflow.id, {
      name: "approved",
      payload: null,
      idempotencyKey: null,
      graceMs: 0,
    }, { now: NOW });
    db.prepare("DELETE FROM pawl_workflows").run();
    assert.equal(rowCount(db, "pawl_step_executions"), 0);
    assert.equal(rowCount(db, "pawl_signals"), 0);
  }));

Deno.test("MIG-02 migrating again applies nothing and says what is there", () =>
  withStore(async (store) => {
    const again = await store.migrate();
    assert.deepEqual(again, { applied: [], present: NAMES, sql: "", keyType: "bigint" });
  }));

Deno.test("MIG-02 only what is missing is added, and rows stay", () =>
  withMemory(async (store, db) => {
    const { workflow } = await start(store);
    const report = await versionWith(db, [...MIGRATIONS, LATER]).migrate();
    assert.deepEqual(report.applied, ["0099_later"]);
    assert.deepEqual(report.present, NAMES);
    assert.ok(columnsOf(db, "pawl_workflows").has("later"));
    assert.equal((await store.get(workflow.id))?.id, workflow.id);
  }));

Deno.test("MIG-02 MIG-16 a schema whose notes were lost is migrated again without losing rows", () =>
  withMemory(async (store, db) => {
    await start(store);
    db.prepare("DROP TABLE pawl_schema").run();
    assert.deepEqual((await store.migrate()).applied, NAMES);
    assert.equal(rowCount(db, "pawl_workflows"), 1);
    assert.equal(rowCount(db, "pawl_step_executions"), 1);
  }));

Deno.test("MIG-18 code that is newer than the schema keeps working before it is migrated", () =>
  withMemory(async (_, db) => {
    const newer = versionWith(db, [...MIGRATIONS, LATER]);
    const { workflow } = await start(newer);
    assert.equal((await newer.get(workflow.id))?.state, "ready");
  }));

Deno.test("MIG-02 a newer schema that only adds is tolerated", () =>
  withMemory(async (store, db) => {
    await versionWith(db, [...MIGRATIONS, LATER]).migrate();
    assert.deepEqual((await store.migrate()).present, [...NAMES, "0099_later"]);
    const old = sqliteStore(db);
    assert.equal((await start(old)).workflow.state, "ready");
  }));

Deno.test("MIG-02 a newer schema that breaks this version is refused, with what to do", () =>
  withMemory(async (store, db) => {
    await versionWith(db, [...MIGRATIONS, { ...LATER, breaking: true }]).migrate();
    const refusal = { name: "MigrationError", code: "migration", message: /0099_later.*update/s };
    await assert.rejects(store.migrate(), refusal);
    await assert.rejects(sqliteStore(db).list({}, { limit: 1 }), refusal);
  }));

Deno.test("MIG-02 a migration that was applied with another text is refused", () =>
  withMemory(async (store, db) => {
    db.prepare("UPDATE pawl_schema SET checksum = 'edited'").run();
    await assert.rejects(store.migrate(), { name: "MigrationError", message: /another text/ });
  }));

Deno.test("MIG-02 a migration that fails leaves nothing of itself behind", () =>
  withMemory(async (_, db) => {
    const broken = { ...LATER, sql: `${LATER.sql}CREATE TABLE nonsense (;\n` };
    await assert.rejects(versionWith(db, [...MIGRATIONS, broken]).migrate(), {
      name: "StoreError",
      message: /incomplete input/,
    });
    assert.equal(columnsOf(db, "pawl_workflows").has("later"), false);
    assert.equal(rowCount(db, "pawl_schema"), MIGRATIONS.length);
  }));

Deno.test("MIG-02 a placeholder that nothing stands for is refused", () =>
  withMemory(async (_, db) => {
    const typo = { ...LATER, sql: "ALTER TABLE {{prefiks}}workflows ADD COLUMN x TEXT;\n" };
    await assert.rejects(versionWith(db, [...MIGRATIONS, typo]).migrate(), {
      name: "MigrationError",
      message: /\{\{prefiks\}\}/,
    });
  }));

Deno.test("MIG-01 a dry run says what it would do and does nothing", () =>
  withFile(async (path) => {
    const store = sqliteStore(path);
    const report = await store.migrate({ dryRun: true });
    assert.deepEqual(report.applied, NAMES);
    assert.match(report.sql, /CREATE TABLE IF NOT EXISTS pawl_workflows/);
    assert.equal(report.sql.includes("{{"), false);
    await assert.rejects(store.counts(), MigrationError);
    await store.close();
    const db = new DatabaseSync(path);
    assert.equal(rowCount(db, "sqlite_master"), 0);
    // What it prints is complete: run by hand it installs the schema.
    db.exec(report.sql);
    const again = await sqliteStore(db).migrate();
    db.close();
    assert.deepEqual([again.applied, again.present], [[], NAMES]);
  }));

Deno.test("MIG-01 a table prefix keeps two installs apart in one file", () =>
  withMemory(async (store, db) => {
    const other = sqliteStore(db, { tablePrefix: "Billing2_" });
    await other.migrate({ keyType: "uuid" });
    const { workflow } = await start(other);
    assert.match(workflow.id, /^[0-9a-f]{8}-/);
    assert.equal(rowCount(db, "Billing2_workflows"), 1);
    assert.equal(rowCount(db, "pawl_workflows"), 0);
    assert.deepEqual(await store.list({}, { limit: 10 }), []);
    const names = db.prepare("SELECT name FROM sqlite_master WHERE sql IS NOT NULL").all();
    const strangers = names.map((row) => String(row.name))
      .filter((name) => !/^(pawl_|Billing2_|sqlite_)/.test(name));
    assert.deepEqual(strangers, []);
  }));

Deno.test("MIG-01 a prefix that would need quoting is refused", () => {
  const bad = ["", "1st_", "a-b", 'x"; DROP TABLE users; --', "é_", "a".repeat(31), "a.b"];
  for (const tablePrefix of bad) {
    assert.throws(() => sqliteStore(":memory:", { tablePrefix }), InvalidInputError, tablePrefix);
  }
});

Deno.test("MIG-02 of twenty that migrate one new file at once exactly one applies", () =>
  withFile(async (path) => {
    const script = new URL("./_migrate.ts", import.meta.url).pathname;
    const outputs = await Promise.all(
      Array.from(
        { length: 4 },
        () =>
          new Deno.Command(Deno.execPath(), { args: ["run", "-A", script, path, "5"] }).output(),
      ),
    );
    const text = outputs.map(({ stderr }) => new TextDecoder().decode(stderr)).join("");
    assert.ok(outputs.every((one) => one.success), text);
    const applied = outputs.map(({ stdout }) => Number(new TextDecoder().decode(stdout)));
    assert.equal(applied.reduce((sum, one) => sum + one, 0), 1);
    const db = new DatabaseSync(path);
    assert.equal(rowCount(db, "pawl_schema"), MIGRATIONS.length);
    db.close();
  }));

function keyTypeFor(...ddl: string[]): Promise<string> {
  const db = new DatabaseSync(":memory:");
  for (const statement of ddl) db.exec(statement);
  const report = sqliteStore(db).migrate();
  return report.then(({ keyType }) => keyType).finally(() => db.close());
}

Deno.test("MIG-03 an empty schema gets bigint keys", async () => {
  assert.equal(await keyTypeFor(), "bigint");
});

Deno.test("MIG-04 a majority of UUID keys, however declared, gets UUID keys", async () => {
  for (const type of ["uuid", "UUID", "char(36)", "CHAR (36)", "varchar(36)", "VARCHAR( 36 )"]) {
    assert.equal(await keyTypeFor(`CREATE TABLE users (id ${type} PRIMARY KEY)`), "uuid", type);
  }
  const mixed = [
    "CREATE TABLE users (id uuid PRIMARY KEY)",
    "CREATE TABLE orders (id char(36) PRIMARY KEY)",
    "CREATE TABLE counters (id INTEGER PRIMARY KEY)",
  ];
  assert.equal(await keyTypeFor(...mixed), "uuid");
});

Deno.test("MIG-04 keys of other types, and keys of several columns, do not make it UUID", async () => {
  for (const type of ["integer", "bigint", "text", "varchar(255)", "char(32)", "blob"]) {
    assert.equal(await keyTypeFor(`CREATE TABLE users (id ${type} PRIMARY KEY)`), "bigint", type);
    assert.equal(isUuidType(type), false, type);
  }
  const joined =
    "CREATE TABLE members (user_id uuid, team_id uuid, PRIMARY KEY (user_id, team_id))";
  assert.equal(await keyTypeFor(joined), "bigint");
});

Deno.test("MIG-05 a tie gets bigint keys", async () => {
  const tie = [
    "CREATE TABLE users (id uuid PRIMARY KEY)",
    "CREATE TABLE orders (id INTEGER PRIMARY KEY)",
  ];
  assert.equal(await keyTypeFor(...tie), "bigint");
});

Deno.test("MIG-06 tables of frameworks, and the own ones, have no vote", async () => {
  const frameworks = [
    "schema_migrations",
    "ar_internal_metadata",
    "knex_migrations",
    "knex_migrations_lock",
    "kysely_migration",
    "_prisma_migrations",
    "__drizzle_migrations",
    "SequelizeMeta",
    "flyway_schema_history",
    "django_migrations",
    "pgmigrations",
    "migrations",
  ];
  const ddl = frameworks.map((name) => `CREATE TABLE ${name} (id INTEGER PRIMARY KEY)`);
  assert.equal(await keyTypeFor(...ddl, "CREATE TABLE users (id uuid PRIMARY KEY)"), "uuid");
  const own = [
    { table_name: "Pawl_Workflows", key_type: "uuid" },
    { table_name: "app.pawl_signals", key_type: "uuid" },
  ];
  assert.equal(majorityKeyType(own, ["app.pawl_workflows", "pawl_signals"]), "bigint");
});

Deno.test("MIG-04 the key type can be chosen, is kept, and cannot be changed later", () =>
  withStore(async (store, path) => {
    assert.equal((await store.migrate()).keyType, "uuid");
    assert.equal((await store.migrate({ keyType: "uuid" })).keyType, "uuid");
    await assert.rejects(store.migrate({ keyType: "bigint" }), {
      name: "MigrationError",
      message: /"bigint".*"uuid"/,
    });
    // A store that was told nothing finds it again.
    const { workflow } = await start(store);
    const other = sqliteStore(path);
    assert.equal((await other.get(workflow.id))?.id, workflow.id);
    assert.match((await start(other, { heroId: "2" })).workflow.id, /^[0-9a-f-]{36}$/);
    await other.close();
  }, { keyType: "uuid" }));

Deno.test("MIG-04 an unknown key type is refused", () =>
  withFile(async (path) => {
    const store = sqliteStore(path);
    await assert.rejects(store.migrate({ keyType: "serial" as "uuid" }), {
      name: "MigrationError",
      message: /"serial".*"auto", "bigint" or "uuid"/,
    });
    await store.close();
  }));

Deno.test("MIG-02 statements end at the end of a line, and comments are none", () => {
  const text = "-- one;\nCREATE TABLE a (x TEXT DEFAULT ';-)');\n\n-- two\nDROP TABLE a;\n-- end\n";
  assert.deepEqual(statementsOf(text), [
    "CREATE TABLE a (x TEXT DEFAULT ';-)')",
    "-- two\nDROP TABLE a",
  ]);
});
