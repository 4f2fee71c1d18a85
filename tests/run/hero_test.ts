/**
 * Heroes: whom a workflow is about, and how it is found before each step.
 */

import assert from "node:assert/strict";
import { hero, workflow } from "../../mod.ts";
import { assertWorkflowState, performNextStep, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { club, type Member, membership } from "./_members.ts";

behaviour(
  "HERO-01 the row holds the hero's type and id, and nobody is loaded before a step runs",
  async ({ engine }) => {
    const heroes = club();
    const definition = membership(heroes, []);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition, { hero: { id: "ann", name: "Ann" } });
    const row = await t.store.get(run.id);
    assert.equal(row?.heroType, "Member");
    assert.equal(row?.heroId, "ann");
    assert.deepEqual([run.heroType, run.heroId], ["Member", "ann"]);
    assert.deepEqual(heroes.loads, []);
    await performNextStep(run);
    assert.deepEqual(heroes.loads, ["ann"]);
  },
);

behaviour(
  "HERO-02 each execution sees the hero as it is stored at that moment",
  async ({ engine }) => {
    const heroes = club();
    const letters: string[] = [];
    const definition = membership(heroes, letters);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition, { hero: { id: "ann", name: "a stale object" } });
    await performNextStep(run);
    heroes.members.set("ann", { id: "ann", name: "Ann Smith" });
    await performNextStep(run);
    assert.deepEqual(letters, ["Welcome, Ann", "Dear Ann Smith"]);
    assert.deepEqual(heroes.loads, ["ann", "ann"]);
  },
);

behaviour(
  "HERO-12 a hero that is gone cancels the execution and the workflow without an error",
  async ({ engine }) => {
    const heroes = club();
    const letters: string[] = [];
    const reports: Error[] = [];
    const definition = membership(heroes, letters);
    const t = await engine({
      workflows: [definition],
      reportError: (error) => void reports.push(error),
    });
    const run = await t.engine.start(definition, { hero: "ann" });
    await performNextStep(run);
    heroes.members.delete("ann");
    const execution = await performNextStep(run);
    assert.equal(execution?.state, "canceled");
    assert.equal(execution?.outcome, "canceled");
    assert.equal(execution?.cause, "condition");
    assert.deepEqual(execution?.metadata, { reason: "hero_gone" });
    assert.equal(execution?.startedAt, null);
    assert.deepEqual(execution?.canceledAt, execution?.finishedAt);
    assert.equal(execution?.errorClass, null);
    await assertWorkflowState(run, "canceled");
    assert.equal(await run.currentExecution(), null);
    assert.deepEqual(letters, ["Welcome, Ann"]);
    assert.deepEqual(reports, []);
  },
);

behaviour("HERO-12 a load that answers null counts as gone too", async ({ engine }) => {
  const definition = workflow({
    name: "membership",
    hero: hero<Member>("Member", { load: () => null }),
    steps: [{ name: "welcome", run: () => assert.fail("the body must not run") }],
  });
  const t = await engine({ workflows: [definition] });
  const run = await t.engine.start(definition, { hero: "ann" });
  await performNextStep(run);
  await assertWorkflowState(run, "canceled");
});

behaviour(
  "HERO-13 a definition that may proceed without its hero runs the step with null",
  async ({ engine }) => {
    const heroes = club();
    const seen: (string | null)[] = [];
    const definition = workflow({
      name: "erasure",
      hero: heroes.hero,
      mayProceedWithoutHero: true,
      steps: [
        { name: "notify", run: ({ hero }) => void seen.push(hero?.name ?? null) },
        { name: "purge_backups", run: ({ hero }) => void seen.push(hero?.name ?? null) },
      ],
    });
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition, { hero: "ann" });
    await performNextStep(run);
    heroes.members.delete("ann");
    const execution = await performNextStep(run);
    assert.deepEqual(seen, ["Ann", null]);
    assert.equal(execution?.outcome, "success");
    await assertWorkflowState(run, "finished");
    assert.equal(run.heroId, "ann");
  },
);

behaviour(
  "HERO-14 a derived definition inherits that it may proceed, its siblings do not",
  async ({ engine }) => {
    const heroes = club();
    const ran: string[] = [];
    const base = workflow({
      name: "erasure",
      hero: heroes.hero,
      mayProceedWithoutHero: true,
      steps: [{ name: "notify", run: ({ workflow }) => void ran.push(workflow.name) }],
    });
    const derived = workflow({ name: "fast_erasure", extends: base });
    const sibling = workflow({ name: "strict", extends: base, mayProceedWithoutHero: false });
    const other = workflow({
      name: "other",
      hero: heroes.hero,
      steps: [{ name: "notify", run: () => void ran.push("other") }],
    });
    const t = await engine({ workflows: [base, derived, sibling, other] });
    heroes.members.clear();
    for (const definition of [base, derived, sibling, other]) {
      await speedrunWorkflow(await t.engine.start(definition, { hero: "ann" }));
    }
    assert.deepEqual(ran, ["erasure", "fast_erasure"]);
    assert.deepEqual(
      (await t.engine.list()).items.map((run) => [run.name, run.state]),
      [["other", "canceled"], ["strict", "canceled"], ["fast_erasure", "finished"], [
        "erasure",
        "finished",
      ]],
    );
  },
);
