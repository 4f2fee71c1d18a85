import assert from "node:assert/strict";
import mysql from "mysql2/promise";
import { mysqlStore } from "../../drivers/mysql/mod.ts";
import { InvalidInputError, StoreError } from "../../src/errors.ts";
import {
  after,
  claim,
  command,
  expectKind,
  finish,
  finished,
  newExecution,
  newSignal,
  newWorkflow,
  newWorkflows,
  only,
  resume,
  send,
  start,
  T0,
} from "../../src/testing/store_cases/_builders.ts";
import { type Bench, storeTest, until, waitingForLocks } from "./_mysql.ts";

/** Runs work on a connection of the application, in a transaction that it began. */
async function inOwnTransaction(
  { url }: Bench,
  work: (tx: mysql.Connection) => Promise<void>,
  begin: string = "START TRANSACTION",
): Promise<void> {
  const tx = await mysql.createConnection({ uri: url, timezone: "+05:30", rowsAsArray: true });
  try {
    await tx.query(begin);
    await work(tx);
  } finally {
    await tx.end();
  }
}

storeTest(
  "BLK-02 BLK-03 a start commits and vanishes together with the application's own rows",
  async (bench) => {
    const { store, query } = bench;
    await query("CREATE TABLE orders (id INT PRIMARY KEY)");
    for (const [id, end] of [[1, "COMMIT"], [2, "ROLLBACK"]] as const) {
      await inOwnTransaction(bench, async (tx) => {
        await tx.query("INSERT INTO orders VALUES (?)", [id]);
        await start(store, { heroId: `${id}` }, { now: T0, tx });
        await tx.query(end);
      });
    }
    assert.deepEqual((await query("SELECT id FROM orders")).map((row) => row.id), [1]);
    const heroes = await query("SELECT hero_id FROM pawl_workflows");
    assert.deepEqual(heroes.map((row) => row.hero_id), ["1"]);
    assert.equal((await query("SELECT id FROM pawl_step_executions")).length, 1);
  },
);

storeTest(
  "a tx that is no open transaction is refused, with what to pass",
  async ({ store, url, query }) => {
    const pool = mysql.createPool({ uri: url, connectionLimit: 1 });
    const idle = await pool.getConnection();
    const bad: [unknown, RegExp][] = [
      [idle, /none is open/],
      [pool, /tx is a pool/],
      [{}, /not a connection/],
      ["tx", /not a connection/],
      [null, /not a connection/],
      [(idle as { connection: unknown }).connection, /connection\.promise\(\)/],
    ];
    for (const [tx, message] of bad) {
      const attempt = store.create([newWorkflow()], { now: T0, tx: tx as mysql.Connection });
      await assert.rejects(attempt, { name: "InvalidInputError", message });
    }
    assert.deepEqual(await query("SELECT id FROM pawl_workflows"), []);
    idle.release();
    await pool.end();
  },
);

storeTest(
  "a write that fails leaves nothing of itself in the caller's transaction",
  async (bench) => {
    const { store, query } = bench;
    await inOwnTransaction(bench, async (tx) => {
      await start(store, { heroId: "before" }, { now: T0, tx });
      const batch = [newWorkflow({ heroId: "half" }), newWorkflow({ heroId: "x".repeat(256) })];
      await assert.rejects(store.create(batch, { now: T0, tx }), InvalidInputError);
      await start(store, { heroId: "after" }, { now: T0, tx });
      await tx.query("COMMIT");
    });
    const heroes = await query("SELECT hero_id FROM pawl_workflows ORDER BY id");
    assert.deepEqual(heroes.map((row) => row.hero_id), ["before", "after"]);
  },
);

storeTest("writes at once in one transaction do not undo each other", async (bench) => {
  const { store, query } = bench;
  await inOwnTransaction(bench, async (tx) => {
    const answers = await Promise.allSettled(
      ["a", "b", "x".repeat(300), "c", "d"].map((heroId, at) =>
        store.create([newWorkflow({ heroId })], {
          now: T0,
          tx,
          ...(at % 2 === 0 ? {} : { beforeCommit: () => Promise.resolve() }),
        })
      ),
    );
    const kinds = answers.map((one) => one.status);
    assert.deepEqual(kinds, ["fulfilled", "fulfilled", "rejected", "fulfilled", "fulfilled"]);
    await tx.query("COMMIT");
  });
  const heroes = await query("SELECT hero_id FROM pawl_workflows ORDER BY hero_id");
  assert.deepEqual(heroes.map((row) => row.hero_id), ["a", "b", "c", "d"]);
});

storeTest("beforeCommit may itself write in the caller's transaction", async (bench) => {
  const { store, query } = bench;
  await inOwnTransaction(bench, async (tx) => {
    await store.create([newWorkflow({ heroId: "outer" })], {
      now: T0,
      tx,
      beforeCommit: async (inside) => {
        await start(store, { heroId: "inner" }, { now: T0, tx: inside });
      },
    });
    await tx.query("COMMIT");
  });
  assert.equal((await query("SELECT id FROM pawl_workflows")).length, 2);
});

storeTest(
  "a transaction that began with a snapshot still meets what was committed since",
  async (bench) => {
    const { store } = bench;
    const first = newExecution({ waitingFor: "approved" });
    const { workflow } = await start(store, { first });
    await command(store, workflow.id, { kind: "pause" });
    await inOwnTransaction(bench, async (tx) => {
      // The snapshot is taken here; plain reads see nothing of what follows.
      await tx.query("SELECT COUNT(*) FROM pawl_workflows");
      await send(store, workflow.id, newSignal({ idempotencyKey: "key" }));
      const other = await start(store, { heroId: "2" });
      const options = { now: after(1_000), tx };
      const again = await store.signal(workflow.id, newSignal({ idempotencyKey: "key" }), options);
      assert.equal(again.kind, "known");
      const created = only(await store.create([newWorkflow({ heroId: "2" })], options));
      assert.equal(expectKind(created, "duplicate").existingId, other.workflow.id);
      const resumed = await store.command(workflow.id, resume(), options);
      const { job } = expectKind(resumed, "done");
      assert.ok(job !== null, "the signal is there, so the step is announced");
      await tx.query("COMMIT");
    }, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
  },
);

storeTest("get() in a transaction sees what it has written", async (bench) => {
  const { store } = bench;
  await inOwnTransaction(bench, async (tx) => {
    const { workflow } = await start(store, {}, { now: T0, tx });
    assert.equal((await store.get(workflow.id, { tx }))?.id, workflow.id);
    assert.equal(await store.get(workflow.id), null);
    await tx.query("ROLLBACK");
  });
});

storeTest(
  "a transaction of the store reads what others commit meanwhile",
  async ({ store, query }) => {
    await query("CREATE TABLE notes (n INT)");
    await query("INSERT INTO notes VALUES (1)");
    const seen = await store.transaction(async (tx) => {
      const read = async (): Promise<unknown> =>
        (await tx.query("SELECT n FROM notes") as unknown as [{ n: number }[]])[0][0]?.n;
      const first = await read();
      await query("UPDATE notes SET n = 2");
      return [first, await read()];
    });
    assert.deepEqual(seen, [1, 2]);
  },
);

storeTest(
  "a transaction that the database ended is not taken for a committed one",
  async ({ store, url, query }) => {
    await query("CREATE TABLE notes (id INT PRIMARY KEY, n INT)");
    await query("INSERT INTO notes VALUES (1, 0), (2, 0)");
    const other = await mysql.createConnection(url);
    await other.query("START TRANSACTION");
    // Whoever has changed more rows survives a deadlock.
    await other.query("INSERT INTO notes VALUES (3, 0), (4, 0), (5, 0), (6, 0), (7, 0), (8, 0)");
    await other.query("UPDATE notes SET n = 1 WHERE id = 2");
    const attempt = store.transaction(async (tx) => {
      await start(store, { heroId: "lost" }, { now: T0, tx });
      await tx.query("UPDATE notes SET n = 7 WHERE id = 1");
      const blocked = tx.query("UPDATE notes SET n = 7 WHERE id = 2").catch(() => "victim");
      await until("it waits", async () => (await waitingForLocks(url)).length > 0);
      await other.query("UPDATE notes SET n = 1 WHERE id = 1");
      assert.equal(await blocked, "victim");
      return "nothing happened";
    });
    await assert.rejects(attempt, (error) => {
      assert.ok(error instanceof StoreError);
      assert.match(error.message, /has ended before its work did/);
      return error.uncertain;
    });
    await other.query("COMMIT");
    await other.end();
    assert.deepEqual(await query("SELECT id FROM pawl_workflows"), []);
  },
);

/** Somebody who holds the execution and then wants the workflow: the wrong way round. */
async function contrarian(
  { url }: Bench,
  workflowId: string,
): Promise<{ provoke(): Promise<void>; end(): Promise<void> }> {
  const other = await mysql.createConnection(url);
  await other.query("CREATE TABLE IF NOT EXISTS ballast (id INT AUTO_INCREMENT PRIMARY KEY)");
  await other.query("START TRANSACTION");
  // Whoever has changed more rows survives a deadlock.
  await other.query(`INSERT INTO ballast VALUES ${Array(50).fill("(NULL)").join(", ")}`);
  await other.query("SELECT id FROM pawl_step_executions WHERE workflow_id = ? FOR UPDATE", [
    workflowId,
  ]);
  return {
    async provoke() {
      await until("the store waits", async () => (await waitingForLocks(url)).length > 0);
      await other.query("SELECT id FROM pawl_workflows WHERE id = ? FOR UPDATE", [workflowId]);
    },
    async end() {
      await other.query("ROLLBACK");
      await other.end();
    },
  };
}

storeTest(
  "EXE-17 a deadlock that others provoke is survived: the write is made again",
  async (bench) => {
    const { store } = bench;
    const { workflow, execution } = await start(store);
    const claimed = await claim(store, execution.id);
    const other = await contrarian(bench, workflow.id);
    const finishing = finish(store, finished(claimed));
    await other.provoke();
    await other.end();
    const { workflow: after } = await finishing;
    assert.equal(after.state, "finished");
    assert.equal((await store.history(workflow.id, { limit: 10 })).length, 1);
  },
);

storeTest("a deadlock in the caller's transaction is the caller's to repeat", async (bench) => {
  const { store } = bench;
  const { workflow } = await start(store);
  const other = await contrarian(bench, workflow.id);
  await inOwnTransaction(bench, async (tx) => {
    const pausing = store.command(workflow.id, { kind: "pause" }, { now: T0, tx });
    const refused = assert.rejects(pausing, { name: "StoreError", message: /Deadlock/ });
    await other.provoke();
    await refused;
  });
  await other.end();
  assert.equal((await store.get(workflow.id))?.state, "ready");
});

storeTest("a lock that does not come in time is waited for once more", async (bench) => {
  const { url, query } = bench;
  const pool = mysql.createPool({ uri: url, connectionLimit: 2 });
  pool.pool.on("connection", (connection) => {
    connection.query("SET SESSION innodb_lock_wait_timeout = 1", () => {});
  });
  const store = mysqlStore(pool);
  const { workflow } = await start(store);
  const other = await mysql.createConnection(url);
  await other.query("START TRANSACTION");
  await other.query("SELECT id FROM pawl_workflows FOR UPDATE");
  const pausing = command(store, workflow.id, { kind: "pause" });
  const waits = new Set<string>();
  await until("it waits for the second time", async () => {
    for (const id of await waitingForLocks(url)) waits.add(id);
    return waits.size === 2;
  });
  await other.query("ROLLBACK");
  await pausing;
  assert.equal((await query("SELECT state FROM pawl_workflows"))[0]?.state, "paused");
  await other.query("START TRANSACTION");
  await other.query("SELECT id FROM pawl_workflows FOR UPDATE");
  const refused = store.command(workflow.id, { kind: "cancel" }, { now: T0 });
  await assert.rejects(refused, { name: "StoreError", message: /kept a row locked/ });
  await other.end();
  await pool.end();
});

storeTest("EXE-17 a claim of whatever is due waits for nobody", async ({ store, url }) => {
  await store.create(newWorkflows(4), { now: T0 });
  const other = await mysql.createConnection(url);
  await other.query("START TRANSACTION");
  await other.query("SELECT id FROM pawl_workflows WHERE hero_id = '2' FOR UPDATE");
  await other.query(
    "SELECT id FROM pawl_step_executions WHERE workflow_id = " +
      "(SELECT id FROM pawl_workflows WHERE hero_id = '3') FOR UPDATE",
  );
  const claims = await store.claimDue({
    ...{ now: T0, token: "token-1", leaseMs: 1_000, worker: "worker-1" },
    limit: 10,
  });
  assert.deepEqual(claims.map((one) => one.workflow.heroId).sort(), ["1", "4"]);
  await other.query("ROLLBACK");
  await other.end();
});
