/** When conditions are asked, which ones, and what they are given. */

import assert from "node:assert/strict";
import { workflow } from "../../mod.ts";
import { performNextStep } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { club } from "./_club.ts";
import { startAndDeliver, storyOf } from "./_story.ts";

behaviour("CND-11 cancelIf is asked before every execution and never in between", async (world) => {
  const asked: string[] = [];
  let flaky = true;
  const sync = workflow({
    name: "sync",
    cancelIf: ({ execution }) => {
      asked.push(execution.stepName);
      return false;
    },
    steps: [
      {
        name: "fetch",
        onException: "reattempt",
        run: ({ attempt, reattempt }) => {
          if (flaky) {
            flaky = false;
            throw new Error("the line is busy");
          }
          if (attempt === 2) reattempt();
        },
      },
      {
        name: "import",
        wait: "3 days",
        resumable: true,
        maxIterations: 1,
        run: ({ iter }) => iter.over(["a", "b"], () => {}),
      },
    ],
  });
  const { engine, clock } = await world.engine({ workflows: [sync] });
  const run = await engine.start(sync);
  await clock.tick("1 minute");
  assert.deepEqual(asked, ["fetch", "fetch", "fetch"]);
  await clock.tick("2 days");
  assert.deepEqual(asked, ["fetch", "fetch", "fetch"]);
  await clock.tick("2 days");
  assert.equal((await run.reload()).state, "finished");
  const imports = (await run.history()).filter((one) => one.stepName === "import");
  assert.ok(imports.length > 1, "the import was to run in several executions");
  assert.deepEqual(asked.slice(3), imports.map(() => "import"));
});

behaviour("CND-11 a condition that turns true cancels a reattempt", async ({ engine: open }) => {
  let closed = false;
  const sync = workflow({
    name: "sync",
    cancelIf: () => closed,
    steps: [{ name: "fetch", run: ({ reattempt }) => reattempt({ wait: "1 hour" }) }],
  });
  const { engine, clock } = await open({ workflows: [sync] });
  const run = await engine.start(sync);
  await clock.tick("1 minute");
  closed = true;
  await clock.tick("1 hour");
  assert.equal((await run.reload()).state, "canceled");
  assert.deepEqual(await storyOf(run), [
    "fetch: completed/reattempted (flow_control)",
    "fetch: canceled/canceled (condition)",
  ]);
});

behaviour(
  "CND-13 conditions of a base and of what extends it all apply",
  async ({ engine: open }) => {
    const asked: string[] = [];
    let which = "";
    const holds = (name: string) => () => {
      asked.push(name);
      return which === name;
    };
    const base = workflow({
      name: "base",
      cancelIf: holds("base"),
      steps: [{ name: "only", run: () => {} }],
    });
    const derived = workflow({ name: "derived", extends: base, cancelIf: [holds("derived")] });
    const { engine } = await open({ workflows: [base, derived] });
    const ends: string[] = [];
    for (which of ["base", "derived", "neither"]) {
      ends.push((await startAndDeliver(engine, derived)).run.state);
    }
    assert.deepEqual(ends, ["canceled", "canceled", "finished"]);
    assert.deepEqual(asked, ["base", "base", "derived", "base", "derived"]);
    which = "derived";
    assert.equal((await startAndDeliver(engine, base)).run.state, "finished");
  },
);

behaviour("CND-14 a condition sees the rows it is about and no flow function", async (world) => {
  let seen: Record<string, unknown> = {};
  const { members } = club();
  const look = workflow({
    name: "look",
    hero: members,
    steps: [{
      name: "only",
      skipIf: (context) => {
        seen = { ...context };
        return true;
      },
      run: () => {},
    }],
  });
  const { engine } = await world.engine({ workflows: [look] });
  const run = await engine.start(look, { hero: "ann", input: { from: "web" } });
  const execution = await performNextStep(run);
  assert.equal((seen.workflow as { id: string }).id, run.id);
  assert.equal((seen.execution as { id: string }).id, execution?.id);
  assert.deepEqual(seen.input, { from: "web" });
  assert.equal(seen.attempt, 1);
  assert.equal(seen.previousError, null);
  assert.ok(Object.isFrozen(seen.workflow));
  assert.ok(Object.isFrozen(seen.execution));
  for (const name of ["cancel", "pause", "skip", "reattempt", "finish", "suspend", "iter"]) {
    assert.equal(name in seen, false, `${name} is not for conditions`);
  }
});

behaviour("CND-23 a condition that returns a promise is awaited", async ({ engine: open }) => {
  const later = async (value: boolean): Promise<boolean> => {
    await new Promise<void>((resolve) => queueMicrotask(resolve));
    return value;
  };
  const ran: string[] = [];
  let closed = false;
  const patient = workflow({
    name: "patient",
    cancelIf: () => later(closed),
    steps: [
      { name: "skipped", skipIf: () => later(true), run: () => ran.push("skipped") },
      { name: "kept", skipIf: () => later(false), run: () => ran.push("kept") },
      { name: "never", run: () => ran.push("never") },
    ],
  });
  const { engine } = await open({ workflows: [patient] });
  const run = await engine.start(patient);
  await performNextStep(run);
  await performNextStep(run);
  closed = true;
  await performNextStep(run);
  assert.deepEqual(ran, ["kept"]);
  assert.deepEqual(await storyOf(run), [
    "skipped: skipped/skipped (condition)",
    "kept: completed/success",
    "never: canceled/canceled (condition)",
  ]);
});
