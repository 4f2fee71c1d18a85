/** Nested sources and throttles on a real engine. */

import assert from "node:assert/strict";
import {
  CursorError,
  InvalidInputError,
  type Iter,
  type PairSource,
  StepConfigurationError,
} from "../../mod.ts";
import {
  interruptEvery,
  interruptWhen,
  performNextStep,
  speedrunWorkflow,
} from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { current } from "../run/_story.ts";
import { chainOf, importing, never, range, refused, startWalk } from "./_chain.ts";

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
    const { run } = await startWalk(
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
  const { run } = await startWalk(world, (iter) =>
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
    const { run, clock } = await startWalk(world, async (iter) => {
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
    const { run } = await startWalk(world, async (iter) => {
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
  const { run } = await startWalk(
    world,
    (iter) => overShelves(iter, (book) => void seen.push(book)),
  );
  await interruptWhen(run, (cursor) => (cursor as unknown[])[1] === "Emma");
  assert.deepEqual(seen, ["Asia", "Oslo", "Emma"]);
  await speedrunWorkflow(run);
  assert.deepEqual(seen, ["Asia", "Oslo", "Emma", "Ulysses", "Zorba"]);
});
