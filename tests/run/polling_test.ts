/**
 * The polling queue: the executions table is the queue, and nobody looks more often than needed.
 */

import assert from "node:assert/strict";
import { pollingQueue } from "../../drivers/queues/mod.ts";
import { createEngine, type Job, workflow, type WorkflowDefinition } from "../../mod.ts";
import { createFakeClock } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";

/** A reminder after some time; `rang` is when it rang. */
function reminder(rang: number[], now: () => number): WorkflowDefinition<null, number> {
  return workflow({
    name: "reminder",
    input: {
      "~standard": {
        version: 1,
        vendor: "tests",
        validate: (value) => ({ value: value as number }),
      },
    },
    steps: [{ name: "ring", wait: ({ input }) => input, run: () => void rang.push(now()) }],
  });
}

/** A job for some time. */
function jobAt(at: number): Job {
  return { executionId: "1", runAt: new Date(at), queue: "default", priority: 0 };
}

behaviour(
  "the polling queue runs what this process scheduled at the very instant, between two polls",
  async ({ engine }) => {
    const rang: number[] = [];
    let now = (): number => 0;
    const definition = reminder(rang, () => now());
    const t = await engine({ workflows: [definition], queue: pollingQueue(), pollMs: 60_000 });
    now = () => t.clock.now();
    const startedAt = t.clock.now();
    await using _worker = t.engine.work();
    await t.clock.tick(0);
    for (const wait of [90_000, 0, 1_234, 500, 500]) {
      await t.engine.start(definition, { input: wait });
    }
    await t.clock.tick("2 minutes");
    assert.deepEqual(rang.map((at) => at - startedAt), [0, 500, 500, 1_234, 90_000]);
  },
);

behaviour(
  "the polling queue finds what another process scheduled at its next poll",
  async ({ engine }) => {
    const rang: number[] = [];
    let now = (): number => 0;
    const definition = reminder(rang, () => now());
    const t = await engine({ workflows: [definition], queue: pollingQueue(), pollMs: 400 });
    now = () => t.clock.now();
    const other = createEngine({ store: t.store, clock: t.clock, workflows: [definition] });
    const startedAt = t.clock.now();
    await using _worker = t.engine.work();
    await t.clock.tick(100);
    await other.start(definition, { input: 0 });
    await t.clock.tick(299);
    assert.deepEqual(rang, []);
    await t.clock.tick(1);
    assert.deepEqual(rang.map((at) => at - startedAt), [400]);
  },
);

behaviour(
  "the polling queue finds what was scheduled before the worker came",
  async ({ engine }) => {
    const rang: number[] = [];
    const definition = reminder(rang, () => 0);
    const t = await engine({ workflows: [definition], queue: pollingQueue() });
    await t.engine.start(definition, { input: 0 });
    await t.clock.tick("1 hour");
    assert.deepEqual(rang, [], "without a worker nothing runs");
    await using worker = t.engine.work();
    await worker.idle();
    assert.equal(rang.length, 1);
  },
);

behaviour(
  "the polling queue polls at its interval while nothing happens, and never twice for one instant",
  async ({ engine, store }) => {
    let looks = 0;
    const inner = store();
    const counting = new Proxy(inner, {
      get(target, name) {
        if (name === "claimDue") looks++;
        return Reflect.get(target, name);
      },
    });
    const t = await engine({ queue: pollingQueue(), store: counting, pollMs: 1_000 });
    await using _worker = t.engine.work();
    await t.clock.tick(0);
    const first = looks;
    await t.clock.tick("10 seconds");
    assert.equal(looks - first, 10);
  },
);

Deno.test("a polling queue that is told of many far jobs keeps polling, with one timer", async () => {
  const clock = createFakeClock();
  const queue = pollingQueue();
  const stop = new AbortController();
  let looks = 0;
  const listening = queue.listen(() => {
    looks++;
    return Promise.resolve();
  }, { signal: stop.signal, clock, pollMs: 250 });
  await clock.tick(0);
  assert.equal(looks, 1);
  const anHour = clock.now() + 3_600_000;
  for (let at = 0; at < 100; at++) {
    await queue.enqueue([jobAt(anHour - at)]);
    await clock.tick(10);
  }
  assert.equal(looks, 5, "a second has four polls, whatever is enqueued meanwhile");
  assert.equal(clock.timers, 1);

  const far = clock.now() + 7_200_000;
  await queue.enqueue(Array.from({ length: 300_000 }, (_, at) => jobAt(far + at)));
  await queue.enqueue([jobAt(clock.now() + 7)]);
  const before = looks;
  await clock.tick(7);
  assert.equal(looks, before + 1, "the nearest instant is never forgotten");
  stop.abort();
  await listening;
  assert.equal(clock.timers, 0);
});

Deno.test("a polling queue looks again at once when it is told of a job while it looks", async () => {
  const clock = createFakeClock();
  const queue = pollingQueue();
  const stop = new AbortController();
  const looks: number[] = [];
  const listening = queue.listen(async () => {
    looks.push(clock.now());
    if (looks.length === 1) await queue.enqueue([jobAt(clock.now())]);
  }, { signal: stop.signal, clock, pollMs: 60_000 });
  await clock.tick(0);
  assert.equal(looks.length, 2);
  await clock.tick("30 seconds");
  assert.equal(looks.length, 2);
  stop.abort();
  await listening;
});

Deno.test("a polling queue with nobody who listens, or with nothing to tell, does nothing", async () => {
  const clock = createFakeClock();
  const queue = pollingQueue();
  await queue.enqueue([jobAt(0)]);
  const stop = new AbortController();
  let looks = 0;
  const listening = queue.listen(() => Promise.resolve(void looks++), {
    signal: stop.signal,
    clock,
    pollMs: 250,
  });
  await clock.tick(0);
  await queue.enqueue([]);
  await clock.tick(0);
  assert.equal(looks, 1);
  stop.abort();
  await listening;
  await queue.listen(() => Promise.resolve(void looks++), {
    signal: stop.signal,
    clock,
    pollMs: 1,
  });
  assert.equal(looks, 1, "who stops before it begins never looks");
  await queue.close();
});
