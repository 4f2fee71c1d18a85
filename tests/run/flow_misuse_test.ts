/** Flow control where it does not belong, too often, or with arguments that make no sense. */

import assert from "node:assert/strict";
import {
  FlowControlOutsideStepError,
  type FlowFunctions,
  InvalidStateError,
  StepConfigurationError,
  type StepContext,
  workflow,
} from "../../mod.ts";
import { performNextStep } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingLogger } from "./_doubles.ts";
import { current, executionAt, recordReports, startAndDeliver, storyOf } from "./_story.ts";

const CALLS = ["cancel", "pause", "skip", "reattempt", "finish"] as const;

behaviour(
  "FLW-14 flow functions outside a running step are an error and change nothing",
  async (world) => {
    let captured: FlowFunctions | null = null;
    let suspend: (() => never) | null = null;
    const errand = workflow({
      name: "errand",
      steps: [
        {
          name: "go",
          run: (context) => {
            captured = context;
          },
        },
        {
          name: "look_around",
          resumable: true,
          run: (context) => {
            suspend = context.suspend;
          },
        },
        { name: "come_back", wait: "1 hour", run: () => {} },
      ],
    });
    const { engine } = await world.engine({ workflows: [errand] });
    const run = await engine.start(errand);
    await performNextStep(run);
    await performNextStep(run);
    const before = await storyOf(run);
    const functions = captured as unknown as FlowFunctions;
    for (const call of [...CALLS, "suspend"] as const) {
      assert.throws(
        () => call === "suspend" ? suspend?.() : functions[call](),
        (error) =>
          error instanceof FlowControlOutsideStepError && error.action === call &&
          error.message.includes(`${call}()`) && /inside the body of a step/.test(error.message),
      );
    }
    assert.deepEqual(await storyOf(run), before);
    assert.equal((await run.reload()).state, "ready");
  },
);

behaviour(
  "FLW-15 suspend() in a plain step is an InvalidStateError under the step's policy",
  async (world) => {
    const { reportError, errors } = recordReports();
    const errand = workflow({
      name: "errand",
      steps: [
        {
          name: "rest",
          onException: "skip",
          run: (context) => (context as unknown as { suspend(): never }).suspend(),
        },
        { name: "go_on", wait: "1 hour", run: () => {} },
      ],
    });
    const { engine } = await world.engine({ workflows: [errand], reportError });
    const { run, thrown } = await startAndDeliver(engine, errand);
    assert.ok(thrown instanceof InvalidStateError);
    assert.match(thrown.message, /resumable/);
    assert.deepEqual(await storyOf(run), ["rest: skipped/skipped (exception)", "go_on: scheduled"]);
    assert.equal((await executionAt(run, 0)).errorClass, "InvalidStateError");
    assert.deepEqual(errors, [thrown]);
  },
);

behaviour(
  "U5 a captured flow function in a condition is a usage error, not a decision",
  async (world) => {
    let captured: FlowFunctions | null = null;
    const errand = workflow({
      name: "errand",
      steps: [
        {
          name: "go",
          run: (context) => {
            captured = context;
          },
        },
        { name: "look", skipIf: () => captured?.skip(), run: () => assert.fail("it must not run") },
      ],
    });
    const { engine } = await world.engine({ workflows: [errand] });
    const run = await engine.start(errand);
    await performNextStep(run);
    await assert.rejects(performNextStep(run), FlowControlOutsideStepError);
    assert.equal((await run.reload()).state, "paused");
    assert.equal((await executionAt(run, -1)).errorClass, "FlowControlOutsideStepError");
    assert.equal((await executionAt(run, -1)).startedAt, null);
  },
);

behaviour(
  "U7 an error thrown after a flow call wins, and the call is logged",
  async ({ engine: open }) => {
    const error = new Error("the drawer is stuck");
    const logger = recordingLogger();
    const { reportError, errors } = recordReports();
    const till = workflow({
      name: "till",
      steps: [{
        name: "close",
        onException: "cancel",
        run: ({ skip }) => {
          try {
            skip();
          } finally {
            // deno-lint-ignore no-unsafe-finally -- this is what the test is about
            throw error;
          }
        },
      }, { name: "report", run: () => {} }],
    });
    const { engine } = await open({ workflows: [till], logger, reportError });
    const { run, thrown } = await startAndDeliver(engine, till);
    assert.equal(thrown, error);
    assert.equal(run.state, "canceled");
    assert.deepEqual(await storyOf(run), ["close: failed/canceled (exception)"]);
    assert.equal((await executionAt(run, 0)).errorMessage, "the drawer is stuck");
    assert.deepEqual(errors, [error]);
    const warning = logger.lines.find(({ level, message }) =>
      level === "warn" && /skip\(\)/.test(message)
    );
    assert.equal(warning?.fields.error, error);
  },
);

behaviour(
  "U8 of flow calls that race the first wins and the later ones warn",
  async ({ engine: open }) => {
    const logger = recordingLogger();
    const crowd = workflow({
      name: "crowd",
      steps: [{
        name: "vote",
        run: async ({ skip, cancel, finish }) => {
          const turns = [
            (async () => {
              await Promise.resolve();
              skip();
            })(),
            (async () => {
              await Promise.resolve();
              await Promise.resolve();
              cancel();
            })(),
            (async () => {
              for (let i = 0; i < 5; i++) await Promise.resolve();
              finish();
            })(),
          ];
          await Promise.allSettled(turns);
        },
      }, { name: "count", wait: "1 hour", run: () => {} }],
    });
    const { engine } = await open({ workflows: [crowd], logger });
    const { run, thrown } = await startAndDeliver(engine, crowd);
    assert.equal(thrown, null);
    assert.deepEqual(await storyOf(run), [
      "vote: skipped/skipped (flow_control)",
      "count: scheduled",
    ]);
    const warnings = logger.lines.filter(({ level }) => level === "warn").map(({ message }) =>
      message
    );
    assert.deepEqual(warnings, [
      "cancel() was called after skip(); the first call counts",
      "finish() was called after skip(); the first call counts",
    ]);
  },
);

behaviour(
  "U8 Promise.all ends with the first call, and one after the body settled does nothing",
  async (world) => {
    const release = Promise.withResolvers<void>();
    let floating: Promise<unknown> = Promise.resolve();
    const crowd = workflow({
      name: "crowd",
      steps: [{
        name: "vote",
        run: async ({ pause, cancel }) => {
          const late = release.promise.then(() => cancel());
          floating = late.catch((error) => error);
          await Promise.all([late, Promise.resolve().then(() => pause())]);
        },
      }],
    });
    const { engine } = await world.engine({ workflows: [crowd] });
    const { run } = await startAndDeliver(engine, crowd);
    assert.equal(run.state, "paused");
    const before = await storyOf(run);

    release.resolve();

    assert.ok(await floating instanceof FlowControlOutsideStepError);
    assert.equal((await run.reload()).state, "paused");
    assert.deepEqual(await storyOf(run), before);
    assert.deepEqual(before, ["vote: canceled/canceled (flow_control)"]);
  },
);

const NONSENSE = [-1, NaN, Infinity, -Infinity, "-5 minutes", "soon", "", null, {}, true];

behaviour(
  "U11 a wait that makes no sense is an argument error inside the body",
  async ({ engine: open }) => {
    for (const wait of NONSENSE) {
      const caught: Record<string, unknown> = {};
      const nap = workflow({
        name: "nap",
        steps: [
          {
            name: "plain",
            run: ({ reattempt }: StepContext) => {
              try {
                reattempt({ wait: wait as number });
              } catch (error) {
                caught.reattempt = error;
              }
            },
          },
          {
            name: "resumable",
            resumable: true,
            run: async ({ suspend, iter }) => {
              try {
                suspend({ wait: wait as number });
              } catch (error) {
                caught.suspend = error;
              }
              try {
                await iter.skipTo(7, { wait: wait as number });
              } catch (error) {
                caught.skipTo = error;
              }
            },
          },
        ],
      });
      const { engine } = await open({ workflows: [nap] });
      const run = await engine.start(nap);
      await performNextStep(run);
      const last = await performNextStep(run);
      for (const call of ["reattempt", "suspend", "skipTo"]) {
        const error = caught[call];
        assert.ok(
          error instanceof StepConfigurationError,
          `${call} with ${String(wait)}: ${error}`,
        );
        assert.match(error.message, new RegExp(`${call}\\(\\)`));
      }
      assert.equal(run.state, "finished", `nothing was asked for with ${String(wait)}`);
      assert.equal(last?.metadata.lastCursor, undefined);
      assert.equal((await run.history()).length, 2);
    }
  },
);

behaviour("U11 uncaught, such an argument error goes to the policy", async ({ engine: open }) => {
  const nap = workflow({
    name: "nap",
    steps: [{ name: "sleep", run: ({ reattempt }) => reattempt({ wait: -1 }) }],
  });
  const { engine } = await open({ workflows: [nap] });
  const { run, thrown } = await startAndDeliver(engine, nap);
  assert.ok(thrown instanceof StepConfigurationError);
  assert.equal(run.state, "paused");
  assert.deepEqual(await storyOf(run), ["sleep: failed/failed (exception)"]);
});

behaviour("FLW-05 a wait of zero is due at once", async ({ engine: open }) => {
  const nap = workflow({
    name: "nap",
    steps: [{ name: "sleep", wait: "1 day", run: ({ reattempt }) => reattempt({ wait: 0 }) }],
  });
  const { engine, clock } = await open({ workflows: [nap] });
  const run = await engine.start(nap);
  await performNextStep(run);
  assert.equal((await current(run)).scheduledFor.getTime(), clock.now());
});
