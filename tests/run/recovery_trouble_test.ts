/**
 * Recovery when things go wrong: rows that cannot be recovered, and several who recover at once.
 */

import assert from "node:assert/strict";
import {
  createEngine,
  type Engine,
  type Run,
  workflow,
  type WorkflowDefinition,
  WorkflowNotDefinedError,
} from "../../mod.ts";
import { assertWorkflowState, type TestEngine } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingLogger, recordingQueue, storeWith, until } from "./_doubles.ts";
import { dieWith, LEASE_MS } from "./_dead.ts";
import { current, recordReports, storyOf } from "./_story.ts";

/** One letter to be printed. */
function printing(name = "printing"): WorkflowDefinition {
  return workflow({ name, steps: [{ name: "print", run() {} }] });
}

/** Starts workflows whose workers all die. */
async function deadOnes(
  t: TestEngine,
  definition: WorkflowDefinition,
  count: number,
): Promise<Run[]> {
  const runs: Run[] = [];
  for (let at = 0; at < count; at++) {
    const run = await t.engine.start(definition);
    await dieWith(run, t);
    runs.push(run);
  }
  return runs;
}

/** Another engine on the store and the clock of the first. */
function secondEngine(t: TestEngine, workflows: readonly WorkflowDefinition[]): Engine {
  return createEngine({ store: t.store, clock: t.clock, queue: recordingQueue(), workflows });
}

behaviour(
  "HSK-20 more stuck executions than a batch holds are all recovered, batch by batch",
  async ({ engine, store }) => {
    const limits: (number | undefined)[] = [];
    const counting = storeWith(store(), (real) => ({
      claimDue(options) {
        limits.push(options.limit);
        return real.claimDue(options);
      },
    }));
    const definition = printing();
    const t = await engine({ workflows: [definition], queue: recordingQueue(), store: counting });
    const runs = await deadOnes(t, definition, 7);
    await t.clock.tick("30 seconds");
    const summary = await t.engine.housekeep({ batchSize: 3 });
    assert.equal(summary.recoveredInProgress, 7);
    for (const run of runs) assert.equal((await run.history())[0]?.outcome, "recovered");
    assert.deepEqual(limits, [3, 3, 3, 3], "three times for the dead, once for lost jobs");
  },
);

behaviour(
  "HSK-29 the longest waiting are recovered first, dead workers and lost jobs alike",
  async ({ engine }) => {
    const definition = printing();
    const later = workflow({
      name: "later",
      steps: [{ name: "print", wait: "5 seconds", run() {} }],
    });
    const t = await engine({ workflows: [definition, later], queue: recordingQueue() });
    const expected: string[] = [];
    const runs = await Promise.all(Array.from({ length: 3 }, () => t.engine.start(definition)));
    for (const run of [runs[2], runs[0], runs[1]]) {
      await t.clock.tick("1 second");
      expected.push((await dieWith(run as Run, t)).id);
    }
    const second = await t.engine.start(later);
    const first = await t.engine.start(definition);
    expected.push((await current(first)).id, (await current(second)).id);
    const order: string[] = [];
    t.engine.events.on("recovered", ({ executionId }) => void order.push(executionId));
    await t.clock.tick("20 minutes");
    await t.engine.housekeep();
    assert.deepEqual(order, expected);
  },
);

behaviour(
  "HSK-17 HSK-18 one that cannot be recovered is logged and reported, not tried twice, and stops nobody",
  async ({ engine, store }) => {
    const logger = recordingLogger();
    const reports = recordReports();
    let poisoned = "";
    let tries = 0;
    const faulty = storeWith(store(), (real) => ({
      finish(batch, options) {
        if (!batch.some((one) => one.executionId === poisoned)) return real.finish(batch, options);
        tries++;
        return Promise.reject(new Error("the page is corrupt"));
      },
    }));
    const definition = printing();
    const t = await engine({
      workflows: [definition],
      queue: recordingQueue(),
      store: faulty,
      logger,
      reportError: reports.reportError,
    });
    const runs = await deadOnes(t, definition, 3);
    poisoned = (await current(runs[1] as Run)).id;
    await t.clock.tick("30 seconds");
    let summary = null as Awaited<ReturnType<Engine["housekeep"]>> | null;
    const running = t.engine.housekeep({ batchSize: 1 }).then((done) => void (summary = done));
    await until(async () => {
      await t.clock.tick("1 second");
      return summary !== null;
    });
    await running;

    assert.equal(summary?.recoveredInProgress, 2);
    assert.ok(tries > 1, "a store that fails once is asked again for as long as the claim holds");
    const line = logger.lines.find(({ level }) => level === "error");
    assert.match(line?.message ?? "", /could not be recovered/);
    assert.equal(line?.fields.workflowId, runs[1]?.id);
    assert.equal(line?.fields.executionId, poisoned);
    assert.equal(line?.fields.step, "print");
    assert.deepEqual(reports.errors.map((error) => error.message), ["the page is corrupt"]);
    assert.equal(reports.contexts[0]?.executionId, poisoned);
    for (const run of [runs[0], runs[2]]) {
      assert.equal((await run?.history())?.[0]?.outcome, "recovered");
    }
    assert.equal((await current(runs[1] as Run)).state, "in_progress");

    poisoned = "";
    await t.clock.tick("1 minute");
    assert.equal(
      (await t.engine.housekeep()).recoveredInProgress,
      1,
      "the next run finds it again",
    );
  },
);

behaviour(
  "HSK-14 a worker that shows a sign of life before the lock is left alone",
  async ({ engine, store }) => {
    const inner = store();
    let meanwhile = (): Promise<unknown> => Promise.resolve();
    const racing = storeWith(inner, (real) => ({
      async claimDue(options) {
        await meanwhile();
        return await real.claimDue(options);
      },
    }));
    const definition = printing();
    const t = await engine({ workflows: [definition], queue: recordingQueue(), store: racing });
    const run = await t.engine.start(definition);
    const { id: executionId, token } = await dieWith(run, t);
    await t.clock.tick("30 seconds");
    const now = new Date(t.clock.now());
    meanwhile = () =>
      inner.checkpoint([{ executionId, token: token as string }], { now, leaseMs: LEASE_MS });
    assert.equal((await t.engine.housekeep()).recoveredInProgress, 0);
    assert.deepEqual(await storyOf(run), ["print: in_progress"]);
    assert.equal((await inner.active(run.id))?.token, token);
  },
);

behaviour(
  "HSK-14 when somebody else takes over between the claim and the write, nothing is written",
  async ({ engine, store }) => {
    const inner = store();
    let meanwhile = (): Promise<unknown> => Promise.resolve();
    const racing = storeWith(inner, (real) => ({
      async finish(batch, options) {
        await meanwhile();
        return await real.finish(batch, options);
      },
    }));
    const definition = printing();
    const t = await engine({ workflows: [definition], queue: recordingQueue(), store: racing });
    const run = await t.engine.start(definition);
    await dieWith(run, t);
    await t.clock.tick("30 seconds");
    const later = new Date(t.clock.now() + LEASE_MS);
    const other = { now: later, token: "other", leaseMs: LEASE_MS, worker: "other", limit: 9 };
    meanwhile = () => inner.claimDue(other);
    assert.equal((await t.engine.housekeep()).recoveredInProgress, 0);
    assert.deepEqual(await storyOf(run), ["print: in_progress"]);
    assert.equal((await inner.active(run.id))?.token, "other");
  },
);

behaviour("U33 housekeeping runs that overlap handle each row once", async ({ engine }) => {
  const definition = printing();
  const t = await engine({ workflows: [definition], queue: recordingQueue() });
  const others = [secondEngine(t, [definition]), secondEngine(t, [definition])];
  const runs = await deadOnes(t, definition, 6);
  for (let at = 0; at < 4; at++) await (await t.engine.start(definition)).cancel();
  await t.clock.tick("31 days");
  const summaries = await Promise.all(
    [t.engine, ...others].map((one) => one.housekeep({ batchSize: 2 })),
  );
  const sum = (key: "recoveredInProgress" | "workflowsDeleted"): number =>
    summaries.reduce((total, one) => total + one[key], 0);
  assert.deepEqual([sum("recoveredInProgress"), sum("workflowsDeleted")], [6, 4]);
  for (const run of runs) {
    assert.deepEqual(await storyOf(run), [
      "print: completed/recovered (recovery)",
      "print: scheduled",
    ]);
  }
});

behaviour(
  "HSK-25 a stuck workflow of an unknown definition is put back and reported, and the others are recovered",
  async ({ engine }) => {
    const known = printing();
    const unknown = printing("retired");
    const t = await engine({ workflows: [known, unknown], queue: recordingQueue() });
    const [stranger] = await deadOnes(t, unknown, 1) as [Run];
    const [friend] = await deadOnes(t, known, 1) as [Run];
    const reports = recordReports();
    const newer = createEngine({
      store: t.store,
      clock: t.clock,
      queue: recordingQueue(),
      workflows: [known],
      reportError: reports.reportError,
    });
    await t.clock.tick("30 seconds");
    const summary = await newer.housekeep();
    assert.equal(summary.recoveredInProgress, 1);
    assert.equal((await friend.history())[0]?.outcome, "recovered");
    assert.equal(reports.errors.length, 1);
    assert.ok(reports.errors[0] instanceof WorkflowNotDefinedError);
    assert.equal(reports.contexts[0]?.workflowId, stranger.id);

    await assertWorkflowState(stranger, "ready");
    assert.deepEqual(await storyOf(stranger), [
      "print: completed/reattempted (recovery)",
      "print: scheduled",
    ]);
    await t.clock.tick("1 second");
    await t.engine.handle((await current(stranger)).id);
    await assertWorkflowState(stranger, "finished");
  },
);

behaviour(
  "HSK-08 a step that kills its workers is paused after a bounded number of them, and reported",
  async ({ engine }) => {
    const reported: Error[] = [];
    const poison = workflow({ name: "poison", steps: [{ name: "crash", run: () => {} }] });
    const t = await engine({
      workflows: [poison],
      housekeeping: { maxRecoveries: 2 },
      reportError: (error) => void reported.push(error),
    });
    const run = await t.engine.start(poison);
    for (let deaths = 1; deaths <= 3; deaths++) {
      await dieWith(run, t);
      t.clock.travelTo(t.clock.now() + LEASE_MS);
      await t.engine.housekeep();
    }
    await run.reload();
    assert.equal(run.state, "paused");
    const history = await run.history();
    assert.deepEqual(history.map((one) => one.outcome), ["recovered", "recovered", "failed"]);
    assert.equal(history.at(-1)?.errorClass, "RecoveryLimitError");
    assert.deepEqual(reported.map((error) => error.name), ["RecoveryLimitError"]);
    await run.resume();
    assert.equal((await run.currentExecution())?.metadata.recoveries, undefined, "a fresh budget");
  },
);
