/**
 * Group commit: writes of one moment travel together, and each gets its own answer.
 */

import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import fc from "fast-check";
import { createEngine, hero, workflow } from "../../mod.ts";
import { batched } from "../../src/run/settle.ts";
import { behaviour } from "../_engines.ts";
import { recordingQueue, storeWith, until } from "./_doubles.ts";

const ONE_AT_A_TIME = { maxBatch: 100, maxInFlight: 1 };

Deno.test("SCH-06 writes of one moment form one batch and get their own answers", async () => {
  const batches: number[][] = [];
  const send = batched((items: readonly number[]) => {
    batches.push([...items]);
    return Promise.resolve(items.map((item) => item * 10));
  }, ONE_AT_A_TIME);
  assert.deepEqual(await Promise.all([1, 2, 3].map(send)), [10, 20, 30]);
  assert.deepEqual(batches, [[1, 2, 3]]);
  assert.equal(await send(4), 40);
  assert.deepEqual(batches, [[1, 2, 3], [4]]);
});

Deno.test("SCH-06 what arrives while a batch is under way forms the next one", async () => {
  const gates: PromiseWithResolvers<void>[] = [];
  const batches: number[][] = [];
  const send = batched(async (items: readonly number[]) => {
    batches.push([...items]);
    const gate = Promise.withResolvers<void>();
    gates.push(gate);
    await gate.promise;
    return items;
  }, ONE_AT_A_TIME);
  const first = send(1);
  await until(() => batches.length === 1);
  const others = [send(2), send(3)];
  for (let turn = 0; turn < 100; turn++) await Promise.resolve();
  others.push(send(4));
  assert.deepEqual(batches, [[1]]);
  gates[0]?.resolve();
  assert.equal(await first, 1);
  await until(() => batches.length === 2);
  assert.deepEqual(batches[1], [2, 3, 4]);
  gates[1]?.resolve();
  assert.deepEqual(await Promise.all(others), [2, 3, 4]);
});

/** Sends the numbers one by one, each from a callback of its own, as when timers or sockets call. */
async function sendEach(send: (item: number) => Promise<number>, count: number): Promise<void> {
  const sent: Promise<number>[] = [];
  await new Promise<void>((resolve) => {
    for (let item = 0; item < count; item++) {
      setImmediate(() => {
        sent.push(send(item));
        if (sent.length === count) resolve();
      });
    }
  });
  await Promise.all(sent);
}

for (
  const { expected, batches } of [
    { expected: 100, batches: [[0], [1, 2, 3, 4, 5, 6, 7]] },
    { expected: undefined, batches: [[0], [1, 2, 3, 4, 5, 6, 7]] },
    { expected: 2, batches: [[0], [1], [2], [3], [4], [5], [6], [7]] },
  ]
) {
  const many = expected ?? "who knows how many";
  Deno.test(`SCH-06 of ${many} that could come, those of one turn of the event loop go together behind a first`, async () => {
    const seen: number[][] = [];
    const send = batched((items: readonly number[]) => {
      seen.push([...items]);
      return Promise.resolve(items);
    }, { ...ONE_AT_A_TIME, ...(expected === undefined ? {} : { expected: () => expected }) });
    await sendEach(send, 8);
    assert.deepEqual(seen, batches);
    // After two quiet turns nobody is waited for any more.
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => void setImmediate(resolve));
    await sendEach(send, 2);
    assert.deepEqual(seen.slice(batches.length), [[0], [1]]);
  });
}

Deno.test("SCH-06 one member that fails does not fail the others", async () => {
  const batches: number[][] = [];
  const send = batched((items: readonly number[]) => {
    batches.push([...items]);
    if (items.includes(2)) return Promise.reject(new Error("two is broken"));
    return Promise.resolve(items.map((item) => item * 10));
  }, ONE_AT_A_TIME);
  const results = await Promise.allSettled([1, 2, 3].map(send));
  assert.deepEqual(results.map((one) => one.status), ["fulfilled", "rejected", "fulfilled"]);
  assert.deepEqual(batches, [[1, 2, 3], [1], [2], [3]]);
  assert.match(String((results[1] as PromiseRejectedResult).reason), /two is broken/);
  assert.equal(await send(5), 50);
});

Deno.test("SCH-06 a flush that throws before it promises anything is a failure like another", async () => {
  const send = batched<number, number>(() => {
    throw new Error("not even a promise");
  }, ONE_AT_A_TIME);
  await assert.rejects(send(1), /not even a promise/);
  await assert.rejects(send(2), /not even a promise/);
});

Deno.test("SCH-06 no batch is larger than allowed, none is lost, and the order is kept", async () => {
  const limits = fc.record({
    maxBatch: fc.integer({ min: 1, max: 7 }),
    maxInFlight: fc.integer({ min: 1, max: 3 }),
  });
  await fc.assert(fc.asyncProperty(
    limits,
    fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 40 }),
    async (options, pauses) => {
      const sent: number[] = [];
      let inFlight = 0;
      const send = batched(async (items: readonly number[]) => {
        assert.ok(items.length <= options.maxBatch);
        assert.ok(++inFlight <= options.maxInFlight);
        sent.push(...items);
        for (let turn = 0; turn < 5; turn++) await Promise.resolve();
        inFlight--;
        return items.map((item) => -item);
      }, options);
      const answers: Promise<number>[] = [];
      for (const [at, pause] of pauses.entries()) {
        answers.push(send(at));
        for (let turn = 0; turn < pause; turn++) await Promise.resolve();
      }
      assert.deepEqual(await Promise.all(answers), pauses.map((_, at) => -at));
      assert.deepEqual(sent, pauses.map((_, at) => at));
    },
  ));
});

behaviour(
  "SCH-06 starts and finishes of one moment are one transaction each",
  async ({ store }) => {
    const batches: Record<string, number[]> = { create: [], finish: [] };
    const shared = storeWith(store(), (real) => ({
      create(batch, options) {
        batches.create?.push(batch.length);
        return real.create(batch, options);
      },
      finish(batch, options) {
        batches.finish?.push(batch.length);
        return real.finish(batch, options);
      },
    }));
    const note = workflow({ name: "note", steps: [{ name: "write", run: () => {} }] });
    const queue = recordingQueue();
    const engine = createEngine({ store: shared, queue, workflows: [note] });
    await engine.migrate();
    const runs = await Promise.all(Array.from({ length: 8 }, () => engine.start(note)));
    assert.equal(new Set(runs.map((run) => run.id)).size, 8);
    assert.deepEqual(batches.create, [8]);
    await Promise.all(queue.take().map((job) => engine.handle(job.executionId)));
    assert.equal(batches.finish?.reduce((sum, size) => sum + size, 0), 8);
    assert.ok((batches.finish?.length ?? 8) < 8, `${batches.finish} are no groups`);
    assert.deepEqual(await engine.counts(), [{ workflow: "note", state: "finished", count: 8 }]);
    await engine.close();
  },
);

behaviour("SCH-06 a start that the store refuses fails alone", async ({ store }) => {
  const poisoned = storeWith(store(), (real) => ({
    create: (batch, options) =>
      batch.some((one) => one.input === '"poison"')
        ? Promise.reject(new Error("value out of range"))
        : real.create(batch, options),
  }));
  const note = workflow({ name: "note", steps: [{ name: "write", run: () => {} }] });
  const engine = createEngine({ store: poisoned, queue: recordingQueue(), workflows: [note] });
  await engine.migrate();
  const results = await Promise.allSettled(
    ["ink", "poison", "water"].map((input) => engine.start(note, { input })),
  );
  assert.deepEqual(results.map((one) => one.status), ["fulfilled", "rejected", "fulfilled"]);
  assert.match(String((results[1] as PromiseRejectedResult).reason), /out of range/);
  const inputs = (await engine.list()).items.map((run) => run.input);
  assert.deepEqual(inputs, ["water", "ink"]);
  await engine.close();
});

behaviour("HERO-03 a duplicate among starts of one moment fails alone", async ({ store }) => {
  const note = workflow({
    name: "note",
    hero: hero<{ id: string }>("Book", { load: (id) => ({ id }) }),
    steps: [{ name: "write", run: () => {} }],
  });
  const engine = createEngine({ store: store(), queue: recordingQueue(), workflows: [note] });
  await engine.migrate();
  const results = await Promise.allSettled(
    ["a", "b", "a", "c"].map((hero) => engine.start(note, { hero })),
  );
  assert.deepEqual(results.map((one) => one.status), [
    "fulfilled",
    "fulfilled",
    "rejected",
    "fulfilled",
  ]);
  assert.equal((results[2] as PromiseRejectedResult).reason.code, "duplicate_workflow");
  await engine.close();
});

Deno.test("BLK-11 members of a batch that may have been written are not sent again", async () => {
  const sent: (readonly string[])[] = [];
  const lost = new Error("the answer was lost");
  const send = batched((items: readonly string[]) => {
    sent.push(items);
    return Promise.reject(lost);
  }, { maxBatch: 10, maxInFlight: 1, mayRepeat: (error) => error !== lost });
  const results = await Promise.allSettled([send("a"), send("b")]);
  assert.deepEqual(sent, [["a", "b"]]);
  for (const result of results) assert.equal((result as PromiseRejectedResult).reason, lost);
});
