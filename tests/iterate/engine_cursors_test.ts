/** Cursors through a real store: what is set comes back, what cannot be stored changes nothing. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { CursorError, CursorTooLargeError, type Iter, jsonCodec } from "../../mod.ts";
import {
  assertCursor,
  performNextStep,
  runIterations,
  speedrunWorkflow,
} from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { storeWith } from "../run/_doubles.ts";
import { current, executionAt } from "../run/_story.ts";
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
  "RES-57 U20 a cursor that cannot be stored is a typed error at the call, and the one before stays",
  async (world) => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    const bad: unknown[] = [
      undefined,
      NaN,
      Infinity,
      () => {},
      Symbol("x"),
      cyclic,
      new URL("a:b"),
    ];
    bad.push({ list: [1, undefined] }, new Date(NaN), new Map([[1, () => {}]]));
    const errors: unknown[] = [];
    const definition = importing(async ({ iter }) => {
      await iter.set({ page: 1 });
      for (const value of bad) {
        await iter.set(value).catch((error) => errors.push(error));
        await iter.skipTo(value).catch((error) => errors.push(error));
        assert.deepEqual(iter.cursor, { page: 1 });
      }
      await iter.set(bad[0]);
    });
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    await assert.rejects(performNextStep(run), CursorError);
    assert.equal(errors.length, 2 * bad.length);
    for (const error of errors) assert.ok(error instanceof CursorError);
    const failed = await executionAt(run, 0);
    assert.deepEqual([run.state, failed.errorClass, failed.cursor], [
      "paused",
      "CursorError",
      { page: 1 },
    ]);
  },
);

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
  "RES-58 D57 a cursor above 128 KiB is refused, the one before stays, and the workflow is paused",
  async (world) => {
    // Two quotes are text as well: the limit is met to the byte.
    const largest = "x".repeat(131_072 - 2);
    let tooLarge: unknown;
    const definition = importing(async ({ iter }) => {
      if (iter.resumed) return assert.equal(iter.cursor, largest);
      await iter.set(largest);
      await iter.set(`${largest}x`).catch((error) => {
        tooLarge = error;
        throw error;
      });
    });
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    await assert.rejects(performNextStep(run), CursorTooLargeError);
    assert.ok(tooLarge instanceof CursorTooLargeError);
    assert.deepEqual([tooLarge.bytes, tooLarge.maxBytes], [131_073, 131_072]);
    assert.match(tooLarge.message, /; store a position instead of data, or raise maxCursorBytes/);
    assert.equal(run.state, "paused");
    assert.equal((await executionAt(run, 0)).cursor, largest);
    await run.resume();
    await speedrunWorkflow(run);
    assert.equal(run.state, "finished");
  },
);

behaviour("RES-58 maxCursorBytes sets another limit, null none", async (world) => {
  const sizes: [number | null, number, boolean][] = [
    [10, 8, true],
    [10, 9, false],
    [1_000_000, 500_000, true],
    [null, 500_000, true],
  ];
  for (const [maxCursorBytes, length, fits] of sizes) {
    const definition = importing(async ({ iter }) => {
      if (!iter.resumed) await iter.skipTo("x".repeat(length));
      assert.equal(iter.cursor.length, length);
    });
    const { engine } = await world.engine({ workflows: [definition], maxCursorBytes });
    const running = speedrunWorkflow(await engine.start(definition));
    if (fits) assert.equal((await running).state, "finished");
    else await assert.rejects(running, CursorTooLargeError);
  }
});

behaviour(
  "RES-58 RES-57 a source whose cursor cannot be stored fails before its item is done",
  async (world) => {
    const bad = { large: "x".repeat(200), function: () => {}, cyclic: new URL("a:b") };
    for (const [what, cursor] of Object.entries(bad)) {
      const done: string[] = [];
      const definition = importing(({ iter }) =>
        iter.overPairs(
          () => [["first", 1], ["second", cursor]],
          (item) => void done.push(item),
        )
      );
      const { engine } = await world.engine({ workflows: [definition], maxCursorBytes: 100 });
      const run = await engine.start(definition);
      await assert.rejects(performNextStep(run), CursorError, what);
      assert.deepEqual(done, ["first"]);
      assert.equal((await executionAt(run, 0)).cursor, 1);
    }
  },
);

behaviour(
  "U21 a cursor is a snapshot: changing the object later changes nothing",
  async (world) => {
    const definition = importing(async ({ iter, suspend }) => {
      const page = { number: 1, marks: [1] };
      const setting = iter.set(page);
      page.number = 99;
      page.marks.push(99);
      await setting;
      assert.deepEqual(iter.cursor, { number: 1, marks: [1] });
      suspend();
    });
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    const chunk = await performNextStep(run);
    assert.deepEqual(chunk?.cursor, { number: 1, marks: [1] });
    await assertCursor(run, { number: 1, marks: [1] });
  },
);

behaviour(
  "U22 concurrent calls are stored one at a time, in the order of the calls",
  async (world) => {
    const stored: unknown[] = [];
    let overlapping = 0;
    const store = storeWith(world.store(), (real) => ({
      async checkpoint(batch, options) {
        assert.equal(++overlapping, 1);
        await Promise.resolve();
        const answers = await real.checkpoint(batch, options);
        stored.push(...batch.map(({ cursor }) => cursor));
        overlapping--;
        return answers;
      },
    }));
    const definition = importing(({ iter }) =>
      Promise.all([
        iter.set(1),
        iter.set({ slow: "x".repeat(1_000) }),
        iter.set(3),
        iter.advance(),
        iter.checkpoint(),
        iter.set(6),
      ])
    );
    const { engine } = await world.engine({ workflows: [definition], store });
    const run = await engine.start(definition);
    const rows = await performNextStep(run);
    assert.deepEqual(stored, ["1", `{"slow":"${"x".repeat(1_000)}"}`, "3", "4", "4", "6"]);
    assert.equal(rows?.metadata.lastCursor, 6);
  },
);

behaviour("U22 RES-23 calls that nobody awaits are stored before the step ends", async (world) => {
  const definition = importing(({ iter }) => {
    void iter.set(1);
    void iter.set(2);
    iter.progress(2, 2);
  });
  const { engine } = await world.engine({ workflows: [definition] });
  const run = await engine.start(definition);
  const rows = await performNextStep(run);
  assert.deepEqual([rows?.outcome, rows?.metadata.lastCursor, rows?.progress?.done], [
    "success",
    2,
    2,
  ]);
});

behaviour(
  "RES-61 a checkpoint writes the cursor and the sign of life of one row, and nothing else happens",
  async (world) => {
    const calls: string[] = [];
    const store = storeWith(world.store(), (real) => ({
      checkpoint(batch, options) {
        for (const one of batch) calls.push(Object.keys(one).sort().join(" "));
        return real.checkpoint(batch, options);
      },
      finish: (batch, options) => (calls.push("finish"), real.finish(batch, options)),
      command: (id, what, options) => (calls.push("command"), real.command(id, what, options)),
    }));
    let tick = (): void => {};
    let look = (): Promise<unknown> => Promise.resolve();
    const looks: unknown[] = [];
    const definition = importing(({ iter }) =>
      iter.over(range(4), async () => {
        tick();
        looks.push(await look());
      })
    );
    const { engine, clock } = await world.engine({ workflows: [definition], store });
    tick = () => clock.travelTo(clock.now() + 1_000);
    const run = await engine.start(definition);
    look = async () => {
      const { updatedAt, metadata, state } = await run.reload();
      const { cursor: _, ...rest } = { ...await current(run) };
      return { updatedAt, metadata, state, rest };
    };
    await performNextStep(run);
    assert.deepEqual(calls, [...range(4).map(() => "cursor executionId token"), "finish"]);
    assert.equal(looks.length, 4);
    for (const one of looks) assert.deepEqual(one, looks[0]);
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
