/**
 * Heroes: whom a workflow is about, how it is found before each step, and how many ongoing
 * workflows it may have.
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
import { recordingQueue } from "./_doubles.ts";

interface Member {
  readonly id: string;
  readonly name: string;
}

/** A sports club: its members, and how often each was looked up. */
function club(): {
  members: Map<string, Member>;
  loads: string[];
  hero: ReturnType<typeof hero<Member>>;
} {
  const members = new Map([["ann", { id: "ann", name: "Ann" }], ["bo", { id: "bo", name: "Bo" }]]);
  const loads: string[] = [];
  return {
    members,
    loads,
    hero: hero("Member", {
      load(id) {
        loads.push(id);
        return Promise.resolve(members.get(id));
      },
      idOf: (member: Member) => member.id,
    }),
  };
}

/** A membership: a letter, and a year later the renewal; `letters` is what was sent. */
function membership(
  heroes: ReturnType<typeof club>,
  letters: string[],
  name = "membership",
): WorkflowDefinition<Member> {
  return workflow({
    name,
    hero: heroes.hero,
    steps: [
      { name: "welcome", run: ({ hero }) => void letters.push(`Welcome, ${hero.name}`) },
      {
        name: "renew",
        wait: "365 days",
        run: ({ hero }) => void letters.push(`Dear ${hero.name}`),
      },
    ],
  });
}

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
