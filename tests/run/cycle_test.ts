/**
 * Forward and cyclic scheduling, and queues that cannot wait for long.
 */

import assert from "node:assert/strict";
import {
  createEngine,
  type Engine,
  type Run,
  StepConfigurationError,
  workflow,
} from "../../mod.ts";
import { assertWorkflowState, performNextStep } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingLogger, recordingQueue, storeWith, until } from "./_doubles.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOON = Date.UTC(2026, 5, 1, 12);

const shipping = workflow({
  name: "shipping",
  steps: [
    { name: "pack", wait: "40 minutes", run: () => {} },
    { name: "track", wait: "5 minutes", run: () => {} },
    { name: "ask_for_review", wait: "10 days", run: () => {} },
  ],
});

async function executionId(run: Run): Promise<string> {
  return (await run.currentExecution())?.id as string;
}

behaviour("SCH-18 forward scheduling enqueues a delayed job at once", async ({ engine }) => {
  const queue = recordingQueue();
  const t = await engine({ workflows: [shipping], queue, now: NOON });
  const run = await t.engine.start(shipping);
  assert.deepEqual(queue.jobs, [{
    executionId: await executionId(run),
    runAt: new Date(NOON + 40 * MINUTE),
    queue: "default",
    priority: 0,
  }]);
});

behaviour(
  "SCH-19 under cyclic scheduling a job beyond the cycle is not enqueued",
  async ({ engine }) => {
    const queue = recordingQueue();
    const options = { queue, now: NOON, scheduling: { cycle: "30 minutes" } } as const;
    const t = await engine({ workflows: [shipping], ...options });
    const run = await t.engine.start(shipping);
    assert.deepEqual(queue.jobs, []);
    assert.equal((await run.currentExecution())?.state, "scheduled");
    assert.equal(await t.engine.cycle(), 0);
    assert.deepEqual(queue.jobs, []);
  },
);

behaviour(
  "SCH-20 under cyclic scheduling what is due within the cycle is enqueued at once",
  async ({ engine }) => {
    const queue = recordingQueue();
    const options = { queue, now: NOON, scheduling: { cycle: "40 minutes" } } as const;
    const t = await engine({ workflows: [shipping], ...options });
    const run = await t.engine.start(shipping);
    assert.deepEqual(queue.take().map((job) => job.runAt), [new Date(NOON + 40 * MINUTE)]);
    t.clock.travelTo(NOON + 40 * MINUTE);
    await performNextStep(run);
    const [tracking, ...others] = queue.take();
    assert.deepEqual(others, []);
    assert.equal(tracking?.executionId, await executionId(run));
    assert.deepEqual(tracking?.runAt, new Date(NOON + 45 * MINUTE));
    await performNextStep(run);
    assert.deepEqual(queue.take(), []);
  },
);

behaviour(
  "SCH-21 a cycle enqueues one job for each workflow that is due before its end",
  async ({ engine }) => {
    const queue = recordingQueue();
    const options = { queue, now: NOON, scheduling: { cycle: "30 minutes" } } as const;
    const t = await engine({ workflows: [shipping], ...options });
    const overdue = await t.engine.start(shipping, { at: NOON - 2 * HOUR });
    queue.take();
    const soon = await t.engine.start(shipping);
    const later = await t.engine.start(shipping, { at: NOON + HOUR });
    t.clock.travelTo(NOON + 30 * MINUTE);
    assert.equal(await t.engine.cycle(), 2);
    assert.deepEqual(queue.take().map(({ executionId, runAt }) => ({ executionId, runAt })), [
      { executionId: await executionId(overdue), runAt: new Date(NOON - 80 * MINUTE) },
      { executionId: await executionId(soon), runAt: new Date(NOON + 40 * MINUTE) },
    ]);
    t.clock.travelTo(NOON + 71 * MINUTE);
    await t.engine.cycle();
    assert.ok(queue.take().some((job) => job.runAt.getTime() === NOON + 100 * MINUTE));
    await assertWorkflowState(later, "ready");
  },
);

behaviour(
  "SCH-21 a cycle reaches every workflow, also when there are thousands",
  async ({ engine }) => {
    const queue = recordingQueue();
    const options = { queue, now: NOON, scheduling: { cycle: "30 minutes" } } as const;
    const t = await engine({ workflows: [shipping], ...options });
    await t.engine.startMany(shipping, Array.from({ length: 2_100 }, () => ({})));
    t.clock.travelTo(NOON + 30 * MINUTE);
    assert.equal(await t.engine.cycle(), 2_100);
    assert.equal(new Set(queue.jobs.map((job) => job.executionId)).size, 2_100);
    assert.equal(queue.jobs.length, 2_100);
  },
);

behaviour("SCH-22 a cycle does nothing under forward scheduling", async ({ engine }) => {
  const queue = recordingQueue();
  const t = await engine({ workflows: [shipping], queue, now: NOON });
  await t.engine.start(shipping, { at: NOON - HOUR });
  queue.take();
  assert.equal(await t.engine.cycle(), 0);
  assert.deepEqual(queue.take(), []);
});

behaviour("SCH-22 a polled table needs no cycles, so one does nothing there", async ({ store }) => {
  const shared = store();
  const engine = createEngine({
    store: shared,
    workflows: [shipping],
    scheduling: { cycle: "1 hour" },
  });
  await engine.migrate();
  await engine.start(shipping);
  assert.equal(await engine.cycle(), 0);
  await engine.close();
});

behaviour(
  "SCH-23 a cycle leaves paused, finished, canceled and running workflows alone",
  async ({ engine }) => {
    const quick = workflow({
      name: "quick",
      steps: [{ name: "only", wait: "1 hour", run: () => {} }],
    });
    const queue = recordingQueue();
    const options = { queue, now: NOON, scheduling: { cycle: "30 minutes" } } as const;
    const t = await engine({ workflows: [quick], ...options });
    const paused = await t.engine.start(quick);
    await paused.pause();
    await (await t.engine.start(quick)).cancel();
    await performNextStep(await t.engine.start(quick));
    t.clock.travelTo(NOON + HOUR);
    assert.equal(await t.engine.cycle(), 0);
    await paused.resume();
    assert.equal(queue.take().length, 1);
  },
);

behaviour("SCH-24 jobs of two cycles for one execution run its body once", async ({ engine }) => {
  const ran: string[] = [];
  const counted = workflow({
    name: "counted",
    steps: [{ name: "only", wait: "1 hour", run: ({ execution }) => void ran.push(execution.id) }],
  });
  const queue = recordingQueue();
  const options = { queue, now: NOON, scheduling: { cycle: "30 minutes" } } as const;
  const t = await engine({ workflows: [counted], ...options });
  const run = await t.engine.start(counted);
  t.clock.travelTo(NOON + 40 * MINUTE);
  await Promise.all([t.engine.cycle(), t.engine.cycle()]);
  const jobs = queue.take();
  assert.equal(jobs.length, 2);
  t.clock.travelTo(NOON + HOUR);
  await Promise.all(jobs.map((job) => t.engine.handle(job.executionId)));
  assert.deepEqual(ran, [(await run.history())[0]?.id]);
  await assertWorkflowState(run, "finished");
});

behaviour("SCH-19 a cycle that is no duration is refused", async ({ store }) => {
  const make = (scheduling: unknown) => (): Engine =>
    createEngine({ store: store(), scheduling: scheduling as never });
  for (const wrong of ["cyclic", { cycle: 0 }, { cycle: "soon" }, { every: "1 hour" }]) {
    assert.throws(make(wrong), StepConfigurationError);
  }
  await Promise.resolve();
});

behaviour(
  "U10 a queue that cannot wait long enough is asked as late as it can, and again",
  async ({ engine }) => {
    const ran: number[] = [];
    const aging = workflow({
      name: "aging",
      steps: [{ name: "taste", wait: "150 minutes", run: () => void ran.push(t.clock.now()) }],
    });
    const queue = recordingQueue({ maxDelayMs: HOUR });
    const t = await engine({ workflows: [aging], queue, now: NOON });
    const run = await t.engine.start(aging);
    const due = NOON + 150 * MINUTE;
    assert.deepEqual((await run.currentExecution())?.scheduledFor, new Date(due));
    const asked: number[] = [];
    for (let [job] = queue.take(); job !== undefined; [job] = queue.take()) {
      asked.push((job.runAt.getTime() - NOON) / MINUTE);
      t.clock.travelTo(job.runAt);
      await t.engine.handle(job.executionId);
    }
    assert.deepEqual(asked, [60, 120, 150]);
    assert.deepEqual(ran, [due]);
  },
);

behaviour(
  "U9 a worker warns when its clock and the database's differ by more than a second",
  async ({ engine, store }) => {
    for (const { skewMs, warns } of [{ skewMs: 1_000, warns: 0 }, { skewMs: -1_001, warns: 1 }]) {
      const logger = recordingLogger();
      let asked = false;
      const t = await engine({
        queue: recordingQueue(),
        logger,
        store: storeWith(store(), () => ({
          serverTime() {
            asked = true;
            return Promise.resolve(t.clock.now() - skewMs);
          },
        })),
      });
      const worker = t.engine.work();
      await until(() => asked && t.clock.timers > 0);
      await worker.stop();
      const warnings = logger.lines.filter((line) => /clock/.test(line.message));
      assert.deepEqual(warnings.map((line) => line.level), Array(warns).fill("warn"));
      if (warns > 0) assert.equal(warnings[0]?.fields.skewMs, skewMs);
    }
  },
);

behaviour(
  "U9 due times follow the engine's clock, whatever the database's says",
  async ({ engine, store }) => {
    const t = await engine({
      workflows: [shipping],
      queue: recordingQueue(),
      now: NOON,
      store: storeWith(store(), () => ({ serverTime: () => Promise.resolve(NOON + 10 * HOUR) })),
    });
    const run = await t.engine.start(shipping);
    await t.engine.handle(await executionId(run));
    assert.equal((await run.currentExecution())?.state, "scheduled");
    t.clock.travelTo(NOON + 40 * MINUTE);
    await t.engine.handle(await executionId(run));
    assert.equal((await run.reload()).nextStepName, "track");
  },
);
