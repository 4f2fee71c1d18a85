/**
 * Workers on a queue that delivers jobs, and the sweep that finds what no job speaks of.
 */

import assert from "node:assert/strict";
import {
  type Job,
  type JobHandler,
  type QueueDriver,
  type Run,
  workflow,
  type WorkflowDefinition,
} from "../../mod.ts";
import { behaviour } from "../_engines.ts";
import {
  recordingLogger,
  type RecordingQueue,
  recordingQueue,
  storeWith,
  until,
} from "./_doubles.ts";
import { createGate, type Gate } from "./_gate.ts";
import { current, storyOf } from "./_story.ts";

/** A queue whose deliveries a test makes itself. */
interface HandOperatedQueue extends RecordingQueue {
  /** Delivers jobs to whoever listens. */
  deliver(jobs: readonly Job[]): Promise<void>;
}

function handOperatedQueue(options: Partial<QueueDriver> = {}): HandOperatedQueue {
  const handlers: JobHandler[] = [];
  const queue = recordingQueue({
    ...options,
    listen(handler, { signal }) {
      handlers.push(handler);
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
    },
  });
  return Object.assign(queue, {
    async deliver(jobs: readonly Job[]): Promise<void> {
      await until(() => handlers.length > 0);
      for (const handler of handlers) await handler(jobs);
    },
  });
}

/** A parcel that waits at the gate of its number. */
function parcels(gates: readonly Gate[], delivered: unknown[]): WorkflowDefinition {
  return workflow({
    name: "parcel",
    steps: [{
      name: "deliver",
      async run({ input }) {
        await gates[Number(input)]?.pass();
        delivered.push(input);
      },
    }],
  });
}

behaviour(
  "a worker runs delivered jobs, those beyond its concurrency when a slot is free again",
  async ({ engine }) => {
    const gates = Array.from({ length: 3 }, createGate);
    const delivered: unknown[] = [];
    const definition = parcels(gates, delivered);
    const queue = handOperatedQueue();
    const t = await engine({ workflows: [definition], queue });
    const runs: Run[] = [];
    for (const at of gates.keys()) runs.push(await t.engine.start(definition, { input: at }));
    await using worker = t.engine.work({ concurrency: 2 });
    let taken = false;
    const delivering = queue.deliver(queue.take()).then(() => void (taken = true));
    await Promise.all([gates[0]?.arrived, gates[1]?.arrived]);
    assert.equal(worker.running, 2);
    assert.equal(taken, false, "the third is not taken from the queue yet");
    assert.equal((await runs[2]?.reload())?.state, "ready");
    gates[0]?.open();
    await gates[2]?.arrived;
    await delivering;
    for (const gate of gates) gate.open();
    await worker.idle();
    assert.deepEqual(delivered.sort(), [0, 1, 2]);
  },
);

behaviour(
  "P10 a job that is delivered twice, or to two workers, runs its step once",
  async ({ engine }) => {
    const delivered: unknown[] = [];
    const definition = parcels([], delivered);
    const queue = handOperatedQueue();
    const t = await engine({ workflows: [definition], queue });
    const run = await t.engine.start(definition, { input: 7 });
    await using first = t.engine.work();
    await using second = t.engine.work();
    const jobs = queue.take();
    await Promise.all([queue.deliver(jobs), queue.deliver([...jobs, ...jobs])]);
    await first.idle();
    await second.idle();
    assert.deepEqual(delivered, [7]);
    assert.deepEqual(await storyOf(run), ["deliver: completed/success"]);
  },
);

behaviour(
  "P10 a job that never comes is found by the sweep after the grace period, and replaced",
  async ({ engine }) => {
    const delivered: unknown[] = [];
    const definition = parcels([], delivered);
    const queue = handOperatedQueue();
    const t = await engine({ workflows: [definition], queue });
    const run = await t.engine.start(definition, { input: 7 });
    await using worker = t.engine.work();
    await t.clock.tick("14 minutes 59 seconds");
    await worker.idle();
    assert.deepEqual(await storyOf(run), ["deliver: scheduled"]);
    queue.take();
    await t.clock.tick("10 seconds");
    await worker.idle();
    assert.deepEqual(await storyOf(run), [
      "deliver: completed/recovered (recovery)",
      "deliver: completed/success",
    ]);
    assert.deepEqual(delivered, [7]);
    assert.deepEqual(queue.take(), [], "the worker went on with it itself");
  },
);

behaviour(
  "an execution that the queue was never told of is run by the sweep, at once and as it is",
  async ({ engine }) => {
    const delivered: unknown[] = [];
    const definition = parcels([], delivered);
    const queue = handOperatedQueue();
    const t = await engine({ workflows: [definition], queue });
    const run = await t.store.transaction((tx) => t.engine.start(definition, { input: 7, tx }));
    assert.deepEqual(queue.take(), []);
    await using worker = t.engine.work();
    await t.clock.tick("5 seconds");
    await worker.idle();
    assert.deepEqual(delivered, [7]);
    assert.deepEqual(await storyOf(run), ["deliver: completed/success"]);
  },
);

behaviour("a worker that serves certain queues leaves other jobs alone", async ({ engine }) => {
  const delivered: unknown[] = [];
  const definition = parcels([], delivered);
  const queue = handOperatedQueue();
  const t = await engine({ workflows: [definition], queue });
  await t.engine.start(definition, { input: 1, jobOptions: { queue: "fragile" } });
  await t.engine.start(definition, { input: 2, jobOptions: { queue: "heavy" } });
  await using worker = t.engine.work({ queues: ["heavy"] });
  await queue.deliver(queue.take());
  await worker.idle();
  assert.deepEqual(delivered, [2]);
});

behaviour(
  "a store that fails while jobs are claimed fails neither the queue nor the worker",
  async ({ engine, store }) => {
    let away = true;
    const flaky = storeWith(store(), (real) => ({
      claim: (ids, options) => away ? Promise.reject(new Error("away")) : real.claim(ids, options),
    }));
    const delivered: unknown[] = [];
    const logger = recordingLogger();
    const definition = parcels([], delivered);
    const queue = handOperatedQueue();
    const t = await engine({ workflows: [definition], queue, store: flaky, logger });
    const run = await t.engine.start(definition, { input: 7 });
    await using worker = t.engine.work();
    const jobs = queue.take();
    await queue.deliver(jobs);
    assert.ok(logger.lines.some(({ message }) => message.includes("could not be claimed")));
    assert.equal((await current(run)).state, "scheduled");
    away = false;
    await queue.deliver(jobs);
    await worker.idle();
    assert.deepEqual(delivered, [7]);
  },
);

behaviour("a queue that stops listening is logged, and the sweep goes on", async ({ engine }) => {
  const delivered: unknown[] = [];
  const logger = recordingLogger();
  const definition = parcels([], delivered);
  const queue = recordingQueue({ listen: () => Promise.reject(new Error("subscription ended")) });
  const t = await engine({ workflows: [definition], queue, logger });
  await t.store.transaction((tx) => t.engine.start(definition, { input: 7, tx }));
  await using worker = t.engine.work();
  await t.clock.tick("5 seconds");
  await worker.idle();
  assert.deepEqual(delivered, [7]);
  const line = logger.lines.find(({ level }) => level === "error");
  assert.match(line?.message ?? "", /stopped listening/);
});

behaviour(
  "jobs for which a stopping worker has no slot any more go back to the queue",
  async ({ engine }) => {
    const gate = createGate();
    const delivered: unknown[] = [];
    const definition = parcels([gate], delivered);
    const queue = handOperatedQueue();
    const t = await engine({ workflows: [definition], queue });
    await t.engine.start(definition, { input: 0 });
    const second = await t.engine.start(definition, { input: 1 });
    const worker = t.engine.work({ concurrency: 1 });
    const jobs = queue.take();
    const delivering = queue.deliver(jobs);
    await gate.arrived;
    const stopping = worker.stop();
    gate.open();
    await Promise.all([delivering, stopping]);
    assert.deepEqual(delivered, [0]);
    assert.deepEqual(await storyOf(second), ["deliver: scheduled"]);
    assert.deepEqual(queue.take(), jobs.slice(1));
  },
);
