/**
 * Signals that do not come in time.
 */

import assert from "node:assert/strict";
import {
  policy,
  type SignalEvent,
  StepTimeoutError,
  type WaitingStepOptions,
  workflow,
  type WorkflowDefinition,
} from "../../mod.ts";
import { assertWorkflowState, performNextStep } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingQueue } from "./_doubles.ts";
import { current, recordReports, storyOf } from "./_story.ts";

const DAY_MS = 86_400_000;

/** An offer that is good for three days. */
function offer(
  events: SignalEvent[],
  extra: Pick<WaitingStepOptions, "wait" | "onTimeout" | "onException"> = {},
): WorkflowDefinition {
  return workflow({
    name: "offer",
    steps: [
      {
        name: "accept",
        waitFor: "accepted",
        timeout: "3 days",
        run: ({ event }) => void events.push(event),
        ...extra,
      },
      { name: "archive", run() {} },
    ],
  });
}

behaviour(
  "NEW-05 without its signal a step fails when its time is up, and the workflow pauses",
  async ({ engine }) => {
    const events: SignalEvent[] = [];
    const definition = offer(events);
    const reports = recordReports();
    const t = await engine({ workflows: [definition], reportError: reports.reportError });
    const run = await t.engine.start(definition);
    await t.clock.tick(3 * DAY_MS - 1);
    await assertWorkflowState(run, "ready");
    await t.clock.tick(1);
    await assertWorkflowState(run, "paused");
    assert.deepEqual(await storyOf(run), ["accept: failed/failed (exception)"]);
    const failed = (await run.history())[0];
    assert.deepEqual([failed?.errorClass, failed?.startedAt], ["StepTimeoutError", null]);
    assert.equal(reports.errors.length, 1);
    assert.ok(reports.errors[0] instanceof StepTimeoutError);
    assert.deepEqual(events, [], "the body never ran");
  },
);

behaviour(
  "NEW-05 the queue is told of the moment at which the waiting ends",
  async ({ engine }) => {
    const definition = offer([], { wait: "1 day" });
    const queue = recordingQueue();
    const t = await engine({ workflows: [definition], queue });
    const run = await t.engine.start(definition);
    const { id: executionId, scheduledFor } = await current(run);
    assert.equal(scheduledFor.getTime(), t.clock.now() + DAY_MS);
    const runAt = new Date(scheduledFor.getTime() + 3 * DAY_MS);
    assert.deepEqual(queue.take(), [{ executionId, runAt, queue: "default", priority: 0 }]);
    await run.signal("accepted");
    const [job] = queue.take();
    assert.deepEqual([job?.executionId, job?.runAt], [executionId, scheduledFor]);
  },
);

behaviour(
  "NEW-05 a signal in the last moment counts, and the time that was up does not matter any more",
  async ({ engine }) => {
    const events: SignalEvent[] = [];
    const definition = offer(events);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    await t.clock.tick(3 * DAY_MS - 1);
    await run.signal("accepted", "just so");
    await t.clock.tick("1 day");
    assert.deepEqual(events.map((event) => event.payload), ["just so"]);
    await assertWorkflowState(run, "finished");
    assert.deepEqual(await storyOf(run), [
      "accept: completed/success",
      "archive: completed/success",
    ]);
  },
);

behaviour(
  "NEW-05 onTimeout says what is done: skip the step, cancel the workflow, or ask a handler",
  async ({ engine }) => {
    const skipping = offer([], { onTimeout: "skip", onException: "cancel" });
    const canceling = offer([], { onTimeout: "cancel" });
    const seen: unknown[] = [];
    const asking = offer([], {
      onTimeout: policy(({ error, finish }) => {
        seen.push(error);
        finish();
      }, { report: "never" }),
    });
    const stories: [WorkflowDefinition, string, string[]][] = [
      [skipping, "finished", ["accept: skipped/skipped (exception)", "archive: completed/success"]],
      [canceling, "canceled", ["accept: failed/canceled (exception)"]],
      [asking, "finished", ["accept: completed/success (flow_control)"]],
    ];
    for (const [definition, state, story] of stories) {
      const t = await engine({ workflows: [definition] });
      const run = await t.engine.start(definition);
      await t.clock.tick("3 days");
      assert.equal((await run.reload()).state, state);
      assert.deepEqual(await storyOf(run), story);
    }
    assert.ok(seen[0] instanceof StepTimeoutError);
  },
);

behaviour(
  "NEW-05 onTimeout is not asked about errors of the body, nor onException when there is an onTimeout",
  async ({ engine }) => {
    const definition = workflow({
      name: "offer",
      steps: [{
        name: "accept",
        waitFor: "accepted",
        timeout: "3 days",
        onTimeout: "skip",
        onException: "cancel",
        run: () => Promise.reject(new Error("no paper")),
      }],
    });
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    await run.signal("accepted");
    await assert.rejects(performNextStep(run), /no paper/);
    assert.deepEqual(await storyOf(run), ["accept: failed/canceled (exception)"]);
  },
);

behaviour(
  "NEW-05 a reattempt after a timeout waits for the signal once more, for as long again",
  async ({ engine }) => {
    const events: SignalEvent[] = [];
    const definition = offer(events, { onTimeout: "reattempt" });
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    await t.clock.tick("4 days");
    assert.deepEqual(await storyOf(run), [
      "accept: completed/reattempted (exception)",
      "accept: scheduled",
    ]);
    const waiting = await current(run);
    assert.deepEqual([waiting.waitingFor, waiting.attempt], ["accepted", 2]);
    await run.signal("accepted", 1);
    await t.clock.tick(0);
    assert.deepEqual(events.map((event) => event.payload), [1]);
    await assertWorkflowState(run, "finished");
  },
);

behaviour(
  "NEW-07 after a timeout the signal may still come, and the resumed step gets it",
  async ({ engine }) => {
    const events: SignalEvent[] = [];
    const definition = offer(events);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    await t.clock.tick("3 days");
    await assertWorkflowState(run, "paused");
    await run.signal("accepted", "late");
    await run.resume();
    await t.clock.tick(0);
    assert.deepEqual(events.map((event) => event.payload), ["late"]);
    await assertWorkflowState(run, "finished");
  },
);

behaviour(
  "NEW-05 a timeout that passes during a pause strikes after the resume, and not before",
  async ({ engine }) => {
    const definition = offer([]);
    const queue = recordingQueue();
    const t = await engine({ workflows: [definition], queue });
    const run = await t.engine.start(definition);
    await run.pause();
    await t.clock.tick("5 days");
    await assertWorkflowState(run, "paused");
    assert.deepEqual(await storyOf(run), ["accept: scheduled"]);
    await run.resume();
    await assert.rejects(t.engine.handle((await current(run)).id), StepTimeoutError);
    await assertWorkflowState(run, "paused");
  },
);
