/** The keys of tables under a real engine: what a database takes for equal, and for the next one. */

import assert from "node:assert/strict";
import { CursorError } from "../../mod.ts";
import {
  assertCursor,
  interruptEvery,
  performNextStep,
  runIterations,
} from "../../src/testing/mod.ts";
import { range } from "./_chain.ts";
import { contacts, onEveryDatabase, refused, walked, walking } from "./_tables.ts";

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

onEveryDatabase(
  "JIT-27 U26 nulls in the key are refused before the first row",
  async (tables) => {
    await contacts(tables);
    await refused(tables.source("contacts", { cursor: ["age", "id"] }), /never null/);
    const without = tables.source("contacts", { cursor: ["age", "id"], where: "age IS NOT NULL" });
    assert.equal((await walked(without)).length, 20);
  },
);
