/**
 * Pause, cancel and resume from outside while a body runs: the workflow changes at once, the body
 * is told by its signal, and what it did is recorded.
 */

import assert from "node:assert/strict";
import {
  InvalidStateError,
  type Run,
  StepInterruptedError,
  workflow,
  type WorkflowDefinition,
} from "../../mod.ts";
import { assertWorkflowState, type TestEngine } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { createGate, type Gate, untilAborted } from "./_gate.ts";
import { current, recordReports, storyOf } from "./_story.ts";

/** A transfer whose first step stands at a gate; `signals` are the signals its bodies were given. */
function transfer(gate: Gate, signals: AbortSignal[] = []): WorkflowDefinition {
  return workflow({
    name: "transfer",
    steps: [
      {
        name: "debit",
        async run({ signal }) {
          signals.push(signal);
          await gate.pass();
        },
      },
      { name: "credit", wait: "1 hour", run() {} },
    ],
  });
}

/** Starts a workflow and waits until its first body stands at the gate. */
async function atTheGate(
  t: TestEngine,
  definition: WorkflowDefinition,
  gate: Gate,
): Promise<{ run: Run; handling: Promise<void> }> {
  const run = await t.engine.start(definition);
  const handling = t.engine.handle((await current(run)).id);
  handling.catch(() => {});
  await gate.arrived;
  return { run: await run.reload(), handling };
}

behaviour(
  "EXT-27 U15 a pause while a plain body runs: its success counts, the next step waits for the resume",
  async ({ engine }) => {
    const gate = createGate();
    const signals: AbortSignal[] = [];
    const definition = transfer(gate, signals);
    const t = await engine({ workflows: [definition] });
    const { run, handling } = await atTheGate(t, definition, gate);
    assert.deepEqual([run.state, run.currentStepName], ["performing", "debit"]);
    const pausedAt = new Date(t.clock.now());
    await run.pause();

    assert.deepEqual([run.state, run.transitionedAt, run.nextStepName], [
      "paused",
      pausedAt,
      "debit",
    ]);
    assert.equal((await current(run)).state, "in_progress");
    assert.ok(signals[0]?.aborted, "the body is told at once");
    assert.ok(signals[0].reason instanceof StepInterruptedError);
    assert.equal(signals[0].reason.reason, "paused");

    await t.clock.tick("10 minutes");
    gate.open();
    await handling;
    await run.reload();
    assert.deepEqual(
      [run.state, run.currentStepName, run.nextStepName, run.transitionedAt],
      ["paused", null, "credit", pausedAt],
    );
    assert.deepEqual(await storyOf(run), ["debit: completed/success"]);

    await run.resume();
    assert.deepEqual(await storyOf(run), ["debit: completed/success", "credit: scheduled"]);
    const endedAt = (await run.history())[0]?.completedAt?.getTime() ?? 0;
    assert.equal((await current(run)).scheduledFor.getTime(), endedAt + 3_600_000, "its own wait");
    assert.equal(run.state, "ready");
  },
);

behaviour(
  "EXT-27 U15 when the last step succeeds during a pause the workflow is finished",
  async ({ engine }) => {
    const gate = createGate();
    const definition = workflow({ name: "one_step", steps: [{ name: "only", run: gate.pass }] });
    const t = await engine({ workflows: [definition] });
    const { run, handling } = await atTheGate(t, definition, gate);
    await run.pause();
    gate.open();
    await handling;
    await assertWorkflowState(run, "finished");
    assert.deepEqual(await storyOf(run), ["only: completed/success"]);
  },
);

behaviour(
  "EXT-27 a body that gives up because of the pause is closed as canceled and runs again after the resume",
  async ({ engine }) => {
    const gate = createGate();
    let runs = 0;
    const definition = workflow({
      name: "transfer",
      steps: [{
        name: "debit",
        async run({ signal }) {
          runs++;
          if (runs > 1) return;
          void gate.pass();
          await untilAborted(signal);
        },
      }],
    });
    const reports = recordReports();
    const t = await engine({ workflows: [definition], reportError: reports.reportError });
    const { run, handling } = await atTheGate(t, definition, gate);
    await run.pause();
    await handling;
    await run.reload();
    assert.deepEqual([run.state, run.nextStepName], ["paused", "debit"]);
    assert.deepEqual(await storyOf(run), ["debit: canceled/canceled (operator)"]);
    assert.deepEqual(reports.errors, [], "to give up when asked to is no error");
    await run.resume();
    await t.clock.tick(0);
    assert.equal(runs, 2);
    await assertWorkflowState(run, "finished");
  },
);

behaviour(
  "EXT-27 a cancel while a plain body runs: no next step, and the workflow is canceled at once",
  async ({ engine }) => {
    const gate = createGate();
    const signals: AbortSignal[] = [];
    const definition = transfer(gate, signals);
    const t = await engine({ workflows: [definition] });
    const { run, handling } = await atTheGate(t, definition, gate);
    await run.cancel();
    assert.deepEqual([run.state, run.currentStepName], ["canceled", null]);
    assert.equal((signals[0]?.reason as StepInterruptedError).reason, "canceled");
    gate.open();
    await handling;
    await assertWorkflowState(run, "canceled");
    assert.deepEqual(await storyOf(run), ["debit: canceled/canceled (operator)"]);
    const closed = (await run.history())[0];
    assert.ok(closed?.startedAt !== null, "the body did run");
    assert.deepEqual([closed?.errorClass, closed?.completedAt], [null, null]);
  },
);

behaviour(
  "EXT-27 a resumable step stops at its next checkpoint after a pause and goes on from there",
  async ({ engine }) => {
    const gate = createGate();
    const shipped: number[] = [];
    const definition = workflow({
      name: "shipping",
      steps: [{
        name: "ship_all",
        resumable: true,
        async run({ iter }) {
          await iter.over([0, 1, 2, 3], async (parcel) => {
            shipped.push(parcel);
            if (parcel === 1) await gate.pass();
          });
        },
      }],
    });
    const t = await engine({ workflows: [definition] });
    const { run, handling } = await atTheGate(t, definition, gate);
    await run.pause();
    gate.open();
    await handling;
    assert.deepEqual(shipped, [0, 1]);
    await assertWorkflowState(run, "paused");
    assert.deepEqual(await storyOf(run), ["ship_all: completed/workflow_paused (operator)"]);
    assert.equal((await run.history())[0]?.cursor, 2);

    await run.resume();
    const successor = await current(run);
    assert.equal(successor.cursor, 2);
    assert.equal(successor.continuesFromId, (await run.history())[0]?.id);
    await t.clock.tick(0);
    assert.deepEqual(shipped, [0, 1, 2, 3]);
    await assertWorkflowState(run, "finished");
  },
);

behaviour(
  "EXT-27 a resumable step stops at its next checkpoint after a cancel, without a successor",
  async ({ engine }) => {
    const gate = createGate();
    const shipped: number[] = [];
    const definition = workflow({
      name: "shipping",
      steps: [{
        name: "ship_all",
        resumable: true,
        async run({ iter }) {
          await iter.over([0, 1, 2], async (parcel) => {
            shipped.push(parcel);
            await gate.pass();
          });
        },
      }],
    });
    const t = await engine({ workflows: [definition] });
    const { run, handling } = await atTheGate(t, definition, gate);
    await run.cancel();
    gate.open();
    await handling;
    assert.deepEqual(shipped, [0]);
    assert.deepEqual(await storyOf(run), ["ship_all: canceled/canceled (operator)"]);
    assert.equal((await run.history())[0]?.cursor, 1, "how far it came stays visible");
  },
);

behaviour(
  "EXT-27 a step that is running cannot be skipped from outside, nor after a pause while it still runs",
  async ({ engine }) => {
    const gate = createGate();
    const definition = transfer(gate);
    const t = await engine({ workflows: [definition] });
    const { run, handling } = await atTheGate(t, definition, gate);
    await assert.rejects(run.skip(), (error) => {
      assert.ok(error instanceof InvalidStateError);
      assert.match(error.message, /^Cannot skip a performing workflow: /);
      return true;
    });
    await run.pause();
    for (const command of [() => run.skip(), () => run.resumeAt("credit")]) {
      await assert.rejects(command(), (error) => {
        assert.ok(error instanceof InvalidStateError);
        assert.match(error.message, /a paused workflow whose step is still running: /);
        return true;
      });
    }
    gate.open();
    await handling;
    await assertWorkflowState(run, "paused");
  },
);

behaviour(
  "U16 a resume while the old body still runs makes neither a job nor an execution",
  async ({ engine }) => {
    const gate = createGate();
    const definition = transfer(gate);
    const t = await engine({ workflows: [definition] });
    const { run, handling } = await atTheGate(t, definition, gate);
    const running = await current(run);
    await run.pause();
    await run.resume();
    assert.deepEqual(
      [run.state, run.currentStepName, run.nextStepName, run.transitionedAt],
      ["performing", "debit", "debit", null],
    );
    assert.deepEqual((await run.history()).map((one) => one.id), [running.id]);
    gate.open();
    await handling;
    await assertWorkflowState(run, "ready");
    assert.deepEqual(await storyOf(run), ["debit: completed/success", "credit: scheduled"]);
  },
);

behaviour(
  "U16 a resumable step that was asked to stop before the resume goes on in a successor",
  async ({ engine }) => {
    const gate = createGate();
    const shipped: number[] = [];
    const definition = workflow({
      name: "shipping",
      steps: [{
        name: "ship_all",
        resumable: true,
        async run({ iter }) {
          await iter.over([0, 1], async (parcel) => {
            shipped.push(parcel);
            await gate.pass();
          });
        },
      }],
    });
    const t = await engine({ workflows: [definition] });
    const { run, handling } = await atTheGate(t, definition, gate);
    await run.pause();
    await run.resume();
    gate.open();
    await handling;
    assert.deepEqual(await storyOf(run), [
      "ship_all: completed/continued (interrupt)",
      "ship_all: scheduled",
    ]);
    await t.clock.tick(0);
    assert.deepEqual(shipped, [0, 1]);
    await assertWorkflowState(run, "finished");
  },
);

behaviour(
  "U17 a body that throws after a cancel: its error is stored and reported, the workflow stays canceled",
  async ({ engine }) => {
    const gate = createGate();
    const definition = transfer(gate);
    const reports = recordReports();
    const t = await engine({ workflows: [definition], reportError: reports.reportError });
    const { run, handling } = await atTheGate(t, definition, gate);
    await run.cancel();
    const before = await t.store.get(run.id);
    const error = new TypeError("the bank hung up");
    gate.fail(error);
    await assert.rejects(handling, (thrown) => thrown === error);
    const closed = (await run.history())[0];
    assert.deepEqual(await storyOf(run), ["debit: canceled/canceled (operator)"]);
    assert.deepEqual([closed?.errorClass, closed?.errorMessage], ["TypeError", "the bank hung up"]);
    assert.deepEqual(await t.store.get(run.id), before);
    assert.deepEqual(reports.errors, [error]);
  },
);

behaviour(
  "U17 an error that a policy would reattempt is stored all the same when the workflow was canceled",
  async ({ engine }) => {
    const gate = createGate();
    const definition = workflow({
      name: "transfer",
      steps: [{ name: "debit", onException: "reattempt", run: gate.pass }],
    });
    const t = await engine({ workflows: [definition] });
    const { run, handling } = await atTheGate(t, definition, gate);
    await run.cancel();
    gate.fail(new TypeError("the bank hung up"));
    await assert.rejects(handling, /hung up/);
    const closed = (await run.history())[0];
    assert.deepEqual(await storyOf(run), ["debit: canceled/canceled (operator)"]);
    assert.equal(closed?.errorClass, "TypeError");
    assert.equal(await run.currentExecution(), null);
  },
);
