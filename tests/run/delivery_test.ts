/**
 * Delivered jobs are hints: they come twice, early, late, and for rows that ended or stopped.
 */

import assert from "node:assert/strict";
import { type Claim, type Finished, type Run, type StoreDriver, workflow } from "../../mod.ts";
import {
  assertWorkflowState,
  type FakeClock,
  performNextStep,
  performStepInline,
} from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingQueue } from "./_doubles.ts";
import { executionId, order } from "./_order.ts";

const NOON = Date.UTC(2026, 5, 1, 12);

behaviour(
  "EXE-04 a second job for an execution that completed does nothing",
  async ({ engine }) => {
    const ran: string[] = [];
    const definition = order(ran);
    const queue = recordingQueue();
    const t = await engine({ workflows: [definition], queue });
    const run = await t.engine.start(definition);
    const id = await executionId(run);
    await t.engine.handle(id);
    queue.take();
    const [row, history] = [await t.store.get(run.id), await t.store.history(run.id, { limit: 9 })];
    t.clock.travelTo(t.clock.now() + 1_000);
    await t.engine.handle(id);
    assert.deepEqual(ran, [id]);
    assert.deepEqual(await t.store.get(run.id), row);
    assert.deepEqual(await t.store.history(run.id, { limit: 9 }), history);
    assert.deepEqual(queue.take(), []);
  },
);

behaviour(
  "EXE-05 of two jobs for one execution that start together one body runs",
  async ({ engine }) => {
    const ran: string[] = [];
    const definition = order(ran);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    const id = await executionId(run);
    await Promise.all(Array.from({ length: 5 }, () => t.engine.handle(id)));
    assert.deepEqual(ran, [id]);
    const outcomes = (await run.history()).map((one) => [one.stepName, one.outcome]);
    assert.deepEqual(outcomes, [["reserve", "success"], ["ship", null]]);
  },
);

behaviour(
  "EXE-06 a job for an execution that is in progress leaves it alone",
  async ({ engine }) => {
    const ran: string[] = [];
    const gate = Promise.withResolvers<void>();
    const definition = order(ran, gate.promise);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    const id = await executionId(run);
    const handling = t.engine.handle(id);
    while (ran.length === 0) await Promise.resolve();
    const [row, execution] = [await t.store.get(run.id), await t.store.getExecution(id)];
    t.clock.travelTo(t.clock.now() + 1_000);
    await t.engine.handle(id);
    assert.deepEqual(await t.store.get(run.id), row);
    assert.deepEqual(await t.store.getExecution(id), execution);
    gate.resolve();
    await handling;
    assert.deepEqual(ran, [id]);
  },
);

behaviour(
  "EXE-07 a job for an execution that was canceled, failed or skipped changes nothing",
  async ({ engine }) => {
    let bodies = 0;
    const definitions = (["cancel", "skip", "throw"] as const).map((end) =>
      workflow({
        name: end,
        steps: [{
          name: "only",
          run(context) {
            bodies++;
            if (end === "throw") throw new Error("broken");
            context[end]();
          },
        }],
      })
    );
    const t = await engine({ workflows: definitions });
    const states: string[] = [];
    for (const definition of definitions) {
      const run = await t.engine.start(definition);
      const id = await executionId(run);
      await t.engine.handle(id).catch(() => {});
      const [row, execution] = [await t.store.get(run.id), await t.store.getExecution(id)];
      states.push(execution?.state as string);
      await t.engine.handle(id);
      assert.deepEqual(await t.store.get(run.id), row);
      assert.deepEqual(await t.store.getExecution(id), execution);
    }
    assert.deepEqual(states, ["canceled", "skipped", "failed"]);
    assert.equal(bodies, 3);
  },
);

behaviour(
  "EXE-08 a job of a paused workflow cancels its execution and runs nothing",
  async ({ engine }) => {
    const ran: string[] = [];
    const definition = order(ran);
    const t = await engine({ workflows: [definition], now: NOON });
    const run = await t.engine.start(definition);
    const id = await executionId(run);
    await run.pause();
    const row = await t.store.get(run.id);
    t.clock.travelTo(NOON + 1_000);
    await t.engine.handle(id);
    const execution = await t.store.getExecution(id);
    assert.deepEqual([execution?.state, execution?.outcome], ["canceled", "canceled"]);
    assert.deepEqual(execution?.finishedAt, new Date(NOON + 1_000));
    assert.deepEqual(execution?.canceledAt, execution?.finishedAt);
    assert.deepEqual(await t.store.get(run.id), row);
    assert.deepEqual(ran, []);
    await run.resume();
    await performNextStep(run);
    assert.equal(ran.length, 1);
  },
);

behaviour(
  "EXE-09 a job of a finished or canceled workflow cancels its execution only",
  async ({ engine }) => {
    const ran: string[] = [];
    const definition = order(ran);
    const t = await engine({ workflows: [definition], now: NOON });
    for (const workflowState of ["finished", "canceled"] as const) {
      const run = await t.engine.start(definition);
      const stray = await endedWithStray(t, run, workflowState);
      const row = await t.store.get(run.id);
      assert.equal(row?.state, workflowState);
      t.clock.travelTo(t.clock.now() + 1_000);
      await t.engine.handle(stray);
      const execution = await t.store.getExecution(stray);
      assert.deepEqual([execution?.state, execution?.outcome], ["canceled", "canceled"]);
      assert.deepEqual(execution?.finishedAt, new Date(t.clock.now()));
      assert.deepEqual(await t.store.get(run.id), row);
    }
    assert.deepEqual(ran, []);
  },
);

/** Ends a workflow by a write of the store that leaves an execution scheduled, as no engine would. */
async function endedWithStray(
  { store, clock }: { store: StoreDriver; clock: FakeClock },
  run: Run,
  workflowState: "finished" | "canceled",
): Promise<string> {
  const now = new Date(clock.now());
  const [claim] = await store.claim([await executionId(run)], {
    now,
    token: crypto.randomUUID(),
    leaseMs: 1_000,
    worker: "somebody",
  });
  assert.equal(claim?.kind, "claimed");
  const { execution } = claim as Extract<Claim, { kind: "claimed" }>;
  const { attempt, failures, continuesFromId, cursor, waitingFor, waitUntil } = execution;
  const finished: Finished = {
    executionId: execution.id,
    workflowId: run.id,
    token: execution.token as string,
    closing: { state: "completed", outcome: "success", cause: null },
    error: null,
    metadata: null,
    keepCursor: false,
    bodyStarted: true,
    workflowState,
    nextStepName: null,
    next: {
      stepName: "ship",
      scheduledFor: now,
      graceMs: 0,
      ...{ attempt, failures, continuesFromId, cursor, waitingFor, waitUntil },
      metadata: null,
      queue: "default",
      priority: 0,
      hold: null,
    },
  };
  const [result] = await store.finish([finished], { now });
  assert.equal(result?.kind, "done");
  return (result as Extract<typeof result, { kind: "done" }>)?.next?.id as string;
}

behaviour(
  "EXE-15 a job that comes early is enqueued again for its time, and the row stays",
  async ({ engine }) => {
    const ran: number[] = [];
    const definition = workflow({
      name: "order",
      jobOptions: { queue: "slow", priority: 4 },
      steps: [{ name: "remind", wait: "1 hour", run: () => void ran.push(t.clock.now()) }],
    });
    const queue = recordingQueue();
    const t = await engine({ workflows: [definition], queue, now: NOON });
    const run = await t.engine.start(definition);
    const [job] = queue.take();
    const [row, execution] = [await t.store.get(run.id), await t.store.active(run.id)];
    t.clock.travelTo(NOON + 3_599_999);
    await t.engine.handle(job?.executionId as string);
    assert.deepEqual(ran, []);
    assert.deepEqual(await t.store.get(run.id), row);
    assert.deepEqual(await t.store.active(run.id), execution);
    assert.deepEqual(queue.take(), [job]);
    t.clock.travelTo(NOON + 3_600_000);
    await t.engine.handle(job?.executionId as string);
    assert.deepEqual(ran, [NOON + 3_600_000]);
    await assertWorkflowState(run, "finished");
  },
);

behaviour("EXE-16 a job for an execution that was superseded has no effect", async ({ engine }) => {
  const ran: string[] = [];
  const definition = order(ran);
  const t = await engine({ workflows: [definition], queue: recordingQueue() });
  const run = await t.engine.start(definition);
  const superseded = await executionId(run);
  await performStepInline(run, "reserve");
  const [row, history] = [await t.store.get(run.id), await t.store.history(run.id, { limit: 9 })];
  await t.engine.handle(superseded);
  assert.equal(ran.length, 1);
  assert.ok(!ran.includes(superseded));
  assert.deepEqual(await t.store.get(run.id), row);
  assert.deepEqual(await t.store.history(run.id, { limit: 9 }), history);
});

behaviour(
  "EXE-17 steps and commands that meet on the same rows never wait for each other",
  async ({ engine }) => {
    const definition = workflow({
      name: "order",
      steps: Array.from({ length: 4 }, (_, at) => ({ name: `part_${at}`, run: () => {} })),
    });
    const t = await engine({ workflows: [definition], queue: recordingQueue() });
    const started = await t.engine.startMany(definition, Array.from({ length: 10 }, () => ({})));
    const runs = started.map((one) => (one as Extract<typeof one, { kind: "started" }>).run);
    const meet = runs.flatMap((run) => [
      executionId(run).then((id) => t.engine.handle(id)),
      run.pause(),
      run.resume(),
      run.skip(),
      run.signal("hurry"),
      executionId(run).then((id) => t.engine.handle(id)),
    ]);
    for (const one of await Promise.allSettled(meet)) {
      if (one.status === "rejected") assert.equal(one.reason.code, "invalid_state");
    }
    for (const run of runs) {
      if ((await run.reload()).state === "paused") await run.resume();
      while (run.isOngoing) await performNextStep(run);
      assert.equal(run.state, "finished");
    }
  },
);
