/** Records and tables under a real engine, on every database that an application may have. */

import assert from "node:assert/strict";
import { type RecordSource, type TableRow, type TableSource } from "../../mod.ts";
import {
  assertCursor,
  interruptEvery,
  performNextStep,
  runIterations,
  speedrunWorkflow,
} from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { executionAt } from "../run/_story.ts";
import { importing, range } from "./_chain.ts";
import { contacts, onEveryDatabase, refused, walked, walking } from "./_tables.ts";

/** A source of numbers that notes what it is asked for. */
function numbers(count: number, asked: unknown[] = []): RecordSource<{ id: number }> {
  return {
    fetch({ after, limit }) {
      asked.push(after);
      return range(count).filter((id) => id > (after as number ?? -1)).slice(0, limit)
        .map((id) => ({ id }));
    },
    cursor: ({ id }) => id,
    pageSize: 3,
  };
}

onEveryDatabase(
  "RES-48 rows come in the order of the key, each strictly after the cursor, over any number of chunks",
  async (tables) => {
    await contacts(tables);
    const seen: number[] = [];
    await walking(
      (iter) =>
        iter.overRecords(
          tables.source("contacts", { pageSize: 4 }),
          ({ id }) => void seen.push(id),
        ),
      async (run) => {
        await runIterations(run, { count: 7 });
        await assertCursor(run, 7);
        await interruptEvery(run, 7);
      },
    );
    assert.deepEqual(seen, range(25).map((n) => n + 1));
  },
);

onEveryDatabase(
  "RES-49 JIT-45 an empty table, or one of which nothing is wanted, completes the step",
  async (tables) => {
    await contacts(tables);
    await tables.run("CREATE TABLE nobody (id INTEGER PRIMARY KEY)");
    assert.deepEqual(await walked(tables.source("nobody")), []);
    assert.deepEqual(await walked(tables.source("contacts", { where: "id > 100" })), []);
  },
);

onEveryDatabase("a condition limits the rows, with parameters", async (tables) => {
  await contacts(tables);
  const seen = await walked(
    tables.source("contacts", {
      where: { sql: "city = ? OR id IN (?, ?)", params: ["Oslo", 1, 2] },
      pageSize: 2,
    }),
  );
  const expected = await tables.query(
    "SELECT id FROM contacts WHERE city = 'Oslo' OR id IN (1, 2) ORDER BY id",
    [],
  );
  assert.deepEqual(seen.map(({ id }) => id), expected.map(({ id }) => id));
  assert.ok(seen.length > 4);
});

onEveryDatabase(
  "RES-52 JIT-29 RES-53 D54 batches, in one query each and an empty one",
  async (tables) => {
    await contacts(tables);
    const batches: number[][] = [];
    const run = await walking(
      (iter) =>
        iter.overBatches(tables.source("contacts"), { batchSize: 10 }, async (rows) => {
          batches.push(rows.map(({ id }) => id));
          // The cursor was taken before: that the rows are gone does not matter.
          await tables.run(`DELETE FROM contacts WHERE id <= ${rows.at(-1)?.id}`);
        }),
      performNextStep,
    );
    assert.deepEqual(
      batches,
      [range(10), range(10), range(5)].map((part, at) => part.map((n) => n + 1 + 10 * at)),
    );
    const pages = tables.queries.filter((sql) => !sql.includes("IS NULL"));
    assert.equal(pages.length, 4);
    assert.equal((await executionAt(run, 0)).metadata.lastCursor, 25);
  },
);

onEveryDatabase(
  "U27 the size of the batches may change between chunks",
  async (tables) => {
    await contacts(tables);
    const sizes = [10, 4, 7, 100];
    const batches: number[] = [];
    const seen: number[] = [];
    await walking(
      (iter) =>
        iter.overBatches(
          tables.source("contacts"),
          { batchSize: sizes[batches.length] ?? 1 },
          (rows) => {
            batches.push(rows.length);
            seen.push(...rows.map(({ id }) => id));
          },
        ),
      (run) => interruptEvery(run, 1),
    );
    assert.deepEqual(batches, [10, 4, 7, 4]);
    assert.deepEqual(seen, range(25).map((n) => n + 1));
  },
);

onEveryDatabase(
  "RES-51 RES-54 RES-55 rows that come, go and move while a walk is under way",
  async (tables) => {
    await tables.run(
      "CREATE TABLE points (id INTEGER PRIMARY KEY, score INTEGER NOT NULL)",
      `INSERT INTO points VALUES ${range(8).map((n) => `(${n}, ${10 * n})`)}`,
    );
    const seen: number[] = [];
    const changes: Record<number, string> = {
      20: "DELETE FROM points WHERE score = 20",
      30: "INSERT INTO points VALUES (100, 5), (101, 55)",
      40: "UPDATE points SET score = 65 WHERE score = 10",
      50: "UPDATE points SET score = 1 WHERE score = 70",
    };
    await walking(
      (iter) =>
        iter.overRecords(
          tables.source("points", { cursor: ["score", "id"], pageSize: 1 }),
          async ({ score }) => {
            seen.push(score);
            const change = changes[score];
            if (change !== undefined) await tables.run(change);
          },
        ),
      (run) => interruptEvery(run, 1),
    );
    // The deleted row at the cursor is no obstacle; 5 came behind and 55 ahead; the row of 10 moved
    // ahead and came twice, that of 70 moved behind and was missed.
    assert.deepEqual(seen, [0, 10, 20, 30, 40, 50, 55, 60, 65]);
  },
);

onEveryDatabase(
  "JIT-23 JIT-28 a condition with its own order or limit, and anything but a plain table, are refused",
  async (tables) => {
    await contacts(tables);
    const bad: [Partial<TableSource>, RegExp][] = [
      [{ where: "age > 1 ORDER BY city" }, /its own ORDER: the cursor dictates order/],
      [{ where: "age > 1 LIMIT 5" }, /its own LIMIT/],
      [{ where: "1 = 1) OR (1 = 1" }, /closes a parenthesis/],
      [{ where: { sql: "age > ?", params: [] } }, /it has 1 parameters, 0 were given/],
      [{ table: "contacts JOIN cities" }, /no plain name of a table; joins .* are not offered/],
      [{ table: "contacts; DROP TABLE contacts" }, /no plain name/],
      [{ cursor: "id DESC" }, /no plain name of a cursor column/],
      [{ cursor: [] }, /a table needs a cursor column/],
      [{ columns: ["count(*)"] }, /no plain name of a column/],
      [{ pageSize: 0 }, /pageSize must be a whole number from 1/],
    ];
    for (const [options, message] of bad) {
      await refused(tables.source("contacts", options), message);
    }
    assert.equal(tables.queries.length, 0, "no query was made");
  },
);

onEveryDatabase(
  "RES-48 a cursor of other columns than the key is refused, and so is another kind of source",
  async (tables) => {
    await contacts(tables);
    const never = (): never => assert.fail("no row must be passed");
    await walking(async (iter) => {
      await iter.set([1, 2]);
      await iter.overRecords(tables.source("contacts"), never);
    }, async (run) => {
      await assert.rejects(performNextStep(run), /the cursor has 2 columns, the key has 1/);
    });
    await refused(
      { ...tables.source("contacts"), dialect: "oracle" as "sqlite" },
      /dialect must be/,
    );
  },
);

behaviour(
  "RES-48 RES-49 RES-52 JIT-29 fetch sources are asked page by page, strictly after the last key",
  async (world) => {
    const asked: unknown[] = [];
    const seen: number[] = [];
    const definition = importing(({ iter }) =>
      iter.overRecords(numbers(8, asked), ({ id }) => void seen.push(id))
    );
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    await runIterations(run, { count: 4 });
    await assertCursor(run, 3);
    await speedrunWorkflow(run);
    assert.deepEqual(seen, range(8));
    assert.deepEqual(asked, [null, 2, 3, 6, 7], "the last one is empty: only that is the end");

    const batches: number[][] = [];
    asked.length = 0;
    const inBatches = importing(({ iter }) =>
      iter.overBatches(
        numbers(8, asked),
        { batchSize: 3 },
        (batch) => void batches.push(batch.map(({ id }) => id)),
      )
    );
    const other = await world.engine({ workflows: [inBatches] });
    await speedrunWorkflow(await other.engine.start(inBatches));
    assert.deepEqual(batches, [[0, 1, 2], [3, 4, 5], [6, 7]]);
    assert.deepEqual(asked, [null, 2, 5, 7]);
  },
);

behaviour(
  "JIT-27 RES-46 JIT-46 fetch sources that cannot be walked are refused with a hint",
  async (world) => {
    const bad: [unknown, RegExp][] = [
      [{ fetch: () => [{ id: null }], cursor: (row: TableRow) => row.id }, /never null/],
      [
        { fetch: () => [{ id: 2 }, { id: 1 }], cursor: (row: TableRow) => row.id },
        /does not come after/,
      ],
      [
        { fetch: () => [{ id: 1 }, { id: 1 }], cursor: (row: TableRow) => row.id },
        /tells equal ones/,
      ],
      [{ fetch: () => [{ id: 2 ** 60 }], cursor: (row: TableRow) => row.id }, /has lost digits/],
      [{ fetch: () => "rows", cursor: () => 1 }, /fetch must give an array, not a string/],
      [{ fetch: () => [] }, /cursor must be a function/],
      [[{ id: 1 }], /fetch must be a function/],
      ["contacts", /a string: give \{ fetch, cursor \} or \{ table, dialect, query \}/],
    ];
    for (const [source, message] of bad) {
      const definition = importing(({ iter }) =>
        iter.overRecords(
          source as RecordSource<TableRow>,
          () => assert.fail("no row must be passed"),
        )
      );
      const { engine } = await world.engine({ workflows: [definition] });
      await assert.rejects(performNextStep(await engine.start(definition)), message);
    }
  },
);
