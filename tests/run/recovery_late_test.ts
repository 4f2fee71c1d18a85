/**
 * Workers that live longer than one would think, and those that come back after they were thought
 * dead.
 */

import assert from "node:assert/strict";
import {
  createEngine,
  type Engine,
  type LostEvent,
  workflow,
  type WorkflowDefinition,
} from "../../mod.ts";
import { assertWorkflowState, type TestEngine } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingQueue, storeWith } from "./_doubles.ts";
import { createGate } from "./_gate.ts";
import { current, recordReports, storyOf } from "./_story.ts";

/** Another engine on the store and the clock of the first. */
function secondEngine(t: TestEngine, workflows: readonly WorkflowDefinition[]): Engine {
  return createEngine({ store: t.store, clock: t.clock, queue: recordingQueue(), workflows });
}

behaviour(
  "HSK-22 U2 a late result of a worker that was thought dead is dropped, quietly",
  async ({ engine }) => {
    const gate = createGate();
    let runs = 0;
    const definition = workflow({
      name: "printing",
      steps: [{ name: "print", run: () => ++runs === 1 ? gate.pass() : undefined }],
    });
    const reports = recordReports();
    const t = await engine({
      workflows: [definition],
      queue: recordingQueue(),
      reportError: reports.reportError,
    });
    const lost: LostEvent[] = [];
    t.engine.events.on("lost", (event) => void lost.push(event));
    const run = await t.engine.start(definition);
    const { id } = await current(run);
    const handling = t.engine.handle(id);
    await gate.arrived;
    t.clock.travelTo(t.clock.now() + 30_000);
    const other = secondEngine(t, [definition]);
    assert.equal((await other.housekeep()).recoveredInProgress, 1);
    const before = [await t.store.get(run.id), await run.history()];
    gate.open();
    await handling;
    assert.deepEqual([await t.store.get(run.id), await run.history()], before);
    assert.deepEqual(lost.map((event) => event.executionId), [id]);
    assert.deepEqual(reports.errors, []);

    await t.engine.handle((await current(run)).id);
    await assertWorkflowState(run, "finished");
    assert.deepEqual(await storyOf(run), [
      "print: completed/recovered (recovery)",
      "print: completed/success",
    ]);
  },
);

behaviour(
  "U2 a late checkpoint writes nothing and ends the iteration without policy and report",
  async ({ engine }) => {
    const gate = createGate();
    const printed: number[] = [];
    let policies = 0;
    const definition = workflow({
      name: "printing",
      onException: () => void policies++,
      steps: [{
        name: "print_all",
        resumable: true,
        async run({ iter }) {
          await iter.over([0, 1, 2], async (page) => {
            printed.push(page);
            if (page === 1) await gate.pass();
          });
        },
      }],
    });
    const reports = recordReports();
    const t = await engine({
      workflows: [definition],
      queue: recordingQueue(),
      reportError: reports.reportError,
    });
    const run = await t.engine.start(definition);
    const handling = t.engine.handle((await current(run)).id);
    await gate.arrived;
    t.clock.travelTo(t.clock.now() + 30_000);
    assert.equal((await secondEngine(t, [definition]).housekeep()).recoveredInProgress, 1);
    const before = [await t.store.get(run.id), await run.history()];
    gate.open();
    await handling;
    assert.deepEqual(printed, [0, 1], "the checkpoint after the second page said stop");
    assert.deepEqual([await t.store.get(run.id), await run.history()], before);
    assert.equal(
      (await current(run)).cursor,
      1,
      "the successor repeats the page that was not stored",
    );
    assert.deepEqual([reports.errors, policies], [[], 0]);
  },
);

behaviour(
  "U1 a healthy body may run far longer than any threshold: its heartbeats keep the claim",
  async ({ engine }) => {
    const gate = createGate();
    const definition = workflow({ name: "printing", steps: [{ name: "print", run: gate.pass }] });
    const t = await engine({ workflows: [definition], queue: recordingQueue() });
    const other = secondEngine(t, [definition]);
    const run = await t.engine.start(definition);
    const handling = t.engine.handle((await current(run)).id);
    await gate.arrived;
    for (let hour = 0; hour < 3; hour++) {
      await t.clock.tick("1 hour");
      assert.equal((await other.housekeep()).recoveredInProgress, 0);
    }
    const { leaseUntil } = await t.store.active(run.id) ?? {};
    assert.ok((leaseUntil?.getTime() ?? 0) > t.clock.now());
    gate.open();
    await handling;
    assert.deepEqual(await storyOf(run), ["print: completed/success"]);
  },
);

behaviour(
  "U1 checkpoints of a resumable step are signs of life as good as a heartbeat",
  async ({ engine, store }) => {
    let heartbeats = 0;
    const counting = storeWith(store(), (real) => ({
      checkpoint(batch, options) {
        if (batch.some((one) => one.cursor === undefined)) heartbeats++;
        return real.checkpoint(batch, options);
      },
    }));
    let pass = (): void => {};
    const definition = workflow({
      name: "printing",
      steps: [{
        name: "print_all",
        resumable: true,
        async run({ iter }) {
          await iter.over(Array(20).keys().toArray(), () => pass());
        },
      }],
    });
    const t = await engine({ workflows: [definition], queue: recordingQueue(), store: counting });
    pass = () => t.clock.travelTo(t.clock.now() + 9_000);
    const run = await t.engine.start(definition);
    await t.engine.handle((await current(run)).id);
    assert.equal(heartbeats, 0);
    assert.deepEqual(await storyOf(run), ["print_all: completed/success"]);
  },
);
