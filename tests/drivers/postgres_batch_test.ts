import assert from "node:assert/strict";
import fc from "fast-check";
import { batchStatement, type Types } from "../../drivers/postgres/batch.ts";
import { createFly } from "../../drivers/postgres/flight.ts";
import { createMessages } from "../../drivers/postgres/messages.ts";
import type { Column } from "../../drivers/sql/dialect.ts";
import { postgresTest, testPool } from "./_postgres.ts";

const TYPES: Types = {
  id: "bigint",
  text: "text",
  json: "jsonb",
  integer: "integer",
  real: "double precision",
  boolean: "boolean",
  time: "timestamptz",
};

const COLUMNS: readonly Column[] = [
  { name: "id", kind: "id" },
  { name: "name", kind: "text" },
  { name: "size", kind: "integer" },
  { name: "ratio", kind: "real" },
  { name: "open", kind: "boolean" },
];

/** Text that PostgreSQL can hold: any but NUL. */
const text = fc.oneof(
  fc.string({ unit: "binary" }).map((one) => one.replaceAll("\0", "").toWellFormed()),
  fc.constantFrom(
    "NULL",
    "null",
    "nUlL",
    "",
    " ",
    "{}",
    '"',
    "\\",
    "a,b",
    "é🐢",
    "'",
    "$1",
    "x\ty",
  ),
);

const row = fc.tuple(
  fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }).map(String),
  fc.option(text),
  fc.option(fc.integer()),
  fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })),
  fc.option(fc.boolean()),
);

/** Batches in which some columns are the same in all rows, and some are not. */
const batch = fc.tuple(
  fc.array(row, { minLength: 1, maxLength: 8 }),
  fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
).map(([rows, same]) =>
  rows.map((one) => one.map((value, at) => same[at] ? rows[0]?.[at] : value))
);

postgresTest("whatever is in a batch arrives as it was, in its place", async (database) => {
  await using pool = testPool(database.url, { max: 1 });
  const client = await pool.connect();
  const flies = [true, false].map((named) => createFly({ names: () => named }));
  const statement = batchStatement(
    COLUMNS,
    TYPES,
    ({ from, count, value }) =>
      `SELECT ${COLUMNS.map(({ name }) => `${value(name)} AS ${name}`).join(", ")}, ` +
      `u.place, ${count} AS count FROM ${from} ORDER BY u.place`,
  );
  const texts = new Set<string>();
  try {
    await fc.assert(
      fc.asyncProperty(batch, async (rows) => {
        const ask = statement(rows as never);
        texts.add(ask.text);
        for (const fly of flies) {
          const [answer] = await fly(client, [ask]);
          const read = answer?.rows.map(({ id, name, size, ratio, open }) => [
            id,
            name,
            size === null ? null : Number(size),
            ratio === null ? null : Number(ratio),
            open === null ? null : open === "t",
          ]);
          assert.deepEqual(
            read,
            rows.map((one) => one.map((value) => Object.is(value, -0) ? 0 : value)),
          );
          assert.equal(answer?.rows[0]?.count, String(rows.length));
        }
      }),
      { numRuns: 300 },
    );
  } finally {
    client.release();
  }
  assert.ok(texts.size > 3 && texts.size <= 11, `${texts.size} texts`);
});

postgresTest(
  "a flight answers each statement, and fails with the first that fails",
  async (database) => {
    await using pool = testPool(database.url, { max: 1 });
    const client = await pool.connect();
    const fly = createFly({ names: () => true });
    const ask = (sql: string, ...params: string[]) => ({ text: sql, params });
    try {
      await fly(client, [ask("CREATE TABLE t (n int PRIMARY KEY)")]);
      for (let times = 0; times < 3; times++) {
        const answers = await fly(client, [
          ask("DELETE FROM t"),
          ask("INSERT INTO t SELECT generate_series(1, $1::int)", "3"),
          ask("SELECT n, n * 2 AS twice FROM t WHERE n > $1 ORDER BY n", "1"),
          ask("SELECT n FROM t WHERE n > $1", "9"),
          ask("UPDATE t SET n = n + 10"),
        ]);
        assert.deepEqual(answers.map((one) => one.command), [
          ...["DELETE", "INSERT", "SELECT", "SELECT", "UPDATE"],
        ]);
        assert.deepEqual(answers[2]?.rows, [{ n: "2", twice: "4" }, { n: "3", twice: "6" }]);
        assert.deepEqual(answers[3]?.rows, []);
        assert.deepEqual([answers[1]?.changes, answers[4]?.changes], [3, 3]);
        // The whole flight is one transaction: what failed left nothing, also not what came before.
        const failing = fly(client, [
          ask("DELETE FROM t"),
          ask("INSERT INTO t VALUES ($1), ($1)", "1"),
          ask("SELECT 'never'"),
        ]);
        await assert.rejects(failing, { code: "23505" });
        const [left] = await fly(client, [ask("SELECT count(*) AS count FROM t")]);
        assert.equal(left?.rows[0]?.count, "3");
      }
    } finally {
      client.release();
    }
  },
);

Deno.test("messages of any length are written whole", () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.string({ unit: "binary", maxLength: 3_000 }))), (values) => {
      const messages = createMessages();
      messages.bind("s", values);
      messages.sync();
      const bytes = messages.bytes();
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      assert.equal(String.fromCharCode(bytes[0] as number), "B");
      const size = view.getInt32(1);
      assert.equal(bytes.byteLength, 1 + size + 5);
      assert.equal(String.fromCharCode(bytes[1 + size] as number), "S");
      const utf8 = new TextEncoder();
      const lengths = values.map((one) => one === null ? 0 : utf8.encode(one).byteLength);
      const total = lengths.reduce((sum, one) => sum + one + 4, 0);
      // The length, two names with their ends, three counts, and the values.
      assert.equal(size, 4 + 1 + 2 + 2 + 2 + total + 2);
    }),
  );
});
