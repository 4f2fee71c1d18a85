/**
 * Pause and resume from outside: what is scheduled keeps its time, and nothing runs twice.
 */

import assert from "node:assert/strict";
import { InvalidStateError, policy, workflow, type WorkflowDefinition } from "../../mod.ts";
import { assertWorkflowState, performNextStep, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingQueue } from "./_doubles.ts";
import { current, storyOf } from "./_story.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A trial period: a welcome, a reminder after two days, the first invoice five days later. */
function trial(sent: string[]): WorkflowDefinition {
  return workflow({
    name: "trial",
    steps: [
      { name: "welcome", run: () => void sent.push("welcome") },
      { name: "remind", wait: "2 days", run: () => void sent.push("remind") },
      { name: "invoice", wait: "5 days", run: () => void sent.push("invoice") },
    ],
  });
}

behaviour(
  "EXT-01 a pause stops the workflow and leaves what is scheduled as it is",
  async ({ engine }) => {
    const definition = trial([]);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    await performNextStep(run);
    const [workflowBefore, executionBefore] = [
      await t.store.get(run.id),
      await t.store.active(run.id),
    ];
    await t.clock.tick("1 hour");

    assert.equal(await run.pause(), run);

    const now = new Date(t.clock.now());
    assert.deepEqual(await t.store.get(run.id), {
      ...workflowBefore,
      state: "paused",
      transitionedAt: now,
      updatedAt: now,
    });
    assert.deepEqual(await t.store.active(run.id), { ...executionBefore, wakeAt: null });
    assert.equal((await current(run)).state, "scheduled");
    assert.equal((await current(run)).outcome, null);
    assert.equal(run.state, "paused");
  },
);

behaviour(
  "EXT-02 a freshly created workflow keeps its first execution when it is paused",
  async ({ engine }) => {
    const definition = trial([]);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    const before = await current(run);
    await run.pause();
    assert.deepEqual(await current(run), before);
    assert.deepEqual([run.state, run.nextStepName], ["paused", "welcome"]);
  },
);

behaviour(
  "EXT-03 an overdue execution stays scheduled when its workflow is paused",
  async ({ engine }) => {
    const sent: string[] = [];
    const definition = trial(sent);
    const t = await engine({ workflows: [definition], queue: recordingQueue() });
    const run = await t.engine.start(definition);
    await t.clock.tick("3 hours");
    const before = await current(run);
    assert.ok(before.scheduledFor.getTime() < t.clock.now());
    await run.pause();
    assert.deepEqual(await current(run), before);
    assert.deepEqual(sent, []);
  },
);

behaviour(
  "EXT-04 a paused, finished or canceled workflow cannot be paused, and the message says so",
  async ({ engine }) => {
    const definition = trial([]);
    const t = await engine({ workflows: [definition] });
    const paused = await (await t.engine.start(definition)).pause();
    const finished = await speedrunWorkflow(await t.engine.start(definition));
    const canceled = await (await t.engine.start(definition)).cancel();
    for (const run of [paused, finished, canceled]) {
      const { state } = run;
      const before = await t.store.get(run.id);
      await assert.rejects(run.pause(), (error) => {
        assert.ok(error instanceof InvalidStateError);
        assert.equal(error.state, state);
        assert.match(error.message, new RegExp(`^Cannot pause a ${state} workflow: `));
        return true;
      });
      assert.deepEqual(await t.store.get(run.id), before);
    }
  },
);

behaviour(
  "EXT-05 a resume before the due time uses the same execution at its original time",
  async ({ engine }) => {
    const sent: string[] = [];
    const definition = trial(sent);
    const queue = recordingQueue();
    const t = await engine({ workflows: [definition], queue });
    const run = await t.engine.start(definition);
    await performNextStep(run);
    const before = await current(run);
    await run.pause();
    queue.take();
    await t.clock.tick("1 day");
    await run.resume();

    assert.deepEqual([run.state, run.transitionedAt, run.nextStepName], ["ready", null, "remind"]);
    assert.deepEqual(await current(run), before);
    const { id: executionId, scheduledFor: runAt } = before;
    assert.equal(runAt.getTime(), t.clock.now() + DAY_MS);
    assert.deepEqual(queue.take(), [{ executionId, runAt, queue: "default", priority: 0 }]);
    await t.engine.handle(executionId);
    assert.deepEqual(sent, ["welcome"], "it is still not due");
    await t.clock.tick("1 day");
    await t.engine.handle(executionId);
    assert.deepEqual(sent, ["welcome", "remind"]);
  },
);

behaviour(
  "EXT-06 a resume after the due time leaves that time in the past and runs it now",
  async ({ engine }) => {
    const sent: string[] = [];
    const definition = trial(sent);
    const queue = recordingQueue();
    const t = await engine({ workflows: [definition], queue });
    const run = await t.engine.start(definition);
    await performNextStep(run);
    const before = await current(run);
    await run.pause();
    queue.take();
    await t.clock.tick("9 days");
    await run.resume();

    assert.deepEqual(await current(run), before);
    const [job, ...others] = queue.take();
    assert.deepEqual(others, []);
    assert.equal(job?.executionId, before.id);
    assert.ok(job.runAt.getTime() <= t.clock.now());
    await t.engine.handle(job.executionId);
    assert.deepEqual(sent, ["welcome", "remind"]);
    const after = (await run.history())[1];
    assert.deepEqual(after?.scheduledFor, before.scheduledFor);
    assert.equal(after?.startedAt?.getTime(), t.clock.now());
  },
);

behaviour(
  "EXT-07 when its job came during the pause, a resume makes a new execution that is due now",
  async ({ engine }) => {
    const sent: string[] = [];
    const definition = trial(sent);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    await performNextStep(run);
    await run.pause();
    await t.clock.tick("3 days");
    assert.deepEqual(await storyOf(run), [
      "welcome: completed/success",
      "remind: canceled/canceled (operator)",
    ]);
    assert.equal(await run.currentExecution(), null);
    await assertWorkflowState(run, "paused");

    await run.resume();
    const fresh = await current(run);
    assert.deepEqual([fresh.stepName, fresh.state, fresh.attempt], ["remind", "scheduled", 1]);
    assert.equal(fresh.scheduledFor.getTime(), t.clock.now());
    await t.clock.tick(0);
    assert.deepEqual(sent, ["welcome", "remind"]);
  },
);

behaviour(
  "EXT-08 pausing and resuming again and again leaves one execution per step",
  async ({ engine }) => {
    const definition = trial([]);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    await performNextStep(run);
    const before = await current(run);
    for (let cycle = 0; cycle < 3; cycle++) {
      await run.pause();
      await t.clock.tick("1 hour");
      await run.resume();
    }
    assert.deepEqual(await current(run), before);
    assert.deepEqual(await storyOf(run), ["welcome: completed/success", "remind: scheduled"]);
  },
);

behaviour(
  "EXT-09 the job from before the pause and the one from the resume run the step once",
  async ({ engine }) => {
    const sent: string[] = [];
    const definition = trial(sent);
    const queue = recordingQueue();
    const t = await engine({ workflows: [definition], queue });
    const run = await t.engine.start(definition);
    await run.pause();
    await run.resume();
    const jobs = queue.take();
    assert.equal(jobs.length, 2);
    for (const job of jobs) await t.engine.handle(job.executionId);
    assert.deepEqual(sent, ["welcome"]);
    assert.deepEqual(await storyOf(run), ["welcome: completed/success", "remind: scheduled"]);
  },
);

behaviour(
  "EXT-29 EXT-31 a paused workflow stays paused, and its rows tell why and since when",
  async ({ engine }) => {
    const definition = trial([]);
    const declining = workflow({
      name: "billing",
      onException: policy("pause", { report: "never" }),
      steps: [{ name: "charge", run: () => Promise.reject(new RangeError("card declined")) }],
    });
    const t = await engine({ workflows: [definition, declining], queue: recordingQueue() });
    const waiting = await (await t.engine.start(definition)).pause();
    const failed = await t.engine.start(declining);
    await assert.rejects(performNextStep(failed), /card declined/);
    const pausedAt = new Date(t.clock.now());
    await t.clock.tick("100 days");
    await t.engine.housekeep();

    const { items } = await t.engine.list({ state: "paused" });
    assert.deepEqual(items.map((run) => run.id).sort(), [waiting.id, failed.id].sort());
    for (const run of items) assert.deepEqual(run.transitionedAt, pausedAt);
    assert.ok((await current(waiting)).scheduledFor.getTime() < t.clock.now(), "it is overdue");
    assert.equal(await failed.currentExecution(), null);
    const last = (await failed.history()).findLast((execution) => execution.state === "failed");
    assert.deepEqual([last?.errorClass, last?.errorMessage], ["RangeError", "card declined"]);
  },
);
