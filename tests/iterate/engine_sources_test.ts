/** The sources of `iter` on a real engine: arrays, pairs, nested sources and throttles. */

import assert from "node:assert/strict";
import {
  CursorError,
  InvalidInputError,
  type ItemSource,
  type Iter,
  type PairSource,
  StepConfigurationError,
} from "../../mod.ts";
import {
  assertCursor,
  interruptEvery,
  interruptWhen,
  performNextStep,
  runIterations,
  speedrunWorkflow,
} from "../../src/testing/mod.ts";
import { behaviour, type World } from "../_engines.ts";
import { current, executionAt, storyOf } from "../run/_story.ts";
import { chainOf, importing, range } from "./_chain.ts";

/** Starts a walk whose body is told in full by what it iterates over. */
async function start(world: World, walk: (iter: Iter) => unknown) {
  const definition = importing(({ iter }) => walk(iter));
  const { engine, clock } = await world.engine({ workflows: [definition] });
  return { engine, clock, run: await engine.start(definition) };
}

/** Asserts that a walk fails before its first item, with an error of a class that says something. */
async function refused(
  world: World,
  walk: (iter: Iter) => unknown,
  [type, message]: [new (message: string) => Error, RegExp],
): Promise<void> {
  const { run } = await start(world, walk);
  await assert.rejects(performNextStep(run), (error) => {
    assert.ok(error instanceof type, String(error));
    assert.match(error.message, message);
    return true;
  });
  assert.deepEqual(await storyOf(run), ["rows: failed/failed (exception)"]);
}

const never = (): never => assert.fail("no item must be passed");

behaviour(
  "RES-43 RES-44 D52 the cursor of an array is the next index; items before it are not seen again",
  async (world) => {
    const seen: [string, number][] = [];
    const { run } = await start(
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
  const { run } = await start(world, (iter) => iter.over([], never));
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
      const { run } = await start(
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
    const { run } = await start(
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
      const { run } = await start(world, walk);
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
    const { run } = await start(world, (iter) =>
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
    const { run } = await start(world, (iter) =>
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

const SHELVES: Readonly<Record<string, readonly string[]>> = {
  maps: ["Asia", "Oslo"],
  empty: [],
  novels: ["Emma", "Ulysses", "Zorba"],
};

/** The pairs of names after a name, each its own cursor. */
function after(names: readonly string[], cursor: string | null): [string, string][] {
  return names.slice(cursor === null ? 0 : names.indexOf(cursor) + 1).map((name) => [name, name]);
}

function overShelves(iter: Iter, fn: (book: string, shelf: string) => unknown): Promise<void> {
  return iter.overNested([
    (cursor: string | null) => after(Object.keys(SHELVES), cursor),
    (shelf: string, cursor: string | null) => after(SHELVES[shelf] ?? [], cursor),
  ], fn);
}

behaviour(
  "JIT-12 JIT-13 JIT-16 JIT-17 RES-59 nested sources go on at the next inner item of any level",
  async (world) => {
    const seen: string[] = [];
    const { run } = await start(
      world,
      (iter) => overShelves(iter, (book, shelf) => void seen.push(`${shelf}/${book}`)),
    );
    const cursors: unknown[] = [];
    for (const chunk of await interruptEvery(run, 1)) cursors.push(chunk.cursor);
    assert.deepEqual(seen, [
      "maps/Asia",
      "maps/Oslo",
      "novels/Emma",
      "novels/Ulysses",
      "novels/Zorba",
    ]);
    assert.deepEqual(cursors, [
      [null, "Asia"],
      [null, "Oslo"],
      ["empty", "Emma"],
      ["empty", "Ulysses"],
      ["empty", "Zorba"],
      null,
    ]);
  },
);

behaviour("JIT-12 RES-59 three levels, interrupted after every item", async (world) => {
  const seen: string[] = [];
  const numbers = (upTo: number, cursor: number | null): [number, number][] =>
    range(upTo).filter((n) => n > (cursor ?? -1)).map((n) => [n, n]);
  const { run } = await start(world, (iter) =>
    iter.overNested(
      [
        (cursor: number | null) => numbers(2, cursor),
        async function* (outer: number, cursor: number | null) {
          for (const pair of numbers(outer + 1, cursor)) yield await Promise.resolve(pair);
        },
        (_outer: number, _middle: number, cursor: number | null) => numbers(2, cursor),
      ],
      (inner: number, outer: number, middle: number) => void seen.push(`${outer}${middle}${inner}`),
    ));
  await interruptEvery(run, 1);
  assert.deepEqual(seen, ["000", "001", "100", "101", "110", "111"]);
});

behaviour(
  "JIT-14 JIT-15 a level that is no function, or a cursor of other levels, is an error before any item",
  async (world) => {
    for (const levels of [[], "levels", [() => [], 5]]) {
      await refused(
        world,
        (iter) => iter.overNested(levels as (() => PairSource<unknown>)[], never),
        [
          InvalidInputError,
          /array of functions|level 1 of overNested is a number, it must be a function/,
        ],
      );
    }
    for (const cursor of [["only one"], [1, 2, 3], "text"]) {
      await refused(world, async (iter) => {
        await iter.set(cursor);
        await overShelves(iter, never);
      }, [CursorError, /the cursor (has \d levels|is a string), the source has 2/]);
    }
  },
);

behaviour(
  "one cursor serves one source: a second one, or one within another, is refused",
  async (world) => {
    await refused(world, async (iter) => {
      await iter.over([], never);
      await iter.over([1], () => iter.over([2], never));
    }, [InvalidInputError, /iter\.over\(\) within iter\.over\(\).*use iter\.overNested\(\)/]);
    await refused(world, async (iter) => {
      await iter.over([1], () => {});
      await iter.over([2], never);
    }, [InvalidInputError, /after another source.*; make a step of each/]);
  },
);

behaviour(
  "JIT-06 JIT-07 JIT-11 a throttle puts the walk off before the item, by its backoff, at the last cursor",
  async (world) => {
    const calls: string[] = [];
    let busy = false;
    const { run, clock } = await start(world, async (iter) => {
      iter.throttle(() => (calls.push("asked"), busy), { backoff: "30 seconds" });
      await iter.over(function* () {
        for (const item of range(3)) {
          calls.push(`read ${item}`);
          yield item;
        }
      }, (item) => {
        calls.push(`done ${item}`);
        busy = item === 0 && !iter.resumed;
      });
    });
    const throttled = await performNextStep(run);
    assert.deepEqual(
      calls,
      ["asked", "read 0", "done 0", "asked"],
      "it is asked before the item is read",
    );
    assert.deepEqual([throttled?.outcome, throttled?.metadata.interruptReason], [
      "continued",
      "throttled",
    ]);
    const successor = await current(run);
    assert.deepEqual([successor.cursor, Number(successor.scheduledFor) - clock.now()], [1, 30_000]);
    busy = false;
    await clock.tick("30 seconds");
    assert.equal((await run.reload()).state, "finished");
    assert.deepEqual(calls.filter((call) => call.startsWith("done")), [
      "done 0",
      "done 1",
      "done 2",
    ]);
  },
);

behaviour(
  "JIT-08 JIT-09 throttled before its first item a walk waits where it began, by the throttle's own backoff",
  async (world) => {
    let busy = true;
    const calls: string[] = [];
    const definition = importing(async ({ iter }) => {
      iter.throttle(() => Promise.resolve(busy), { backoff: "1 hour" });
      await iter.over(range(2), (item) => void calls.push(`${item}`), {
        onComplete: () => void calls.push("complete"),
      });
    });
    const { engine, clock } = await world.engine({
      workflows: [definition],
      resumeDelay: "5 seconds",
    });
    const run = await engine.start(definition);
    await performNextStep(run);
    await performNextStep(run);
    const successor = await current(run);
    assert.deepEqual([successor.cursor, Number(successor.scheduledFor) - clock.now()], [
      null,
      3_600_000,
    ]);
    assert.deepEqual(calls, []);
    busy = false;
    await speedrunWorkflow(run);
    assert.deepEqual(calls, ["0", "1", "complete"]);
  },
);

behaviour(
  "JIT-07 a throttle that never holds changes nothing; several are asked in order, for every item",
  async (world) => {
    const calls: string[] = [];
    const { run } = await start(world, async (iter) => {
      iter.throttle(() => (calls.push("first"), false), { backoff: 1 });
      iter.throttle(() => (calls.push("second"), false), { backoff: 2 });
      await iter.over(["a", "b"], (item) => void calls.push(item));
    });
    await performNextStep(run);
    assert.deepEqual(calls, ["first", "second", "a", "first", "second", "b"]);
    assert.equal((await chainOf(run)).length, 1);
    const bad: unknown[] = [undefined, { backoff: -1 }, { backoff: "soon" }];
    for (const options of bad) {
      await refused(
        world,
        (iter) => iter.throttle(() => false, options as { backoff: number }),
        [StepConfigurationError, /the backoff of a throttle/],
      );
    }
  },
);

behaviour("TST-16 RES-23 any source may be stopped at any cursor", async (world) => {
  const seen: string[] = [];
  const { run } = await start(
    world,
    (iter) => overShelves(iter, (book) => void seen.push(book)),
  );
  await interruptWhen(run, (cursor) => (cursor as unknown[])[1] === "Emma");
  assert.deepEqual(seen, ["Asia", "Oslo", "Emma"]);
  await speedrunWorkflow(run);
  assert.deepEqual(seen, ["Asia", "Oslo", "Emma", "Ulysses", "Zorba"]);
});
