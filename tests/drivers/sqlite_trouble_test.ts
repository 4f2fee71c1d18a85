import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import type { StoreDriver } from "../../src/seams/store.ts";
import {
  after,
  CLAIM,
  holdLock,
  newExecution,
  newWorkflow,
  NOW,
  start,
  withFile,
  withMemory,
  withStore,
} from "./_sqlite.ts";

type Store = StoreDriver<DatabaseSync>;

Deno.test("U31 a write waits for another process that holds the lock, and the process goes on meanwhile", () =>
  withStore(async (store, path) => {
    const holder = await holdLock(path);
    let ticks = 0;
    const enough = Promise.withResolvers<void>();
    const interval = setInterval(() => {
      if (++ticks === 5) enough.resolve();
    }, 5);
    const waiting = store.create([newWorkflow()], { now: NOW });
    // Timers run while the write waits: heartbeats of this process would not be late.
    await enough.promise;
    clearInterval(interval);
    assert.deepEqual(await store.counts(), []);
    await holder.release();
    assert.equal((await waiting)[0]?.kind, "created");
  }));

Deno.test("U31 a lock that is held too long is an error that says what to do, and nothing is written", () =>
  withStore(async (store, path) => {
    const { workflow } = await start(store);
    const holder = await holdLock(path);
    const impatient = sqliteStore(path, { busyTimeoutMs: 120 });
    const refusal = { name: "StoreError", code: "store", message: /busyTimeoutMs/ };
    await assert.rejects(impatient.create([newWorkflow({ heroId: "2" })], { now: NOW }), refusal);
    await assert.rejects(impatient.claimDue({ ...CLAIM, limit: 1 }), refusal);
    await assert.rejects(impatient.transaction(() => Promise.resolve()), refusal);
    assert.equal((await impatient.get(workflow.id))?.state, "ready");
    await holder.release();
    assert.equal((await impatient.claimDue({ ...CLAIM, limit: 1 })).length, 1);
    await impatient.close();
  }));

Deno.test("U31 a killed process leaves a file that opens and holds what was committed", () =>
  withStore(async (store, path) => {
    const { workflow } = await start(store);
    const holder = await holdLock(path);
    await holder.kill();
    const [claimed] = await store.claimDue({ ...CLAIM, limit: 1 });
    assert.equal(claimed?.workflow.id, workflow.id);
  }));

Deno.test("EXE-05 two connections that claim the same executions never both get one", () =>
  withStore(async (store, path) => {
    const batch = Array.from({ length: 40 }, (_, at) => newWorkflow({ heroId: String(at) }));
    await store.create(batch, { now: NOW });
    const other = sqliteStore(path);
    const rounds = await Promise.all(
      [store, other, store, other].map((one, at) =>
        one.claimDue({ ...CLAIM, token: `token-${at}`, limit: 15 })
      ),
    );
    const ids = rounds.flat().map((one) => one.execution.id);
    assert.equal(ids.length, 40);
    assert.equal(new Set(ids).size, 40);
    await other.close();
  }));

Deno.test("a joined transaction that was begun without IMMEDIATE and is too old is told how to begin", () =>
  withStore(async (store, path) => {
    const db = new DatabaseSync(path);
    db.exec("BEGIN");
    db.prepare("SELECT COUNT(*) FROM pawl_workflows").get();
    await start(store);
    await assert.rejects(store.create([newWorkflow({ heroId: "2" })], { now: NOW, tx: db }), {
      name: "StoreError",
      message: /BEGIN IMMEDIATE/,
    });
    db.exec("ROLLBACK");
    db.close();
  }));

Deno.test("MIG-18 a store that was not migrated says to migrate, and works once it is", () =>
  withFile(async (path) => {
    const store = sqliteStore(path);
    const refusal = {
      name: "MigrationError",
      code: "migration",
      message: /no such table: pawl_schema; run `await engine\.migrate\(\)`/,
    };
    await assert.rejects(store.list({}, { limit: 1 }), refusal);
    await assert.rejects(store.create([newWorkflow()], { now: NOW }), refusal);
    await store.migrate();
    await start(store);
    await store.close();
  }));

Deno.test("MIG-18 a schema without migrations, or with a missing table, says to migrate", () =>
  withMemory(async (store, db) => {
    db.prepare("DROP TABLE pawl_signals").run();
    const { workflow } = await start(store);
    await assert.rejects(store.signals(workflow.id), { name: "MigrationError" });
    db.prepare("DELETE FROM pawl_schema").run();
    await assert.rejects(sqliteStore(db).counts(), { name: "MigrationError", message: /migrate/ });
  }));

/** The error of whatever is first done with a store. */
async function refusalOf(path: string, message: RegExp): Promise<void> {
  const store = sqliteStore(path, { busyTimeoutMs: 100 });
  await assert.rejects(store.migrate(), (error: Error) => {
    assert.equal(error.name, "StoreError");
    assert.match(error.message, /^\[sqlite\] Cannot /);
    assert.ok(error.message.includes(path), error.message);
    assert.match(error.message, message);
    assert.ok(error.cause instanceof Error);
    return true;
  });
  await store.close();
}

Deno.test("a missing directory is named, with what to check, and the store recovers once it is there", () =>
  withFile(async (path) => {
    const deep = `${path}_folder/deep/app.db`;
    await refusalOf(deep, /check that its directory exists/);
    const store = sqliteStore(deep);
    await assert.rejects(store.migrate());
    await Deno.mkdir(`${path}_folder/deep`, { recursive: true });
    assert.ok((await store.migrate()).applied.length > 0);
    await store.close();
  }));

Deno.test("a file that is not a database is named", () =>
  withFile(async (path) => {
    await Deno.writeTextFile(path, "This is a letter, not a database. ".repeat(200));
    await refusalOf(path, /not an SQLite database/);
  }));

Deno.test("a damaged file is named as damaged", () =>
  withFile(async (path) => {
    const store = sqliteStore(path);
    await store.migrate();
    const batch = Array.from({ length: 300 }, (_, at) =>
      newWorkflow({ heroId: String(at), input: JSON.stringify("x".repeat(400)) }));
    await store.create(batch, { now: NOW });
    await store.close();
    const bytes = await Deno.readFile(path);
    // Everything after the schema's pages is nonsense now.
    bytes.fill(0x5a, 4_096 * 3);
    await Deno.writeFile(path, bytes);
    const damaged = sqliteStore(path);
    await assert.rejects(everything(damaged), { name: "StoreError", message: /damaged.*backup/s });
    await damaged.close();
  }));

async function everything(store: Store): Promise<void> {
  await store.list({}, { limit: 1_000 });
  await store.counts();
  await store.claimDue({ ...CLAIM, limit: 100 });
}

Deno.test("a database that can only be read is read, and a write says what to check", () =>
  withStore(async (store, path) => {
    const { workflow } = await start(store);
    const db = new DatabaseSync(path, { readOnly: true });
    const readOnly = sqliteStore(db);
    assert.equal((await readOnly.get(workflow.id))?.id, workflow.id);
    await assert.rejects(readOnly.claimDue({ ...CLAIM, limit: 1 }), {
      name: "StoreError",
      message: /cannot be written; check permissions/,
    });
    db.close();
  }));

Deno.test("a full disk is named, nothing is half-written, and the store goes on once there is room", () =>
  withMemory(async (store, db) => {
    const { page_count: pages } = db.prepare("PRAGMA page_count").get() as { page_count: number };
    db.prepare(`PRAGMA max_page_count = ${pages + 2}`).get();
    const batch = Array.from({ length: 200 }, (_, at) => newWorkflow({ heroId: String(at) }));
    await assert.rejects(store.create(batch, { now: NOW }), {
      name: "StoreError",
      message: /disk is full.*free some space/,
    });
    assert.equal(db.isTransaction, false);
    assert.deepEqual(await store.list({}, { limit: 5 }), []);
    db.prepare("PRAGMA max_page_count = 100000").get();
    assert.equal((await store.create(batch, { now: NOW })).length, 200);
  }));

Deno.test("a given database that the application has closed is named", async () => {
  const db = new DatabaseSync(":memory:");
  const store = sqliteStore(db);
  await store.migrate();
  db.close();
  await assert.rejects(store.counts(), { name: "StoreError", message: /not open|closed/ });
  await assert.rejects(store.create([newWorkflow()], { now: NOW }), { name: "StoreError" });
});

Deno.test("a source or an option that cannot work is refused before anything is opened", () => {
  const sources = [null, undefined, 42, {}, new URL("https://example.com/app.db")];
  for (const source of sources) {
    assert.throws(() => sqliteStore(source as string), { name: "InvalidInputError" });
  }
  for (const busyTimeoutMs of [-1, NaN, Infinity]) {
    assert.throws(() => sqliteStore(":memory:", { busyTimeoutMs }), { name: "InvalidInputError" });
  }
  const synchronous = "off" as "full";
  assert.throws(() => sqliteStore(":memory:", { synchronous }), { name: "InvalidInputError" });
});

Deno.test("without permission for the file Deno's refusal comes with what to allow", () =>
  withFile(async (path) => {
    const entry = new URL("../../drivers/sqlite/mod.ts", import.meta.url).href;
    const script = `import { sqliteStore } from ${JSON.stringify(entry)};` +
      `await sqliteStore(${JSON.stringify(path)}).migrate().catch((e) => console.log(e.message));`;
    const file = `${path}.ts`;
    await Deno.writeTextFile(file, script);
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-prompt", "--no-check", file],
    }).output();
    assert.match(new TextDecoder().decode(stdout), /\[sqlite\] Cannot open .*--allow-read/);
  }));

Deno.test("P2 no statement asks the database for the time", () =>
  withMemory(async (store, db) => {
    const now = after(-1_000_000_000_000);
    const [created] = await store.create([newWorkflow()], { now });
    assert.equal(created?.kind, "created");
    const rows = db.prepare("SELECT created_at, updated_at FROM pawl_workflows").all();
    assert.deepEqual(rows.map((row) => [row.created_at, row.updated_at]), [[
      now.getTime(),
      now.getTime(),
    ]]);
  }));

Deno.test("U31 a poll that finds nothing due needs no lock", () =>
  withStore(async (store, path) => {
    await start(store, { first: newExecution({ scheduledFor: after(60_000) }) });
    const holder = await holdLock(path);
    assert.deepEqual(await store.claimDue({ ...CLAIM, limit: 5 }), []);
    const claiming = store.claimDue({ ...CLAIM, now: after(60_000), limit: 5 });
    await holder.release();
    assert.equal((await claiming).length, 1);
  }));
