/** Sealed values: what comes back, what is refused, and what the rows show. */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import {
  type Codec,
  CursorError,
  encryptedCodec,
  type EncryptedCodecOptions,
  InvalidInputError,
  jsonCodec,
  policy,
  SealedValueError,
  StoredValueError,
  workflow,
} from "../../mod.ts";
import { isSameJson } from "../../src/state/metadata.ts";
import { performNextStep, testEngine } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { dieWith } from "../run/_dead.ts";
import { deliver, executionAt } from "../run/_story.ts";
import { onEveryStore } from "./_stores.ts";
import { runs, storable } from "./_values.ts";

const OLD = new Uint8Array(32).fill(7);
const NEW = Buffer.from(new Uint8Array(32).fill(9)).toString("base64");
const KEYS = { "2025": OLD, "2026-01": NEW };

function codecOf(over: Partial<EncryptedCodecOptions> = {}): Codec {
  return encryptedCodec({ keys: KEYS, current: "2026-01", ...over });
}

Deno.test("U18 a sealed value comes back equal, and is JSON that shows nothing of it", () => {
  const codec = codecOf();
  fc.assert(
    fc.property(storable, (value) => {
      const text = codec.encode(value);
      assert.deepEqual(codec.decode(text), jsonCodec.decode(jsonCodec.encode(value)));
      const { $pawl, k, v, ...others } = JSON.parse(text);
      assert.deepEqual([$pawl, k, typeof v, others], ["sealed", "2026-01", "string", {}]);
      // Postgres' jsonb hands the text back with other spaces and another order of the keys.
      const reordered = JSON.stringify({ k, v, $pawl }, null, 1);
      assert.deepEqual(codec.decode(reordered), codec.decode(text));
    }),
    { numRuns: runs(300) },
  );
});

Deno.test("U18 the same value is sealed differently each time, and is still the same", () => {
  const codec = codecOf();
  fc.assert(
    fc.property(storable, storable, (one, other) => {
      const [first, second] = [codec.encode(one), codec.encode(one)];
      assert.notEqual(first, second);
      assert.equal(codec.isSame?.(first, second), true);
      const third = codec.encode(other);
      const same = isSameJson(jsonCodec.encode(one), jsonCodec.encode(other));
      assert.equal(codec.isSame?.(first, third), same);
      // A cursor from before the rotation, or from before encryption, has not moved by either.
      assert.equal(codec.isSame?.(first, codecOf({ current: "2025" }).encode(one)), true);
      assert.equal(codec.isSame?.(first, jsonCodec.encode(one)), true);
    }),
    { numRuns: runs(200) },
  );
});

Deno.test("a sealed value with any byte changed is an error, never another value", () => {
  const codec = codecOf();
  fc.assert(
    fc.property(storable, fc.nat(), fc.integer({ min: 1, max: 255 }), (value, place, change) => {
      const bytes = new TextEncoder().encode(codec.encode(value));
      const at = place % bytes.length;
      bytes[at] = (bytes[at] as number) ^ change;
      const text = new TextDecoder().decode(bytes);
      assert.throws(
        () => codec.decode(text),
        (error) => error instanceof SealedValueError || error instanceof CursorError,
        text,
      );
    }),
    { numRuns: runs(1_000) },
  );
});

Deno.test("a sealed value cut short, or with something added, is an error", () => {
  const codec = codecOf();
  const { k, v } = JSON.parse(codec.encode({ iban: "DE02" }));
  const boxes = ["", "AAAA", v.slice(0, -4), `${v}AAAA`, `${v}!`, ` ${v}`, v.replace(/=*$/, "===")];
  for (const box of boxes.filter((one) => one !== v)) {
    const text = JSON.stringify({ $pawl: "sealed", k, v: box });
    assert.throws(() => codec.decode(text), SealedValueError, box);
  }
  for (const odd of [{ k }, { v }, { k: 1, v }, { k, v: null }]) {
    assert.throws(
      () => codec.decode(JSON.stringify({ $pawl: "sealed", ...odd })),
      SealedValueError,
    );
  }
});

Deno.test("values sealed with an older key stay readable, and an unknown key is named", () => {
  const before = codecOf({ keys: { "2025": OLD }, current: "2025" });
  const text = before.encode({ email: "ann@example.org" });
  assert.deepEqual(codecOf().decode(text), { email: "ann@example.org" });
  const without = codecOf({ keys: { "2026-01": NEW } });
  assert.throws(
    () => without.decode(text),
    (error) =>
      error instanceof SealedValueError && error.keyId === "2025" && /"2025"/.test(`${error}`),
  );
  // The name of a key is not enough: another key under it opens nothing, and neither does a key
  // whose box is passed off as another's.
  const wrong = codecOf({ keys: { "2025": new Uint8Array(32), "2026-01": NEW } });
  assert.throws(() => wrong.decode(text), SealedValueError);
  const twice = codecOf({ keys: { a: OLD, b: OLD }, current: "a" });
  const renamed = twice.encode(1).replace('"k":"a"', '"k":"b"');
  assert.throws(() => twice.decode(renamed), SealedValueError);
});

Deno.test("values written in plain before encryption stay readable until they are refused", () => {
  fc.assert(
    fc.property(storable, (value) => {
      const text = jsonCodec.encode(value);
      assert.deepEqual(codecOf().decode(text), jsonCodec.decode(text));
      assert.throws(() => codecOf({ refusePlain: true }).decode(text), SealedValueError);
    }),
    { numRuns: runs(200) },
  );
  const own: Codec = { encode: (value) => `v1:${value}`, decode: (text) => text.slice(3) };
  const codec = codecOf({ codec: own });
  assert.equal(codec.decode("v1:before"), "before");
  assert.equal(codec.decode(codec.encode("after")), "after");
});

Deno.test("encryptedCodec() refuses keys that cannot work, and never shows one", () => {
  const bad: Partial<EncryptedCodecOptions>[] = [
    { current: "2027" },
    { keys: {} },
    { keys: { "2026-01": new Uint8Array(16) } },
    { keys: { "2026-01": "c2VjcmV0c2VjcmV0" } },
    { keys: { "2026-01": 32 as unknown as string } },
    { keys: { "2026-01": NEW, "a b": OLD } },
    { keys: { "2026-01": NEW, "": OLD } },
    { keys: undefined as unknown as Record<string, string> },
  ];
  for (const options of bad) {
    assert.throws(
      () => codecOf(options),
      (error) => error instanceof InvalidInputError && !/c2VjcmV0|CQkJ/.test(error.message),
      JSON.stringify(options),
    );
  }
  const bytes = new Uint8Array(32).fill(3);
  const codec = codecOf({ keys: { a: bytes }, current: "a" });
  const text = codec.encode("kept");
  bytes.fill(0);
  assert.equal(codec.decode(text), "kept");
});

Deno.test("an engine without the keys says that a value is encrypted", async () => {
  const letters = workflow({ name: "letters", steps: [{ name: "send", run() {} }] });
  await using sealing = await testEngine({ workflows: [letters], codec: codecOf() });
  await using plain = await testEngine({ workflows: [letters], store: sealing.store });
  const { id } = await sealing.engine.start(letters, { input: { to: "Ann" } });
  const run = await plain.engine.find(id);
  assert.throws(() => run?.input, (error) => {
    return error instanceof StoredValueError && /encrypted/.test(error.message);
  });
});

behaviour("a lost key pauses a workflow, whatever its policies say", async (world) => {
  for (const onException of ["skip", "cancel", "reattempt"] as const) {
    let ran = 0;
    const letters = workflow({
      name: "letters",
      steps: [{ name: "send", onException, run: () => void ran++ }],
    });
    const store = world.store();
    const sealing = await world.engine({ store, workflows: [letters], codec: codecOf() });
    const { id } = await sealing.engine.start(letters, { input: { to: "Ann" } });
    const codec = codecOf({ keys: { "2027": NEW }, current: "2027" });
    const { engine } = await world.engine({ store, workflows: [letters], codec });
    const run = await engine.find(id);
    assert.ok(run);
    const thrown = await deliver(engine, run);
    assert.ok(thrown instanceof StoredValueError);
    assert.deepEqual([run.state, ran], ["paused", 0], onException);
    assert.match((await executionAt(run, -1)).errorMessage ?? "", /"2026-01"/);
    await run.resume();
    const again = await sealing.engine.find(id);
    assert.ok(again);
    assert.equal(await deliver(sealing.engine, again), null);
    assert.deepEqual([again.state, ran], ["finished", 1]);
  }
});

/** A step that walks, waits for a signal and fails once on the way. */
function correspondence(seen: unknown[]): ReturnType<typeof workflow> {
  return workflow({
    name: "correspondence",
    steps: [
      { name: "await_reply", waitFor: "reply", run: ({ event }) => void seen.push(event?.payload) },
      {
        name: "send",
        resumable: true,
        onException: policy("reattempt", { maxReattempts: 3 }),
        async run({ iter, input, workflow, attempt }) {
          await iter.set({ page: "CURSOR-PAGE" });
          if (attempt === 1) throw new TypeError("the post office is closed");
          seen.push(input, workflow.metadata, iter.cursor);
        },
      },
    ],
  });
}

Deno.test("input, cursor, payload and metadata stand in no column in plain", async () => {
  const seen: unknown[] = [];
  const definition = correspondence(seen);
  const db = new DatabaseSync(":memory:");
  const { engine } = await testEngine({
    store: sqliteStore(db),
    workflows: [definition],
    codec: codecOf(),
  });
  const input = { name: "INPUT-NAME" };
  const run = await engine.start(definition, { input, metadata: { note: "METADATA-NOTE" } });
  await run.signal("reply", { text: "PAYLOAD-TEXT" }, { idempotencyKey: "1" });
  await performNextStep(run);
  await performNextStep(run).catch(() => {});
  await performNextStep(run);
  assert.equal((await run.reload()).state, "finished");
  assert.deepEqual(seen, [
    { text: "PAYLOAD-TEXT" },
    input,
    { note: "METADATA-NOTE" },
    { page: "CURSOR-PAGE" },
  ]);
  assert.deepEqual((await executionAt(run, -1)).metadata.lastCursor, { page: "CURSOR-PAGE" });
  assert.deepEqual((await run.signals())[0]?.payload, { text: "PAYLOAD-TEXT" });
  const tables = ["pawl_workflows", "pawl_step_executions", "pawl_signals"];
  const dump = JSON.stringify(tables.map((table) => db.prepare(`SELECT * FROM ${table}`).all()));
  for (const secret of ["INPUT-NAME", "METADATA-NOTE", "PAYLOAD-TEXT", "CURSOR-PAGE"]) {
    assert.equal(dump.includes(secret), false, `${secret} is in the rows`);
  }
  assert.equal(dump.includes("the post office is closed"), true, "errors are not sealed");
  await engine.close();
});

onEveryStore("U18 a sealed workflow runs to its end", async ({ store }) => {
  const seen: unknown[] = [];
  const definition = correspondence(seen);
  const codec = codecOf();
  const { engine } = await testEngine({ store, workflows: [definition], codec });
  const run = await engine.start(definition, { input: { name: "Ann" }, metadata: { note: "é" } });
  await run.signal("reply", { text: "\0 and \uD800" });
  await performNextStep(run);
  await performNextStep(run).catch(() => {});
  await performNextStep(run);
  const page = { page: "CURSOR-PAGE" };
  assert.deepEqual(seen, [{ text: "\0 and \uD800" }, { name: "Ann" }, { note: "é" }, page]);
  assert.equal((await run.reload()).state, "finished");
  assert.deepEqual(run.input, { name: "Ann" });
  assert.deepEqual((await executionAt(run, -1)).metadata.lastCursor, page);
});

behaviour("U18 a cursor that was sealed again has not moved", async ({ engine: open }) => {
  const stuck = workflow({
    name: "stuck",
    steps: [{
      name: "walk",
      resumable: true,
      onException: policy("reattempt", { maxReattempts: 2 }),
      async run({ iter }) {
        await iter.set("here");
        throw new Error("no further");
      },
    }],
  });
  const { engine } = await open({ workflows: [stuck], codec: codecOf() });
  const run = await engine.start(stuck);
  for (let at = 0; at < 20 && run.state === "ready"; at++) await deliver(engine, run);
  // The first attempt moved it from nowhere to here, which starts the count again.
  assert.equal(run.state, "paused");
  assert.equal((await run.history()).length, 3);
});

behaviour("U18 a chain that only seals its cursor again is stopped", async ({ engine: open }) => {
  const idle = workflow({
    name: "idle",
    steps: [{
      name: "walk",
      resumable: true,
      async run({ iter, suspend }) {
        await iter.set("here");
        suspend();
      },
    }],
  });
  const { engine } = await open({
    workflows: [idle],
    codec: codecOf(),
    maxUnchangedContinuations: 3,
  });
  const run = await engine.start(idle);
  for (let at = 0; at < 20 && run.state === "ready"; at++) await deliver(engine, run);
  assert.equal(run.state, "paused");
  assert.equal((await executionAt(run, -1)).errorClass, "CursorError");
});

behaviour("a poisonous step is known under encryption too", async ({ engine: open }) => {
  const walk = workflow({
    name: "walk",
    steps: [{ name: "walk", resumable: true, run: async ({ iter }) => await iter.set("there") }],
  });
  const codec = codecOf();
  const { engine, clock, store } = await open({
    workflows: [walk],
    codec,
    housekeeping: { maxRecoveries: 2 },
  });
  const run = await engine.start(walk);
  for (let deaths = 0; deaths < 3; deaths++) {
    const { id, token } = await dieWith(run, { store, clock });
    const checkpoint = { executionId: id, token: token as string, cursor: codec.encode("here") };
    await store.checkpoint([checkpoint], { now: new Date(clock.now()), leaseMs: 1 });
    clock.travelTo(clock.now() + 60_000);
    await engine.housekeep();
    await run.reload();
  }
  assert.equal(run.state, "paused");
  assert.equal((await executionAt(run, -1)).errorClass, "RecoveryLimitError");
});
