/**
 * Cases about values: what goes in comes out, to the letter and to the millisecond. Only JSON may
 * come back in other words: a column of a type for JSON keeps its value and not its text.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { StoreDriver } from "../../seams/store.ts";
import {
  after,
  assertSame,
  claim,
  CLOSINGS,
  command,
  executionRow,
  finish,
  finished,
  LEASE_MS,
  meaning,
  newExecution,
  send,
  start,
  startClaimed,
  T0,
  workflowRow,
} from "./_builders.ts";
import { type StoreCase, storeCase } from "./_case.ts";

/** Texts that have broken somebody's quoting, collation or encoding before. */
const TEXTS: Readonly<Record<string, string>> = {
  quotes: `it's "quoted" \`here\` and '' there`,
  backslashes: String.raw`C:\new\table\0 \' \\`,
  "placeholders and comments": "? $1 :name @x %s {{prefix}} -- ; /* */ #",
  "white space": " \t line\r\nline \u00a0\u2028",
  "other scripts": "Zażółć Ελληνικά 日本語 العربية עברית",
  "emoji of several code points": "🐢👩‍👩‍👧‍👦🏳️‍🌈",
  "signs beyond the basic plane": "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈 \u{10FFFF}",
  "combining signs in both forms": "e\u0301 é",
};

/** JSON that a database could be tempted to tidy up, and what a codec may write instead. */
const JSON_TEXTS: Readonly<Record<string, string>> = {
  "white space": '{ "b" : 1,\n  "a":[ 1 , 2 ] }',
  "keys in an odd order": '{"z":1,"a":2,"10":3,"9":4}',
  "numbers in odd notations": "[1.0, 1e2, 12345678901234567890, 0.1]",
  "escapes": '"\\u00e9 \\/ \\ud83d\\udc22 \\n \\" \\\\"',
  "characters that only JSON can name": '["\\u0000", "\\ud800", {"\\u0000": 1}]',
  "repeated keys": '{"a":1,"a":2}',
  "the bare value null": "null",
  "text that is no JSON at all": "{not json",
};

async function roundTrip(store: StoreDriver, text: string): Promise<void> {
  const { workflow, execution } = await start(store, {
    name: `name ${text}`,
    heroType: `type ${text}`,
    heroId: `id ${text}`,
    first: newExecution({ stepName: `step ${text}`, queue: `queue ${text}` }),
  });
  const token = `token ${text}`;
  await claim(store, execution.id, { token, worker: `worker ${text}` });
  const progress = { done: 1, total: null, message: `message ${text}` };
  assert.deepEqual(
    await store.checkpoint([{ executionId: execution.id, token, progress }], {
      now: T0,
      leaseMs: LEASE_MS,
    }),
    ["held"],
  );
  const row = await workflowRow(store, workflow.id);
  assert.deepEqual(
    [row.name, row.heroType, row.heroId, row.currentStepName, row.nextStepName],
    [`name ${text}`, `type ${text}`, `id ${text}`, `step ${text}`, `step ${text}`],
  );
  const ran = await executionRow(store, execution.id);
  assert.deepEqual(
    [ran.stepName, ran.queue, ran.token, ran.worker, ran.progress],
    [`step ${text}`, `queue ${text}`, token, `worker ${text}`, progress],
  );
  const sent = await send(store, workflow.id, { name: text, idempotencyKey: text });
  assert.deepEqual(await store.signals(workflow.id), [sent.signal]);
  assert.deepEqual([sent.signal.name, sent.signal.idempotencyKey], [text, text]);
  const byHero = { names: [`name ${text}`], heroType: `type ${text}`, heroId: `id ${text}` };
  const listed = await store.list({ ...byHero, nextStepName: `step ${text}` }, { limit: 2 });
  assert.deepEqual(listed.map((one) => one.id), [workflow.id]);
  const error = { errorClass: `class ${text}`, message: `error ${text}`, stack: `at ${text}` };
  const failed = { closing: CLOSINGS.failure, error, workflowState: "paused" as const };
  await finish(store, finished({ execution: ran }, { ...failed, nextStepName: ran.stepName }));
  const closed = await executionRow(store, execution.id);
  assert.deepEqual(
    [closed.errorClass, closed.errorMessage, closed.errorStack],
    [error.errorClass, error.message, error.stack],
  );
}

/** Stores a text in every JSON field; it must come back saying the same. */
async function jsonRoundTrip(store: StoreDriver, text: string): Promise<void> {
  const says = meaning(text);
  const { workflow, execution } = await start(store, {
    input: text,
    metadata: text,
    jobOptions: text,
    first: newExecution({ cursor: text, metadata: text }),
  });
  const row = await workflowRow(store, workflow.id);
  const inserted = await executionRow(store, execution.id);
  const { signal } = await send(store, workflow.id, { payload: text });
  assertSame(await store.signals(workflow.id), [signal]);
  const claimed = await claim(store, execution.id);
  for (
    const field of [
      ...[row.input, row.metadata, row.jobOptions, inserted.cursor, inserted.metadata],
      ...[signal.payload, claimed.execution.cursor, claimed.execution.metadata],
    ]
  ) {
    assert.deepEqual(meaning(field), says);
  }
  const moved = `[1,${text}]`;
  const beat = { executionId: execution.id, token: "token-1", cursor: moved };
  assert.deepEqual(await store.checkpoint([beat], { now: T0, leaseMs: LEASE_MS }), ["held"]);
  assert.deepEqual(
    meaning((await executionRow(store, execution.id)).cursor),
    meaning(moved),
  );
  await finish(store, finished(claimed, { metadata: `[2,${text}]`, keepCursor: true }));
  const closed = await executionRow(store, execution.id);
  assertSame(
    { cursor: closed.cursor, metadata: closed.metadata },
    { cursor: moved, metadata: `[2,${text}]` },
  );
}

/** The cases about values. */
export const valueCases: readonly StoreCase[] = [
  ...Object.entries(TEXTS).map(([what, text]) =>
    storeCase(`text with ${what} comes back as it was`, (store) => roundTrip(store, text))
  ),
  ...Object.entries(JSON_TEXTS).map(([what, text]) =>
    storeCase(
      `AUD-14 AUD-21 JSON comes back as the same value: ${what}`,
      (store) => jsonRoundTrip(store, text),
    )
  ),

  storeCase("JSON of 100 KB comes back as it was", async (store) => {
    const items = Array.from({ length: 2_500 }, (_, at) => ({ at, text: "żółw 🐢 'x' \"y\"" }));
    const text = JSON.stringify(items);
    assert.ok(new TextEncoder().encode(text).byteLength > 100_000, "the text must be large enough");
    await jsonRoundTrip(store, text);
  }),

  storeCase("U35 the longest error that the engine stores fits", async (store) => {
    const claimed = await startClaimed(store);
    const error = {
      errorClass: "E".repeat(255),
      message: "🐢".repeat(2_000),
      stack: "żółw at line 1\n".repeat(800),
    };
    await finish(
      store,
      finished(claimed, {
        closing: CLOSINGS.failure,
        error,
        workflowState: "paused",
        nextStepName: "first",
      }),
    );
    const row = await executionRow(store, claimed.execution.id);
    assert.equal(row.errorClass, error.errorClass);
    assert.equal(row.errorMessage, error.message);
    assert.equal(row.errorStack, error.stack);
  }),

  storeCase("empty texts are not null", async (store) => {
    const { workflow, execution } = await start(store, { heroId: "", input: '""' });
    assert.equal((await workflowRow(store, workflow.id)).heroId, "");
    const { signal } = await send(store, workflow.id, { idempotencyKey: "" });
    assert.equal(signal.idempotencyKey, "");
    const again = await store.signal(
      workflow.id,
      { name: "other", payload: null, idempotencyKey: "", graceMs: 0 },
      { now: T0 },
    );
    assert.equal(again.kind, "known");
    const claimed = await claim(store, execution.id);
    const error = { errorClass: "Error", message: "", stack: null };
    const failed = { closing: CLOSINGS.failure, error, workflowState: "paused" as const };
    await finish(store, finished(claimed, { ...failed, nextStepName: "first" }));
    const row = await executionRow(store, execution.id);
    assert.deepEqual([row.errorMessage, row.errorStack], ["", null]);
  }),

  storeCase("SCH-25 instants come back to the millisecond, near and far", async (store) => {
    const instants = [
      "2026-03-01T12:00:00.001Z",
      "2026-03-01T11:59:59.999Z",
      "2026-03-29T01:30:00.500Z",
      "2026-10-25T00:59:59.999Z",
      "2038-01-19T03:14:08.123Z",
      "2999-12-31T23:59:59.999Z",
      "1970-01-01T00:00:00.001Z",
    ].map((text) => new Date(text));
    for (const [at, instant] of instants.entries()) {
      const first = newExecution({ scheduledFor: instant, waitingFor: "x", waitUntil: instant });
      const { execution } = await start(store, { heroId: String(at), first }, { now: instant });
      const row = await executionRow(store, execution.id);
      for (const value of [row.scheduledFor, row.waitUntil, row.wakeAt, row.createdAt]) {
        assert.deepEqual(value, instant);
      }
    }
  }),

  storeCase("priorities are whole numbers of both signs", async (store) => {
    for (const priority of [-2_147_483_648, -1, 0, 1, 2_147_483_647]) {
      const first = newExecution({ priority });
      const { execution, job } = await start(store, { heroId: String(priority), first });
      assert.equal(job?.priority, priority);
      assert.equal((await executionRow(store, execution.id)).priority, priority);
    }
  }),

  storeCase("progress keeps fractions, large numbers and what is unknown", async (store) => {
    const { execution } = await startClaimed(store);
    const values = [
      { done: 0, total: null, message: null },
      { done: 0.1 + 0.2, total: 1 / 3, message: "" },
      { done: -1.5, total: 0, message: "back" },
      { done: Number.MAX_SAFE_INTEGER, total: 1e300, message: "all of it" },
    ];
    for (const progress of values) {
      const beat = { executionId: execution.id, token: "token-1", progress };
      await store.checkpoint([beat], { now: T0, leaseMs: LEASE_MS });
      assert.deepEqual((await executionRow(store, execution.id)).progress, progress);
    }
  }),

  storeCase(
    "rows that were handed in or out can be changed without changing what is stored",
    async (store) => {
      const due = after(60_000);
      const now = after(0);
      const { workflow, execution } = await start(
        store,
        { first: newExecution({ scheduledFor: due }) },
        { now },
      );
      const read = await executionRow(store, execution.id);
      for (const date of [due, now, read.scheduledFor, workflow.createdAt, execution.createdAt]) {
        date.setTime(0);
      }
      assert.deepEqual((await executionRow(store, execution.id)).scheduledFor, after(60_000));
      assert.deepEqual((await executionRow(store, execution.id)).createdAt, T0);
      assert.deepEqual((await workflowRow(store, workflow.id)).createdAt, T0);
      const paused = await command(store, workflow.id, { kind: "pause" }, { now: after(5) });
      paused.workflow.transitionedAt?.setTime(0);
      assert.deepEqual((await workflowRow(store, workflow.id)).transitionedAt, after(5));
    },
  ),
];
