/** What queues over other people's engines do when somebody dies, is away, or may not. */

import assert from "node:assert/strict";
import { type Logger, StoreError, systemClock } from "../../mod.ts";
import { createFakeClock } from "../../src/testing/mod.ts";
import { canStart, ownPostgres, startOwn } from "../_own_servers.ts";
import { postgresTest, queryOn, type TestDatabase, testPool } from "./_postgres.ts";
import {
  closing,
  eachEngine,
  ENGINES,
  eventually,
  job,
  listening,
  persistently,
  type QueueEngine,
} from "./_queue_engines.ts";

const CAN_START = await canStart(ownPostgres);

eachEngine("jobs of a process that died are given to others", async (kind, database) => {
  await using queue = closing(kind.open(database.url));
  await queue.enqueue([job("1"), job("2")]);
  await database.query(kind.abandon);
  const clock = createFakeClock({ now: Date.now() });
  await using listener = listening(queue, { clock });
  // Until then each of them may still be in the hands of somebody who is only slow.
  await eventually(async () => {
    await clock.tick(10_000);
    if (kind.name === "pg-boss") await superviseNow(database);
    return listener.ids.length >= 2;
  });
  assert.deepEqual([...listener.ids].sort(), ["1", "2"]);
});

/** What pg-boss does by itself every minute. */
async function superviseNow(database: TestDatabase): Promise<void> {
  const { PgBoss } = await import("pg-boss");
  const boss = new PgBoss({ connectionString: database.url, supervise: false, schedule: false });
  await boss.start();
  await boss.supervise();
  await boss.stop({ graceful: false });
}

eachEngine("a listener survives the loss of its connections", async (kind, database) => {
  await using queue = closing(kind.open(database.url));
  await using listener = listening(queue);
  for (let times = 0; times < 5; times++) {
    await database.query(TERMINATE);
    await persistently(() => queue.enqueue([job(`${times}`)]));
    await listener.all([`${times}`]);
  }
});

eachEngine("a listener survives the loss of its tables", async (kind, database) => {
  await using queue = closing(kind.open(database.url));
  await using listener = listening(queue);
  await queue.enqueue([job("1")]);
  await listener.all(["1"]);
  await database.query(`DROP SCHEMA ${kind.schema} CASCADE`);
  await persistently(() => queue.enqueue([job("2"), job("3", { queue: "other" })]));
  await listener.all(["2", "3"]);
});

for (const { name, open } of ENGINES) {
  Deno.test({
    name: `${name}: a listener survives a restart and a crash of the server, and no job is lost`,
    ignore: !CAN_START,
    async fn() {
      await using server = await startOwn(ownPostgres);
      await using queue = closing(open(server.url));
      await using listener = listening(queue);
      const wanted: string[] = [];
      for (const mode of ["fast", "crash"] as const) {
        const ids = Array.from({ length: 500 }, (_, at) => `${mode} ${at}`);
        await persistently(() => queue.enqueue(ids.map((id) => job(id))));
        await listener.until((came) => came.length > wanted.length + 100);
        wanted.push(...ids);
        await server.restart(mode);
        await persistently(() => queue.enqueue([job(`after ${mode}`)]));
        await listener.all([`after ${mode}`]);
      }
      const jobs = ENGINES.find((one) => one.name === name)?.jobs as string;
      // Those that were in somebody's hands when it happened are kept for others.
      const kept = (await queryOn(server.url, jobs)).map((row) => String(row.execution_id));
      const known = new Set([...listener.ids, ...kept]);
      assert.deepEqual(wanted.filter((id) => !known.has(id)), []);
    },
  });
}

eachEngine("a user who may not make the tables is told what to do", async (kind, database) => {
  const role = `guest_${crypto.randomUUID().slice(0, 8)}`;
  await database.query(`CREATE ROLE ${role} LOGIN`);
  const url = new URL(database.url);
  url.username = role;
  try {
    const queue = kind.open(url);
    const refused = (error: unknown): boolean => {
      assert.ok(error instanceof StoreError, String(error));
      assert.match(error.message, /permission denied.*let their owner make them/);
      return true;
    };
    await assert.rejects(queue.enqueue([job("1")]), refused);
    const signal = AbortSignal.timeout(60_000);
    const how = { signal, clock: systemClock, pollMs: 50 };
    await assert.rejects(queue.listen(() => Promise.resolve(), how), refused);
    await queue.close();
  } finally {
    await database.query(`DROP ROLE ${role}`);
  }
});

eachEngine("a user who owns nothing works in tables that others have made", async (
  kind,
  database,
) => {
  const role = `worker_${crypto.randomUUID().slice(0, 8)}`;
  await using owner = closing(kind.open(database.url));
  await owner.enqueue([job("1")]);
  await database.query(`CREATE ROLE ${role} LOGIN BYPASSRLS`);
  await database.query(`GRANT USAGE ON SCHEMA ${kind.schema} TO ${role}`);
  for (const what of ["TABLES", "SEQUENCES", "FUNCTIONS"]) {
    await database.query(`GRANT ALL ON ALL ${what} IN SCHEMA ${kind.schema} TO ${role}`);
  }
  const url = new URL(database.url);
  url.username = role;
  try {
    await using queue = closing(kind.open(url));
    await using listener = listening(queue);
    await listener.all(["1"]);
    await queue.enqueue([job("2", { queue: "its own" })]);
    await listener.all(["2"]);
  } finally {
    await queryOn(database.url, `DROP OWNED BY ${role}; DROP ROLE ${role}`);
  }
});

const TERMINATE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity " +
  "WHERE datname = current_database() AND pid <> pg_backend_pid()";

/** What is printed while something goes on. */
async function printed(work: () => Promise<void>): Promise<unknown[][]> {
  const before = { ...console };
  const lines: unknown[][] = [];
  for (const way of ["debug", "log", "info", "warn", "error", "trace"] as const) {
    console[way] = (...line: unknown[]): void => void lines.push(line);
  }
  try {
    await work();
  } finally {
    Object.assign(console, before);
  }
  return lines;
}

eachEngine("an engine prints nothing, whatever happens", async (kind, database) => {
  const lines = await printed(async () => {
    await using queue = closing(kind.open(database.url));
    await using listener = listening(queue);
    await queue.enqueue([job("1")]);
    await listener.all(["1"]);
    await database.query(TERMINATE);
    await persistently(() => queue.enqueue([job("2")]));
    await listener.all(["2"]);
  });
  assert.deepEqual(lines, []);
});

postgresTest(
  "graphile-worker: what Graphile Worker says goes to the logger that it is given",
  async (database) => {
    const [kind] = ENGINES as [QueueEngine];
    const said: string[] = [];
    const note = (message: string): void => void said.push(message);
    const logger: Logger = { debug: note, info: note, warn: note, error: note };
    {
      await using queue = closing(kind.open(database.url, { logger }));
      await using listener = listening(queue);
      await queue.enqueue([job("1")]);
      await listener.all(["1"]);
    }
    assert.ok(said.some((one) => one.includes("Completed task")), said.join());
  },
);

postgresTest(
  "graphile-worker: a user whom the tables hide their rows from is told so",
  async (database) => {
    const [kind] = ENGINES as [QueueEngine];
    const role = `blind_${crypto.randomUUID().slice(0, 8)}`;
    await using owner = closing(kind.open(database.url));
    await owner.enqueue([job("1")]);
    await database.query(`CREATE ROLE ${role} LOGIN`);
    await database.query(`GRANT USAGE ON SCHEMA ${kind.schema} TO ${role}`);
    await database.query(`GRANT ALL ON ALL TABLES IN SCHEMA ${kind.schema} TO ${role}`);
    const url = new URL(database.url);
    url.username = role;
    try {
      await using queue = closing(kind.open(url));
      const how = { signal: AbortSignal.timeout(60_000), clock: systemClock, pollMs: 50 };
      await assert.rejects(queue.listen(() => Promise.resolve(), how), /row-level security/);
    } finally {
      await queryOn(database.url, `DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  },
);

postgresTest(
  "graphile-worker: workers whose first look has failed are started anew",
  async (database) => {
    const [kind] = ENGINES as [QueueEngine];
    await using pool = testPool(database.url);
    await using queue = closing(kind.open(database.url));
    await queue.enqueue([job("1")]);
    const client = await pool.connect();
    await client.query("BEGIN");
    // The listener may read the tasks; the workers, which also write them, have to wait.
    await client.query("LOCK TABLE graphile_worker._private_tasks IN SHARE MODE");
    const clock = createFakeClock({ now: Date.now() });
    await using listener = listening(queue, { clock });
    const ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity " +
      "WHERE datname = current_database() AND wait_event_type = 'Lock'";
    await eventually(async () => (await database.query(ended)).length > 0);
    await client.query("COMMIT");
    client.release();
    await eventually(async () => {
      await clock.tick(1_000);
      return listener.ids.length > 0;
    });
  },
);
