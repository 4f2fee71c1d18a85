/** Progress of a walk on a real engine: stored, heard of, and estimated over its chain. */

import assert from "node:assert/strict";
import { type ExecutionRecord, InvalidInputError, progressEstimate } from "../../mod.ts";
import { timeline } from "../../src/cli/timeline.ts";
import { performNextStep, runIterations, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { createGate } from "../run/_gate.ts";
import { current, executionAt } from "../run/_story.ts";
import { chainOf, importing, range } from "./_chain.ts";

behaviour(
  "RES-04 progress is stored with the next checkpoint, seen while the body runs, and heard of then",
  async (world) => {
    const gate = createGate();
    const definition = importing(async ({ iter }) => {
      iter.progress(1, 4, "first page");
      iter.progress(2, 4, "second page");
      await iter.set("b");
      iter.progress(3, 4);
      await gate.pass();
      await iter.set("c");
      iter.progress(4);
    });
    const { engine, clock } = await world.engine({ workflows: [definition] });
    const heard: unknown[] = [];
    engine.events.on("iteration", ({ event, stepName, durationMs, detail }) => {
      if (event === "progress") heard.push([stepName, durationMs, detail.cursor, detail.progress]);
    });
    const run = await engine.start(definition);
    const running = performNextStep(run);
    await gate.arrived;
    const second = { done: 2, total: 4, message: "second page" };
    assert.deepEqual((await current(run)).progress, second);
    clock.travelTo(clock.now() + 5_000);
    gate.open();
    const rows = await running;
    const last = { done: 4, total: null, message: null };
    assert.deepEqual(rows?.progress, last, "what no checkpoint has stored is stored at the end");
    assert.deepEqual((await executionAt(run, 0)).progress, last);
    assert.deepEqual(heard, [
      ["rows", 0, "b", second],
      ["rows", 5_000, "c", { done: 3, total: 4, message: null }],
      ["rows", 5_000, "c", last],
    ]);
  },
);

behaviour(
  "RES-34 progress stays on the row of a chunk that failed, was interrupted or was paused",
  async (world) => {
    for (const end of ["fails", "suspends", "pauses"]) {
      const definition = importing(({ iter, suspend, pause }) =>
        iter.over(range(5), (item) => {
          iter.progress(item + 1, 5);
          if (item !== 2) return;
          if (end === "fails") throw new Error("no");
          if (end === "suspends") suspend();
          pause();
        }, { checkpointEvery: { items: 10 } })
      );
      const { engine } = await world.engine({ workflows: [definition] });
      const run = await engine.start(definition);
      await performNextStep(run).catch((error) => assert.match(error.message, /no/));
      const rows = await executionAt(run, 0);
      assert.deepEqual([rows.cursor, rows.progress?.done], [2, 3], end);
    }
  },
);

behaviour("progress that is no number, or whose message is no text, is refused", async (world) => {
  const bad: unknown[][] = [[NaN], ["1"], [1, Infinity], [1, 2, 3], [undefined]];
  for (const args of bad) {
    const definition = importing(({ iter }) => iter.progress(...args as [number]));
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    await assert.rejects(performNextStep(run), InvalidInputError);
    assert.equal((await executionAt(run, 0)).progress, null);
  }
});

behaviour(
  "JIT-42 the rate counts the time in which bodies ran, over the whole chain, and tells when it ends",
  async (world) => {
    let work = (): void => {};
    const definition = importing(({ iter }) =>
      iter.over(range(100), (item) => {
        work();
        iter.progress(item + 1, 100);
      })
    );
    const { engine, clock } = await world.engine({ workflows: [definition] });
    work = () => clock.travelTo(clock.now() + 500);
    const estimate = async () => progressEstimate(await run.history(), new Date(clock.now()));
    const run = await engine.start(definition);
    assert.equal(await estimate(), null, "nothing was noted yet");
    await runIterations(run, { count: 10 });
    clock.travelTo(clock.now() + 3_600_000);
    assert.deepEqual(await estimate(), {
      done: 10,
      total: 100,
      message: null,
      ranMs: 5_000,
      ratePerSecond: 2,
      estimatedEndAt: new Date(clock.now() + 45_000),
    }, "the hour between the chunks does not count");

    await runIterations(run, { count: 20 });
    await run.pause();
    const paused = await estimate();
    assert.deepEqual([paused?.done, paused?.ranMs, paused?.ratePerSecond], [30, 15_000, 2]);
    await run.resume();
    assert.deepEqual((await estimate())?.estimatedEndAt, new Date(clock.now() + 35_000));
    const text = timeline(run, await run.history(), { now: new Date(clock.now()) });
    assert.match(text, /30 % · 30 of 100 · 2\.0 per second · about 35\.0 s left/);

    await speedrunWorkflow(run);
    const chain = await chainOf(run);
    const ended = progressEstimate(chain, new Date(clock.now() + 1_000));
    assert.deepEqual([ended?.done, ended?.ratePerSecond], [100, 2]);
    assert.deepEqual(ended?.estimatedEndAt, chain.at(-1)?.finishedAt);
    assert.equal(await estimate(), null, "the last step of the history is another one by now");
  },
);

/** A row as far as the estimate looks at it; times in seconds. */
function row(id: number, what: Partial<ExecutionRecord>): ExecutionRecord {
  return {
    id: String(id),
    continuesFromId: id === 1 ? null : String(id - 1),
    state: "completed",
    outcome: "continued",
    progress: null,
    startedAt: null,
    finishedAt: null,
    scheduledFor: at(0),
    ...what,
  } as ExecutionRecord;
}

function at(seconds: number): Date {
  return new Date(Date.UTC(2026, 0, 1) + 1_000 * seconds);
}

function done(count: number, total: number | null = 100): Pick<ExecutionRecord, "progress"> {
  return { progress: { done: count, total, message: null } };
}

Deno.test("RES-31 after a rewind an estimate counts from the beginning", () => {
  const rows = [
    row(1, { startedAt: at(0), finishedAt: at(10), ...done(80) }),
    row(2, { startedAt: at(10), state: "in_progress", outcome: null, ...done(20) }),
  ];
  const estimate = progressEstimate(rows, at(30));
  assert.deepEqual([estimate?.ranMs, estimate?.ratePerSecond], [20_000, 1]);
  assert.deepEqual(estimate?.estimatedEndAt, at(110));
});

Deno.test("an estimate that waits for its time starts there, and an overdue one starts now", () => {
  const first = row(1, { startedAt: at(0), finishedAt: at(10), ...done(50) });
  for (const [due, start] of [[60, 60], [5, 20]] as const) {
    const next = row(2, { state: "scheduled", outcome: null, scheduledFor: at(due) });
    assert.deepEqual(progressEstimate([first, next], at(20))?.estimatedEndAt, at(start + 10));
  }
});

Deno.test("without a total, a rate or somebody who runs it there is no end to be told", () => {
  const running = { startedAt: at(0), state: "in_progress", outcome: null } as const;
  const cases: [string, ExecutionRecord[], number | null][] = [
    ["no total", [row(1, { ...running, ...done(50, null) })], 5],
    ["nothing done", [row(1, { ...running, ...done(0) })], null],
    ["no time passed", [row(1, { ...running, startedAt: at(10), ...done(5) })], null],
    ["failed", [row(1, { ...running, outcome: "failed", finishedAt: at(10), ...done(50) })], 5],
    ["paused", [row(1, { ...running, outcome: "workflow_paused", ...done(50) })], 5],
    ["beyond all time", [row(1, { ...running, ...done(1e-9, 1e300) })], 1e-10],
  ];
  for (const [what, rows, rate] of cases) {
    const estimate = progressEstimate(rows, at(10));
    assert.deepEqual([estimate?.ratePerSecond, estimate?.estimatedEndAt], [rate, null], what);
  }
  assert.equal(progressEstimate([], at(0)), null);
  assert.equal(progressEstimate([row(1, running)], at(10)), null);
});

Deno.test("more done than there was to do ends now, and a clock that was set back makes no rate", () => {
  const running = { state: "in_progress", outcome: null, ...done(150) } as const;
  const estimate = progressEstimate([row(1, { ...running, startedAt: at(0) })], at(10));
  assert.deepEqual(estimate?.estimatedEndAt, at(10));
  const back = progressEstimate([row(1, { ...running, startedAt: at(20) })], at(10));
  assert.deepEqual([back?.ranMs, back?.ratePerSecond], [0, null]);
});
