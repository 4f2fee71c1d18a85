import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { newWorkflow, NOW, rowCount, withFile } from "./_sqlite.ts";

/** A promise with its handles. */
function gate(): { opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

Deno.test("a given database is used as it is and left open", async () => {
  const db = new DatabaseSync(":memory:");
  const settings = (): unknown[] =>
    ["busy_timeout", "journal_mode", "synchronous", "foreign_keys"].map((name) =>
      db.prepare(`PRAGMA ${name}`).get()
    );
  const before = settings();
  const store = sqliteStore(db, { synchronous: "full", busyTimeoutMs: 1 });
  await store.migrate();
  await store.close();
  await store.close();
  assert.deepEqual(settings(), before);
  assert.equal(rowCount(db, "pawl_workflows"), 0);
  db.close();
});

Deno.test("a file is opened at the first use, with write-ahead logging, and closed by close()", () =>
  withFile(async (path) => {
    const store = sqliteStore(path);
    await assert.rejects(Deno.stat(path), Deno.errors.NotFound);
    await store.migrate();
    const pragma = async (name: string): Promise<unknown> =>
      await store.transaction((tx) =>
        Promise.resolve(Object.values(tx.prepare(`PRAGMA ${name}`).get() ?? {})[0])
      );
    assert.equal(await pragma("journal_mode"), "wal");
    assert.equal(await pragma("synchronous"), 1);
    assert.equal(await pragma("foreign_keys"), 1);
    assert.equal(await pragma("busy_timeout"), 50);
    await store.close();
    await store.close();
    await assert.rejects(store.counts(), { name: "StoreError", message: /the store is closed/ });
    await assert.rejects(store.create([newWorkflow()], { now: NOW }), /the store is closed/);
    const full = sqliteStore(path, { synchronous: "full" });
    const level = await full.transaction((tx) =>
      Promise.resolve(tx.prepare("PRAGMA synchronous").get()?.synchronous)
    );
    assert.equal(level, 2);
    await full.close();
  }));

Deno.test("closing waits for the transaction that is under way", () =>
  withFile(async (path) => {
    const store = sqliteStore(path);
    await store.migrate();
    const { opened, open } = gate();
    const inside = gate();
    const long = store.transaction(async (tx) => {
      inside.open();
      await opened;
      await store.create([newWorkflow()], { now: NOW, tx });
    });
    await inside.opened;
    const closing = store.close();
    open();
    await long;
    await closing;
    const db = new DatabaseSync(path);
    assert.equal(rowCount(db, "pawl_workflows"), 1);
    db.close();
  }));

Deno.test("closing a store that was never used opens nothing", () =>
  withFile(async (path) => {
    await sqliteStore(path).close();
    await assert.rejects(Deno.stat(path), Deno.errors.NotFound);
  }));
