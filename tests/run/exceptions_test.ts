/** Errors of bodies: what each action does. */

import assert from "node:assert/strict";
import { policy, workflow } from "../../mod.ts";
import { performNextStep, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { CardDeclined, GatewayTimeout, purchase } from "./_purchase.ts";
import { current, executionAt, startAndDeliver, storyOf } from "./_story.ts";

behaviour(
  "EXC-01 without a policy the step fails and the workflow is paused",
  async ({ engine: open }) => {
    const error = new CardDeclined("no money");
    const definition = purchase(() => error);
    const { engine, clock } = await open({ workflows: [definition] });
    const { run, thrown } = await startAndDeliver(engine, definition);
    assert.equal(thrown, error);
    assert.deepEqual(await storyOf(run), ["charge: failed/failed (exception)"]);
    assert.equal(run.state, "paused");
    assert.equal(run.nextStepName, "charge");
    assert.equal(run.currentStepName, null);
    assert.equal(run.transitionedAt?.getTime(), clock.now());
    const failed = await executionAt(run, 0);
    assert.equal(failed.errorClass, "CardDeclined");
    assert.equal(failed.errorMessage, "no money");
    assert.match(failed.errorStack ?? "", /no money[\s\S]*exceptions_test\.ts/);
    assert.equal(failed.failedAt?.getTime(), clock.now());
    assert.equal(failed.startedAt?.getTime(), clock.now());
  },
);

behaviour(
  "EXC-02 under cancel the execution has failed and the workflow is canceled",
  async (world) => {
    const error = new CardDeclined("no money");
    const definition = purchase(() => error, { step: { onException: "cancel" } });
    const { engine, clock } = await world.engine({ workflows: [definition] });
    const { run, thrown } = await startAndDeliver(engine, definition);
    assert.equal(thrown, error);
    assert.deepEqual(await storyOf(run), ["charge: failed/canceled (exception)"]);
    assert.equal(run.state, "canceled");
    assert.equal(run.transitionedAt?.getTime(), clock.now());
    const failed = await executionAt(run, 0);
    assert.deepEqual([failed.errorClass, failed.errorMessage], ["CardDeclined", "no money"]);
    assert.ok(failed.errorStack);
    assert.equal(failed.failedAt?.getTime(), clock.now());
    assert.equal(failed.canceledAt, null);
  },
);

behaviour(
  "EXC-03 under skip the next step is scheduled and the error kept",
  async ({ engine: open }) => {
    const error = new CardDeclined("no money");
    const definition = purchase(() => error, { step: { onException: "skip" } });
    const { engine, clock } = await open({ workflows: [definition] });
    const { run, thrown } = await startAndDeliver(engine, definition);
    assert.equal(thrown, error);
    assert.deepEqual(await storyOf(run), [
      "charge: skipped/skipped (exception)",
      "ship: scheduled",
    ]);
    assert.equal(run.state, "ready");
    assert.equal((await current(run)).scheduledFor.getTime(), clock.now() + 86_400_000);
    const skipped = await executionAt(run, 0);
    assert.equal(skipped.skippedAt?.getTime(), clock.now());
    assert.equal(skipped.failedAt, null);
    assert.deepEqual([skipped.errorClass, skipped.errorMessage], ["CardDeclined", "no money"]);
    assert.equal((skipped.metadata.exception as { class: string }).class, "CardDeclined");
  },
);

behaviour("EXC-03 under skip the last step finishes the workflow", async ({ engine: open }) => {
  const thanks = workflow({
    name: "thanks",
    steps: [{
      name: "write",
      onException: "skip",
      run: () => {
        throw new Error("out of ink");
      },
    }],
  });
  const { engine } = await open({ workflows: [thanks] });
  const { run } = await startAndDeliver(engine, thanks);
  assert.equal(run.state, "finished");
  assert.equal(run.nextStepName, null);
  assert.deepEqual(await storyOf(run), ["write: skipped/skipped (exception)"]);
});

behaviour("EXC-04 under reattempt a new execution is due at once", async ({ engine: open }) => {
  const error = new GatewayTimeout("too slow");
  const definition = purchase(() => error, { step: { onException: "reattempt", wait: "1 hour" } });
  const { engine, clock } = await open({ workflows: [definition] });
  const run = await engine.start(definition);
  await assert.rejects(performNextStep(run), GatewayTimeout);
  assert.deepEqual(await storyOf(run), [
    "charge: completed/reattempted (exception)",
    "charge: scheduled",
  ]);
  assert.equal(run.state, "ready");
  assert.equal(run.transitionedAt, null);
  const again = await current(run);
  assert.equal(again.scheduledFor.getTime(), clock.now());
  assert.equal(again.attempt, 2);
  assert.equal((await executionAt(run, 0)).completedAt?.getTime(), clock.now());
});

behaviour(
  "EXC-05 EXC-53 the wait of a reattempt policy is the same each time",
  async ({ engine: open }) => {
    const definition = purchase(() => new GatewayTimeout("too slow"), {
      step: { onException: policy("reattempt", { wait: "5 minutes", maxReattempts: 3 }) },
    });
    const { engine, clock } = await open({ workflows: [definition] });
    const run = await engine.start(definition);
    for (let failures = 1; failures <= 3; failures++) {
      await assert.rejects(performNextStep(run), GatewayTimeout);
      const { scheduledFor } = await current(run);
      assert.equal(scheduledFor.getTime(), clock.now() + 300_000);
      clock.travelTo(scheduledFor);
    }
  },
);

behaviour(
  "EXC-06 a reattempt that succeeds lets the workflow proceed",
  async ({ engine: open }) => {
    let tries = 0;
    const definition = workflow({
      name: "purchase",
      steps: [
        {
          name: "charge",
          onException: "reattempt",
          run: () => {
            if (++tries === 1) throw new GatewayTimeout("too slow");
          },
        },
        { name: "ship", run: () => {} },
      ],
    });
    const { engine, clock } = await open({ workflows: [definition] });
    const run = await engine.start(definition);
    await clock.tick("1 minute");
    assert.equal((await run.reload()).state, "finished");
    assert.deepEqual(await storyOf(run), [
      "charge: completed/reattempted (exception)",
      "charge: completed/success",
      "ship: completed/success",
    ]);
  },
);

behaviour(
  "EXC-04 the other steps and workflows are untouched by a failure",
  async ({ engine: open }) => {
    const definition = purchase(() => new CardDeclined("no money"), {
      step: { onException: "cancel" },
    });
    const other = workflow({ name: "other", steps: [{ name: "only", run: () => {} }] });
    const { engine } = await open({ workflows: [definition, other] });
    const bystander = await engine.start(other);
    await startAndDeliver(engine, definition);
    assert.deepEqual(await storyOf(bystander), ["only: scheduled"]);
    assert.equal((await speedrunWorkflow(bystander)).state, "finished");
  },
);
