/** Handlers that decide about errors, errors before the body, and thrown values of every kind. */

import assert from "node:assert/strict";
import {
  type ExceptionContext,
  ExceptionHandlerError,
  hero,
  policy,
  StepConfigurationError,
  ThrownValueError,
  workflow,
} from "../../mod.ts";
import { performNextStep } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { current, executionAt, recordReports, startAndDeliver, storyOf } from "./_story.ts";

class RateLimited extends Error {
  constructor(readonly retryAfterMs: number) {
    super(`try again in ${retryAfterMs} ms`);
  }
}

/** A value that throws whatever one asks of it. */
function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** A booking whose first step throws, under an `onException` of the step. */
function booking(error: unknown, onException: unknown, rest: Record<string, unknown> = {}) {
  return workflow({
    name: "booking",
    ...rest,
    steps: [
      {
        name: "reserve",
        onException: onException as "pause",
        run: () => {
          throw error;
        },
      },
      { name: "confirm", wait: "1 day", run: () => {} },
    ],
  });
}

behaviour(
  "EXC-35 a handler is given the error and the step's context, and decides",
  async (world) => {
    const error = new RateLimited(1_500);
    let seen: Partial<ExceptionContext> = {};
    const guests = hero("Guest", { load: (id: string) => ({ id, name: "Ann" }) });
    const definition = booking(error, (context: ExceptionContext) => {
      seen = context;
      context.skip();
    }, { hero: guests });
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition, { hero: "ann", input: { nights: 2 } });
    const { id } = await current(run);
    await assert.rejects(engine.handle(id), RateLimited);
    assert.equal(seen.error, error);
    assert.deepEqual(seen.hero, { id: "ann", name: "Ann" });
    assert.deepEqual(seen.input, { nights: 2 });
    assert.equal(seen.execution?.id, id);
    assert.equal(seen.workflow?.id, run.id);
    assert.equal(seen.attempt, 1);
    assert.ok(seen.signal instanceof AbortSignal);
    assert.equal(typeof seen.log?.info, "function");
    assert.deepEqual(await storyOf(run), [
      "reserve: skipped/skipped (exception)",
      "confirm: scheduled",
    ]);
  },
);

behaviour(
  "EXC-35 a handler may cancel or pause, and its promise is awaited",
  async ({ engine: open }) => {
    for (
      const [call, story, state] of [
        ["cancel", "reserve: failed/canceled (exception)", "canceled"],
        ["pause", "reserve: failed/failed (exception)", "paused"],
      ] as const
    ) {
      const definition = booking(new Error("full"), async (context: ExceptionContext) => {
        await Promise.resolve();
        context[call]();
      });
      const { engine } = await open({ workflows: [definition] });
      const { run, thrown } = await startAndDeliver(engine, definition);
      assert.equal((thrown as Error).message, "full");
      assert.deepEqual(await storyOf(run), [story]);
      assert.equal(run.state, state);
      assert.equal((await executionAt(run, 0)).errorMessage, "full");
    }
  },
);

behaviour("EXC-36 a handler that asks for nothing pauses", async ({ engine: open }) => {
  const definition = booking(new Error("full"), () => "whatever");
  const { engine } = await open({ workflows: [definition] });
  const { run } = await startAndDeliver(engine, definition);
  assert.equal(run.state, "paused");
  assert.deepEqual(await storyOf(run), ["reserve: failed/failed (exception)"]);
  assert.equal((await executionAt(run, 0)).errorMessage, "full");
});

behaviour("EXC-37 a handler may call it a success and finish", async ({ engine: open }) => {
  const error = new Error("booked already");
  const definition = booking(error, ({ finish }: ExceptionContext) => finish());
  const { engine } = await open({ workflows: [definition] });
  const { run, thrown } = await startAndDeliver(engine, definition);
  assert.equal(thrown, error);
  assert.equal(run.state, "finished");
  assert.equal(run.nextStepName, null);
  const { state, outcome, errorClass } = await executionAt(run, 0);
  assert.deepEqual([state, outcome, errorClass], ["completed", "success", null]);
  assert.equal((await run.history()).length, 1);
});

behaviour("EXC-38 a handler's reattempt has its own wait and no cap", async ({ engine: open }) => {
  const definition = booking(
    new RateLimited(1_500),
    ({ error, attempt, reattempt, cancel }: ExceptionContext) =>
      attempt <= 110 ? reattempt({ wait: error.retryAfterMs }) : cancel(),
    { onException: policy("reattempt", { maxReattempts: 1 }) },
  );
  const { engine, clock } = await open({ workflows: [definition] });
  const { run } = await startAndDeliver(engine, definition);
  const { metadata } = await executionAt(run, 0);
  assert.equal(metadata.reattemptReason, "exception_policy");
  assert.equal((await current(run)).scheduledFor.getTime(), clock.now() + 1_500);
  await clock.tick("5 minutes");
  assert.equal((await run.reload()).state, "canceled");
  assert.equal((await run.history()).length, 111);
});

behaviour(
  "EXC-39 a handler with a matcher runs only for matching errors",
  async ({ engine: open }) => {
    for (const [error, asked] of [[new RateLimited(5), 1], [new Error("full"), 0]] as const) {
      let calls = 0;
      const definition = booking(error, undefined, {
        onException: policy(({ skip }) => {
          calls++;
          skip();
        }, { matching: RateLimited }),
      });
      const { engine } = await open({ workflows: [definition] });
      const { run } = await startAndDeliver(engine, definition);
      assert.equal(calls, asked);
      assert.equal(run.state, asked === 1 ? "ready" : "paused");
    }
  },
);

behaviour(
  "EXC-40 a step's handler function beats the workflow's policies",
  async ({ engine: open }) => {
    const definition = booking(new RateLimited(5), ({ skip }: ExceptionContext) => skip(), {
      onException: [policy("cancel", { matching: RateLimited }), policy("cancel")],
    });
    const { engine } = await open({ workflows: [definition] });
    const { run } = await startAndDeliver(engine, definition);
    assert.equal(run.state, "ready");
  },
);

behaviour(
  "EXC-48 an error while the hero is loaded follows the policy",
  async ({ engine: open }) => {
    const error = new Error("the directory is down");
    const guests = hero("Guest", {
      load: (): { id: string } => {
        throw error;
      },
    });
    const expected = {
      pause: ["failed/failed", "paused", 1],
      cancel: ["failed/canceled", "canceled", 1],
      reattempt: ["completed/reattempted", "ready", 2],
      skip: ["failed/failed", "ready", 2],
    } as const;
    for (const action of ["pause", "cancel", "reattempt", "skip"] as const) {
      const definition = workflow({
        name: "booking",
        hero: guests,
        onException: action,
        steps: [
          { name: "reserve", run: () => assert.fail("it must not run") },
          { name: "confirm", wait: "1 day", run: () => {} },
        ],
      });
      const { engine } = await open({ workflows: [definition] });
      const { run, thrown } = await startAndDeliver(engine, definition, "ann");
      assert.equal(thrown, error);
      const first = await executionAt(run, 0);
      const rows = (await run.history()).length;
      assert.deepEqual([`${first.state}/${first.outcome}`, run.state, rows], expected[action]);
      assert.equal(first.startedAt, null);
      if (action !== "reattempt") assert.equal(first.errorMessage, "the directory is down");
    }
  },
);

behaviour(
  "EXC-49 a handler is called for errors before the body as well",
  async ({ engine: open }) => {
    const error = new Error("the directory is down");
    const guests = hero("Guest", {
      load: (): { id: string } => {
        throw error;
      },
    });
    const handled: unknown[] = [];
    const definition = workflow({
      name: "booking",
      hero: guests,
      onException: ({ error, hero, reattempt }) => {
        handled.push(error, hero);
        reattempt({ wait: "1 minute" });
      },
      steps: [{ name: "reserve", run: () => {} }],
    });
    const { engine, clock } = await open({ workflows: [definition] });
    const { run, thrown } = await startAndDeliver(engine, definition, "ann");
    assert.equal(thrown, error);
    assert.deepEqual(handled, [error, null]);
    assert.equal((await current(run)).scheduledFor.getTime(), clock.now() + 60_000);
  },
);

behaviour(
  "U4 a handler that throws pauses; both errors are stored and reported",
  async ({ engine: open }) => {
    const error = new RateLimited(5);
    const broken = new TypeError("cannot read the header");
    const { reportError, errors } = recordReports();
    const definition = booking(error, () => {
      throw broken;
    });
    const { engine } = await open({ workflows: [definition], reportError });
    const { run, thrown } = await startAndDeliver(engine, definition);
    assert.equal(thrown, error);
    assert.equal(run.state, "paused");
    assert.deepEqual(await storyOf(run), ["reserve: failed/failed (exception)"]);
    assert.deepEqual(errors, [error, broken]);
    const { errorClass, errorMessage, errorStack } = await executionAt(run, 0);
    assert.equal(errorClass, "ExceptionHandlerError");
    assert.match(errorMessage ?? "", /cannot read the header/);
    assert.match(errorStack ?? "", /Caused by: [\s\S]*try again in 5 ms/);
  },
);

behaviour("U4 whatever a handler throws, the execution is closed", async ({ engine: open }) => {
  const unreadable = new Error();
  Object.defineProperty(unreadable, "message", {
    get: () => {
      throw new Error("not even this");
    },
  });
  for (const thrown of [undefined, null, "a word", revoked(), unreadable]) {
    const definition = booking(new Error("full"), () => {
      throw thrown;
    });
    const { engine } = await open({ workflows: [definition] });
    const { run } = await startAndDeliver(engine, definition);
    assert.equal(run.state, "paused");
    assert.equal((await executionAt(run, 0)).errorClass, "ExceptionHandlerError");
  }
});

behaviour(
  "U4 a flow call of a handler counts also when its signal is swallowed",
  async ({ engine: open }) => {
    const definition = booking(new Error("full"), ({ skip }: ExceptionContext) => {
      try {
        skip();
      } catch {
        // Swallowed on purpose.
      }
    });
    const { engine } = await open({ workflows: [definition] });
    const { run } = await startAndDeliver(engine, definition);
    assert.equal(run.state, "ready");
    assert.equal(run.nextStepName, "confirm");
  },
);

behaviour(
  "U12 a policy's wait that throws or makes no sense pauses with both errors",
  async (world) => {
    const waits: (() => unknown)[] = [
      () => {
        throw new RangeError("no such wait");
      },
      () => -5,
      () => NaN,
      () => Infinity,
      () => "soon",
      () => undefined,
      () => Promise.resolve(5),
    ];
    for (const wait of waits) {
      const error = new RateLimited(5);
      const { reportError, errors } = recordReports();
      const definition = booking(error, policy("reattempt", { wait: wait as () => number }));
      const { engine } = await world.engine({ workflows: [definition], reportError });
      const { run, thrown } = await startAndDeliver(engine, definition);
      assert.equal(thrown, error);
      assert.equal(run.state, "paused", String(wait));
      assert.deepEqual(await storyOf(run), ["reserve: failed/failed (exception)"]);
      const { errorClass, errorMessage, errorStack } = await executionAt(run, 0);
      assert.equal(errorClass, "StepConfigurationError");
      assert.match(errorMessage ?? "", /wait/);
      assert.match(errorStack ?? "", /Caused by: [\s\S]*try again in 5 ms/);
      assert.equal(errors[0], error);
      assert.ok(errors[1] instanceof StepConfigurationError);
      assert.equal(errors[1].cause, error);
    }
  },
);

const VALUES: [unknown, RegExp][] = [
  ["out of paper", /"out of paper"/],
  [42, /42/],
  [null, /null/],
  [undefined, /undefined/],
  [{ code: "E_FULL" }, /object/],
  [Symbol("full"), /Symbol\(full\)/],
  [revoked(), /object/],
];

behaviour(
  "EXC-54 U36 a thrown value that is no Error is wrapped and kept as the cause",
  async (world) => {
    for (const [value, message] of VALUES) {
      const { reportError, errors } = recordReports();
      const definition = booking(value, undefined, {
        onException: [policy("cancel"), policy("skip", { matching: ThrownValueError })],
      });
      const { engine } = await world.engine({ workflows: [definition], reportError });
      const { run, thrown } = await startAndDeliver(engine, definition);
      assert.ok(thrown instanceof ThrownValueError);
      assert.equal(thrown.cause, value);
      assert.deepEqual(errors, [thrown]);
      assert.equal(run.state, "ready", "the policy for the wrapper was used");
      const { errorClass, errorMessage } = await executionAt(run, 0);
      assert.equal(errorClass, "ThrownValueError");
      assert.match(errorMessage ?? "", message);
    }
  },
);

behaviour("EXC-54 a handler is given the wrapper", async ({ engine: open }) => {
  let given: unknown = null;
  const definition = booking("out of paper", ({ error }: ExceptionContext) => void (given = error));
  const { engine } = await open({ workflows: [definition] });
  const run = await engine.start(definition);
  await assert.rejects(performNextStep(run), ThrownValueError);
  assert.ok(given instanceof ThrownValueError);
  assert.equal(given.cause, "out of paper");
  assert.equal(given instanceof ExceptionHandlerError, false);
});
