/** Cursors through a real store: what is set comes back, equal and of the same type. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { CursorError, type Iter, jsonCodec } from "../../mod.ts";
import {
  assertCursor,
  performNextStep,
  runIterations,
  speedrunWorkflow,
} from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { executionAt } from "../run/_story.ts";
import { importing, range } from "./_chain.ts";

const CURSORS: Readonly<Record<string, unknown>> = {
  integer: 42,
  "negative zero": -0,
  double: 0.1 + 0.2,
  "large integer": Number.MAX_SAFE_INTEGER,
  text: 'é😀 "quoted"\n',
  "empty text": "",
  "text that no JSON type takes": "NUL \0 and half a pair \ud800",
  true: true,
  false: false,
  array: [1, [2, [3]], []],
  object: { page: 3, next: null, inner: { deep: ["a"] } },
  "empty object": {},
  "an object that looks like a tag": { $pawl: "date", v: "x" },
  date: new Date("2026-07-30T12:34:56.789Z"),
  bigint: 2n ** 80n,
  bytes: new Uint8Array([0, 1, 127, 128, 255]),
  map: new Map<unknown, unknown>([["a", 1n], [{ k: 1 }, new Set([new Date(0)])]]),
  set: new Set([1, "two", [3]]),
};

behaviour(
  "RES-56 RES-03 D56 every type of cursor comes back equal and of the same type",
  async (world) => {
    for (const [what, cursor] of Object.entries(CURSORS)) {
      const seen: unknown[] = [];
      const definition = importing(async ({ iter }) => {
        if (iter.resumed) return void seen.push(iter.cursor);
        await iter.set(cursor);
        seen.push(iter.cursor);
        await iter.checkpoint();
      });
      const { engine } = await world.engine({ workflows: [definition] });
      const run = await engine.start(definition);
      const chunk = await runIterations(run, { count: 2 });
      assert.deepStrictEqual(chunk?.cursor, cursor, what);
      await assertCursor(run, cursor);
      await speedrunWorkflow(run);
      assert.deepStrictEqual(seen, [cursor, cursor], what);
    }
  },
);

behaviour("RES-56 Temporal values come back to the nanosecond", async (world) => {
  const cursors = [
    Temporal.Instant.from("2026-01-02T03:04:05.123456789Z"),
    Temporal.ZonedDateTime.from("2026-10-25T02:30:00.5+01:00[Europe/Berlin]"),
    Temporal.PlainDate.from("2026-02-28"),
    Temporal.PlainTime.from("23:59:59.999999999"),
    Temporal.PlainDateTime.from("2026-02-28T01:02:03.004"),
    Temporal.PlainYearMonth.from("2026-02"),
    Temporal.PlainMonthDay.from("02-29"),
    Temporal.Duration.from({ hours: 1, milliseconds: 90_000 }),
  ];
  for (const cursor of cursors) {
    const seen: unknown[] = [];
    const definition = importing(async ({ iter }) => {
      if (!iter.resumed) await iter.skipTo({ at: cursor });
      seen.push(iter.cursor.at);
    });
    const { engine } = await world.engine({ workflows: [definition] });
    await speedrunWorkflow(await engine.start(definition));
    assert.equal(Object.prototype.toString.call(seen[0]), Object.prototype.toString.call(cursor));
    assert.equal(String(seen[0]), String(cursor));
  }
});

behaviour("RES-56 RES-60 whatever a body sets is what it sees in the next chunk", async (world) => {
  const leaf = fc.oneof(
    ...[fc.string({ unit: "binary" }), fc.bigInt(), fc.date({ noInvalidDate: true })],
    ...[fc.boolean(), fc.integer(), fc.uint8Array(), fc.constant(null)],
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 3 }, leaf, tie("array"), tie("object"), tie("map"), tie("set")),
    array: fc.array(tie("value"), { maxLength: 3 }),
    object: fc.dictionary(fc.string({ unit: "binary" }), tie("value"), { maxKeys: 3 })
      .map((entries) => ({ ...entries })),
    map: fc.array(fc.tuple(tie("value"), tie("value")), { maxLength: 3 }).map((e) => new Map(e)),
    set: fc.array(tie("value"), { maxLength: 3 }).map((e) => new Set(e)),
  }));
  let given: unknown;
  let seen: unknown;
  const definition = importing(async ({ iter }) => {
    if (!iter.resumed) await iter.skipTo(given);
    seen = iter.cursor;
  });
  const { engine } = await world.engine({ workflows: [definition] });
  await fc.assert(
    fc.asyncProperty(value, async (cursor) => {
      given = cursor;
      await speedrunWorkflow(await engine.start(definition));
      assert.deepStrictEqual(seen, cursor);
    }),
    { numRuns: 60 },
  );
});

behaviour(
  "U20 RES-64 null is a cursor like any other: without a start it means the beginning, with one it stays null",
  async (world) => {
    for (const start of [undefined, 5]) {
      const seen: unknown[] = [];
      const definition = importing(async ({ iter }) => {
        seen.push([iter.cursor, iter.resumed]);
        if (seen.length === 1) await iter.set(7);
        if (seen.length === 2) await iter.set(null);
      }, { maxIterations: 1, ...(start === undefined ? {} : { start }) });
      const { engine } = await world.engine({ workflows: [definition] });
      const run = await engine.start(definition);
      await performNextStep(run);
      await performNextStep(run);
      await assertCursor(run, null);
      await speedrunWorkflow(run);
      assert.deepEqual(seen, [[start ?? null, false], [7, true], [null, true]]);
    }
  },
);

behaviour(
  "RES-64 RES-31 a start value is the first cursor, again after a rewind, and never shared between walks",
  async (world) => {
    const start = { page: 1, seen: [] as number[] };
    const seen: unknown[] = [];
    const definition = importing(async ({ iter, attempt, reattempt }) => {
      seen.push(structuredClone(iter.cursor));
      iter.cursor.seen.push(attempt);
      await iter.set(iter.cursor);
      if (attempt === 1) reattempt({ rewind: true });
    }, { start });
    const { engine } = await world.engine({ workflows: [definition] });
    await speedrunWorkflow(await engine.start(definition));
    await speedrunWorkflow(await engine.start(definition));
    assert.deepEqual(seen, range(4).map(() => ({ page: 1, seen: [] })));
    assert.deepEqual(start, { page: 1, seen: [] });
  },
);

behaviour(
  "a codec of one's own writes and reads the cursors, and what it refuses is a CursorError",
  async (world) => {
    class Money {
      constructor(readonly cents: number) {}
    }
    const codec = {
      encode(value: unknown): string {
        if (value instanceof Money && value.cents < 0) throw new RangeError("debts");
        return jsonCodec.encode(value instanceof Money ? { money: value.cents } : value);
      },
      decode(text: string): unknown {
        const value = jsonCodec.decode(text) as { money?: number } | null;
        return typeof value?.money === "number" ? new Money(value.money) : value;
      },
    };
    const seen: unknown[] = [];
    const walk = async (iter: Iter): Promise<void> => {
      if (!iter.resumed) await iter.skipTo(new Money(5));
      seen.push(iter.cursor);
      await iter.set(new Money(-1));
    };
    const definition = importing(({ iter }) => walk(iter));
    const { engine } = await world.engine({ workflows: [definition], codec });
    const run = await engine.start(definition);
    await performNextStep(run);
    await assert.rejects(performNextStep(run), (error) => {
      assert.ok(error instanceof CursorError);
      assert.match(error.message, /debts/);
      return true;
    });
    assert.deepStrictEqual(seen, [new Money(5)]);
    assert.deepStrictEqual((await executionAt(run, -1)).cursor, new Money(5));
  },
);
