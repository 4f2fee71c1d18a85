/** Records and tables under a real engine, on every database that an application may have. */

import assert from "node:assert/strict";
import {
  CursorError,
  InvalidInputError,
  type Iter,
  type RecordSource,
  type Row,
  type Run,
  type TableSource,
} from "../../mod.ts";
import {
  assertCursor,
  interruptEvery,
  performNextStep,
  runIterations,
  speedrunWorkflow,
  testEngine,
} from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { executionAt } from "../run/_story.ts";
import { importing, range } from "./_chain.ts";
import { onEveryDatabase, type Tables } from "./_tables.ts";

/** Runs a walk on an engine of its own and hands over its run. */
async function walking(
  walk: (iter: Iter) => unknown,
  perform: (run: Run) => Promise<unknown>,
): Promise<Run> {
  const definition = importing(({ iter }) => walk(iter));
  await using t = await testEngine({ workflows: [definition] });
  const run = await t.engine.start(definition);
  await perform(run);
  return run;
}

/** Walks over a table, interrupted after every so many rows, and gives what it saw. */
async function walked(source: TableSource, every = 1): Promise<Row[]> {
  const seen: Row[] = [];
  await walking(
    (iter) => iter.overRecords(source, (row) => void seen.push(row)),
    (run) => interruptEvery(run, every),
  );
  return seen;
}

/** Asserts that a walk over a table fails before its first row. */
async function refused(source: TableSource, message: RegExp): Promise<void> {
  const never = (): never => assert.fail("no row must be passed");
  await walking((iter) => iter.overRecords(source, never), async (run) => {
    await assert.rejects(performNextStep(run), (error) => {
      assert.ok(error instanceof InvalidInputError || error instanceof CursorError, String(error));
      assert.match(error.message, message);
      return true;
    });
  });
}

/** Twenty-five contacts in four cities. */
async function contacts({ run }: Tables): Promise<void> {
  const cities = ["Bern", "Oslo", "Rome", "Wien"];
  await run(
    "CREATE TABLE contacts (id INTEGER PRIMARY KEY, city VARCHAR(20) NOT NULL, age INTEGER)",
    `INSERT INTO contacts VALUES ${
      range(25).map((n) => `(${n + 1}, '${cities[(n * 7) % 4]}', ${n % 5 === 0 ? "NULL" : n})`)
    }`,
  );
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

onEveryDatabase(
  "RES-50 JIT-24 D55 another column orders the rows, and the key behind it tells equal ones apart",
  async (tables) => {
    await contacts(tables);
    const seen = await walked(
      tables.source("contacts", { cursor: ["city", "id"], columns: ["id"], pageSize: 3 }),
      2,
    );
    const expected = await tables.query("SELECT id, city FROM contacts ORDER BY city, id", []);
    assert.deepEqual(
      seen.map(({ id, city }) => [id, city]),
      expected.map(({ id, city }) => [id, city]),
    );
  },
);

onEveryDatabase(
  "RES-50 U26 a key that does not tell rows apart is an error, and no row is left out",
  async (tables) => {
    await contacts(tables);
    await refused(tables.source("contacts", { cursor: "city" }), /tells equal ones apart/);
    const seen: string[] = [];
    await walking(
      (iter) =>
        iter.overRecords(
          tables.source("contacts", { cursor: "city", pageSize: 1 }),
          ({ city }) => void seen.push(city),
        ),
      async (run) => {
        // With one row a page only the database can tell that two of them are equal.
        await assert.rejects(performNextStep(run), /several rows have the cursor's key .*; add a/);
      },
    );
    assert.deepEqual(seen, ["Bern"]);
  },
);

onEveryDatabase(
  "U26 texts that a collation takes for equal are an error at the cursor, not left out",
  async (tables) => {
    const collation = {
      sqlite: "TEXT COLLATE NOCASE",
      postgres: "TEXT COLLATE folding",
      mysql: "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
    }[tables.dialect];
    if (tables.dialect === "postgres") {
      await tables.run(
        "CREATE COLLATION folding (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
      );
    }
    await tables.run(
      `CREATE TABLE words (word ${collation} NOT NULL)`,
      "INSERT INTO words VALUES ('alpha'), ('beta'), ('BETA'), ('gamma')",
    );
    const seen: string[] = [];
    await walking(
      (iter) =>
        iter.overRecords(
          tables.source("words", { cursor: "word" }),
          ({ word }) => void seen.push(word),
        ),
      async (run) => {
        await runIterations(run, { count: 2 });
        await assert.rejects(performNextStep(run), CursorError);
      },
    );
    assert.deepEqual(seen.map((word) => word.toLowerCase()), ["alpha", "beta"]);
  },
);

onEveryDatabase(
  "JIT-25 all columns of a composite key form the cursor, compared one after the other",
  async (tables) => {
    await tables.run(
      "CREATE TABLE seats (hall VARCHAR(10) NOT NULL, line INTEGER NOT NULL, place INTEGER NOT NULL, " +
        "PRIMARY KEY (hall, line, place))",
      `INSERT INTO seats VALUES ${
        ["east", "west"].flatMap((hall) =>
          [1, 2, 10].flatMap((line) => [1, 2, 3].map((place) => `('${hall}', ${line}, ${place})`))
        ).reverse()
      }`,
    );
    const source = tables.source("seats", { cursor: ["hall", "line", "place"], pageSize: 2 });
    const seen: unknown[] = [];
    await walking(
      (iter) =>
        iter.overRecords(source, ({ hall, line, place }) => void seen.push([hall, line, place])),
      async (run) => {
        await runIterations(run, { count: 4 });
        await assertCursor(run, ["east", 2, 1]);
        await interruptEvery(run, 3);
      },
    );
    assert.equal(seen.length, 18);
    assert.deepEqual(
      seen,
      ["east", "west"].flatMap((hall) =>
        [1, 2, 10].flatMap((line) => [1, 2, 3].map((place) => [hall, line, place]))
      ),
    );
  },
);

onEveryDatabase(
  "JIT-26 instants are compared in full precision: microseconds apart, no row is skipped or repeated",
  async (tables) => {
    const types = {
      sqlite: ["TEXT"],
      postgres: ["TIMESTAMPTZ", "TIMESTAMP", "TIME"],
      mysql: ["DATETIME(6)", "TIMESTAMP(6)", "TIME(6)"],
    }[tables.dialect];
    for (const [at, type] of types.entries()) {
      const day = type.startsWith("TIME") && !type.startsWith("TIMES") ? "" : "2026-03-01 ";
      await tables.run(
        `CREATE TABLE visits_${at} (id INTEGER PRIMARY KEY, seen_at ${type} NOT NULL)`,
        // Two at each instant, all within two milliseconds, and the ids run the other way.
        `INSERT INTO visits_${at} VALUES ${
          range(40).map((n) =>
            `(${100 - n}, '${day}12:00:00.${String(1_000 + 50 * (n >> 1)).padStart(6, "0")}')`
          )
        }`,
      );
      for (const every of [1, 7]) {
        const seen = await walked(
          tables.source(`visits_${at}`, { cursor: ["seen_at", "id"], pageSize: 3 }),
          every,
        );
        const expected = await tables.query(`SELECT id FROM visits_${at} ORDER BY seen_at, id`, []);
        assert.deepEqual(seen.map(({ id }) => id), expected.map(({ id }) => id), type);
      }
    }
  },
);

onEveryDatabase(
  "JIT-26 keys beyond 2^53 and decimals are compared to the last digit",
  async (tables) => {
    const base = 2n ** 60n;
    await tables.run(
      "CREATE TABLE ledger (id BIGINT PRIMARY KEY, amount DECIMAL(30, 10) NOT NULL)",
      `INSERT INTO ledger VALUES ${range(9).map((n) => `(${base + BigInt(n)}, ${n}.0000000001)`)}`,
    );
    const seen = await walked(tables.source("ledger", { pageSize: 2 }), 2);
    assert.deepEqual(seen.map(({ id }) => BigInt(id)), range(9).map((n) => base + BigInt(n)));
    const byAmount = await walked(tables.source("ledger", { cursor: "amount", pageSize: 2 }));
    assert.deepEqual(byAmount.map(({ id }) => BigInt(id)), seen.map(({ id }) => BigInt(id)));
  },
);

onEveryDatabase("RES-48 text keys are in the database's own order", async (tables) => {
  const names = ["Zoe", "adam", "Émile", "eve", "Bob", "bob2", "_x", "1", "a b", "a-b"];
  await tables.run(
    "CREATE TABLE people (name VARCHAR(20) PRIMARY KEY)",
    `INSERT INTO people VALUES ${names.map((name) => `('${name}')`)}`,
  );
  const seen = await walked(tables.source("people", { cursor: "name", pageSize: 2 }));
  const expected = await tables.query("SELECT name FROM people ORDER BY name", []);
  assert.deepEqual(seen.map(({ name }) => name), expected.map(({ name }) => name));
});

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
  "JIT-27 U26 nulls in the key are refused before the first row",
  async (tables) => {
    await contacts(tables);
    await refused(tables.source("contacts", { cursor: ["age", "id"] }), /never null/);
    const without = tables.source("contacts", { cursor: ["age", "id"], where: "age IS NOT NULL" });
    assert.equal((await walked(without)).length, 20);
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
      [{ fetch: () => [{ id: null }], cursor: (row: Row) => row.id }, /never null/],
      [
        { fetch: () => [{ id: 2 }, { id: 1 }], cursor: (row: Row) => row.id },
        /does not come after/,
      ],
      [{ fetch: () => [{ id: 1 }, { id: 1 }], cursor: (row: Row) => row.id }, /tells equal ones/],
      [{ fetch: () => [{ id: 2 ** 60 }], cursor: (row: Row) => row.id }, /has lost digits/],
      [{ fetch: () => "rows", cursor: () => 1 }, /fetch must give an array, not a string/],
      [{ fetch: () => [] }, /cursor must be a function/],
      [[{ id: 1 }], /fetch must be a function/],
      ["contacts", /a string: give \{ fetch, cursor \} or \{ table, dialect, query \}/],
    ];
    for (const [source, message] of bad) {
      const definition = importing(({ iter }) =>
        iter.overRecords(source as RecordSource<Row>, () => assert.fail("no row must be passed"))
      );
      const { engine } = await world.engine({ workflows: [definition] });
      await assert.rejects(performNextStep(await engine.start(definition)), message);
    }
  },
);
