/** Transactional steps that lose their claim, are interrupted, or run out of time. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { pollingQueue } from "../../drivers/queues/mod.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { createEngine } from "../../mod.ts";
import { createFakeClock, performNextStep } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { bank, book, transfer } from "./_bank.ts";
import { until } from "./_doubles.ts";
import { current, executionAt, storyOf, untilAborted } from "./_story.ts";

Deno.test("EXE-18 an attempt whose claim was lost writes nothing", async () => {
  const entered = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let bodies = 0;
  const definition = transfer(({ tx }) => {
    bodies++;
    book(tx, 100);
  }, {
    // While the body runs nobody else can write to this database; but the claim is older.
    skipIf: async () => {
      entered.resolve();
      await gate.promise;
    },
  });
  await using bankOf = await bank(definition);
  const { engine, clock } = bankOf.t;
  const run = await engine.start(definition);
  const late = engine.handle((await current(run)).id);
  await entered.promise;
  clock.travelTo(clock.now() + 31_000);
  assert.equal((await engine.housekeep()).recoveredInProgress, 1);
  gate.resolve();
  await late;
  assert.equal(bodies, 0, "too late to begin");
  assert.deepEqual(bankOf.booked(), []);
  await performNextStep(run);
  assert.deepEqual(bankOf.booked(), [100]);
  assert.deepEqual(await storyOf(run), [
    "book: completed/recovered (recovery)",
    "book: completed/success",
    "notify: scheduled",
  ]);
});

Deno.test("U14 an interruption rolls the writes back and the step runs again", async () => {
  const entered = Promise.withResolvers<void>();
  let attempts = 0;
  const definition = transfer(async ({ tx, signal }) => {
    book(tx, 100);
    if (++attempts > 1) return;
    entered.resolve();
    await untilAborted(signal);
  });
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE bookings (amount INTEGER NOT NULL)");
  const clock = createFakeClock();
  const engine = createEngine({ store: sqliteStore(database), workflows: [definition], clock });
  await engine.migrate();
  const run = await engine.start(definition);
  const worker = engine.work();
  await entered.promise;
  await worker.stop();
  const booked = database.prepare("SELECT count(*) AS n FROM bookings");
  assert.equal(booked.get()?.n, 0);
  assert.deepEqual(await storyOf(run), [
    "book: completed/reattempted (interrupt)",
    "book: scheduled",
  ]);
  assert.equal((await current(run)).attempt, 1);
  await performNextStep(run);
  assert.equal(booked.get()?.n, 1);
  await engine.close();
  database.close();
});

behaviour("U13 the clock goes on while a transactional body waits for it", async (world) => {
  const definition = transfer(async ({ signal }) => {
    await untilAborted(signal);
  }, { timeout: "1 minute" });
  const { engine, clock } = await world.engine({ workflows: [definition] });
  const run = await engine.start(definition);
  await clock.tick("1 second");
  assert.deepEqual(await storyOf(run), ["book: in_progress"]);
  await clock.tick("8 seconds");
  await clock.tick("51 seconds");
  assert.deepEqual(await storyOf(run), ["book: failed/failed (exception)"]);
});

Deno.test("U13 a timeout rolls the writes back", async () => {
  const definition = transfer(async ({ tx, signal }) => {
    book(tx, 100);
    await untilAborted(signal);
  }, { timeout: "5 seconds" });
  await using bankOf = await bank(definition);
  const run = await bankOf.t.engine.start(definition);
  await bankOf.t.clock.tick("5 seconds");
  assert.deepEqual(bankOf.booked(), []);
  assert.deepEqual(await storyOf(run), ["book: failed/failed (exception)"]);
  assert.equal((await executionAt(run, 0)).errorClass, "StepTimeoutError");
});

Deno.test("U13 what a body writes after its timeout is rolled back as well", async () => {
  const gate = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const definition = transfer(async ({ tx }) => {
    book(tx, 100);
    await gate.promise;
    book(tx, -100);
    ended.resolve();
  }, { timeout: "5 seconds" });
  await using bankOf = await bank(definition);
  const { engine, clock } = bankOf.t;
  const run = await engine.start(definition);
  await clock.tick("6 seconds");
  gate.resolve();
  await ended.promise;
  await clock.tick(0);
  assert.deepEqual(bankOf.booked(), []);
  assert.deepEqual(await storyOf(run), ["book: failed/failed (exception)"]);
  assert.equal((await executionAt(run, 0)).errorClass, "StepTimeoutError");
});

Deno.test("U14 a body that outlives the grace period keeps its transaction to itself", async () => {
  const entered = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const definition = transfer(async ({ tx }) => {
    book(tx, 100);
    entered.resolve();
    await gate.promise;
    book(tx, -100);
  });
  await using bankOf = await bank(definition, { queue: pollingQueue() });
  const { engine, clock } = bankOf.t;
  const run = await engine.start(definition);
  const worker = engine.work({ graceMs: 5_000 });
  await entered.promise;
  const stopped = worker.stop();
  await clock.tick("5 seconds");
  await stopped;
  gate.resolve();
  await until(async () => (await run.reload()).nextStepName === "notify");
  assert.deepEqual(bankOf.booked(), [100, -100]);
  assert.deepEqual(await storyOf(run), ["book: completed/success", "notify: scheduled"]);
});
