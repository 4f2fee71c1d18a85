/**
 * Events: what subscribers hear of an execution, in which order, and that they cannot disturb it.
 */

import assert from "node:assert/strict";
import {
  type Engine,
  type FinalizeEvent,
  type PreconditionEvent,
  type StepEvent,
  workflow,
  type WorkflowDefinition,
} from "../../mod.ts";
import {
  assertWorkflowState,
  performNextStep,
  runIterations,
  speedrunWorkflow,
} from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingLogger, recordingQueue } from "./_doubles.ts";
import { current, storyOf } from "./_story.ts";

type Heard =
  | { name: "precondition"; event: PreconditionEvent }
  | { name: "step"; event: StepEvent }
  | { name: "finalize"; event: FinalizeEvent };

/** Subscribes to the three events of an execution. */
function listenTo(engine: Engine): Heard[] {
  const heard: Heard[] = [];
  engine.events.on("precondition", (event) => void heard.push({ name: "precondition", event }));
  engine.events.on("step", (event) => void heard.push({ name: "step", event }));
  engine.events.on("finalize", (event) => void heard.push({ name: "finalize", event }));
  return heard;
}

/** What happened, in a word each: `step completed`, `finalize ready/completed`. */
function inShort(heard: readonly Heard[]): string[] {
  return heard.map(({ name, event }) =>
    name === "finalize"
      ? `${name} ${event.workflowState}/${event.stepState}`
      : `${name} ${event.outcome}`
  );
}

/** A definition of one step. */
function single(run: NonNullable<WorkflowDefinition["steps"][number]["run"]>): WorkflowDefinition {
  return workflow({ name: "single", steps: [{ name: "only", run }] });
}

behaviour(
  "INS-01 INS-02 INS-03 INS-04 a successful step is heard of three times, in order, with the same ids",
  async ({ engine }) => {
    const definition = workflow({
      name: "greeting",
      steps: [{ name: "greet", run() {} }, { name: "wave", run() {} }],
    });
    const t = await engine({ workflows: [definition] });
    const heard = listenTo(t.engine);
    const run = await t.engine.start(definition);
    const execution = await performNextStep(run);
    const ids = {
      workflowId: run.id,
      workflowName: "greeting",
      executionId: execution?.id,
      stepName: "greet",
      durationMs: 0,
    };
    assert.deepEqual(heard, [
      { name: "precondition", event: { ...ids, outcome: "passed" } },
      { name: "step", event: { ...ids, outcome: "completed" } },
      { name: "finalize", event: { ...ids, workflowState: "ready", stepState: "completed" } },
    ]);
    heard.length = 0;
    await performNextStep(run);
    assert.deepEqual(inShort(heard), [
      "precondition passed",
      "step completed",
      "finalize finished/completed",
    ]);
  },
);

behaviour(
  "INS-02 INS-08 the step event names every way in which a body can end",
  async ({ engine }) => {
    const oops = new Error("oops");
    const cases: [string, string, WorkflowDefinition][] = [
      ["cancel", "canceled/canceled", single(({ cancel }) => cancel())],
      ["pause", "paused/canceled", single(({ pause }) => pause())],
      ["reattempt", "ready/completed", single(({ reattempt }) => reattempt())],
      ["skip", "finished/skipped", single(({ skip }) => skip())],
      ["finished", "finished/completed", single(({ finish }) => finish())],
      ["exception", "paused/failed", single(() => Promise.reject(oops))],
    ];
    for (const [outcome, states, definition] of cases) {
      const t = await engine({ workflows: [definition] });
      const heard = listenTo(t.engine);
      await performNextStep(await t.engine.start(definition)).catch((error) =>
        assert.equal(error, oops)
      );
      assert.deepEqual(inShort(heard), [
        "precondition passed",
        `step ${outcome}`,
        `finalize ${states}`,
      ]);
      const step = heard[1]?.event as StepEvent;
      assert.equal(step.error, outcome === "exception" ? oops : undefined);
      assert.equal("resumable" in step, false);
    }
  },
);

behaviour(
  "INS-05 INS-01 when the conditions end a step, only the precondition event is heard",
  async ({ engine }) => {
    const skipped = workflow({
      name: "skipped",
      steps: [{ name: "only", skipIf: true, run() {} }],
    });
    const canceled = workflow({
      name: "canceled",
      cancelIf: () => true,
      steps: [{ name: "only", run() {} }],
    });
    const t = await engine({ workflows: [skipped, canceled] });
    const heard = listenTo(t.engine);
    await performNextStep(await t.engine.start(skipped));
    assert.deepEqual(inShort(heard), ["precondition skipped"]);
    heard.length = 0;
    await performNextStep(await t.engine.start(canceled));
    assert.deepEqual(inShort(heard), ["precondition canceled"]);
  },
);

behaviour(
  "INS-06 an error in a condition is carried by the precondition event",
  async ({ engine }) => {
    const error = new Error("no answer from the rates service");
    const definition = workflow({
      name: "exchange",
      steps: [{ name: "convert", skipIf: () => Promise.reject(error), run() {} }],
    });
    const t = await engine({ workflows: [definition] });
    const heard = listenTo(t.engine);
    const run = await t.engine.start(definition);
    await assert.rejects(performNextStep(run), /no answer/);
    assert.deepEqual(inShort(heard), ["precondition exception"]);
    const event = heard[0]?.event as PreconditionEvent;
    assert.equal(event.error, error);
    assert.equal(event.executionId, (await run.history())[0]?.id);
  },
);

behaviour(
  "INS-07 durations are measured on the engine's clock and never negative",
  async ({ engine }) => {
    let move: (to: number) => void = () => {};
    let now: () => number = () => 0;
    let moveMs = 0;
    const definition = workflow({
      name: "measured",
      steps: [
        {
          name: "only",
          skipIf: () => {
            move(now() + moveMs);
            return false;
          },
          run: () => move(now() + 2 * moveMs),
        },
      ],
    });
    const t = await engine({ workflows: [definition] });
    move = (to) => t.clock.travelTo(to);
    now = () => t.clock.now();
    const heard = listenTo(t.engine);
    moveMs = 40;
    await performNextStep(await t.engine.start(definition));
    assert.deepEqual(heard.map(({ event }) => event.durationMs), [40, 80, 0]);
    heard.length = 0;
    moveMs = -5_000;
    await performNextStep(await t.engine.start(definition));
    assert.deepEqual(heard.map(({ event }) => event.durationMs), [0, 0, 0]);
  },
);

behaviour(
  "INS-09 events of a resumable step say so, and interrupted chunks say why and for how long",
  async ({ engine }) => {
    const definition = workflow({
      name: "import",
      steps: [{
        name: "rows",
        resumable: true,
        async run({ iter, suspend }) {
          await iter.over([1, 2, 3], (row) => row === 3 ? suspend({ wait: "1 hour" }) : undefined);
        },
      }],
    });
    const t = await engine({ workflows: [definition] });
    const heard = listenTo(t.engine);
    const run = await t.engine.start(definition);
    await runIterations(run, { count: 1 });
    assert.deepEqual(inShort(heard), [
      "precondition passed",
      "step interrupted",
      "finalize ready/completed",
    ]);
    for (const { event } of heard) assert.equal(event.resumable, true);
    const interrupted = heard[1]?.event as StepEvent;
    assert.deepEqual([interrupted.reason, interrupted.waitMs], ["test", 0]);

    heard.length = 0;
    await performNextStep(run);
    const suspended = heard[1]?.event as StepEvent;
    assert.deepEqual(
      [suspended.outcome, suspended.reason, suspended.waitMs, suspended.resumable],
      ["suspend", "suspend", 3_600_000, true],
    );
  },
);

behaviour(
  "INS-10 a duplicate, unknown, early or stopped job is heard of by nobody",
  async ({ engine }) => {
    const definition = workflow({
      name: "greeting",
      steps: [{ name: "greet", run() {} }, { name: "later", wait: "1 day", run() {} }],
    });
    const t = await engine({ workflows: [definition], queue: recordingQueue() });
    const run = await t.engine.start(definition);
    const first = await current(run);
    await t.engine.handle(first.id);
    const heard = listenTo(t.engine);
    await t.engine.handle(first.id);
    await t.engine.handle((await current(run)).id);
    const missing = t.engine.handle("999999999");
    await t.clock.tick("1 second");
    await missing;
    await t.engine.handle("not an id");
    await t.clock.tick("2 days");
    await run.pause();
    await t.engine.handle((await current(run)).id);
    assert.deepEqual(await storyOf(run), [
      "greet: completed/success",
      "later: canceled/canceled (operator)",
    ]);
    assert.deepEqual(heard, []);
  },
);

behaviour(
  "INS-11 U38 a subscriber that throws changes nothing and is complained of once",
  async ({ engine }) => {
    const definition = workflow({
      name: "greeting",
      steps: [{ name: "greet", run() {} }, { name: "wave", run() {} }],
    });
    const logger = recordingLogger();
    const { lines } = logger;
    const t = await engine({ workflows: [definition], logger });
    const error = new Error("the metrics server is away");
    for (const name of ["precondition", "step", "finalize"] as const) {
      t.engine.events.on(name, () => {
        throw error;
      });
    }
    const heard = listenTo(t.engine);
    const run = await speedrunWorkflow(await t.engine.start(definition));
    await assertWorkflowState(run, "finished");
    assert.equal(heard.length, 6, "the other subscribers hear everything");
    const complaints = lines.filter((line) => line.level === "error");
    assert.equal(complaints.length, 3, "once per listener");
    for (const { fields } of complaints) assert.equal(fields.error, error);
  },
);

behaviour(
  "INS-11 a subscriber can unsubscribe, and one that subscribes twice is called once",
  async ({ engine }) => {
    const definition = single(() => {});
    const t = await engine({ workflows: [definition] });
    let calls = 0;
    const listener = (): void => void calls++;
    const unsubscribe = t.engine.events.on("step", listener);
    t.engine.events.on("step", listener);
    await performNextStep(await t.engine.start(definition));
    assert.equal(calls, 1);
    unsubscribe();
    unsubscribe();
    await performNextStep(await t.engine.start(definition));
    assert.equal(calls, 1);
  },
);

behaviour("INS-11 commands from outside are heard of as workflow events", async ({ engine }) => {
  const definition = single(() => {});
  const t = await engine({ workflows: [definition] });
  const heard: string[] = [];
  t.engine.events.on("workflow", ({ action, workflowState, workflowId, workflowName }) => {
    heard.push(`${action} ${workflowState} ${workflowName} ${workflowId}`);
  });
  const run = await t.engine.start(definition);
  await run.pause();
  await run.resume();
  await run.cancel();
  await assert.rejects(run.pause());
  const of = `single ${run.id}`;
  assert.deepEqual(heard, [
    `start ready ${of}`,
    `pause paused ${of}`,
    `resume ready ${of}`,
    `cancel canceled ${of}`,
  ]);
});
