/**
 * Stopping a worker: bodies are told at once, waited for, and handed back when they do not end.
 */

import assert from "node:assert/strict";
import { pollingQueue } from "../../drivers/queues/mod.ts";
import {
  hero,
  type Run,
  StepInterruptedError,
  workflow,
  type WorkflowDefinition,
} from "../../mod.ts";
import { assertWorkflowState, type TestEngine } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingLogger, storeWith, until } from "./_doubles.ts";
import { createGate, type Gate, untilAborted } from "./_gate.ts";
import { current, recordReports, storyOf } from "./_story.ts";

/** A call to a slow partner that gives up when it is asked to; the second call is quick. */
function slowCall(
  gate: Gate,
  reasons: unknown[],
  how: (reason: unknown) => unknown,
): WorkflowDefinition {
  let calls = 0;
  return workflow({
    name: "call",
    steps: [
      {
        name: "dial",
        async run({ signal }) {
          if (++calls > 1) return;
          void gate.pass();
          await untilAborted(signal).catch((reason) => {
            reasons.push(reason);
            throw how(reason);
          });
        },
      },
      { name: "hang_up", run() {} },
    ],
  });
}

/** Lets another worker do what is left. */
async function workOff(t: TestEngine): Promise<void> {
  await using worker = t.engine.work();
  await worker.idle();
}

for (
  const [title, how] of [
    ["the signal's own reason", (reason: unknown) => reason],
    ["an AbortError", () => new DOMException("The operation was aborted", "AbortError")],
    ["an error caused by it", (cause: unknown) => new Error("request failed", { cause })],
  ] as const
) {
  behaviour(
    `U14 a plain body that gives up with ${title} when the worker stops runs again, uncounted`,
    async ({ engine }) => {
      const gate = createGate();
      const reasons: unknown[] = [];
      const reports = recordReports();
      const definition = slowCall(gate, reasons, how);
      const t = await engine({
        workflows: [definition],
        queue: pollingQueue(),
        reportError: reports.reportError,
      });
      const run = await t.engine.start(definition);
      const worker = t.engine.work();
      await gate.arrived;
      await worker.stop();

      assert.ok(reasons[0] instanceof StepInterruptedError);
      assert.equal(reasons[0].reason, "shutdown");
      assert.deepEqual(await storyOf(run), [
        "dial: completed/reattempted (interrupt)",
        "dial: scheduled",
      ]);
      const next = await current(run);
      assert.deepEqual([next.attempt, next.scheduledFor.getTime()], [1, t.clock.now()]);
      await assertWorkflowState(run, "ready");
      assert.deepEqual(reports.errors, []);
      await workOff(t);
      await assertWorkflowState(run, "finished");
    },
  );
}

behaviour(
  "a body that ends by itself after the stop is recorded, and nothing more is begun",
  async ({ engine }) => {
    const gate = createGate();
    let second = 0;
    const definition = workflow({
      name: "call",
      steps: [{ name: "dial", run: gate.pass }, { name: "hang_up", run: () => void second++ }],
    });
    const t = await engine({ workflows: [definition], queue: pollingQueue() });
    const run = await t.engine.start(definition);
    const worker = t.engine.work();
    await gate.arrived;
    let stopped = false;
    const stopping = worker.stop().then(() => void (stopped = true));
    const late = await t.engine.start(definition);
    await t.clock.tick("5 seconds");
    assert.equal(stopped, false, "it is waited for");
    assert.equal(worker.running, 1);
    gate.open();
    await stopping;
    await worker.stopped;
    assert.deepEqual(await storyOf(run), ["dial: completed/success", "hang_up: scheduled"]);
    assert.deepEqual(await storyOf(late), ["dial: scheduled"]);
    assert.equal(second, 0);
    assert.equal(worker.running, 0);
  },
);

behaviour(
  "a resumable body stops at its next checkpoint and goes on from there elsewhere",
  async ({ engine }) => {
    const gate = createGate();
    const seen: number[] = [];
    const definition = workflow({
      name: "reading",
      steps: [{
        name: "read",
        resumable: true,
        async run({ iter }) {
          await iter.over([0, 1, 2, 3], async (page) => {
            seen.push(page);
            if (page === 1) await gate.pass();
          });
        },
      }],
    });
    const t = await engine({ workflows: [definition], queue: pollingQueue() });
    const run = await t.engine.start(definition);
    const worker = t.engine.work();
    await gate.arrived;
    const stopping = worker.stop();
    gate.open();
    await stopping;
    assert.deepEqual(seen, [0, 1]);
    assert.deepEqual(await storyOf(run), [
      "read: completed/continued (interrupt)",
      "read: scheduled",
    ]);
    assert.equal((await run.history())[0]?.metadata.interruptReason, "shutdown");
    assert.equal((await current(run)).cursor, 2);
    await workOff(t);
    assert.deepEqual(seen, [0, 1, 2, 3]);
    await assertWorkflowState(run, "finished");
  },
);

behaviour(
  "a body that does not end within the grace period is handed back, and its late end is dropped",
  async ({ engine }) => {
    const gate = createGate();
    let calls = 0;
    const definition = workflow({
      name: "call",
      steps: [{ name: "dial", run: () => ++calls === 1 ? gate.pass() : undefined }],
    });
    const logger = recordingLogger();
    const t = await engine({ workflows: [definition], queue: pollingQueue(), logger });
    const run = await t.engine.start(definition);
    const worker = t.engine.work({ graceMs: 4_000 });
    await gate.arrived;
    let stopped = false;
    const stopping = worker.stop().then(() => void (stopped = true));
    await t.clock.tick(3_999);
    assert.equal(stopped, false);
    assert.deepEqual(await storyOf(run), ["dial: in_progress"]);
    await t.clock.tick(1);
    await stopping;
    assert.deepEqual(await storyOf(run), [
      "dial: completed/reattempted (interrupt)",
      "dial: scheduled",
    ]);
    assert.equal((await current(run)).attempt, 1);
    assert.ok(logger.lines.some(({ message }) => message.includes("grace period")));

    await workOff(t);
    await assertWorkflowState(run, "finished");
    const before = [await t.store.get(run.id), await run.history()];
    gate.open();
    await t.clock.tick("1 minute");
    assert.deepEqual([await t.store.get(run.id), await run.history()], before);
  },
);

behaviour(
  "a resumable body that does not end within the grace period keeps the cursor it had stored",
  async ({ engine }) => {
    const gate = createGate();
    const definition = workflow({
      name: "reading",
      steps: [{
        name: "read",
        resumable: true,
        async run({ iter }) {
          await iter.over(
            [0, 1, 2],
            (page) => page === 1 && !iter.resumed ? gate.pass() : undefined,
          );
        },
      }],
    });
    const t = await engine({ workflows: [definition], queue: pollingQueue() });
    const run = await t.engine.start(definition);
    const worker = t.engine.work({ graceMs: 0 });
    await gate.arrived;
    const stopping = worker.stop();
    await t.clock.tick(0);
    await stopping;
    assert.equal((await current(run)).cursor, 1);
    const before = await run.history();
    gate.open();
    await t.clock.tick("1 second");
    assert.deepEqual(await run.history(), before, "its late checkpoint writes nothing");
    await workOff(t);
    await assertWorkflowState(run, "finished");
  },
);

behaviour(
  "what is being claimed while the worker stops is handed back without being begun",
  async ({ engine, store }) => {
    const claiming = createGate();
    let slow = true;
    const slowStore = storeWith(store(), (real) => ({
      async claimDue(options) {
        const claims = await real.claimDue(options);
        if (slow && claims.length > 0) await claiming.pass();
        return claims;
      },
    }));
    let calls = 0;
    const definition = workflow({
      name: "call",
      steps: [{ name: "dial", run: () => void calls++ }],
    });
    const t = await engine({ workflows: [definition], queue: pollingQueue(), store: slowStore });
    const run = await t.engine.start(definition);
    const worker = t.engine.work();
    await claiming.arrived;
    slow = false;
    const stopping = worker.stop();
    claiming.open();
    await stopping;
    assert.equal(calls, 0);
    assert.deepEqual(await storyOf(run), [
      "dial: completed/reattempted (interrupt)",
      "dial: scheduled",
    ]);
    await workOff(t);
    assert.equal(calls, 1);
  },
);

behaviour("a hero that never loads does not keep a worker from stopping", async ({ engine }) => {
  const gate = createGate();
  let calls = 0;
  const definition = workflow({
    name: "call",
    hero: hero("Partner", {
      async load(id: string) {
        if (++calls === 1) await gate.pass();
        return { id };
      },
    }),
    steps: [{ name: "dial", run() {} }],
  });
  const t = await engine({ workflows: [definition], queue: pollingQueue() });
  const run = await t.engine.start(definition, { hero: "1" });
  const worker = t.engine.work();
  await gate.arrived;
  const stopping = worker.stop();
  await t.clock.tick("10 seconds");
  await stopping;
  assert.equal((await current(run)).state, "scheduled");
  gate.open();
  await workOff(t);
  await assertWorkflowState(run, "finished");
});

behaviour(
  "a worker stops by its signal, by disposal, by closing the engine, and twice without harm",
  async ({ engine }) => {
    const t = await engine({ queue: pollingQueue() });
    const controller = new AbortController();
    const bySignal = t.engine.work({ signal: controller.signal });
    controller.abort();
    await bySignal.stopped;
    const atOnce = t.engine.work({ signal: AbortSignal.abort() });
    await atOnce.stopped;
    const disposed = t.engine.work();
    await disposed[Symbol.asyncDispose]();
    await disposed.stopped;
    const twice = t.engine.work();
    await Promise.all([twice.stop(), twice.stop()]);
    await twice.stop();
    const closed = t.engine.work();
    await t.engine.close();
    await closed.stopped;
    assert.equal(t.clock.timers, 0, "no timer is left behind");
  },
);

behaviour("stopping one worker leaves the bodies of another one alone", async ({ engine }) => {
  const gates = [createGate(), createGate()];
  const signals: AbortSignal[] = [];
  const definition = workflow({
    name: "call",
    jobOptions: { queue: "a" },
    steps: [{
      name: "dial",
      async run({ signal, input }) {
        signals[Number(input)] = signal;
        await gates[Number(input)]?.pass();
      },
    }],
  });
  const t = await engine({ workflows: [definition], queue: pollingQueue() });
  const runs: Run[] = [];
  for (const [input, queue] of [[0, "a"], [1, "b"]] as const) {
    runs.push(await t.engine.start(definition, { input, jobOptions: { queue } }));
  }
  const first = t.engine.work({ queues: ["a"] });
  await using second = t.engine.work({ queues: ["b"] });
  await until(() => first.running === 1 && second.running === 1);
  await Promise.all(gates.map((gate) => gate.arrived));
  const stopping = first.stop();
  assert.deepEqual(signals.map((signal) => signal.aborted), [true, false]);
  gates[0]?.open();
  await stopping;
  gates[1]?.open();
  await second.idle();
  for (const run of runs) await assertWorkflowState(run, "finished");
});
