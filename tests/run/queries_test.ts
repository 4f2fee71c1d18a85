/**
 * Finding workflows: by state, by hero, by definition, by what they wait for.
 */

import assert from "node:assert/strict";
import {
  createEngine,
  hero,
  InvalidInputError,
  removedStep,
  type Run,
  StepConfigurationError,
  workflow,
  type WorkflowDefinition,
  WorkflowNotDefinedError,
  type WorkflowState,
} from "../../mod.ts";
import { performNextStep, speedrunWorkflow, type TestEngine } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingQueue } from "./_doubles.ts";
import { createGate, type Gate } from "./_gate.ts";
import { current } from "./_story.ts";

const users = hero("User", {
  load: (id: string) => ({ id }),
  idOf: (user: { id: string }) => user.id,
});
const STATES: readonly WorkflowState[] = ["ready", "performing", "paused", "finished", "canceled"];

/** An onboarding that only stands still for the hero "performing". */
function onboarding(gate: Gate, name = "onboarding"): WorkflowDefinition<{ id: string }> {
  return workflow({
    name,
    hero: users,
    steps: [
      { name: "welcome", run: ({ hero }) => hero.id === "performing" ? gate.pass() : undefined },
      { name: "remind", wait: "2 days", run() {} },
    ],
  });
}

/** One workflow in each state, its hero called like the state. */
async function oneOfEach(
  t: TestEngine,
  definition: WorkflowDefinition<{ id: string }>,
  gate: Gate,
): Promise<{ runs: Record<WorkflowState, Run>; handling: Promise<void> }> {
  const runs = {} as Record<WorkflowState, Run>;
  for (const state of STATES) runs[state] = await t.engine.start(definition, { hero: state });
  await runs.paused.pause();
  await runs.canceled.cancel();
  await speedrunWorkflow(runs.finished);
  const handling = t.engine.handle((await current(runs.performing)).id);
  await gate.arrived;
  for (const state of STATES) {
    assert.equal((await runs[state].reload()).state, state);
  }
  return { runs, handling };
}

function idsOf(items: readonly { id: string }[]): string[] {
  return items.map(({ id }) => id).sort();
}

behaviour(
  "QRY-01 QRY-02 each state, several states and the ongoing ones can be asked for",
  async ({ engine }) => {
    const gate = createGate();
    const definition = onboarding(gate);
    const t = await engine({ workflows: [definition] });
    const { runs, handling } = await oneOfEach(t, definition, gate);
    for (const state of STATES) {
      const { items, next } = await t.engine.list({ state });
      assert.deepEqual(idsOf(items), [runs[state].id], state);
      assert.equal(items[0]?.state, state);
      assert.equal(next, null);
    }
    const ended = await t.engine.list({ state: ["finished", "canceled"] });
    assert.deepEqual(idsOf(ended.items), idsOf([runs.finished, runs.canceled]));
    const ongoing = await t.engine.list({ ongoing: true });
    assert.deepEqual(idsOf(ongoing.items), idsOf([runs.ready, runs.performing, runs.paused]));
    for (const run of ongoing.items) assert.equal(run.isOngoing, true);
    const over = await t.engine.list({ ongoing: false });
    assert.deepEqual(idsOf(over.items), idsOf([runs.finished, runs.canceled]));
    for (const run of over.items) assert.equal(run.isOngoing, false);
    const both = await t.engine.list({ ongoing: true, state: ["paused", "finished"] });
    assert.deepEqual(idsOf(both.items), [runs.paused.id]);
    assert.equal((await t.engine.list()).items.length, 5);
    await assert.rejects(t.engine.list({ state: "asleep" as WorkflowState }), InvalidInputError);
    await assert.rejects(t.engine.list({ states: "ready" } as never), StepConfigurationError);
    gate.open();
    await handling;
  },
);

behaviour(
  "QRY-03 all workflows of a hero can be asked for, whatever their state and definition",
  async ({ engine }) => {
    const gate = createGate();
    const definition = onboarding(gate);
    const farewell = onboarding(gate, "farewell");
    const vans = workflow({
      name: "inspection",
      hero: hero("Van", { load: (id: string) => ({ id }) }),
      steps: [{ name: "inspect", run() {} }],
    });
    const t = await engine({ workflows: [definition, farewell, vans] });
    const first = await (await t.engine.start(definition, { hero: "7" })).cancel();
    const second = await speedrunWorkflow(await t.engine.start(definition, { hero: "7" }));
    const third = await t.engine.start(farewell, { hero: "7" });
    await t.engine.start(definition, { hero: "8" });
    const van = await t.engine.start(vans, { hero: "7" });

    const all = [first, second, third];
    const byType = await t.engine.list({ hero: { type: "User", id: "7" } });
    assert.deepEqual(idsOf(byType.items), idsOf(all));
    const byObject = await t.engine.list({ workflow: definition, hero: { id: "7" } });
    assert.deepEqual(idsOf(byObject.items), idsOf([first, second]));
    const byId = await t.engine.list({ hero: 7 });
    assert.deepEqual(idsOf(byId.items), idsOf([...all, van]));
    assert.deepEqual((await t.engine.list({ hero: { type: "User", id: "9" } })).items, []);
    await assert.rejects(t.engine.list({ hero: { name: "Ann" } }), InvalidInputError);
  },
);

behaviour(
  "QRY-04 the active execution is the scheduled or running one, else there is none",
  async ({ engine }) => {
    const gate = createGate();
    const definition = onboarding(gate);
    const t = await engine({ workflows: [definition] });
    const { runs, handling } = await oneOfEach(t, definition, gate);
    assert.equal((await runs.ready.currentExecution())?.state, "scheduled");
    assert.equal((await runs.performing.currentExecution())?.state, "in_progress");
    assert.equal((await runs.paused.currentExecution())?.state, "scheduled");
    assert.equal(await runs.finished.currentExecution(), null);
    assert.equal(await runs.canceled.currentExecution(), null);
    gate.open();
    await handling;
  },
);

behaviour(
  "QRY-05 executions that can run are scheduled, due, and of a ready workflow",
  async ({ engine }) => {
    const gate = createGate();
    const definition = onboarding(gate);
    const waiting = workflow({
      name: "approval",
      steps: [{ name: "approve", waitFor: "approved", run() {} }],
    });
    const t = await engine({ workflows: [definition, waiting], queue: recordingQueue() });
    const { runs, handling } = await oneOfEach(t, definition, gate);
    await t.engine.start(waiting);
    const notInTheFuture = async (): Promise<[string, string][]> => {
      const due = await t.store.due({ before: new Date(t.clock.now() + 1), limit: 10 });
      return due.map((one) => [one.workflowId, one.stepName]);
    };
    assert.deepEqual(await notInTheFuture(), [[runs.ready.id, "welcome"]]);
    await performNextStep(runs.ready);
    assert.deepEqual(await notInTheFuture(), [], "the reminder is later");
    await t.clock.tick("2 days");
    assert.deepEqual(await notInTheFuture(), [[runs.ready.id, "remind"]]);
    gate.open();
    await handling;
  },
);

behaviour("QRY-06 filters can be limited to a definition, or go across all", async ({ engine }) => {
  const gate = createGate();
  const definition = onboarding(gate);
  const farewell = onboarding(gate, "farewell");
  const t = await engine({ workflows: [definition, farewell] });
  const one = await (await t.engine.start(definition, { hero: "1" })).pause();
  const two = await (await t.engine.start(farewell, { hero: "1" })).pause();
  const three = await t.engine.start(farewell, { hero: "2" });
  assert.deepEqual(idsOf((await t.engine.list({ state: "paused" })).items), idsOf([one, two]));
  const limited = await t.engine.list({ workflow: farewell, state: "paused" });
  assert.deepEqual(idsOf(limited.items), [two.id]);
  const byName = await t.engine.list({ workflow: "farewell" });
  assert.deepEqual(idsOf(byName.items), idsOf([two, three]));
  assert.deepEqual((await t.engine.list({ workflow: "welcome" })).items, []);
  await performNextStep(three);
  const byStep = await t.engine.list({ step: "remind" });
  assert.deepEqual(idsOf(byStep.items), [three.id]);
});

behaviour(
  "QRY-06 long lists come in pages, newest first, each workflow once",
  async ({ engine }) => {
    const definition = onboarding(createGate());
    const t = await engine({ workflows: [definition] });
    const started: string[] = [];
    for (let at = 0; at < 5; at++) {
      started.push((await t.engine.start(definition, { hero: `${at}` })).id);
      await t.clock.tick("1 second");
    }
    const seen: string[] = [];
    const sizes: number[] = [];
    let after: string | null = null;
    do {
      const page = await t.engine.list({ limit: 2, after });
      seen.push(...page.items.map((run) => run.id));
      sizes.push(page.items.length);
      after = page.next;
    } while (after !== null);
    assert.deepEqual(seen, started.reverse());
    assert.deepEqual(sizes, [2, 2, 1]);
    assert.deepEqual(await t.engine.counts(), [
      { workflow: "onboarding", state: "ready", count: 5 },
    ]);
    await assert.rejects(t.engine.list({ limit: 0 }), StepConfigurationError);
  },
);

behaviour("QRY-07 what was not touched since an instant can be asked for", async ({ engine }) => {
  const gate = createGate();
  const definition = onboarding(gate);
  const t = await engine({ workflows: [definition], queue: recordingQueue() });
  const stuck = await t.engine.start(definition, { hero: "performing" });
  const handling = t.engine.handle((await current(stuck)).id);
  await gate.arrived;
  const touchedAt = t.clock.now();
  t.clock.travelTo(touchedAt + 3_600_000);
  await t.engine.start(definition, { hero: "8" });
  const updatedBefore = new Date(t.clock.now() - 60_000);
  const found = await t.engine.list({ state: "performing", updatedBefore });
  assert.deepEqual(idsOf(found.items), [stuck.id]);
  const before = new Date(touchedAt);
  assert.deepEqual((await t.engine.list({ updatedBefore: before })).items, []);
  gate.open();
  await handling;
});

behaviour(
  "QRY-11 a workflow whose definition is unknown can be read, listed and inspected",
  async ({ engine, store }) => {
    const definition = onboarding(createGate());
    const shared = store();
    const t = await engine({ workflows: [definition], store: shared });
    const run = await t.engine.start(definition, { hero: "1" });
    await performNextStep(run);

    const other = createEngine({ store: shared });
    const found = await other.find(run.id);
    assert.deepEqual(
      [found?.name, found?.state, found?.nextStepName, found?.heroId],
      ["onboarding", "ready", "remind", "1"],
    );
    assert.deepEqual([found?.previousStepName, found?.remainingWaitMs], [null, 0]);
    assert.deepEqual(idsOf((await other.list({ workflow: "onboarding" })).items), [run.id]);
    assert.deepEqual(await found?.history(), await run.history());
    assert.equal((await found?.currentExecution())?.stepName, "remind");
    await assert.rejects(found?.skip() ?? Promise.resolve(), (error) => {
      assert.ok(error instanceof WorkflowNotDefinedError);
      assert.equal(error.workflowName, "onboarding");
      return true;
    });
    await found?.pause();
    assert.equal((await run.reload()).state, "paused", "what needs no definition works");
  },
);

behaviour(
  "QRY-12 tombstones that ongoing workflows still point at are counted per step",
  async ({ engine }) => {
    const before = workflow({
      name: "survey",
      steps: ["ask", "remind", "thank"].map((name) => ({ name, run() {} })),
    });
    const t = await engine({ workflows: [before] });
    const runs = await Promise.all(Array.from({ length: 4 }, () => t.engine.start(before)));
    for (const run of runs.slice(0, 3)) await performNextStep(run);
    const after = workflow({
      name: "survey",
      steps: [
        { name: "ask", run() {} },
        removedStep("remind"),
        { name: "thank", run() {} },
        removedStep("archive"),
      ],
    });
    t.engine.register(after, { replace: true });
    assert.deepEqual(await t.engine.tombstones(after), [{ stepName: "remind", count: 3 }]);
    await runs[0]?.cancel();
    await runs[1]?.pause();
    assert.deepEqual(await t.engine.tombstones(after), [{ stepName: "remind", count: 2 }]);
    await runs[1]?.cancel();
    await speedrunWorkflow(runs[2] as Run);
    assert.deepEqual(await t.engine.tombstones(after), []);
  },
);
