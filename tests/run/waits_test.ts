/**
 * Waits: from when they count, what takes their place, and how long they may be.
 */

import assert from "node:assert/strict";
import { workflow } from "../../mod.ts";
import { performNextStep } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingQueue } from "./_doubles.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOON = Date.UTC(2026, 5, 1, 12);

const newsletter = workflow({
  name: "newsletter",
  steps: [
    { name: "confirm", run: () => {} },
    { name: "first_issue", wait: "2 days", run: () => {} },
    { name: "survey", run: () => {} },
  ],
});

behaviour(
  "SCH-03 a wait of the first step delays its execution and its job",
  async ({ engine }) => {
    const trial = workflow({
      name: "trial",
      steps: [{ name: "remind", wait: "90 minutes", run: () => {} }],
    });
    const queue = recordingQueue();
    const t = await engine({ workflows: [trial], queue, now: NOON });
    const run = await t.engine.start(trial);
    const due = new Date(NOON + 1.5 * HOUR);
    assert.deepEqual((await run.currentExecution())?.scheduledFor, due);
    assert.deepEqual(queue.jobs.map((job) => job.runAt), [due]);
  },
);

behaviour(
  "SCH-04 a wait of a later step counts from the end of the step before it",
  async ({ engine }) => {
    const queue = recordingQueue();
    const t = await engine({ workflows: [newsletter], queue, now: NOON });
    const run = await t.engine.start(newsletter);
    t.clock.travelTo(NOON + 5 * HOUR);
    await performNextStep(run);
    const due = new Date(NOON + 5 * HOUR + 2 * DAY);
    const next = await run.currentExecution();
    assert.equal(next?.stepName, "first_issue");
    assert.deepEqual(next?.scheduledFor, due);
    assert.deepEqual(queue.jobs.at(-1)?.runAt, due);
    assert.equal(queue.jobs.at(-1)?.executionId, next?.id);
  },
);

behaviour("SCH-04 a wait may be a function of what the step before it left", async ({ engine }) => {
  const seen: unknown[] = [];
  const rental = workflow({
    name: "rental",
    steps: [
      { name: "hand_over", run: () => {} },
      {
        name: "fetch",
        wait: ({ input, workflow }) => {
          seen.push([input, workflow.name]);
          return Promise.resolve(`${(input as { days: number }).days} days`);
        },
        run: () => {},
      },
    ],
  });
  const t = await engine({ workflows: [rental], now: NOON });
  const run = await t.engine.start(rental, { input: { days: 3 } });
  await performNextStep(run);
  assert.deepEqual((await run.currentExecution())?.scheduledFor, new Date(NOON + 3 * DAY));
  assert.deepEqual(seen, [[{ days: 3 }, "rental"]]);
});

behaviour(
  "SCH-05 a step without a wait is due at once when its predecessor ends",
  async ({ engine }) => {
    const queue = recordingQueue();
    const t = await engine({ workflows: [newsletter], queue, now: NOON });
    const run = await t.engine.start(newsletter);
    await performNextStep(run);
    t.clock.travelTo(NOON + 2 * DAY);
    await performNextStep(run);
    assert.deepEqual((await run.currentExecution())?.scheduledFor, new Date(NOON + 2 * DAY));
    assert.deepEqual(queue.jobs.at(-1)?.runAt, new Date(NOON + 2 * DAY));
  },
);

behaviour(
  "SCH-08 SCH-11 SCH-12 an explicit wait, or none, takes the place of the step's own",
  async ({ engine }) => {
    const collection = workflow({
      name: "collection",
      steps: [{
        name: "collect",
        wait: "7 days",
        run({ attempt, reattempt }) {
          if (attempt === 1) reattempt({ wait: "3 hours" });
          if (attempt === 2) reattempt();
        },
      }],
    });
    const queue = recordingQueue();
    const t = await engine({ workflows: [collection], queue, now: NOON });
    const run = await t.engine.start(collection);
    assert.deepEqual(queue.take().map((job) => job.runAt), [new Date(NOON + 7 * DAY)]);

    t.clock.travelTo(NOON + 7 * DAY);
    await performNextStep(run);
    const waiting = await run.currentExecution();
    assert.deepEqual(waiting?.scheduledFor, new Date(NOON + 7 * DAY + 3 * HOUR));
    assert.deepEqual(queue.take().map((job) => job.runAt), [waiting?.scheduledFor]);

    t.clock.travelTo(NOON + 8 * DAY);
    await performNextStep(run);
    const again = await run.currentExecution();
    assert.deepEqual(again?.scheduledFor, new Date(NOON + 8 * DAY));
    assert.deepEqual(queue.take().map((job) => job.runAt), [again?.scheduledFor]);
  },
);

behaviour(
  "SCH-25 a wait of many months is kept to the millisecond, and no timer of the engine counts it",
  async ({ engine }) => {
    const warranty = workflow({
      name: "warranty",
      steps: [{ name: "expire", wait: { days: 730, milliseconds: 1 }, run: () => {} }],
    });
    const queue = recordingQueue();
    const t = await engine({ workflows: [warranty], queue, now: NOON });
    await t.engine.start(warranty);
    assert.deepEqual(queue.jobs.map((job) => job.runAt.getTime()), [NOON + 730 * DAY + 1]);
    assert.equal(t.clock.timers, 0);
  },
);

behaviour("SCH-25 an inline queue waits longer than one timer can", async ({ engine }) => {
  const ran: number[] = [];
  const warranty = workflow({
    name: "warranty",
    steps: [{ name: "expire", wait: "400 days", run: () => void ran.push(t.clock.now()) }],
  });
  const t = await engine({ workflows: [warranty], now: NOON });
  await t.engine.start(warranty);
  await t.clock.tick(400 * DAY - 1);
  assert.deepEqual(ran, []);
  await t.clock.tick(1);
  assert.deepEqual(ran, [NOON + 400 * DAY]);
});

behaviour("SCH-26 the remaining wait is the sum over the steps that follow", async ({ engine }) => {
  const course = workflow({
    name: "course",
    steps: [
      { name: "lesson_1", wait: "1 hour", run: () => {} },
      { name: "lesson_2", wait: "2 days", run: () => {} },
      { name: "lesson_3", run: () => {} },
      { name: "exam", wait: "3 days", run: () => {} },
    ],
  });
  const t = await engine({ workflows: [course] });
  const run = await t.engine.start(course);
  const remaining = [run.remainingWaitMs];
  for (let step = 0; step < 4; step++) {
    await performNextStep(run);
    remaining.push(run.remainingWaitMs);
  }
  assert.deepEqual(remaining, [5 * DAY, 3 * DAY, 3 * DAY, 0, 0]);
});
