/** What a body is told of its own past: which attempt it is, and the error of the one before. */

import assert from "node:assert/strict";
import { hero, policy, type PreviousError, type StepContext, workflow } from "../../mod.ts";
import { performNextStep, runIterations, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { current, executionAt, startAndDeliver } from "./_story.ts";

class Jammed extends Error {}

behaviour(
  "EXC-04 attempt counts from 1 in every step, and the row agrees",
  async ({ engine: open }) => {
    const seen: string[] = [];
    const print = workflow({
      name: "print",
      onException: policy("reattempt"),
      steps: ["page_1", "page_2"].map((name) => ({
        name,
        run: ({ attempt, execution, reattempt }: StepContext) => {
          assert.equal(execution.attempt, attempt);
          seen.push(`${name}: ${attempt}`);
          if (attempt === 1) throw new Jammed("the paper");
          if (attempt === 2) reattempt();
        },
      })),
    });
    const { engine, clock } = await open({ workflows: [print] });
    const run = await engine.start(print);
    await clock.tick("1 minute");
    assert.equal((await run.reload()).state, "finished");
    assert.deepEqual(seen, [
      "page_1: 1",
      "page_1: 2",
      "page_1: 3",
      "page_2: 1",
      "page_2: 2",
      "page_2: 3",
    ]);
  },
);

behaviour("RES-15 a continuation keeps the attempt", async ({ engine: open }) => {
  const seen: number[] = [];
  const print = workflow({
    name: "print",
    steps: [{
      name: "pages",
      resumable: true,
      onException: "reattempt",
      run: async ({ iter, attempt }) => {
        seen.push(attempt);
        if (seen.length === 1) throw new Jammed("the paper");
        await iter.over([1, 2, 3], () => {});
      },
    }],
  });
  const { engine } = await open({ workflows: [print] });
  const run = await engine.start(print);
  await assert.rejects(performNextStep(run), Jammed);
  await runIterations(run, { count: 1 });
  await speedrunWorkflow(run);
  assert.deepEqual(seen, [1, 2, 2]);
  assert.deepEqual((await run.history()).map((one) => one.outcome), [
    "reattempted",
    "continued",
    "success",
  ]);
});

behaviour(
  "EXC-06 previousError is the error of the attempt before, and of no other",
  async (world) => {
    const seen: (PreviousError | null)[] = [];
    const print = workflow({
      name: "print",
      onException: policy("reattempt"),
      steps: [
        {
          name: "page",
          run: ({ attempt, previousError, reattempt }) => {
            seen.push(previousError);
            if (attempt === 1) throw new Jammed("the paper");
            if (attempt === 2) throw new RangeError("no toner");
            if (attempt === 3) reattempt();
          },
        },
        { name: "staple", run: ({ previousError }) => void seen.push(previousError) },
      ],
    });
    const { engine, clock } = await world.engine({ workflows: [print] });
    await engine.start(print);
    await clock.tick("1 minute");
    assert.deepEqual(seen, [
      null,
      { class: "Jammed", message: "the paper" },
      { class: "RangeError", message: "no toner" },
      null,
      null,
    ]);
  },
);

behaviour("EXT-10 after a resume the body knows why it was paused", async ({ engine: open }) => {
  const seen: [number, PreviousError | null][] = [];
  const print = workflow({
    name: "print",
    steps: [{
      name: "page",
      run: ({ attempt, previousError }) => {
        seen.push([attempt, previousError]);
        if (seen.length === 1) throw new Jammed("the paper");
      },
    }],
  });
  const { engine } = await open({ workflows: [print] });
  const { run } = await startAndDeliver(engine, print);
  assert.equal(run.state, "paused");
  await run.resume();
  await performNextStep(run);
  assert.deepEqual(seen, [[1, null], [1, { class: "Jammed", message: "the paper" }]]);
});

behaviour(
  "CND-11 conditions, waits and handlers see attempt and previousError too",
  async (world) => {
    const seen: Record<string, unknown[]> = { skipIf: [], handler: [] };
    const print = workflow({
      name: "print",
      steps: [{
        name: "page",
        skipIf: ({ attempt, previousError }) => {
          seen.skipIf?.push([attempt, previousError?.message ?? null]);
          return false;
        },
        onException: ({ attempt, previousError, reattempt }) => {
          seen.handler?.push([attempt, previousError?.message ?? null]);
          if (attempt < 3) reattempt();
        },
        run: ({ attempt }) => {
          throw new Jammed(`jam ${attempt}`);
        },
      }],
    });
    const { engine, clock } = await world.engine({ workflows: [print] });
    await engine.start(print);
    await clock.tick("1 minute");
    const expected = [[1, null], [2, "jam 1"], [3, "jam 2"]];
    assert.deepEqual(seen, { skipIf: expected, handler: expected });
  },
);

behaviour(
  "EXE-25 the records in the context are read-only, and the id is the idempotency key",
  async (world) => {
    const keys: string[] = [];
    const readers = hero("Reader", { load: (id: string) => ({ id }) });
    const print = workflow({
      name: "print",
      hero: readers,
      onException: policy("reattempt"),
      steps: [{
        name: "page",
        run: ({ workflow, execution, attempt }) => {
          keys.push(execution.id);
          assert.throws(() => void ((workflow as { name: string }).name = "other"), TypeError);
          assert.throws(() => void ((execution as { attempt: number }).attempt = 7), TypeError);
          assert.deepEqual([workflow.heroType, workflow.heroId], ["Reader", "ann"]);
          if (attempt === 1) throw new Jammed("the paper");
        },
      }],
    });
    const { engine, clock } = await world.engine({ workflows: [print] });
    const run = await engine.start(print, { hero: "ann" });
    const first = await current(run);
    await clock.tick("1 minute");
    assert.equal((await run.reload()).state, "finished");
    assert.deepEqual(keys, [first.id, (await executionAt(run, 1)).id]);
    assert.equal(new Set(keys).size, 2, "each attempt has a key of its own");
  },
);

behaviour(
  "a context answers also through a proxy and in an object that inherits from it",
  async ({ engine: open }) => {
    const seen: unknown[] = [];
    const print = workflow({
      name: "print",
      steps: [{
        name: "page",
        run(context) {
          for (const one of [new Proxy(context, {}), Object.create(context), { ...context }]) {
            seen.push([one.workflow.name, one.execution.stepName, one.signal.aborted]);
          }
        },
      }],
    });
    const { engine } = await open({ workflows: [print] });
    await speedrunWorkflow(await engine.start(print));
    assert.deepEqual(seen, Array(3).fill(["print", "page", false]));
  },
);
