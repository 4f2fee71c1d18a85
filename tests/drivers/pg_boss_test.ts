/** What is true of the queue over pg-boss alone. */

import assert from "node:assert/strict";
import { PgBoss } from "pg-boss";
import { createEngine, InvalidInputError, workflow } from "../../mod.ts";
import { postgresStore } from "../../drivers/postgres/mod.ts";
import { pgBossQueue } from "../../drivers/queues/pg_boss.ts";
import { nameOf } from "../../drivers/queues/pg_boss/jobs.ts";
import { postgresTest, testPool } from "./_postgres.ts";
import { closing, eventually, job, listening } from "./_queue_engines.ts";

const order = workflow({ name: "order", steps: [{ name: "pay", run() {} }] });

/** A pg-boss of the application. */
async function applicationBoss(url: string): Promise<PgBoss & AsyncDisposable> {
  const boss = new PgBoss({ connectionString: url, schema: "jobs", schedule: false });
  boss.on("error", () => {});
  await boss.start();
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
