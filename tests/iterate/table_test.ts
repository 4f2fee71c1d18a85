import assert from "node:assert/strict";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import type { TableRow, TableSource } from "../../src/define/context.ts";
import { CursorError, InvalidInputError } from "../../src/errors.ts";
import { describeTable, pageStatement, tableRecords } from "../../src/iterate/table.ts";
import { runChain } from "./_harness.ts";

/** A database with orders, and a source that notes its statements. */
function shop(overrides: Partial<TableSource> = {}): TableSource & {
  statements: string[];
  database: DatabaseSync;
  [Symbol.dispose](): void;
} {
  const database = new DatabaseSync(":memory:");
  database.exec(
    `CREATE TABLE "order" (id INTEGER PRIMARY KEY, day TEXT, region TEXT, amount REAL)`,
  );
  const insert = database.prepare(`INSERT INTO "order" VALUES (?, ?, ?, ?)`);
  for (let id = 1; id <= 30; id++) {
    insert.run(id, `2026-01-0${1 + (id * 7) % 5}`, id % 3 ? "north" : "south", id / 2);
  }
  const statements: string[] = [];
  return {
    ...{ table: "order", dialect: "sqlite", statements, database, pageSize: 4 },
    query(sql: string, params: readonly unknown[]): TableRow[] {
      statements.push(sql);
      return database.prepare(sql).all(...params as SQLInputValue[]);
    },
    [Symbol.dispose]: () => database.close(),
    ...overrides,
  };
}

function source(overrides: Partial<TableSource>): TableSource {
  return { table: "users", dialect: "sqlite", query: () => [], ...overrides };
}

function pageOf(overrides: Partial<TableSource>, after: unknown): [string, readonly unknown[]] {
  const { sql, params } = pageStatement(describeTable(source(overrides)), { after, limit: 10 });
  return [sql, params];
}

Deno.test("RES-48 rows of a real table come in the order of the key, over any number of executions", async () => {
  using orders = shop();
  const done: number[] = [];
  const chain = await runChain(
    ({ iter }) => iter.overRecords(orders, (row) => void done.push(row.id)),
    { maxIterations: 7 },
  );
  assert.deepEqual(done, Array.from({ length: 30 }, (_, i) => i + 1));
  assert.equal(chain.cursor, "30");
  assert.equal(orders.statements[0], 'SELECT * FROM "order" ORDER BY "id" LIMIT 4');
  assert.equal(
    orders.statements[1],
    'SELECT *, ("id" = ?) AS pawl_same FROM "order" WHERE "id" >= ? ORDER BY "id" LIMIT 5',
  );
});

Deno.test("RES-50 JIT-24 JIT-25 other columns order the rows, the last one tells equal ones apart", async () => {
  using orders = shop({ cursor: ["day", "id"], columns: ["amount"] });
  const done: TableRow[] = [];
  await runChain(({ iter }) => iter.overRecords(orders, (row) => void done.push(row)), {
    maxIterations: 3,
  });
  const expected = orders.database.prepare(`SELECT amount, day, id FROM "order" ORDER BY day, id`);
  assert.deepEqual(done.map((row) => ({ ...row })), expected.all().map((row) => ({ ...row })));
});

Deno.test("RES-50 a column with ties and no tie-breaker is an error, rows are not left out", async () => {
  using orders = shop({ cursor: "day" });
  await assert.rejects(
    runChain(({ iter }) => iter.overRecords(orders, () => {})),
    (error: unknown) =>
      error instanceof CursorError && /tells equal ones apart/.test(error.message),
  );
});

Deno.test("RES-50 U26 equal keys on both sides of a page's end are an error, rows are not left out", async () => {
  for (const column of ["rank INTEGER", "rank TEXT COLLATE NOCASE"]) {
    using orders = shop({ cursor: "rank", table: "ranked" });
    orders.database.exec(`CREATE TABLE ranked (${column})`);
    const values = column.includes("TEXT")
      ? "('a'), ('b'), ('c'), ('d'), ('D')"
      : "(1), (2), (3), (4), (4)";
    orders.database.exec(`INSERT INTO ranked VALUES ${values}`);
    const done: unknown[] = [];
    await assert.rejects(
      runChain(({ iter }) => iter.overRecords(orders, ({ rank }) => void done.push(rank))),
      (error: unknown) =>
        error instanceof CursorError && /several rows have the cursor's key/.test(error.message),
    );
    assert.equal(done.length, 4, "the page before was done");
  }
});

Deno.test("RES-52 JIT-29 batches of a table with a condition", async () => {
  using orders = shop({ where: { sql: "region = ? OR amount > ?", params: ["south", 14] } });
  const batches: number[][] = [];
  await runChain(({ iter }) =>
    iter.overBatches(orders, { batchSize: 4 }, (rows) => {
      batches.push(rows.map(({ id }) => id));
      const ids = rows.map(({ id }) => id).join(", ");
      orders.database.exec(`DELETE FROM "order" WHERE id IN (${ids})`);
    })
  );
  assert.deepEqual(batches, [[3, 6, 9, 12], [15, 18, 21, 24], [27, 29, 30]]);
  assert.equal(orders.statements.length, 4);
});

Deno.test("JIT-27 U26 nulls in the key are refused before the first item", async () => {
  using orders = shop({ cursor: ["region", "id"] });
  orders.database.exec(`UPDATE "order" SET region = NULL WHERE id = 20`);
  await assert.rejects(
    runChain(({ iter }) => iter.overRecords(orders, () => assert.fail("called"))),
    /never null/,
  );
});

Deno.test("U26 on Postgres, where nulls come last and compare as unknown, they are looked for first", async () => {
  const statements: [string, readonly unknown[]][] = [];
  const records = tableRecords(source({
    ...{ dialect: "postgres", cursor: ["a", "b"], where: { sql: "x = ?", params: [1] } },
    query: (sql, params) => (statements.push([sql, params]), sql.includes("IS NULL") ? [{}] : []),
  }));
  await assert.rejects(
    async () => await records.fetch({ after: null, limit: 5 }),
    /is null in some/,
  );
  assert.deepEqual(statements, [[
    'SELECT 1 FROM "users" WHERE (x = $1) AND ("a" IS NULL OR "b" IS NULL) LIMIT 1',
    [1],
  ]]);
  await records.fetch({ after: [1, 2], limit: 5 });
  assert.equal(statements.length, 2);
});

Deno.test("JIT-26 where a client makes dates of a column, the key is its text in full precision", async () => {
  const row = (): TableRow => ({
    ...{ id: 5, at: new Date("2026-01-01T00:00:00.123Z") },
    ...{ pawl_key_0: "2026-01-01 00:00:00.123456+00", pawl_key_1: "5" },
  });
  const records = tableRecords(source({
    ...{ dialect: "postgres", cursor: ["at", "id"] },
    query: (sql) => sql.includes("IS NULL") ? [] : [row()],
  }));
  const [fetched] = await records.fetch({ after: null, limit: 5 });
  assert.deepEqual(records.cursor(fetched!), ["2026-01-01 00:00:00.123456+00", 5]);
  assert.deepEqual(Object.keys(fetched!), ["id", "at"]);
});

Deno.test("each dialect compares and quotes in its own way", () => {
  const cursor = ["a", "b", "c"];
  const where = { sql: "x = ? AND (y = '?' OR z = ?)", params: [8, 9] };
  assert.deepEqual(pageOf({ cursor, where, columns: ["n"] }, [1, 2, 3]), [
    `SELECT "n", "a", "b", "c", ("a" = ? AND "b" = ? AND "c" = ?) AS pawl_same FROM "users" ` +
    `WHERE (x = ? AND (y = '?' OR z = ?)) ` +
    `AND ("a", "b", "c") >= (?, ?, ?) ORDER BY "a", "b", "c" LIMIT 11`,
    [1, 2, 3, 8, 9, 1, 2, 3],
  ]);
  assert.deepEqual(
    pageOf({ cursor: ["a", "b"], where, table: "app.users", dialect: "postgres" }, [1, 2]),
    [
      'SELECT *, CAST("a" AS TEXT) AS pawl_key_0, CAST("b" AS TEXT) AS pawl_key_1, ' +
      '("a" = $3 AND "b" = $4) AS pawl_same ' +
      `FROM "app"."users" WHERE (x = $1 AND (y = '?' OR z = $2)) ` +
      'AND ("a", "b") >= ($3, $4) ORDER BY "a", "b" LIMIT 11',
      [8, 9, 1, 2],
    ],
  );
  assert.deepEqual(pageOf({ cursor: ["a", "b"], columns: ["a"], dialect: "mysql" }, [1, 2]), [
    "SELECT `a`, `b`, CAST(`a` AS CHAR) AS pawl_key_0, CAST(`b` AS CHAR) AS pawl_key_1, " +
    "(`a` = ? AND `b` = ?) AS pawl_same " +
    "FROM `users` WHERE `a` >= ? AND (`a` > ? OR (`a` = ? AND `b` >= ?)) " +
    "ORDER BY `a`, `b` LIMIT 11",
    [1, 2, 1, 1, 1, 2],
  ]);
});

Deno.test("the spelt-out comparison finds the same rows as the comparison of rows", () => {
  using orders = shop();
  const { database } = orders;
  const names = { cursor: ["region", "day", "id"], table: "order" };
  for (const row of database.prepare(`SELECT region, day, id FROM "order"`).all()) {
    const after = [row.region, row.day, row.id];
    const [rowValues, short] = pageOf(names, after);
    const [expanded, long] = pageOf({ ...names, dialect: "mysql" }, after);
    assert.deepEqual(
      database.prepare(expanded).all(...long as SQLInputValue[]).map(({ id }) => id),
      database.prepare(rowValues).all(...short as SQLInputValue[]).map(({ id }) => id),
    );
  }
});

Deno.test("Postgres conditions may number their parameters", () => {
  const where = { sql: "x = $2 AND y = $1 AND z = $2", params: ["a", "b"] };
  const [sql, params] = pageOf({ where, dialect: "postgres", columns: ["id"] }, 7);
  assert.match(sql, /\("id" = \$3\).* WHERE \(x = \$2 AND y = \$1 AND z = \$2\) AND "id" >= \$3 /);
  assert.deepEqual(params, ["a", "b", 7]);
});

Deno.test("JIT-23 a condition with its own order or limit, or that breaks out, is refused", () => {
  const refused = [
    "a = 1 ORDER BY b",
    "a = 1 limit 5",
    "a = 1 OFFSET 5",
    "a = 1 GROUP BY b",
    "a = 1 UNION SELECT * FROM x",
    "a = 1) OR (b = 1",
    "(a = 1",
    "a = 1 -- b",
    "a = 1 /* b */",
    "a = 1; DROP TABLE users",
    "a = 'b",
    "",
    "a = ?",
    "a = $1",
    { sql: "a = ?", params: [1, 2] },
    { sql: "a = ? AND b = $1", params: [1] },
    { sql: 5 },
  ];
  for (const where of refused) {
    assert.throws(
      () => describeTable(source({ where } as never)),
      InvalidInputError,
      String(where),
    );
  }
  assert.throws(
    () => describeTable(source({ where: "a = 1 # b", dialect: "mysql" })),
    InvalidInputError,
  );
  const accepted = [
    "id IN (SELECT user_id FROM orders ORDER BY day LIMIT 5)",
    `name = 'limit' AND "order" = 1`,
    "name = 'it''s -- fine; (really'",
    "borders = 1 AND limited = 2",
  ];
  for (const where of accepted) {
    assert.equal(describeTable(source({ where })).where?.sql, where);
  }
});

Deno.test("JIT-28 joins, expressions and names that are none are refused", () => {
  const refused: Partial<Record<keyof TableSource, unknown>>[] = [
    { table: "users JOIN orders" },
    { table: "users, orders" },
    { table: 'users" --' },
    { table: "" },
    { table: "app..users" },
    { table: 5 },
    { cursor: "users.id" },
    { cursor: "lower(name)" },
    { cursor: [] },
    { cursor: ["id", ""] },
    { columns: ["id as x"] },
    { columns: ["*"] },
    { dialect: "oracle" },
    { dialect: undefined },
    { query: undefined },
  ];
  for (const overrides of refused) {
    assert.throws(
      () => tableRecords(source(overrides as Partial<TableSource>)),
      InvalidInputError,
      JSON.stringify(overrides),
    );
  }
});

Deno.test("a cursor with another number of columns than the key is refused", () => {
  assert.throws(() => pageOf({ cursor: ["a", "b"] }, 5), InvalidInputError);
  assert.throws(() => pageOf({}, [1, 2]), InvalidInputError);
});
