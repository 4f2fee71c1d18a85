/** The calls of a body on a real engine: set, advance, checkpoint, skipTo, suspend and reattempt. */

import assert from "node:assert/strict";
import { FlowControlOutsideStepError, InvalidStateError, type Iter, workflow } from "../../mod.ts";
import {
  assertCursor,
  performNextStep,
  runIterations,
  speedrunWorkflow,
} from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { createGate } from "../run/_gate.ts";
import { current, executionAt, storyOf } from "../run/_story.ts";
import { chainOf, importing, range } from "./_chain.ts";

behaviour(
  "RES-04 RES-05 RES-06 RES-08 RES-09 each call has stored its cursor when it resolves",
  async (world) => {
    const gates = range(5).map(createGate);
    const definition = importing(async ({ iter }) => {
      await iter.checkpoint();
      assert.equal(iter.advanced, false, "a checkpoint does not advance");
      await gates[0]?.pass();
      await iter.set({ page: 7 });
      assert.equal(iter.advanced, true);
      await gates[1]?.pass();
      await iter.advance({ from: 40 });
      await gates[2]?.pass();
      await iter.advance();
      await gates[3]?.pass();
      await iter.checkpoint();
      await gates[4]?.pass();
    });
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    const running = performNextStep(run);
    for (const [at, cursor] of [null, { page: 7 }, 41, 42, 42].entries()) {
      await gates[at]?.arrived;
      const { state, cursor: stored } = await current(run);
      assert.deepEqual([state, stored], ["in_progress", cursor]);
      gates[at]?.open();
    }
    await running;
  },
);

behaviour(
  "RES-07 advance() without an integer is an error, and the stored cursor stays",
  async (world) => {
    for (const cursor of [null, "seven", 1.5, { page: 1 }]) {
      const definition = importing(async ({ iter }) => {
        await iter.set(cursor);
        await assert.rejects(iter.advance(), /an integer is required; .* advance\(\{ from \}\)/);
        assert.deepEqual(iter.cursor, cursor);
        await iter.advance();
      });
      const { engine } = await world.engine({ workflows: [definition] });
      const run = await engine.start(definition);
      await assert.rejects(performNextStep(run), /an integer is required/);
      const failed = await executionAt(run, 0);
      assert.deepEqual([failed.state, failed.errorClass], ["failed", "CursorError"]);
      assert.deepEqual(failed.cursor, cursor);
    }
  },
);

behaviour("RES-06 advance() counts bigints too", async (world) => {
  const definition = importing(async ({ iter }) => {
    await iter.set(2n ** 70n);
    await iter.advance();
    assert.equal(iter.cursor, 2n ** 70n + 1n);
  });
  const { engine } = await world.engine({ workflows: [definition] });
  const run = await engine.start(definition);
  await runIterations(run, { count: 2 });
  await assertCursor(run, 2n ** 70n + 1n);
});

behaviour(
  "RES-11 RES-12 skipTo() and suspend() with a wait put the successor off by it",
  async (world) => {
    const definition = importing(async ({ iter, suspend }) => {
      if (iter.cursor === null) await iter.skipTo("half", { wait: "2 hours" });
      if (iter.cursor === "half") {
        await iter.set("almost");
        suspend({ wait: 90_000 });
      }
    });
    const { engine, clock } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    const start = clock.now();
    await clock.tick(1);
    assert.equal((await current(run)).scheduledFor.getTime(), start + 7_200_000);
    await clock.tick("2 hours");
    assert.equal((await current(run)).scheduledFor.getTime(), start + 7_200_000 + 90_000);
    await assertCursor(run, "almost");
    await clock.tick("90 seconds");
    assert.equal((await run.reload()).state, "finished");
    assert.deepEqual(await storyOf(run), [
      "rows: completed/continued (interrupt)",
      "rows: completed/continued (interrupt)",
      "rows: completed/success",
      "report: completed/success",
    ]);
  },
);

behaviour(
  "RES-12 RES-13 suspend() keeps the last stored cursor, so the item in hand is done again",
  async (world) => {
    const done: number[] = [];
    const definition = importing(({ iter, suspend }) =>
      iter.over(range(4), (item) => {
        done.push(item);
        if (item === 2 && !iter.resumed) suspend();
      })
    );
    const { engine, clock } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    await performNextStep(run);
    await assertCursor(run, 2);
    assert.equal((await current(run)).scheduledFor.getTime(), clock.now());
    await speedrunWorkflow(run);
    assert.deepEqual(done, [0, 1, 2, 2, 3]);
  },
);

behaviour("RES-14 nothing of the body runs after a checkpoint that interrupts", async (world) => {
  const reached: string[] = [];
  const definition = importing(async ({ iter }) => {
    reached.push(`from ${iter.cursor}`);
    await iter.set("here");
    reached.push("behind");
  });
  const { engine } = await world.engine({ workflows: [definition] });
  const run = await engine.start(definition);
  await runIterations(run, { count: 1 });
  assert.deepEqual(reached, ["from null"]);
  await performNextStep(run);
  assert.deepEqual(reached, ["from null", "from here", "behind"]);
});

behaviour(
  "RES-30 reattempt() goes on from the cursor, as another attempt, now or after a wait",
  async (world) => {
    const seen: unknown[] = [];
    const definition = importing(async ({ iter, attempt, reattempt }) => {
      seen.push([iter.cursor, iter.resumed, attempt]);
      await iter.set(attempt * 10);
      if (attempt === 1) reattempt();
      if (attempt === 2) reattempt({ wait: "5 minutes" });
    });
    const { engine, clock } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    await performNextStep(run);
    await performNextStep(run);
    assert.equal((await current(run)).scheduledFor.getTime(), clock.now() + 300_000);
    await speedrunWorkflow(run);
    assert.deepEqual(seen, [[null, false, 1], [10, true, 2], [20, true, 3]]);
    const chain = await chainOf(run);
    assert.deepEqual(chain.map(({ state, outcome, cursor }) => [state, outcome, cursor]), [
      ["completed", "reattempted", 10],
      ["completed", "reattempted", 20],
      ["completed", "success", null],
    ]);
    assert.deepEqual(chain.map((one) => one.continuesFromId), [null, chain[0]?.id, chain[1]?.id]);
  },
);

behaviour(
  "RES-31 RES-32 reattempt({ rewind: true }) starts over: a linked successor without a cursor",
  async (world) => {
    const seen: unknown[] = [];
    const done: number[] = [];
    let rewound = false;
    const definition = importing(async ({ iter, reattempt }) => {
      seen.push([iter.cursor, iter.resumed]);
      await iter.over(range(3), (item) => {
        done.push(item);
        if (item === 2 && !rewound) {
          rewound = true;
          reattempt({ rewind: true });
        }
      });
    });
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    const first = await performNextStep(run);
    assert.equal(first?.cursor, 2, "the closed row still shows how far it came");
    const successor = await current(run);
    assert.deepEqual([successor.cursor, successor.continuesFromId], [null, first?.id]);
    await speedrunWorkflow(run);
    assert.deepEqual(seen, [[null, false], [null, true]]);
    assert.deepEqual(done, [0, 1, 2, 0, 1, 2]);
  },
);

behaviour("RES-33 rewind in a plain step is accepted and changes nothing", async (world) => {
  const attempts: number[] = [];
  const definition = workflow({
    name: "plain",
    steps: [{
      name: "once",
      run({ attempt, reattempt }) {
        attempts.push(attempt);
        if (attempt === 1) reattempt({ rewind: true });
      },
    }],
  });
  const { engine } = await world.engine({ workflows: [definition] });
  const run = await speedrunWorkflow(await engine.start(definition));
  assert.deepEqual(attempts, [1, 2]);
  assert.equal(run.state, "finished");
  assert.deepEqual((await run.history()).map((one) => one.continuesFromId), [null, null]);
});

behaviour(
  "RES-29 suspend() of a plain step, and iter outside of its body, are usage errors",
  async (world) => {
    let kept: Iter | null = null;
    const definition = workflow({
      name: "import",
      steps: [
        {
          name: "rows",
          resumable: true,
          async run({ iter }) {
            kept = iter;
            await iter.set(1);
          },
        },
        {
          name: "report",
          async run(context) {
            await assert.rejects((kept as unknown as Iter).set(2), FlowControlOutsideStepError);
            (context as unknown as { suspend(): never }).suspend();
          },
        },
      ],
    });
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    await performNextStep(run);
    await assert.rejects(performNextStep(run), InvalidStateError);
    const [rows] = await run.history();
    assert.equal(rows?.metadata.lastCursor, 1, "a late call stores nothing");
  },
);

behaviour("RES-10 skipTo() within a source jumps, and its walk goes on behind", async (world) => {
  const done: number[] = [];
  const definition = importing(({ iter }) =>
    iter.over(range(10), async (item) => {
      done.push(item);
      if (item === 2) await iter.skipTo(7);
    }, { checkpointEvery: { items: 100 } })
  );
  const { engine } = await world.engine({ workflows: [definition] });
  const run = await speedrunWorkflow(await engine.start(definition));
  assert.deepEqual(done, [0, 1, 2, 7, 8, 9]);
  assert.deepEqual((await chainOf(run)).map(({ cursor }) => cursor), [7, null]);
});
