/** Bodies that are asked to stop: timeouts, shutdown, and the reasons that their signal gives. */

import assert from "node:assert/strict";
import {
  createEngine,
  type Engine,
  FlowControlOutsideStepError,
  policy,
  type StepContext,
  StepInterruptedError,
  StepTimeoutError,
  workflow,
} from "../../mod.ts";
import { createFakeClock, performNextStep, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour, type World } from "../_engines.ts";
import { current, executionAt, recordReports, storyOf } from "./_story.ts";

/** Rejects with the signal's reason once it is aborted. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

behaviour(
  "U13 past its timeout a body is told by its signal and the step has failed",
  async (world) => {
    const reasons: unknown[] = [];
    const crawl = workflow({
      name: "crawl",
      steps: [{
        name: "fetch",
        timeout: "30 seconds",
        run: async ({ signal }) => {
          signal.addEventListener("abort", () => void reasons.push(signal.reason), { once: true });
          await untilAborted(signal);
        },
      }],
    });
    const { reportError, errors } = recordReports();
    const { engine, clock } = await world.engine({ workflows: [crawl], reportError });
    const run = await engine.start(crawl);
    const start = clock.now();
    await clock.tick("29 seconds");
    assert.deepEqual(await storyOf(run), ["fetch: in_progress"]);
    assert.equal(reasons.length, 0);
    await clock.tick("1 second");
    const [reason] = reasons;
    assert.ok(reason instanceof StepTimeoutError);
    assert.equal(reason.timeoutMs, 30_000);
    assert.equal((await run.reload()).state, "paused");
    assert.deepEqual(await storyOf(run), ["fetch: failed/failed (exception)"]);
    const failed = await executionAt(run, 0);
    assert.equal(failed.errorClass, "StepTimeoutError");
    assert.match(failed.errorMessage ?? "", /"fetch".*30000 ms/);
    assert.equal(failed.failedAt?.getTime(), start + 30_000);
    assert.deepEqual(errors, [reason]);
  },
);

behaviour(
  "U13 a body that ignores its signal is not waited for, and what it does late is dropped",
  async (world) => {
    const gate = Promise.withResolvers<void>();
    const late = Promise.withResolvers<unknown>();
    const crawl = workflow({
      name: "crawl",
      steps: [
        {
          name: "fetch",
          timeout: "5 seconds",
          onException: "skip",
          run: async ({ cancel }) => {
            await gate.promise;
            try {
              cancel();
            } catch (error) {
              late.resolve(error);
            }
          },
        },
        { name: "index", wait: "1 day", run: () => {} },
      ],
    });
    const { engine, clock } = await world.engine({ workflows: [crawl] });
    const run = await engine.start(crawl);
    await clock.tick("5 seconds");
    const before = await storyOf(run);
    assert.deepEqual(before, ["fetch: skipped/skipped (exception)", "index: scheduled"]);
    gate.resolve();
    assert.ok(await late.promise instanceof FlowControlOutsideStepError);
    assert.deepEqual(await storyOf(run), before);
    assert.equal((await run.reload()).state, "ready");
  },
);

behaviour(
  "U13 policies may match the timeout, and each attempt has its own",
  async ({ engine: open }) => {
    const started: number[] = [];
    const crawl = workflow({
      name: "crawl",
      steps: [{
        name: "fetch",
        timeout: "5 seconds",
        onException: [policy("reattempt", { matching: StepTimeoutError, wait: "1 minute" })],
        run: async ({ attempt, signal, previousError }) => {
          started.push(clock.now());
          assert.equal(previousError?.class ?? null, attempt === 1 ? null : "StepTimeoutError");
          if (attempt < 3) await untilAborted(signal);
        },
      }],
    });
    const { engine, clock } = await open({ workflows: [crawl] });
    const run = await engine.start(crawl);
    const start = clock.now();
    await clock.tick("10 minutes");
    assert.deepEqual(started, [start, start + 65_000, start + 130_000]);
    assert.equal((await run.reload()).state, "finished");
  },
);

behaviour("U13 a body that ends in time leaves no timer behind", async ({ engine: open }) => {
  const crawl = workflow({
    name: "crawl",
    steps: [
      { name: "fetch", timeout: "5 seconds", run: () => Promise.resolve() },
      {
        name: "parse",
        timeout: "5 seconds",
        onException: "skip",
        run: () => {
          throw new SyntaxError("no such tag");
        },
      },
    ],
  });
  const { engine, clock } = await open({ workflows: [crawl] });
  const run = await engine.start(crawl);
  await clock.tick("1 second");
  assert.equal((await run.reload()).state, "finished");
  assert.equal(clock.timers, 0);
  assert.equal((await executionAt(run, 1)).errorClass, "SyntaxError");
});

behaviour(
  "U13 a resumable step that runs out of time keeps the cursor it reached",
  async ({ engine: open }) => {
    const seen: number[] = [];
    const crawl = workflow({
      name: "crawl",
      steps: [{
        name: "fetch",
        resumable: true,
        timeout: "5 seconds",
        onException: "reattempt",
        run: ({ iter, signal, attempt }) =>
          iter.over([10, 20, 30], async (page) => {
            seen.push(page);
            if (page === 20 && attempt === 1 && seen.length < 3) await untilAborted(signal);
          }),
      }],
    });
    const { engine, clock } = await open({ workflows: [crawl] });
    const run = await engine.start(crawl);
    await clock.tick("1 minute");
    assert.deepEqual(seen, [10, 20, 20, 30]);
    assert.equal((await run.reload()).state, "finished");
    assert.deepEqual(await storyOf(run), [
      "fetch: completed/reattempted (exception)",
      "fetch: completed/success",
    ]);
  },
);

/** An engine with a worker on a fake clock, as an application would run it. */
async function employ(
  { store }: World,
  definition: ReturnType<typeof workflow>,
  reportError?: (error: Error) => void,
) {
  const clock = createFakeClock();
  const engine: Engine = createEngine({
    store: store(),
    workflows: [definition],
    clock,
    ...(reportError === undefined ? {} : { reportError }),
  });
  await engine.migrate();
  return { engine, clock };
}

behaviour(
  "U14 a plain step that gives up at shutdown runs again without counting",
  async (world) => {
    const entered: (() => void)[] = [];
    const reasons: unknown[] = [];
    const errors: Error[] = [];
    const mail = workflow({
      name: "mail",
      steps: [{
        name: "send",
        onException: "reattempt",
        maxReattempts: 1,
        run: async ({ signal }) => {
          entered.shift()?.();
          try {
            await untilAborted(signal);
          } catch (reason) {
            reasons.push(reason);
            // Libraries throw the reason itself, wrap it, or throw an AbortError.
            if (reasons.length === 1) throw reason;
            if (reasons.length === 2) throw new Error("fetch failed", { cause: reason });
            throw new DOMException("aborted", "AbortError");
          }
        },
      }],
    });
    const { engine } = await employ(world, mail, (error) => errors.push(error));
    const run = await engine.start(mail);
    for (let stops = 1; stops <= 3; stops++) {
      const { promise, resolve } = Promise.withResolvers<void>();
      entered.push(resolve);
      const worker = engine.work();
      await promise;
      await worker.stop();
      const next = await current(run);
      assert.deepEqual([next.state, next.attempt], ["scheduled", 1]);
      assert.equal((await run.reload()).state, "ready");
    }
    for (const reason of reasons) {
      assert.ok(reason instanceof StepInterruptedError);
      assert.equal(reason.reason, "shutdown");
    }
    const closed = (await run.history()).slice(0, 3);
    for (const execution of closed) {
      assert.deepEqual([execution.outcome, execution.cause], ["reattempted", "interrupt"]);
      assert.equal(execution.metadata.interruptReason, "shutdown");
      assert.equal(execution.errorClass, null);
    }
    assert.deepEqual(errors, []);
    await engine.close();
  },
);

behaviour("U14 a body that ends well in spite of the shutdown has ended well", async (world) => {
  const entered = Promise.withResolvers<void>();
  const mail = workflow({
    name: "mail",
    steps: [
      {
        name: "send",
        run: async ({ signal }) => {
          entered.resolve();
          await untilAborted(signal).catch(() => {});
        },
      },
      { name: "file", run: () => {} },
    ],
  });
  const { engine } = await employ(world, mail);
  const run = await engine.start(mail);
  const worker = engine.work();
  await entered.promise;
  await worker.stop();
  assert.deepEqual(await storyOf(run), ["send: completed/success", "file: scheduled"]);
  await engine.close();
});

behaviour("U14 another error at shutdown is an error", async (world) => {
  const entered = Promise.withResolvers<void>();
  const errors: Error[] = [];
  const error = new TypeError("not a letter");
  const mail = workflow({
    name: "mail",
    steps: [{
      name: "send",
      run: async ({ signal }) => {
        entered.resolve();
        await untilAborted(signal).catch(() => {});
        throw error;
      },
    }],
  });
  const { engine } = await employ(world, mail, (one) => errors.push(one));
  const run = await engine.start(mail);
  const worker = engine.work();
  await entered.promise;
  await worker.stop();
  assert.deepEqual(await storyOf(run), ["send: failed/failed (exception)"]);
  assert.deepEqual(errors, [error]);
  await engine.close();
});

behaviour("U14 U35 a shutdown copes with an error that cannot be read", async (world) => {
  const entered = Promise.withResolvers<void>();
  const hostile = new Error("hidden");
  for (const key of ["name", "cause"]) {
    Object.defineProperty(hostile, key, {
      get: () => {
        throw new Error(`${key} cannot be read`);
      },
    });
  }
  const mail = workflow({
    name: "mail",
    steps: [{
      name: "send",
      run: async ({ signal }) => {
        entered.resolve();
        await untilAborted(signal).catch(() => {});
        throw hostile;
      },
    }],
  });
  const { engine } = await employ(world, mail);
  const run = await engine.start(mail);
  const worker = engine.work();
  await entered.promise;
  await worker.stop();
  assert.deepEqual(await storyOf(run), ["send: failed/failed (exception)"]);
  await engine.close();
});

/** A mail whose body waits for its signal and tells the reason. */
function waitingMail(tell: (reason: unknown) => void, enter: () => void) {
  return workflow({
    name: "mail",
    steps: [{
      name: "send",
      run: async ({ signal }: StepContext) => {
        enter();
        assert.equal(signal.aborted, false);
        await untilAborted(signal).catch((reason) => {
          tell(reason);
          throw reason;
        });
      },
    }],
  });
}

behaviour("P9 the signal's reason says who asks: a pause, a cancel", async ({ engine: open }) => {
  for (
    const [command, reason, story] of [
      ["pause", "paused", "send: canceled/canceled (operator)"],
      ["cancel", "canceled", "send: canceled/canceled (operator)"],
    ] as const
  ) {
    const entered = Promise.withResolvers<void>();
    const told = Promise.withResolvers<unknown>();
    const mail = waitingMail(told.resolve, entered.resolve);
    const { reportError, errors } = recordReports();
    const { engine } = await open({ workflows: [mail], reportError });
    const run = await engine.start(mail);
    const performing = engine.handle((await current(run)).id);
    await entered.promise;
    await run[command]();
    const given = await told.promise;
    assert.ok(given instanceof StepInterruptedError);
    assert.equal(given.reason, reason);
    await performing;
    assert.equal((await run.reload()).state, reason);
    assert.deepEqual(await storyOf(run), [story]);
    assert.deepEqual(errors, []);
  }
});

behaviour(
  "EXE-18 P3 the signal's reason says that the lease was lost, and nothing is recorded",
  async (world) => {
    const entered = Promise.withResolvers<void>();
    const told = Promise.withResolvers<unknown>();
    let bodies = 0;
    const mail = workflow({
      name: "mail",
      steps: [{
        name: "send",
        run: async ({ signal }) => {
          if (++bodies > 1) return;
          entered.resolve();
          await untilAborted(signal).catch((reason) => {
            told.resolve(reason);
            throw reason;
          });
        },
      }],
    });
    const { reportError, errors } = recordReports();
    const { engine, clock } = await world.engine({ workflows: [mail], reportError });
    const run = await engine.start(mail);
    const performing = engine.handle((await current(run)).id);
    await entered.promise;
    // The whole process stood still, and then its own housekeeping comes before its heartbeat.
    clock.travelTo(clock.now() + 31_000);
    assert.equal((await engine.housekeep()).recoveredInProgress, 1);
    await clock.tick("1 second");
    const given = await told.promise;
    assert.ok(given instanceof StepInterruptedError);
    assert.equal(given.reason, "lost_lease");
    await performing;
    await speedrunWorkflow(run);
    assert.deepEqual(await storyOf(run), [
      "send: completed/recovered (recovery)",
      "send: completed/success",
    ]);
    assert.deepEqual(errors, []);
    assert.equal(bodies, 2);
  },
);

behaviour(
  "U13 without a timeout a hanging body of a dead process is housekeeping's",
  async (world) => {
    const entered = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    let bodies = 0;
    const mail = workflow({
      name: "mail",
      steps: [{
        name: "send",
        run: async () => {
          if (++bodies > 1) return;
          entered.resolve();
          await gate.promise;
        },
      }],
    });
    const { engine, clock } = await world.engine({ workflows: [mail] });
    const run = await engine.start(mail);
    const hanging = engine.handle((await current(run)).id);
    await entered.promise;
    // As long as the process lives, its heartbeat keeps the claim.
    await clock.tick("5 minutes");
    assert.equal((await engine.housekeep()).recoveredInProgress, 0);
    clock.travelTo(clock.now() + 31_000);
    assert.equal((await engine.housekeep()).recoveredInProgress, 1);
    await performNextStep(run);
    assert.equal((await run.reload()).state, "finished");
    gate.resolve();
    await hanging;
    assert.equal((await run.reload()).state, "finished");
  },
);
