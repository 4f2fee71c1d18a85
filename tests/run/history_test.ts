/** The history of a workflow: its order, its pointers, and its end with the workflow's row. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { removedStep, workflow } from "../../mod.ts";
import { performNextStep, speedrunWorkflow, testEngine } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { current, storyOf } from "./_story.ts";

behaviour("AUD-16 previousStepName is the step before the pointer", async ({ engine: open }) => {
  const dinner = workflow({
    name: "dinner",
    steps: [
      { name: "shop", run: () => {} },
      removedStep("wash"),
      { name: "cook", run: () => {} },
      { name: "eat", run: () => {} },
    ],
  });
  const empty = workflow({ name: "empty", steps: [] });
  const { engine } = await open({ workflows: [dinner, empty] });
  const run = await engine.start(dinner);
  const seen = [run.previousStepName];
  for (let i = 0; i < 3; i++) {
    await performNextStep(run);
    seen.push(run.previousStepName);
  }
  assert.deepEqual(seen, [null, "shop", "cook", "eat"]);
  assert.equal(run.state, "finished");
  const nothing = await engine.start(empty);
  assert.equal(nothing.state, "finished");
  assert.equal(nothing.previousStepName, null);
});

behaviour("AUD-16 a failed step is not the previous one of itself", async ({ engine: open }) => {
  const dinner = workflow({
    name: "dinner",
    steps: [
      { name: "shop", run: () => {} },
      {
        name: "cook",
        run: () => {
          throw new Error("burnt");
        },
      },
    ],
  });
  const { engine } = await open({ workflows: [dinner] });
  const run = await engine.start(dinner);
  await performNextStep(run);
  await performNextStep(run).catch(() => {});
  assert.equal(run.state, "paused");
  assert.equal(run.previousStepName, "shop");
});

behaviour(
  "AUD-17 the history holds every execution in the order of creation",
  async ({ engine: open }) => {
    const dinner = workflow({
      name: "dinner",
      steps: [
        { name: "shop", run: ({ attempt, reattempt }) => attempt < 3 ? reattempt() : undefined },
        { name: "wash", skipIf: true, run: () => {} },
        { name: "cook", wait: "1 hour", run: () => {} },
        { name: "eat", run: () => {} },
      ],
    });
    const { engine, clock } = await open({ workflows: [dinner] });
    const run = await engine.start(dinner);
    for (let i = 0; i < 4; i++) {
      // A clock that goes back must not change the order.
      clock.travelTo(clock.now() - 60_000);
      await performNextStep(run);
    }
    await run.pause();
    await run.resumeAt("eat");
    await performNextStep(run);
    assert.deepEqual(await storyOf(run), [
      "shop: completed/reattempted (flow_control)",
      "shop: completed/reattempted (flow_control)",
      "shop: completed/success",
      "wash: skipped/skipped (condition)",
      "cook: canceled/canceled (operator)",
      "eat: completed/success",
    ]);
  },
);

behaviour(
  "AUD-17 a history of more than a thousand executions is complete",
  async ({ engine: open }) => {
    const polling = workflow({
      name: "polling",
      steps: [{
        name: "look",
        run: ({ attempt, reattempt }) => attempt < 1_005 ? reattempt() : undefined,
      }],
    });
    const { engine, clock } = await open({ workflows: [polling] });
    const run = await engine.start(polling);
    await clock.tick("1 minute");
    assert.equal((await run.reload()).state, "finished");
    const attempts = (await run.history()).map((one) => one.attempt);
    assert.deepEqual(attempts, Array.from({ length: 1_005 }, (_, at) => at + 1));
  },
);

behaviour(
  "AUD-18 steps entered and steps completed can be told apart in the history",
  async (world) => {
    const dinner = workflow({
      name: "dinner",
      steps: [
        { name: "shop", run: () => {} },
        {
          name: "cook",
          run: () => {
            throw new Error("burnt");
          },
        },
      ],
    });
    const { engine, clock } = await world.engine({ workflows: [dinner] });
    const run = await engine.start(dinner);
    await clock.tick("1 minute");
    const history = await run.history();
    assert.equal(history.filter((one) => one.startedAt !== null).length, 2);
    assert.equal(history.filter((one) => one.outcome === "success").length, 1);
  },
);

behaviour("AUD-19 with a workflow its executions are deleted", async ({ engine: open }) => {
  const dinner = workflow({
    name: "dinner",
    steps: [{ name: "shop", run: () => {} }, { name: "cook", run: () => {} }],
  });
  const { engine, clock, store } = await open({
    workflows: [dinner],
    housekeeping: { retention: "1 day" },
  });
  const gone = await speedrunWorkflow(await engine.start(dinner));
  const ids = (await gone.history()).map((one) => one.id);
  const kept = await engine.start(dinner);
  clock.travelTo(clock.now() + 2 * 86_400_000);
  const { workflowsDeleted, executionsDeleted } = await engine.housekeep();
  assert.deepEqual([workflowsDeleted, executionsDeleted], [1, 2]);
  assert.equal(await engine.find(gone.id), null);
  for (const id of ids) assert.equal(await store.getExecution(id), null);
  assert.ok(await engine.find(kept.id));
  assert.ok((await kept.history()).length > 0);
});

Deno.test("AUD-19 AUD-20 the schema itself deletes executions and demands name and due time", async () => {
  const dinner = workflow({ name: "dinner", steps: [{ name: "shop", run: () => {} }] });
  const database = new DatabaseSync(":memory:");
  await using t = await testEngine({ store: sqliteStore(database), workflows: [dinner] });
  const run = await t.engine.start(dinner);
  for (const column of ["step_name", "scheduled_for"]) {
    assert.throws(
      () => database.exec(`UPDATE pawl_step_executions SET ${column} = NULL`),
      /NOT NULL constraint failed/,
    );
  }
  const count = (): unknown =>
    database.prepare("SELECT count(*) AS n FROM pawl_step_executions").get()?.n;
  assert.equal(count(), 1);
  database.exec("DELETE FROM pawl_workflows");
  assert.equal(count(), 0);
  assert.equal(await t.engine.find(run.id), null);
});

behaviour(
  "AUD-21 a workflow's own metadata is free JSON and comes back as it was",
  async ({ engine: open }) => {
    const metadata = {
      campaign: "spring 🌷",
      tags: ["a", "b"],
      nested: { deep: [1, null, true, { quote: 'it\'s "quoted"' }] },
      none: null,
    };
    const dinner = workflow({
      name: "dinner",
      steps: [{ name: "shop", run: () => {} }, { name: "cook", run: () => {} }],
    });
    const { engine } = await open({ workflows: [dinner] });
    const run = await engine.start(dinner, {
      metadata,
      jobOptions: { queue: "kitchen", priority: 3 },
    });
    assert.deepEqual(run.metadata, metadata);
    const shop = await current(run);
    assert.deepEqual([shop.queue, shop.priority], ["kitchen", 3]);
    await performNextStep(run);
    const found = await engine.find(run.id);
    assert.deepEqual(found?.metadata, metadata);
    const cook = await current(run);
    assert.deepEqual([cook.queue, cook.priority], ["kitchen", 3]);
    assert.deepEqual(cook.metadata, {});
  },
);
