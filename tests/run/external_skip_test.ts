/**
 * Skip and cancel from outside, and what several callers at once make of it.
 */

import assert from "node:assert/strict";
import {
  DuplicateWorkflowError,
  hero,
  InvalidStateError,
  type Run,
  StepNotDefinedError,
  workflow,
  type WorkflowDefinition,
} from "../../mod.ts";
import { assertWorkflowState, performNextStep, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingQueue } from "./_doubles.ts";
import { storyOf } from "./_story.ts";

const DAY_MS = 86_400_000;

/** An order: payment, packing, and a question for a review a week after it was sent. */
function order(done: string[], declined = false): WorkflowDefinition<{ id: string }> {
  return workflow({
    name: "order",
    hero: hero("Order", { load: (id: string) => ({ id }) }),
    steps: [
      {
        name: "charge",
        run() {
          if (declined) throw new Error("card declined");
          done.push("charge");
        },
      },
      { name: "pack", run: () => void done.push("pack") },
      { name: "ask_for_review", wait: "7 days", run: () => void done.push("review") },
    ],
  });
}

behaviour(
  "EXT-16 a skip closes the scheduled execution and schedules the next step with its own wait",
  async ({ engine }) => {
    const definition = order([]);
    const queue = recordingQueue();
    const t = await engine({ workflows: [definition], queue });
    const run = await t.engine.start(definition, { hero: "1" });
    await performNextStep(run);
    await t.clock.tick("1 hour");
    queue.take();
    await run.skip();

    const now = new Date(t.clock.now());
    const [, skipped, next] = await run.history();
    assert.deepEqual(
      [skipped?.state, skipped?.outcome, skipped?.cause, skipped?.skippedAt, skipped?.finishedAt],
      ["skipped", "skipped", "operator", now, now],
    );
    assert.deepEqual([next?.stepName, next?.state], ["ask_for_review", "scheduled"]);
    assert.equal(next?.scheduledFor.getTime(), now.getTime() + 7 * DAY_MS);
    assert.deepEqual([run.state, run.nextStepName], ["ready", "ask_for_review"]);
    assert.deepEqual(queue.take().map((job) => job.executionId), [next?.id]);
  },
);

behaviour("EXT-17 skipping the last step finishes the workflow", async ({ engine }) => {
  const done: string[] = [];
  const definition = order(done);
  const t = await engine({ workflows: [definition] });
  const run = await t.engine.start(definition, { hero: "1" });
  await performNextStep(run);
  await performNextStep(run);
  await run.skip();
  assert.deepEqual(
    [run.state, run.currentStepName, run.nextStepName, run.transitionedAt],
    ["finished", null, null, new Date(t.clock.now())],
  );
  assert.deepEqual(await storyOf(run), [
    "charge: completed/success",
    "pack: completed/success",
    "ask_for_review: skipped/skipped (operator)",
  ]);
  await t.clock.tick("30 days");
  assert.deepEqual(done, ["charge", "pack"]);
});

behaviour(
  "EXT-18 every skip goes one step further, and the last one finishes",
  async ({ engine }) => {
    const done: string[] = [];
    const definition = order(done);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition, { hero: "1" });
    const seen: [string, string | null][] = [];
    for (let skips = 0; skips < 3; skips++) {
      await run.skip();
      seen.push([run.state, run.nextStepName]);
    }
    assert.deepEqual(seen, [["ready", "pack"], ["ready", "ask_for_review"], ["finished", null]]);
    assert.deepEqual(done, []);
    await assert.rejects(run.skip(), InvalidStateError);
  },
);

behaviour(
  "EXT-19 skipping after a failure goes on behind the failed step, whose row stays failed",
  async ({ engine }) => {
    const definition = order([], true);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition, { hero: "1" });
    await assert.rejects(performNextStep(run), /card declined/);
    const failed = (await run.history())[0];
    await run.skip();
    assert.deepEqual([run.state, run.nextStepName, run.transitionedAt], ["ready", "pack", null]);
    assert.deepEqual(await storyOf(run), ["charge: failed/failed (exception)", "pack: scheduled"]);
    assert.deepEqual((await run.history())[0], failed);
  },
);

behaviour(
  "EXT-20 skipping a paused workflow marks its preserved execution as skipped",
  async ({ engine }) => {
    const definition = order([]);
    const t = await engine({ workflows: [definition] });
    const run = await (await t.engine.start(definition, { hero: "1" })).pause();
    await run.skip();
    assert.deepEqual([run.state, run.nextStepName], ["ready", "pack"]);
    assert.deepEqual(await storyOf(run), ["charge: skipped/skipped (operator)", "pack: scheduled"]);
  },
);

behaviour(
  "EXT-21 EXT-25 EXT-26 a workflow that has ended takes no command any more",
  async ({ engine }) => {
    const definition = order([]);
    const t = await engine({ workflows: [definition] });
    const finished = await speedrunWorkflow(await t.engine.start(definition, { hero: "1" }));
    const canceled = await (await t.engine.start(definition, { hero: "2" })).cancel();
    for (const [run, state] of [[finished, "finished"], [canceled, "canceled"]] as const) {
      const before = [await t.store.get(run.id), await run.history()];
      const commands: [string, () => Promise<Run>][] = [
        ["pause", () => run.pause()],
        ["resume", () => run.resume()],
        ["skip", () => run.skip()],
        ["cancel", () => run.cancel()],
        ["resume", () => run.resumeAt("pack")],
      ];
      for (const [verb, command] of commands) {
        await assert.rejects(command(), (error) => {
          assert.ok(error instanceof InvalidStateError);
          assert.equal(error.code, "invalid_state");
          assert.equal(error.state, state);
          assert.match(error.message, new RegExp(`^Cannot ${verb} a ${state} workflow: `));
          return true;
        });
      }
      assert.deepEqual([await t.store.get(run.id), await run.history()], before);
    }
  },
);

behaviour(
  "EXT-22 a step that the code lost cannot be skipped: where to go on is for a person to say",
  async ({ engine }) => {
    const definition = order([]);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition, { hero: "1" });
    const before = await t.store.get(run.id);
    const renamed = workflow({
      name: "order",
      hero: hero("Order", { load: (id: string) => ({ id }) }),
      steps: [{ name: "take_payment", run() {} }],
    });
    t.engine.register(renamed, { replace: true });
    await assert.rejects(run.skip(), (error) => {
      assert.ok(error instanceof StepNotDefinedError);
      assert.equal(error.stepName, "charge");
      assert.match(error.message, /resumeAt/);
      return true;
    });
    assert.deepEqual(await t.store.get(run.id), before);
  },
);

behaviour(
  "EXT-23 a cancel ends a ready or paused workflow and what it had scheduled",
  async ({ engine }) => {
    const done: string[] = [];
    const definition = order(done);
    const t = await engine({ workflows: [definition] });
    const ready = await t.engine.start(definition, { hero: "1" });
    const paused = await (await t.engine.start(definition, { hero: "2" })).pause();
    await t.clock.tick(0);
    await t.clock.tick("1 hour");
    const fresh = await t.engine.start(definition, { hero: "3" });
    const now = new Date(t.clock.now());
    for (const run of [ready, paused, fresh]) {
      const pointer = (await run.reload()).nextStepName;
      await run.cancel();
      assert.deepEqual(
        [run.state, run.transitionedAt, run.currentStepName, run.nextStepName],
        ["canceled", now, null, pointer],
      );
      assert.equal(await run.currentExecution(), null);
    }
    for (const run of [ready, fresh]) {
      const last = (await run.history()).at(-1);
      assert.deepEqual(
        [last?.state, last?.outcome, last?.cause, last?.canceledAt, last?.finishedAt],
        ["canceled", "canceled", "operator", now, now],
      );
    }
    await t.clock.tick("30 days");
    assert.deepEqual(done, ["charge", "pack"], "only what ran before the cancel");
  },
);

behaviour(
  "EXT-24 a workflow that failed and has nothing scheduled can be canceled",
  async ({ engine }) => {
    const definition = order([], true);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition, { hero: "1" });
    await assert.rejects(performNextStep(run), /card declined/);
    const before = await run.history();
    await run.cancel();
    assert.equal(run.state, "canceled");
    assert.deepEqual(await run.history(), before);
  },
);

behaviour(
  "EXT-28 of several callers at once one wins, and the others are told the state they met",
  async ({ engine }) => {
    const definition = order([]);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition, { hero: "1" });
    const found = await Promise.all(Array.from({ length: 5 }, () => t.engine.find(run.id)));
    const others = found.filter((one) => one !== null);

    for (
      const [action, state] of [["pause", "paused"], ["resume", "ready"], [
        "cancel",
        "canceled",
      ]] as const
    ) {
      const results = await Promise.allSettled(others.map((other) => other[action]()));
      assert.equal(results.filter((one) => one.status === "fulfilled").length, 1, action);
      for (const result of results) {
        if (result.status === "fulfilled") continue;
        assert.ok(result.reason instanceof InvalidStateError);
        assert.equal(result.reason.state, state);
      }
      await assertWorkflowState(run, state);
    }
    assert.deepEqual(await storyOf(run), ["charge: canceled/canceled (operator)"]);
  },
);

behaviour(
  "EXT-28 two callers who skip at once skip two steps, never the same one twice",
  async ({ engine }) => {
    const definition = order([]);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition, { hero: "1" });
    const other = await t.engine.find(run.id);
    await Promise.all([run.skip(), other?.skip()]);
    assert.deepEqual(await storyOf(run), [
      "charge: skipped/skipped (operator)",
      "pack: skipped/skipped (operator)",
      "ask_for_review: scheduled",
    ]);
  },
);

behaviour(
  "EXT-30 a paused workflow occupies its hero's slot, and canceling it frees the slot",
  async ({ engine }) => {
    const definition = order([]);
    const t = await engine({ workflows: [definition] });
    const run = await (await t.engine.start(definition, { hero: "1" })).pause();
    await assert.rejects(t.engine.start(definition, { hero: "1" }), (error) => {
      assert.ok(error instanceof DuplicateWorkflowError);
      assert.equal(error.existingId, run.id);
      return true;
    });
    await run.cancel();
    const next = await t.engine.start(definition, { hero: "1" });
    assert.equal(next.state, "ready");
  },
);
