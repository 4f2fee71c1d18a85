/**
 * The helpers for tests of resumable steps, and the assertions.
 */

import assert, { AssertionError } from "node:assert/strict";
import { InvalidInputError, workflow, type WorkflowDefinition } from "../../mod.ts";
import {
  assertCursor,
  assertStepExecuted,
  assertStepHasSuccessor,
  assertWorkflowState,
  interruptAfterStep,
  interruptEvery,
  interruptWhen,
  performNextStep,
  runIterations,
  speedrunCurrentStep,
  speedrunWorkflow,
} from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingQueue } from "./_doubles.ts";
import { storyOf } from "./_story.ts";

/** A newsletter: a draft, one mail per reader two at a time, and a report. */
function newsletter(mailed: number[]): WorkflowDefinition {
  return workflow({
    name: "newsletter",
    steps: [
      { name: "draft", run() {} },
      {
        name: "mail",
        resumable: true,
        maxIterations: 2,
        async run({ iter }) {
          await iter.over([10, 11, 12, 13, 14], (reader) => void mailed.push(reader));
        },
      },
      { name: "report", run() {} },
    ],
  });
}

behaviour(
  "TST-08 speedrunCurrentStep() runs the current step to its end without any interruption",
  async ({ engine }) => {
    const mailed: number[] = [];
    const definition = newsletter(mailed);
    const queue = recordingQueue({ shouldStop: () => true });
    const t = await engine({ workflows: [definition], queue });
    const run = await t.engine.start(definition);
    const draft = await speedrunCurrentStep(run);
    assert.deepEqual([draft?.stepName, run.nextStepName], ["draft", "mail"]);
    const mail = await speedrunCurrentStep(run);
    assert.deepEqual([mail?.stepName, mail?.state, mail?.outcome], [
      "mail",
      "completed",
      "success",
    ]);
    assert.deepEqual(mailed, [10, 11, 12, 13, 14]);
    assert.equal(run.nextStepName, "report");
    assert.deepEqual((await storyOf(run)).slice(0, 2), [
      "draft: completed/success",
      "mail: completed/success",
    ]);
    await speedrunCurrentStep(run);
    assert.equal(run.state, "finished");
    assert.equal(await speedrunCurrentStep(run), null);
  },
);

behaviour(
  "TST-08 speedrunCurrentStep() follows the successors of a chunk, however they were interrupted",
  async ({ engine }) => {
    const mailed: number[] = [];
    const definition = newsletter(mailed);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    await performNextStep(run);
    await performNextStep(run);
    assert.deepEqual(mailed, [10, 11], "performNextStep keeps to the step's own limits");
    const last = await speedrunCurrentStep(run);
    assert.equal(last?.outcome, "success");
    assert.deepEqual(mailed, [10, 11, 12, 13, 14]);
    assert.deepEqual(await storyOf(run), [
      "draft: completed/success",
      "mail: completed/continued (interrupt)",
      "mail: completed/success",
      "report: scheduled",
    ]);
  },
);

behaviour(
  "TST-09 runIterations() runs exactly so many checkpoints and then interrupts",
  async ({ engine }) => {
    const mailed: number[] = [];
    const definition = newsletter(mailed);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    await performNextStep(run);
    const chunk = await runIterations(run, { count: 3 });
    assert.deepEqual(mailed, [10, 11, 12], "the step's own limit of two does not count");
    assert.deepEqual([chunk?.state, chunk?.outcome, chunk?.cursor], ["completed", "continued", 3]);
    await assertCursor(run, 3);
    await runIterations(run, { count: 1 });
    assert.deepEqual(mailed, [10, 11, 12, 13]);
    await runIterations(run, { count: 100 });
    assert.deepEqual(mailed, [10, 11, 12, 13, 14]);
    assert.equal(run.nextStepName, "report");
    for (const count of [0, -1, 1.5, NaN]) {
      await assert.rejects(runIterations(run, { count }), InvalidInputError);
    }
  },
);

behaviour(
  "TST-10 assertCursor() compares with the active execution's cursor, and says what it is",
  async ({ engine }) => {
    const definition = workflow({
      name: "walk",
      steps: [{
        name: "stroll",
        resumable: true,
        async run({ iter }) {
          await iter.set({ street: "Elm", houses: [1, 2] });
          await iter.set({ street: "Oak", houses: [3] });
        },
      }],
    });
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    await assertCursor(run, null);
    await runIterations(run, { count: 1 });
    await assertCursor(run, { street: "Elm", houses: [1, 2] });
    await assert.rejects(assertCursor(run, { street: "Elm", houses: [1] }), (error) => {
      assert.ok(error instanceof AssertionError);
      assert.match(error.message, /"stroll"/);
      assert.match(error.message, /\{"street":"Elm","houses":\[1\]\}/);
      assert.match(error.message, /\{"street":"Elm","houses":\[1,2\]\}/);
      return true;
    });
  },
);

behaviour(
  "TST-11 assertStepHasSuccessor() wants a completed execution with a scheduled successor",
  async ({ engine }) => {
    const definition = newsletter([]);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    await performNextStep(run);
    await assert.rejects(assertStepHasSuccessor(run, "mail"), (error) => {
      assert.ok(error instanceof AssertionError);
      assert.match(error.message, /"mail".*scheduled successor.*scheduled/);
      return true;
    });
    await performNextStep(run);
    await assertStepHasSuccessor(run, "mail");
    await assert.rejects(assertStepHasSuccessor(run, "draft"), AssertionError);
    await speedrunCurrentStep(run);
    await assert.rejects(assertStepHasSuccessor(run, "mail"), AssertionError);
  },
);

behaviour(
  "TST-12 assertStepExecuted() looks for an execution in a state and names the step",
  async ({ engine }) => {
    const definition = workflow({
      name: "printing",
      steps: [{ name: "print", onException: "skip", run: () => Promise.reject(new Error("jam")) }, {
        name: "fold",
        run() {},
      }],
    });
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    await assert.rejects(performNextStep(run), /jam/);
    await assertStepExecuted(run, "print", { state: "skipped" });
    await assertStepExecuted(run, "fold", { state: "scheduled" });
    await assert.rejects(assertStepExecuted(run, "print"), (error) => {
      assert.ok(error instanceof AssertionError);
      assert.match(error.message, /"print".*completed.*skipped/);
      return true;
    });
    await assert.rejects(assertStepExecuted(run, "staple"), /"staple".*none at all/);
    await performNextStep(run);
    await assertStepExecuted(run, "fold");
  },
);

behaviour(
  "TST-13 assertWorkflowState() says what paused a workflow that should have gone on",
  async ({ engine }) => {
    const run = () => Promise.reject(new TypeError("no ink"));
    const definition = workflow({ name: "newsletter", steps: [{ name: "print", run }] });
    const t = await engine({ workflows: [definition] });
    const started = await t.engine.start(definition);
    await t.clock.tick(0);
    await assert.rejects(assertWorkflowState(started, "finished"), {
      message: `Expected workflow "newsletter" (${started.id}) to be finished, but it is paused; ` +
        'its step "print" threw TypeError: no ink',
    });
  },
);

behaviour("TST-13 assertWorkflowState() reloads and names both states", async ({ engine }) => {
  const definition = newsletter([]);
  const t = await engine({ workflows: [definition] });
  const run = await t.engine.start(definition);
  await assertWorkflowState(run, "ready");
  await (await t.engine.find(run.id))?.pause();
  assert.equal(run.state, "ready", "the run has not been reloaded yet");
  await assert.rejects(assertWorkflowState(run, "ready"), (error) => {
    assert.ok(error instanceof AssertionError);
    assert.match(error.message, /to be ready, but it is paused/);
    return true;
  });
  await assertWorkflowState(run, "paused");
});

behaviour(
  "TST-16 interruptWhen() stops at the cursor it was told, and the next run goes on from there",
  async ({ engine }) => {
    const mailed: number[] = [];
    const definition = newsletter(mailed);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    await performNextStep(run);
    await interruptWhen(run, (cursor) => cursor === 4);
    assert.deepEqual(mailed, [10, 11, 12, 13]);
    await assertCursor(run, 4);
    await speedrunWorkflow(run);
    assert.deepEqual(mailed, [10, 11, 12, 13, 14]);
  },
);

behaviour(
  "TST-16 interruptEvery() stops after every so many items until the step is done",
  async ({ engine }) => {
    const mailed: number[] = [];
    const definition = newsletter(mailed);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    await performNextStep(run);
    const chunks = await interruptEvery(run, 1);
    assert.deepEqual(mailed, [10, 11, 12, 13, 14], "each item once, always stopping");
    assert.deepEqual(chunks.map((chunk) => chunk.cursor), [1, 2, 3, 4, null]);
    assert.deepEqual(chunks.map((chunk) => chunk.outcome), [
      "continued",
      "continued",
      "continued",
      "continued",
      "success",
    ]);
    assert.equal(run.nextStepName, "report");
  },
);

behaviour(
  "TST-16 interruptAfterStep() runs until a step has been executed, and no further",
  async ({ engine }) => {
    const mailed: number[] = [];
    const definition = newsletter(mailed);
    const t = await engine({ workflows: [definition] });
    const run = await interruptAfterStep(await t.engine.start(definition), "mail");
    assert.deepEqual(mailed, [10, 11, 12, 13, 14]);
    assert.deepEqual([run.state, run.nextStepName], ["ready", "report"]);
    await assertStepExecuted(run, "report", { state: "scheduled" });
  },
);
