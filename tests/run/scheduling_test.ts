/**
 * Scheduling: when executions are made, how many there can be, and what the queue hears of them.
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
