/** What stops a walk on a real engine: a shutdown, a lost claim; nothing of it is lost or done twice. */

import assert from "node:assert/strict";
import { InvalidStateError, type QueueDriver, StepConfigurationError } from "../../mod.ts";
import { assertCursor, performNextStep, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingLogger, recordingQueue } from "../run/_doubles.ts";
import { createGate } from "../run/_gate.ts";
import { current, executionAt, recordReports, storyOf } from "../run/_story.ts";
import { chainOf, importing, range, withWorkers } from "./_chain.ts";

behaviour(
  "RES-23 a worker that stops ends the walk after the item in hand, and the next worker goes on",
  async ({ store }) => {
    const done: number[] = [];
    let stop = (): void => {};
    const definition = importing(({ iter }) =>
      iter.over(range(9), (item) => {
        done.push(item);
        if (item % 3 === 2) stop();
      })
    );
    const { engine } = await withWorkers(store(), { workflows: [definition] });
    const run = await engine.start(definition);
    for (const cursor of [3, 6]) {
      const worker = engine.work();
      stop = () => void worker.stop();
      await worker.stopped;
      assert.deepEqual(done, range(cursor));
      await assertCursor(run, cursor);
      const closed = await executionAt(run, -2);
      assert.deepEqual([closed.outcome, closed.metadata.interruptReason], [
        "continued",
        "shutdown",
      ]);
      assert.equal((await current(run)).state, "scheduled");
    }
    stop = () => {};
    await engine.work().idle();
    assert.deepEqual(done, range(9));
    assert.equal((await run.reload()).state, "finished");
    await engine.close();
  },
);

behaviour(
  "RES-24 a body that makes no checkpoint is not interrupted by a shutdown",
  async ({ store }) => {
    const gate = createGate();
    const definition = importing(() => gate.pass());
    const { engine } = await withWorkers(store(), { workflows: [definition] });
    const run = await engine.start(definition);
    const worker = engine.work();
    await gate.arrived;
    const stopping = worker.stop();
    gate.open();
    await stopping;
    assert.deepEqual(await storyOf(run), ["rows: completed/success", "report: scheduled"]);
    await engine.close();
  },
);

behaviour(
  "RES-23 U2 a body that outlives the worker's grace is handed back at its cursor, and is lost then",
  async ({ store }) => {
    const gate = createGate();
    const late: unknown[] = [];
    const definition = importing(async ({ iter }) => {
      if (iter.resumed) return;
      await iter.set(1);
      await gate.pass();
      await iter.set(2).catch((error) => late.push(error));
    });
    const { reportError, errors } = recordReports();
    const { engine, clock } = await withWorkers(store(), { workflows: [definition], reportError });
    const run = await engine.start(definition);
    const worker = engine.work({ graceMs: 5_000 });
    await gate.arrived;
    const stopping = worker.stop();
    await clock.tick("5 seconds");
    await stopping;
    assert.deepEqual(await storyOf(run), [
      "rows: completed/continued (interrupt)",
      "rows: scheduled",
    ]);
    await assertCursor(run, 1);
    gate.open();
    await speedrunWorkflow(run);
    assert.equal(late.length, 1, "the abandoned body is told, whatever it does with it");
    assert.deepEqual((await chainOf(run)).map(({ outcome }) => outcome), ["continued", "success"]);
    assert.deepEqual(errors, []);
    await engine.close();
  },
);

behaviour(
  "JIT-38 JIT-48 JIT-39 a process that is stopping already does one item; the driver's word is the reason",
  async (world) => {
    for (const [answer, reason] of [[true, "shutdown"], ["SIGTERM", "SIGTERM"]] as const) {
      const done: number[] = [];
      const definition = importing(({ iter }) =>
        iter.over(range(3), (item) => void done.push(item))
      );
      const logger = recordingLogger();
      const { engine } = await world.engine({
        workflows: [definition],
        queue: recordingQueue({ shouldStop: () => answer }),
        logger,
      });
      const heard: unknown[] = [];
      engine.events.on("step", (event) => heard.push([event.outcome, event.reason]));
      const run = await engine.start(definition);
      await engine.handle((await current(run)).id);
      assert.deepEqual(done, [0]);
      assert.equal((await executionAt(run, 0)).metadata.interruptReason, reason);
      assert.deepEqual(heard, [["interrupted", reason]]);
      const line = logger.lines.find(({ message }) => message === `Interrupted: ${reason}`);
      assert.deepEqual([line?.fields.reason, line?.fields.cursor], [reason, "1"]);
    }
  },
);

behaviour(
  "JIT-47 a queue without a word on stopping never interrupts; whoever runs a worker stops that",
  async (world) => {
    const definition = importing(({ iter }) => iter.over(range(300), () => {}));
    const queue = recordingQueue();
    assert.equal(queue.shouldStop, undefined);
    const { engine } = await world.engine({ workflows: [definition], queue });
    const run = await engine.start(definition);
    await engine.handle((await current(run)).id);
    assert.deepEqual(await storyOf(run), ["rows: completed/success", "report: scheduled"]);
  },
);

behaviour("JIT-48 a shouldStop that cannot be called is refused at once", async (world) => {
  const shouldStop = "soon" as unknown as NonNullable<QueueDriver["shouldStop"]>;
  await assert.rejects(
    world.engine({ queue: recordingQueue({ shouldStop }) }),
    (error) => error instanceof StepConfigurationError && /shouldStop/.test(error.message),
  );
});

behaviour(
  "U1 P3 a checkpoint renews the claim, so that a long walk is never taken for a dead one",
  async (world) => {
    const gates = range(3).map(createGate);
    const definition = importing(({ iter }) =>
      iter.over(range(3), async (item) => await gates[item]?.pass())
    );
    const { engine, clock } = await world.engine({
      workflows: [definition],
      leaseMs: null,
      housekeeping: { stuckInProgress: "1 hour" },
    });
    const run = await engine.start(definition);
    const handling = engine.handle((await current(run)).id);
    for (const gate of gates) {
      await gate.arrived;
      // No timer fires on the way, so that only the checkpoints are signs of life.
      clock.travelTo(clock.now() + 50 * 60_000);
      assert.equal((await engine.housekeep()).recoveredInProgress, 0);
      gate.open();
    }
    await handling;
    const [rows] = await run.history();
    assert.equal(rows?.outcome, "success");
    assert.equal(Number(rows?.finishedAt) - Number(rows?.startedAt), 150 * 60_000);
  },
);

behaviour(
  "HSK-21 RES-62 U2 a dead worker's walk is recovered at its cursor; should it live on, nobody listens",
  async (world) => {
    const done: string[] = [];
    const gate = createGate();
    let lateError: unknown = null;
    const definition = importing(async ({ iter }) => {
      const who = iter.resumed ? "new" : "old";
      try {
        await iter.over(range(4), async (item) => {
          done.push(`${who} ${item}`);
          if (who === "old" && item === 2) await gate.pass();
        });
      } catch (error) {
        lateError = error;
        throw error;
      }
    }, { onException: "cancel" });
    const { reportError, errors } = recordReports();
    const { engine, clock } = await world.engine({ workflows: [definition], reportError });
    const heard: string[] = [];
    engine.events.on("recovered", ({ lost, action }) => heard.push(`${lost} ${action}`));
    engine.events.on("lost", ({ stepName }) => heard.push(`lost ${stepName}`));
    const run = await engine.start(definition);
    const old = await current(run);
    const handling = engine.handle(old.id);
    await gate.arrived;
    clock.travelTo(clock.now() + 31_000);
    assert.equal((await engine.housekeep()).recoveredInProgress, 1);
    const recovered = await executionAt(run, 0);
    assert.deepEqual([recovered.state, recovered.outcome, recovered.cursor], [
      "completed",
      "recovered",
      2,
    ]);
    const successor = await current(run);
    assert.deepEqual([successor.continuesFromId, successor.cursor], [old.id, 2]);
    await speedrunWorkflow(run);

    const before = await run.history();
    gate.open();
    await handling;
    assert.deepEqual(done, ["old 0", "old 1", "old 2", "new 2", "new 3"]);
    assert.deepEqual(await run.history(), before, "the old body wrote nothing");
    assert.ok(lateError !== null, "it was stopped at its next checkpoint");
    assert.deepEqual(errors, [], "no policy, no report");
    assert.deepEqual(heard, ["worker reattempt", "lost rows"]);
    assert.equal((await run.reload()).state, "finished");
  },
);

behaviour(
  "RES-71 D48 a checkpoint inside an open transaction of the engine is an error, not a deadlock",
  async (world) => {
    const seen: unknown[] = [];
    let inTransaction = (_work: () => Promise<void>): Promise<unknown> => Promise.reject(_work);
    const definition = importing(async ({ iter }) => {
      await iter.set(1);
      await inTransaction(async () => {
        await iter.set(2).catch((error) => seen.push(error));
        await iter.checkpoint().catch((error) => seen.push(error));
        assert.equal(iter.cursor, 1);
      });
      await iter.set(3);
    });
    const { engine } = await world.engine({ workflows: [definition] });
    inTransaction = (work) => engine.transaction(work);
    const run = await engine.start(definition);
    const rows = await performNextStep(run);
    assert.equal(rows?.metadata.lastCursor, 3, "after the transaction it is stored as ever");
    assert.equal(seen.length, 2);
    for (const error of seen) {
      assert.ok(error instanceof InvalidStateError);
      assert.match(error.message, /"rows" inside engine\.transaction\(\)/);
    }
  },
);
