/**
 * The slot of a hero: how many ongoing workflows of one definition it may have.
 */

import assert from "node:assert/strict";
import {
  createEngine,
  DuplicateWorkflowError,
  hero,
  type Run,
  workflow,
  type WorkflowDefinition,
} from "../../mod.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { assertWorkflowState, performNextStep, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { club, type Member, membership } from "./_members.ts";
import { recordingQueue } from "./_doubles.ts";

behaviour(
  "HERO-03 a second ongoing workflow of a hero is a typed error and leaves no rows and no jobs",
  async ({ engine }) => {
    const definition = membership(club(), []);
    const queue = recordingQueue();
    const t = await engine({ workflows: [definition], queue });
    const first = await t.engine.start(definition, { hero: "ann" });
    assert.equal(queue.take().length, 1);
    await assert.rejects(t.engine.start(definition, { hero: "ann" }), (error) => {
      assert.ok(error instanceof DuplicateWorkflowError);
      assert.equal(error.code, "duplicate_workflow");
      assert.equal(error.workflowName, "membership");
      assert.deepEqual([error.heroType, error.heroId], ["Member", "ann"]);
      assert.equal(error.existingId, first.id);
      assert.match(error.message, /^Cannot start "membership" for Member "ann".*allowMultiple/);
      return true;
    });
    const many = await t.engine.startMany(definition, [{ hero: "ann" }]);
    assert.deepEqual(many, [{ kind: "duplicate", existingId: first.id }]);
    const { items } = await t.engine.list();
    assert.deepEqual(items.map((run) => run.id), [first.id]);
    assert.equal((await first.history()).length, 1);
    assert.deepEqual(queue.take(), []);
  },
);

behaviour(
  "HERO-04 of many starts at once from two engines exactly one succeeds",
  async ({ store }) => {
    const definition = membership(club(), []);
    const shared = store();
    const engines = [1, 2].map(() =>
      createEngine({ store: shared, queue: recordingQueue(), workflows: [definition] })
    );
    await shared.migrate();
    await assertOneStarts(
      engines.flatMap((one) =>
        Array.from({ length: 10 }, () => one.start(definition, { hero: "ann" }))
      ),
    );
    assert.equal((await shared.list({}, { limit: 10 })).length, 1);
    await engines[0]?.close();
  },
);

Deno.test("HERO-04 of two connections to one SQLite file exactly one starts the workflow", async () => {
  const definition = membership(club(), []);
  const directory = await Deno.makeTempDir();
  const engines = [1, 2].map(() =>
    createEngine({
      store: sqliteStore(`${directory}/club.db`),
      queue: recordingQueue(),
      workflows: [definition],
    })
  );
  try {
    await engines[0]?.migrate();
    await assertOneStarts(engines.map((one) => one.start(definition, { hero: "ann" })));
    assert.equal((await engines[1]?.list())?.items.length, 1);
  } finally {
    for (const one of engines) await one.close();
    await Deno.remove(directory, { recursive: true });
  }
});

async function assertOneStarts(starts: readonly Promise<Run>[]): Promise<void> {
  const results = await Promise.allSettled(starts);
  const started = results.filter((one) => one.status === "fulfilled").map((one) => one.value);
  assert.equal(started.length, 1);
  for (const one of results) {
    if (one.status === "fulfilled") continue;
    assert.ok(one.reason instanceof DuplicateWorkflowError, String(one.reason));
    assert.equal(one.reason.existingId, started[0]?.id);
  }
}

behaviour(
  "HERO-05 the slot is taken while the workflow is ready, performing or paused",
  async ({ engine }) => {
    const heroes = club();
    const seen: string[] = [];
    const refused = async (): Promise<void> => {
      const { items: [ongoing] } = await t.engine.list({ workflow: definition });
      await assert.rejects(t.engine.start(definition, { hero: "ann" }), DuplicateWorkflowError);
      seen.push(ongoing?.state as string);
    };
    const definition: WorkflowDefinition<Member> = workflow({
      name: "membership",
      hero: heroes.hero,
      steps: [{ name: "welcome", run: refused }, { name: "renew", wait: "1 day", run: () => {} }],
    });
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition, { hero: "ann" });
    await refused();
    await performNextStep(run);
    await run.pause();
    await refused();
    assert.deepEqual(seen, ["ready", "performing", "paused"]);
  },
);

behaviour(
  "HERO-06 after the end a hero can have another one, and both rows stay",
  async ({ engine }) => {
    const definition = membership(club(), []);
    const t = await engine({ workflows: [definition] });
    const finished = await t.engine.start(definition, { hero: "ann" });
    await speedrunWorkflow(finished);
    const canceled = await t.engine.start(definition, { hero: "ann" });
    await canceled.cancel();
    const third = await t.engine.start(definition, { hero: "ann" });
    const { items } = await t.engine.list({ workflow: definition, hero: "ann" });
    assert.deepEqual(
      items.map(({ id, state }) => [id, state]),
      [[third.id, "ready"], [canceled.id, "canceled"], [finished.id, "finished"]],
    );
  },
);

behaviour(
  "HERO-07 allowMultiple starts a workflow beside an ongoing one and is kept on the row",
  async ({ engine }) => {
    const definition = membership(club(), []);
    const t = await engine({ workflows: [definition] });
    const first = await t.engine.start(definition, { hero: "ann" });
    const second = await t.engine.start(definition, { hero: "ann", allowMultiple: true });
    assert.notEqual(second.id, first.id);
    assert.equal((await t.store.get(first.id))?.allowMultiple, false);
    assert.equal((await t.store.get(second.id))?.allowMultiple, true);
    await speedrunWorkflow(second);
    await assertWorkflowState(first, "ready");
  },
);

behaviour(
  "HERO-08 a workflow that allows others does not occupy the slot itself",
  async ({ engine }) => {
    const definition = membership(club(), []);
    const t = await engine({ workflows: [definition] });
    await t.engine.start(definition, { hero: "ann", allowMultiple: true });
    const plain = await t.engine.start(definition, { hero: "ann" });
    assert.equal(plain.allowMultiple, false);
    await assert.rejects(t.engine.start(definition, { hero: "ann" }), DuplicateWorkflowError);
    await t.engine.start(definition, { hero: "ann", allowMultiple: true });
    assert.equal((await t.engine.list({ ongoing: true })).items.length, 3);
  },
);

behaviour(
  "HERO-09 two definitions may be ongoing for one hero, and one for two heroes",
  async ({ engine }) => {
    const heroes = club();
    const [member, trainer] = [membership(heroes, []), membership(heroes, [], "trainership")];
    const t = await engine({ workflows: [member, trainer] });
    await t.engine.start(member, { hero: "ann" });
    await t.engine.start(trainer, { hero: "ann" });
    await t.engine.start(member, { hero: "bo" });
    assert.equal((await t.engine.list({ ongoing: true })).items.length, 3);
  },
);

behaviour("HERO-09 heroes of two types with the same id are two heroes", async ({ engine }) => {
  const people = membership(club(), []);
  const teams = workflow({
    name: "membership",
    hero: hero("Team", { load: (id) => ({ id }) }),
    steps: [{ name: "welcome", run: () => {} }],
  });
  const t = await engine({ workflows: [people] });
  await t.engine.start(people, { hero: "ann" });
  t.engine.register(teams, { replace: true });
  await t.engine.start(teams, { hero: "ann" });
  const { items } = await t.engine.list();
  assert.deepEqual(items.map((run) => run.heroType), ["Team", "Member"]);
});

behaviour(
  "HERO-10 workflows without a hero never stand in each other's way",
  async ({ engine }) => {
    const heroless = workflow({
      name: "nightly_report",
      steps: [{ name: "print", run: ({ hero }) => assert.equal(hero, null) }],
    });
    const optional = workflow({
      name: "visit",
      hero: club().hero,
      mayProceedWithoutHero: true,
      steps: [{ name: "greet", run: ({ hero }) => assert.equal(hero, null) }],
    });
    const t = await engine({ workflows: [heroless, optional] });
    const runs = [
      await t.engine.start(heroless),
      await t.engine.start(heroless, { hero: null }),
      await t.engine.start(optional),
      await t.engine.start(optional, { hero: null }),
    ];
    for (const run of runs) {
      assert.deepEqual([run.heroType, run.heroId], [null, null]);
      await speedrunWorkflow(run);
      await assertWorkflowState(run, "finished");
    }
  },
);

behaviour(
  "HERO-11 job options, input and metadata take no part in uniqueness",
  async ({ engine }) => {
    const definition = membership(club(), []);
    const t = await engine({ workflows: [definition] });
    await t.engine.start(definition, { hero: "ann", jobOptions: { queue: "mail", priority: 1 } });
    await assert.rejects(
      t.engine.start(definition, {
        hero: "ann",
        jobOptions: { queue: "print" },
        metadata: { by: "bo" },
      }),
      DuplicateWorkflowError,
    );
  },
);
