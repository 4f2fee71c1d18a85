/**
 * Whatever happens to a walk in whatever order, every item is done, in order, and once; only what
 * failed after its work was done is done again.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { type IterationOptions, policy, type Run } from "../../mod.ts";
import { performNextStep, runIterations } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { type Body, chainOf, importing, range } from "./_chain.ts";

const ITEMS = 8;

/** What happens when an item is visited. */
const EVENTS = [
  "fail",
  "fail late",
  "suspend",
  "reattempt",
  "pause",
  "swallow",
  "throttle",
] as const;
type Event = typeof EVENTS[number] | "nothing";

interface Story {
  readonly events: readonly Event[];
  readonly checkpointEvery: NonNullable<IterationOptions["checkpointEvery"]>;
  readonly source: "array" | "factory" | "pairs" | "records";
  /** How many checkpoints each chunk may make at the most. */
  readonly chunks: readonly number[];
}

const stories: fc.Arbitrary<Story> = fc.record({
  events: fc.array(
    fc.oneof({ weight: 3, arbitrary: fc.constant<Event>("nothing") }, fc.constantFrom(...EVENTS)),
    { maxLength: 20 },
  ),
  checkpointEvery: fc.oneof(
    fc.constant({}),
    fc.record({ items: fc.integer({ min: 1, max: 5 }) }),
    fc.constant({ ms: 1_000 }),
  ),
  source: fc.constantFrom("array", "factory", "pairs", "records"),
  chunks: fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 10 }),
});

/** Walks over the items from any kind of source. */
function walk(
  { iter }: Parameters<Body>[0],
  { source, checkpointEvery }: Story,
  visit: (item: number) => unknown,
): Promise<void> {
  const options = { checkpointEvery };
  const after = (cursor: unknown): number[] => range(ITEMS).slice((cursor as number ?? -1) + 1);
  switch (source) {
    case "array":
      return iter.over(range(ITEMS), visit, options);
    case "factory":
      return iter.over(() => new Set(range(ITEMS)), visit, options);
    case "pairs":
      return iter.overPairs((cursor) => after(cursor).map((item) => [item, item]), visit, options);
    case "records":
      return iter.overRecords(
        {
          fetch: ({ after: key, limit }) => after(key).slice(0, limit),
          cursor: (item) => item,
          pageSize: 3,
        },
        visit,
        options,
      );
  }
}

behaviour(
  "RES-13 RES-14 RES-26 RES-35 RES-36 JIT-02 JIT-06 U6 every item is done in order and once, whatever happens",
  async (world) => {
    let story: Story;
    let events: Event[] = [];
    let done: number[] = [];
    let run: Run;
    const definition = importing(async (context) => {
      const { iter, suspend, reattempt } = context;
      iter.throttle(() => events[0] === "throttle" && events.shift() !== undefined, { backoff: 1 });
      await walk(context, story, async (item) => {
        const event = events.shift() ?? "nothing";
        if (event === "fail") throw new Error(event);
        if (event === "suspend") suspend();
        if (event === "reattempt") reattempt();
        if (event === "pause") await run.pause();
        done.push(item);
        if (event === "fail late") throw new Error(event);
        if (event === "swallow") {
          try {
            suspend();
          } catch {
            // The request stands all the same, and the item does not count as done.
          }
        }
      });
    }, { onException: [policy("reattempt", { maxReattempts: null })] });
    const { engine } = await world.engine({
      workflows: [definition],
      maxUnchangedContinuations: null,
    });

    await fc.assert(
      fc.asyncProperty(stories, async (told) => {
        story = told;
        events = [...told.events];
        done = [];
        run = await engine.start(definition);
        const chunks = [...told.chunks];
        for (let steps = 0; run.nextStepName === "rows"; steps++) {
          assert.ok(steps < 100, "it must come to an end");
          if (run.state === "paused") await run.resume();
          const count = chunks.shift();
          const running = count === undefined
            ? performNextStep(run)
            : runIterations(run, { count });
          await running.catch((error) => assert.match(error.message, /^fail/));
        }
        const again = told.events.slice(0, told.events.length - events.length)
          .filter((event) => event === "fail late" || event === "swallow").length;
        assert.deepEqual([...new Set(done)], range(ITEMS), "all of them, in order");
        assert.equal(done.length, ITEMS + again, "once, save for what failed when it was done");
        await checkChain(run);
      }),
      { numRuns: 60 },
    );
  },
);

/** The chain is one line of links, its cursors only go forward, and only its end is a success. */
async function checkChain(run: Run): Promise<void> {
  const chain = await chainOf(run);
  assert.deepEqual(
    chain.map(({ continuesFromId }) => continuesFromId),
    [null, ...chain.slice(0, -1).map(({ id }) => id)],
  );
  const cursors = chain.slice(0, -1).map(({ cursor }) => cursor as number | null ?? -1);
  assert.deepEqual(cursors, cursors.toSorted((a, b) => a - b));
  assert.deepEqual(
    chain.map(({ outcome }) => outcome === "success"),
    chain.map((_, at) => at === chain.length - 1),
  );
}
