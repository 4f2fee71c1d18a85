import assert from "node:assert/strict";
import fc from "fast-check";
import mysql from "mysql2/promise";
import { inlined, literal } from "../../drivers/mysql/literals.ts";
import { mysqlDialect } from "../../drivers/mysql/dialect.ts";
import { mysqlStore } from "../../drivers/mysql/mod.ts";
import { StoreError } from "../../src/errors.ts";
import {
  dueOptions,
  expectKind,
  finished,
  newExecution,
  newSignal,
  newWorkflow,
  send,
  start,
  T0,
} from "../../src/testing/store_cases/_builders.ts";
import { hostilePool, mysqlTest, queryOn, storeTest } from "./_mysql.ts";

const HOSTILE: readonly string[] = [
  "'; DROP TABLE pawl_workflows; --",
  "' OR '1'='1",
  "\\",
  "\\'",
  "\\' OR 1=1 -- ",
  "a\\",
  '"quoted"',
  "`ticked`",
  "/* comment */ -- and # more",
  "?",
  "?? :name @@version",
  ":length",
  "100%_",
  "line\nbreak\r\ttab",
  "\u0000 zero \u001a substitute",
  "emoji 🐢👩‍👩‍👧 and żółw",
  "\u{10ffff}\ufffd",
  " leading and trailing ",
  "x'414243'",
  "_utf8mb4 0x41",
  "{{prefix}} ${value} $1",
  "NULL",
  "",
];

/** Pairs that many databases take for the same. */
const TWINS: readonly (readonly [string, string])[] = [
  ["ann", "Ann"],
  ["resume", "résumé"],
  ["é", "e\u0301"],
  ["ann", "ann "],
  ["ann", "ann\u0000"],
  ["ss", "ß"],
  ["1", "01"],
  ["🐢", "🐇"],
  ["İ", "i"],
];

storeTest(
  "text comes back to the letter, whatever is in it, one by one and in batches",
  async ({ store }) => {
    const heroes = HOSTILE.filter((text) => text !== "");
    const single = await start(store, { heroId: heroes[0] as string, name: "single" });
    assert.equal((await store.get(single.workflow.id))?.heroId, heroes[0]);
    const created = await store.create(
      heroes.map((heroId) =>
        newWorkflow({ heroId, input: JSON.stringify(heroId), metadata: heroId })
      ),
      { now: T0 },
    );
    for (const [at, heroId] of heroes.entries()) {
      const { id } = expectKind(created[at], "created").workflow;
      const row = await store.get(id);
      const found = [row?.heroId, row?.input, row?.metadata];
      assert.deepEqual(found, [heroId, JSON.stringify(heroId), heroId]);
      const listed = await store.list({ heroId, names: ["onboarding"] }, { limit: 5 });
      assert.deepEqual(listed.map((one) => one.id), [id]);
    }
  },
);

storeTest("a batch of ends with hostile texts is written to the letter", async ({ store }) => {
  await store.create(HOSTILE.map((_, at) => newWorkflow({ heroId: `${at}` })), { now: T0 });
  const claims = await store.claimDue(dueOptions());
  const results = await store.finish(
    claims.map((one, at) =>
      finished(one, {
        closing: { state: "failed", outcome: "failed", cause: "exception" },
        error: { errorClass: "E", message: HOSTILE[at] as string, stack: HOSTILE[at] as string },
        metadata: JSON.stringify({ text: HOSTILE[at] }),
        next: at % 2 === 0 ? newExecution({ stepName: HOSTILE[at] || "empty" }) : null,
        workflowState: "ready",
      })
    ),
    { now: T0 },
  );
  for (const [at, result] of results.entries()) {
    const { execution, next } = expectKind(result, "done");
    const row = await store.getExecution(execution.id);
    const texts = [row?.errorMessage, row?.errorStack, row?.metadata];
    const text = HOSTILE[at] as string;
    assert.deepEqual(texts, [text, text, JSON.stringify({ text })]);
    if (next === null) continue;
    assert.equal((await store.getExecution(next.id))?.stepName, text || "empty");
  }
});

storeTest(
  "checkpoints with hostile cursors are stored to the letter, also in batches",
  async ({ store }) => {
    await store.create(HOSTILE.map((_, at) => newWorkflow({ heroId: `${at}` })), { now: T0 });
    const claims = await store.claimDue(dueOptions({ token: "to\\ken '1'" }));
    for (const size of [1, claims.length]) {
      const answers = await store.checkpoint(
        claims.slice(0, size).map(({ execution }, at) => ({
          executionId: execution.id,
          token: "to\\ken '1'",
          cursor: JSON.stringify(HOSTILE[at]),
          progress: { done: at + 0.5, total: null, message: HOSTILE[at] as string },
        })),
        { now: T0, leaseMs: 1_000 },
      );
      assert.deepEqual(answers, Array(size).fill("held"));
      for (const [at, { execution }] of claims.slice(0, size).entries()) {
        const row = await store.getExecution(execution.id);
        assert.equal(row?.cursor, JSON.stringify(HOSTILE[at]));
        assert.deepEqual(row?.progress, { done: at + 0.5, total: null, message: HOSTILE[at] });
      }
    }
  },
);

storeTest(
  "HERO-03 texts that look alike are different heroes, names, queues and signals",
  async ({ store }) => {
    for (const [one, two] of TWINS) {
      const first = await start(store, { heroId: one, name: "twins" });
      const second = await start(store, { heroId: two, name: "twins" });
      const [again] = await store.create([newWorkflow({ heroId: two, name: "twins" })], {
        now: T0,
      });
      assert.equal(expectKind(again, "duplicate").existingId, second.workflow.id, two);
      const listed = await store.list({ heroId: one }, { limit: 5 });
      assert.deepEqual(listed.map((row) => row.id), [first.workflow.id], one);
      await send(store, first.workflow.id, newSignal({ name: one, idempotencyKey: one }));
      await send(store, first.workflow.id, newSignal({ name: one, idempotencyKey: two }));
      for (const { workflow } of [first, second]) {
        await store.command(workflow.id, { kind: "cancel" }, { now: T0 });
      }
      await start(store, { heroId: "q", name: one, first: newExecution({ queue: one }) });
      await start(store, { heroId: "q", name: two, first: newExecution({ queue: two }) });
      const claimed = await store.claimDue(dueOptions({ queues: [two] }));
      assert.deepEqual(claimed.map((row) => row.workflow.name), [two]);
      const counts = (await store.counts()).filter(({ workflow }) => [one, two].includes(workflow));
      assert.deepEqual(counts.map((row) => row.count), [1, 1]);
      await store.finish(claimed.map((row) => finished(row)), { now: T0 });
      await store.finish(
        (await store.claimDue(dueOptions())).map((row) => finished(row)),
        { now: T0 },
      );
      await store.purge({ before: new Date(T0.getTime() + 1), limit: 100 });
    }
  },
);

storeTest("any text comes back as it was, and any two are told apart", ({ store }) =>
  fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.string({ unit: "binary", minLength: 1, maxLength: 40 }), {
        minLength: 1,
        maxLength: 6,
      }),
      fc.uuid(),
      async (texts, name) => {
        const created = await store.create(
          texts.map((heroId) => newWorkflow({ name, heroId, input: heroId })),
          { now: T0 },
        );
        const rows = await Promise.all(
          created.map((one) => store.get(expectKind(one, "created").workflow.id)),
        );
        assert.deepEqual(rows.map((row) => [row?.heroId, row?.input]), texts.map((t) => [t, t]));
      },
    ),
    { numRuns: 60 },
  ));

function shown(value: unknown): string | null {
  return value === null ? null : String(typeof value === "boolean" ? Number(value) : value);
}

mysqlTest("a literal means the same in every mode of the server", async ({ url }) => {
  const connection = await mysql.createConnection({ uri: url });
  try {
    for (
      const mode of ["", "NO_BACKSLASH_ESCAPES", "ANSI", "TRADITIONAL", "ANSI,NO_BACKSLASH_ESCAPES"]
    ) {
      await connection.query(`SET SESSION sql_mode = '${mode}'`);
      const values = fc.array(
        fc.oneof(
          fc.string({ unit: "binary" }),
          fc.constantFrom(...HOSTILE),
          fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
          fc.boolean(),
          fc.constant(null),
        ),
        { minLength: 1 },
      );
      await fc.assert(
        fc.asyncProperty(values, fc.boolean(), async (given, cautious) => {
          const columns = given.map((_, at) => `? AS v${at}`).join(", ");
          const [rows] = await connection.query({
            sql: inlined(`SELECT ${columns}`, given, { cautious }),
            supportBigNumbers: true,
            bigNumberStrings: true,
          } as mysql.QueryOptions);
          const found = Object.values((rows as Record<string, unknown>[])[0] ?? {});
          assert.deepEqual(found.map(shown), given.map(shown));
        }),
        { numRuns: 40 },
      );
    }
  } finally {
    await connection.end();
  }
});

Deno.test("a cautious literal holds nothing that a formatter could take for a place", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
    assert.match(literal(text, { cautious: true }), /^_utf8mb4( X)?'\w*'$/);
  }));
});

Deno.test("a literal of what the database cannot hold is refused", () => {
  for (const value of [NaN, Infinity, -Infinity]) {
    assert.throws(() => literal(value, { cautious: false }), StoreError);
  }
  assert.equal(literal(1e21, { cautious: false }), "1e+21");
  assert.equal(literal(-0.1, { cautious: false }), "-0.1");
  assert.throws(() => inlined("SELECT ?, ?", [1], { cautious: false }), StoreError);
  assert.equal(inlined("SELECT '?'", [], { cautious: false }), "SELECT '?'");
});

Deno.test("instants survive to the millisecond, and those beyond the calendar are moved to its end", () => {
  const { timeIn, timeOut } = mysqlDialect.codec("bigint");
  const range = { min: new Date("1000-01-01"), max: new Date("9999-12-31"), noInvalidDate: true };
  fc.assert(fc.property(fc.date(range), (date) => {
    assert.deepEqual(timeOut(timeIn(date)), date);
  }));
  assert.equal(timeIn(new Date(8.64e15)), "9999-12-31 23:59:59.999");
  assert.equal(timeIn(new Date(-8.64e15)), "1000-01-01 00:00:00.000");
  assert.throws(() => timeIn(new Date(NaN)), RangeError);
});

mysqlTest("two processes with different time zones see the same instants", async ({ url }) => {
  const pool = hostilePool(url, { timezone: "-11:00" });
  const [one, two] = [mysqlStore(url), mysqlStore(pool)];
  await one.migrate();
  // In this hour Berlin's clocks show the same time twice.
  const instant = new Date("2026-10-25T00:30:00.123Z");
  const { workflow, execution } = await start(two, {
    first: newExecution({ scheduledFor: instant }),
  }, { now: instant });
  assert.deepEqual((await one.get(workflow.id))?.createdAt, instant);
  assert.deepEqual((await one.getExecution(execution.id))?.scheduledFor, instant);
  const [row] = await queryOn(url, "SELECT scheduled_for FROM pawl_step_executions");
  assert.equal(row?.scheduled_for, "2026-10-25 00:30:00.123");
  await one.close();
  await pool.end();
});

storeTest(
  "lanes are found whatever the queues are called, and however they come and go",
  ({ store }) => {
    let round = 0;
    // Strings of JavaScript and of the database are not in the same order beyond U+FFFF.
    const queue = fc.constantFrom(
      "a",
      "A",
      "a ",
      "\ufffd",
      "🐢",
      "\ud7ff",
      "default",
      "'",
      "\\",
      "z",
    );
    const lane = fc.record({ queue, priority: fc.integer({ min: -3, max: 3 }), dueMs: fc.nat(50) });
    return fc.assert(
      fc.asyncProperty(fc.array(lane, { minLength: 1, maxLength: 12 }), async (all) => {
        const now = new Date(T0.getTime() + ++round * 60_000);
        await store.create(
          all.map(({ queue, priority, dueMs }, at) =>
            newWorkflow({
              heroId: `${round} ${at}`,
              first: newExecution({
                stepName: `step ${at}`,
                queue,
                priority,
                scheduledFor: new Date(now.getTime() + dueMs),
              }),
            })
          ),
          { now },
        );
        const later = new Date(now.getTime() + 100);
        const claims = await store.claimDue(dueOptions({ now: later, token: `token ${round}` }));
        const order = all
          .map((one, at) => ({ ...one, at }))
          .sort((a, b) => a.priority - b.priority || a.dueMs - b.dueMs);
        const found = claims.map(({ execution }) => [
          execution.priority,
          execution.scheduledFor.getTime() - now.getTime(),
        ]);
        assert.deepEqual(found, order.map((one) => [one.priority, one.dueMs]));
        await store.finish(claims.map((one) => finished(one)), { now: later });
      }),
      { numRuns: 30 },
    );
  },
);
