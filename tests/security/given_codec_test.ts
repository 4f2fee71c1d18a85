/** Codecs of the application's own that do not keep to the contract: nothing is stored through them. */

import assert from "node:assert/strict";
import {
  type Codec,
  createEngine,
  encryptedCodec,
  InvalidInputError,
  jsonCodec,
  StepConfigurationError,
  workflow,
} from "../../mod.ts";
import { memoryStore } from "../../drivers/memory/mod.ts";
import { performNextStep, testEngine } from "../../src/testing/mod.ts";

const note = workflow({ name: "note", steps: [{ name: "read", run: ({ input }) => void input }] });

Deno.test("what is no codec is refused before anything is stored or read", () => {
  const wrong: unknown[] = [
    ...[null, 0, "", "aes", true, {}, [], encryptedCodec, { encode: jsonCodec.encode }],
    { ...jsonCodec, isSame: true },
  ];
  for (const codec of wrong as Codec[]) {
    const options = { store: memoryStore(), workflows: [note], codec };
    assert.throws(() => createEngine(options), StepConfigurationError);
  }
});

Deno.test("a codec that answers a promise, or no text, stores nothing", async () => {
  const key = new Uint8Array(32);
  const encodes: ((value: unknown) => unknown)[] = [
    (value) => Promise.resolve(JSON.stringify(value)),
    () => Promise.reject(new Error("no key")),
    () => undefined,
    () => 5,
    () => new Uint8Array(4),
  ];
  for (const encode of encodes) {
    const own = { encode, decode: JSON.parse } as unknown as Codec;
    for (const codec of [own, encryptedCodec({ keys: { a: key }, current: "a", codec: own })]) {
      using t = await testEngine({ workflows: [note], codec });
      await assert.rejects(t.engine.start(note, { input: { a: 1 } }), InvalidInputError);
      assert.deepEqual((await t.engine.list()).items, []);
    }
  }
});

Deno.test("a codec that reads with a promise pauses the workflow and says why", async () => {
  for (const decode of [() => Promise.resolve(1), () => Promise.reject(new Error("no key"))]) {
    const codec: Codec = { encode: jsonCodec.encode, decode };
    using t = await testEngine({ workflows: [note], codec });
    const run = await t.engine.start(note, { input: { a: 1 } });
    const ended = await performNextStep(run).catch(() => null);
    assert.equal(ended, null);
    assert.equal((await run.reload()).state, "paused");
    assert.match((await run.history()).at(-1)?.errorMessage ?? "", /decode\(\) must answer/);
  }
});

Deno.test("lengths of time that no clock can hold are refused", () => {
  for (const name of ["leaseMs", "pollMs", "heartbeatMs"] as const) {
    for (const value of [0, -1, NaN, Infinity, 1e300, 2 ** 53]) {
      const options = { store: memoryStore(), workflows: [note], [name]: value };
      assert.throws(() => createEngine(options), StepConfigurationError, `${name} ${value}`);
    }
  }
});
