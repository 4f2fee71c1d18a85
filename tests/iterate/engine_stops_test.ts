/** How a walk on a real engine ends or is stored: by its callback, and as its options say. */

import assert from "node:assert/strict";
import { InvalidInputError, type IterationOptions, type IterationStop } from "../../mod.ts";
import {
  interruptEvery,
  performNextStep,
  runIterations,
  speedrunWorkflow,
} from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingLogger, recordingQueue } from "../run/_doubles.ts";
import { current, executionAt, storyOf } from "../run/_story.ts";
import { chainOf, importing, range } from "./_chain.ts";

/** Callbacks that write down when they are called. */
function noting(calls: string[]): IterationOptions {
  return {
    onStart: () => void calls.push("start"),
    onShutdown: () => void calls.push("shutdown"),
    onComplete: () => void calls.push("complete"),
  };
}

/** Three pairs that write down what becomes of them. */
async function* tellingPairs(calls: string[]): AsyncGenerator<[number, number]> {
  calls.push("opened");
  try {
    for (const item of range(3)) yield [item, item];
    calls.push("exhausted");
  } finally {
    if (!calls.includes("exhausted")) calls.push("closed");
  }
}

behaviour(
  "JIT-34 JIT-35 iter.stop ends the walk as complete, iter.stopSilently without onComplete",
  async (world) => {
    for (
      const [signal, expected] of [
        ["stop", ["start", "shutdown", "complete", "behind"]],
        ["stopSilently", ["start", "shutdown", "behind"]],
      ] as const
    ) {
      const calls: string[] = [];
      const done: number[] = [];
      const definition = importing(async ({ iter }) => {
        await iter.over(range(5), (item) => {
          done.push(item);
          if (item === 2) return iter[signal];
        }, noting(calls));
        calls.push("behind");
      });
      const { engine } = await world.engine({ workflows: [definition] });
      const run = await speedrunWorkflow(await engine.start(definition));
      assert.deepEqual(done, [0, 1, 2]);
      assert.deepEqual(calls, expected);
      assert.deepEqual(await storyOf(run), [
        "rows: completed/success",
        "report: completed/success",
      ]);
    }
  },
);

behaviour(
  "JIT-36 an unknown stop signal is an error of the step; any other result is ignored",
  async (world) => {
    const results: unknown[] = [0, "", false, { stop: false }, [], null];
    const definition = importing(({ iter }) =>
      iter.over(results, (result) => {
        if (result === null) return { stop: true, silent: false } satisfies IterationStop;
        return result;
      })
    );
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    await assert.rejects(performNextStep(run), (error) => {
      assert.ok(error instanceof InvalidInputError);
      assert.match(error.message, /unknown stop signal; return iter\.stop or iter\.stopSilently/);
      return true;
    });
    assert.equal((await executionAt(run, 0)).cursor, results.length - 1);
  },
);

behaviour(
  "JIT-05 a source is closed with return() when its walk is interrupted, stopped or fails, not at its end",
  async (world) => {
    const ends: Record<string, string[]> = {
      interrupted: ["opened", "closed"],
      stopped: ["opened", "closed"],
      failed: ["opened", "closed"],
      complete: ["opened", "exhausted"],
    };
    for (const [end, expected] of Object.entries(ends)) {
      const calls: string[] = [];
      const definition = importing(({ iter }) =>
        iter.overPairs(() => tellingPairs(calls), (item) => {
          if (item !== 1 || end === "complete") return;
          if (end === "failed") throw new Error("no");
          if (end === "stopped") return iter.stop;
        })
      );
      const { engine } = await world.engine({ workflows: [definition] });
      const run = await engine.start(definition);
      const running = end === "interrupted"
        ? runIterations(run, { count: 2 })
        : performNextStep(run);
      if (end === "failed") await assert.rejects(running, /no/);
      else await running;
      assert.deepEqual(calls, expected, end);
    }
  },
);

behaviour("JIT-05 a source that cannot be closed is logged and changes nothing", async (world) => {
  const logger = recordingLogger();
  const done: number[] = [];
  const definition = importing(({ iter }) =>
    iter.overPairs((cursor) => ({
      [Symbol.iterator]: () => {
        let at = cursor as number ?? 0;
        return {
          next: () =>
            at < 4 ? { done: false, value: [at, ++at] } : { done: true, value: undefined },
          return: () => {
            throw new Error("stuck");
          },
        } as Iterator<[number, number]>;
      },
    }), (item) => void done.push(item))
  );
  const { engine } = await world.engine({ workflows: [definition], logger });
  const run = await engine.start(definition);
  await interruptEvery(run, 1);
  assert.deepEqual(done, range(4));
  assert.ok((await chainOf(run)).every(({ errorClass }) => errorClass === null));
  const warnings = logger.lines.filter(({ message }) => message === "Cannot close the source");
  assert.ok(warnings.length >= 3);
  assert.match(String(warnings[0]?.fields.error), /stuck/);
});

behaviour(
  "JIT-37 whether to stop is asked once per item, and never before the first",
  async (world) => {
    const calls: string[] = [];
    const definition = importing(({ iter }) =>
      iter.over(range(3), (item) => void calls.push(`item ${item}`))
    );
    const queue = recordingQueue({ shouldStop: () => (calls.push("asked"), false) });
    const { engine } = await world.engine({ workflows: [definition], queue });
    const run = await engine.start(definition);
    await engine.handle((await current(run)).id);
    assert.deepEqual(calls, ["item 0", "asked", "item 1", "asked", "item 2", "asked"]);
  },
);

behaviour(
  "checkpointEvery stores after so many items or so much time, and always where a chunk ends",
  async (world) => {
    const storedWith = async (
      checkpointEvery: NonNullable<IterationOptions["checkpointEvery"]>,
    ): Promise<unknown[]> => {
      const stored: unknown[] = [];
      let note = (): Promise<void> => Promise.resolve();
      const definition = importing(({ iter }) =>
        iter.over(range(9), () => note(), { checkpointEvery })
      );
      const { engine, clock } = await world.engine({ workflows: [definition] });
      const run = await engine.start(definition);
      note = async () => {
        clock.travelTo(clock.now() + 10);
        stored.push((await current(run)).cursor);
      };
      await runIterations(run, { count: 8 });
      stored.push((await current(run)).cursor);
      return stored;
    };
    // Noted before each item is stored: what stands there is what the items before have left.
    assert.deepEqual(await storedWith({ items: 3 }), [null, null, null, 3, 3, 3, 6, 6, 8]);
    assert.deepEqual(await storedWith({ ms: 40 }), [null, null, null, null, 4, 4, 4, 4, 8]);
    assert.deepEqual(await storedWith({ items: 5, ms: 20 }), [null, null, 2, 2, 4, 4, 6, 6, 8]);
    assert.deepEqual(await storedWith({}), [null, 1, 2, 3, 4, 5, 6, 7, 8]);
  },
);

behaviour("options that are none are refused before the first item", async (world) => {
  const bad: unknown[] = [
    { onStart: "now" },
    { aroundIteration: 1 },
    { checkpointEvery: { items: 0 } },
    { checkpointEvery: { ms: -1 } },
  ];
  for (const options of bad) {
    const definition = importing(({ iter }) =>
      iter.over([1], () => assert.fail("called"), options as IterationOptions)
    );
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    await assert.rejects(performNextStep(run), InvalidInputError);
  }
});
