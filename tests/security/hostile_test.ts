/**
 * Hostile input through every string and value that reaches a store: it comes back equal or is
 * refused with a typed error, and the tables and other people's rows stay as they were.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type Engine,
  hero,
  jsonCodec,
  PawlError,
  type Run,
  workflow,
  type WorkflowDefinition,
} from "../../mod.ts";
import { performNextStep, type TestEngine, testEngine } from "../../src/testing/mod.ts";
import { recordingQueue } from "../run/_doubles.ts";
import { onEveryStore, type StoreBench } from "./_stores.ts";
import {
  anyText,
  assertUnpolluted,
  HOSTILE_TEXTS,
  runs,
  storable,
  UNSTORABLE_TEXTS,
} from "./_values.ts";

const MEGABYTE = "x".repeat(1_000_000);

const users = hero("User", { load: (id: string) => ({ id }) });

const letters = workflow({
  name: "letters",
  hero: users,
  steps: [
    { name: "await_reply", waitFor: "reply", run() {} },
    {
      name: "answer",
      resumable: true,
      async run({ iter, input }) {
        iter.progress(1, 2, (input as { message?: string } | null)?.message ?? "none");
        await iter.set(input);
        throw new Error("paused here, with a cursor");
      },
    },
  ],
});

/** The answer of a call, or the typed error it was refused with; anything else fails the test. */
async function answerOf<T>(what: string, call: () => Promise<T>): Promise<T | PawlError> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof PawlError && error.code !== "store") return error;
    throw new Error(`${what} was not refused as it should be: ${error}`, { cause: error });
  }
}

/** A workflow of somebody else, and a look at whether anything touched it or the tables. */
async function witness(bench: StoreBench, engine: Engine): Promise<() => Promise<void>> {
  const own = await engine.start(letters, { hero: "witness", input: { safe: true } });
  await own.signal("noted", "kept", { idempotencyKey: "witness" });
  const look = async (): Promise<unknown> => [
    await bench.schema(),
    await bench.store.get(own.id),
    await bench.store.history(own.id, { limit: 10 }),
    await bench.store.signals(own.id),
  ];
  const before = await look();
  return async () => assert.deepEqual(await look(), before);
}

function engineOn(
  { store }: StoreBench,
  definitions: readonly WorkflowDefinition[],
): Promise<TestEngine> {
  // Its clock stands still and its queue delivers nothing, so rows change only by what a test does.
  return testEngine({ store, workflows: definitions, queue: recordingQueue() });
}

onEveryStore("texts through every door come back equal or are refused", async (bench, kind) => {
  const { engine } = await engineOn(bench, [letters as WorkflowDefinition]);
  const unharmed = await witness(bench, engine);
  const one = async (text: string): Promise<void> => {
    const run = await answerOf("a hero's id", () => engine.start(letters, { hero: text }));
    if (!(run instanceof PawlError)) {
      assert.equal((await engine.find(run.id))?.heroId, text);
      const listed = await engine.list({ hero: { type: "User", id: text }, ongoing: true });
      assert.deepEqual(listed.items.map((item) => item.id), [run.id]);
      await signalsThrough(run, text);
      await answerOf("resumeAt()", () => run.resumeAt(text));
      await run.cancel();
    }
    await readsThrough(engine, text);
  };
  const some = kind.isServer ? HOSTILE_TEXTS.slice(0, 12) : HOSTILE_TEXTS;
  for (const text of [...some, ...UNSTORABLE_TEXTS, MEGABYTE, ""]) await one(text);
  await fc.assert(fc.asyncProperty(anyText, one), { numRuns: runs(kind.isServer ? 15 : 80) });
  await unharmed();
  assertUnpolluted();
});

async function signalsThrough(run: Run, text: string): Promise<void> {
  const sent = await answerOf("a signal", () => run.signal(text, text, { idempotencyKey: text }));
  if (sent instanceof PawlError) return;
  const again = await run.signal(text, "another", { idempotencyKey: text });
  assert.equal(again.id, sent.id);
  const [kept, ...others] = await run.signals();
  assert.deepEqual([kept?.name, kept?.payload, kept?.idempotencyKey], [text, text, text]);
  assert.equal(others.length, 0);
}

/** Whoever asks for what cannot be there gets nothing, or is told what is wrong with the question. */
async function readsThrough(engine: Engine, text: string): Promise<void> {
  // Digits could be an id, and a job of an id that is not there yet is waited for.
  const id = /^\d+$/.test(text) ? `x${text}` : text;
  assert.equal(await engine.find(id), null);
  await engine.handle(id);
  for (const filter of [{ workflow: text }, { step: text }, { errorClass: text }]) {
    assert.deepEqual((await engine.list(filter)).items, [], JSON.stringify(filter).slice(0, 80));
  }
  await answerOf("after", () => engine.list({ after: text }));
  await answerOf("a state", () => engine.list({ state: text as "ready" }));
}

onEveryStore("names in definitions come back equal or are refused", async (bench, kind) => {
  let defined = 0;
  const one = async (text: string): Promise<void> => {
    const definition = await answerOf("a name", () =>
      Promise.resolve().then(() =>
        workflow({
          name: text,
          hero: hero(text, { load: (id: string) => ({ id }) }),
          jobOptions: { queue: text },
          steps: [{ name: text, waitFor: text, run() {} }],
        })
      ));
    if (definition instanceof PawlError) return;
    defined++;
    const { engine } = await engineOn(bench, [definition as WorkflowDefinition]);
    const run = await engine.start(definition, { hero: String(defined) });
    await run.reload();
    assert.deepEqual([run.name, run.heroType, run.nextStepName], [text, text, text]);
    const execution = await run.currentExecution();
    assert.deepEqual(
      [execution?.queue, execution?.stepName, execution?.waitingFor],
      [text, text, text],
    );
    assert.deepEqual((await engine.list({ workflow: text, step: text })).items.at(0)?.id, run.id);
    await run.signal(text, { seen: true });
    const ran = await performNextStep(run);
    assert.equal(ran?.outcome, "success", text);
    assert.deepEqual((await run.reload()).state, "finished");
  };
  const before = await bench.schema();
  const some = kind.isServer ? HOSTILE_TEXTS.slice(0, 12) : HOSTILE_TEXTS;
  for (const text of [...some, ...UNSTORABLE_TEXTS, MEGABYTE, ""]) await one(text);
  await fc.assert(fc.asyncProperty(anyText, one), { numRuns: runs(kind.isServer ? 10 : 60) });
  assert.ok(defined > 10);
  assert.equal(await bench.schema(), before);
});

onEveryStore("any value comes back equal from all its columns", async (bench, kind) => {
  const { engine } = await engineOn(bench, [letters as WorkflowDefinition]);
  const unharmed = await witness(bench, engine);
  let at = 0;
  const one = async (value: unknown): Promise<void> => {
    const same = (actual: unknown): void =>
      assert.deepEqual(actual, jsonCodec.decode(jsonCodec.encode(value)));
    const metadata = { value };
    const run = await engine.start(letters, { hero: `h${at++}`, input: value, metadata });
    const found = await engine.find(run.id);
    same(found?.input);
    same(found?.metadata.value ?? null);
    same((await run.signal("reply", value)).payload);
    await performNextStep(run);
    await performNextStep(run).catch(() => {});
    const history = await run.history();
    same(history.at(-1)?.cursor);
    assert.equal((await run.reload()).state, "paused");
    await run.cancel();
  };
  const edges = [
    { [MEGABYTE.slice(0, 100_000)]: 1 },
    "y".repeat(100_000),
    [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, Number.EPSILON, 1e308, -1e-308, -0],
    [2n ** 63n, -(2n ** 63n) - 1n, 10n ** 300n],
    [new Date(8.64e15), new Date(-8.64e15)],
    JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'),
    { message: "progress with \0 and \uD800" },
    { message: MEGABYTE.slice(0, 50_000) },
  ];
  for (const value of edges) await one(value);
  await fc.assert(fc.asyncProperty(storable, one), { numRuns: runs(kind.isServer ? 15 : 80) });
  await unharmed();
  assertUnpolluted();
  assert.equal(({} as { polluted?: boolean }).polluted, undefined);
});

/** Values that are refused wherever they are given. */
function unstorableValues(): Record<string, unknown> {
  const cyclic: unknown[] = [];
  cyclic.push(cyclic);
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return {
    cyclic,
    proxy,
    getter: {
      get broken() {
        throw new Error("no");
      },
    },
    thrower: {
      get broken() {
        throw null;
      },
    },
    function: () => {},
    symbol: Symbol("s"),
    nan: NaN,
    infinity: [Infinity],
    undefined: [undefined],
    invalid: new Date(NaN),
    instance: new (class Odd {})(),
    error: new Error("an error"),
    deep: Array.from({ length: 200 }).reduce((inner) => [inner], 1),
  };
}

onEveryStore("values that could not come back are refused, and leave no row", async (bench) => {
  const { engine } = await engineOn(bench, [letters as WorkflowDefinition]);
  const run = await engine.start(letters, { hero: "one" });
  for (const [name, value] of Object.entries(unstorableValues())) {
    const calls: Record<string, () => Promise<unknown>> = {
      input: () => engine.start(letters, { hero: "two", input: value }),
      metadata: () => engine.start(letters, { hero: "two", metadata: { value } }),
      payload: () => run.signal("reply", value),
    };
    for (const [where, call] of Object.entries(calls)) {
      const refused = await answerOf(`${name} as ${where}`, call);
      assert.ok(refused instanceof PawlError, `${name} as ${where}`);
      assert.equal(refused.code, "invalid_input", `${name} as ${where}`);
    }
  }
  assert.equal((await engine.list()).items.length, 1);
  assert.deepEqual(await run.signals(), []);
});

onEveryStore("numbers and dates at the edges come back or are refused", async (bench) => {
  const { engine } = await engineOn(bench, [letters as WorkflowDefinition]);
  const instants = [
    ...[-8.64e15, 8.64e15, 8.64e15 + 1, NaN, Infinity, 0, -1, 1e12, 253_402_300_800_000],
    ...[Date.parse("1000-01-01T00:00:00Z"), Date.parse("8999-12-31T23:59:59.999Z")],
  ];
  let kept = 0;
  for (const [index, at] of instants.entries()) {
    const run = await answerOf("at", () => engine.start(letters, { hero: `at ${index}`, at }));
    if (run instanceof PawlError) continue;
    kept++;
    assert.equal((await run.currentExecution())?.scheduledFor.getTime(), at);
  }
  assert.equal(kept, 5);
  for (const id of [0, -1, 2 ** 53 - 1, 2 ** 53, 1.5, NaN, 10n ** 254n, 10n ** 255n, -0]) {
    const run = await answerOf("a hero's id", () => engine.start(letters, { hero: id }));
    if (!(run instanceof PawlError)) {
      assert.equal((await engine.find(run.id))?.heroId, String(id));
    }
  }
  for (const limit of [1, 2 ** 53 - 1, 0, -1, 1.5, NaN, Infinity]) {
    const page = await answerOf("a limit", () => engine.list({ limit }));
    assert.equal(page instanceof PawlError, !(Number.isSafeInteger(limit) && limit > 0));
  }
  for (const priority of [2 ** 31 - 1, -(2 ** 31) + 1, 2 ** 31, 1.5, NaN]) {
    const hero = `priority ${priority}`;
    const run = await answerOf(
      "a priority",
      () => engine.start(letters, { hero, jobOptions: { priority } }),
    );
    if (run instanceof PawlError) continue;
    assert.equal((await run.currentExecution())?.priority, priority);
  }
  for (const updatedBefore of [new Date(NaN), new Date(8.64e15), "yesterday" as unknown as Date]) {
    assert.ok(await answerOf("a date", () => engine.list({ updatedBefore })) instanceof PawlError);
  }
});

onEveryStore("filters and arguments of any type are refused or find nothing", async (bench) => {
  const { engine } = await engineOn(bench, [letters as WorkflowDefinition]);
  const run = await engine.start(letters, { hero: "one" });
  const odd: unknown[] = [null, 5, true, [], {}, Symbol("s"), () => {}, 5n, Object.create(null)];
  for (const value of odd) {
    for (const key of ["workflow", "state", "hero", "step", "errorClass", "after", "limit"]) {
      await answerOf(key, () => engine.list({ [key]: value }));
    }
    await answerOf("find", () => engine.find(value as string));
    await answerOf("handle", () => engine.handle(value as string));
    await answerOf("start", () => engine.start(value as typeof letters));
    await answerOf("hero", () => engine.start(letters, { hero: value as string }));
    await answerOf("options", () => engine.start(letters, value as { hero: string }));
    await answerOf("signal", () => run.signal(value as string));
    await answerOf("key", () => run.signal("reply", 1, { idempotencyKey: value as string }));
    await answerOf("resumeAt", () => run.resumeAt(value as string));
  }
  assert.equal((await run.reload()).state, "ready");
});
