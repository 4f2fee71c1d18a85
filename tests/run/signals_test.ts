/**
 * Signals: a step that waits for an event from outside, however early, late or often it comes.
 */

import assert from "node:assert/strict";
import { type SignalEvent, workflow, type WorkflowDefinition } from "../../mod.ts";
import { assertWorkflowState, performNextStep } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingQueue } from "./_doubles.ts";
import { createGate } from "./_gate.ts";
import { current, storyOf } from "./_story.ts";

/** An expense report: handed in, approved by somebody, paid. */
function expenses(events: SignalEvent[]): WorkflowDefinition {
  return workflow({
    name: "expenses",
    steps: [
      { name: "hand_in", run() {} },
      { name: "approve", waitFor: "approved", run: ({ event }) => void events.push(event) },
      { name: "pay", run() {} },
    ],
  });
}

behaviour(
  "NEW-05 a step that waits for a signal has no job and no time at which it would run",
  async ({ engine }) => {
    const events: SignalEvent[] = [];
    const definition = expenses(events);
    const queue = recordingQueue();
    const t = await engine({ workflows: [definition], queue });
    const run = await t.engine.start(definition);
    await performNextStep(run);
    queue.take();
    const waiting = await current(run);
    assert.deepEqual(
      [waiting.stepName, waiting.state, waiting.waitingFor],
      ["approve", "scheduled", "approved"],
    );
    assert.equal((await t.store.active(run.id))?.wakeAt, null);
    assert.deepEqual(queue.jobs.map((job) => job.executionId).includes(waiting.id), false);
    await t.clock.tick("100 days");
    await t.engine.housekeep();
    await t.engine.handle(waiting.id);
    assert.equal(await performNextStep(run), null, "not even by hand");
    assert.deepEqual(await current(run), waiting);
    assert.deepEqual(events, []);
  },
);

behaviour(
  "NEW-05 the signal wakes the step, which sees its name, its payload and when it was sent",
  async ({ engine }) => {
    const events: SignalEvent[] = [];
    const definition = expenses(events);
    const queue = recordingQueue();
    const t = await engine({ workflows: [definition], queue });
    const run = await t.engine.start(definition);
    await performNextStep(run);
    const waiting = await current(run);
    await t.clock.tick("3 hours");
    queue.take();
    const payload = { by: "ann", cents: 12_345n, on: new Date("2026-01-02T00:00:00Z") };
    const sent = await run.signal("approved", payload);

    const sentAt = new Date(t.clock.now());
    const { id, ...kept } = sent;
    assert.deepEqual(kept, {
      name: "approved",
      payload,
      idempotencyKey: null,
      sentAt,
      consumedById: null,
    });
    const jobs = queue.take();
    assert.deepEqual(jobs.map((job) => job.executionId), [waiting.id]);
    assert.ok((jobs[0]?.runAt.getTime() ?? Infinity) <= t.clock.now());
    await t.engine.handle(waiting.id);
    assert.deepEqual(events, [{ name: "approved", payload, sentAt }]);
    assert.deepEqual((await run.signals()).map((one) => [one.id, one.consumedById]), [
      [id, waiting.id],
    ]);
    const closed = (await run.history())[1];
    assert.deepEqual([closed?.state, closed?.waitingFor], ["completed", null]);
    assert.equal((await run.reload()).nextStepName, "pay");
  },
);

behaviour("NEW-05 a signal that comes before its step is kept for it", async ({ engine }) => {
  const events: SignalEvent[] = [];
  const definition = expenses(events);
  const t = await engine({ workflows: [definition] });
  const run = await t.engine.start(definition);
  await run.signal("approved", "early");
  await run.signal("noticed", "somebody else's");
  const sentAt = new Date(t.clock.now());
  await t.clock.tick("1 hour");
  await assertWorkflowState(run, "finished");
  assert.deepEqual(events, [{ name: "approved", payload: "early", sentAt }]);
  const [approved, noticed] = await run.signals();
  assert.equal(approved?.consumedById, (await run.history())[1]?.id);
  assert.equal(noticed?.consumedById, null);
});

behaviour(
  "NEW-05 a signal that is sent while another step runs is kept too",
  async ({ engine }) => {
    const gate = createGate();
    const events: SignalEvent[] = [];
    const definition = workflow({
      name: "expenses",
      steps: [
        { name: "hand_in", run: gate.pass },
        { name: "approve", waitFor: "approved", run: ({ event }) => void events.push(event) },
      ],
    });
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    const handling = t.engine.handle((await current(run)).id);
    await gate.arrived;
    await run.signal("approved", 1);
    gate.open();
    await handling;
    await t.clock.tick(0);
    assert.deepEqual(events.map((event) => event.payload), [1]);
    await assertWorkflowState(run, "finished");
  },
);

behaviour(
  "NEW-05 each signal serves one step, the oldest first, and only the one of its name",
  async ({ engine }) => {
    const seen: unknown[] = [];
    const definition = workflow({
      name: "two_signatures",
      steps: ["first", "second"].map((name) => ({
        name,
        waitFor: "signed",
        run: ({ event }: { event: SignalEvent }) => void seen.push(event.payload),
      })),
    });
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    await run.signal("refused", "not meant");
    await t.clock.tick("1 second");
    assert.deepEqual(seen, []);
    await run.signal("signed", "ann");
    await t.clock.tick("1 second");
    assert.deepEqual(seen, ["ann"]);
    await assertWorkflowState(run, "ready");
    await run.signal("signed", "bo");
    await run.signal("signed", "cy");
    await t.clock.tick("1 second");
    assert.deepEqual(seen, ["ann", "bo"]);
    await assertWorkflowState(run, "finished");
    assert.equal((await run.signals()).filter((one) => one.consumedById === null).length, 2);
  },
);

behaviour("NEW-05 a signal does not shorten the wait of its step", async ({ engine }) => {
  const seenAt: number[] = [];
  let now = (): number => 0;
  const definition = workflow({
    name: "cooling_off",
    steps: [{ name: "ship", wait: "2 days", waitFor: "paid", run: () => void seenAt.push(now()) }],
  });
  const t = await engine({ workflows: [definition] });
  now = () => t.clock.now();
  const startedAt = t.clock.now();
  const run = await t.engine.start(definition);
  await run.signal("paid");
  await t.clock.tick("1 day");
  assert.deepEqual(seenAt, []);
  await t.clock.tick("2 days");
  assert.deepEqual(seenAt, [startedAt + 2 * 86_400_000]);
});

behaviour(
  "NEW-05 a waiting step can be skipped and its workflow canceled from outside",
  async ({ engine }) => {
    const events: SignalEvent[] = [];
    const definition = expenses(events);
    const t = await engine({ workflows: [definition] });
    const skipped = await t.engine.start(definition);
    const canceled = await t.engine.start(definition);
    await t.clock.tick(0);
    await skipped.skip();
    await canceled.cancel();
    await t.clock.tick(0);
    assert.deepEqual(await storyOf(skipped), [
      "hand_in: completed/success",
      "approve: skipped/skipped (operator)",
      "pay: completed/success",
    ]);
    assert.equal((await storyOf(canceled)).at(-1), "approve: canceled/canceled (operator)");
    assert.deepEqual(events, []);
  },
);

behaviour(
  "NEW-07 a signal to a paused workflow is kept and matched when it is resumed",
  async ({ engine }) => {
    const events: SignalEvent[] = [];
    const definition = expenses(events);
    const queue = recordingQueue();
    const t = await engine({ workflows: [definition], queue });
    const run = await t.engine.start(definition);
    await performNextStep(run);
    await run.pause();
    const before = await t.store.active(run.id);
    queue.take();
    await run.signal("approved", "while paused");
    assert.deepEqual(queue.take(), []);
    assert.deepEqual(await t.store.active(run.id), before);
    await assertWorkflowState(run, "paused");

    await t.clock.tick("1 day");
    await run.resume();
    const [job] = queue.take();
    assert.equal(job?.executionId, before?.id);
    await t.engine.handle(job?.executionId ?? "");
    assert.deepEqual(events.map((event) => event.payload), ["while paused"]);
  },
);

behaviour(
  "NEW-08 reattempts and resumes of a signalled step see the same event",
  async ({ engine }) => {
    const events: SignalEvent[] = [];
    const failures = [1, 2, 3];
    const definition = workflow({
      name: "expenses",
      steps: [{
        name: "approve",
        waitFor: "approved",
        onException: "reattempt",
        maxReattempts: 1,
        run({ event, reattempt, attempt }) {
          events.push(event);
          if (attempt === 1 && events.length === 1) reattempt();
          if (failures.pop() !== undefined) throw new Error("the ledger is closed");
        },
      }],
    });
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    await run.signal("approved", { by: "ann" });
    await run.signal("approved", { by: "bo" });
    await performNextStep(run);
    await assert.rejects(performNextStep(run), /ledger/);
    await assert.rejects(performNextStep(run), /ledger/);
    await assertWorkflowState(run, "paused");
    await run.resume();
    await assert.rejects(performNextStep(run), /ledger/);
    await performNextStep(run);
    await assertWorkflowState(run, "finished");

    assert.equal(events.length, 5);
    for (const event of events) assert.deepEqual(event, events[0]);
    assert.deepEqual(events[0]?.payload, { by: "ann" });
    const [ann, bo] = await run.signals();
    assert.equal(ann?.consumedById, (await run.history())[0]?.id);
    assert.equal(bo?.consumedById, null, "the second signal was not used up by a reattempt");
  },
);
