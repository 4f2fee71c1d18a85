/**
 * What an execution must survive: errors of bodies, steps that are gone, and bodies that write where
 * they should not.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type ExecutionState,
  InvalidStateError,
  type StepContext,
  StepNotDefinedError,
  workflow,
  type WorkflowState,
} from "../../mod.ts";
import { closeExecution, moveWorkflow } from "../../src/state/transitions.ts";
import { assertWorkflowState, performNextStep } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";

const NOON = Date.UTC(2026, 5, 1, 12);

behaviour(
  "EXE-21 EXE-22 the error of a body is rethrown after the commit, and a retry of the job does nothing",
  async ({ engine }) => {
    const declined = new RangeError("the card was declined");
    let bodies = 0;
    const pay = workflow({
      name: "pay",
      steps: [{
        name: "charge",
        run() {
          bodies++;
          throw declined;
        },
      }],
    });
    const t = await engine({ workflows: [pay] });
    const run = await t.engine.start(pay);
    const id = (await run.currentExecution())?.id as string;
    await assert.rejects(t.engine.handle(id), (error) => {
      assert.equal(error, declined);
      return true;
    });
    const [row, execution] = [await t.store.get(run.id), await t.store.getExecution(id)];
    assert.equal(row?.state, "paused");
    assert.deepEqual([execution?.state, execution?.outcome], ["failed", "failed"]);
    assert.deepEqual([execution?.errorClass, execution?.errorMessage], [
      "RangeError",
      "the card was declined",
    ]);
    await t.engine.handle(id);
    assert.equal(bodies, 1);
    assert.deepEqual(await t.store.get(run.id), row);
    assert.deepEqual(await t.store.getExecution(id), execution);
  },
);

behaviour(
  "EXE-23 a step that the code does not have pauses the workflow with an error that says so",
  async ({ engine }) => {
    const before = workflow({
      name: "pay",
      onException: "cancel",
      steps: [{ name: "transfer", run: () => {} }, { name: "receipt", run: () => {} }],
    });
    const after = workflow({
      name: "pay",
      onException: "cancel",
      steps: [{ name: "charge", run: () => assert.fail() }, { name: "receipt", run: () => {} }],
    });
    const reports: Error[] = [];
    const t = await engine({
      workflows: [before],
      reportError: (error) => void reports.push(error),
    });
    const run = await t.engine.start(before);
    const id = (await run.currentExecution())?.id as string;
    t.engine.register(after, { replace: true });
    await assert.rejects(t.engine.handle(id), (error) => {
      assert.ok(error instanceof StepNotDefinedError);
      assert.equal(error.stepName, "transfer");
      assert.deepEqual([error.workflowName, error.workflowId, error.executionId], [
        "pay",
        run.id,
        id,
      ]);
      assert.deepEqual(error.availableSteps, ["charge", "receipt"]);
      assert.match(error.message, /"charge", "receipt".*resumeAt.*removedStep\("transfer"\)/);
      return true;
    });
    const execution = await t.store.getExecution(id);
    assert.deepEqual([execution?.state, execution?.outcome], ["failed", "failed"]);
    assert.equal(execution?.errorClass, "StepNotDefinedError");
    assert.match(execution?.errorMessage ?? "", /has no step "transfer"/);
    await assertWorkflowState(run, "paused");
    assert.equal(run.nextStepName, "transfer");
    assert.equal(reports.length, 1);
    await assert.rejects(run.resume(), StepNotDefinedError);
    await run.resumeAt("receipt");
    await performNextStep(run);
    await assertWorkflowState(run, "finished");
  },
);

behaviour(
  "EXE-24 what a body leaves on its objects is not there in the next step",
  async ({ engine }) => {
    const seen: unknown[] = [];
    const workflows: unknown[] = [];
    const walk = workflow({
      name: "walk",
      steps: ["one", "two"].map((name) => ({
        name,
        run(context: StepContext) {
          const open = context as unknown as Record<string, unknown>;
          seen.push([open.luggage, (context.input as { bag: string }).bag]);
          open.luggage = "a suitcase";
          (context.input as { bag: string }).bag = "lost";
          workflows.push(context.workflow);
        },
      })),
    });
    const t = await engine({ workflows: [walk] });
    const run = await t.engine.start(walk, { input: { bag: "blue" } });
    await performNextStep(run);
    await performNextStep(run);
    assert.deepEqual(seen, [[undefined, "blue"], [undefined, "blue"]]);
    assert.notEqual(workflows[0], workflows[1]);
    assert.deepEqual(run.input, { bag: "blue" });
  },
);

behaviour(
  "EXE-25 the workflow and the execution that a body sees are read-only",
  async ({ engine }) => {
    const walk = workflow({
      name: "walk",
      steps: [{
        name: "cheat",
        run({ workflow, execution }) {
          assert.throws(() => Object.assign(workflow, { state: "finished" }), TypeError);
          assert.throws(() => Object.assign(workflow.metadata, { paid: true }), TypeError);
          assert.throws(() => Object.assign(execution, { attempt: 99 }), TypeError);
          workflow.createdAt.setTime(0);
        },
      }],
    });
    const t = await engine({ workflows: [walk], now: NOON });
    const run = await t.engine.start(walk, { metadata: { paid: false } });
    assert.equal((await performNextStep(run))?.outcome, "success");
    const row = await t.store.get(run.id);
    assert.equal(row?.state, "finished");
    assert.deepEqual(row?.createdAt, new Date(NOON));
    assert.deepEqual(run.metadata, { paid: false });
    assert.equal((await run.history())[0]?.attempt, 1);
  },
);

behaviour(
  "EXE-26 a transaction of the body that fails does not take the bookkeeping with it",
  async ({ engine }) => {
    const child = workflow({ name: "child", steps: [{ name: "only", run: () => {} }] });
    const parent = workflow({
      name: "parent",
      steps: [
        {
          name: "by_itself",
          onException: "skip",
          run: () =>
            t.store.transaction(async (tx) => {
              await t.engine.start(child, { tx });
              throw new Error("constraint failed");
            }),
        },
        {
          name: "by_the_engine",
          transaction: true,
          async run({ tx }) {
            await t.engine.start(child, { tx });
            throw new Error("constraint failed again");
          },
        },
      ],
    });
    const t = await engine({ workflows: [child, parent] });
    const run = await t.engine.start(parent);
    await assert.rejects(performNextStep(run), /constraint failed$/);
    await assert.rejects(performNextStep(run), /constraint failed again/);
    const ended = (await run.history()).map(({ state, errorMessage }) => [state, errorMessage]);
    assert.deepEqual(ended, [
      ["skipped", "constraint failed"],
      ["failed", "constraint failed again"],
    ]);
    await assertWorkflowState(run, "paused");
    assert.deepEqual((await t.engine.list({ workflow: child })).items, []);
  },
);

Deno.test("EXE-27 executions go from scheduled anywhere, from in progress to an end, from an end nowhere", () => {
  const ends = ["completed", "failed", "canceled", "skipped"] as const;
  const states: readonly ExecutionState[] = ["scheduled", "in_progress", ...ends];
  fc.assert(fc.property(fc.constantFrom(...states), fc.constantFrom(...ends), (from, to) => {
    const row = { id: "1", state: from } as Parameters<typeof closeExecution>[0];
    const closing = { state: to, outcome: "success", cause: null } as const;
    const move = () => closeExecution(row, closing, new Date(NOON));
    if (from === "scheduled" || from === "in_progress") assert.equal(move().state, to);
    else {
      assert.throws(move, (error) => {
        assert.ok(error instanceof InvalidStateError);
        assert.deepEqual([error.code, error.state], ["invalid_state", from]);
        return true;
      });
    }
  }));
  for (const from of ["finished", "canceled"] as const) {
    for (const state of ["ready", "performing", "paused", "finished", "canceled"] as const) {
      const row = { id: "1", state: from as WorkflowState } as Parameters<typeof moveWorkflow>[0];
      const to = { state, currentStepName: null, nextStepName: null };
      assert.throws(() => moveWorkflow(row, to, new Date(NOON)), InvalidStateError);
    }
  }
});
