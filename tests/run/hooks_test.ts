/** The three hooks around a step, and what becomes of a hook that throws. */

import assert from "node:assert/strict";
import {
  type Hooks,
  StepConfigurationError,
  type StepContext,
  workflow,
  type WorkflowDefinition,
} from "../../mod.ts";
import { performNextStep, runIterations, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { current, executionAt, recordReports, startAndDeliver, storyOf } from "./_story.ts";

/** Hooks that write down their names. */
function noting(notes: string[], prefix = ""): Hooks {
  return {
    beforeStep: () => void notes.push(`${prefix}before`),
    aroundStep: async (_, next) => {
      notes.push(`${prefix}around-in`);
      await next();
      notes.push(`${prefix}around-out`);
    },
    afterStep: () => void notes.push(`${prefix}after`),
  };
}

function parcel(
  hooks: Hooks,
  run: (context: StepContext) => unknown,
  step = {},
): WorkflowDefinition {
  return workflow({
    name: "parcel",
    hooks,
    steps: [
      { name: "weigh", ...step, run },
      { name: "stamp", wait: "1 day", run: () => {} },
    ],
  });
}

behaviour(
  "HOK-01 HOK-02 HOK-03 HOK-05 the hooks run in order around the body",
  async ({ engine: open }) => {
    const notes: string[] = [];
    const definition = parcel(noting(notes), () => void notes.push("body"));
    const { engine } = await open({ workflows: [definition] });
    const { run } = await startAndDeliver(engine, definition);
    assert.deepEqual(notes, ["before", "around-in", "body", "around-out", "after"]);
    assert.equal(run.nextStepName, "stamp");
  },
);

behaviour(
  "HOK-01 HOK-02 HOK-03 each hook is given the execution and the context",
  async (world) => {
    const seen: Record<string, StepContext> = {};
    const definition = parcel({
      beforeStep: (context) => void (seen.before = context),
      aroundStep: async (context, next) => {
        seen.around = context;
        await next();
      },
      afterStep: (context) => void (seen.after = context),
    }, (context) => void (seen.body = context));
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition, { input: { grams: 500 } });
    const { id } = await current(run);
    await engine.handle(id);
    for (const [name, context] of Object.entries(seen)) {
      assert.equal(context.execution.id, id, name);
      assert.equal(context.execution.state, "in_progress", name);
      assert.equal(context.workflow.id, run.id, name);
      assert.deepEqual(context.input, { grams: 500 }, name);
      assert.equal(typeof context.skip, "function", name);
    }
    assert.deepEqual(Object.keys(seen), ["before", "around", "body", "after"]);
  },
);

behaviour(
  "HOK-02 the after hook runs once however the body ended, before anything is written",
  async (world) => {
    const bodies: Record<string, (context: StepContext) => unknown> = {
      return: () => "weighed",
      error: () => {
        throw new Error("the scale is broken");
      },
      cancel: ({ cancel }) => cancel(),
      pause: ({ pause }) => pause(),
      skip: ({ skip }) => skip(),
      reattempt: ({ reattempt }) => reattempt({ wait: "1 hour" }),
      finish: ({ finish }) => finish(),
    };
    for (const [name, body] of Object.entries(bodies)) {
      const states: string[] = [];
      const definition = parcel({
        afterStep: async ({ workflow }) => {
          const run = await t.engine.find(workflow.id);
          states.push(run?.state ?? "gone", ...(run === null ? [] : await storyOf(run)));
        },
      }, body);
      const t = await world.engine({ workflows: [definition] });
      await startAndDeliver(t.engine, definition);
      assert.deepEqual(states, ["performing", "weigh: in_progress"], name);
    }
  },
);

behaviour(
  "HOK-03 the around hook sees what the body throws and may swallow it",
  async ({ engine: open }) => {
    const caught: unknown[] = [];
    const error = new Error("the scale is broken");
    const definition = parcel({
      aroundStep: async (_, next) => {
        try {
          await next();
        } catch (thrown) {
          caught.push(thrown);
        }
      },
    }, () => {
      throw error;
    });
    const { engine } = await open({ workflows: [definition] });
    const { run, thrown } = await startAndDeliver(engine, definition);
    assert.equal(thrown, null);
    assert.deepEqual(caught, [error]);
    assert.deepEqual(await storyOf(run), ["weigh: completed/success", "stamp: scheduled"]);
  },
);

behaviour(
  "HOK-04 without a call of its continuation the body does not run",
  async ({ engine: open }) => {
    const definition = parcel({ aroundStep: () => {} }, () => assert.fail("it must not run"));
    const { engine } = await open({ workflows: [definition] });
    const { run } = await startAndDeliver(engine, definition);
    assert.deepEqual(await storyOf(run), ["weigh: completed/success", "stamp: scheduled"]);
  },
);

behaviour(
  "HOK-05 hooks of a base are outside of those of what extends it",
  async ({ engine: open }) => {
    const notes: string[] = [];
    const base = parcel(noting(notes, "base "), () => void notes.push("body"));
    const derived = workflow({ name: "express", extends: base, hooks: noting(notes, "own ") });
    const { engine } = await open({ workflows: [base, derived] });
    await startAndDeliver(engine, derived);
    assert.deepEqual(notes, [
      "base before",
      "base around-in",
      "own before",
      "own around-in",
      "body",
      "own around-out",
      "own after",
      "base around-out",
      "base after",
    ]);
  },
);

behaviour(
  "HOK-06 no hook is called when a condition skips, cancels or throws",
  async ({ engine: open }) => {
    const throws = (): never => {
      throw new Error("no answer");
    };
    for (const skipIf of [true, throws]) {
      const notes: string[] = [];
      const definition = parcel(noting(notes), () => {}, { skipIf });
      const { engine } = await open({ workflows: [definition] });
      await startAndDeliver(engine, definition);
      assert.deepEqual(notes, []);
    }
    const notes: string[] = [];
    const canceled = workflow({
      name: "canceled",
      hooks: noting(notes),
      cancelIf: true,
      steps: [{ name: "weigh", run: () => {} }],
    });
    const { engine } = await open({ workflows: [canceled] });
    await startAndDeliver(engine, canceled);
    assert.deepEqual(notes, []);
  },
);

behaviour("HOK-07 a duplicate job calls no hook", async ({ engine: open }) => {
  const notes: string[] = [];
  const definition = parcel(noting(notes), () => {});
  const { engine } = await open({ workflows: [definition] });
  const run = await engine.start(definition);
  const { id } = await current(run);
  await Promise.all([engine.handle(id), engine.handle(id)]);
  await engine.handle(id);
  assert.deepEqual(notes, ["before", "around-in", "around-out", "after"]);
});

Deno.test("HOK-08 there are three hooks and no others", () => {
  for (const name of ["beforeStepStarts", "before_step_starts", "afterLock", "onError"]) {
    assert.throws(
      () =>
        workflow({
          name: "hooked",
          hooks: { [name]: () => {} } as Hooks,
          steps: [{ name: "only", run: () => {} }],
        }),
      (error) =>
        error instanceof StepConfigurationError && error.message.includes(name) &&
        error.message.includes("beforeStep"),
    );
  }
});

behaviour("HOK-09 the hooks are called once per execution of a chain", async ({ engine: open }) => {
  const executions: string[] = [];
  const sorting = workflow({
    name: "sorting",
    hooks: {
      beforeStep: ({ execution }) => void executions.push(`before ${execution.id}`),
      afterStep: ({ execution }) => void executions.push(`after ${execution.id}`),
    },
    steps: [{
      name: "sort",
      resumable: true,
      run: ({ iter }) => iter.over(["a", "b", "c"], () => {}),
    }],
  });
  const { engine } = await open({ workflows: [sorting] });
  const run = await engine.start(sorting);
  await runIterations(run, { count: 1 });
  await speedrunWorkflow(run);
  const ids = (await run.history()).map((one) => one.id);
  assert.equal(ids.length, 2);
  assert.deepEqual(executions, ids.flatMap((id) => [`before ${id}`, `after ${id}`]));
});

const HOOKS = ["beforeStep", "aroundStep", "afterStep"] as const;

behaviour(
  "U3 a hook that throws is handled like an error of the body",
  async ({ engine: open }) => {
    for (const hook of HOOKS) {
      for (const [action, state] of [["pause", "paused"], ["skip", "ready"]] as const) {
        const error = new Error(`${hook} failed`);
        const { reportError, errors } = recordReports();
        const hooks: Hooks = {
          [hook]: () => {
            throw error;
          },
        };
        const definition = parcel(hooks, () => {}, { onException: action });
        const { engine } = await open({ workflows: [definition], reportError });
        const { run, thrown } = await startAndDeliver(engine, definition);
        assert.equal(thrown, error);
        assert.deepEqual(errors, [error]);
        assert.equal(run.state, state);
        const execution = await executionAt(run, 0);
        assert.equal(execution.state, action === "pause" ? "failed" : "skipped");
        assert.equal(execution.errorMessage, `${hook} failed`);
        assert.ok(execution.finishedAt, "it is never left in progress");
      }
    }
  },
);

behaviour("U3 a before hook that throws keeps the body from running", async ({ engine: open }) => {
  const definition = parcel({
    beforeStep: () => Promise.reject(new Error("not today")),
  }, () => assert.fail("it must not run"));
  const { engine } = await open({ workflows: [definition] });
  const { run, thrown } = await startAndDeliver(engine, definition);
  assert.equal((thrown as Error).message, "not today");
  assert.equal(run.state, "paused");
});

behaviour(
  "U3 U7 an after hook that throws wins over the body's flow call",
  async ({ engine: open }) => {
    const definition = parcel({
      afterStep: () => {
        throw new Error("the printer is out of paper");
      },
    }, ({ skip }) => skip());
    const { engine } = await open({ workflows: [definition] });
    const { run } = await startAndDeliver(engine, definition);
    assert.deepEqual(await storyOf(run), ["weigh: failed/failed (exception)"]);
  },
);

behaviour("HOK-02 FLW-01 a hook may make the flow call itself", async ({ engine: open }) => {
  const ends: string[] = [];
  for (const hook of HOOKS) {
    let ran = false;
    const hooks: Hooks = { [hook]: ({ finish }: StepContext) => finish() };
    const definition = parcel(hooks, () => void (ran = true));
    const { engine } = await open({ workflows: [definition] });
    const run = await engine.start(definition);
    await performNextStep(run);
    ends.push(`${hook}: ${run.state}, body ${ran ? "ran" : "did not run"}`);
  }
  assert.deepEqual(ends, [
    "beforeStep: finished, body did not run",
    "aroundStep: finished, body did not run",
    "afterStep: finished, body ran",
  ]);
});
