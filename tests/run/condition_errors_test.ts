/** Conditions that throw are handled like errors of the body, and the body never runs. */

import assert from "node:assert/strict";
import {
  type ExceptionAction,
  type Policy,
  policy,
  type Run,
  workflow,
  type WorkflowDefinition,
} from "../../mod.ts";
import { behaviour } from "../_engines.ts";
import {
  current,
  deliver,
  executionAt,
  recordReports,
  startAndDeliver,
  storyOf,
} from "./_story.ts";

class CreditCheckDown extends Error {}

type Kind = "cancelIf" | "skipIf";

/** A loan whose condition of this kind throws, under a policy of the step. */
function loan(
  kind: Kind,
  throws: () => unknown,
  step: Record<string, unknown>,
  onException?: Policy | readonly Policy[],
): WorkflowDefinition {
  return workflow({
    name: "loan",
    ...(kind === "cancelIf" ? { cancelIf: throws } : {}),
    ...(onException === undefined ? {} : { onException }),
    steps: [
      {
        name: "approve",
        ...(kind === "skipIf" ? { skipIf: throws } : {}),
        ...step,
        run: () => assert.fail("the body must not run"),
      },
      { name: "pay_out", wait: "1 day", run: () => {} },
    ],
  });
}

const EXPECTED: Record<ExceptionAction, { story: string[]; state: Run["state"] }> = {
  pause: { story: ["approve: failed/failed (exception)"], state: "paused" },
  cancel: { story: ["approve: failed/canceled (exception)"], state: "canceled" },
  reattempt: {
    story: ["approve: completed/reattempted (exception)", "approve: scheduled"],
    state: "ready",
  },
  skip: { story: ["approve: skipped/skipped (exception)", "pay_out: scheduled"], state: "ready" },
};

const IDS: Record<ExceptionAction, string> = {
  pause: "CND-15",
  cancel: "CND-16",
  reattempt: "CND-17",
  skip: "CND-18",
};

for (const kind of ["cancelIf", "skipIf"] as const) {
  for (const action of ["pause", "cancel", "reattempt", "skip"] as const) {
    const id = kind === "cancelIf" ? IDS[action] : `CND-19`;
    behaviour(`${id} a ${kind} that throws under the policy ${action}`, async (world) => {
      const error = new CreditCheckDown("no answer");
      const reports = recordReports();
      const definition = loan(kind, () => {
        throw error;
      }, { onException: action });
      const { engine, clock } = await world.engine({
        workflows: [definition],
        ...reportTo(reports),
      });

      const { run, thrown } = await startAndDeliver(engine, definition);

      assert.equal(thrown, error);
      assert.deepEqual(await storyOf(run), EXPECTED[action].story);
      assert.equal(run.state, EXPECTED[action].state);
      assert.equal(run.nextStepName, action === "skip" ? "pay_out" : "approve");
      assert.deepEqual(reports.errors, [error]);
      const execution = await executionAt(run, 0);
      assert.equal(execution.startedAt, null);
      assert.equal(execution.finishedAt?.getTime(), clock.now());
      const stored = action === "reattempt" ? [null, null] : ["CreditCheckDown", "no answer"];
      assert.deepEqual([execution.errorClass, execution.errorMessage], stored);
      const { exception } = execution.metadata as { exception: Record<string, unknown> };
      assert.deepEqual([exception.class, exception.message], ["CreditCheckDown", "no answer"]);
    });
  }
}

function reportTo({ reportError }: ReturnType<typeof recordReports>) {
  return { reportError };
}

behaviour("CND-20 reattempts by a condition count towards the cap", async ({ engine: open }) => {
  let asked = 0;
  const definition = loan("skipIf", () => {
    throw new CreditCheckDown(`answer ${++asked}`);
  }, { onException: "reattempt", maxReattempts: 2, terminalAction: "cancel" });
  const { engine, clock } = await open({ workflows: [definition] });
  const run = await engine.start(definition);
  await clock.tick("1 minute");
  assert.equal((await run.reload()).state, "canceled");
  assert.equal(asked, 3);
  assert.deepEqual(await storyOf(run), [
    "approve: completed/reattempted (exception)",
    "approve: completed/reattempted (exception)",
    "approve: failed/canceled (exception)",
  ]);
  assert.equal((await executionAt(run, -1)).errorMessage, "answer 3");
});

behaviour(
  "CND-20 errors of conditions and of bodies share one budget",
  async ({ engine: open }) => {
    const executed: string[] = [];
    const mixed = workflow({
      name: "mixed",
      steps: [{
        name: "approve",
        onException: "reattempt",
        maxReattempts: 2,
        skipIf: ({ attempt }) => {
          executed.push(`condition ${attempt}`);
          if (attempt === 2) throw new CreditCheckDown("no answer");
          return false;
        },
        run: ({ attempt }) => {
          executed.push(`body ${attempt}`);
          throw new Error("refused");
        },
      }],
    });
    const { engine, clock } = await open({ workflows: [mixed] });
    const run = await engine.start(mixed);
    await clock.tick("1 minute");
    assert.deepEqual(executed, ["condition 1", "body 1", "condition 2", "condition 3", "body 3"]);
    assert.equal((await run.reload()).state, "paused");
  },
);

behaviour(
  "CND-21 a reattempt by a condition has the reason precondition",
  async ({ engine: open }) => {
    const definition = loan("cancelIf", () => {
      throw new CreditCheckDown("no answer");
    }, { onException: "reattempt" });
    const { engine } = await open({ workflows: [definition] });
    const { run } = await startAndDeliver(engine, definition);
    const execution = await executionAt(run, 0);
    assert.equal(execution.metadata.reattemptReason, "precondition");
    const next = await current(run);
    assert.equal(next.attempt, 2);
    assert.equal(next.metadata.reattemptReason, undefined);
  },
);

behaviour(
  "CND-22 the policy for a condition's error is found as for a body's",
  async ({ engine: open }) => {
    const throws = (): never => {
      throw new CreditCheckDown("no answer");
    };
    const general = [policy("skip"), policy("cancel", { matching: CreditCheckDown })];
    const ends: string[] = [];
    for (
      const [step, onException] of [
        [{ onException: "pause" }, general],
        [{ onException: [policy("pause", { matching: RangeError })] }, general],
        [{}, general],
        [{}, [policy("skip"), policy("cancel", { matching: RangeError })]],
        [{}, undefined],
      ] as [Record<string, unknown>, Policy[] | undefined][]
    ) {
      const definition = loan("skipIf", throws, step, onException);
      const { engine } = await open({ workflows: [definition] });
      const { run } = await startAndDeliver(engine, definition);
      const { state, outcome } = await executionAt(run, 0);
      ends.push(`${state}/${outcome}`);
    }
    assert.deepEqual(ends, [
      "failed/failed",
      "failed/canceled",
      "failed/canceled",
      "skipped/skipped",
      "failed/failed",
    ]);
  },
);

behaviour(
  "CND-24 a handler is given the condition's error and its flow call counts",
  async (world) => {
    const handled: unknown[] = [];
    const error = new CreditCheckDown("no answer");
    const definition = loan("cancelIf", () => {
      throw error;
    }, {
      onException: ({ error, attempt, reattempt, skip }: Parameters<Handler>[0]) => {
        handled.push(error);
        if (attempt === 1) reattempt({ wait: "10 minutes" });
        skip();
      },
    });
    const { engine, clock } = await world.engine({ workflows: [definition] });
    const { run, thrown } = await startAndDeliver(engine, definition);
    assert.equal(thrown, error);
    assert.equal((await current(run)).scheduledFor.getTime(), clock.now() + 600_000);
    assert.equal((await executionAt(run, 0)).metadata.reattemptReason, "precondition");

    clock.travelTo(clock.now() + 600_000);
    assert.equal(await deliver(engine, run), error);

    assert.deepEqual(handled, [error, error]);
    assert.deepEqual(await storyOf(run), [
      "approve: completed/reattempted (exception)",
      "approve: skipped/skipped (exception)",
      "pay_out: scheduled",
    ]);
  },
);

type Handler = Extract<Parameters<typeof policy>[0], (context: never) => unknown>;
