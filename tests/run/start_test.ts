/**
 * Starting: when, many at once, and what is refused.
 */

import assert from "node:assert/strict";
import {
  hero,
  InvalidInputError,
  StepConfigurationError,
  workflow,
  WorkflowNotDefinedError,
} from "../../mod.ts";
import { assertWorkflowState, performNextStep, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingQueue, storeWith } from "./_doubles.ts";

const HOUR = 3_600_000;
const NOON = Date.UTC(2026, 5, 1, 12);

behaviour(
  "SCH-03 a start may be set for another time, from which the first wait counts",
  async ({ engine }) => {
    const sale = workflow({
      name: "sale",
      steps: [{ name: "open", wait: "1 hour", run: () => {} }, { name: "close", run: () => {} }],
    });
    const queue = recordingQueue();
    const t = await engine({ workflows: [sale], queue, now: NOON });
    for (const at of [new Date(NOON + 24 * HOUR), NOON + 24 * HOUR]) {
      const run = await t.engine.start(sale, { at });
      const due = new Date(NOON + 25 * HOUR);
      assert.deepEqual((await run.currentExecution())?.scheduledFor, due);
      assert.deepEqual(queue.take().map((job) => job.runAt), [due]);
      assert.deepEqual(run.createdAt, new Date(NOON));
    }
    const past = await t.engine.start(sale, { at: NOON - 24 * HOUR });
    assert.deepEqual((await past.currentExecution())?.scheduledFor, new Date(NOON - 23 * HOUR));
    for (const at of ["tomorrow", NaN, new Date(NaN), null, Infinity]) {
      await assert.rejects(t.engine.start(sale, { at: at as never }), InvalidInputError);
    }
    assert.equal((await t.engine.list()).items.length, 3);
  },
);

behaviour(
  "SCH-01 startMany starts one for each, in the order given, and says which are duplicates",
  async ({ engine, store }) => {
    const greeting = workflow({
      name: "greeting",
      hero: hero<{ id: string }>("Guest", { load: (id) => ({ id }) }),
      steps: [{ name: "greet", run: () => {} }],
    });
    const queue = recordingQueue();
    let creates = 0;
    const t = await engine({
      workflows: [greeting],
      queue,
      store: storeWith(store(), (real) => ({
        create: (batch, options) => (creates++, real.create(batch, options)),
      })),
    });
    const known = await t.engine.start(greeting, { hero: "bo" });
    creates = 0;
    queue.take();
    const events: string[] = [];
    t.engine.events.on("workflow", ({ workflowId, action }) => {
      if (action === "start") events.push(workflowId);
    });
    const items = ["ann", "bo", "cy", "ann", "di"].map((hero) => ({ hero }));
    const started = await t.engine.startMany(greeting, items);
    assert.deepEqual(started.map((one) => one.kind), [
      "started",
      "duplicate",
      "started",
      "duplicate",
      "started",
    ]);
    const ids = started.map((one) => one.kind === "started" ? one.run.id : one.existingId);
    assert.equal(ids[1], known.id);
    assert.equal(ids[3], ids[0]);
    assert.equal(creates, 1);
    const heroes = started.flatMap((one) => one.kind === "started" ? [one.run.heroId] : []);
    assert.deepEqual(heroes, ["ann", "cy", "di"]);
    assert.equal(queue.take().length, 3);
    assert.deepEqual(events, [ids[0], ids[2], ids[4]]);
    assert.deepEqual(await t.engine.startMany(greeting, []), []);
  },
);

behaviour("SCH-01 startMany writes nothing when one of its items cannot be", async ({ engine }) => {
  const greeting = workflow({
    name: "greeting",
    hero: hero<{ id: string }>("Guest", { load: (id) => ({ id }) }),
    steps: [{ name: "greet", run: () => {} }],
  });
  const t = await engine({ workflows: [greeting] });
  const items = [{ hero: "ann" }, { hero: "" }, { hero: "cy" }];
  await assert.rejects(t.engine.startMany(greeting, items), InvalidInputError);
  await assert.rejects(
    t.engine.startMany(greeting, [{ hero: "ann", herro: "bo" } as never]),
    StepConfigurationError,
  );
  assert.deepEqual((await t.engine.list()).items, []);
});

behaviour(
  "SCH-02 what startMany has committed is announced, also when a later batch fails",
  async ({ engine, store }) => {
    const greeting = workflow({ name: "greeting", steps: [{ name: "greet", run: () => {} }] });
    const queue = recordingQueue();
    let creates = 0;
    const t = await engine({
      workflows: [greeting],
      queue,
      store: storeWith(store(), (real) => ({
        create: (batch, options) =>
          ++creates > 1 ? Promise.reject(new Error("disk full")) : real.create(batch, options),
      })),
    });
    const items = Array.from({ length: 501 }, () => ({}));
    await assert.rejects(t.engine.startMany(greeting, items), /disk full/);
    assert.deepEqual(await t.engine.counts(), [{
      workflow: "greeting",
      state: "ready",
      count: 500,
    }]);
    assert.equal(new Set(queue.jobs.map((job) => job.executionId)).size, 500);
  },
);

behaviour(
  "SCH-01 an unknown option, a wrong flag or a foreign definition is refused",
  async ({ engine }) => {
    const known = workflow({ name: "known", steps: [{ name: "only", run: () => {} }] });
    const foreign = workflow({ name: "foreign", steps: [{ name: "only", run: () => {} }] });
    const t = await engine({ workflows: [known] });
    await assert.rejects(
      t.engine.start(known, { allowMultipel: true } as never),
      (error) => {
        assert.ok(error instanceof StepConfigurationError);
        assert.match(error.message, /"allowMultipel" \(did you mean "allowMultiple"\?\)/);
        return true;
      },
    );
    await assert.rejects(t.engine.start(known, { allowMultiple: 1 as never }), InvalidInputError);
    await assert.rejects(t.engine.start(known, "ann" as never), StepConfigurationError);
    await assert.rejects(t.engine.start(foreign), (error) => {
      assert.ok(error instanceof WorkflowNotDefinedError);
      assert.equal(error.workflowName, "foreign");
      return true;
    });
    await assert.rejects(t.engine.start(undefined as never), InvalidInputError);
    await assert.rejects(t.engine.startMany(known, {} as never), InvalidInputError);
    assert.deepEqual((await t.engine.list()).items, []);
  },
);

behaviour(
  "SCH-01 names with quotes, emoji and SQL in them are names like others",
  async ({ engine }) => {
    const [name, step] = [`O'Neil's "🐧"; DROP TABLE pawl_workflows; --`, "étape № 1 \\ `%_`"];
    const odd = workflow({ name, steps: [{ name: step, run: () => {} }] });
    const t = await engine({ workflows: [odd] });
    const run = await t.engine.start(odd, { jobOptions: { queue: "naïve '🐌'" } });
    const { items } = await t.engine.list({ workflow: odd, step });
    assert.deepEqual(items.map(({ id, name, nextStepName }) => [id, name, nextStepName]), [
      [run.id, name, step],
    ]);
    assert.equal((await run.currentExecution())?.queue, "naïve '🐌'");
    await speedrunWorkflow(run);
    assert.deepEqual(await t.engine.counts(), [{ workflow: name, state: "finished", count: 1 }]);
  },
);

behaviour(
  "SCH-03 a wait function of the first step that fails starts nothing",
  async ({ engine }) => {
    const waits: unknown[] = [new Error("no idea"), -1, "soon", NaN];
    const moody = workflow({
      name: "moody",
      steps: [{
        name: "first",
        wait() {
          const wait = waits.shift();
          if (wait instanceof Error) throw wait;
          return wait as number;
        },
        run: () => {},
      }],
    });
    const t = await engine({ workflows: [moody] });
    await assert.rejects(t.engine.start(moody), /no idea/);
    for (let at = 0; at < 3; at++) {
      await assert.rejects(t.engine.start(moody), StepConfigurationError);
    }
    assert.deepEqual((await t.engine.list()).items, []);
  },
);

behaviour(
  "SCH-04 a wait function of a later step that fails pauses the workflow before that step",
  async ({ engine }) => {
    const reports: string[] = [];
    let broken = true;
    const moody = workflow({
      name: "moody",
      steps: [{ name: "first", run: () => {} }, {
        name: "second",
        wait() {
          if (broken) throw new Error("no idea");
          return 0;
        },
        run: () => {},
      }],
    });
    const t = await engine({
      workflows: [moody],
      reportError: (error) => void reports.push(error.message),
    });
    const run = await t.engine.start(moody);
    assert.equal((await performNextStep(run))?.outcome, "success");
    await assertWorkflowState(run, "paused");
    assert.equal(run.nextStepName, "second");
    assert.deepEqual(reports, ["no idea"]);
    broken = false;
    await run.resume();
    await speedrunWorkflow(run);
    await assertWorkflowState(run, "finished");
    assert.equal((await run.history()).length, 2);
  },
);
