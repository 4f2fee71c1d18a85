/** The sources of `iter` on a real engine: arrays, whatever else can be made again, and pairs. */

import assert from "node:assert/strict";
import { InvalidInputError, type ItemSource, type Iter, type PairSource } from "../../mod.ts";
import {
  assertCursor,
  interruptEvery,
  performNextStep,
  runIterations,
  speedrunWorkflow,
} from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { executionAt, storyOf } from "../run/_story.ts";
import { never, range, refused, startWalk } from "./_chain.ts";

behaviour(
  "RES-43 RES-44 D52 the cursor of an array is the next index; items before it are not seen again",
  async (world) => {
    const seen: [string, number][] = [];
    const { run } = await startWalk(
      world,
      (iter) => iter.over(["a", "b", "c", "d"], (item, index) => void seen.push([item, index])),
    );
    for (const cursor of [1, 2, 3]) {
      await runIterations(run, { count: 1 });
      await assertCursor(run, cursor);
    }
    await speedrunWorkflow(run);
    assert.deepEqual(seen, [["a", 0], ["b", 1], ["c", 2], ["d", 3]]);
  },
);

behaviour("RES-45 JIT-45 an empty array completes without a call", async (world) => {
  const { run } = await startWalk(world, (iter) => iter.over([], never));
  await performNextStep(run);
  assert.deepEqual(await storyOf(run), ["rows: completed/success", "report: scheduled"]);
});

behaviour(
  "RES-46 JIT-22 U25 D51 what cannot be iterated, or only once, is refused before the first item",
  async (world) => {
    const once = range(3)[Symbol.iterator]();
    async function* stream(): AsyncGenerator<number> {
      yield 1;
    }
    const bad: [unknown, RegExp][] = [
      [42, /a number: give an array/],
      ["text", /a string: give an array/],
      [null, /null: give an array/],
      [{ length: 1, 0: "a" }, /an object \(Object\): give an array/],
      [once, /only once; give an array, or a function/],
      [range(3).values(), /only once/],
      [stream(), /only once/],
      [() => 42, /the factory made a number/],
    ];
    for (const [source, message] of bad) {
      await refused(world, (iter) => iter.over(source as ItemSource<unknown>, never), [
        InvalidInputError,
        message,
      ]);
    }
    await refused(world, (iter) => iter.over([1], "nothing" as never), [
      InvalidInputError,
      /the callback must be a function/,
    ]);
  },
);

behaviour(
  "D51 JIT-21 what can be made again is walked by index: sets, maps, numbers, generators, queries",
  async (world) => {
    async function* pages(): AsyncGenerator<string> {
      for (const page of ["x", "y", "z"]) yield await Promise.resolve(page);
    }
    const sources: [ItemSource<unknown>, unknown[]][] = [
      [new Set(["a", "b", "c"]), ["a", "b", "c"]],
      [new Map([["a", 1], ["b", 2]]), [["a", 1], ["b", 2]]],
      [() => range(4), [0, 1, 2, 3]],
      [function* () {
        yield 1;
        yield 2;
      }, [1, 2]],
      [pages, ["x", "y", "z"]],
      [() => Promise.resolve(["p", "q"]), ["p", "q"]],
    ];
    for (const [source, expected] of sources) {
      const seen: unknown[] = [];
      const { run } = await startWalk(
        world,
        (iter) => iter.over(source, (item) => void seen.push(item)),
      );
      await interruptEvery(run, 1);
      assert.deepEqual(seen, expected);
    }
  },
);

behaviour(
  "RES-47 an array that changed between chunks is walked by index, which is its owner's to keep stable",
  async (world) => {
    const seen: string[] = [];
    let items = ["a", "b", "c", "d"];
    const { run } = await startWalk(
      world,
      (iter) => iter.over(items, (item) => void seen.push(item)),
    );
    await runIterations(run, { count: 2 });
    items = ["new", "a", "b", "c", "d"];
    await runIterations(run, { count: 1 });
    items = ["a", "b"];
    await speedrunWorkflow(run);
    assert.deepEqual(seen, ["a", "b", "b"]);
    assert.equal(run.state, "finished");
  },
);

behaviour(
  "JIT-44 JIT-45 a source that is nothing, or has nothing, completes the step",
  async (world) => {
    const walks: ((iter: Iter) => unknown)[] = [
      (iter) => iter.over(() => null, never),
      (iter) => iter.overPairs(() => undefined, never),
      (iter) => iter.overPairs(() => [], never),
      (iter) => iter.overRecords({ fetch: () => [], cursor: never }, never),
      (iter) => iter.overCsv("name\n", never),
    ];
    for (const walk of walks) {
      const { run } = await startWalk(world, walk);
      await performNextStep(run);
      assert.deepEqual(await storyOf(run), ["rows: completed/success", "report: scheduled"]);
    }
  },
);

behaviour(
  "JIT-01 JIT-02 pairs keep the cursor of the last item that is done, which the callback does not see",
  async (world) => {
    const calls: unknown[][] = [];
    const opened: unknown[] = [];
    const letters = ["k", "l", "m", "n"];
    const { run } = await startWalk(world, (iter) =>
      iter.overPairs((cursor) => {
        opened.push(cursor);
        const from = cursor === null ? 0 : letters.indexOf((cursor as { id: string }).id) + 1;
        return letters.slice(from).map((id) => [id, { id }] as const);
      }, (...args: unknown[]) => {
        calls.push(args);
        if (args[0] === "m" && opened.length === 2) throw new Error("once");
      }));
    await runIterations(run, { count: 1 });
    await assertCursor(run, { id: "k" });
    await assert.rejects(performNextStep(run), /once/);
    assert.deepEqual((await executionAt(run, -1)).cursor, { id: "l" });
    await run.resume();
    await speedrunWorkflow(run);
    assert.deepEqual(calls, [["k"], ["l"], ["m"], ["m"], ["n"]]);
    assert.deepEqual(opened, [null, { id: "k" }, { id: "l" }]);
  },
);

behaviour(
  "JIT-04 a source without cursors is stopped between its items, and made anew for the next chunk",
  async (world) => {
    const queue = range(5);
    const taken: number[] = [];
    const { run } = await startWalk(world, (iter) =>
      iter.overPairs(function* () {
        while (queue.length > 0) yield [queue.shift() as number, null];
      }, (item) => void taken.push(item)));
    const chunks = await interruptEvery(run, 2);
    assert.deepEqual(taken, range(5));
    assert.equal(chunks.length, 3);
    assert.equal(run.nextStepName, "report");
  },
);

behaviour(
  "JIT-46 a source that makes no pairs is an argument error with a hint",
  async (world) => {
    const bad: [unknown, RegExp][] = [
      [() => 7, /the source made a number; it must make an iterable of \[item, cursor\] pairs/],
      [() => [1, 2], /yielded a number instead of .*; to iterate over plain items use iter\.over/],
      [() => [[1, 2, 3]], /yielded an array/],
      [[[1, 2]], /the source must be a function/],
    ];
    for (const [source, message] of bad) {
      await refused(world, (iter) => iter.overPairs(source as () => PairSource<unknown>, never), [
        InvalidInputError,
        message,
      ]);
    }
  },
);
