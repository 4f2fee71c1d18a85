/** Errors in a walk on a real engine: the cursor is kept whatever the policy says. */

import assert from "node:assert/strict";
import { policy, workflow } from "../../mod.ts";
import { performNextStep, runIterations, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import {
  current,
  deliver,
  executionAt,
  recordReports,
  rejectsWith,
  storyOf,
} from "../run/_story.ts";
import { type Body, chainOf, importing, range } from "./_chain.ts";

/** A walk over ten rows that fails where it is told to, as often as it is told to. */
function failingWalk(failures: Map<number, number>): { run: Body; done: number[]; error: Error } {
  const done: number[] = [];
  const error = new TypeError("unreadable row");
  const run: Body = ({ iter }) =>
    iter.over(range(10), (item) => {
      const left = failures.get(item) ?? 0;
      failures.set(item, left - 1);
      if (left > 0) throw error;
      done.push(item);
    });
  return { run, done, error };
}

behaviour(
  "RES-34 RES-35 RES-68 D7 D50 JIT-02 under pause the execution has failed at its cursor, and a resume redoes only the item in hand",
  async (world) => {
    const { run: body, done, error } = failingWalk(new Map([[4, 1]]));
    const definition = importing(body);
    const { reportError, errors } = recordReports();
    const { engine } = await world.engine({ workflows: [definition], reportError });
    const run = await engine.start(definition);
    await rejectsWith(performNextStep(run), error);
    assert.equal(run.state, "paused", "progress alone does not make it go on by itself");
    const failed = await executionAt(run, 0);
    assert.deepEqual([failed.state, failed.outcome, failed.errorClass, failed.cursor], [
      "failed",
      "failed",
      "TypeError",
      4,
    ]);
    assert.deepEqual(errors, [error]);
    assert.deepEqual(done, range(4));

    await run.resume();
    const successor = await current(run);
    assert.deepEqual([successor.continuesFromId, successor.cursor], [failed.id, 4]);
    await speedrunWorkflow(run);
    assert.deepEqual(done, range(10));
    assert.equal(run.state, "finished");
  },
);

behaviour(
  "RES-69 D50 an error before any progress is the policy's too, and the cursor stays what it was",
  async (world) => {
    for (const onException of ["pause", "reattempt"] as const) {
      const { run: body, done } = failingWalk(new Map([[0, 1]]));
      const definition = importing(body, { onException });
      const { engine } = await world.engine({ workflows: [definition] });
      const run = await engine.start(definition);
      await assert.rejects(performNextStep(run), /unreadable row/);
      assert.equal((await executionAt(run, 0)).cursor, null);
      assert.equal(run.state, onException === "pause" ? "paused" : "ready");
      if (run.state === "paused") await run.resume();
      await speedrunWorkflow(run);
      assert.deepEqual(done, range(10));
    }
  },
);

behaviour(
  "RES-36 under reattempt a successor with the cursor waits as the policy says",
  async (world) => {
    const { run: body, done } = failingWalk(new Map([[4, 1]]));
    const definition = importing(body, {
      onException: [policy("reattempt", { wait: "10 minutes" })],
    });
    const { engine, clock } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    await assert.rejects(performNextStep(run), /unreadable row/);
    const [failed, successor] = await chainOf(run);
    assert.deepEqual([failed?.state, failed?.outcome, failed?.cause, failed?.cursor], [
      "completed",
      "reattempted",
      "exception",
      4,
    ]);
    assert.deepEqual([successor?.state, successor?.cursor, successor?.continuesFromId], [
      "scheduled",
      4,
      failed?.id,
    ]);
    assert.equal(Number(successor?.scheduledFor), clock.now() + 600_000);
    await clock.tick("10 minutes");
    assert.deepEqual(done, range(10));
    assert.equal((await run.reload()).state, "finished");
  },
);

behaviour(
  "RES-37 RES-40 under skip and cancel, of the step or of the workflow, the walk ends, its cursor on its row",
  async (world) => {
    const ends = {
      skip: ["ready", "rows: skipped/skipped (exception)"],
      cancel: ["canceled", "rows: failed/canceled (exception)"],
    } as const;
    for (const [action, [state, story]] of Object.entries(ends)) {
      const onException = action as keyof typeof ends;
      const { run: body } = failingWalk(new Map([[4, 1]]));
      const ofWorkflow = workflow({
        name: "import",
        onException,
        steps: [{ name: "rows", resumable: true, run: body }, { name: "report", run() {} }],
      });
      const { run: sameBody } = failingWalk(new Map([[4, 1]]));
      for (const definition of [importing(sameBody, { onException }), ofWorkflow]) {
        const { engine } = await world.engine({ workflows: [definition] });
        const run = await engine.start(definition);
        await assert.rejects(performNextStep(run), /unreadable row/);
        assert.equal(run.state, state);
        assert.equal((await storyOf(run))[0], story);
        assert.equal((await chainOf(run)).length, 1);
        assert.equal((await executionAt(run, 0)).cursor, 4);
      }
    }
  },
);

behaviour(
  "RES-40 policies and handlers of the workflow apply to a resumable step",
  async (world) => {
    const seen: unknown[] = [];
    const { run: body, done } = failingWalk(new Map([[4, 1]]));
    const definition = workflow({
      name: "import",
      onException: [
        policy(({ error, execution, reattempt }) => {
          seen.push([error.message, execution.stepName]);
          reattempt({ wait: 1_000 });
        }, { matching: TypeError }),
      ],
      steps: [{ name: "rows", resumable: true, run: body }],
    });
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    await assert.rejects(performNextStep(run), /unreadable row/);
    assert.deepEqual(seen, [["unreadable row", "rows"]]);
    assert.equal((await current(run)).cursor, 4);
    await speedrunWorkflow(run);
    assert.deepEqual(done, range(10));
  },
);

behaviour("RES-31 a handler may rewind: the walk starts over", async (world) => {
  const { run: body, done } = failingWalk(new Map([[4, 1]]));
  const definition = importing(body, {
    onException: ({ reattempt }) => reattempt({ rewind: true }),
  });
  const { engine } = await world.engine({ workflows: [definition] });
  const run = await engine.start(definition);
  await assert.rejects(performNextStep(run), /unreadable row/);
  assert.equal((await current(run)).cursor, null);
  await speedrunWorkflow(run);
  assert.deepEqual(done, [0, 1, 2, 3, ...range(10)]);
});

behaviour(
  "RES-38 JIT-03 a row that always fails is never passed; the cap and its terminal action end it",
  async (world) => {
    const ends = {
      pause: ["paused", "failed/failed"],
      cancel: ["canceled", "failed/canceled"],
      skip: ["ready", "skipped/skipped"],
    } as const;
    for (const [action, [state, end]] of Object.entries(ends)) {
      const { run: body, done } = failingWalk(new Map([[6, 100]]));
      const definition = importing(body, {
        onException: "reattempt",
        maxReattempts: 3,
        terminalAction: action as keyof typeof ends,
      });
      const { engine } = await world.engine({ workflows: [definition] });
      const run = await engine.start(definition);
      let failures = 0;
      while (run.state === "ready" && run.nextStepName === "rows") {
        await assert.rejects(performNextStep(run), /unreadable row/);
        failures++;
      }
      // The first failure comes after progress, so it is the first of the count.
      assert.equal(failures, 4);
      assert.deepEqual(done, range(6), "the rows before were done once, none behind");
      assert.equal(run.state, state);
      const last = (await chainOf(run)).at(-1);
      assert.equal(`${last?.state}/${last?.outcome}`, end);
      assert.equal(last?.cursor, 6);
    }
  },
);

behaviour(
  "RES-39 JIT-43 a chunk that was continued between two failures starts the count again",
  async (world) => {
    const definition = importing(async ({ iter }) => {
      if (fails) throw new Error("again");
      await iter.set(iter.cursor);
    }, { onException: "reattempt", maxReattempts: 2 });
    let fails = true;
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    for (let rounds = 0; rounds < 4; rounds++) {
      fails = true;
      await assert.rejects(performNextStep(run), /again/);
      await assert.rejects(performNextStep(run), /again/);
      assert.equal(run.state, "ready", "two reattempts are allowed");
      fails = false;
      await runIterations(run, { count: 1 });
    }
    fails = true;
    for (let failures = 0; failures < 3; failures++) await deliver(engine, run);
    assert.equal(run.state, "paused");
  },
);

behaviour(
  "U19 a failure after the cursor moved is the first again: for the cap, the wait and the attempt",
  async (world) => {
    const counts: number[] = [];
    const attempts: number[] = [];
    const definition = importing(async ({ iter, attempt }) => {
      attempts.push(attempt);
      const fails: number = moves.shift() ?? 0;
      if (fails > 0) await iter.set((iter.cursor ?? 0) + fails);
      throw new Error("later");
    }, {
      onException: [
        policy("reattempt", {
          maxReattempts: 2,
          wait: (count) => {
            counts.push(count);
            return count * 1_000;
          },
        }),
      ],
    });
    const moves = [0, 0, 1, 0, 1, 0, 0];
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    for (let failures = 0; failures < 6; failures++) {
      await assert.rejects(performNextStep(run), /later/);
      assert.equal(run.state, "ready");
    }
    await assert.rejects(performNextStep(run), /later/);
    assert.equal(run.state, "paused", "the third failure in a row without progress");
    assert.deepEqual(counts, [1, 2, 1, 2, 1, 2]);
    assert.deepEqual(attempts, [1, 2, 3, 2, 3, 2, 3]);
  },
);

behaviour(
  "RES-34 what a source had done before the error is stored, however seldom it checkpoints",
  async (world) => {
    const done: number[] = [];
    const definition = importing(({ iter }) =>
      iter.over(range(10), (item) => {
        if (item === 7 && !iter.resumed) throw new Error("no");
        done.push(item);
      }, { checkpointEvery: { items: 5 } })
    );
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    await assert.rejects(performNextStep(run), /no/);
    assert.equal((await executionAt(run, 0)).cursor, 7);
    await run.resume();
    await speedrunWorkflow(run);
    assert.deepEqual(done, range(10));
  },
);
