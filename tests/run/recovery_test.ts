/**
 * Recovery: what becomes of executions whose worker died or whose job was lost.
 */

import assert from "node:assert/strict";
import { createEngine, type RecoveredEvent, workflow, type WorkflowDefinition } from "../../mod.ts";
import { assertWorkflowState, performNextStep, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingQueue } from "./_doubles.ts";
import { dieWith } from "./_dead.ts";
import { createGate } from "./_gate.ts";
import { current, storyOf } from "./_story.ts";

const HOUR_MS = 3_600_000;

/** A delivery: two stops, the first of which may have options of its own. */
function delivery(
  options: { recovery?: "reattempt" | "cancel"; name?: string } = {},
): WorkflowDefinition {
  return workflow({
    name: "delivery",
    ...options,
    steps: [{ name: "load", run() {} }, { name: "drive", wait: "1 hour", run() {} }],
  });
}

behaviour(
  "HSK-08 a step whose worker died is run again: the dead execution is closed as recovered",
  async ({ engine }) => {
    const definition = delivery();
    const queue = recordingQueue();
    const t = await engine({ workflows: [definition], queue });
    const run = await t.engine.start(definition);
    const dead = await dieWith(run, t);
    const events: RecoveredEvent[] = [];
    t.engine.events.on("recovered", (event) => void events.push(event));
    queue.take();
    await t.clock.tick("30 seconds");
    const summary = await t.engine.housekeep();

    const now = new Date(t.clock.now());
    assert.equal(summary.recoveredInProgress, 1);
    const [closed, next] = await run.history();
    assert.equal(closed?.id, dead.id);
    assert.deepEqual(
      [closed?.state, closed?.outcome, closed?.cause, closed?.completedAt, closed?.finishedAt],
      ["completed", "recovered", "recovery", now, now],
    );
    assert.deepEqual(closed?.startedAt, dead.startedAt, "its body had started");
    assert.deepEqual(
      [next?.stepName, next?.state, next?.attempt, next?.scheduledFor],
      ["load", "scheduled", 1, now],
    );
    await run.reload();
    assert.deepEqual(
      [run.state, run.currentStepName, run.nextStepName, run.transitionedAt],
      ["ready", null, "load", null],
    );
    assert.deepEqual(queue.take().map((job) => [job.executionId, job.runAt]), [[next?.id, now]]);
    assert.deepEqual(
      events.map(({ executionId, lost, action }) => [executionId, lost, action]),
      [[dead.id, "worker", "reattempt"]],
    );
    assert.equal(events[0]?.worker, dead.worker);
    assert.equal(events[0]?.silentMs, 30_000);
  },
);

behaviour(
  "HSK-08 without short leases a worker counts as dead an hour after its last sign of life",
  async ({ engine }) => {
    const definition = delivery();
    const t = await engine({ workflows: [definition], queue: recordingQueue(), leaseMs: null });
    const run = await t.engine.start(definition);
    await dieWith(run, t, HOUR_MS);
    await t.clock.tick(HOUR_MS - 1);
    assert.equal((await t.engine.housekeep()).recoveredInProgress, 0);
    await t.clock.tick(1);
    assert.equal((await t.engine.housekeep()).recoveredInProgress, 1);

    const gate = createGate();
    const guarded = workflow({ name: "guarded", steps: [{ name: "guard", run: gate.pass }] });
    const other = await engine({
      workflows: [guarded],
      leaseMs: null,
      housekeeping: { stuckInProgress: "10 minutes" },
    });
    const second = await other.engine.start(guarded);
    const handling = other.engine.handle((await current(second)).id);
    await gate.arrived;
    const { leaseUntil, startedAt } = await other.store.active(second.id) ?? {};
    assert.equal((leaseUntil?.getTime() ?? 0) - (startedAt?.getTime() ?? 0), 600_000);
    gate.open();
    await handling;
  },
);

behaviour(
  "HSK-09 with the action cancel the dead execution and its workflow are canceled",
  async ({ engine }) => {
    const definition = delivery();
    const t = await engine({
      workflows: [definition],
      queue: recordingQueue(),
      housekeeping: { recovery: "cancel" },
    });
    const run = await t.engine.start(definition);
    await dieWith(run, t);
    await t.clock.tick("30 seconds");
    assert.equal((await t.engine.housekeep()).recoveredInProgress, 1);
    const now = new Date(t.clock.now());
    const [closed, ...others] = await run.history();
    assert.deepEqual(others, []);
    assert.deepEqual(
      [closed?.state, closed?.outcome, closed?.canceledAt, closed?.finishedAt],
      ["canceled", "recovered", now, now],
    );
    await run.reload();
    assert.deepEqual([run.state, run.transitionedAt], ["canceled", now]);
  },
);

behaviour("HSK-10 an execution whose lease has not ended is left alone", async ({ engine }) => {
  const definition = delivery();
  const t = await engine({ workflows: [definition], queue: recordingQueue() });
  const run = await t.engine.start(definition);
  await dieWith(run, t);
  const before = [await t.store.get(run.id), await t.store.active(run.id)];
  await t.clock.tick(29_999);
  assert.equal((await t.engine.housekeep()).recoveredInProgress, 0);
  assert.deepEqual([await t.store.get(run.id), await t.store.active(run.id)], before);
});

behaviour(
  "HSK-11 a job that never came is replaced 15 minutes past its time, visibly",
  async ({ engine }) => {
    const definition = delivery();
    const queue = recordingQueue();
    const t = await engine({ workflows: [definition], queue });
    const run = await t.engine.start(definition);
    const lost = await current(run);
    queue.take();
    await t.clock.tick("15 minutes");
    assert.equal((await t.engine.housekeep()).recoveredScheduled, 1);

    const now = new Date(t.clock.now());
    const [closed, next] = await run.history();
    assert.equal(closed?.id, lost.id);
    assert.deepEqual(
      [closed?.state, closed?.outcome, closed?.cause, closed?.startedAt, closed?.finishedAt],
      ["completed", "recovered", "recovery", null, now],
    );
    assert.deepEqual([next?.stepName, next?.state, next?.scheduledFor], ["load", "scheduled", now]);
    assert.deepEqual(queue.take().map((job) => job.executionId), [next?.id]);
    await t.engine.handle(lost.id);
    assert.equal((await run.history()).length, 2, "the lost job is nothing any more if it comes");
    await t.engine.handle(next?.id ?? "");
    await assertWorkflowState(run, "ready");
    assert.equal((await current(run)).stepName, "drive");
  },
);

behaviour(
  "HSK-11 with the polling queue, too, unless a worker of this process looks at the table",
  async ({ store }) => {
    const definition = delivery();
    const shared = store();
    await shared.migrate();
    let now = Date.UTC(2026, 0, 1);
    const clock = { now: () => now, setTimeout: () => 0, clearTimeout() {} };
    const engine = createEngine({ store: shared, workflows: [definition], clock });
    const run = await engine.start(definition);
    now += 14 * 60_000;
    assert.equal((await engine.housekeep()).recoveredScheduled, 0);
    now += 60_000;
    assert.equal((await engine.housekeep()).recoveredScheduled, 1);
    assert.deepEqual(await storyOf(run), [
      "load: completed/recovered (recovery)",
      "load: scheduled",
    ]);
    await engine.close();
  },
);

behaviour(
  "HSK-12 with the action cancel an execution whose job was lost ends its workflow",
  async ({ engine }) => {
    const definition = delivery();
    const t = await engine({
      workflows: [definition],
      queue: recordingQueue(),
      housekeeping: { recovery: "cancel" },
    });
    const run = await t.engine.start(definition);
    await t.clock.tick("15 minutes");
    assert.equal((await t.engine.housekeep()).recoveredScheduled, 1);
    assert.deepEqual(await storyOf(run), ["load: canceled/recovered (recovery)"]);
    await assertWorkflowState(run, "canceled");
  },
);

behaviour(
  "HSK-13 what is scheduled for the future, or overdue for less than the threshold, is left alone",
  async ({ engine }) => {
    const definition = delivery();
    const t = await engine({
      workflows: [definition],
      queue: recordingQueue(),
      housekeeping: { stuckScheduled: "20 minutes" },
    });
    const future = await t.engine.start(definition);
    await performNextStep(future);
    const overdue = await t.engine.start(definition);
    const before = [await t.store.active(future.id), await t.store.active(overdue.id)];
    await t.clock.tick("19 minutes 59 seconds");
    assert.equal((await t.engine.housekeep()).recoveredScheduled, 0);
    assert.deepEqual([await t.store.active(future.id), await t.store.active(overdue.id)], before);
    await t.clock.tick("1 second");
    assert.equal((await t.engine.housekeep()).recoveredScheduled, 1);
    assert.deepEqual(await t.store.active(future.id), before[0]);
  },
);

behaviour(
  "HSK-21 a resumable step goes on from the cursor that the dead worker had stored",
  async ({ engine }) => {
    const visited: number[] = [];
    const definition = workflow({
      name: "round",
      steps: [{
        name: "visit",
        resumable: true,
        async run({ iter }) {
          await iter.over([0, 1, 2, 3], (stop) => void visited.push(stop));
        },
      }],
    });
    const t = await engine({ workflows: [definition], queue: recordingQueue() });
    const run = await t.engine.start(definition);
    const dead = await dieWith(run, t);
    const checkpoint = { executionId: dead.id, token: dead.token ?? "", cursor: "2" };
    const now = new Date(t.clock.now());
    const answers = await t.store.checkpoint([checkpoint], { now, leaseMs: 30_000 });
    assert.deepEqual(answers, ["held"]);
    await t.clock.tick("30 seconds");
    await t.engine.housekeep();
    assert.deepEqual(await storyOf(run), [
      "visit: completed/recovered (recovery)",
      "visit: scheduled",
    ]);
    const next = await current(run);
    assert.deepEqual([next.cursor, next.continuesFromId], [2, dead.id]);
    await speedrunWorkflow(run);
    assert.deepEqual(visited, [2, 3]);
    await assertWorkflowState(run, "finished");
  },
);

behaviour(
  "HSK-23 a paused workflow keeps its overdue execution, whatever the action",
  async ({ engine }) => {
    for (const recovery of ["reattempt", "cancel"] as const) {
      const definition = delivery();
      const t = await engine({
        workflows: [definition],
        queue: recordingQueue(),
        housekeeping: { recovery },
      });
      const run = await (await t.engine.start(definition)).pause();
      const before = [await t.store.get(run.id), await t.store.active(run.id)];
      await t.clock.tick("10 days");
      const summary = await t.engine.housekeep();
      assert.deepEqual([summary.recoveredScheduled, summary.recoveredInProgress], [0, 0]);
      assert.deepEqual([await t.store.get(run.id), await t.store.active(run.id)], before);
    }
  },
);

behaviour(
  "HSK-24 when the workflow was canceled meanwhile, only the dead execution is closed",
  async ({ engine }) => {
    for (const recovery of ["reattempt", "cancel"] as const) {
      const definition = delivery({ recovery });
      const t = await engine({ workflows: [definition], queue: recordingQueue() });
      const run = await t.engine.start(definition);
      await dieWith(run, t);
      await run.cancel();
      const before = await t.store.get(run.id);
      await t.clock.tick("30 seconds");
      await t.engine.housekeep();
      assert.deepEqual(await storyOf(run), ["load: canceled/recovered (recovery)"]);
      assert.deepEqual(await t.store.get(run.id), before);
    }
  },
);

behaviour(
  "HSK-24 when the workflow was paused meanwhile it stays paused, and a resume runs the step again",
  async ({ engine }) => {
    const definition = delivery();
    const t = await engine({ workflows: [definition], queue: recordingQueue() });
    const run = await t.engine.start(definition);
    await dieWith(run, t);
    await run.pause();
    await t.clock.tick("30 seconds");
    assert.equal((await t.engine.housekeep()).recoveredInProgress, 1);
    assert.deepEqual(await storyOf(run), ["load: completed/recovered (recovery)"]);
    await assertWorkflowState(run, "paused");
    await run.resume();
    assert.equal((await performNextStep(run))?.outcome, "success");
  },
);

behaviour("HSK-28 a definition's own action goes before the engine's", async ({ engine }) => {
  const careful = delivery({ name: "careful", recovery: "cancel" });
  const usual = delivery({ name: "usual" });
  const t = await engine({ workflows: [careful, usual], queue: recordingQueue() });
  const canceled = await t.engine.start(careful);
  const again = await t.engine.start(usual);
  await dieWith(canceled, t);
  await dieWith(again, t);
  await t.clock.tick("30 seconds");
  assert.equal((await t.engine.housekeep()).recoveredInProgress, 2);
  await assertWorkflowState(canceled, "canceled");
  await assertWorkflowState(again, "ready");
});

behaviour(
  "HSK-32 a recovery is no error: it neither counts as a reattempt nor leaves the count as it was",
  async ({ engine }) => {
    const definition = workflow({
      name: "delivery",
      steps: [{
        name: "load",
        onException: "reattempt",
        maxReattempts: 2,
        run: () => Promise.reject(new Error("the ramp is stuck")),
      }],
    });
    const t = await engine({ workflows: [definition], queue: recordingQueue() });
    const run = await t.engine.start(definition);
    await assert.rejects(performNextStep(run));
    await assert.rejects(performNextStep(run));
    await dieWith(run, t);
    await t.clock.tick("30 seconds");
    await t.engine.housekeep();
    assert.equal((await current(run)).attempt, 1);
    await assert.rejects(performNextStep(run));
    await assert.rejects(performNextStep(run));
    assert.equal(run.state, "ready", "two reattempts are allowed after the recovery again");
    await assert.rejects(performNextStep(run));
    assert.equal(run.state, "paused");
  },
);
