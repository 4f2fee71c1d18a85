/**
 * The helpers for tests of workflows: performing by hand, and travelling through time.
 */

import assert from "node:assert/strict";
import {
  createEngine,
  InvalidInputError,
  InvalidStateError,
  type Run,
  workflow,
  type WorkflowDefinition,
} from "../../mod.ts";
import {
  createFakeClock,
  performNextStep,
  performStepInline,
  speedrunCurrentStep,
  speedrunWorkflow,
} from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { storyOf } from "./_story.ts";

const START = new Date("2026-05-01T08:00:00Z");

/** A course by mail: a lesson a week. */
function course(sent: string[], clock?: () => number): WorkflowDefinition {
  const lesson = (name: string): { name: string; wait: string; run: () => void } => ({
    name,
    wait: "7 days",
    run: () => void sent.push(clock === undefined ? name : `${name} at ${clock()}`),
  });
  return workflow({ name: "course", steps: ["one", "two", "three"].map(lesson) });
}

behaviour(
  "TST-01 a speedrun runs every step whatever its wait and gives back the reloaded workflow",
  async ({ engine }) => {
    const sent: string[] = [];
    const definition = course(sent);
    const t = await engine({ workflows: [definition], now: START });
    const run = await t.engine.start(definition);
    const answer = await speedrunWorkflow(run);
    assert.equal(answer, run);
    assert.equal(run.state, "finished", "it is reloaded");
    assert.deepEqual(sent, ["one", "two", "three"]);
    assert.equal(t.clock.now(), START.getTime(), "and the clock stands still");
  },
);

behaviour(
  "TST-01 a speedrun ends where the workflow is canceled, or waits for a signal",
  async ({ engine }) => {
    const ending = workflow({
      name: "ending",
      steps: [{ name: "stop", run: ({ cancel }) => cancel() }, { name: "never", run() {} }],
    });
    const waiting = workflow({
      name: "waiting",
      steps: [{ name: "ask", run() {} }, { name: "answer", waitFor: "answered", run() {} }],
    });
    const t = await engine({ workflows: [ending, waiting] });
    const canceled = await speedrunWorkflow(await t.engine.start(ending));
    assert.equal(canceled.state, "canceled");
    const parked = await speedrunWorkflow(await t.engine.start(waiting));
    assert.deepEqual([parked.state, parked.nextStepName], ["ready", "answer"]);
    await parked.signal("answered");
    assert.equal((await speedrunWorkflow(parked)).state, "finished");
  },
);

behaviour("TST-02 a speedrun stops at a pause", async ({ engine }) => {
  const definition = workflow({
    name: "pausing",
    steps: [{ name: "wait_for_stock", run: ({ pause }) => pause() }, { name: "never", run() {} }],
  });
  const t = await engine({ workflows: [definition] });
  const run = await speedrunWorkflow(await t.engine.start(definition));
  assert.equal(run.state, "paused");
  assert.deepEqual(await storyOf(run), ["wait_for_stock: canceled/canceled (flow_control)"]);
});

behaviour(
  "TST-03 a speedrun that does not end is an error after 100 executions, or as many as it was told",
  async ({ engine }) => {
    const definition = workflow({
      name: "endless",
      steps: [{ name: "again", run: ({ reattempt }) => reattempt() }],
    });
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    await assert.rejects(speedrunWorkflow(run, { maxSteps: 3 }), /has run 3 executions.*for ever/);
    assert.equal((await run.history()).length, 4, "three that ran and one that is scheduled");
    await assert.rejects(speedrunWorkflow(run), /has run 100 executions.*for ever/);
    assert.equal((await run.history()).length, 104);
    await assert.rejects(
      speedrunCurrentStep(run, { maxSteps: 2 }),
      /has run 2 executions.*for ever/,
    );
  },
);

behaviour(
  "TST-04 performNextStep() runs one execution and gives its record, or null when there is none",
  async ({ engine }) => {
    const sent: string[] = [];
    const definition = course(sent);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    const execution = await performNextStep(run);
    assert.deepEqual(sent, ["one"]);
    assert.deepEqual(execution, (await run.history())[0]);
    assert.deepEqual([execution?.state, run.nextStepName], ["completed", "two"]);
    await performNextStep(run);
    await performNextStep(run);
    assert.equal(run.state, "finished");
    assert.equal(await performNextStep(run), null);
  },
);

behaviour(
  "TST-05 performStepInline() cancels what is scheduled and runs the named step, or the next",
  async ({ engine }) => {
    const sent: string[] = [];
    const definition = course(sent);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    const execution = await performStepInline(run, "two");
    assert.deepEqual(sent, ["two"]);
    assert.deepEqual([execution?.stepName, execution?.state], ["two", "completed"]);
    assert.deepEqual(await storyOf(run), [
      "one: canceled/canceled (operator)",
      "two: completed/success",
      "three: scheduled",
    ]);
    const next = await performStepInline(run);
    assert.deepEqual([next?.stepName, run.state], ["three", "finished"]);
    await assert.rejects(performStepInline(run), InvalidInputError);
    await assert.rejects(performStepInline(run, "one"), InvalidStateError);
  },
);

behaviour(
  "TST-06 performStepInline() names the steps there are when it does not know the one it was given",
  async ({ engine }) => {
    const definition = course([]);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    await assert.rejects(performStepInline(run, "four"), (error) => {
      assert.ok(error instanceof InvalidInputError);
      assert.match(error.message, /"four"/);
      assert.match(error.message, /"one", "two", "three"/);
      return true;
    });
    assert.deepEqual(await storyOf(run), ["one: scheduled"], "nothing was canceled");
  },
);

behaviour(
  "TST-07 performing the same step inline twice makes two completed executions",
  async ({ engine }) => {
    const sent: string[] = [];
    const definition = course(sent);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    const first = await performStepInline(run, "one");
    const second = await performStepInline(run, "one");
    assert.notEqual(first?.id, second?.id);
    assert.deepEqual([first?.state, second?.state], ["completed", "completed"]);
    assert.deepEqual(sent, ["one", "one"]);
  },
);

behaviour(
  "TST-14 helpers reject with the body's own error once its state is saved",
  async ({ engine }) => {
    const error = new Error("the printer jams");
    const definition = workflow({
      name: "printing",
      steps: [{ name: "print", run: () => Promise.reject(error) }],
    });
    const t = await engine({ workflows: [definition] });
    const helpers: ((run: Run) => Promise<unknown>)[] = [
      performNextStep,
      performStepInline,
      speedrunWorkflow,
      speedrunCurrentStep,
    ];
    for (const helper of helpers) {
      const run = await t.engine.start(definition);
      await assert.rejects(helper(run), (thrown) => thrown === error);
      assert.equal(run.state, "paused", "the run is reloaded before the helper rejects");
      assert.match((await storyOf(run)).at(-1) ?? "", /^print: failed\/failed/);
    }
  },
);

behaviour("TST-15 a speedrun with a clock moves it to each due time", async ({ engine }) => {
  const sent: string[] = [];
  let now = (): number => 0;
  const definition = course(sent, () => now());
  const t = await engine({ workflows: [definition], now: START });
  now = () => t.clock.now();
  const run = await speedrunWorkflow(await t.engine.start(definition), { clock: t.clock });
  const week = 7 * 86_400_000;
  assert.deepEqual(sent, [
    `one at ${START.getTime() + week}`,
    `two at ${START.getTime() + 2 * week}`,
    `three at ${START.getTime() + 3 * week}`,
  ]);
  assert.equal(run.transitionedAt?.getTime(), START.getTime() + 3 * week);
});

behaviour(
  "TST-15 moving the clock runs what becomes due on the way, at its time",
  async ({ engine }) => {
    const sent: string[] = [];
    let now = (): number => 0;
    const definition = course(sent, () => now());
    const t = await engine({ workflows: [definition], now: START });
    now = () => t.clock.now();
    const run = await t.engine.start(definition);
    await t.clock.tick("6 days");
    assert.deepEqual(sent, []);
    await t.clock.tick("10 days");
    const week = 7 * 86_400_000;
    assert.deepEqual(sent, [
      `one at ${START.getTime() + week}`,
      `two at ${START.getTime() + 2 * week}`,
    ]);
    assert.equal(t.clock.now(), START.getTime() + 16 * 86_400_000);
    await t.clock.tick("5 days");
    assert.equal((await run.reload()).state, "finished");
  },
);

behaviour(
  "TST-15 the helpers work with any engine, its own clock and its default queue too",
  async ({ store }) => {
    const sent: string[] = [];
    const definition = course(sent);
    const clock = createFakeClock({ now: START });
    await using engine = createEngine({ store: store(), workflows: [definition], clock });
    await engine.migrate();
    const run = await engine.start(definition);
    await performNextStep(run);
    await speedrunWorkflow(run, { clock });
    assert.deepEqual(sent, ["one", "two", "three"]);
    await assert.rejects(performNextStep({ ...run }), InvalidInputError, "a copy is not a run");
  },
);

behaviour(
  "U39 no helper runs a step of a paused workflow: a clear error, and the rows as they were",
  async ({ engine }) => {
    const sent: string[] = [];
    const definition = course(sent);
    const t = await engine({ workflows: [definition] });
    const run = await (await t.engine.start(definition)).pause();
    const before = [await t.store.get(run.id), await t.store.active(run.id)];
    const helpers: ((run: Run) => Promise<unknown>)[] = [
      performNextStep,
      performStepInline,
      (paused) => performStepInline(paused, "two"),
      speedrunWorkflow,
      speedrunCurrentStep,
    ];
    for (const helper of helpers) {
      await assert.rejects(helper(run), (error) => {
        assert.ok(error instanceof InvalidStateError);
        assert.equal(error.state, "paused");
        assert.match(error.message, /^Cannot perform .* paused; resume it first$/);
        return true;
      });
    }
    assert.deepEqual([await t.store.get(run.id), await t.store.active(run.id)], before);
    assert.deepEqual(sent, []);
  },
);
