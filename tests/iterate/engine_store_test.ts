/** Walks on a store that is in trouble, and walks that share the work. */

import assert from "node:assert/strict";
import { type StoreDriver, StoreError, workflow } from "../../mod.ts";
import { interruptEvery, performNextStep, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingLogger, storeWith, until } from "../run/_doubles.ts";
import { current, executionAt, recordReports, storyOf } from "../run/_story.ts";
import { importing, range, withWorkers } from "./_chain.ts";

/** A store whose checkpoints fail as long as they are told to. */
function failing(store: StoreDriver, error: () => Error | null): StoreDriver {
  return storeWith(store, (real) => ({
    checkpoint(batch, options) {
      const failure = error();
      return failure === null ? real.checkpoint(batch, options) : Promise.reject(failure);
    },
  }));
}

behaviour(
  "U31 RES-04 a store that is away for a moment is asked again, and the body never hears of it",
  async (world) => {
    let failures = 3;
    const away = new StoreError("test", "connection refused");
    const store = failing(world.store(), () => failures-- > 0 ? away : null);
    const done: number[] = [];
    const definition = importing(({ iter }) => iter.over(range(3), (item) => void done.push(item)));
    const logger = recordingLogger();
    const { engine, clock } = await world.engine({ workflows: [definition], store, logger });
    const run = await engine.start(definition);
    const start = clock.now();
    await clock.tick("1 second");
    assert.deepEqual(done, [0, 1, 2]);
    assert.equal((await run.reload()).state, "finished");
    const warnings = logger.lines.filter(({ message }) => message.startsWith("The cursor of"));
    assert.deepEqual(warnings.map(({ fields }) => fields.error), [away, away, away]);
    const rows = await executionAt(run, 0);
    assert.equal(Number(rows.finishedAt) - start, 50 + 100 + 200);
  },
);

behaviour(
  "U31 U2 RES-62 when the store is away for longer than the lease the claim is lost, without policy or report",
  async (world) => {
    let isAway = false;
    const store = failing(world.store(), () => isAway ? new Error("away") : null);
    const done: number[] = [];
    const definition = importing(({ iter }) =>
      iter.over(range(4), (item) => {
        done.push(item);
        if (item === 2 && !iter.resumed) isAway = true;
      }), { onException: "cancel" });
    const { reportError, errors } = recordReports();
    const { engine, clock } = await world.engine({ workflows: [definition], store, reportError });
    const run = await engine.start(definition);
    await clock.tick("29 seconds");
    assert.equal((await current(run)).state, "in_progress");
    await clock.tick("5 minutes");
    isAway = false;
    await engine.housekeep();
    await speedrunWorkflow(run);
    assert.deepEqual(await storyOf(run), [
      "rows: completed/recovered (recovery)",
      "rows: completed/success",
      "report: completed/success",
    ]);
    assert.deepEqual(done, [0, 1, 2, 2, 3], "only the item whose cursor was not stored is redone");
    assert.deepEqual(errors, []);
  },
);

behaviour(
  "U31 RES-34 a cursor that the store goes on refusing is the step's error in the end",
  async (world) => {
    const refusal = new StoreError("test", "the disk is full");
    const store = storeWith(world.store(), (real) => ({
      checkpoint: (batch, options) =>
        batch.some(({ cursor }) => cursor === "3")
          ? Promise.reject(refusal)
          : real.checkpoint(batch, options),
    }));
    const definition = importing(({ iter }) => iter.over(range(4), () => {}));
    const { reportError, errors } = recordReports();
    const { engine, clock } = await world.engine({ workflows: [definition], store, reportError });
    const run = await engine.start(definition);
    await clock.tick("2 minutes");
    assert.equal((await run.reload()).state, "paused");
    const failed = await executionAt(run, 0);
    assert.deepEqual([failed.state, failed.errorClass, failed.cursor], ["failed", "StoreError", 2]);
    assert.deepEqual(errors, [refusal]);
  },
);

behaviour(
  "RES-65 where a cursor cannot be stored at all, a resumable step fails and pauses; plain ones run",
  async (world) => {
    const missing = new StoreError("test", "there is no column cursor_value; migrate first");
    const definition = workflow({
      name: "import",
      steps: [
        { name: "plain", run() {} },
        { name: "rows", resumable: true, run: ({ iter }) => iter.over(range(3), () => {}) },
      ],
    });
    const { reportError, errors } = recordReports();
    const { engine } = await world.engine({
      workflows: [definition],
      store: failing(world.store(), () => missing),
      reportError,
      // So short a lease leaves no time to try again.
      leaseMs: 30,
    });
    const run = await engine.start(definition);
    await performNextStep(run);
    await assert.rejects(performNextStep(run), StoreError);
    assert.equal(run.state, "paused");
    assert.deepEqual(await storyOf(run), [
      "plain: completed/success",
      "rows: failed/failed (exception)",
    ]);
    assert.match((await executionAt(run, 1)).errorMessage ?? "", /migrate first/);
    assert.deepEqual(errors, [missing]);
  },
);

behaviour(
  "JIT-49 the parts of one large walk are workflows of their own, each with its own cursor",
  async ({ store }) => {
    const parts = 4;
    const done: number[] = [];
    const definition = workflow({
      name: "import",
      steps: [{
        name: "rows",
        resumable: true,
        maxIterations: 3,
        run: ({ iter, input }) => {
          const { part } = input as { part: number };
          const mine = range(40).filter((item) => item % parts === part);
          return iter.over(mine, (item) => void done.push(item));
        },
      }],
    });
    const { engine } = await withWorkers(store(), { workflows: [definition], concurrency: parts });
    const started = await engine.startMany(
      definition,
      range(parts).map((part) => ({ input: { part } })),
    );
    const worker = engine.work();
    await until(async () => {
      await worker.idle();
      const { items } = await engine.list({ workflow: definition, ongoing: true });
      return items.length === 0;
    });
    assert.deepEqual(done.toSorted((a, b) => a - b), range(40), "every item once");
    for (const one of started) {
      assert.equal(one.kind, "started");
      if (one.kind !== "started") continue;
      const history = await one.run.history();
      assert.deepEqual(history.map(({ cursor }) => cursor), [3, 6, 9, null]);
    }
    await engine.close();
  },
);

behaviour("TST-16 TST-09 always stopping is a chunk per item, on any store", async (world) => {
  const definition = importing(({ iter }) => iter.over(range(4), () => {}));
  const { engine } = await world.engine({ workflows: [definition] });
  const chunks = await interruptEvery(await engine.start(definition), 1);
  assert.deepEqual(chunks.map(({ cursor }) => cursor), [1, 2, 3, null]);
});
