/** Flow control inside steps: what each call does to the execution and to the workflow. */

import assert from "node:assert/strict";
import { type StepContext, workflow } from "../../mod.ts";
import { performNextStep, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingLogger } from "./_doubles.ts";
import { current, executionAt, recordReports, startAndDeliver, storyOf } from "./_story.ts";

/** An order whose second step does what a test wants of it. */
function orderOf(body: (context: StepContext) => unknown) {
  return workflow({
    name: "order",
    steps: [
      { name: "charge", run: () => {} },
      { name: "pack", run: body },
      { name: "ship", wait: "1 day", run: () => {} },
    ],
  });
}

behaviour("FLW-01 FLW-07 cancel() ends the body and the workflow", async ({ engine: open }) => {
  let beyond = false;
  const order = orderOf(({ cancel }) => {
    cancel();
    beyond = true;
  });
  const { engine, clock } = await open({ workflows: [order] });
  const run = await engine.start(order);
  await performNextStep(run);
  const packed = await performNextStep(run);
  assert.equal(beyond, false);
  assert.equal(run.state, "canceled");
  assert.equal(run.currentStepName, null);
  assert.equal(run.transitionedAt?.getTime(), clock.now());
  assert.deepEqual(await storyOf(run), [
    "charge: completed/success",
    "pack: canceled/canceled (flow_control)",
  ]);
  assert.equal(packed?.canceledAt?.getTime(), clock.now());
  assert.equal(packed?.startedAt?.getTime(), clock.now());
});

behaviour(
  "FLW-02 FLW-07 pause() in a plain step keeps the pointer on it",
  async ({ engine: open }) => {
    let beyond = false;
    let packs = 0;
    const order = orderOf(({ pause }) => {
      if (packs++ > 0) return;
      pause();
      beyond = true;
    });
    const { engine, clock } = await open({ workflows: [order] });
    const run = await engine.start(order);
    await performNextStep(run);
    await performNextStep(run);
    assert.equal(beyond, false);
    assert.equal(run.state, "paused");
    assert.equal(run.nextStepName, "pack");
    assert.equal(run.currentStepName, null);
    assert.equal(run.transitionedAt?.getTime(), clock.now());
    assert.equal(await run.currentExecution(), null);
    assert.deepEqual(await storyOf(run), [
      "charge: completed/success",
      "pack: canceled/canceled (flow_control)",
    ]);
    await run.resume();
    await performNextStep(run);
    assert.equal(packs, 2);
    assert.equal(run.nextStepName, "ship");
  },
);

behaviour(
  "FLW-03 FLW-07 skip() skips the step and schedules the next",
  async ({ engine: open }) => {
    let beyond = false;
    const order = orderOf(({ skip }) => {
      skip();
      beyond = true;
    });
    const { engine, clock } = await open({ workflows: [order] });
    const run = await engine.start(order);
    await performNextStep(run);
    const packed = await performNextStep(run);
    assert.equal(beyond, false);
    assert.equal(packed?.skippedAt?.getTime(), clock.now());
    assert.equal(run.state, "ready");
    assert.deepEqual(await storyOf(run), [
      "charge: completed/success",
      "pack: skipped/skipped (flow_control)",
      "ship: scheduled",
    ]);
    assert.equal((await current(run)).scheduledFor.getTime(), clock.now() + 86_400_000);
  },
);

behaviour("FLW-04 skip() in the last step finishes the workflow", async ({ engine: open }) => {
  const gift = workflow({
    name: "gift",
    steps: [{ name: "wrap", run: ({ skip }) => skip() }],
  });
  const { engine } = await open({ workflows: [gift] });
  const { run, thrown } = await startAndDeliver(engine, gift);
  assert.equal(thrown, null);
  assert.equal(run.state, "finished");
  assert.equal(run.nextStepName, null);
  assert.deepEqual(await storyOf(run), ["wrap: skipped/skipped (flow_control)"]);
});

behaviour("FLW-05 FLW-07 FLW-17 reattempt() runs the step again after its wait", async (world) => {
  const attempts: number[] = [];
  let beyond = false;
  const order = orderOf(({ attempt, reattempt }) => {
    attempts.push(attempt);
    if (attempt === 1) {
      reattempt({ wait: "90 seconds" });
      beyond = true;
    }
    if (attempt === 2) reattempt();
  });
  const { engine, clock } = await world.engine({ workflows: [order] });
  const run = await engine.start(order);
  await performNextStep(run);
  const first = await performNextStep(run);
  assert.equal(beyond, false);
  assert.equal(first?.completedAt?.getTime(), clock.now());
  assert.equal(first?.metadata.reattemptReason, "flow_control");
  assert.equal(run.state, "ready");
  assert.equal(run.nextStepName, "pack");
  const again = await current(run);
  assert.equal(again.stepName, "pack");
  assert.equal(again.attempt, 2);
  assert.equal(again.scheduledFor.getTime(), clock.now() + 90_000);
  assert.notEqual(again.id, first?.id);

  await clock.tick("89 seconds");
  assert.deepEqual(attempts, [1]);
  await clock.tick("1 second");
  assert.deepEqual(attempts, [1, 2, 3]);
  assert.deepEqual(await storyOf(run), [
    "charge: completed/success",
    "pack: completed/reattempted (flow_control)",
    "pack: completed/reattempted (flow_control)",
    "pack: completed/success",
    "ship: scheduled",
  ]);
});

behaviour("FLW-06 FLW-07 FLW-12 FLW-13 finish() leaves later steps without rows", async (world) => {
  let beyond = false;
  const order = orderOf(({ finish }) => {
    finish();
    beyond = true;
  });
  const { engine, clock } = await world.engine({ workflows: [order] });
  const run = await engine.start(order);
  await performNextStep(run);
  await performNextStep(run);
  assert.equal(beyond, false);
  assert.equal(run.state, "finished");
  assert.equal(run.currentStepName, null);
  assert.equal(run.nextStepName, null);
  assert.equal(run.transitionedAt?.getTime(), clock.now());
  assert.deepEqual(await storyOf(run), [
    "charge: completed/success",
    "pack: completed/success (flow_control)",
  ]);
  await clock.tick("7 days");
  assert.equal((await run.history()).length, 2);
});

const CALLS = ["cancel", "pause", "skip", "reattempt", "finish"] as const;

behaviour(
  "FLW-08 a flow call is neither stored nor reported as a failure",
  async ({ engine: open }) => {
    for (const call of CALLS) {
      const reports = recordReports();
      const errors: unknown[] = [];
      const outcomes: string[] = [];
      const order = orderOf(async (context) => {
        await new Promise<void>((resolve) => queueMicrotask(resolve));
        context[call]();
      });
      const { reportError } = reports;
      const { engine } = await open({ workflows: [order], reportError });
      engine.events.on("error", ({ error }) => errors.push(error));
      engine.events.on("step", ({ outcome, error }) => {
        outcomes.push(outcome);
        if (error !== undefined) errors.push(error);
      });
      const run = await engine.start(order);
      await performNextStep(run);
      const execution = await performNextStep(run);
      assert.ok(execution, call);
      const { errorClass, errorMessage, errorStack, failedAt, metadata } = execution;
      assert.deepEqual([errorClass, errorMessage, errorStack, failedAt], [null, null, null, null]);
      assert.equal(metadata.exception, undefined);
      assert.deepEqual([...reports.errors, ...errors], []);
      assert.deepEqual(outcomes, ["completed", call === "finish" ? "finished" : call]);
    }
  },
);

behaviour(
  "FLW-09 U6 a body that swallows the flow call is still taken at its word",
  async (world) => {
    const ends: Record<string, string[]> = {};
    for (const call of CALLS) {
      const order = orderOf((context) => {
        try {
          context[call]();
        } catch {
          // The way out is swallowed on purpose.
        }
        return "packed after all";
      });
      const { engine } = await world.engine({ workflows: [order] });
      const run = await engine.start(order);
      await performNextStep(run);
      await performNextStep(run);
      ends[call] = [run.state, ...(await storyOf(run)).slice(1)];
    }
    assert.deepEqual(ends, {
      cancel: ["canceled", "pack: canceled/canceled (flow_control)"],
      pause: ["paused", "pack: canceled/canceled (flow_control)"],
      skip: ["ready", "pack: skipped/skipped (flow_control)", "ship: scheduled"],
      reattempt: ["ready", "pack: completed/reattempted (flow_control)", "pack: scheduled"],
      finish: ["finished", "pack: completed/success (flow_control)"],
    });
  },
);

behaviour("FLW-10 flow calls work from helpers that the body awaits", async ({ engine: open }) => {
  async function inStockOrSkip({ skip }: StepContext, items: number): Promise<number> {
    await Promise.resolve();
    if (items === 0) skip();
    return items;
  }
  const reached: number[] = [];
  const order = orderOf(async (context) => {
    const packAll = async (): Promise<void> => {
      for (const items of [2, 0, 1]) reached.push(await inStockOrSkip(context, items));
    };
    await packAll();
  });
  const { engine } = await open({ workflows: [order] });
  const run = await engine.start(order);
  await performNextStep(run);
  await performNextStep(run);
  assert.deepEqual(reached, [2]);
  assert.equal((await executionAt(run, 1)).outcome, "skipped");
});

behaviour("FLW-11 FLW-17 a step's own reattempts know no cap", async ({ engine: open }) => {
  const polling = workflow({
    name: "polling",
    steps: [{
      name: "await_delivery",
      onException: "reattempt",
      maxReattempts: 1,
      terminalAction: "cancel",
      run: ({ attempt, reattempt }) => {
        if (attempt < 8) reattempt({ wait: "1 hour" });
      },
    }],
  });
  const { engine } = await open({ workflows: [polling] });
  const run = await speedrunWorkflow(await engine.start(polling));
  assert.equal(run.state, "finished");
  const history = await run.history();
  assert.deepEqual(history.map((one) => one.attempt), [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.equal(new Set(history.map((one) => one.id)).size, 8);
});

behaviour(
  "FLW-16 a body that handles its own error bypasses the policy",
  async ({ engine: open }) => {
    for (const call of ["reattempt", "cancel", "pause"] as const) {
      const { reportError, errors } = recordReports();
      let handled = 0;
      const order = workflow({
        name: "order",
        onException: () => void handled++,
        steps: [{
          name: "charge",
          onException: () => void handled++,
          run: (context) => {
            try {
              throw new Error("card declined");
            } catch {
              context[call]();
            }
          },
        }],
      });
      const { engine } = await open({ workflows: [order], reportError });
      const { run, thrown } = await startAndDeliver(engine, order);
      assert.equal(thrown, null);
      assert.equal(handled, 0);
      assert.deepEqual(errors, []);
      const { cause, errorClass } = await executionAt(run, 0);
      assert.deepEqual([cause, errorClass], ["flow_control", null]);
    }
  },
);

behaviour("FLW-18 a flow call of a superseded execution is dropped", async ({ engine: open }) => {
  const entered = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let bodies = 0;
  const order = workflow({
    name: "order",
    steps: [{
      name: "charge",
      run: async ({ cancel }) => {
        if (++bodies > 1) return;
        entered.resolve();
        await gate.promise;
        cancel();
      },
    }],
  });
  const logger = recordingLogger();
  const { engine, clock } = await open({ workflows: [order], logger });
  const run = await engine.start(order);
  const { id } = await current(run);
  const late = engine.handle(id);
  await entered.promise;
  // The process seems dead for longer than its lease, and housekeeping takes over.
  clock.travelTo(clock.now() + 31_000);
  assert.equal((await engine.housekeep()).recoveredInProgress, 1);
  const before = [await storyOf(run), (await run.reload()).state];

  gate.resolve();
  await late;

  assert.deepEqual([await storyOf(run), (await run.reload()).state], before);
  assert.deepEqual(before, [
    ["charge: completed/recovered (recovery)", "charge: scheduled"],
    "ready",
  ]);
  assert.ok(logger.lines.some(({ level, message }) => level === "warn" && /dropped/.test(message)));
  await speedrunWorkflow(run);
  assert.equal(run.state, "finished");
});
