/**
 * Scheduling: when executions are made, when they are due, and what the queue hears of them.
 */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { InvalidStateError, type Job, workflow } from "../../mod.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import {
  assertWorkflowState,
  performNextStep,
  performStepInline,
  testEngine,
} from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingQueue, storeWith, until } from "./_doubles.ts";

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
  "SCH-01 a new workflow is ready for its first step, with one scheduled execution",
  async ({ engine }) => {
    const t = await engine({ workflows: [newsletter], now: NOON });
    const run = await t.engine.start(newsletter);
    const row = await t.store.get(run.id);
    assert.equal(row?.state, "ready");
    assert.equal(row?.nextStepName, "confirm");
    assert.equal(row?.currentStepName, null);
    assert.equal(row?.startedAt, null);
    assert.equal(row?.transitionedAt, null);
    assert.deepEqual([row?.createdAt, row?.updatedAt], [new Date(NOON), new Date(NOON)]);
    const [execution, ...others] = await run.history();
    assert.deepEqual(others, []);
    assert.equal(execution?.state, "scheduled");
    assert.equal(execution?.stepName, "confirm");
    assert.equal(execution?.workflowId, run.id);
    assert.equal(execution?.attempt, 1);
    assert.equal(execution?.startedAt, null);
    assert.equal(execution?.finishedAt, null);
  },
);

behaviour(
  "SCH-02 SCH-05 one job that says only which execution, and when, is enqueued after the commit",
  async ({ engine }) => {
    const seen: unknown[] = [];
    const queue = recordingQueue({
      async enqueue(jobs: readonly Job[]) {
        for (const job of jobs) {
          const row = await t.store.getExecution(job.executionId);
          seen.push({ job, state: row?.state, stepName: row?.stepName });
        }
      },
    });
    const t = await engine({ workflows: [newsletter], queue, now: NOON });
    const run = await t.engine.start(newsletter);
    const execution = await run.currentExecution();
    assert.deepEqual(seen, [{
      job: { executionId: execution?.id, runAt: new Date(NOON), queue: "default", priority: 0 },
      state: "scheduled",
      stepName: "confirm",
    }]);
    assert.deepEqual(execution?.scheduledFor, new Date(NOON));
  },
);

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

behaviour("SCH-06 completion and the next execution are one transaction", async ({ engine }) => {
  let full = false;
  const queue = recordingQueue({
    commit: "with-store",
    enqueue: () => full ? Promise.reject(new Error("the jobs table is full")) : Promise.resolve(),
  });
  const t = await engine({ workflows: [newsletter], queue, now: NOON });
  const run = await t.engine.start(newsletter);
  full = true;
  const performing = performNextStep(run);
  await until(() => t.clock.timers > 1);
  const during = await run.history();
  assert.deepEqual(during.map((one) => [one.stepName, one.state]), [["confirm", "in_progress"]]);
  await assertWorkflowState(run, "performing");
  full = false;
  await t.clock.tick("1 second");
  const confirmed = await performing;
  const after = await run.history();
  assert.deepEqual(after.map((one) => [one.stepName, one.state]), [
    ["confirm", "completed"],
    ["first_issue", "scheduled"],
  ]);
  assert.deepEqual(after[1]?.createdAt, confirmed?.completedAt);
});

behaviour(
  "SCH-07 the end of the last step finishes the workflow, without pointers and without a job",
  async ({ engine }) => {
    const single = workflow({ name: "single", steps: [{ name: "only", run: () => {} }] });
    const queue = recordingQueue();
    const t = await engine({ workflows: [single], queue, now: NOON });
    const run = await t.engine.start(single);
    queue.take();
    t.clock.travelTo(NOON + HOUR);
    await performNextStep(run);
    const row = await t.store.get(run.id);
    assert.equal(row?.state, "finished");
    assert.deepEqual([row?.currentStepName, row?.nextStepName], [null, null]);
    assert.deepEqual(row?.transitionedAt, new Date(NOON + HOUR));
    assert.deepEqual(queue.take(), []);
    assert.equal((await run.history()).length, 1);
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
  "SCH-09 a stray scheduled execution is canceled before a new one is made",
  async ({ engine }) => {
    const t = await engine({ workflows: [newsletter], now: NOON });
    const run = await t.engine.start(newsletter);
    const survey = await performStepInline(run, "survey");
    const [stray, placed, ...others] = await run.history();
    assert.deepEqual(others, []);
    assert.deepEqual([stray?.stepName, stray?.state, stray?.outcome], [
      "confirm",
      "canceled",
      "canceled",
    ]);
    assert.deepEqual(stray?.finishedAt, new Date(NOON));
    assert.equal(placed?.id, survey?.id);
    assert.deepEqual([placed?.stepName, placed?.outcome], ["survey", "success"]);
  },
);

behaviour("SCH-09 an execution that is in progress is left alone", async ({ engine }) => {
  const gate = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const inspection = workflow({
    name: "inspection",
    steps: [
      { name: "inspect", run: () => (started.resolve(), gate.promise) },
      { name: "sign", run: () => {} },
    ],
  });
  const t = await engine({ workflows: [inspection] });
  const run = await t.engine.start(inspection);
  const performing = performNextStep(run);
  await started.promise;
  const before = await t.store.active(run.id);
  await assert.rejects(performStepInline(run, "sign"), InvalidStateError);
  await run.pause();
  await assert.rejects(run.resumeAt("sign"), InvalidStateError);
  assert.deepEqual(await t.store.active(run.id), before);
  await run.resume();
  gate.resolve();
  assert.equal((await performing)?.outcome, "success");
});

behaviour("SCH-10 commands that race leave at most one active execution", async ({ engine }) => {
  const tour = workflow({
    name: "tour",
    steps: Array.from({ length: 8 }, (_, at) => ({ name: `stop_${at}`, run: () => {} })),
  });
  const t = await engine({ workflows: [tour] });
  const run = await t.engine.start(tour);
  await Promise.allSettled([
    ...Array.from({ length: 3 }, () => run.skip()),
    performNextStep(run),
    run.pause(),
    run.resume(),
    performStepInline(run, "stop_7"),
  ]);
  const states = (await run.history()).map((one) => one.state);
  assert.ok(states.filter((state) => state === "scheduled" || state === "in_progress").length <= 1);
});

Deno.test("SCH-10 the schema itself refuses a second active execution of a workflow", async () => {
  const database = new DatabaseSync(":memory:");
  const t = await testEngine({ workflows: [newsletter], store: sqliteStore(database) });
  await t.engine.start(newsletter);
  const columns = database.prepare("PRAGMA table_info(pawl_step_executions)").all()
    .map((column) => column.name as string).filter((name) => name !== "id" && name !== "seq");
  const copy = (state: string): void =>
    void database.exec(
      `INSERT INTO pawl_step_executions (seq, ${columns.join(", ")})
       SELECT seq + 1, ${columns.map((name) => name === "state" ? `'${state}'` : name).join(", ")}
       FROM pawl_step_executions WHERE state = 'scheduled'`,
    );
  assert.throws(() => copy("scheduled"), /UNIQUE/);
  assert.throws(() => copy("in_progress"), /UNIQUE/);
  copy("canceled");
  await t.engine.close();
  database.close();
});

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

behaviour(
  "SCH-17 the queue's id of a job is kept on the execution, outside of the write itself",
  async ({ engine, store }) => {
    let notes = true;
    const queue = recordingQueue({
      enqueue: (jobs: readonly Job[]) =>
        Promise.resolve(jobs.map(({ executionId }) => `job-${executionId}`)),
    });
    const t = await engine({
      workflows: [newsletter],
      queue,
      store: storeWith(store(), (real) => ({
        noteJobIds: (entries) =>
          notes ? real.noteJobIds(entries) : Promise.reject(new Error("no notes today")),
      })),
    });
    const run = await t.engine.start(newsletter);
    const first = await t.store.active(run.id);
    assert.equal(first?.jobId, `job-${first?.id}`);
    await performNextStep(run);
    const second = await t.store.active(run.id);
    assert.equal(second?.jobId, `job-${second?.id}`);
    notes = false;
    const other = await t.engine.start(newsletter);
    assert.equal((await t.store.active(other.id))?.jobId, null);
  },
);
