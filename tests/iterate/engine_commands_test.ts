/** Pauses, cancels and conditions around a walk on a real engine. */

import assert from "node:assert/strict";
import { hero, InvalidStateError, workflow } from "../../mod.ts";
import { performNextStep, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { createGate } from "../run/_gate.ts";
import { current, executionAt, storyOf } from "../run/_story.ts";
import { importing, range } from "./_chain.ts";

behaviour(
  "RES-25 RES-26 a pause from outside stops the walk at the next checkpoint, and a resume goes on there",
  async (world) => {
    const done: number[] = [];
    const gate = createGate();
    const definition = importing(({ iter }) =>
      iter.over(range(5), async (item) => {
        done.push(item);
        if (item === 2) await gate.pass();
      })
    );
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    const handling = engine.handle((await current(run)).id);
    await gate.arrived;
    await run.pause();
    gate.open();
    await handling;
    assert.equal((await run.reload()).state, "paused");
    assert.deepEqual(await storyOf(run), ["rows: completed/workflow_paused (operator)"]);
    const stopped = await executionAt(run, 0);
    assert.deepEqual([stopped.cursor, done], [3, [0, 1, 2]]);
    assert.equal(await run.currentExecution(), null);

    await run.resume();
    const successor = await current(run);
    assert.deepEqual([successor.continuesFromId, successor.cursor], [stopped.id, 3]);
    await speedrunWorkflow(run);
    assert.deepEqual(done, range(5));
    assert.equal(run.state, "finished");
  },
);

behaviour(
  "RES-25 checkpointEvery does not delay a pause, and the exact cursor is kept",
  async (world) => {
    const done: number[] = [];
    const gate = createGate();
    const definition = importing(({ iter }) =>
      iter.over(range(500), async (item) => {
        done.push(item);
        if (item === 7) await gate.pass();
      }, { checkpointEvery: { items: 100 } })
    );
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    const handling = engine.handle((await current(run)).id);
    await gate.arrived;
    assert.equal((await current(run)).cursor, null, "nothing was stored yet");
    await run.pause();
    gate.open();
    await handling;
    assert.deepEqual(done, range(8));
    assert.equal((await executionAt(run, 0)).cursor, 8);
    await run.resume();
    await speedrunWorkflow(run);
    assert.deepEqual(done, range(500));
  },
);

behaviour(
  "RES-27 D59 a cancel from outside stops the walk at the next checkpoint for good",
  async (world) => {
    const done: number[] = [];
    const gate = createGate();
    const definition = importing(({ iter }) =>
      iter.over(range(5), async (item) => {
        done.push(item);
        if (item === 2) await gate.pass();
      })
    );
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    const handling = engine.handle((await current(run)).id);
    await gate.arrived;
    await run.cancel();
    gate.open();
    await handling;
    assert.equal((await run.reload()).state, "canceled");
    assert.deepEqual(await storyOf(run), ["rows: canceled/canceled (operator)"]);
    assert.equal((await executionAt(run, 0)).cursor, 3);
    assert.deepEqual(done, [0, 1, 2]);
    await assert.rejects(run.resume(), InvalidStateError);
  },
);

behaviour(
  "RES-26 a pause during the last item lets the step complete, and the resume takes the next one",
  async (world) => {
    const done: number[] = [];
    const gate = createGate();
    const definition = importing(({ iter }) =>
      iter.over(range(3), async (item) => {
        done.push(item);
        if (item === 2) await gate.pass();
      })
    );
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    const handling = engine.handle((await current(run)).id);
    await gate.arrived;
    await run.pause();
    gate.open();
    await handling;
    await run.reload();
    assert.deepEqual([run.state, run.nextStepName], ["paused", "report"]);
    assert.deepEqual(await storyOf(run), ["rows: completed/success"]);
    await run.resume();
    await speedrunWorkflow(run);
    assert.deepEqual([done, run.state], [[0, 1, 2], "finished"]);
  },
);

behaviour(
  "RES-28 D10 pause() inside a walk keeps the cursor, and the resume continues from it",
  async (world) => {
    const done: number[] = [];
    const definition = importing(({ iter, pause }) =>
      iter.over(range(5), (item) => {
        done.push(item);
        if (item === 2 && !iter.resumed) pause();
      })
    );
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    const paused = await performNextStep(run);
    assert.deepEqual([paused?.state, paused?.outcome, paused?.cause, paused?.cursor], [
      "completed",
      "workflow_paused",
      "flow_control",
      2,
    ]);
    assert.equal(run.state, "paused");
    await run.resume();
    assert.equal((await current(run)).continuesFromId, paused?.id);
    await speedrunWorkflow(run);
    assert.deepEqual(done, [0, 1, 2, 2, 3, 4]);
  },
);

behaviour(
  "RES-29 cancel(), skip() and finish() inside a walk end it as they end a plain step",
  async (world) => {
    const ends = {
      cancel: ["canceled", ["rows: canceled/canceled (flow_control)"]],
      skip: ["finished", ["rows: skipped/skipped (flow_control)", "report: completed/success"]],
      finish: ["finished", ["rows: completed/success (flow_control)"]],
    } as const;
    for (const [action, [state, story]] of Object.entries(ends)) {
      const definition = importing((context) =>
        context.iter.over(range(5), (item) => {
          if (item === 2) context[action as keyof typeof ends]();
        })
      );
      const { engine } = await world.engine({ workflows: [definition] });
      const run = await speedrunWorkflow(await engine.start(definition));
      assert.equal(run.state, state, action);
      assert.deepEqual(await storyOf(run), story);
    }
  },
);

behaviour(
  "RES-41 D6 skipIf and cancelIf are asked again before every chunk",
  async (world) => {
    for (
      const [option, state, last] of [
        ["skipIf", "ready", "rows: skipped/skipped (condition)"],
        ["cancelIf", "canceled", "rows: canceled/canceled (condition)"],
      ] as const
    ) {
      const done: number[] = [];
      const asked: number[] = [];
      const enough = (): boolean => {
        asked.push(done.length);
        return done.length >= 4;
      };
      const definition = workflow({
        name: "import",
        ...(option === "cancelIf" ? { cancelIf: enough } : {}),
        steps: [
          {
            name: "rows",
            resumable: true,
            maxIterations: 2,
            ...(option === "skipIf" ? { skipIf: enough } : {}),
            run: ({ iter }) => iter.over(range(9), (item) => void done.push(item)),
          },
          { name: "report", wait: "1 day", run() {} },
        ],
      });
      const { engine } = await world.engine({ workflows: [definition] });
      const run = await engine.start(definition);
      for (let chunk = 0; chunk < 3; chunk++) await performNextStep(run);
      assert.deepEqual(done, range(4));
      assert.deepEqual(asked, [0, 2, 4]);
      assert.equal(run.state, state);
      const story = (await storyOf(run)).filter((line) => line.startsWith("rows"));
      assert.deepEqual(story, [
        "rows: completed/continued (interrupt)",
        "rows: completed/continued (interrupt)",
        last,
      ]);
    }
  },
);

behaviour("RES-42 a hero who is gone before a continuation ends the walk", async (world) => {
  const users = new Map([["7", { name: "Ada" }]]);
  const names: string[] = [];
  const definition = workflow({
    name: "import",
    hero: hero("User", { load: (id: string) => users.get(id) }),
    steps: [{
      name: "rows",
      resumable: true,
      maxIterations: 1,
      run: ({ iter, hero }) => iter.over(range(5), () => void names.push(hero.name)),
    }],
  });
  const { engine } = await world.engine({ workflows: [definition] });
  const run = await engine.start(definition, { hero: "7" });
  await performNextStep(run);
  users.set("7", { name: "Grace" });
  await performNextStep(run);
  users.delete("7");
  await performNextStep(run);
  assert.deepEqual(names, ["Ada", "Grace"], "the hero is loaded for every chunk");
  assert.equal(run.state, "canceled");
  const last = await executionAt(run, -1);
  assert.deepEqual([last.state, last.cause, last.cursor], ["canceled", "condition", 2]);
});
