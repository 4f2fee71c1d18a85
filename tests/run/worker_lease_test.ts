/** Leases: heartbeats that keep a claim, and workers that lose it to another. */

import assert from "node:assert/strict";
import { pollingQueue } from "../../drivers/queues/mod.ts";
import { type Clock, createEngine, type LostEvent, type Run, workflow } from "../../mod.ts";
import { assertWorkflowState, createFakeClock, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingLogger, storeWith } from "./_doubles.ts";
import { createGate, untilAborted } from "./_gate.ts";
import { recordReports, storyOf } from "./_story.ts";
import { reasonOf, twoEngines, watch } from "./_two_engines.ts";

for (const way of ["fails", "gets no answer"] as const) {
  behaviour(
    `P3 U2 when a heartbeat ${way} until the lease has ended, another worker takes over and the late result is dropped`,
    async ({ store }) => {
      const gate = createGate();
      const signals: AbortSignal[] = [];
      const definition = watch(gate, signals);
      const hung = createGate();
      await using two = await twoEngines(
        store(),
        [definition],
        {},
        (real) =>
          storeWith(real, () => ({
            checkpoint: () =>
              way === "fails"
                ? Promise.reject(new Error("no route to host"))
                : hung.pass().then(() => ["lost"]),
          })),
      );
      const lost: LostEvent[] = [];
      two.first.events.on("lost", (event) => void lost.push(event));
      const run = await two.first.start(definition);
      const worker = two.first.work();
      await gate.arrived;
      await two.clock.tick(29_999);
      assert.equal(signals[0]?.aborted, false, "until then the claim is its own");
      await two.clock.tick(1);
      assert.equal(reasonOf(signals[0]), "lost_lease");

      await using other = two.second.work();
      await other.idle();
      await assertWorkflowState(run, "finished");
      assert.deepEqual(await storyOf(run), [
        "observe: completed/recovered (recovery)",
        "observe: completed/success",
      ]);
      const before = [await two.store.get(run.id), await run.history()];
      gate.open();
      hung.open();
      await worker.stop();
      assert.deepEqual([await two.store.get(run.id), await run.history()], before);
      assert.equal(lost.length, 1);
      assert.equal(lost[0]?.executionId, (await run.history())[0]?.id);
    },
  );
}

behaviour(
  "P3 a body that gives up because its claim was lost leaves no trace, no policy and no report",
  async ({ store }) => {
    const gate = createGate();
    const reports = recordReports();
    let policies = 0;
    let runs = 0;
    const definition = workflow({
      name: "watch",
      onException: () => void policies++,
      steps: [{
        name: "observe",
        async run({ signal }) {
          if (++runs > 1) return;
          void gate.pass();
          await untilAborted(signal).catch(() => Promise.reject(new Error("torn down")));
        },
      }],
    });
    const { reportError } = reports;
    await using two = await twoEngines(
      store(),
      [definition],
      { reportError },
      (real) => storeWith(real, () => ({ checkpoint: () => Promise.reject(new Error("away")) })),
    );
    const run = await two.first.start(definition);
    const worker = two.first.work();
    await gate.arrived;
    await two.clock.tick("30 seconds");
    await worker.idle();
    assert.deepEqual(await storyOf(run), [
      "observe: completed/recovered (recovery)",
      "observe: completed/success",
    ]);
    assert.equal((await run.history())[0]?.errorClass, null);
    assert.deepEqual([reports.errors, policies], [[], 0]);
    await worker.stop();
  },
);

behaviour(
  "P3 heartbeats renew the lease as long as the body runs, and end with it",
  async ({ store }) => {
    const gate = createGate();
    const definition = watch(gate, []);
    await using two = await twoEngines(store(), [definition]);
    const run = await two.first.start(definition);
    const worker = two.first.work();
    await using other = two.second.work();
    await gate.arrived;
    const startedAt = two.clock.now();
    const leases: number[] = [];
    for (let beat = 1; beat <= 4; beat++) {
      await two.clock.tick("10 seconds");
      const active = await two.store.active(run.id);
      leases.push((active?.leaseUntil?.getTime() ?? 0) - startedAt);
      assert.deepEqual(active?.wakeAt, active?.leaseUntil);
    }
    assert.deepEqual(leases, [40_000, 50_000, 60_000, 70_000]);
    gate.open();
    await worker.idle();
    assert.deepEqual(await storyOf(run), ["observe: completed/success"]);
    await worker.stop();
    await other.stop();
    assert.equal(two.clock.timers, 0, "no heartbeat is left");
  },
);

behaviour(
  "P3 claims that begin at different times all keep their leases, however close the heartbeat is to the lease",
  async ({ store }) => {
    const gates = [createGate(), createGate(), createGate()];
    const definition = workflow({
      name: "watch",
      steps: [{ name: "observe", run: ({ input }) => gates[Number(input)]?.pass() }],
    });
    const options = { leaseMs: 10_000, heartbeatMs: 8_000 };
    await using two = await twoEngines(store(), [definition], options);
    const worker = two.first.work();
    await using _other = two.second.work({ queues: ["elsewhere"] });
    const runs: Run[] = [];
    for (const [at, gate] of gates.entries()) {
      runs.push(await two.first.start(definition, { input: at }));
      await two.clock.tick("3 seconds");
      await gate.arrived;
    }
    for (let second = 0; second < 60; second++) {
      await two.clock.tick("1 second");
      for (const run of runs) {
        const { leaseUntil } = await two.store.active(run.id) ?? {};
        assert.ok((leaseUntil?.getTime() ?? 0) > two.clock.now(), `after ${second} seconds`);
      }
    }
    for (const gate of gates) gate.open();
    await worker.idle();
    for (const run of runs) assert.deepEqual(await storyOf(run), ["observe: completed/success"]);
  },
);

behaviour(
  "P3 a claim counts as lost when its lease ends, not a heartbeat later",
  async ({ store }) => {
    const gate = createGate();
    const signals: AbortSignal[] = [];
    const definition = watch(gate, signals);
    const options = { leaseMs: 10_000, heartbeatMs: 8_000 };
    await using two = await twoEngines(
      store(),
      [definition],
      options,
      (real) =>
        storeWith(real, () => ({
          checkpoint: () => Promise.reject(new Error("away")),
        })),
    );
    await two.first.start(definition);
    const worker = two.first.work({ concurrency: 1 });
    await gate.arrived;
    await two.clock.tick(9_999);
    assert.equal(signals[0]?.aborted, false);
    await two.clock.tick(1);
    assert.equal(reasonOf(signals[0]), "lost_lease");
    gate.open();
    await worker.stop();
  },
);

behaviour(
  "P3 a heartbeat that fails once is tried again before the lease ends",
  async ({ store }) => {
    const gate = createGate();
    const signals: AbortSignal[] = [];
    const definition = watch(gate, signals);
    const logger = recordingLogger();
    let failures = 2;
    await using two = await twoEngines(
      store(),
      [definition],
      { logger },
      (real) =>
        storeWith(real, () => ({
          checkpoint: (batch, options) =>
            failures-- > 0 ? Promise.reject(new Error("blip")) : real.checkpoint(batch, options),
        })),
    );
    const run = await two.first.start(definition);
    const worker = two.first.work();
    await using _other = two.second.work();
    await gate.arrived;
    await two.clock.tick("2 minutes");
    assert.equal(signals[0]?.aborted, false);
    assert.equal(
      logger.lines.filter(({ level }) => level === "warn").length,
      2,
    );
    gate.open();
    await worker.idle();
    assert.deepEqual(await storyOf(run), ["observe: completed/success"]);
    await worker.stop();
  },
);

behaviour(
  "P3 a dead worker's execution is taken over by the next look of any other worker",
  async ({ store }) => {
    const gate = createGate();
    const signals: AbortSignal[] = [];
    const definition = watch(gate, signals);
    await using two = await twoEngines(store(), [definition], {}, (real) =>
      storeWith(real, () => ({
        checkpoint: () => new Promise<never>(() => {}),
      })));
    const run = await two.first.start(definition);
    const worker = two.first.work();
    await gate.arrived;
    await using other = two.second.work();
    await two.clock.tick(29_999);
    await other.idle();
    assert.deepEqual(await storyOf(run), ["observe: in_progress"]);
    await two.clock.tick(251);
    await other.idle();
    await assertWorkflowState(run, "finished");
    gate.open();
    await worker.stop();
  },
);

behaviour(
  "HSK-22 EXE-18 a process that stood still past its lease before the body does not begin it",
  async (world) => {
    let bodies = 0;
    let standStill = true;
    const order = workflow({
      name: "order",
      cancelIf: () => {
        if (standStill) t.clock.travelTo(t.clock.now() + 30_000);
        standStill = false;
        return false;
      },
      steps: [{ name: "charge", run: () => void bodies++ }],
    });
    const t = await world.engine({ workflows: [order] });
    const run = await t.engine.start(order);
    await t.engine.handle((await run.currentExecution())?.id ?? "");
    assert.equal(bodies, 0);
    await t.engine.housekeep();
    await speedrunWorkflow(run);
    assert.equal(bodies, 1);
    assert.deepEqual((await run.history()).map((one) => one.outcome), ["recovered", "success"]);
  },
);

behaviour(
  "P3 a clock that is set back costs no claim: its heartbeats go on as before",
  async (world) => {
    const gate = createGate();
    const definition = watch(gate, []);
    const passing = createFakeClock();
    let wrongMs = 0;
    // Timers go by the time that passes, and not by what somebody sets the clock to.
    const clock: Clock = { ...passing, now: () => passing.now() + wrongMs };
    const store = world.store();
    const engine = createEngine({ store, clock, workflows: [definition], queue: pollingQueue() });
    await engine.migrate();
    const run = await engine.start(definition);
    const worker = engine.work();
    await gate.arrived;
    wrongMs = -3_600_000;
    for (let beat = 1; beat <= 3; beat++) {
      await passing.tick("10 seconds");
      const { leaseUntil } = await store.active(run.id) ?? {};
      assert.equal((leaseUntil?.getTime() ?? 0) - clock.now(), 30_000, `heartbeat ${beat}`);
    }
    gate.open();
    await worker.idle();
    await engine.close();
  },
);
