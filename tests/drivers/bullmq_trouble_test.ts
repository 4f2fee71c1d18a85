/** A Redis that is away, restarted or emptied: nothing is lost but time. */

import assert from "node:assert/strict";
import { createEngine, type QueueDriver, workflow } from "../../mod.ts";
import { bullmqQueue } from "../../drivers/queues/bullmq.ts";
import { memoryStore } from "../../drivers/memory/mod.ts";
import { recordingLogger, until } from "../run/_doubles.ts";
import { job, journey, listenTo } from "./_queue_trials.ts";
import { CAN_START_REDIS, onRedis, ownRedis } from "./_redis.ts";

const WORKFLOWS = 100;
const ignore = !CAN_START_REDIS;

Deno.test({
  name: "HSK-11 workflows survive that Redis is emptied in the middle",
  ignore,
  async fn() {
    await using redis = await ownRedis();
    const url = `redis://${redis.address}`;
    await using work = await journey(() => bullmqQueue(url), { workflows: WORKFLOWS });
    await work.halfWay;
    await onRedis(url, (one) => one.flushall());
    await work.arrive();
  },
});

Deno.test({
  name: "HSK-11 workflows survive that Redis is killed and started again in the middle",
  ignore,
  async fn() {
    await using redis = await ownRedis();
    const url = `redis://${redis.address}`;
    await using work = await journey(() => bullmqQueue(url), { workflows: WORKFLOWS });
    await work.halfWay;
    await redis.restart();
    await work.arrive();
  },
});

Deno.test({
  name: "a start neither fails nor hangs while Redis is away, and its job is told later",
  ignore,
  async fn() {
    await using redis = await ownRedis();
    const open = (): QueueDriver => bullmqQueue(`redis://${redis.address}`);
    await redis.kill();
    const ran: string[] = [];
    const definition = workflow({
      name: "order",
      steps: [{ name: "only", run: ({ workflow }) => void ran.push(workflow.id) }],
    });
    const logger = recordingLogger();
    const engine = createEngine({
      store: memoryStore(),
      queue: open(),
      workflows: [definition],
      logger,
    });
    const worker = engine.work();
    const begin = performance.now();
    const runs = [await engine.start(definition)];
    const firstMs = performance.now() - begin;
    for (let more = 0; more < 20; more++) runs.push(await engine.start(definition));
    const allMs = performance.now() - begin;
    assert.ok(firstMs < 2_000 && allMs < firstMs + 500, `took ${firstMs}, in all ${allMs} ms`);
    const said = logger.lines.find(({ level }) => level === "error");
    assert.match(said?.message ?? "", /The queue could not be told .* the sweep will find them/);
    assert.match(
      String(said?.fields.error),
      /\[bullmq\] Redis is away; it is told when it is back/,
    );
    await redis.start();
    await until(() => ran.length === runs.length, { looks: 10_000 });
    assert.deepEqual(ran.toSorted(), runs.map(({ id }) => id).toSorted());
    await worker.stop();
    await engine.close();
  },
});

Deno.test({
  name: "a queue whose Redis never was there can be listened to, stopped and closed",
  ignore,
  async fn() {
    await using redis = await ownRedis();
    await redis.kill();
    const errors: Error[] = [];
    const queue = bullmqQueue(`redis://${redis.address}`, { onError: (e) => void errors.push(e) });
    const { came, stop } = listenTo(queue, { queues: ["default"] });
    await assert.rejects(queue.enqueue([job("1")]), /\[bullmq\] Redis is away/);
    await assert.rejects(queue.enqueue([job("2")]), /\[bullmq\] Redis is away/);
    const begin = performance.now();
    await stop();
    await queue.close();
    assert.ok(performance.now() - begin < 5_000);
    assert.deepEqual(came, []);
    assert.ok(errors.some((error) => /ECONNREFUSED/.test(String(error))));
  },
});

Deno.test({
  name: "a queue whose Redis goes away can be stopped and closed",
  ignore,
  async fn() {
    await using redis = await ownRedis();
    const queue = bullmqQueue(`redis://${redis.address}`);
    const { came, stop } = listenTo(queue);
    await queue.enqueue([job("1"), job("2", { queue: "mail" })]);
    await until(() => came.length === 2);
    await redis.kill();
    const begin = performance.now();
    await stop();
    await queue.close();
    assert.ok(performance.now() - begin < 5_000);
  },
});
