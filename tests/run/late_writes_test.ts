/**
 * The end of a step must reach the store: stores that fail, answers that get lost, rows that are
 * gone by then.
 */

import assert from "node:assert/strict";
import {
  type ExecutionRecord,
  type StoreDriver,
  workflow,
  type WorkflowDefinition,
} from "../../mod.ts";
import { assertWorkflowState, performNextStep } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingLogger, recordingQueue, storeWith, until } from "./_doubles.ts";

const NOON = Date.UTC(2026, 5, 1, 12);

/** A backup of two steps that counts its bodies. */
function backup(ran: string[]): WorkflowDefinition {
  return workflow({
    name: "backup",
    steps: [
      { name: "copy", run: () => void ran.push("copy") },
      { name: "verify", run: () => void ran.push("verify") },
    ],
  });
}

type Finish = StoreDriver["finish"];

/** A store whose n-th finish (from 1) is done by `odd`, and all others as ever. */
function oddFinish(
  store: StoreDriver,
  odd: (call: number, real: Finish) => Finish | null,
): { store: StoreDriver; calls: () => number } {
  let calls = 0;
  return {
    calls: () => calls,
    store: storeWith(store, (real) => ({
      finish: (batch, options) => (odd(++calls, real.finish) ?? real.finish)(batch, options),
    })),
  };
}

const away: Finish = () => Promise.reject(new Error("the database is away"));

function outcomes(history: readonly ExecutionRecord[]): [string, string | null][] {
  return history.map((one) => [one.stepName, one.outcome]);
}

behaviour(
  "U31 the end of a step is written again until the store takes it, without a second body",
  async ({ engine, store }) => {
    const ran: string[] = [];
    const definition = backup(ran);
    const odd = oddFinish(store(), (call) => call <= 2 ? away : null);
    const [queue, logger] = [recordingQueue(), recordingLogger()];
    const t = await engine({
      workflows: [definition],
      queue,
      logger,
      store: odd.store,
      now: NOON,
    });
    const run = await t.engine.start(definition);
    queue.take();
    const performing = performNextStep(run);
    await t.clock.tick(49);
    assert.equal(odd.calls(), 1);
    await t.clock.tick(1);
    assert.equal(odd.calls(), 2);
    await t.clock.tick(99);
    assert.equal(odd.calls(), 2);
    await t.clock.tick(1);
    const execution = await performing;
    assert.equal(odd.calls(), 3);
    assert.equal(execution?.outcome, "success");
    assert.deepEqual(ran, ["copy"]);
    assert.deepEqual(outcomes(await run.history()), [["copy", "success"], ["verify", null]]);
    assert.equal(queue.take().length, 1);
    const warnings = logger.lines.filter(({ level }) => level === "warn");
    assert.equal(warnings.length, 2);
    assert.equal(warnings[0]?.fields.executionId, execution?.id);
  },
);

behaviour(
  "U31 a write whose answer got lost is recognised, and its job is announced",
  async ({ engine, store }) => {
    const ran: string[] = [];
    const definition = backup(ran);
    const odd = oddFinish(store(), (call, real) =>
      call > 1 ? null : async (batch, options) => {
        await real(batch, options);
        throw new Error("the connection broke after the commit");
      });
    const [queue, logger] = [recordingQueue(), recordingLogger()];
    const t = await engine({ workflows: [definition], queue, logger, store: odd.store });
    const lost: unknown[] = [];
    t.engine.events.on("lost", (event) => void lost.push(event));
    const run = await t.engine.start(definition);
    queue.take();
    const performing = performNextStep(run);
    await t.clock.tick("1 second");
    const execution = await performing;
    assert.equal(execution?.outcome, "success");
    assert.deepEqual(outcomes(await run.history()), [["copy", "success"], ["verify", null]]);
    const [job, ...others] = queue.take();
    assert.deepEqual(others, []);
    assert.equal(job?.executionId, (await run.currentExecution())?.id);
    assert.deepEqual(lost, []);
    await performNextStep(run);
    await assertWorkflowState(run, "finished");
    assert.deepEqual(ran, ["copy", "verify"]);
  },
);

behaviour(
  "U31 a lost answer does not stop a worker that goes on in process",
  async ({ engine, store }) => {
    const ran: string[] = [];
    const definition = backup(ran);
    const odd = oddFinish(store(), (call, real) =>
      call > 1 ? null : async (batch, options) => {
        await real(batch, options);
        throw new Error("the connection broke after the commit");
      });
    const t = await engine({ workflows: [definition], store: odd.store });
    const run = await t.engine.start(definition);
    await t.clock.tick("1 second");
    await assertWorkflowState(run, "finished");
    assert.deepEqual(ran, ["copy", "verify"]);
    assert.equal((await run.history()).length, 2);
  },
);

behaviour(
  "U31 a write that somebody else overtook is not taken for our own",
  async ({ engine, store }) => {
    const ran: string[] = [];
    const definition = backup(ran);
    const odd = oddFinish(store(), (call) => call === 1 ? away : null);
    const t = await engine({
      workflows: [definition],
      store: odd.store,
      queue: recordingQueue(),
      now: NOON,
    });
    const lost: string[] = [];
    t.engine.events.on("lost", ({ executionId }) => void lost.push(executionId));
    const run = await t.engine.start(definition);
    const id = (await run.currentExecution())?.id as string;
    const performing = performNextStep(run);
    await until(() => odd.calls() === 1);
    await finishElsewhere(t.store, new Date(NOON + 60_000));
    const row = await t.store.get(run.id);
    await t.clock.tick("1 second");
    assert.equal(await performing, null);
    assert.deepEqual(lost, [id]);
    const execution = await t.store.getExecution(id);
    assert.deepEqual([execution?.outcome, execution?.worker], ["success", "another process"]);
    assert.deepEqual(await t.store.get(run.id), row);
  },
);

/** Another process takes over what is due and brings it to the very end that the first one wanted. */
async function finishElsewhere(store: StoreDriver, now: Date): Promise<void> {
  const token = crypto.randomUUID();
  const claim = { now, token, leaseMs: 30_000, worker: "another process", limit: 1 };
  const [taken] = await store.claimDue(claim);
  assert.equal(taken?.from, "in_progress");
  const [result] = await store.finish([{
    executionId: taken?.execution.id as string,
    workflowId: taken?.workflow.id as string,
    token,
    closing: { state: "completed", outcome: "success", cause: null },
    error: null,
    metadata: null,
    keepCursor: false,
    bodyStarted: true,
    workflowState: "finished",
    nextStepName: null,
    next: null,
  }], { now });
  assert.equal(result?.kind, "done");
}

behaviour(
  "U31 after the lease must have ended the store's error surfaces, and the sweep recovers",
  async ({ engine, store }) => {
    const ran: string[] = [];
    const definition = backup(ran);
    let broken = true;
    const shared = storeWith(store(), (real) => ({
      finish: (batch, options) => broken ? away(batch, options) : real.finish(batch, options),
      checkpoint: (batch, options) =>
        broken
          ? Promise.reject(new Error("the database is away"))
          : real.checkpoint(batch, options),
    }));
    const t = await engine({
      workflows: [definition],
      store: shared,
      queue: recordingQueue(),
      now: NOON,
    });
    const run = await t.engine.start(definition);
    const performing = assert.rejects(performNextStep(run), /the database is away/);
    await t.clock.tick("31 seconds");
    await performing;
    await assertWorkflowState(run, "performing");
    broken = false;
    assert.equal((await t.engine.housekeep()).recoveredInProgress, 1);
    assert.deepEqual(outcomes(await run.history()), [["copy", "recovered"], ["copy", null]]);
    await performNextStep(run);
    assert.deepEqual(ran, ["copy", "copy"]);
  },
);

behaviour(
  "U31 a failing member of a group commit is retried by itself",
  async ({ engine, store }) => {
    const ran: string[] = [];
    const definition = backup(ran);
    let victim = "";
    let failures = 0;
    const shared = storeWith(store(), (real) => ({
      finish(batch, options) {
        if (failures < 3 && batch.some((one) => one.executionId === victim)) {
          failures++;
          return away(batch, options);
        }
        return real.finish(batch, options);
      },
    }));
    const queue = recordingQueue();
    const t = await engine({ workflows: [definition], store: shared, queue });
    const runs = await Promise.all([1, 2, 3].map(() => t.engine.start(definition)));
    victim = (await runs[1]?.currentExecution())?.id as string;
    const handling = Promise.all(queue.take().map((job) => t.engine.handle(job.executionId)));
    await until(() => queue.jobs.length === 5);
    assert.equal((await runs[1]?.reload())?.state, "performing");
    await t.clock.tick("1 second");
    await handling;
    for (const run of runs) assert.equal((await run.reload()).nextStepName, "verify");
    assert.deepEqual(ran, ["copy", "copy", "copy"]);
  },
);

behaviour(
  "U31 a group commit whose answer got lost is recognised member by member",
  async ({ engine, store }) => {
    const ran: string[] = [];
    const definition = backup(ran);
    const sizes: number[] = [];
    const odd = oddFinish(store(), (call, real) => async (batch, options) => {
      sizes.push(batch.length);
      const results = await real(batch, options);
      if (call === 1) throw new Error("the connection broke after the commit");
      return results;
    });
    const queue = recordingQueue();
    const t = await engine({ workflows: [definition], store: odd.store, queue });
    const lost: unknown[] = [];
    t.engine.events.on("lost", (event) => void lost.push(event));
    const runs = await Promise.all([1, 2, 3].map(() => t.engine.start(definition)));
    await Promise.all(queue.take().map((job) => t.engine.handle(job.executionId)));
    assert.equal(sizes[0], 3);
    assert.deepEqual(lost, []);
    const next = await Promise.all(runs.map(async (run) => (await run.currentExecution())?.id));
    assert.deepEqual(queue.take().map((job) => job.executionId).sort(), next.sort());
    for (const run of runs) {
      assert.deepEqual(outcomes(await run.history()), [["copy", "success"], ["verify", null]]);
    }
    assert.equal(ran.length, 3);
  },
);

behaviour(
  "U28 a workflow that was deleted while its body ran ends with a warning and no error",
  async ({ engine }) => {
    const logger = recordingLogger();
    const reports: Error[] = [];
    const definition: WorkflowDefinition = workflow({
      name: "backup",
      steps: [
        {
          name: "copy",
          async run() {
            await run.cancel();
            await t.store.purge({ before: new Date(NOON + 1_000), limit: 10 });
            assert.equal(await t.store.get(run.id), null);
          },
        },
        { name: "verify", run: () => assert.fail("nothing follows") },
      ],
    });
    const queue = recordingQueue();
    const t = await engine({
      workflows: [definition],
      queue,
      logger,
      now: NOON,
      reportError: (error) => void reports.push(error),
    });
    const run = await t.engine.start(definition);
    const id = (await run.currentExecution())?.id as string;
    queue.take();
    await t.engine.handle(id);
    assert.equal(await t.store.getExecution(id), null);
    assert.deepEqual(queue.take(), []);
    assert.deepEqual(reports, []);
    const warnings = logger.lines.filter(({ level }) => level === "warn");
    assert.equal(warnings.length, 1);
    assert.equal(warnings[0]?.fields.workflowId, run.id);
  },
);
