import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { StoreError } from "../../src/errors.ts";
import type { Job } from "../../src/state/records.ts";
import {
  CLAIM,
  finished,
  made,
  newExecution,
  newWorkflow,
  NOW,
  rowCount,
  start,
  withMemory,
  withStore,
} from "./_sqlite.ts";

/** A promise with its handles. */
function gate(): { opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

Deno.test("BLK-03 a rolled back transaction leaves neither the application's rows nor the store's", () =>
  withMemory(async (store, db) => {
    db.exec("CREATE TABLE orders (id INTEGER PRIMARY KEY)");
    const failing = store.transaction(async (tx) => {
      tx.prepare("INSERT INTO orders (id) VALUES (1)").run();
      const [created] = await store.create([newWorkflow()], { now: NOW, tx });
      assert.equal((await store.get(made(created).workflow.id, { tx }))?.state, "ready");
      await Promise.resolve();
      throw new Error("no stock");
    });
    await assert.rejects(failing, /^Error: no stock$/);
    assert.equal(rowCount(db, "orders"), 0);
    assert.equal(rowCount(db, "pawl_workflows"), 0);
    assert.equal(db.isTransaction, false);
    await start(store);
  }));

Deno.test("BLK-09 a transaction commits the application's rows and the store's together", () =>
  withMemory(async (store, db) => {
    db.exec("CREATE TABLE orders (id INTEGER PRIMARY KEY)");
    const answer = await store.transaction(async (tx) => {
      tx.prepare("INSERT INTO orders (id) VALUES (1)").run();
      await store.create([newWorkflow()], { now: NOW, tx });
      return "done";
    });
    assert.equal(answer, "done");
    assert.deepEqual([rowCount(db, "orders"), rowCount(db, "pawl_workflows")], [1, 1]);
  }));

Deno.test("BLK-09 every write joins: finish, command and signal vanish with the transaction", () =>
  withMemory(async (store) => {
    const { workflow } = await start(store);
    const [claimed] = await store.claimDue({ ...CLAIM, limit: 1 });
    assert.ok(claimed !== undefined);
    const signal = { name: "x", payload: null, idempotencyKey: null, graceMs: 0 };
    await assert.rejects(
      store.transaction(async (tx) => {
        const next = newExecution({ stepName: "remind" });
        const verdict = finished(claimed, { workflowState: "ready", nextStepName: "remind", next });
        assert.equal((await store.finish([verdict], { now: NOW, tx }))[0]?.kind, "done");
        assert.equal((await store.signal(workflow.id, signal, { now: NOW, tx })).kind, "stored");
        const paused = await store.command(workflow.id, { kind: "pause" }, { now: NOW, tx });
        assert.equal(paused.kind, "done");
        throw new Error("undo");
      }),
      /undo/,
    );
    assert.deepEqual(await store.get(workflow.id), claimed.workflow);
    assert.deepEqual(await store.history(workflow.id, { limit: 5 }), [claimed.execution]);
    assert.deepEqual(await store.signals(workflow.id), []);
  }));

Deno.test("BLK-09 a joined write that fails leaves nothing of itself, and the transaction goes on", () =>
  withMemory(async (store, db) => {
    const broken = newWorkflow({
      heroId: "2",
      first: newExecution({ stepName: null as unknown as string }),
    });
    await store.transaction(async (tx) => {
      await store.create([newWorkflow()], { now: NOW, tx });
      await assert.rejects(store.create([broken], { now: NOW, tx }), StoreError);
      await assert.rejects(
        store.create([newWorkflow({ heroId: "3" })], {
          now: NOW,
          tx,
          beforeCommit: () => Promise.reject(new Error("the queue is full")),
        }),
        /the queue is full/,
      );
    });
    assert.equal(rowCount(db, "pawl_workflows"), 1);
    assert.equal(rowCount(db, "pawl_step_executions"), 1);
  }));

Deno.test("HERO-03 a value that the schema refuses is an error, not a duplicate, and leaves nothing", () =>
  withMemory(async (store, db) => {
    const nameless = newWorkflow({ name: null as unknown as string });
    const creating = store.create([newWorkflow({ heroId: "7" }), nameless], { now: NOW });
    await assert.rejects(creating, { name: "StoreError", message: /NOT NULL constraint failed/ });
    assert.equal(rowCount(db, "pawl_workflows"), 0);
  }));

Deno.test("BLK-09 beforeCommit gets the jobs inside the transaction, and its failure undoes the write", () =>
  withMemory(async (store, db) => {
    db.exec("CREATE TABLE jobs (id TEXT)");
    const seen: (readonly Job[])[] = [];
    const later = newExecution({ priority: 3, queue: "mail" });
    const batch = [newWorkflow({ first: later }), newWorkflow(), newWorkflow({ heroId: "2" })];
    const beforeCommit = (tx: DatabaseSync, jobs: readonly Job[]): Promise<void> => {
      assert.equal(tx.isTransaction, true);
      seen.push(jobs);
      for (const job of jobs) tx.prepare("INSERT INTO jobs VALUES (?)").run(job.executionId);
      return Promise.resolve();
    };
    const created = await store.create(batch, { now: NOW, beforeCommit });
    const [first, , third] = created;
    assert.deepEqual(seen, [[made(first).job, made(third).job]]);
    assert.deepEqual(made(first).job, {
      executionId: made(first).execution?.id,
      runAt: NOW,
      queue: "mail",
      priority: 3,
    });
    await assert.rejects(
      store.create([newWorkflow({ heroId: "9" })], {
        now: NOW,
        beforeCommit: async (tx, jobs) => {
          await beforeCommit(tx, jobs);
          throw new TypeError("refused");
        },
      }),
      { name: "TypeError", message: "refused" },
    );
    assert.deepEqual([rowCount(db, "jobs"), rowCount(db, "pawl_workflows")], [2, 2]);
  }));

Deno.test("BLK-09 inside a caller's transaction beforeCommit runs in it, one write after the other", () =>
  withMemory(async (store, db) => {
    db.exec("CREATE TABLE jobs (id TEXT)");
    const slow = async (tx: DatabaseSync, jobs: readonly Job[]): Promise<void> => {
      for (const job of jobs) tx.prepare("INSERT INTO jobs VALUES (?)").run(job.executionId);
      await Promise.resolve();
      if (jobs.length > 1) throw new Error("too many");
    };
    await store.transaction(async (tx) => {
      const two = [newWorkflow({ heroId: "a" }), newWorkflow({ heroId: "b" })];
      const all = await Promise.allSettled([
        store.create([newWorkflow({ heroId: "1" })], { now: NOW, tx, beforeCommit: slow }),
        store.create(two, { now: NOW, tx, beforeCommit: slow }),
        store.create([newWorkflow({ heroId: "3" })], { now: NOW, tx, beforeCommit: slow }),
      ]);
      assert.deepEqual(all.map((one) => one.status), ["fulfilled", "rejected", "fulfilled"]);
    });
    assert.deepEqual([rowCount(db, "jobs"), rowCount(db, "pawl_workflows")], [2, 2]);
  }));

Deno.test("EXE-02 a write without the transaction waits until it has ended, and then is on its own", () =>
  withMemory(async (store, db) => {
    const { opened, open } = gate();
    const inside = gate();
    const failing = store.transaction(async () => {
      inside.open();
      await opened;
      throw new Error("rolled back");
    });
    await inside.opened;
    const outside = store.create([newWorkflow({ heroId: "outside" })], { now: NOW });
    open();
    await assert.rejects(failing, /rolled back/);
    assert.equal((await outside)[0]?.kind, "created");
    assert.equal(rowCount(db, "pawl_workflows"), 1);
  }));

Deno.test("EXE-02 a write inside a transaction that forgets tx is told so and does not hang", () =>
  withMemory(async (store) => {
    await store.transaction(async () => {
      await assert.rejects(store.create([newWorkflow()], { now: NOW }), {
        name: "StoreError",
        message: /pass \{ tx \}/,
      });
    });
    await start(store);
  }, { busyTimeoutMs: 40 }));

Deno.test("EXE-02 two stores on one database take turns too", () =>
  withMemory(async (store, db) => {
    const other = sqliteStore(db);
    const { opened, open } = gate();
    const inside = gate();
    const long = store.transaction(async (tx) => {
      await store.create([newWorkflow({ heroId: "1" })], { now: NOW, tx });
      inside.open();
      await opened;
    });
    await inside.opened;
    const second = other.create([newWorkflow({ heroId: "2" })], { now: NOW });
    open();
    await long;
    assert.equal((await second)[0]?.kind, "created");
  }));

Deno.test("EXE-02 reads do not wait for a transaction and do not see what it has not committed", () =>
  withStore(async (store) => {
    const { workflow } = await start(store);
    await store.transaction(async (tx) => {
      await store.command(workflow.id, { kind: "cancel" }, { now: NOW, tx });
      await store.create([newWorkflow({ heroId: "2" })], { now: NOW, tx });
      assert.equal((await store.get(workflow.id))?.state, "ready");
      assert.equal((await store.get(workflow.id, { tx }))?.state, "canceled");
      assert.equal((await store.list({}, { limit: 5 })).length, 1);
    });
    assert.equal((await store.get(workflow.id))?.state, "canceled");
    assert.equal((await store.list({}, { limit: 5 })).length, 2);
  }));

Deno.test("BLK-09 a transaction that the application began itself is joined, on the given database", () =>
  withMemory(async (store, db) => {
    db.exec("BEGIN");
    await store.create([newWorkflow()], { now: NOW, tx: db });
    db.exec("ROLLBACK");
    assert.equal(rowCount(db, "pawl_workflows"), 0);
    db.exec("BEGIN IMMEDIATE");
    await store.create([newWorkflow()], { now: NOW, tx: db });
    db.exec("COMMIT");
    assert.equal(rowCount(db, "pawl_workflows"), 1);
  }));

Deno.test("BLK-09 a transaction on the application's own connection to the same file is joined", () =>
  withStore(async (store, path) => {
    const db = new DatabaseSync(path);
    db.exec("BEGIN IMMEDIATE");
    const [created] = await store.create([newWorkflow()], { now: NOW, tx: db });
    assert.equal(await store.get(made(created).workflow.id), null);
    db.exec("COMMIT");
    db.close();
    assert.equal((await store.get(made(created).workflow.id))?.state, "ready");
  }));

Deno.test("BLK-09 a tx without a transaction, or that is no database, is refused", () =>
  withMemory(async (store, db) => {
    const { workflow } = await start(store);
    for (const tx of [db, {} as DatabaseSync, "tx" as unknown as DatabaseSync]) {
      await assert.rejects(store.create([newWorkflow({ heroId: "2" })], { now: NOW, tx }), {
        name: "InvalidInputError",
        message: /Cannot join the transaction/,
      });
    }
    await assert.rejects(store.get(workflow.id, { tx: db }), /Cannot join the transaction/);
    assert.equal(rowCount(db, "pawl_workflows"), 1);
  }));

Deno.test("BLK-09 a write without tx waits for the application's own transaction, and says so in the end", () =>
  withMemory(async (store, db) => {
    db.exec("BEGIN");
    await assert.rejects(store.create([newWorkflow()], { now: NOW }), {
      name: "StoreError",
      message: /a transaction of the application is open.*pass it as tx/,
    });
    const waiting = store.create([newWorkflow()], { now: NOW });
    db.exec("COMMIT");
    assert.equal((await waiting)[0]?.kind, "created");
  }, { busyTimeoutMs: 60 }));

Deno.test("EXE-02 a database in memory of the store's own is one connection: reads see what is open", async () => {
  const store = sqliteStore(":memory:");
  await store.migrate();
  await assert.rejects(
    store.transaction(async (tx) => {
      const [created] = await store.create([newWorkflow()], { now: NOW, tx });
      assert.equal((await store.get(made(created).workflow.id))?.state, "ready");
      throw new Error("undo");
    }),
    /undo/,
  );
  assert.deepEqual(await store.list({}, { limit: 5 }), []);
  await store.close();
});

Deno.test("BLK-09 a transaction that SQLite itself gave up on is reported as what broke it", () =>
  withMemory(async (store, db) => {
    const { page_count: pages } = db.prepare("PRAGMA page_count").get() as { page_count: number };
    const batch = Array.from({ length: 200 }, (_, at) => newWorkflow({ heroId: String(at) }));
    const failing = store.transaction(async (tx) => {
      tx.prepare(`PRAGMA max_page_count = ${pages + 2}`).get();
      await store.create(batch, { now: NOW, tx });
    });
    await assert.rejects(failing, { name: "StoreError", message: /disk is full/ });
    assert.equal(db.isTransaction, false);
    db.prepare("PRAGMA max_page_count = 100000").get();
    await start(store);
    assert.equal(rowCount(db, "pawl_workflows"), 1);
  }));
