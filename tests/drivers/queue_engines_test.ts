/** What the queues over other people's engines promise beyond the cases that every queue passes. */

import assert from "node:assert/strict";
import {
  type Clock,
  createEngine,
  type Engine,
  InvalidInputError,
  StoreError,
  systemClock,
  workflow,
} from "../../mod.ts";
import { postgresStore } from "../../drivers/postgres/mod.ts";
import { testPool } from "./_postgres.ts";
import {
  closing,
  eachEngine,
  ENGINES,
  eventually,
  idsIn,
  job,
  listening,
} from "./_queue_engines.ts";

const order = workflow({
  name: "order",
  steps: [
    { name: "pay", run() {} },
    { name: "pack", wait: "1 day", run() {} },
  ],
});

/** Resolves when so many steps have ended. */
function finalizes(engine: Engine, count: number): Promise<void> {
  let left = count;
  return new Promise((resolve) => {
    engine.events.on("finalize", () => --left === 0 && resolve());
  });
}

eachEngine(
  "BLK-09 a job and its rows are committed together, or neither is",
  async (kind, database) => {
    await using pool = testPool(database.url);
    await using queue = closing(kind.open(pool));
    await using engine = createEngine({ store: postgresStore(pool), queue, workflows: [order] });
    await engine.migrate();
    const run = await engine.start(order);
    const executionId = (await run.currentExecution())?.id;
    assert.deepEqual(await idsIn(kind, database), [executionId]);
    const client = await pool.connect();
    await client.query("BEGIN");
    await engine.start(order, { tx: client });
    assert.deepEqual(await idsIn(kind, database), [executionId], "nobody else sees it yet");
    await client.query("ROLLBACK");
    await client.query("BEGIN");
    await engine.start(order, { tx: client });
    await client.query("COMMIT");
    client.release();
    assert.equal((await idsIn(kind, database)).length, 2);
    assert.equal((await engine.list({ workflow: order })).items.length, 2);
    await database.query(`DROP SCHEMA ${kind.schema} CASCADE`);
    await assert.rejects(engine.start(order), (error) => {
      assert.ok(error instanceof StoreError, String(error));
      assert.match(error.message, /they are made again at the next use$/);
      return true;
    });
    assert.equal((await engine.list({ workflow: order })).items.length, 2, "no row without a job");
    await engine.start(order);
    assert.equal((await idsIn(kind, database)).length, 1);
  },
);

eachEngine(
  "SCH-03 an engine runs what is due and enqueues what is next",
  async (kind, database) => {
    await using pool = testPool(database.url);
    await using queue = closing(kind.open(database.url));
    await using engine = createEngine({
      store: postgresStore(pool),
      queue,
      workflows: [order],
      pollMs: 3_600_000,
    });
    await engine.migrate();
    const paid = finalizes(engine, 20);
    await using worker = engine.work();
    await engine.startMany(order, Array.from({ length: 20 }, () => ({})));
    await paid;
    await worker.stop();
    const rows = await database.query(
      `SELECT j.run_at = e.scheduled_for AS same, e.step_name FROM (${kind.jobs}) j ` +
        "JOIN pawl_step_executions e ON e.id::text = j.execution_id",
    );
    assert.equal(rows.length, 20);
    for (const row of rows) assert.deepEqual(row, { same: true, step_name: "pack" });
  },
);

eachEngine("a transaction that has all connections of the pool needs none for its jobs", async (
  kind,
  database,
) => {
  await using pool = testPool(database.url, { max: 1 });
  await using queue = closing(kind.open(pool));
  const client = await pool.connect();
  await client.query("BEGIN");
  await queue.enqueue([job("1")], { tx: client });
  await client.query("COMMIT");
  client.release();
  assert.deepEqual(await idsIn(kind, database), ["1"]);
});

eachEngine("the first use of a queue in a long transaction holds up nobody", async (
  kind,
  database,
) => {
  await using pool = testPool(database.url);
  await using queue = closing(kind.open(pool));
  await using other = closing(kind.open(pool));
  await using listener = listening(other);
  const client = await pool.connect();
  await client.query("BEGIN");
  await queue.enqueue([job("1", { queue: "new" })], { tx: client });
  await other.enqueue([job("2", { queue: "new" })]);
  await listener.all(["2"]);
  assert.deepEqual(listener.ids, ["2"]);
  await client.query("COMMIT");
  client.release();
  await listener.all(["1"]);
});

eachEngine("SCH-13 jobs come by priority, then by age", async (kind, database) => {
  await using queue = closing(kind.open(database.url, { batchSize: 3 }));
  const ago = (ms: number): Date => new Date(Date.now() - ms);
  await queue.enqueue([
    job("lazy", { runAt: ago(99_000), priority: 2_147_483_647 }),
    job("old", { runAt: ago(5_000) }),
    job("urgent", { runAt: ago(1_000), priority: -2_147_483_647 }),
    job("later", { runAt: new Date(Date.now() + 3_600_000), priority: -2_147_483_647 }),
    job("older", { runAt: ago(9_000) }),
    job("hasty", { runAt: ago(1_000), priority: -5 }),
  ]);
  await using listener = listening(queue);
  await listener.all(["lazy"]);
  assert.deepEqual(listener.ids, ["urgent", "hasty", "older", "old", "lazy"]);
  assert.deepEqual(listener.calls[0], ["urgent", "hasty", "older"], "as many as asked for");
});

const NAMES = [
  ...["mail", "Mail", "mail/slow", "mail%2Fslow", "größe 🐢", `"quo'ted"`, "a~b!(c)*", "-"],
  ...["x".repeat(250), "x".repeat(251)],
];

eachEngine("a queue may have any name, and reaches those who serve it", async (kind, database) => {
  await using queue = closing(kind.open(database.url));
  await using here = closing(kind.open(database.url));
  await using there = closing(kind.open(database.url));
  const served = NAMES.filter((_, at) => at % 2 === 0);
  await using some = listening(here, { queues: served });
  await queue.enqueue(NAMES.map((name) => job(name, { queue: name })));
  await some.all(served);
  assert.deepEqual([...some.ids].sort(), [...served].sort());
  // One that serves all learns of queues that another process has made while it listens.
  await using all = listening(there);
  const rest = NAMES.filter((_, at) => at % 2 === 1);
  await all.all(rest);
  await queue.enqueue([job("last", { queue: "nobody knew of it" })]);
  await all.all(["last"]);
  await eventually(async () => (await idsIn(kind, database)).length === 0);
});

eachEngine("two prefixes are two worlds", async (kind, database) => {
  await using one = closing(kind.open(database.url, { prefix: "one." }));
  await using two = closing(kind.open(database.url, { prefix: "two." }));
  await one.enqueue([job("1")]);
  await two.enqueue([job("2")]);
  await using listener = listening(two);
  await listener.all(["2"]);
  assert.deepEqual(listener.ids, ["2"]);
  await eventually(async () => (await idsIn(kind, database)).join() === "1");
});

eachEngine("a job that is announced again for now comes now", async (kind, database) => {
  await using queue = closing(kind.open(database.url));
  await queue.enqueue([job("1", { runAt: new Date(Date.now() + 3_600_000) })]);
  await queue.enqueue([job("1")]);
  await using listener = listening(queue);
  await listener.all(["1"]);
});

eachEngine(
  "a job that is announced again while it is delivered is kept",
  async (kind, database) => {
    await using queue = closing(kind.open(database.url));
    const later = new Date(Date.now() + 3_600_000);
    await queue.enqueue([job("1"), job("2")]);
    let isTold = false;
    {
      await using listener = listening(queue, {
        async during() {
          if (!isTold) await queue.enqueue([job("1", { runAt: later })]);
          isTold = true;
        },
      });
      await listener.all(["1", "2"]);
    }
    const rows = await database.query(kind.jobs);
    assert.deepEqual(rows.map((row) => [row.execution_id, row.run_at]), [["1", later]]);
  },
);

eachEngine("what was delivered leaves nothing behind", async (kind, database) => {
  await using queue = closing(kind.open(database.url));
  const ids = Array.from({ length: 300 }, (_, at) => `job ${at}`);
  {
    await using listener = listening(queue);
    await queue.enqueue(ids.map((id) => job(id)));
    await listener.all(ids);
  }
  assert.deepEqual(await idsIn(kind, database), []);
});

/** A clock that is so far behind the server's. */
function slowClock(ms: number): Clock {
  return { ...systemClock, now: () => Date.now() - ms };
}

eachEngine(
  "EXE-15 a server whose clock is ahead delivers nothing early",
  async (kind, database) => {
    await using queue = closing(kind.open(database.url));
    const clock = slowClock(60_000);
    const runAt = new Date(clock.now() + 300);
    let deliveredAt = 0;
    await queue.enqueue([job("1", { runAt }), job("2", { runAt: new Date(clock.now()) })]);
    await using listener = listening(queue, {
      clock,
      during(jobs) {
        if (jobs.some((one) => one.executionId === "1")) deliveredAt = clock.now();
        return Promise.resolve();
      },
    });
    await listener.all(["2"]);
    await eventually(async () => (await idsIn(kind, database)).length === 1);
    await listener.all(["1"]);
    assert.ok(deliveredAt >= runAt.getTime(), `it came ${runAt.getTime() - deliveredAt} ms early`);
    assert.deepEqual(listener.ids, ["2", "1"], "and was not handed over in vain");
    await eventually(async () => (await idsIn(kind, database)).length === 0);
  },
);

eachEngine("waits of years are no trouble", async (kind, database) => {
  await using queue = closing(kind.open(database.url));
  await queue.enqueue([
    job("a century", { runAt: new Date(Date.UTC(2126, 0, 1)) }),
    job("never", { runAt: new Date(8.64e15) }),
    job("always", { runAt: new Date(-8.64e15) }),
  ]);
  await using listener = listening(queue);
  await listener.all(["always"]);
  await eventually(async () => (await idsIn(kind, database)).length === 2);
  assert.deepEqual(listener.ids, ["always"]);
});

eachEngine("a schema of its own works", async (kind, database) => {
  await using queue = closing(kind.open(database.url, { schema: "elsewhere" }));
  await using listener = listening(queue);
  await queue.enqueue([job("1")]);
  await listener.all(["1"]);
  assert.ok((await database.query("SELECT 1 FROM pg_namespace WHERE nspname = 'elsewhere'"))[0]);
  assert.deepEqual(
    await database.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [kind.schema]),
    [],
  );
});

for (const { name, open } of ENGINES) {
  Deno.test(`${name}: options that cannot work are refused`, async () => {
    const url = "postgres://localhost/app";
    for (const batchSize of [0, 1.5, -1, NaN]) {
      assert.throws(() => open(url, { batchSize }), InvalidInputError);
    }
    for (const maxConnections of [0, 1, 2.5]) {
      assert.throws(() => open(url, { maxConnections }), InvalidInputError);
    }
    for (const source of ["not a url", "mysql://localhost/app", {}, null]) {
      assert.throws(() => open(source as string), InvalidInputError);
    }
    const queue = open(url);
    await queue.close();
    await assert.rejects(queue.enqueue([job("1")]), StoreError);
  });
}
