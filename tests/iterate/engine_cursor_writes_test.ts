/** Writing cursors to a real store: what cannot be stored changes nothing, and order is kept. */

import assert from "node:assert/strict";
import { CursorError, CursorTooLargeError } from "../../mod.ts";
import { assertCursor, performNextStep, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { storeWith } from "../run/_doubles.ts";
import { current, executionAt } from "../run/_story.ts";
import { importing, range } from "./_chain.ts";

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
    const checkpoints = range(4).map(() => "cursor executionId keepsLease token");
    assert.deepEqual(calls, [...checkpoints, "finish"]);
    assert.equal(looks.length, 4);
    for (const one of looks) assert.deepEqual(one, looks[0]);
  },
);
