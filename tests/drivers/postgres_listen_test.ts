/** Processes tell each other of what they schedule, and workers look at once. */

import assert from "node:assert/strict";
// @ts-types="@types/pg"
import pg from "pg";
import { createEngine, systemClock, workflow } from "../../mod.ts";
import { pollingQueue } from "../../drivers/queues/mod.ts";
import { postgresStore } from "../../drivers/postgres/mod.ts";
import { connectionsOf } from "../../drivers/postgres/pool.ts";
import {
  after,
  claim,
  command,
  finish,
  finished,
  newExecution,
  newWorkflow,
  send,
  start,
  T0,
} from "../../src/testing/store_cases/_builders.ts";
import { disposable, postgresTest, type TestDatabase } from "./_postgres.ts";
import { openWire } from "../_wire.ts";

/** Listens with a store, and lets a test wait for what is heard. */
async function hearing(
  store: ReturnType<typeof postgresStore>,
): Promise<AsyncDisposable & { next(): Promise<number>; heard: number[] }> {
  const stopping = new AbortController();
  const heard: number[] = [];
  let tell = (): void => {};
  let seen = 0;
  const ended = store.listen?.((at) => {
    heard.push(at);
    tell();
  }, { signal: stopping.signal, clock: systemClock }) ?? Promise.reject(new Error("cannot listen"));
  async function next(): Promise<number> {
    while (heard.length <= seen) await new Promise<void>((resolve) => void (tell = resolve));
    return heard[seen++] as number;
  }
  // The first word is that the connection is made.
  await next();
  return {
    next,
    heard,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await ended;
    },
  };
}

/** Another process's store. */
function other(database: TestDatabase): ReturnType<TestDatabase["store"]> {
  return database.store({ maxConnections: 2 });
}

postgresTest("whatever schedules something is heard in other processes", async (database) => {
  await using store = database.store();
  await store.migrate();
  await using writer = other(database);
  await using ears = await hearing(store);
  const { workflow: row, execution } = await start(writer);
  assert.equal(await ears.next(), T0.getTime());
  await command(writer, row.id, { kind: "pause" });
  const fresh = newExecution({ scheduledFor: after(5_000) });
  await command(writer, row.id, {
    kind: "resume",
    expected: "first",
    fresh,
    resumable: false,
    graceMs: 0,
  });
  assert.equal(await ears.next(), T0.getTime(), "the preserved execution wakes");
  const claimed = await claim(writer, execution.id);
  const next = newExecution({ stepName: "second", scheduledFor: after(7_000) });
  await finish(writer, finished(claimed, { nextStepName: "second", next }));
  assert.equal(await ears.next(), after(7_000).getTime());
  assert.deepEqual(ears.heard.length, 4, "and nothing else is");
});

postgresTest(
  "a signal that wakes a step is heard, and one that does not is not",
  async (database) => {
    await using store = database.store();
    await store.migrate();
    await using writer = other(database);
    const first = newExecution({ waitingFor: "approved" });
    const { workflow: row } = await start(writer, { first });
    await using ears = await hearing(store);
    await send(writer, row.id, { name: "other" });
    await send(writer, row.id, { name: "approved" }, { now: after(3_000) });
    assert.equal(await ears.next(), after(3_000).getTime());
    assert.equal(ears.heard.length, 2);
  },
);

postgresTest(
  "what is due much later, held already or rolled back is not heard",
  async (database) => {
    await using store = database.store();
    await store.migrate();
    await using writer = other(database);
    await using ears = await hearing(store);
    const hold = { token: "t", leaseMs: 1_000, worker: "w" };
    await start(writer, { heroId: "1", first: newExecution({ scheduledFor: after(86_400_000) }) });
    await start(writer, { heroId: "2", first: newExecution({ hold }) });
    await start(writer, { heroId: "3", first: newExecution({ graceMs: 900_000 }) });
    await assert.rejects(writer.transaction(async (tx) => {
      await writer.create([newWorkflow({ heroId: "4" })], { now: T0, tx });
      throw new Error("no");
    }));
    await start(writer, { heroId: "5", first: newExecution({ scheduledFor: after(1) }) });
    assert.equal(await ears.next(), after(1).getTime(), "only the last one is");
  },
);

postgresTest(
  "stores under another prefix, or without notify, keep it to themselves",
  async (database) => {
    await using store = database.store();
    await store.migrate();
    await using prefixed = database.store({ tablePrefix: "other_" });
    await prefixed.migrate();
    await using silent = database.store({ notify: false });
    assert.equal(silent.listen, undefined);
    await using ears = await hearing(store);
    await start(prefixed, { heroId: "1" });
    await start(silent, { heroId: "2" });
    await start(store, { heroId: "3", first: newExecution({ scheduledFor: after(1) }) });
    assert.equal(await ears.next(), after(1).getTime());
  },
);

postgresTest(
  "a listener whose connection dies comes back and says that it may have missed something",
  async (database) => {
    await using wire = await openWire(database.url);
    await using store = disposable(postgresStore(wire.url, { maxConnections: 2 }));
    await store.migrate();
    await using writer = other(database);
    await using ears = await hearing(store);
    for (let times = 0; times < 3; times++) {
      const before = Date.now();
      wire.cut();
      assert.ok(await ears.next() >= before, "a new connection is made");
    }
    await database.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity " +
        "WHERE datname = current_database() AND query LIKE 'LISTEN%'",
    );
    await ears.next();
    await start(writer);
    assert.equal(await ears.next(), T0.getTime());
  },
);

postgresTest(
  "a worker in another process starts at once, however seldom it polls",
  async (database) => {
    const greet = workflow({ name: "greet", steps: [{ name: "hello", run() {} }] });
    await using store = database.store();
    await store.migrate();
    await using writer = other(database);
    const hour = 3_600_000;
    await using engine = createEngine({ store, workflows: [greet], pollMs: hour });
    await using starter = createEngine({ store: writer, workflows: [greet] });
    const ended = new Set<string>();
    let tell = (): void => {};
    engine.events.on("finalize", ({ workflowId }) => {
      ended.add(workflowId);
      tell();
    });
    await using _worker = engine.work();
    for (const delayMs of [0, 30, 0, 60]) {
      const run = await starter.start(greet, { at: Date.now() + delayMs });
      while (!ended.has(run.id)) await new Promise<void>((resolve) => void (tell = resolve));
    }
  },
);

postgresTest("a queue that is given a wake-up that fails still polls", async (database) => {
  await using store = database.store();
  await store.migrate();
  const queue = pollingQueue({ wake: () => Promise.reject(new Error("no ears")) });
  const stopping = new AbortController();
  let looks = 0;
  await queue.listen(() => {
    if (++looks === 3) stopping.abort();
    return Promise.resolve();
  }, { signal: stopping.signal, clock: systemClock, pollMs: 1 });
  assert.equal(looks, 3);
});

Deno.test("whoever listens beside a pool knows the pool's password, which the pool hides", async () => {
  const pool = new pg.Pool({ host: "127.0.0.1", user: "ann", password: "secret", database: "app" });
  const connections = connectionsOf(pool, { maxConnections: 1, silenceMs: 10_000 });
  assert.equal(connections.extraClient().password, "secret");
  await connections.close();
  await pool.end();
});
