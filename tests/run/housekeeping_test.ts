/**
 * Housekeeping: deleting what has had its time, and the run as a whole.
 */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import {
  createEngine,
  hero,
  type HousekeepingEvent,
  StepConfigurationError,
  workflow,
  type WorkflowDefinition,
} from "../../mod.ts";
import { performNextStep, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingQueue, storeWith } from "./_doubles.ts";
import { dieWith } from "./_dead.ts";
import { createGate } from "./_gate.ts";
import { current } from "./_story.ts";

const NOTHING = {
  workflowsDeleted: 0,
  executionsDeleted: 0,
  recoveredInProgress: 0,
  recoveredScheduled: 0,
};

/** A booking of two steps. */
function booking(name = "booking"): WorkflowDefinition {
  return workflow({ name, steps: [{ name: "reserve", run() {} }, { name: "confirm", run() {} }] });
}

behaviour(
  "HSK-01 HSK-03 HSK-16 what ended longer ago than the retention is deleted with all that belongs to it",
  async ({ engine }) => {
    const definition = booking();
    const t = await engine({ workflows: [definition] });
    const finished = await t.engine.start(definition);
    await finished.signal("noticed", { by: "ann" });
    await speedrunWorkflow(finished);
    const canceled = await (await t.engine.start(definition)).cancel();
    await t.clock.tick("1 day");
    const young = await speedrunWorkflow(await t.engine.start(definition));
    await t.clock.tick("29 days");
    assert.deepEqual(await t.engine.housekeep(), NOTHING, "30 days are not over");
    await t.clock.tick(1);

    assert.deepEqual(await t.engine.housekeep(), {
      ...NOTHING,
      workflowsDeleted: 2,
      executionsDeleted: 3,
    });
    for (const run of [finished, canceled]) {
      assert.equal(await t.engine.find(run.id), null);
      assert.deepEqual(await t.store.history(run.id, { limit: 10 }), []);
      assert.deepEqual(await t.store.signals(run.id), []);
    }
    assert.equal((await t.engine.find(young.id))?.state, "finished");
    assert.equal((await young.history()).length, 2);
    assert.deepEqual(await t.engine.housekeep(), NOTHING);
  },
);

behaviour("HSK-02 with a retention of null nothing is ever deleted", async ({ engine }) => {
  const definition = booking();
  const t = await engine({ workflows: [definition], housekeeping: { retention: null } });
  const run = await speedrunWorkflow(await t.engine.start(definition));
  await t.clock.tick("10000 days");
  assert.deepEqual(await t.engine.housekeep(), NOTHING);
  assert.equal((await t.engine.find(run.id))?.state, "finished");
});

behaviour(
  "HSK-01 HSK-02 a definition may have a retention of its own, shorter, longer or none",
  async ({ engine }) => {
    const short = workflow({ name: "short", retention: "1 day", steps: [] });
    const long = workflow({ name: "long", retention: "90 days", steps: [] });
    const keeps = workflow({ name: "keeps", retention: null, steps: [] });
    const usual = workflow({ name: "usual", steps: [] });
    const t = await engine({ workflows: [short, long, keeps, usual] });
    for (const definition of [short, long, keeps, usual]) await t.engine.start(definition);
    const left = async (): Promise<string[]> => {
      await t.engine.housekeep();
      return (await t.engine.list()).items.map((run) => run.name).sort();
    };
    await t.clock.tick("2 days");
    assert.deepEqual(await left(), ["keeps", "long", "usual"]);
    await t.clock.tick("30 days");
    assert.deepEqual(await left(), ["keeps", "long"]);
    await t.clock.tick("90 days");
    assert.deepEqual(await left(), ["keeps"]);
  },
);

behaviour("HSK-04 what has not ended is never deleted, whatever its age", async ({ engine }) => {
  const gate = createGate();
  const definition = workflow({ name: "patient", steps: [{ name: "wait", run: gate.pass }] });
  const future = workflow({
    name: "future",
    steps: [{ name: "later", wait: "400 days", run() {} }],
  });
  // Heartbeats of a year would be millions: this lease outlives it.
  const t = await engine({ workflows: [definition, future], leaseMs: 400 * 86_400_000 });
  const ready = await t.engine.start(future);
  const paused = await (await t.engine.start(definition)).pause();
  const performing = await t.engine.start(definition);
  const handling = t.engine.handle((await current(performing)).id);
  await gate.arrived;
  await t.clock.tick("365 days");
  assert.equal((await t.engine.housekeep()).workflowsDeleted, 0);
  for (
    const [run, state] of [[ready, "ready"], [paused, "paused"], [
      performing,
      "performing",
    ]] as const
  ) {
    assert.equal((await run.reload()).state, state);
  }
  gate.open();
  await handling;
});

behaviour("HSK-05 deletion goes in batches until nothing is left", async ({ engine, store }) => {
  const limits: number[] = [];
  const counting = storeWith(store(), (real) => ({
    purge(options) {
      limits.push(options.limit);
      return real.purge(options);
    },
  }));
  const definition = booking();
  const t = await engine({ workflows: [definition], store: counting });
  for (let at = 0; at < 5; at++) await speedrunWorkflow(await t.engine.start(definition));
  await t.clock.tick("31 days");
  const summary = await t.engine.housekeep({ batchSize: 2 });
  assert.deepEqual([summary.workflowsDeleted, summary.executionsDeleted], [5, 10]);
  assert.deepEqual(limits, [2, 2, 2]);
  assert.deepEqual((await t.engine.list()).items, []);
});

behaviour(
  "HSK-06 the cut-off is fixed at the start, however long the deleting takes",
  async ({ engine, store }) => {
    const cutOffs: number[] = [];
    let pass = (): void => {};
    const slow = storeWith(store(), (real) => ({
      purge(options) {
        cutOffs.push(options.before.getTime());
        pass();
        return real.purge(options);
      },
    }));
    const definition = booking();
    const t = await engine({ workflows: [definition], store: slow });
    pass = () => t.clock.travelTo(t.clock.now() + 86_400_000);
    for (let at = 0; at < 2; at++) await speedrunWorkflow(await t.engine.start(definition));
    await t.clock.tick("1 hour");
    const younger = await speedrunWorkflow(await t.engine.start(definition));
    await t.clock.tick(30 * 86_400_000 - 1_000);
    const startedAt = t.clock.now();
    await t.engine.housekeep({ batchSize: 1 });
    assert.deepEqual(cutOffs, Array(3).fill(startedAt - 30 * 86_400_000));
    assert.deepEqual((await t.engine.list()).items.map((run) => run.id), [younger.id]);
  },
);

Deno.test("HSK-07 executions and signals are deleted before their workflows", async () => {
  const database = new DatabaseSync(":memory:");
  const definition = workflow({ name: "booking", steps: [] });
  const waiting = workflow({ name: "waiting", steps: [{ name: "wait", waitFor: "go", run() {} }] });
  const start = Date.now();
  let now = start;
  const clock = {
    now: () => now,
    setTimeout: () => 0,
    clearTimeout() {},
  };
  const engine = createEngine({
    store: sqliteStore(database),
    workflows: [definition, waiting],
    clock,
  });
  try {
    await engine.migrate();
    const run = await engine.start(waiting);
    await run.signal("other");
    await run.cancel();
    database.exec("CREATE TABLE deletions (what TEXT)");
    for (const what of ["step_executions", "signals", "workflows"]) {
      database.exec(
        `CREATE TRIGGER watch_${what} AFTER DELETE ON pawl_${what} ` +
          `BEGIN INSERT INTO deletions VALUES ('${what}'); END`,
      );
    }
    now = start + 31 * 86_400_000;
    assert.equal((await engine.housekeep()).workflowsDeleted, 1);
    const order = database.prepare("SELECT what FROM deletions ORDER BY rowid").all();
    assert.deepEqual(order.map((row) => row.what).sort(), [
      "signals",
      "step_executions",
      "workflows",
    ]);
    assert.equal(order.at(-1)?.what, "workflows");
  } finally {
    await engine.close();
    database.close();
  }
});

behaviour(
  "HSK-26 rows of an unknown definition are deleted by their age like any other",
  async ({ engine, store }) => {
    const definition = workflow({ name: "forgotten", retention: null, steps: [] });
    const shared = store();
    const t = await engine({ workflows: [definition], store: shared });
    await t.engine.start(definition);
    await t.clock.tick("31 days");
    assert.deepEqual(await t.engine.housekeep(), NOTHING);
    const newer = createEngine({ store: shared, clock: t.clock, queue: recordingQueue() });
    assert.equal((await newer.housekeep()).workflowsDeleted, 1);
    assert.deepEqual((await t.engine.list()).items, []);
  },
);

behaviour(
  "HSK-19 HSK-31 one run deletes and recovers both kinds, and gives the summary that it emits",
  async ({ engine }) => {
    const definition = booking();
    const t = await engine({ workflows: [definition], queue: recordingQueue() });
    await speedrunWorkflow(await t.engine.start(definition));
    await t.clock.tick("31 days");
    const stuck = await t.engine.start(definition);
    await dieWith(stuck, t);
    const lost = await t.engine.start(definition);
    await t.clock.tick("15 minutes");
    const events: HousekeepingEvent[] = [];
    t.engine.events.on("housekeeping", (event) => void events.push(event));
    const summary = await t.engine.housekeep();
    assert.deepEqual(summary, {
      workflowsDeleted: 1,
      executionsDeleted: 2,
      recoveredInProgress: 1,
      recoveredScheduled: 1,
    });
    assert.deepEqual(events, [{ ...summary, durationMs: 0 }]);
    for (const run of [stuck, lost]) {
      assert.equal((await run.history())[0]?.outcome, "recovered");
      assert.equal((await current(run)).stepName, "reserve");
    }
  },
);

behaviour(
  "HSK-30 a worker runs the same housekeeping by itself at its interval",
  async ({ engine }) => {
    const definition = booking();
    const t = await engine({
      workflows: [definition],
      housekeeping: { interval: "30 minutes", retention: "1 hour" },
    });
    const run = await speedrunWorkflow(await t.engine.start(definition));
    const events: HousekeepingEvent[] = [];
    t.engine.events.on("housekeeping", (event) => void events.push(event));
    await using _worker = t.engine.work();
    await t.clock.tick("29 minutes");
    assert.equal(events.length, 0);
    await t.clock.tick("2 minutes");
    assert.deepEqual(events.map((event) => event.workflowsDeleted), [0]);
    await t.clock.tick("1 hour");
    assert.deepEqual(events.map((event) => event.workflowsDeleted), [0, 0, 1]);
    assert.equal(await t.engine.find(run.id), null);
  },
);

behaviour(
  "HSK-30 a worker of an engine with housekeeping: false leaves it to whoever calls housekeep()",
  async ({ engine }) => {
    const definition = booking();
    const t = await engine({ workflows: [definition], housekeeping: false });
    await speedrunWorkflow(await t.engine.start(definition));
    let runs = 0;
    t.engine.events.on("housekeeping", () => void runs++);
    await using _worker = t.engine.work();
    await t.clock.tick("1 day");
    assert.equal(runs, 0);
    t.clock.travelTo(t.clock.now() + 31 * 86_400_000);
    assert.equal((await t.engine.housekeep()).workflowsDeleted, 1);
  },
);

behaviour(
  "HSK-15 U34 thresholds, batch sizes and actions that make no sense are refused",
  async ({ engine, store }) => {
    const shared = store();
    const refuses = (housekeeping: Record<string, unknown>, pattern: RegExp): void =>
      assert.throws(() => createEngine({ store: shared, housekeeping }), (error) => {
        assert.ok(error instanceof StepConfigurationError);
        assert.match(error.message, pattern);
        return true;
      });
    for (const key of ["retention", "stuckScheduled", "stuckInProgress", "interval"]) {
      for (const value of [0, -1, NaN, Infinity, "soon", "-1 day"]) refuses({ [key]: value }, /./);
    }
    refuses({ recovery: "restart" }, /"reattempt" or "cancel".*"restart"/);
    refuses({ retain: "1 day" }, /retain/);
    assert.throws(
      () => workflow({ name: "booking", recovery: "restart" as "cancel", steps: [] }),
      StepConfigurationError,
    );
    assert.throws(
      () => workflow({ name: "booking", retention: 0, steps: [] }),
      StepConfigurationError,
    );
    for (const leaseMs of [0, -5, NaN]) {
      assert.throws(() => createEngine({ store: shared, leaseMs }), StepConfigurationError);
    }
    assert.throws(
      () => createEngine({ store: shared, leaseMs: 1_000, heartbeatMs: 1_000 }),
      /heartbeatMs must be smaller than leaseMs/,
    );
    const t = await engine({ store: shared });
    for (const batchSize of [0, -1, 1.5, NaN, "10" as unknown as number]) {
      await assert.rejects(t.engine.housekeep({ batchSize }), StepConfigurationError);
    }
    await assert.rejects(t.engine.housekeep({ limit: 1 } as never), StepConfigurationError);
  },
);

behaviour(
  "HSK-27 when the hero is gone by then, the recovered step is canceled by the hero check",
  async ({ engine }) => {
    const guests = new Map([["1", { id: "1" }]]);
    const definition = workflow({
      name: "booking",
      hero: hero("Guest", { load: (id: string) => guests.get(id) }),
      steps: [{ name: "reserve", run() {} }],
    });
    const t = await engine({ workflows: [definition], queue: recordingQueue() });
    const run = await t.engine.start(definition, { hero: "1" });
    await dieWith(run, t);
    guests.clear();
    await t.clock.tick("1 minute");
    assert.equal((await t.engine.housekeep()).recoveredInProgress, 1);
    await performNextStep(run);
    assert.equal(run.state, "canceled");
    assert.deepEqual(
      (await run.history()).map(({ state, outcome, cause }) => [state, outcome, cause]),
      [["completed", "recovered", "recovery"], ["canceled", "canceled", "condition"]],
    );
  },
);

behaviour("HSK-31 of several workers one does the housekeeping of an interval", async (world) => {
  const definition = booking();
  const store = world.store();
  const housekeeping = { interval: "30 minutes" } as const;
  const first = await world.engine({ workflows: [definition], store, housekeeping });
  const second = await world.engine({ workflows: [definition], store, housekeeping });
  const did: string[] = [];
  first.engine.events.on("housekeeping", () => void did.push("first"));
  second.engine.events.on("housekeeping", () => void did.push("second"));
  await using _one = first.engine.work();
  await using _two = second.engine.work();
  await first.clock.tick("31 minutes");
  await second.clock.tick("31 minutes");
  assert.deepEqual(did, ["first"]);
});
