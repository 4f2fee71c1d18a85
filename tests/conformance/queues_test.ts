/**
 * Every queue of ours runs the same cases; what only the inline queue promises is tested beside them.
 */

import assert from "node:assert/strict";
import { inlineQueue } from "../../drivers/queues/inline.ts";
import { pollingQueue } from "../../drivers/queues/polling.ts";
import { wait } from "../../src/seams/clock.ts";
import { systemClock } from "../../src/seams/clock.ts";
import type { QueueDriver } from "../../src/seams/queue.ts";
import type { Job } from "../../src/state/records.ts";
import {
  type CaseQueue,
  queueCases,
  type QueueUnderTest,
  registerQueueCases,
  type SkippedCase,
} from "../../src/testing/conformance.ts";
import { createFakeClock } from "../../src/testing/fake_clock.ts";
import { HAS_POSTGRES, queueBench } from "../drivers/_postgres.ts";

function onFakeTime(queue: QueueDriver): CaseQueue {
  const clock = createFakeClock();
  return { queue, clock, advance: (ms) => clock.tick(ms) };
}

const ONE_LISTENER: readonly SkippedCase[] = [{
  name: "a job reaches a listener that serves its queue",
  reason: "Its one listener is the engine of its own process, which serves every queue",
}];

/** The queues, by name. One on a server is one more entry, on real time if it must be. */
const QUEUES: Readonly<Record<string, QueueUnderTest>> = {
  polling: { open: () => onFakeTime(pollingQueue()) },
  "polling on real time": {
    open: () => ({
      queue: pollingQueue(),
      clock: systemClock,
      advance: (ms) => wait(systemClock, ms),
    }),
  },
  inline: { open: () => onFakeTime(inlineQueue()), skip: ONE_LISTENER },
  "inline, deferred": {
    open: () => onFakeTime(inlineQueue({ deferred: true })),
    skip: ONE_LISTENER,
  },
};

registerQueueCases("postgres", { open: queueBench }, (title, run, skip) => {
  Deno.test({ name: title, fn: run, ignore: skip !== null || !HAS_POSTGRES });
});

for (const [name, queue] of Object.entries(QUEUES)) {
  registerQueueCases(name, queue, (title, run, skip) => {
    Deno.test({ name: title, fn: run, ignore: skip !== null });
  });
}

Deno.test("the names of the queue cases are all different", () => {
  assert.equal(new Set(queueCases.map((one) => one.name)).size, queueCases.length);
});

function job(executionId: string, runAt: number, priority: number = 0): Job {
  return { executionId, runAt: new Date(runAt), queue: "default", priority };
}

/** Listens on an inline queue; jobs whose id begins with "bad" fail. */
function listenTo(queue: QueueDriver, clock: ReturnType<typeof createFakeClock>): {
  ran: string[];
  stop(): Promise<void>;
} {
  const stopping = new AbortController();
  const ran: string[] = [];
  const ended = queue.listen(async (jobs) => {
    await Promise.resolve();
    for (const { executionId } of jobs) {
      ran.push(executionId);
      if (executionId.startsWith("bad")) throw new Error(executionId);
    }
  }, { signal: stopping.signal, clock, pollMs: 1_000 });
  const stop = async (): Promise<void> => {
    stopping.abort();
    await ended;
  };
  return { ran, stop };
}

Deno.test("P1 inlineQueue() runs what is due in the very call, most urgent first", async () => {
  const clock = createFakeClock();
  const queue = inlineQueue();
  const { ran, stop } = listenTo(queue, clock);
  const now = clock.now();
  await queue.enqueue([job("2", now, 2), job("later", now + 1_000, -9), job("1", now, 1)]);
  assert.deepEqual(ran, ["1", "2"]);
  await clock.tick(1_000);
  assert.deepEqual(ran, ["1", "2", "later"]);
  await stop();
});

Deno.test("P1 inlineQueue() rejects with the first error, after all jobs have run", async () => {
  const clock = createFakeClock();
  const queue = inlineQueue();
  const { ran, stop } = listenTo(queue, clock);
  const jobs = ["1", "bad 2", "3", "bad 4"].map((id) => job(id, clock.now()));
  await assert.rejects(queue.enqueue(jobs), new Error("bad 2"));
  assert.deepEqual(ran, ["1", "bad 2", "3", "bad 4"]);
  await stop();
});

Deno.test("inlineQueue({ deferred: true }) runs nothing until the clock moves", async () => {
  const clock = createFakeClock();
  const queue = inlineQueue({ deferred: true });
  const { ran, stop } = listenTo(queue, clock);
  await queue.enqueue([job("bad 1", clock.now()), job("2", clock.now() + 500)]);
  assert.deepEqual(ran, []);
  await clock.tick(0);
  assert.deepEqual(ran, ["bad 1"]);
  await clock.tick(500);
  assert.deepEqual(ran, ["bad 1", "2"]);
  await stop();
});

Deno.test("U10 inlineQueue() waits for longer than a timer can", async () => {
  const clock = createFakeClock();
  const queue = inlineQueue();
  const { ran, stop } = listenTo(queue, clock);
  const days = 86_400_000;
  await queue.enqueue([job("1", clock.now() + 100 * days)]);
  await clock.tick(100 * days - 1);
  assert.deepEqual(ran, []);
  await clock.tick(1);
  assert.deepEqual(ran, ["1"]);
  await stop();
});

Deno.test("pollingQueue() looks at the moment when something becomes due, not at the next poll", async () => {
  const clock = createFakeClock();
  const queue = pollingQueue();
  const stopping = new AbortController();
  const looks: number[] = [];
  const begin = clock.now();
  const ended = queue.listen(() => {
    looks.push(clock.now() - begin);
    return Promise.resolve();
  }, { signal: stopping.signal, clock, pollMs: 1_000 });
  await clock.tick(0);
  await queue.enqueue([job("1", begin + 250), job("2", begin + 1_100)]);
  await clock.tick(2_200);
  assert.deepEqual(looks, [0, 250, 1_100, 2_100]);
  stopping.abort();
  await ended;
});
