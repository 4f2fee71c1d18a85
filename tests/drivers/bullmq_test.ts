/** What only BullMQ promises: identities, names, priorities, connections. */

import assert from "node:assert/strict";
import { Redis } from "ioredis";
import { createEngine, type QueueDriver, workflow } from "../../mod.ts";
import { bullmqQueue, type BullmqQueueOptions } from "../../drivers/queues/bullmq.ts";
import { bullPriority } from "../../drivers/queues/bullmq/announce.ts";
import { memoryStore } from "../../drivers/memory/mod.ts";
import { until } from "../run/_doubles.ts";
import { HOUR_MS, ids, job, listenTo } from "./_queue_trials.ts";
import { freshRedis, HAS_REDIS, onRedis } from "./_redis.ts";

const ignore = !HAS_REDIS;

/** A queue with keys of its own; both go at the end. */
async function trial(
  work: (open: (options?: BullmqQueueOptions) => QueueDriver, url: string) => Promise<void>,
): Promise<string[]> {
  await using redis = await freshRedis();
  const opened: QueueDriver[] = [];
  await work((options) => {
    const queue = bullmqQueue(redis.url, { prefix: redis.prefix, ...options });
    opened.push(queue);
    return queue;
  }, redis.url);
  await Promise.all(opened.map((queue) => queue.close()));
  return await redis.keys();
}

Deno.test({
  name: "SCH-24 jobs of one execution for one time collapse, and leave nothing behind",
  ignore,
  async fn() {
    const left = await trial(async (open) => {
      const queue = open();
      const twice = job("1");
      await queue.enqueue([twice, twice, job("2")]);
      await queue.enqueue([twice]);
      const { came, stop } = listenTo(queue);
      await until(() => ids(came).includes("2"));
      await queue.enqueue([job("3")]);
      await until(() => ids(came).includes("3"));
      assert.deepEqual(ids(came), ["1", "2", "3"]);
      await stop();
    });
    const jobs = left.filter((key) => /:(\d+|de:.*|dn:.*|completed|failed)$/.test(key));
    assert.deepEqual(jobs, []);
  },
});

Deno.test({
  name: "an execution that is announced again for an earlier time comes at that time",
  ignore,
  async fn() {
    await trial(async (open) => {
      const queue = open();
      const { came, stop } = listenTo(queue);
      await queue.enqueue([job("1", { runAt: new Date(Date.now() + HOUR_MS) })]);
      await queue.enqueue([job("1")]);
      await until(() => came.length > 0);
      assert.ok((came[0]?.runAt.getTime() ?? Infinity) <= Date.now());
      await stop();
    });
  },
});

Deno.test({
  name: "a job that is announced again while it is handed over comes again",
  ignore,
  async fn() {
    await trial(async (open) => {
      const queue = open();
      const again = job("1");
      const { came, stop } = listenTo(queue, {
        // The worker has judged the row already when somebody resumes its workflow.
        work: () => came.length === 1 ? queue.enqueue([again]) as Promise<void> : undefined,
      });
      await queue.enqueue([again]);
      await until(() => came.length === 2);
      assert.deepEqual(came[1], again);
      await stop();
    });
  },
});

Deno.test({
  name: "SCH-13 smaller priorities come first, then the oldest, also below zero",
  ignore,
  async fn() {
    await trial(async (open) => {
      const queue = open({ batchSize: 1 });
      const priorities = [0, 7, -5, 2 ** 31 - 1, 0, -(2 ** 31 - 1), 1, -1];
      for (const [at, priority] of priorities.entries()) {
        await queue.enqueue([job(`${at}`, { priority })]);
      }
      const { came, stop } = listenTo(queue);
      await until(() => came.length === priorities.length);
      assert.deepEqual(ids(came), ["5", "2", "7", "0", "4", "6", "1", "3"]);
      assert.deepEqual(came[0]?.priority, -(2 ** 31 - 1));
      await stop();
    });
  },
});

Deno.test("BullMQ's priorities are in the order of ours and in its range", () => {
  const ours = [-(2 ** 31 - 1), -1_000_000, -2, -1, 0, 1, 2, 1_000_000, 2 ** 31 - 1];
  const theirs = ours.map(bullPriority);
  assert.deepEqual(theirs, theirs.toSorted((a, b) => a - b));
  assert.equal(new Set(theirs).size, ours.length);
  for (const one of theirs) assert.ok(one >= 1 && one <= 2 ** 21 - 1);
});

Deno.test({
  name: "SCH-13 queues whose names look alike stay apart",
  ignore,
  async fn() {
    await trial(async (open) => {
      const queue = open();
      const names = ["a:b", "a%3Ab", "a%253Ab", "a::b", "größe 🐢", "{a}", "queues", "*"];
      await queue.enqueue(names.map((name, at) => job(`${at}`, { queue: name })));
      for (const [at, name] of names.entries()) {
        const { came, stop } = listenTo(queue, { queues: [name] });
        await until(() => came.length > 0);
        assert.deepEqual(came.map((one) => [one.executionId, one.queue]), [[`${at}`, name]]);
        await stop();
      }
    });
  },
});

Deno.test({
  name: "a listener of all queues finds a queue that another process has made meanwhile",
  ignore,
  async fn() {
    await trial(async (open) => {
      const { came, stop } = listenTo(open());
      await open().enqueue([job("1", { queue: "brand new" })]);
      await until(() => came.length > 0);
      assert.equal(came[0]?.queue, "brand new");
      await stop();
    });
  },
});

Deno.test({
  name: "a job that is held for too long goes to others as well",
  ignore,
  async fn() {
    await trial(async (open) => {
      const queue = open({ holdMs: 100, batchSize: 1 });
      const gate = Promise.withResolvers<void>();
      const busy = listenTo(queue, { work: () => gate.promise });
      await queue.enqueue([job("1")]);
      await until(() => busy.came.length > 0);
      const other = listenTo(queue);
      await until(() => other.came.length > 0);
      assert.deepEqual(ids(other.came), ["1"]);
      gate.resolve();
      await Promise.all([busy.stop(), other.stop()]);
    });
  },
});

Deno.test({
  name: "a workflow runs over BullMQ from its start to its end, through a wait and a signal",
  ignore,
  async fn() {
    await trial(async (open) => {
      const ran: string[] = [];
      const order = workflow({
        name: "order",
        steps: [
          { name: "pack", run: () => void ran.push("pack") },
          { name: "ship", wait: 100, run: () => void ran.push("ship") },
          {
            name: "confirm",
            waitFor: "delivered",
            timeout: "3 days",
            run: () => void ran.push("confirm"),
          },
        ],
      });
      const engine = createEngine({ store: memoryStore(), queue: open(), workflows: [order] });
      const worker = engine.work();
      const run = await engine.start(order, { jobOptions: { queue: "orders" } });
      await until(async () => (await run.reload()).nextStepName === "confirm");
      await run.signal("delivered", null);
      await until(async () => (await run.reload()).state === "finished");
      assert.deepEqual(ran, ["pack", "ship", "confirm"]);
      await worker.stop();
      await engine.close();
    });
  },
});

Deno.test({
  name: "a worker that stops gives back what it has not begun",
  ignore,
  async fn() {
    await trial(async (open) => {
      const gate = Promise.withResolvers<void>();
      const ran: string[] = [];
      const definition = workflow({
        name: "slow",
        steps: [{
          name: "only",
          run: async ({ workflow, signal }) => {
            ran.push(workflow.id);
            if (ran.length === 1) await gate.promise;
            signal.throwIfAborted();
          },
        }],
      });
      const store = memoryStore();
      const first = createEngine({ store, queue: open(), workflows: [definition] });
      const second = createEngine({ store, queue: open(), workflows: [definition] });
      await first.startMany(definition, Array.from({ length: 5 }, () => ({})));
      const worker = first.work({ concurrency: 1 });
      await until(() => ran.length === 1);
      const stopping = worker.stop();
      gate.resolve();
      await stopping;
      const other = second.work();
      await until(async () => {
        const counts = await second.counts();
        return counts.every(({ state, count }) => state === "finished" && count === 5);
      });
      await other.stop();
      await Promise.all([first.close(), second.close()]);
    });
  },
});

Deno.test({
  name: "a connection of the application stays open, and options of ioredis are enough",
  ignore,
  async fn() {
    await using redis = await freshRedis();
    const connection = new Redis(redis.url);
    const queue = bullmqQueue(connection, { prefix: redis.prefix });
    const { came, stop } = listenTo(queue);
    await queue.enqueue([job("1")]);
    await until(() => came.length > 0);
    await stop();
    await queue.close();
    assert.equal(await connection.ping(), "PONG");
    const listeners = ["error", "ready", "close"].map((name) => connection.listenerCount(name));
    assert.deepEqual(listeners, [0, 0, 0]);
    const { hostname, port } = new URL(redis.url);
    const other = bullmqQueue({ host: hostname, port: Number(port) }, { prefix: redis.prefix });
    await other.enqueue([job("2")]);
    await other.close();
    await assert.rejects(
      other.enqueue([job("3")]),
      /\[bullmq\] Cannot use the queue: it is closed/,
    );
    await connection.quit();
    const names = await onRedis(redis.url, (one) => one.smembers(`${redis.prefix}:queues`));
    assert.deepEqual(names, ["default"]);
  },
});

Deno.test("bullmqQueue() refuses what is no Redis, and does not repeat a password", () => {
  const refused = (source: unknown, options: unknown, message: RegExp): void => {
    assert.throws(() => bullmqQueue(source as string, options as BullmqQueueOptions), message);
  };
  refused("http://me:secret@host", {}, /^InvalidInputError: .*use a redis: or rediss: URL$/);
  refused(7, {}, /Cannot use 7 as a Redis/);
  refused(null, {}, /Cannot use null as a Redis/);
  refused("redis://host", { prefix: "" }, /Cannot use "" as prefix/);
  refused("redis://host", { batchSize: 0 }, /Cannot use 0 as batchSize: use a whole number/);
  refused("redis://host", { holdMs: 1.5 }, /Cannot use 1.5 as holdMs/);
  refused("redis://host", { onError: "log" }, /Cannot use "log" as onError: use a function/);
  const prefixed = new Redis({ lazyConnect: true, keyPrefix: "app:" });
  refused(prefixed, {}, /Cannot use this Redis connection: .*keyPrefix/);
});
