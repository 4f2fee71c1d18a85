/** What `postgresQueue` promises beyond the cases that every queue passes. */

import assert from "node:assert/strict";
import {
  createEngine,
  type Engine,
  InvalidInputError,
  type Job,
  MigrationError,
  StoreError,
  systemClock,
  workflow,
} from "../../mod.ts";
import { postgresQueue } from "../../drivers/queues/mod.ts";
import { openJobTable } from "../../drivers/postgres/jobs.ts";
import { postgresStore } from "../../drivers/postgres/mod.ts";
import { createFakeClock } from "../../src/testing/mod.ts";
import { postgresTest, type TestDatabase, testPool } from "./_postgres.ts";

function job(executionId: string, runAt: Date, over: Partial<Job> = {}): Job {
  return { executionId, runAt, queue: "default", priority: 0, ...over };
}

async function jobsIn(database: TestDatabase): Promise<string[]> {
  const rows = await database.query("SELECT execution_id FROM pawl_jobs ORDER BY id");
  return rows.map((row) => String(row.execution_id));
}

/** Delivers what is due at the clock's time until nothing is, and answers the order. */
async function delivered(
  queue: ReturnType<typeof postgresQueue>,
  clock: ReturnType<typeof createFakeClock>,
  expected: number,
  queues?: readonly string[],
): Promise<string[]> {
  const stopping = new AbortController();
  const ids: string[] = [];
  await queue.listen((jobs) => {
    ids.push(...jobs.map((one) => one.executionId));
    if (ids.length >= expected) queueMicrotask(() => setTimeout(() => stopping.abort()));
    return Promise.resolve();
  }, { signal: stopping.signal, clock, pollMs: 1_000, queues });
  return ids;
}

const order = workflow({
  name: "order",
  steps: [
    { name: "pay", run() {} },
    { name: "pack", wait: "1 day", run() {} },
  ],
});

async function migrated(database: TestDatabase): Promise<void> {
  await using store = database.store();
  await store.migrate();
}

postgresTest(
  "BLK-09 a job and its rows are committed together, or neither is",
  async (database) => {
    await using pool = testPool(database.url);
    const store = postgresStore(pool);
    const queue = postgresQueue(pool);
    await using engine = createEngine({ store, queue, workflows: [order] });
    await engine.migrate();
    const run = await engine.start(order);
    const executionId = (await run.currentExecution())?.id;
    assert.deepEqual(await jobsIn(database), [executionId]);
    const client = await pool.connect();
    await client.query("BEGIN");
    await engine.start(order, { tx: client });
    assert.deepEqual(await jobsIn(database), [executionId], "nobody else sees it yet");
    await client.query("ROLLBACK");
    await client.query("BEGIN");
    await engine.start(order, { tx: client });
    await client.query("COMMIT");
    client.release();
    assert.equal((await jobsIn(database)).length, 2);
    assert.equal((await engine.list({ workflow: order })).items.length, 2);
    await database.query("ALTER TABLE pawl_jobs RENAME TO elsewhere");
    await assert.rejects(engine.start(order), MigrationError);
    assert.equal((await engine.list({ workflow: order })).items.length, 2, "no row without a job");
    await queue.close();
  },
);

postgresTest(
  "SCH-03 an engine on the queue runs what is due and enqueues what is next",
  async (database) => {
    await using pool = testPool(database.url);
    const queue = postgresQueue(pool);
    await using engine = createEngine({
      store: postgresStore(pool),
      queue,
      workflows: [order],
      pollMs: 3_600_000,
    });
    await engine.migrate();
    const paid = finalizes(engine, 20);
    await using _worker = engine.work();
    await engine.startMany(order, Array.from({ length: 20 }, () => ({})));
    await paid;
    const rows = await database.query(
      "SELECT j.run_at = e.scheduled_for AS same, e.step_name FROM pawl_jobs j " +
        "JOIN pawl_step_executions e ON e.id::text = j.execution_id WHERE e.state = 'scheduled'",
    );
    assert.equal(rows.length, 20);
    for (const row of rows) assert.deepEqual(row, { same: true, step_name: "pack" });
    await queue.close();
  },
);

/** Resolves when so many steps have ended. */
function finalizes(engine: Engine, count: number): Promise<void> {
  let left = count;
  return new Promise((resolve) => {
    engine.events.on("finalize", () => --left === 0 && resolve());
  });
}

postgresTest(
  "SCH-13 jobs come by priority, then by age, from the queues that are served",
  async (database) => {
    await migrated(database);
    await using pool = testPool(database.url);
    const queue = postgresQueue(pool, { batchSize: 2 });
    const clock = createFakeClock();
    const at = (ms: number): Date => new Date(clock.now() + ms);
    await queue.enqueue([
      job("old", at(-5_000)),
      job("urgent", at(-1_000), { priority: -5 }),
      job("older", at(-9_000)),
      job("other", at(-9_000), { queue: "mail", priority: -9 }),
      job("future", at(60_000), { priority: -9 }),
      job("lazy", at(-99_000), { priority: 5 }),
    ]);
    assert.deepEqual(await delivered(queue, clock, 4, ["default"]), [
      "urgent",
      "older",
      "old",
      "lazy",
    ]);
    assert.deepEqual(await jobsIn(database), ["other", "future"]);
    await queue.close();
  },
);

postgresTest(
  "a job is kept until it is taken over, and comes back if that never happens",
  async (database) => {
    await migrated(database);
    await using pool = testPool(database.url);
    const clock = createFakeClock();
    const dying = postgresQueue(pool);
    await dying.enqueue([job("1", new Date(clock.now()))]);
    const stopping = new AbortController();
    let taken = (): void => {};
    const taking = new Promise<void>((resolve) => void (taken = resolve));
    let release = (): void => {};
    const ended = dying.listen(() => {
      taken();
      return new Promise<void>((resolve) => void (release = resolve));
    }, { signal: stopping.signal, clock, pollMs: 1_000 });
    await taking;
    assert.deepEqual(await jobsIn(database), ["1"], "it is still there");
    const table = openJobTable(pool, {
      tablePrefix: "pawl_",
      schema: undefined,
      preparedStatements: true,
      maxConnections: 1,
    });
    const takeAt = async (ms: number): Promise<string[]> => {
      const now = new Date(clock.now() + ms);
      const jobs = await table.take({ now, until: new Date(now.getTime() + 1_000), limit: 5 });
      return jobs.map((one) => one.executionId);
    };
    assert.deepEqual(await takeAt(29_999), [], "but held");
    assert.deepEqual(await takeAt(30_000), ["1"]);
    await table.close();
    stopping.abort();
    release();
    await ended;
    await dying.close();
  },
);

postgresTest(
  "a listener that is stopped while it hands over gives the jobs back at once",
  async (database) => {
    await migrated(database);
    await using pool = testPool(database.url);
    const queue = postgresQueue(pool);
    const clock = createFakeClock();
    const due = new Date(clock.now() - 1_000);
    await queue.enqueue([job("1", due)]);
    const stopping = new AbortController();
    await queue.listen(() => {
      stopping.abort();
      return Promise.resolve();
    }, { signal: stopping.signal, clock, pollMs: 1_000 });
    const [row] = await database.query("SELECT run_at FROM pawl_jobs");
    assert.deepEqual(row?.run_at, due);
    await queue.close();
  },
);

postgresTest(
  "a job for a row that is gone is dropped, and the worker goes on",
  async (database) => {
    await using pool = testPool(database.url);
    const queue = postgresQueue(pool);
    await using engine = createEngine({ store: postgresStore(pool), queue, workflows: [order] });
    await engine.migrate();
    const gone = await engine.start(order);
    await database.query("DELETE FROM pawl_workflows WHERE id = $1", [gone.id]);
    const ended = finalizes(engine, 1);
    await using _worker = engine.work();
    await engine.start(order);
    await ended;
    await queue.close();
  },
);

postgresTest("a schema, a prefix and a URL of its own work", async (database) => {
  const names = { schema: "flows", tablePrefix: "x_" };
  await using store = database.store(names);
  const queue = postgresQueue(database.url, names);
  await using engine = createEngine({ store, queue, workflows: [order] });
  await engine.migrate();
  const ended = finalizes(engine, 1);
  await using _worker = engine.work();
  await engine.start(order);
  await ended;
  assert.equal((await database.query("SELECT 1 FROM flows.x_jobs")).length, 1);
  await queue.close();
});

postgresTest(
  "a missing table ends the listening with what to do, a lost database does not",
  async (database) => {
    await using pool = testPool(database.url);
    const queue = postgresQueue(pool);
    const stopping = new AbortController();
    const how = { signal: stopping.signal, clock: systemClock, pollMs: 5 };
    await assert.rejects(queue.listen(() => Promise.resolve(), how), (error) => {
      assert.ok(error instanceof MigrationError);
      assert.match(error.message, /run `await engine\.migrate\(\)` first/);
      return true;
    });
    await assert.rejects(queue.enqueue([job("1", new Date())]), MigrationError);
    await migrated(database);
    let arrived = (): void => {};
    const arriving = new Promise<void>((resolve) => void (arrived = resolve));
    const listening = queue.listen(() => Promise.resolve(arrived()), how);
    for (let times = 0; times < 5; times++) {
      await database.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity " +
          "WHERE datname = current_database() AND pid <> pg_backend_pid()",
      );
    }
    await queue.enqueue([job("1", new Date())]);
    await arriving;
    stopping.abort();
    await listening;
    await queue.close();
    await queue.close();
    await assert.rejects(queue.enqueue([job("2", new Date())]), StoreError);
  },
);

Deno.test("options that cannot work are refused", async () => {
  for (const batchSize of [0, 1.5, -1, NaN]) {
    assert.throws(
      () => postgresQueue("postgres://localhost/app", { batchSize }),
      InvalidInputError,
    );
  }
  const queue = postgresQueue("not a url");
  await assert.rejects(queue.enqueue([job("1", new Date())]), InvalidInputError);
  await queue.close();
});
