/** Chains of executions on a real engine: what their rows say, and what travels along them. */

import assert from "node:assert/strict";
import { type Iter, workflow } from "../../mod.ts";
import {
  assertCursor,
  assertStepHasSuccessor,
  interruptEvery,
  performNextStep,
  speedrunWorkflow,
} from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingQueue } from "../run/_doubles.ts";
import { current, executionAt, storyOf } from "../run/_story.ts";
import { chainOf, importing, range, withWorkers } from "./_chain.ts";

behaviour(
  "RES-01 RES-43 RES-19 P6 an uninterrupted walk does every item in order, and the next step follows",
  async (world) => {
    const done: [string, number][] = [];
    const definition = importing(({ iter }) =>
      iter.over(["a", "b", "c", "d", "e"], (item, index) => void done.push([item, index]))
    );
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await speedrunWorkflow(await engine.start(definition));
    assert.deepEqual(done, [["a", 0], ["b", 1], ["c", 2], ["d", 3], ["e", 4]]);
    assert.deepEqual(await storyOf(run), ["rows: completed/success", "report: completed/success"]);
    const rows = await executionAt(run, 0);
    assert.equal(rows.cursor, null);
    assert.equal(rows.metadata.lastCursor, 5);
  },
);

behaviour(
  "RES-02 RES-03 RES-09 RES-10 TST-10 the first chunk has no cursor, a continuation exactly the stored one",
  async (world) => {
    const seen: unknown[] = [];
    const page = { token: "b2==", at: new Date("2026-03-01T12:00:00.123Z"), seen: [1n, 2n] };
    const definition = importing(async ({ iter }) => {
      seen.push([iter.cursor, iter.resumed, iter.advanced]);
      if (!iter.resumed) await iter.skipTo(page);
      await iter.set("end");
      seen.push([iter.cursor, iter.resumed, iter.advanced]);
    });
    const { engine, clock } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    await assertCursor(run, null);
    const first = await performNextStep(run);
    await assertCursor(run, page);
    await assertStepHasSuccessor(run, "rows");
    const successor = await current(run);
    assert.equal(successor.continuesFromId, first?.id);
    assert.equal(successor.scheduledFor.getTime(), clock.now());
    assert.equal(successor.state, "scheduled");
    await performNextStep(run);
    assert.deepEqual(seen, [[null, false, false], [page, true, false], ["end", true, true]]);
  },
);

behaviour(
  "RES-15 RES-16 RES-18 RES-19 a chain: ordinary states, each chunk linked to the one before, with its own times",
  async (world) => {
    const definition = importing(({ iter }) => iter.over(range(5), () => {}), { maxIterations: 2 });
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    await performNextStep(run);
    const [closed, successor] = await chainOf(run);
    assert.deepEqual([closed?.state, closed?.outcome, closed?.cause, closed?.cursor], [
      "completed",
      "continued",
      "interrupt",
      2,
    ]);
    assert.deepEqual([successor?.stepName, successor?.cursor], ["rows", 2]);
    assert.equal(successor?.continuesFromId, closed?.id);

    await speedrunWorkflow(run);
    const chain = await chainOf(run);
    assert.deepEqual(chain.map(({ state, outcome }) => `${state}/${outcome}`), [
      "completed/continued",
      "completed/continued",
      "completed/success",
    ]);
    assert.deepEqual(chain.map(({ cursor }) => cursor), [2, 4, null]);
    assert.deepEqual(
      chain.map(({ continuesFromId }) => continuesFromId),
      [null, chain[0]?.id, chain[1]?.id],
    );
    for (const { startedAt, completedAt, finishedAt } of chain) {
      assert.ok(startedAt !== null && completedAt !== null);
      assert.deepEqual(finishedAt, completedAt);
    }
  },
);

behaviour("RES-18 each chunk of a chain has its own start and end", async (world) => {
  let work = (): void => {};
  const definition = importing(({ iter }) => iter.over(range(3), () => work()));
  const { engine, clock } = await world.engine({ workflows: [definition] });
  work = () => clock.travelTo(clock.now() + 1_000);
  const run = await engine.start(definition);
  const start = clock.now();
  await interruptEvery(run, 1);
  const times = (await chainOf(run)).map(({ startedAt, finishedAt }) => [
    Number(startedAt) - start,
    Number(finishedAt) - start,
  ]);
  assert.deepEqual(times, [[0, 1_000], [1_000, 2_000], [2_000, 3_000]]);
});

behaviour(
  "RES-17 RES-66 a chunk has one job, with the merged options, delayed only by a wait that was asked for",
  async (world) => {
    const definition = workflow({
      name: "import",
      jobOptions: { queue: "bulk", priority: 7 },
      steps: [
        {
          name: "rows",
          resumable: true,
          jobOptions: { priority: 3 },
          async run({ iter, suspend }) {
            if (iter.cursor === null) await iter.skipTo(1);
            await iter.set(2);
            if (iter.resumed && iter.cursor === 2 && !waited) {
              waited = true;
              suspend({ wait: "1 minute" });
            }
          },
        },
        { name: "report", run() {} },
      ],
    });
    let waited = false;
    const queue = recordingQueue();
    const { engine, clock } = await world.engine({ workflows: [definition], queue });
    const run = await engine.start(definition);
    const jobs = [];
    for (let chunk = 0; chunk < 4; chunk++) {
      const taken = queue.take();
      assert.equal(taken.length, 1, "one job per execution");
      jobs.push(...taken);
      const { id } = await current(run);
      assert.equal(taken[0]?.executionId, id);
      await clock.tick(taken[0] === undefined ? 0 : taken[0].runAt.getTime() - clock.now());
      await engine.handle(id);
    }
    assert.deepEqual(queue.take(), []);
    const start = jobs[0]?.runAt.getTime() ?? 0;
    assert.deepEqual(jobs.map(({ queue, priority, runAt }) => [queue, priority, +runAt - start]), [
      ["bulk", 3, 0],
      ["bulk", 3, 0],
      ["bulk", 3, 60_000],
      ["bulk", 7, 60_000],
    ]);
    assert.equal(new Set(jobs.map(({ executionId }) => executionId)).size, 4);
    assert.equal((await run.reload()).state, "finished");
  },
);

behaviour(
  "RES-63 a resumable body that never touches iter completes like a plain one",
  async (world) => {
    const definition = importing(() => {});
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await speedrunWorkflow(await engine.start(definition));
    const rows = await executionAt(run, 0);
    assert.deepEqual([rows.state, rows.outcome, rows.cursor], ["completed", "success", null]);
    assert.equal("lastCursor" in rows.metadata, false);
  },
);

behaviour(
  "RES-72 RES-73 no empty chunk follows the last item of an array; of other sources one finds nothing",
  async (world) => {
    const walks: [string, (iter: Iter) => Promise<void>, number][] = [
      ["array", (iter) => iter.over(range(4), () => {}), 2],
      ["set", (iter) => iter.over(new Set(range(4)), () => {}), 3],
      ["body", async (iter) => {
        for (let at: number = iter.cursor ?? 0; at < 4; at++) await iter.set(at + 1);
      }, 3],
    ];
    for (const [what, walk, chunks] of walks) {
      const definition = importing(({ iter }) => walk(iter), { maxIterations: 2 });
      const { engine } = await world.engine({ workflows: [definition] });
      const run = await speedrunWorkflow(await engine.start(definition));
      const chain = await chainOf(run);
      assert.equal(chain.length, chunks, what);
      assert.equal(chain.at(-1)?.outcome, "success");
    }
  },
);

behaviour(
  "JIT-42 JIT-43 run time and interruptions add up over the chain, and no interruption is an attempt",
  async (world) => {
    const attempts: number[] = [];
    let failed = false;
    let advance = (): void => {};
    const definition = importing(({ iter, attempt }) => {
      attempts.push(attempt);
      return iter.over(range(6), (item) => {
        advance();
        if (item === 3 && !failed) {
          failed = true;
          throw new Error("once");
        }
      });
    }, { maxIterations: 2, onException: "reattempt" });
    const { engine, clock } = await world.engine({ workflows: [definition] });
    advance = () => clock.travelTo(clock.now() + 500);
    const totals: unknown[] = [];
    engine.events.on("iteration", ({ event, detail }) => {
      if (event === "completed") totals.push([detail.interruptions, detail.totalMs]);
    });
    const run = await engine.start(definition);
    await performNextStep(run);
    await assert.rejects(performNextStep(run), /once/);
    await performNextStep(run);
    await performNextStep(run);
    assert.equal(run.nextStepName, "report");
    // Items 0 and 1, then 2 and a failing 3, then 3 and 4, then 5: seven calls of half a second.
    assert.deepEqual(attempts, [1, 1, 2, 2]);
    assert.deepEqual(totals, [[2, 3_500]]);
    assert.deepEqual(
      (await chainOf(run)).slice(0, -1).map(({ metadata }) => metadata.chain),
      [
        { interruptions: 1, ranMs: 1_000 },
        { interruptions: 1, ranMs: 2_000 },
        { interruptions: 2, ranMs: 3_000 },
      ],
    );
  },
);

behaviour(
  "HOK-09 EXE-01 hooks and body run once per chunk, under any worker, without a round trip through the queue",
  async ({ store }) => {
    const hooked: string[] = [];
    const done: number[] = [];
    const definition = workflow({
      name: "import",
      hooks: {
        beforeStep: ({ execution }) => void hooked.push(`before ${execution.id}`),
        afterStep: ({ execution }) => void hooked.push(`after ${execution.id}`),
      },
      steps: [{
        name: "rows",
        resumable: true,
        maxIterations: 3,
        run: ({ iter }) => iter.over(range(8), (item) => void done.push(item)),
      }],
    });
    const { engine } = await withWorkers(store(), { workflows: [definition] });
    const run = await engine.start(definition);
    const worker = engine.work();
    await worker.idle();
    assert.equal((await run.reload()).state, "finished");
    assert.deepEqual(done, range(8));
    const ids = (await chainOf(run)).map(({ id }) => id);
    assert.equal(ids.length, 3);
    assert.deepEqual(hooked, ids.flatMap((id) => [`before ${id}`, `after ${id}`]));
    await engine.close();
  },
);

behaviour("RES-15 a walk that waited for a signal has it in every chunk", async (world) => {
  const seen: unknown[] = [];
  const definition = workflow({
    name: "import",
    steps: [{
      name: "rows",
      waitFor: "file",
      resumable: true,
      run: ({ iter, event }) => {
        seen.push(event.payload);
        return iter.over(range(3), () => {});
      },
    }],
  });
  const { engine } = await world.engine({ workflows: [definition] });
  const run = await engine.start(definition);
  await run.signal("file", { path: "a.csv" });
  await interruptEvery(run, 1);
  assert.deepEqual(seen, range(3).map(() => ({ path: "a.csv" })));
  assert.equal(run.state, "finished");
});

behaviour("EXT-15 resumeAt() the step of a walk begins it anew", async (world) => {
  const seen: unknown[] = [];
  const definition = importing(async ({ iter, pause }) => {
    seen.push([iter.cursor, iter.resumed]);
    if (seen.length > 1) return;
    await iter.set(5);
    pause();
  });
  const { engine } = await world.engine({ workflows: [definition] });
  const run = await engine.start(definition);
  await performNextStep(run);
  await run.resumeAt("rows");
  await speedrunWorkflow(run);
  assert.deepEqual(seen, [[null, false], [null, false]]);
});
