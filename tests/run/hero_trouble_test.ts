/**
 * Heroes that make trouble: they cannot be loaded, they vanish halfway, they are no heroes at all.
 */

import assert from "node:assert/strict";
import {
  DuplicateWorkflowError,
  hero,
  InvalidInputError,
  policy,
  type ReportContext,
  StepConfigurationError,
  workflow,
  type WorkflowDefinition,
} from "../../mod.ts";
import { assertWorkflowState, performNextStep, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingQueue } from "./_doubles.ts";

interface Parcel {
  readonly id: string;
}

class RegistryDown extends Error {
  override name = "RegistryDown";
}

/** A delivery whose parcels cannot be looked up. */
function delivery(
  onException?: "skip" | "cancel" | "reattempt",
  ran: string[] = [],
): WorkflowDefinition<Parcel> {
  let down = true;
  return workflow({
    name: "delivery",
    hero: hero<Parcel>("Parcel", {
      load(id) {
        if (!down) return { id };
        down = false;
        throw new RegistryDown("the parcel registry is away");
      },
    }),
    ...(onException === undefined ? {} : { onException }),
    steps: [
      { name: "pick_up", run: () => void ran.push("pick_up") },
      { name: "hand_over", run: () => void ran.push("hand_over") },
    ],
  });
}

behaviour(
  "HERO-15 a hero that cannot be loaded fails the execution, pauses, and is rethrown",
  async ({ engine }) => {
    const ran: string[] = [];
    const reports: [Error, ReportContext][] = [];
    const definition = delivery(undefined, ran);
    const t = await engine({
      workflows: [definition],
      reportError: (error, context) => void reports.push([error, context]),
    });
    const run = await t.engine.start(definition, { hero: "p1" });
    const scheduled = await run.currentExecution();
    await assert.rejects(performNextStep(run), RegistryDown);
    const [execution, ...others] = await run.history();
    assert.deepEqual(others, []);
    assert.equal(execution?.id, scheduled?.id);
    assert.deepEqual([execution?.state, execution?.outcome, execution?.cause], [
      "failed",
      "failed",
      "exception",
    ]);
    assert.equal(execution?.errorClass, "RegistryDown");
    assert.equal(execution?.errorMessage, "the parcel registry is away");
    assert.match(execution?.errorStack ?? "", /hero_trouble_test/);
    assert.equal(execution?.startedAt, null);
    assert.deepEqual(execution?.failedAt, execution?.finishedAt);
    await assertWorkflowState(run, "paused");
    assert.deepEqual([run.currentStepName, run.nextStepName], [null, "pick_up"]);
    assert.deepEqual(ran, []);
    assert.equal(reports.length, 1);
    assert.ok(reports[0]?.[0] instanceof RegistryDown);
    assert.deepEqual(reports[0]?.[1], {
      workflowId: run.id,
      workflowName: "delivery",
      executionId: scheduled?.id,
      stepName: "pick_up",
      heroType: "Parcel",
      heroId: "p1",
    });

    await run.resume();
    await speedrunWorkflow(run);
    assert.deepEqual(ran, ["pick_up", "hand_over"]);
  },
);

behaviour(
  "HERO-15 a stored type that the code does not know any more is such an error",
  async ({ engine }) => {
    const parcels = delivery();
    const letters = workflow({
      name: "delivery",
      hero: hero("Letter", { load: (id) => ({ id }) }),
      steps: [{ name: "pick_up", run: () => assert.fail("the body must not run") }],
    });
    const t = await engine({ workflows: [parcels] });
    const run = await t.engine.start(parcels, { hero: "p1" });
    t.engine.register(letters, { replace: true });
    await assert.rejects(performNextStep(run), (error) => {
      assert.ok(error instanceof StepConfigurationError);
      assert.match(error.message, /"Parcel".*"Letter"/);
      return true;
    });
    await assertWorkflowState(run, "paused");
    const [execution] = await run.history();
    assert.equal(execution?.errorClass, "StepConfigurationError");
    assert.equal(run.heroType, "Parcel");
  },
);

behaviour(
  "HERO-16 under policy skip the execution stays failed and the next step is scheduled",
  async ({ engine }) => {
    const ran: string[] = [];
    const definition = delivery("skip", ran);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition, { hero: "p1" });
    await assert.rejects(performNextStep(run), RegistryDown);
    const [failed, next] = await run.history();
    assert.deepEqual([failed?.state, failed?.outcome], ["failed", "failed"]);
    assert.equal(failed?.errorClass, "RegistryDown");
    assert.deepEqual([next?.stepName, next?.state], ["hand_over", "scheduled"]);
    await assertWorkflowState(run, "ready");
    assert.equal(run.nextStepName, "hand_over");
    await speedrunWorkflow(run);
    assert.deepEqual(ran, ["hand_over"]);
    await assertWorkflowState(run, "finished");
  },
);

behaviour("HERO-16 under policy cancel the workflow is canceled", async ({ engine }) => {
  const definition = delivery("cancel");
  const t = await engine({ workflows: [definition] });
  const run = await t.engine.start(definition, { hero: "p1" });
  await assert.rejects(performNextStep(run), RegistryDown);
  await assertWorkflowState(run, "canceled");
  const [execution, ...others] = await run.history();
  assert.deepEqual([execution?.state, execution?.outcome], ["failed", "canceled"]);
  assert.equal(execution?.errorMessage, "the parcel registry is away");
  assert.deepEqual(others, []);
});

behaviour("HERO-16 under policy reattempt the hero is looked up again", async ({ engine }) => {
  const ran: string[] = [];
  const definition = delivery("reattempt", ran);
  const t = await engine({ workflows: [definition] });
  const run = await t.engine.start(definition, { hero: "p1" });
  await t.clock.tick(0);
  await assertWorkflowState(run, "finished");
  assert.deepEqual(ran, ["pick_up", "hand_over"]);
  const outcomes = (await run.history()).map(({ outcome, attempt }) => [outcome, attempt]);
  assert.deepEqual(outcomes, [["reattempted", 1], ["success", 2], ["success", 1]]);
});

behaviour("HERO-16 a handler decides about a hero that cannot be loaded", async ({ engine }) => {
  const asked: [string, unknown][] = [];
  const definition = workflow({
    name: "delivery",
    hero: hero<Parcel>("Parcel", {
      load: () => Promise.reject(new RegistryDown("the parcel registry is away")),
    }),
    onException: policy(({ error, hero, cancel }) => {
      asked.push([error.message, hero]);
      cancel();
    }),
    steps: [{ name: "pick_up", run: () => {} }],
  });
  const t = await engine({ workflows: [definition] });
  const run = await t.engine.start(definition, { hero: "p1" });
  await assert.rejects(performNextStep(run), RegistryDown);
  assert.deepEqual(asked, [["the parcel registry is away", null]]);
  await assertWorkflowState(run, "canceled");
});

behaviour("HERO-17 a last step that deletes its hero finishes the workflow", async ({ engine }) => {
  const accounts = new Map([["ann", { id: "ann" }]]);
  const definition = workflow({
    name: "erasure",
    hero: hero<{ id: string }>("Account", { load: (id) => accounts.get(id) }),
    steps: [{ name: "erase", run: ({ hero }) => void accounts.delete(hero.id) }],
  });
  const t = await engine({ workflows: [definition] });
  const run = await t.engine.start(definition, { hero: "ann" });
  const execution = await performNextStep(run);
  assert.deepEqual([execution?.state, execution?.outcome], ["completed", "success"]);
  await assertWorkflowState(run, "finished");
  assert.equal(accounts.size, 0);
});

behaviour(
  "HERO-18 a hero deleted while a body runs only matters to the step after it",
  async ({ engine }) => {
    const accounts = new Map([["ann", { id: "ann" }]]);
    const definition = workflow({
      name: "billing",
      hero: hero<{ id: string }>("Account", { load: (id) => accounts.get(id) }),
      steps: [
        { name: "charge", run: () => void accounts.delete("ann") },
        { name: "thank", run: () => assert.fail("the body must not run") },
      ],
    });
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition, { hero: "ann" });
    const charged = await performNextStep(run);
    assert.deepEqual([charged?.state, charged?.outcome], ["completed", "success"]);
    await assertWorkflowState(run, "ready");
    await performNextStep(run);
    await assertWorkflowState(run, "canceled");
  },
);

behaviour("HERO-19 ids of every key type fit, and equal ones are one hero", async ({ engine }) => {
  const definition = workflow({
    name: "audit",
    hero: hero<Parcel>("Parcel", { load: (id) => ({ id }) }),
    steps: [{ name: "note", run: () => {} }],
  });
  const t = await engine({ workflows: [definition] });
  const uuid = "0190163d-8694-739b-aea5-966c26f8ad91";
  const ids = [42, 9_007_199_254_740_993n, uuid, 'O\'Neil; "drop" `table`', "🐧 ünï\\%_", "0042"];
  for (const id of ids) {
    const run = await t.engine.start(definition, { hero: id });
    assert.equal(run.heroId, String(id));
    await assert.rejects(t.engine.start(definition, { hero: String(id) }), DuplicateWorkflowError);
    const { items } = await t.engine.list({ workflow: definition, hero: id });
    assert.deepEqual(items.map((one) => one.id), [run.id]);
  }
});

behaviour(
  "HERO-19 what cannot be the id of a hero is refused and nothing is written",
  async ({ engine }) => {
    const named = workflow({
      name: "delivery",
      hero: hero<Parcel>("Parcel", { load: (id) => ({ id }), idOf: ({ id }) => id }),
      steps: [{ name: "pick_up", run: () => {} }],
    });
    const plain = workflow({
      name: "audit",
      hero: hero<Parcel>("Parcel", { load: (id) => ({ id }) }),
      steps: [{ name: "note", run: () => {} }],
    });
    const heroless = workflow({ name: "report", steps: [{ name: "print", run: () => {} }] });
    const queue = recordingQueue();
    const t = await engine({ workflows: [named, plain, heroless], queue });
    const refused = async (starting: Promise<unknown>, message: RegExp): Promise<void> =>
      await assert.rejects(starting, (error) => {
        assert.ok(error instanceof InvalidInputError, String(error));
        assert.equal(error.code, "invalid_input");
        assert.match(error.message, message);
        return true;
      });
    await refused(t.engine.start(named), /"delivery" needs a hero/);
    await refused(t.engine.start(named, { hero: null }), /needs a hero/);
    for (const id of ["", NaN, Infinity, 2 ** 53, 1.5, true, Symbol("p1"), "\0", "\ud800"]) {
      await refused(t.engine.start(named, { hero: id as string }), /Parcel/);
    }
    await refused(t.engine.start(named, { hero: "p".repeat(256) }), /255/);
    await refused(t.engine.start(named, { hero: {} as Parcel }), /string, number or bigint/);
    await refused(t.engine.start(plain, { hero: { id: "p1" } }), /pass its id, or .*idOf/);
    await refused(t.engine.start(heroless, { hero: "p1" as never }), /has no hero/);
    assert.deepEqual((await t.engine.list()).items, []);
    assert.deepEqual(queue.jobs, []);
  },
);

behaviour(
  "U32 a step that starts its own workflow for the same hero is told of the duplicate",
  async ({ engine }) => {
    const definition: WorkflowDefinition<Parcel> = workflow({
      name: "delivery",
      hero: hero<Parcel>("Parcel", { load: (id) => ({ id }) }),
      steps: [{
        name: "order_another",
        run: async ({ hero, attempt, workflow }): Promise<void> => {
          const again = { hero: hero.id, allowMultiple: attempt === 2 && !workflow.allowMultiple };
          if (!workflow.allowMultiple) await t.engine.start(definition, again);
        },
        onException: "reattempt",
      }],
    });
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition, { hero: "p1" });
    await assert.rejects(performNextStep(run), (error) => {
      assert.ok(error instanceof DuplicateWorkflowError);
      assert.equal(error.existingId, run.id);
      assert.match(error.message, /allowMultiple: true/);
      return true;
    });
    assert.equal((await t.engine.list()).items.length, 1);
    await performNextStep(run);
    await assertWorkflowState(run, "finished");
    assert.equal((await t.engine.list()).items.length, 2);
  },
);
