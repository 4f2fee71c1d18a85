/** The limits of a chunk on a real engine, and of a chain that does not get on. */

import assert from "node:assert/strict";
import { CursorError, type Iter, StepConfigurationError, workflow } from "../../mod.ts";
import { interruptEvery, performNextStep, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { current, executionAt, recordReports, storyOf } from "../run/_story.ts";
import { chainOf, importing, range, withWorkers } from "./_chain.ts";

behaviour(
  "RES-20 D5 maxIterations counts the checkpoints of one chunk, and the next has its own allowance",
  async (world) => {
    const chunks: number[][] = [];
    const definition = importing(({ iter }) => {
      const chunk: number[] = [];
      chunks.push(chunk);
      return iter.over(range(7), (item) => void chunk.push(item));
    }, { maxIterations: 3 });
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await speedrunWorkflow(await engine.start(definition));
    assert.deepEqual(chunks, [[0, 1, 2], [3, 4, 5], [6]]);
    const reasons = (await chainOf(run)).map(({ metadata }) => metadata.interruptReason);
    assert.deepEqual(reasons, ["max_iterations", "max_iterations", undefined]);
  },
);

behaviour(
  "RES-20 set(), advance() and checkpoint() of a body's own loop count alike",
  async (world) => {
    const definition = importing(async ({ iter }) => {
      if (!iter.resumed) {
        await iter.set(0);
        await iter.advance();
        await iter.checkpoint();
        assert.fail("the third checkpoint interrupts");
      }
    }, { maxIterations: 3 });
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    const chunk = await performNextStep(run);
    assert.deepEqual([chunk?.outcome, chunk?.cursor], ["continued", 1]);
  },
);

behaviour(
  "RES-21 JIT-41 maxRuntime interrupts past its limit, not at it, and only at a checkpoint",
  async (world) => {
    const done: number[] = [];
    let work = (): void => {};
    const definition = importing(({ iter }) =>
      iter.over(range(8), (item) => {
        work();
        done.push(item);
      }), { maxRuntime: "3 seconds" });
    const { engine, clock } = await world.engine({ workflows: [definition] });
    work = () => clock.travelTo(clock.now() + 1_000);
    const run = await engine.start(definition);
    const first = await performNextStep(run);
    // After the third item exactly three seconds have passed: not more, so the fourth is done.
    assert.deepEqual(done, [0, 1, 2, 3]);
    assert.equal(first?.metadata.interruptReason, "max_runtime");
    work = () => clock.travelTo(clock.now() + 60_000);
    const second = await performNextStep(run);
    assert.deepEqual(done, [0, 1, 2, 3, 4], "the second chunk's time counts from its own start");
    assert.equal(second?.metadata.interruptReason, "max_runtime");
    work = () => {};
    await speedrunWorkflow(run);
    assert.deepEqual(done, range(8));
  },
);

behaviour(
  "RES-22 RES-24 without limits a long walk is one chunk, and so is a body that makes no checkpoint",
  async (world) => {
    let work = (): void => {};
    for (const limits of [{}, { maxIterations: 1, maxRuntime: 1 }]) {
      const isLimited = "maxIterations" in limits;
      const definition = importing(async ({ iter }) => {
        if (!isLimited) return await iter.over(range(1_000), () => work());
        for (const _ of range(1_000)) work();
      }, limits);
      const { engine, clock } = await world.engine({ workflows: [definition] });
      work = () => clock.travelTo(clock.now() + 60_000);
      const run = await speedrunWorkflow(await engine.start(definition));
      assert.deepEqual((await storyOf(run))[0], "rows: completed/success");
    }
  },
);

behaviour(
  "JIT-40 of the engine's maxRuntime and the step's own the shorter applies",
  async (world) => {
    const chunksWith = async (engineMs: number | null, stepMs: number | null): Promise<number> => {
      let work = (): void => {};
      const definition = importing(
        ({ iter }) => iter.over(range(12), () => work()),
        stepMs === null ? {} : { maxRuntime: stepMs },
      );
      const { engine, clock } = await world.engine({
        workflows: [definition],
        ...(engineMs === null ? {} : { maxRuntime: engineMs }),
      });
      work = () => clock.travelTo(clock.now() + 1_000);
      const run = await speedrunWorkflow(await engine.start(definition));
      return (await chainOf(run)).length;
    };
    assert.equal(await chunksWith(null, null), 1);
    assert.equal(await chunksWith(null, 2_000), 4, "three items a chunk");
    assert.equal(await chunksWith(5_000, null), 2, "six items a chunk");
    assert.equal(await chunksWith(5_000, 2_000), 4);
    assert.equal(await chunksWith(2_000, 5_000), 4, "a step can only lower it");
  },
);

behaviour(
  "RES-70 D49 a continuation is due at once, or after the engine's resumeDelay; the body's own wait wins",
  async (world) => {
    for (const resumeDelay of [0, "5 seconds"]) {
      const delayMs = resumeDelay === 0 ? 0 : 5_000;
      const definition = importing(async ({ iter, suspend }) => {
        if (iter.cursor === null) await iter.set(1);
        if (iter.cursor === 1) await iter.skipTo(2);
        if (iter.cursor === 2) await iter.skipTo(3, { wait: "1 hour" });
        if (iter.cursor === 3 && !suspended) {
          suspended = true;
          suspend({ wait: 100 });
        }
      }, { maxIterations: 1 });
      let suspended = false;
      const { engine, clock } = await world.engine({ workflows: [definition], resumeDelay });
      const run = await engine.start(definition);
      const waits: number[] = [];
      while (run.nextStepName === "rows") {
        const before = clock.now();
        await performNextStep(run);
        waits.push((await current(run)).scheduledFor.getTime() - before);
      }
      assert.deepEqual(waits, [delayMs, 0, 3_600_000, 100, 0]);
    }
  },
);

behaviour(
  "U18 a chain whose cursor stands still is paused with an error that is stored, heard of and reported",
  async (world) => {
    const definition = importing(async ({ iter, suspend }) => {
      await iter.set("here");
      suspend();
    });
    const { reportError, errors, contexts } = recordReports();
    const { engine } = await world.engine({
      workflows: [definition],
      maxUnchangedContinuations: 3,
      reportError,
    });
    const heard: Error[] = [];
    engine.events.on("error", ({ error }) => void heard.push(error));
    const run = await engine.start(definition);
    // The first chunk moves the cursor, three more may leave it where it is, the next may not.
    for (let chunk = 0; chunk < 4; chunk++) await performNextStep(run);
    assert.deepEqual([run.state, errors.length], ["ready", 0]);
    await assert.rejects(performNextStep(run), CursorError);
    assert.equal(run.state, "paused");
    const failed = await executionAt(run, -1);
    assert.deepEqual([failed.state, failed.outcome, failed.cause], [
      "failed",
      "failed",
      "interrupt",
    ]);
    assert.deepEqual([failed.errorClass, failed.cursor], ["CursorError", "here"]);
    assert.match(failed.errorMessage ?? "", /"rows": 4 executions in a row .*; set the cursor/);
    assert.equal(errors.length, 1);
    assert.ok(errors[0] instanceof CursorError);
    assert.equal(errors[0].message, failed.errorMessage);
    assert.deepEqual(heard, errors);
    assert.deepEqual([contexts[0]?.executionId, contexts[0]?.stepName], [failed.id, "rows"]);

    await run.resume();
    assert.equal((await current(run)).cursor, "here");
    for (let chunk = 0; chunk < 3; chunk++) await performNextStep(run);
    assert.equal(run.state, "ready", "a resume counts from nothing");
  },
);

behaviour(
  "U18 a worker pauses a chain without progress too, and does not spin for ever",
  async ({ store }) => {
    let bodies = 0;
    const definition = importing(({ suspend }) => {
      bodies++;
      suspend();
    });
    const { reportError, errors } = recordReports();
    const { engine } = await withWorkers(store(), { workflows: [definition], reportError });
    const run = await engine.start(definition);
    await engine.work().idle();
    assert.equal((await run.reload()).state, "paused");
    assert.equal(bodies, 101, "the default: a hundred continuations without progress");
    assert.equal(errors.length, 1);
    await engine.close();
  },
);

behaviour(
  "U18 JIT-04 a wait, progress, a source without cursors and maxUnchangedContinuations: null are no stall",
  async (world) => {
    const limit = { maxUnchangedContinuations: 2 };
    const queue = range(12);
    const walks: [string, (iter: Iter) => unknown, Record<string, unknown>, number][] = [
      ["a wait", (iter) => iter.skipTo("here", { wait: 1 }), limit, 12],
      ["progress", (iter) => iter.advance({ from: iter.cursor ?? 0 }), limit, 12],
      ["no limit", (iter) => iter.set("here"), { maxUnchangedContinuations: null }, 12],
      [
        "no cursors",
        (iter) => iter.overPairs(() => queue.map((item) => [item, null]), () => queue.shift()),
        limit,
        12,
      ],
    ];
    for (const [what, walk, options, chunks] of walks) {
      const definition = importing(async ({ iter }) => void await walk(iter), { maxIterations: 1 });
      const { engine } = await world.engine({ workflows: [definition], ...options });
      const run = await engine.start(definition);
      for (let chunk = 0; chunk < chunks; chunk++) await performNextStep(run);
      assert.deepEqual([run.state, run.nextStepName], ["ready", "rows"], what);
    }
    assert.deepEqual(queue, []);
  },
);

behaviour("U18 what others ask for says nothing about the step's progress", async (world) => {
  let stopFromOutside = (): Promise<unknown> => Promise.reject(new Error("too early"));
  const definition = importing(async ({ iter }) => {
    await stopFromOutside();
    await iter.set("here");
    assert.fail("always stopped before");
  });
  const { engine } = await world.engine({
    workflows: [definition],
    maxUnchangedContinuations: 1,
  });
  const run = await engine.start(definition);
  stopFromOutside = () => run.pause();
  for (let stops = 0; stops < 5; stops++) {
    await performNextStep(run);
    assert.equal(run.state, "paused");
    assert.equal((await executionAt(run, -1)).outcome, "workflow_paused");
    await run.resume();
  }
});

behaviour(
  "RES-67 there is no limit of resumptions: a chain that gets on may have any number of chunks",
  async (world) => {
    const done: number[] = [];
    const definition = importing(({ iter }) =>
      iter.over(range(150), (item) => void done.push(item))
    );
    const { engine } = await world.engine({ workflows: [definition] });
    const chunks = await interruptEvery(await engine.start(definition), 1);
    assert.equal(chunks.length, 150);
    assert.deepEqual(done, range(150));
  },
);

behaviour("limits that are none are refused before anything runs", async (world) => {
  for (const limits of [{ maxIterations: 0 }, { maxIterations: 1.5 }, { maxRuntime: 0 }]) {
    assert.throws(() => importing(() => {}, limits), StepConfigurationError);
  }
  for (
    const options of [{ maxRuntime: 0 }, { maxUnchangedContinuations: 0 }, { resumeDelay: -1 }]
  ) {
    await assert.rejects(
      world.engine({ workflows: [workflow({ name: "a", steps: [] })], ...options }),
    );
  }
});
