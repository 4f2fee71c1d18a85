/**
 * What an application sees that gave neither a logger nor an error reporter.
 */

import assert from "node:assert/strict";
import { memoryStore } from "../../drivers/memory/mod.ts";
import { inlineQueue } from "../../drivers/queues/inline.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { createEngine, workflow } from "../../mod.ts";
import { troubleLogger } from "../../src/observe/logging.ts";

/** Runs work and gives what it wrote to the console, each line with its level. */
async function heard(work: () => Promise<void> | void): Promise<string[]> {
  const lines: string[] = [];
  const real = { ...console };
  for (const level of ["debug", "info", "log", "warn", "error"] as const) {
    console[level] = (text: string) => void lines.push(`${level} ${text}`);
  }
  try {
    await work();
  } finally {
    Object.assign(console, real);
  }
  return lines;
}

Deno.test("LOG-05 without a logger a step that throws is told on the console, with its stack", async () => {
  const charge = workflow({
    name: "payment",
    steps: [{
      name: "charge",
      run({ log }) {
        log.info("nobody asked for this line");
        throw new TypeError("no card");
      },
    }],
  });
  const engine = createEngine({ store: memoryStore(), queue: inlineQueue(), workflows: [charge] });
  const lines = await heard(() => assert.rejects(engine.start(charge), { message: "no card" }));
  assert.equal(lines.length, 1, lines.join("\n"));
  assert.match(
    lines[0] as string,
    /^error pawl: A step failed \(payment 1, step "charge"\): TypeError: no card\n +at /,
  );
  await engine.close();
});

Deno.test("LOG-05 a worker on a database without tables says what to do, once", async () => {
  const engine = createEngine({ store: sqliteStore(":memory:"), workflows: [] });
  const lines = await heard(async () => {
    await engine.work().idle();
    await engine.close();
  });
  assert.equal(
    lines[0],
    "error pawl: Due executions could not be claimed; the next look tries again: MigrationError: " +
      "[sqlite] Cannot read :memory:: no such table: pawl_schema; run `await engine.migrate()` first",
  );
});

Deno.test("a line that comes again and again is written ever more seldom", async () => {
  const logger = troubleLogger();
  const lines = await heard(() => {
    for (let i = 0; i < 9; i++) logger.warn("the database is away");
    logger.error("something else", { error: "in words" });
    logger.warn("the database is away");
    logger.debug("nothing");
    logger.info("nothing");
  });
  assert.deepEqual(lines, [
    "warn pawl: the database is away",
    "warn pawl: the database is away (2 times)",
    "warn pawl: the database is away (4 times)",
    "warn pawl: the database is away (8 times)",
    "error pawl: something else: in words",
    "warn pawl: the database is away",
  ]);
});

Deno.test("U38 a logger that breaks while it is the error reporter, too, does not go round in circles", async () => {
  let calls = 0;
  const broken = (): never => {
    calls++;
    throw new Error("the log is full");
  };
  const steps = [{ name: "charge", run: () => Promise.reject(new Error("no card")) }];
  const payment = workflow({ name: "payment", steps });
  const engine = createEngine({
    store: memoryStore(),
    queue: inlineQueue(),
    workflows: [payment],
    logger: { debug: broken, info: broken, warn: broken, error: broken },
  });
  await assert.rejects(engine.start(payment), { message: "no card" });
  const { items: [run] } = await engine.list();
  assert.equal(run?.state, "paused");
  assert.equal(calls, 2); // the step's error, and the logger's own
  await engine.close();
});
