/**
 * New code meets old rows: steps that came, went or moved between two deploys, tombstones, and
 * processes that do not have a definition yet.
 */

import assert from "node:assert/strict";
import {
  createEngine,
  removedStep,
  StepConfigurationError,
  workflow,
  type WorkflowDefinition,
  WorkflowNotDefinedError,
} from "../../mod.ts";
import {
  assertWorkflowState,
  createFakeClock,
  performNextStep,
  speedrunWorkflow,
} from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingLogger, recordingQueue } from "./_doubles.ts";

/** A definition of steps that note their names. */
function hiring(steps: readonly string[], ran: string[] = []): WorkflowDefinition {
  return workflow({
    name: "hiring",
    steps: steps.map((step) =>
      step.startsWith("-") ? removedStep(step.slice(1)) : {
        name: step,
        run: ({ execution }: { execution: { stepName: string } }) =>
          void ran.push(execution.stepName),
      }
    ),
  });
}

behaviour(
  "ORD-05 a workflow starts with the first step in computed order, not in declared order",
  async ({ engine }) => {
    const ran: string[] = [];
    const definition = workflow({
      name: "hiring",
      steps: [
        { name: "interview", run: () => void ran.push("interview") },
        { name: "offer", run: () => void ran.push("offer") },
        { name: "screen", beforeStep: "interview", run: () => void ran.push("screen") },
      ],
    });
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    assert.equal(run.nextStepName, "screen");
    assert.equal((await run.currentExecution())?.stepName, "screen");
    await speedrunWorkflow(run);
    assert.deepEqual(ran, ["screen", "interview", "offer"]);
  },
);

behaviour(
  "ORD-14 NEW-04 a workflow at a step that the code never had is paused there, never restarted",
  async ({ engine }) => {
    const ran: string[] = [];
    const old = hiring(["screen", "interview"], ran);
    const t = await engine({ workflows: [old] });
    const run = await t.engine.start(old);
    await performNextStep(run);
    t.engine.register(hiring(["screen", "offer"], ran), { replace: true });
    await assert.rejects(performNextStep(run), { code: "step_not_defined" });
    await assertWorkflowState(run, "paused");
    assert.equal(run.nextStepName, "interview");
    assert.deepEqual(ran, ["screen"]);
    assert.equal(await run.currentExecution(), null);
  },
);

behaviour(
  "ORD-16 a new step is met by workflows that are before it, not by those past it",
  async ({ engine }) => {
    const ran: string[] = [];
    const old = hiring(["screen", "interview", "offer"], ran);
    const t = await engine({ workflows: [old] });
    const past = await t.engine.start(old);
    await performNextStep(past);
    await performNextStep(past);
    const before = await t.engine.start(old);
    ran.length = 0;
    const fresh = hiring(["screen", "homework", "interview", "offer"], ran);
    t.engine.register(fresh, { replace: true });
    await speedrunWorkflow(past);
    assert.deepEqual(ran.splice(0), ["offer"]);
    await speedrunWorkflow(before);
    assert.deepEqual(ran, ["screen", "homework", "interview", "offer"]);
  },
);

behaviour(
  "ORD-17 a step is looked up by its stored name, and what follows by the code's order",
  async ({ engine }) => {
    const ran: string[] = [];
    const old = hiring(["screen", "interview", "offer", "contract"], ran);
    const t = await engine({ workflows: [old] });
    const run = await t.engine.start(old);
    await performNextStep(run);
    assert.equal(run.nextStepName, "interview");
    t.engine.register(hiring(["offer", "interview", "contract", "screen"], ran), { replace: true });
    await speedrunWorkflow(run);
    assert.deepEqual(ran, ["screen", "interview", "contract", "screen"]);
  },
);

behaviour(
  "ORD-18 a definition without steps is finished at once, without an execution or a job",
  async ({ engine }) => {
    const queue = recordingQueue();
    const empty = hiring([]);
    const t = await engine({ workflows: [empty], queue });
    const run = await t.engine.start(empty);
    assert.equal(run.state, "finished");
    const row = await t.store.get(run.id);
    assert.deepEqual([row?.state, row?.currentStepName, row?.nextStepName], [
      "finished",
      null,
      null,
    ]);
    assert.deepEqual(row?.transitionedAt, row?.createdAt);
    assert.deepEqual(await run.history(), []);
    assert.deepEqual(queue.jobs, []);
    const [many] = await t.engine.startMany(empty, [{}]);
    assert.equal(many?.kind === "started" && many.run.state, "finished");
  },
);

behaviour(
  "ORD-19 a tombstone keeps its place, is passed over in both directions and never scheduled",
  async ({ engine }) => {
    const ran: string[] = [];
    const definition = hiring(["-phone", "screen", "-homework", "-test", "offer", "-gift"], ran);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    assert.equal(run.nextStepName, "screen");
    assert.equal(run.previousStepName, null);
    await performNextStep(run);
    assert.equal(run.nextStepName, "offer");
    assert.equal(run.previousStepName, "screen");
    await run.pause();
    await assert.rejects(run.resumeAt("homework"), { code: "step_not_defined" });
    await run.resume();
    await performNextStep(run);
    await assertWorkflowState(run, "finished");
    assert.equal(run.previousStepName, "offer");
    assert.deepEqual(ran, ["screen", "offer"]);
    assert.deepEqual((await run.history()).map((one) => one.stepName), ["screen", "offer"]);
  },
);

behaviour("ORD-20 a definition of tombstones only is finished at once", async ({ engine }) => {
  const definition = hiring(["-screen", "-offer"]);
  const t = await engine({ workflows: [definition] });
  const run = await t.engine.start(definition);
  assert.equal(run.state, "finished");
  assert.deepEqual(await run.history(), []);
});

behaviour(
  "NEW-01 an execution of a step that became a tombstone is skipped, and the workflow goes on",
  async ({ engine }) => {
    const ran: string[] = [];
    const old = hiring(["screen", "homework", "offer"], ran);
    const t = await engine({ workflows: [old] });
    const run = await t.engine.start(old);
    const last = await t.engine.start(old);
    await performNextStep(run);
    t.engine.register(hiring(["screen", "-homework", "offer"], ran), { replace: true });
    const skipped = await performNextStep(run);
    assert.deepEqual([skipped?.stepName, skipped?.state, skipped?.outcome], [
      "homework",
      "skipped",
      "skipped",
    ]);
    assert.equal(skipped?.startedAt, null);
    assert.deepEqual(skipped?.skippedAt, skipped?.finishedAt);
    await assertWorkflowState(run, "ready");
    assert.equal(run.nextStepName, "offer");
    await speedrunWorkflow(run);
    assert.deepEqual(ran, ["screen", "offer"]);

    t.engine.register(hiring(["-screen"], ran), { replace: true });
    await performNextStep(last);
    await assertWorkflowState(last, "finished");
    assert.deepEqual(ran, ["screen", "offer"]);
  },
);

behaviour("NEW-01 a tombstone does not load the hero and asks no condition", async ({ engine }) => {
  const old = workflow({
    name: "hiring",
    cancelIf: () => assert.fail("no condition is asked"),
    steps: [{ name: "screen", run: () => {} }],
  });
  const t = await engine({ workflows: [old] });
  const run = await t.engine.start(old);
  const fresh = workflow({
    name: "hiring",
    cancelIf: () => assert.fail("no condition is asked"),
    steps: [removedStep("screen")],
  });
  t.engine.register(fresh, { replace: true });
  await performNextStep(run);
  await assertWorkflowState(run, "finished");
});

behaviour(
  "NEW-01 the tombstones that ongoing workflows still point at can be counted",
  async ({ engine }) => {
    const old = hiring(["screen", "homework", "offer"]);
    const t = await engine({ workflows: [old] });
    const runs = [await t.engine.start(old), await t.engine.start(old), await t.engine.start(old)];
    await performNextStep(runs[0] as typeof runs[0] & object);
    await performNextStep(runs[1] as typeof runs[0] & object);
    const fresh = hiring(["screen", "-homework", "offer", "-gift"]);
    t.engine.register(fresh, { replace: true });
    assert.deepEqual(await t.engine.tombstones(fresh), [{ stepName: "homework", count: 2 }]);
    for (const run of runs) await speedrunWorkflow(run);
    assert.deepEqual(await t.engine.tombstones(fresh), []);
  },
);

behaviour(
  "U29 two definitions of one name are refused, unless one is to replace the other",
  async ({ engine, store }) => {
    const [one, two] = [hiring(["screen"]), hiring(["offer"])];
    assert.throws(
      () => createEngine({ store: store(), workflows: [one, two] }),
      (error) => {
        assert.ok(error instanceof StepConfigurationError);
        assert.match(error.message, /^Cannot register two .*"hiring".*replace: true/);
        return true;
      },
    );
    const t = await engine({ workflows: [one, one] });
    t.engine.register(one);
    assert.throws(() => t.engine.register(two), StepConfigurationError);
    assert.equal((await t.engine.start(one)).nextStepName, "screen");
    t.engine.register(two, { replace: true });
    assert.equal((await t.engine.start(two)).nextStepName, "offer");
    await assert.rejects(t.engine.start(one), WorkflowNotDefinedError);
    assert.throws(() => t.engine.register({ name: "hiring" } as never), StepConfigurationError);
  },
);

behaviour(
  "U30 a process without the definition puts the execution back, later and later, then pauses",
  async ({ store }) => {
    const shared = store();
    const clock = createFakeClock();
    const ran: string[] = [];
    const definition = hiring(["screen", "offer"], ran);
    const newer = createEngine({
      store: shared,
      queue: recordingQueue(),
      clock,
      workflows: [definition],
    });
    await newer.migrate();
    const run = await newer.start(definition, { jobOptions: { queue: "hr", priority: 2 } });

    const queue = recordingQueue();
    const [logger, reports] = [recordingLogger(), [] as Error[]];
    const older = createEngine({
      store: shared,
      queue,
      clock,
      logger,
      reportError: (error) => void reports.push(error),
    });
    const waits: number[] = [];
    for (let tries = 1; tries <= 10; tries++) {
      await older.handle((await run.currentExecution())?.id as string);
      const [job] = queue.take();
      assert.deepEqual([job?.queue, job?.priority], ["hr", 2]);
      assert.equal(job?.executionId, (await run.currentExecution())?.id);
      waits.push(((job?.runAt.getTime() ?? 0) - clock.now()) / 1_000);
      await assertWorkflowState(run, "ready");
      clock.travelTo(job?.runAt as Date);
    }
    assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
    assert.equal(reports.length, 0);

    const last = (await run.currentExecution())?.id as string;
    await assert.rejects(older.handle(last), WorkflowNotDefinedError);
    await assertWorkflowState(run, "paused");
    const execution = (await run.history()).at(-1);
    assert.deepEqual([execution?.id, execution?.state], [last, "failed"]);
    assert.equal(execution?.errorClass, "WorkflowNotDefinedError");
    assert.deepEqual(reports.map((error) => error.name), ["WorkflowNotDefinedError"]);
    assert.equal(logger.lines.filter(({ level }) => level === "warn").length, 11);

    const found = await older.find(run.id);
    assert.deepEqual([found?.name, found?.state, found?.previousStepName], [
      "hiring",
      "paused",
      null,
    ]);
    await assert.rejects(found?.resume() as Promise<unknown>, WorkflowNotDefinedError);
    await run.resume();
    await speedrunWorkflow(run);
    assert.deepEqual(ran, ["screen", "offer"]);
    await newer.close();
  },
);

behaviour(
  "U30 what was put back is run by the process that has the definition",
  async ({ store }) => {
    const shared = store();
    const clock = createFakeClock();
    const ran: string[] = [];
    const definition = hiring(["screen"], ran);
    const common = { store: shared, clock };
    const newer = createEngine({ ...common, queue: recordingQueue(), workflows: [definition] });
    const older = createEngine({ ...common, queue: recordingQueue() });
    await newer.migrate();
    const run = await newer.start(definition);
    await older.handle((await run.currentExecution())?.id as string);
    const back = await run.currentExecution();
    assert.deepEqual([back?.attempt, back?.state, back?.stepName], [1, "scheduled", "screen"]);
    clock.travelTo(back?.scheduledFor as Date);
    await newer.handle(back?.id as string);
    await assertWorkflowState(run, "finished");
    assert.deepEqual(ran, ["screen"]);
    await newer.close();
  },
);
