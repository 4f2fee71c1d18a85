/** Bodies that are asked to stop: shutdown, and the reasons that their signal gives. */

import assert from "node:assert/strict";
import {
  createEngine,
  type Engine,
  type StepContext,
  StepInterruptedError,
  workflow,
} from "../../mod.ts";
import { createFakeClock, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour, type World } from "../_engines.ts";
import { current, recordReports, storyOf, untilAborted } from "./_story.ts";

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
