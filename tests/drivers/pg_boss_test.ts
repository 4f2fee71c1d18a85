/** What is true of the queue over pg-boss alone. */

import assert from "node:assert/strict";
import { PgBoss } from "pg-boss";
import { createEngine, InvalidInputError, workflow } from "../../mod.ts";
import { postgresStore } from "../../drivers/postgres/mod.ts";
import { pgBossQueue } from "../../drivers/queues/pg_boss.ts";
import { nameOf } from "../../drivers/queues/pg_boss/jobs.ts";
import { recordingLogger } from "../run/_doubles.ts";
import { postgresTest, testPool } from "./_postgres.ts";
import { closing, eventually, job, listening } from "./_queue_engines.ts";

const order = workflow({ name: "order", steps: [{ name: "pay", run() {} }] });

/** A pg-boss of the application, which it has started. */
async function applicationBoss(url: string): Promise<PgBoss & AsyncDisposable> {
  const boss = restingBoss(url);
  await boss.start();
  return boss;
}

/** One that it has not. */
function restingBoss(url: string): PgBoss & AsyncDisposable {
  const boss = new PgBoss({ connectionString: url, schema: "jobs", schedule: false });
  boss.on("error", () => {});
  return Object.assign(boss, {
    [Symbol.asyncDispose]: () => boss.stop({ graceful: false }),
  });
}

postgresTest("a pg-boss of the application is used, and stays its own", async (database) => {
  await using boss = await applicationBoss(database.url);
  await using pool = testPool(database.url);
  await boss.createQueue("mine");
  await boss.send("mine", { a: 1 });
  {
    await using queue = closing(pgBossQueue(boss));
    const store = postgresStore(pool);
    await using engine = createEngine({ store, queue, workflows: [order], pollMs: 20 });
    await engine.migrate();
    await using _worker = engine.work();
    const client = await pool.connect();
    await client.query("BEGIN");
    const run = await engine.start(order, { tx: client });
    await client.query("COMMIT");
    client.release();
    await eventually(async () => (await engine.find(run.id))?.state === "finished");
  }
  const [mine] = await boss.fetch<{ a: number }>("mine");
  assert.deepEqual(mine?.data, { a: 1 }, "it runs on, and its other queues were left alone");
  const left = await database.query("SELECT 1 FROM jobs.job WHERE name LIKE 'pawl/%'");
  assert.deepEqual(left, []);
});

postgresTest(
  "a pg-boss that is started after the worker is used from then on",
  async (database) => {
    await using boss = restingBoss(database.url);
    const logger = recordingLogger();
    await using queue = closing(pgBossQueue(boss));
    const store = postgresStore(database.url);
    await using engine = createEngine({ store, queue, workflows: [order], pollMs: 20, logger });
    await engine.migrate();
    await using _worker = engine.work();
    const said = /\[pg-boss\] Cannot use the given pg-boss: it is not running; await its start\(\)/;
    await assert.rejects(engine.start(order), said);
    const warnings = () => logger.lines.filter(({ level }) => level === "warn");
    await eventually(() => Promise.resolve(warnings().length > 0));
    assert.match(String(warnings()[0]?.fields.error), said);
    await boss.start();
    const run = await engine.start(order);
    await eventually(async () => (await engine.find(run.id))?.state === "finished");
    assert.equal(warnings().length, 1);
  },
);

postgresTest(
  "a transaction that is older than its queue is told to try again",
  async (database) => {
    await using pool = testPool(database.url);
    await using queue = closing(pgBossQueue(pool));
    const client = await pool.connect();
    try {
      await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
      await client.query("SELECT 1");
      await assert.rejects(
        async () => await queue.enqueue([job("1")], { tx: client }),
        /queue "pawl\/default" is gone, or younger than what this transaction sees; try again/,
      );
      await client.query("ROLLBACK");
      await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
      await queue.enqueue([job("1")], { tx: client });
      await client.query("COMMIT");
    } finally {
      client.release();
    }
    await using listener = listening(queue);
    await listener.all(["1"]);
  },
);

postgresTest("jobs that others put into its queues are removed", async (database) => {
  await using boss = await applicationBoss(database.url);
  await using queue = closing(pgBossQueue(boss));
  await queue.enqueue([job("1", { runAt: new Date(Date.now() + 3_600_000) })]);
  await boss.send("pawl/default", { what: "is this" });
  await using listener = listening(queue);
  await queue.enqueue([job("2")]);
  await listener.all(["2"]);
  await eventually(async () => (await database.query("SELECT 1 FROM jobs.job")).length === 1);
});

postgresTest("a queue that an administrator deletes is made again", async (database) => {
  await using boss = await applicationBoss(database.url);
  await using queue = closing(pgBossQueue(boss));
  await using listener = listening(queue, { queues: ["default"] });
  await queue.enqueue([job("1")]);
  await listener.all(["1"]);
  await eventually(async () => (await database.query("SELECT 1 FROM jobs.job")).length === 0);
  await boss.deleteQueue("pawl/default");
  await eventually(() => queue.enqueue([job("2")]).then(() => true, () => false));
  await listener.all(["2"]);
});

Deno.test("a schema cannot be chosen for a pg-boss that has one", () => {
  const boss = new PgBoss("postgres://localhost/app");
  assert.throws(() => pgBossQueue(boss, { schema: "other" }), InvalidInputError);
});

Deno.test("names of queues differ in pg-boss where they differ in Pawl, and are allowed", () => {
  const names = [
    "mail",
    "Mail",
    "mail/slow",
    "mail%2Fslow",
    "/2F",
    "größe 🐢",
    "a!b'c(d)e*f~g",
    ".",
  ];
  const encoded = names.map((name) => nameOf("pawl/", name));
  assert.equal(new Set(encoded).size, names.length);
  for (const name of encoded) assert.match(name, /^[\w.\-/]+$/);
  assert.equal(encoded[0], "pawl/mail");
});
