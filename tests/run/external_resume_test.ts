/**
 * Resuming from outside: where a workflow goes on after a failure, after a pause of its own, and
 * when the code has changed meanwhile.
 */

import assert from "node:assert/strict";
import {
  InvalidStateError,
  removedStep,
  StepNotDefinedError,
  workflow,
  type WorkflowDefinition,
} from "../../mod.ts";
import { assertWorkflowState, performNextStep, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingQueue } from "./_doubles.ts";
import { createGate } from "./_gate.ts";
import { current, storyOf } from "./_story.ts";

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
  "EXT-10 a resume after a failure runs the failed step again now, whatever its wait",
  async ({ engine }) => {
    const sent: string[] = [];
    let declined = true;
    const definition = workflow({
      name: "billing",
      steps: [
        {
          name: "charge",
          wait: "2 days",
          run() {
            if (declined) throw new Error("card declined");
            sent.push("charge");
          },
        },
        { name: "thank", run: () => void sent.push("thank") },
      ],
    });
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    await assert.rejects(performNextStep(run), /card declined/);
    assert.deepEqual([run.state, run.nextStepName], ["paused", "charge"]);
    const failed = (await run.history())[0];
    declined = false;
    await run.resume();

    const fresh = await current(run);
    assert.deepEqual([fresh.stepName, fresh.attempt], ["charge", 1]);
    assert.equal(fresh.scheduledFor.getTime(), t.clock.now());
    assert.deepEqual((await run.history())[0], failed, "the failed row stays as it was");
    await t.clock.tick(0);
    assert.deepEqual(sent, ["charge", "thank"]);
  },
);

behaviour(
  "EXT-11 a plain step that paused itself runs again from its start",
  async ({ engine }) => {
    const visits: string[] = [];
    let stock = 0;
    const definition = workflow({
      name: "fulfilment",
      steps: [{
        name: "pack",
        run({ pause, attempt }) {
          visits.push(`attempt ${attempt}`);
          if (stock === 0) pause();
          visits.push("packed");
        },
      }],
    });
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    await performNextStep(run);
    assert.deepEqual([run.state, run.nextStepName], ["paused", "pack"]);
    stock = 1;
    await run.resume();
    await t.clock.tick(0);
    assert.deepEqual(visits, ["attempt 1", "attempt 1", "packed"]);
    assert.deepEqual(await storyOf(run), [
      "pack: canceled/canceled (flow_control)",
      "pack: completed/success",
    ]);
    await assertWorkflowState(run, "finished");
  },
);

behaviour(
  "EXT-12 a ready, performing, finished or canceled workflow cannot be resumed",
  async ({ engine }) => {
    const gate = createGate();
    const definition = workflow({ name: "wait", steps: [{ name: "stand", run: gate.pass }] });
    const short = trial([]);
    const t = await engine({ workflows: [definition, short] });
    const performing = await t.engine.start(definition);
    const handling = t.engine.handle((await current(performing)).id);
    await gate.arrived;
    const ready = await t.engine.start(short);
    const finished = await speedrunWorkflow(await t.engine.start(short));
    const canceled = await (await t.engine.start(short)).cancel();
    for (
      const [run, state] of [
        [performing, "performing"],
        [ready, "ready"],
        [finished, "finished"],
        [canceled, "canceled"],
      ] as const
    ) {
      const before = await t.store.get(run.id);
      assert.equal(before?.state, state);
      await assert.rejects(run.resume(), (error) => {
        assert.ok(error instanceof InvalidStateError);
        assert.equal(error.state, state);
        assert.match(error.message, new RegExp(`^Cannot resume a ${state} workflow: `));
        return true;
      });
      assert.deepEqual(await t.store.get(run.id), before);
    }
    gate.open();
    await handling;
  },
);

behaviour(
  "EXT-13 BLK-15 a resume in the caller's transaction gives rise to one job, told inside it",
  async ({ engine }) => {
    const definition = trial([]);
    const queue = recordingQueue({ commit: "with-store" });
    const t = await engine({ workflows: [definition], queue });
    const run = await (await t.engine.start(definition)).pause();
    queue.take();
    await t.store.transaction(async (tx) => {
      await run.resume({ tx });
      assert.equal(queue.take().length, 1, "a queue in the same database is told inside");
    });
    assert.deepEqual(queue.take(), [], "and not once more after the commit");
    await assertWorkflowState(run, "ready");

    await run.pause();
    await assert.rejects(
      t.store.transaction(async (tx) => {
        await run.resume({ tx });
        throw new Error("the application changed its mind");
      }),
      /changed its mind/,
    );
    await assertWorkflowState(run, "paused");
  },
);

behaviour(
  "EXT-14 a resume at a step that the code lost is refused and names the way out",
  async ({ engine }) => {
    const definition = trial([]);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    await performNextStep(run);
    await run.pause();
    const before = await t.store.get(run.id);
    const renamed = workflow({
      name: "trial",
      steps: [{ name: "welcome", run() {} }, { name: "nudge", run() {} }],
    });
    t.engine.register(renamed, { replace: true });
    await assert.rejects(run.resume(), (error) => {
      assert.ok(error instanceof StepNotDefinedError);
      assert.equal(error.stepName, "remind");
      assert.equal(error.workflowId, run.id);
      assert.deepEqual(error.availableSteps, ["welcome", "nudge"]);
      assert.match(error.message, /"welcome", "nudge"/);
      assert.match(error.message, /resumeAt/);
      return true;
    });
    assert.deepEqual(await t.store.get(run.id), before);
  },
);

behaviour(
  "EXT-15 resumeAt() cancels what was scheduled and goes on at the named step now",
  async ({ engine }) => {
    const sent: string[] = [];
    const definition = trial(sent);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    await performNextStep(run);
    await run.pause();
    await run.resumeAt("invoice");

    assert.deepEqual([run.state, run.nextStepName, run.transitionedAt], ["ready", "invoice", null]);
    assert.deepEqual(await storyOf(run), [
      "welcome: completed/success",
      "remind: canceled/canceled (operator)",
      "invoice: scheduled",
    ]);
    const now = new Date(t.clock.now());
    const stray = (await run.history())[1];
    assert.deepEqual([stray?.canceledAt, stray?.finishedAt], [now, now]);
    assert.deepEqual((await current(run)).scheduledFor, now);
    await t.clock.tick(0);
    assert.deepEqual(sent, ["welcome", "invoice"]);
    await assertWorkflowState(run, "finished");
  },
);

behaviour(
  "EXT-15 resumeAt() refuses unknown and removed steps, and workflows that are not paused",
  async ({ engine }) => {
    const definition = workflow({
      name: "trial",
      steps: [{ name: "welcome", run() {} }, removedStep("survey"), { name: "invoice", run() {} }],
    });
    const t = await engine({ workflows: [definition] });
    const run = await (await t.engine.start(definition)).pause();
    const [workflowBefore, executionBefore] = [await t.store.get(run.id), await current(run)];
    for (const stepName of ["survey", "no_such_step", ""]) {
      await assert.rejects(run.resumeAt(stepName), StepNotDefinedError);
    }
    assert.deepEqual(await t.store.get(run.id), workflowBefore);
    assert.deepEqual(await current(run), executionBefore);

    await run.resume();
    await assert.rejects(run.resumeAt("invoice"), (error) => {
      assert.ok(error instanceof InvalidStateError);
      assert.match(error.message, /^Cannot resume a ready workflow: /);
      return true;
    });
    assert.equal((await current(run)).stepName, "welcome");
  },
);
