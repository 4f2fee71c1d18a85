import assert from "node:assert/strict";
// @ts-types="@types/pg"
import pg from "pg";
import {
  createEngine,
  DuplicateWorkflowError,
  hero,
  InvalidInputError,
  StoreError,
  workflow,
} from "../../mod.ts";
import { postgresStore } from "../../drivers/postgres/mod.ts";
import {
  after,
  claim,
  finished,
  newWorkflow,
  start,
  startClaimed,
  T0,
} from "../../src/testing/store_cases/_builders.ts";
import { postgresTest, type TestDatabase, testPool } from "./_postgres.ts";
import { transfer } from "./_postgres_transfer.ts";

async function rows(database: TestDatabase, table: string): Promise<number> {
  const [row] = await database.query(`SELECT count(*) AS count FROM ${table}`);
  return Number(row?.count);
}

/** Runs work with a client that is in a transaction, and rolls back what it leaves open. */
async function inTransaction(
  url: string,
  work: (tx: pg.Client) => Promise<void>,
  begin = "BEGIN",
): Promise<void> {
  const tx = new pg.Client({ connectionString: url });
  await tx.connect();
  try {
    await tx.query(begin);
    await work(tx);
  } finally {
    await tx.end();
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && (error as Error & { code?: string }).code === code;
}

const users = hero("User", { load: (id: string) => ({ id }) });
const welcome = workflow({ name: "welcome", hero: users, steps: [{ name: "greet", run() {} }] });

postgresTest("BLK-03 BLK-09 a start joins the application's transaction", async (database) => {
  await database.query("CREATE TABLE users (id text PRIMARY KEY)");
  await using pool = testPool(database.url);
  const engine = createEngine({ store: postgresStore(pool), workflows: [welcome] });
  await engine.migrate();
  await inTransaction(database.url, async (tx) => {
    await tx.query("INSERT INTO users VALUES ('1')");
    const run = await engine.start(welcome, { hero: "1", tx });
    assert.equal(await rows(database, "pawl_workflows"), 0, "nobody else sees it yet");
    await tx.query("COMMIT");
    assert.equal((await engine.find(run.id))?.heroId, "1");
  });
  await inTransaction(database.url, async (tx) => {
    await tx.query("INSERT INTO users VALUES ('2')");
    await engine.start(welcome, { hero: "2", tx });
    await tx.query("ROLLBACK");
  });
  assert.equal(await rows(database, "users"), 1);
  assert.equal(await rows(database, "pawl_workflows"), 1);
  assert.equal(await rows(database, "pawl_step_executions"), 1);
  await engine.close();
});

postgresTest(
  "BLK-09 a write that fails leaves the caller's transaction usable",
  async (database) => {
    await using store = database.store();
    await store.migrate();
    await using engine = createEngine({ store, workflows: [welcome] });
    await inTransaction(database.url, async (tx) => {
      await engine.start(welcome, { hero: "1", tx });
      await assert.rejects(engine.start(welcome, { hero: "1", tx }), DuplicateWorkflowError);
      const bad = newWorkflow({ name: "no\0name" });
      await assert.rejects(store.create([bad], { now: T0, tx }), /NUL character/);
      await assert.rejects(
        store.create([newWorkflow({ heroId: "2" })], {
          now: T0,
          tx,
          beforeCommit: () => Promise.reject(new Error("the queue is full")),
        }),
        new Error("the queue is full"),
      );
      await engine.start(welcome, { hero: "3", tx });
      await tx.query("COMMIT");
    });
    const heroes = await database.query("SELECT hero_id FROM pawl_workflows ORDER BY hero_id");
    assert.deepEqual(heroes.map((row) => row.hero_id), ["1", "3"]);
  },
);

postgresTest(
  "joined writes at once on one transaction do not disturb each other",
  async (database) => {
    await using store = database.store();
    await store.migrate();
    await inTransaction(database.url, async (tx) => {
      const created = await Promise.allSettled(
        Array.from(
          { length: 20 },
          (_, at) =>
            store.create([newWorkflow({ heroId: `${at % 10}` })], {
              now: T0,
              tx,
              beforeCommit: () => at === 3 ? Promise.reject(new Error("no")) : Promise.resolve(),
            }),
        ),
      );
      const rejected = created.flatMap((one, at) => one.status === "rejected" ? [at] : []);
      assert.deepEqual(rejected, [3]);
      await tx.query("COMMIT");
    });
    assert.equal(await rows(database, "pawl_workflows"), 10);
  },
);

postgresTest(
  "a joined write may write with the same transaction before its commit",
  async (database) => {
    await using store = database.store();
    await store.migrate();
    await inTransaction(database.url, async (tx) => {
      await store.create([newWorkflow({ heroId: "outer" })], {
        now: T0,
        tx,
        async beforeCommit(inside) {
          await store.create([newWorkflow({ heroId: "inner" })], { now: T0, tx: inside });
        },
      });
      await tx.query("COMMIT");
    });
    assert.equal(await rows(database, "pawl_workflows"), 2);
  },
);

postgresTest("the settings of the caller's transaction are as they were", async (database) => {
  await using store = database.store();
  await store.migrate();
  const names = ["enable_seqscan", "enable_hashjoin", "jit", "plan_cache_mode"];
  const settings = async (tx: pg.Client): Promise<unknown> =>
    (await tx.query(`SELECT ${names.map((name) => `current_setting('${name}') AS ${name}`)}`)).rows;
  await inTransaction(database.url, async (tx) => {
    await tx.query("SET LOCAL jit = off; SET LOCAL enable_hashjoin = on");
    const before = await settings(tx);
    await store.create([newWorkflow({ heroId: "1" })], { now: T0, tx });
    await store.get("1", { tx });
    await store.create([newWorkflow({ heroId: "2" })], {
      now: T0,
      tx,
      beforeCommit: (inside) => store.get("1", { tx: inside }).then(() => {}),
    });
    await assert.rejects(store.create([newWorkflow({ name: "\0" })], { now: T0, tx }));
    assert.deepEqual(await settings(tx), before);
  });
});

postgresTest("a tx that is none is refused with what to pass", async (database) => {
  await using pool = testPool(database.url);
  const store = postgresStore(pool);
  await store.migrate();
  const begin = { now: T0 };
  const client = await pool.connect();
  try {
    await assert.rejects(store.create([newWorkflow()], { ...begin, tx: client }), (error) => {
      assert.ok(error instanceof InvalidInputError);
      assert.match(error.message, /none is open on the given client; begin one, or leave tx out/);
      return true;
    });
    for (const tx of [pool, {}, 5, "tx", null]) {
      await assert.rejects(
        store.create([newWorkflow()], { ...begin, tx: tx as never }),
        /tx is not a client of pg; pass the client that began it, and not its pool/,
      );
    }
    await client.query("BEGIN");
    await client.query("SELECT 1/0").catch(() => {});
    await assert.rejects(
      store.create([newWorkflow()], { ...begin, tx: client }),
      /the transaction has already failed; roll it back/,
    );
    await client.query("ROLLBACK");
  } finally {
    client.release();
  }
  assert.equal(await rows(database, "pawl_workflows"), 0);
});

postgresTest(
  "a transaction in which a failure was swallowed is not told to be committed",
  async (database) => {
    await using store = database.store();
    await store.migrate();
    await assert.rejects(
      store.transaction(async (tx) => {
        await store.create([newWorkflow()], { now: T0, tx });
        await tx.query("SELECT 1/0").catch(() => {});
      }),
      (error) => {
        assert.ok(error instanceof StoreError);
        assert.match(error.message, /a statement in it has failed, so all of it was rolled back/);
        return true;
      },
    );
    assert.equal(await rows(database, "pawl_workflows"), 0);
  },
);

postgresTest("what work throws rolls back and comes through as it is", async (database) => {
  await using store = database.store();
  await store.migrate();
  const thrown = new Error("mine");
  await assert.rejects(
    store.transaction(async (tx) => {
      await store.create([newWorkflow()], { now: T0, tx });
      throw thrown;
    }),
    (error) => error === thrown,
  );
  assert.equal(await rows(database, "pawl_workflows"), 0);
  const own = store.transaction((tx) => tx.query("SELECT 1/0"));
  await assert.rejects(own, (error) => !(error instanceof StoreError) && hasCode(error, "22012"));
  await assert.rejects(
    store.create([newWorkflow()], {
      now: T0,
      beforeCommit: (tx) => tx.query("SELECT * FROM no_such_table").then(() => {}),
    }),
    (error) => !(error instanceof StoreError) && hasCode(error, "42P01"),
  );
  assert.equal(await rows(database, "pawl_workflows"), 0);
  assert.equal(await store.transaction(() => Promise.resolve(5)), 5);
});

postgresTest(
  "EXE-17 SCH-06 a finish in a transaction commits with it or not at all",
  async (database) => {
    await using store = database.store();
    await store.migrate();
    const claimed = await startClaimed(store);
    await inTransaction(database.url, async (tx) => {
      const [done] = await store.finish([finished(claimed)], { now: after(1), tx });
      assert.equal(done?.kind, "done");
      await tx.query("ROLLBACK");
    });
    assert.equal((await store.getExecution(claimed.execution.id))?.state, "in_progress");
    const [done] = await store.finish([finished(claimed)], { now: after(2) });
    assert.equal(done?.kind, "done");
  },
);

postgresTest(
  "EXE-18 what a store remembers of its claims is never believed blindly",
  async (database) => {
    await using store = database.store();
    await using other = database.store();
    await store.migrate();
    // Paused, taken over and deleted from outside: each by another store.
    const paused = await startClaimed(store, { heroId: "1" });
    const taken = await startClaimed(store, { heroId: "2" });
    const gone = await startClaimed(store, { heroId: "3" });
    const plain = await startClaimed(store, { heroId: "4" });
    await other.command(paused.workflow.id, { kind: "pause" }, { now: after(1) });
    await other.claimDue({
      now: after(60_000),
      token: "other",
      leaseMs: 1_000,
      worker: "other",
      limit: 10,
      state: "in_progress",
    });
    await database.query("DELETE FROM pawl_workflows WHERE id = $1", [gone.workflow.id]);
    const results = await store.finish(
      [taken, gone, plain].map((one) => finished(one)),
      { now: after(60_001) },
    );
    assert.deepEqual(results.map((one) => one.kind), ["lost", "lost", "lost"]);
    const fresh = await startClaimed(store, { heroId: "5" });
    await other.command(fresh.workflow.id, { kind: "pause" }, { now: after(1) });
    const untouched = await startClaimed(store, { heroId: "6" });
    const both = await store.finish([finished(fresh), finished(untouched)], { now: after(2) });
    assert.deepEqual(
      both.map((one) => one.kind === "done" && one.execution.outcome),
      ["success", "success"],
    );
    const [first, second] = both.map((one) => one.kind === "done" ? one.workflow : null);
    assert.equal(second?.state, "finished");
    assert.deepEqual(await store.get(fresh.workflow.id), first);
  },
);

postgresTest(
  "EXE-05 many finishes at once, some of them twice, are each done once",
  async (database) => {
    await using store = database.store({ maxConnections: 4 });
    await store.migrate();
    const claimed = [];
    for (let at = 0; at < 20; at++) claimed.push(await startClaimed(store, { heroId: `${at}` }));
    const ends = [...claimed, ...claimed].map((one) => finished(one));
    const kinds = await Promise.all(
      ends.map(async (end) => (await store.finish([end], { now: after(1) }))[0]?.kind),
    );
    assert.equal(kinds.filter((kind) => kind === "done").length, 20);
    assert.equal(kinds.filter((kind) => kind === "lost").length, 20);
  },
);

postgresTest(
  "EXE-26 a transactional step that is killed before its commit is done exactly once",
  async (database) => {
    await database.query("CREATE TABLE bookings (what text)");
    await using store = database.store();
    await store.migrate();
    let written = (): Promise<void> => Promise.resolve();
    const definition = transfer(() => written());
    await using engine = createEngine({
      store,
      workflows: [definition],
      leaseMs: 500,
      pollMs: 20,
    });
    const run = await engine.start(definition);
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-A", "--no-check", "--quiet"],
        new URL("./_postgres_child.ts", import.meta.url).pathname,
        database.url,
      ],
      stdout: "piped",
    }).spawn();
    const output = child.stdout.getReader();
    await output.read();
    child.kill("SIGKILL");
    await child.status;
    await output.cancel();
    assert.equal(await rows(database, "bookings"), 1, "only the first step was committed");
    const ended = new Promise<void>((resolve) => {
      engine.events.on(
        "finalize",
        ({ workflowState }) => workflowState === "finished" && resolve(),
      );
    });
    let gave = 0;
    written = () => Promise.resolve(void gave++);
    await using _worker = engine.work();
    await ended;
    const bookings = await database.query("SELECT what FROM bookings ORDER BY what");
    assert.deepEqual(bookings.map((row) => row.what), ["give", "take"]);
    assert.equal(gave, 1);
    const history = await run.history();
    assert.deepEqual(
      history.map(({ stepName, outcome }) => [stepName, outcome]),
      [["take", "success"], ["give", "recovered"], ["give", "success"], ["tell", "success"]],
    );
  },
);

postgresTest(
  "a transaction with the whole pool in use goes on with what it has",
  async (database) => {
    await using pool = testPool(database.url, { max: 1, connectionTimeoutMillis: 300 });
    const store = postgresStore(pool);
    await store.migrate();
    const fresh = postgresStore(pool);
    await fresh.transaction(async (tx) => {
      // Even the type of the keys, which a new store has to look up, is read inside.
      const [created] = await fresh.create([newWorkflow()], { now: T0, tx });
      assert.equal(created?.kind, "created");
      await assert.rejects(fresh.get("1"), (error) => {
        assert.ok(error instanceof StoreError);
        assert.match(error.message, /all connections of the pool were in use.*pass \{ tx \}/);
        return true;
      });
    });
    const { execution } = await start(store, { heroId: "2" });
    await claim(store, execution.id);
    assert.equal(await rows(database, "pawl_workflows"), 2);
  },
);
