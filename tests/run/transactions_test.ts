/** Steps with `transaction: true`: their writes and their completion commit together, or neither. */

import assert from "node:assert/strict";
import { type ExceptionContext, type TransactionPart, workflow } from "../../mod.ts";
import { performNextStep, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { bank, type Body, book, transfer } from "./_bank.ts";
import { current, deliver, startAndDeliver, storyOf } from "./_story.ts";

behaviour(
  "EXE-02 a transactional step runs on every store and is given tx",
  async ({ engine: open }) => {
    let given: unknown = null;
    const definition = transfer(({ tx }) => void (given = tx));
    const { engine } = await open({ workflows: [definition] });
    const { run, thrown } = await startAndDeliver(engine, definition);
    assert.equal(thrown, null);
    assert.ok(given, "tx is the store's own handle");
    assert.deepEqual(await storyOf(run), ["book: completed/success", "notify: scheduled"]);
    assert.equal((await speedrunWorkflow(run)).state, "finished");
  },
);

behaviour(
  "EXC-01 FLW-02 errors and flow calls of a transactional step end as ever",
  async ({ engine: open }) => {
    const error = new Error("no such account");
    const bodies: [Body, Record<string, unknown>, string[], string][] = [
      [
        () => {
          throw error;
        },
        { onException: "reattempt" },
        ["book: completed/reattempted (exception)", "book: scheduled"],
        "ready",
      ],
      [({ pause }) => pause(), {}, ["book: canceled/canceled (flow_control)"], "paused"],
      [({ finish }) => finish(), {}, ["book: completed/success (flow_control)"], "finished"],
      [
        () => {},
        { skipIf: true },
        ["book: skipped/skipped (condition)", "notify: scheduled"],
        "ready",
      ],
    ];
    for (const [body, step, story, state] of bodies) {
      const definition = transfer(body, step);
      const { engine } = await open({ workflows: [definition] });
      const { run } = await startAndDeliver(engine, definition);
      assert.deepEqual(await storyOf(run), story);
      assert.equal(run.state, state);
    }
  },
);

Deno.test("EXE-03 writes through tx commit with the completion of the step", async () => {
  let during: number[] | null = null;
  const definition = transfer(async ({ tx }) => {
    book(tx, 100);
    await Promise.resolve();
    book(tx, -100);
    during = bankOf.booked();
  });
  await using bankOf = await bank(definition);
  const { run, thrown } = await startAndDeliver(bankOf.t.engine, definition);
  assert.equal(thrown, null);
  assert.deepEqual(during, [100, -100], "the body sees its own writes");
  assert.deepEqual(bankOf.booked(), [100, -100]);
  assert.deepEqual(await storyOf(run), ["book: completed/success", "notify: scheduled"]);
});

Deno.test("EXE-26 an error rolls the writes back, and the engine's own rows are written", async () => {
  const error = new Error("account 7 is closed");
  for (
    const [onException, story] of [
      ["pause", ["book: failed/failed (exception)"]],
      ["skip", ["book: skipped/skipped (exception)", "notify: scheduled"]],
      ["reattempt", ["book: completed/reattempted (exception)", "book: scheduled"]],
    ] as const
  ) {
    const definition = transfer(({ tx }) => {
      book(tx, 100);
      throw error;
    }, { onException });
    await using bankOf = await bank(definition);
    const { run, thrown } = await startAndDeliver(bankOf.t.engine, definition);
    assert.equal(thrown, error);
    assert.deepEqual(bankOf.booked(), []);
    assert.deepEqual(await storyOf(run), story);
  }
});

Deno.test("EXE-26 a statement that the database refuses rolls back what was written before", async () => {
  const definition = transfer(({ tx }) => {
    book(tx, 100);
    tx.exec("INSERT INTO bookings (amount) VALUES (NULL)");
  });
  await using bankOf = await bank(definition);
  const { run, thrown } = await startAndDeliver(bankOf.t.engine, definition);
  assert.match(String(thrown), /NOT NULL/);
  assert.deepEqual(bankOf.booked(), []);
  assert.equal(run.state, "paused");
});

Deno.test("EXE-26 a commit that the database refuses is an error of the step", async () => {
  const definition = transfer(({ tx }) => {
    tx.exec(`
      CREATE TABLE accounts (id INTEGER PRIMARY KEY);
      CREATE TABLE moves (account INTEGER REFERENCES accounts DEFERRABLE INITIALLY DEFERRED)
    `);
    book(tx, 100);
    tx.exec("INSERT INTO moves (account) VALUES (7)");
  }, { onException: "skip" });
  await using bankOf = await bank(definition);
  const { run, thrown } = await startAndDeliver(bankOf.t.engine, definition);
  assert.match(String(thrown), /FOREIGN KEY/);
  assert.deepEqual(bankOf.booked(), []);
  assert.deepEqual(await storyOf(run), [
    "book: skipped/skipped (exception)",
    "notify: scheduled",
  ]);
});

Deno.test("EXC-35 a handler is not given the transaction that was rolled back", async () => {
  let seen: Record<string, unknown> = {};
  const definition = transfer(({ tx }) => {
    book(tx, 100);
    throw new Error("account 7 is closed");
  }, {
    onException: (context: ExceptionContext) => {
      seen = { ...context };
      context.skip();
    },
  });
  await using bankOf = await bank(definition);
  const { run } = await startAndDeliver(bankOf.t.engine, definition);
  assert.equal("tx" in seen, false);
  assert.equal((seen.error as Error).message, "account 7 is closed");
  assert.equal(run.nextStepName, "notify");
});

Deno.test("FLW-01 flow calls are ordinary ends: what was written before them commits", async () => {
  const ends: Record<string, string[]> = {};
  for (const call of ["cancel", "pause", "skip", "reattempt", "finish"] as const) {
    const definition = transfer((context) => {
      book(context.tx, 100);
      context[call]();
    });
    await using bankOf = await bank(definition);
    const { run, thrown } = await startAndDeliver(bankOf.t.engine, definition);
    assert.equal(thrown, null);
    assert.deepEqual(bankOf.booked(), [100], call);
    ends[call] = [run.state, ...await storyOf(run)];
  }
  assert.deepEqual(ends, {
    cancel: ["canceled", "book: canceled/canceled (flow_control)"],
    pause: ["paused", "book: canceled/canceled (flow_control)"],
    skip: ["ready", "book: skipped/skipped (flow_control)", "notify: scheduled"],
    reattempt: ["ready", "book: completed/reattempted (flow_control)", "book: scheduled"],
    finish: ["finished", "book: completed/success (flow_control)"],
  });
});

Deno.test("EXE-05 two attempts, of which the first fails, write once", async () => {
  const definition = transfer(({ tx, attempt }) => {
    book(tx, 100);
    if (attempt === 1) throw new Error("the line broke");
  }, { onException: "reattempt" });
  await using bankOf = await bank(definition);
  const { run } = await startAndDeliver(bankOf.t.engine, definition);
  assert.deepEqual(bankOf.booked(), []);
  assert.equal(await deliver(bankOf.t.engine, run), null);
  assert.deepEqual(bankOf.booked(), [100]);
  assert.deepEqual(await storyOf(run), [
    "book: completed/reattempted (exception)",
    "book: completed/success",
    "notify: scheduled",
  ]);
});

Deno.test("EXE-05 two deliveries of one job write once", async () => {
  const definition = transfer(async ({ tx }) => {
    book(tx, 100);
    await Promise.resolve();
  });
  await using bankOf = await bank(definition);
  const run = await bankOf.t.engine.start(definition);
  const { id } = await current(run);
  await Promise.all([1, 2, 3].map(() => bankOf.t.engine.handle(id)));
  assert.deepEqual(bankOf.booked(), [100]);
  assert.deepEqual(await storyOf(run), ["book: completed/success", "notify: scheduled"]);
});

Deno.test("EXE-03 a workflow that the body starts with tx commits with the step, or not at all", async () => {
  const receipt = workflow({ name: "receipt", steps: [{ name: "print", run: () => {} }] });
  for (const fails of [false, true]) {
    const definition = transfer(async ({ tx }) => {
      book(tx, 100);
      await bankOf.t.engine.start(receipt, { tx });
      if (fails) throw new Error("the printer is off");
    });
    await using bankOf = await bank(definition, { workflows: [definition, receipt] });
    await startAndDeliver(bankOf.t.engine, definition);
    const { items } = await bankOf.t.engine.list({ workflow: receipt });
    assert.equal(items.length, fails ? 0 : 1);
    assert.deepEqual(bankOf.booked(), fails ? [] : [100]);
  }
});

Deno.test("HOK-05 hooks and timeouts of a transactional step are inside of it", async () => {
  const definition = workflow({
    name: "transfer",
    hooks: {
      beforeStep: (context) => book((context as unknown as TransactionPart).tx, 1),
      afterStep: (context) => book((context as unknown as TransactionPart).tx, 3),
    },
    steps: [{
      name: "book",
      transaction: true,
      onException: "reattempt",
      run: ({ tx, attempt }) => {
        book(tx, 2);
        if (attempt === 1) throw new Error("again");
      },
    }],
  });
  await using bankOf = await bank(definition);
  const run = await bankOf.t.engine.start(definition);
  await assert.rejects(performNextStep(run));
  assert.deepEqual(bankOf.booked(), []);
  await performNextStep(run);
  assert.deepEqual(bankOf.booked(), [1, 2, 3]);
});
