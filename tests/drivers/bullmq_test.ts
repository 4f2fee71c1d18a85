/** What only BullMQ promises: identities, priorities, connections. */

import assert from "node:assert/strict";
import { Cluster, Redis } from "ioredis";
import { bullmqQueue, type BullmqQueueOptions } from "../../drivers/queues/bullmq.ts";
import { bullPriority } from "../../drivers/queues/bullmq/announce.ts";
import { until } from "../run/_doubles.ts";
import { ids, job, listenTo } from "./_queue_trials.ts";
import { freshRedis, HAS_REDIS, onRedis } from "./_redis.ts";

const ignore = !HAS_REDIS;

Deno.test({
  name: "SCH-24 jobs of one execution for one time collapse, and leave nothing behind",
  ignore,
  async fn() {
    await using redis = await freshRedis();
    const queue = bullmqQueue(redis.url, { prefix: redis.prefix });
    const twice = job("1");
    await queue.enqueue([twice, twice, job("2")]);
    await queue.enqueue([twice]);
    const { came, stop } = listenTo(queue);
    await until(() => ids(came).includes("2"));
    await queue.enqueue([job("3")]);
    await until(() => ids(came).includes("3"));
    assert.deepEqual(ids(came), ["1", "2", "3"]);
    await stop();
    await queue.close();
    const left = await redis.keys();
    const jobs = left.filter((key) => /:(\d+|de:.*|dn:.*|completed|failed)$/.test(key));
    assert.deepEqual(jobs, []);
  },
});

Deno.test({
  name: "SCH-13 smaller priorities come first, then the oldest, also below zero",
  ignore,
  async fn() {
    await using redis = await freshRedis();
    const queue = bullmqQueue(redis.url, { prefix: redis.prefix, batchSize: 1 });
    const priorities = [0, 7, -5, 2 ** 31 - 1, 0, -(2 ** 31 - 1), 1, -1];
    for (const [at, priority] of priorities.entries()) {
      await queue.enqueue([job(`${at}`, { priority })]);
    }
    const { came, stop } = listenTo(queue);
    await until(() => came.length === priorities.length);
    assert.deepEqual(ids(came), ["5", "2", "7", "0", "4", "6", "1", "3"]);
    assert.deepEqual(came[0]?.priority, -(2 ** 31 - 1));
    await stop();
    await queue.close();
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

Deno.test({
  name: "a connection that gives up quickly is copied into ones that can wait for jobs",
  ignore,
  async fn() {
    await using redis = await freshRedis();
    const connection = new Redis(redis.url, {
      commandTimeout: 100,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 1,
      lazyConnect: true,
    });
    const errors: Error[] = [];
    const queue = bullmqQueue(connection, {
      prefix: redis.prefix,
      onError: (error) => void errors.push(error),
    });
    const { came, stop } = listenTo(queue, { queues: ["default"] });
    // Longer than the command timeout: whoever waits for jobs must not run into it.
    await queue.enqueue([job("1", { runAt: new Date(Date.now() + 400) })]);
    await until(() => came.length === 1);
    await stop();
    await queue.close();
    await connection.quit();
    assert.deepEqual(errors, []);
  },
});

Deno.test("bullmqQueue() refuses what is no Redis, and does not repeat a password", () => {
  const refused = (source: unknown, options: unknown, message: RegExp): void => {
    assert.throws(() => bullmqQueue(source as string, options as BullmqQueueOptions), message);
  };
  const address =
    /^InvalidInputError: Cannot use this address: use a redis: or rediss: URL, special/;
  refused("http://me:secret@host", {}, address);
  refused("redis://me:secret@host:port", {}, address);
  refused("redis://me:%zz@host", {}, address);
  refused(7, {}, /Cannot use 7 as a Redis/);
  refused(null, {}, /Cannot use null as a Redis/);
  refused("redis://host", { prefix: "" }, /Cannot use "" as prefix/);
  refused("redis://host", { batchSize: 0 }, /Cannot use 0 as batchSize: use a whole number/);
  refused("redis://host", { holdMs: 1.5 }, /Cannot use 1.5 as holdMs/);
  refused("redis://host", { onError: "log" }, /Cannot use "log" as onError: use a function/);
  const prefixed = new Redis({ lazyConnect: true, keyPrefix: "app:" });
  refused(prefixed, {}, /Cannot use this Redis connection: .*keyPrefix/);
  const cluster = new Cluster([{ port: 1 }], { lazyConnect: true });
  refused(cluster, {}, /Cannot use prefix "pawl" in a cluster: put it in braces, such as "{pawl}"/);
});
