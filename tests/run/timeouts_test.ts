/** Bodies that run out of time. */

import assert from "node:assert/strict";
import { FlowControlOutsideStepError, policy, StepTimeoutError, workflow } from "../../mod.ts";
import { performNextStep } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { current, executionAt, recordReports, storyOf, untilAborted } from "./_story.ts";

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
