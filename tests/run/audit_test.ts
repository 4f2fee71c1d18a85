/** The audit trail: what the rows say about what happened, and when. */

import assert from "node:assert/strict";
import { type ExecutionRecord, type Run, type StepContext, workflow } from "../../mod.ts";
import { performNextStep, runIterations } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { current, executionAt, storyOf } from "./_story.ts";

const TIMES = ["completedAt", "failedAt", "canceledAt", "skippedAt"] as const;

behaviour(
  "AUD-01 a new execution is scheduled and shows nothing else yet",
  async ({ engine: open }) => {
    const dinner = workflow({
      name: "dinner",
      steps: [{ name: "cook", wait: "1 hour", run: () => {} }],
    });
    const { engine, clock } = await open({ workflows: [dinner] });
    const run = await engine.start(dinner);
    const execution = await current(run);
    assert.equal(execution.state, "scheduled");
    assert.equal(execution.scheduledFor.getTime(), clock.now() + 3_600_000);
    assert.equal(execution.createdAt.getTime(), clock.now());
    assert.equal(execution.attempt, 1);
    for (
      const key of [
        "outcome",
        "cause",
        "startedAt",
        ...TIMES,
        "finishedAt",
        "errorClass",
        "errorMessage",
        "errorStack",
        "continuesFromId",
        "cursor",
        "progress",
        "worker",
      ] as const
    ) assert.equal(execution[key], null, key);
    assert.deepEqual(execution.metadata, {});
    assert.equal(execution.workflowId, run.id);
  },
);

/** A workflow whose rows come to show every state and every outcome there is. */
function everything(gate: Promise<void>) {
  return workflow({
    name: "everything",
    steps: [
      {
        name: "retried",
        onException: "reattempt",
        run: ({ attempt, reattempt }: StepContext) => {
          if (attempt === 1) reattempt();
          if (attempt === 2) throw new Error("once");
        },
      },
      { name: "skipped", run: ({ skip }) => skip() },
      { name: "chunked", resumable: true, run: ({ iter }) => iter.over([1, 2, 3], () => {}) },
      {
        name: "failing",
        run: ({ previousError }) => {
          if (previousError === null) throw new Error("the first time");
        },
      },
      { name: "slow", run: () => gate },
      {
        name: "paused",
        resumable: true,
        run: ({ pause, iter }) => iter.resumed ? undefined : pause(),
      },
      { name: "canceled", run: ({ cancel }) => cancel() },
    ],
  });
}

behaviour(
  "AUD-02 AUD-03 AUD-04 states and outcomes are words of the short lists",
  async ({ engine: open }) => {
    const gate = Promise.withResolvers<void>();
    const definition = everything(gate.promise);
    const { engine, clock } = await open({ workflows: [definition] });
    const run = await engine.start(definition);
    const seen = {
      workflow: new Set<string>(),
      execution: new Set<string>(),
      outcome: new Set<unknown>(),
    };
    const look = async (): Promise<void> => {
      seen.workflow.add((await run.reload()).state);
      for (const { state, outcome } of await run.history()) {
        seen.execution.add(state);
        seen.outcome.add(outcome);
      }
    };
    const step = async (): Promise<void> => {
      await look();
      await performNextStep(run).catch(() => {});
      await look();
    };
    for (let i = 0; i < 4; i++) await step();
    await runIterations(run, { count: 1 });
    await step();
    await step();
    await run.resume();
    await step();
    const slow = engine.handle((await current(run)).id);
    await clock.tick(0);
    await look();
    clock.travelTo(clock.now() + 31_000);
    await engine.housekeep();
    gate.resolve();
    await slow;
    await step();
    await step();
    await run.resume();
    await step();
    await step();
    assert.deepEqual([...seen.workflow].sort(), ["canceled", "paused", "performing", "ready"]);
    assert.deepEqual([...seen.execution].sort(), [
      "canceled",
      "completed",
      "failed",
      "in_progress",
      "scheduled",
      "skipped",
    ]);
    assert.deepEqual([...seen.outcome].map(String).sort(), [
      "canceled",
      "continued",
      "failed",
      "null",
      "reattempted",
      "recovered",
      "skipped",
      "success",
      "workflow_paused",
    ]);
  },
);

behaviour("AUD-05 AUD-09 AUD-15 while a body runs the rows say so", async ({ engine: open }) => {
  const seen: Record<string, Run | ExecutionRecord | null> = {};
  const dinner = workflow({
    name: "dinner",
    steps: [
      { name: "shop", run: () => {} },
      {
        name: "cook",
        wait: "1 hour",
        run: async ({ workflow, execution }) => {
          seen.run = await t.engine.find(workflow.id);
          seen.execution = await seen.run?.currentExecution() ?? null;
          seen.context = execution;
        },
      },
      { name: "eat", run: () => {} },
    ],
  });
  const t = await open({ workflows: [dinner] });
  const run = await t.engine.start(dinner);
  const startedAt = (): number | undefined => run.startedAt?.getTime();
  assert.equal(startedAt(), undefined);
  const start = t.clock.now();
  await performNextStep(run);
  assert.equal(startedAt(), start);
  t.clock.travelTo(start + 3_600_000);
  await performNextStep(run);
  const during = seen.run as Run;
  assert.equal(during.state, "performing");
  assert.equal(during.currentStepName, "cook");
  assert.equal(during.nextStepName, "cook");
  assert.equal(during.startedAt?.getTime(), start, "the workflow started with its first step");
  for (const execution of [seen.execution, seen.context] as ExecutionRecord[]) {
    assert.equal(execution.state, "in_progress");
    assert.equal(execution.startedAt?.getTime(), t.clock.now());
    assert.equal(execution.finishedAt, null);
    assert.ok(execution.worker);
  }
  assert.equal(run.currentStepName, null);
  assert.equal(run.nextStepName, "eat");
  assert.equal(startedAt(), start);
});

behaviour(
  "AUD-06 the matching timestamp and finishedAt are both set, and only these",
  async ({ engine: open }) => {
    const bodies: Record<(typeof TIMES)[number], (context: StepContext) => unknown> = {
      completedAt: () => {},
      failedAt: () => {
        throw new Error("burnt");
      },
      canceledAt: ({ cancel }) => cancel(),
      skippedAt: ({ skip }) => skip(),
    };
    for (const [column, body] of Object.entries(bodies)) {
      const dinner = workflow({
        name: "dinner",
        steps: [{ name: "cook", wait: 1_000, run: body }],
      });
      const { engine, clock } = await open({ workflows: [dinner] });
      const run = await engine.start(dinner);
      clock.travelTo(clock.now() + 5_000);
      await performNextStep(run).catch(() => {});
      const execution = await executionAt(run, 0);
      assert.equal(execution.finishedAt?.getTime(), clock.now());
      for (const time of TIMES) {
        const expected = time === column ? clock.now() : undefined;
        assert.equal(execution[time]?.getTime(), expected, `${time} after ${column}`);
      }
      assert.equal(execution.createdAt.getTime(), clock.now() - 5_000);
      assert.equal(execution.scheduledFor.getTime(), clock.now() - 4_000);
    }
  },
);

behaviour(
  "AUD-07 finishedAt is set by commands and by housekeeping too",
  async ({ engine: open }) => {
    const dinner = workflow({
      name: "dinner",
      steps: [{ name: "shop", wait: "1 day", run: () => {} }, { name: "cook", run: () => {} }],
    });
    const { engine, clock, store } = await open({ workflows: [dinner] });
    const [skipped, canceled, placed, lost] = [
      await engine.start(dinner),
      await engine.start(dinner),
      await engine.start(dinner),
      await engine.start(dinner),
    ];
    await skipped.skip();
    await canceled.cancel();
    await placed.pause();
    await placed.resumeAt("cook");
    const { id } = await current(lost);
    await store.claim([id], {
      now: new Date(clock.now()),
      token: "a-worker-that-dies",
      leaseMs: 1_000,
      worker: "nobody",
      ignoreDue: true,
    });
    clock.travelTo(clock.now() + 2_000);
    await engine.housekeep();
    for (const run of [skipped, canceled, placed, lost]) {
      const { finishedAt, state, ...row } = await executionAt(run, 0);
      const matching = TIMES.map((time) => row[time]).find((time) => time !== null);
      assert.ok(finishedAt, `${state} without finishedAt`);
      assert.equal(matching?.getTime(), finishedAt.getTime());
    }
    assert.deepEqual(await storyOf(lost), [
      "shop: completed/recovered (recovery)",
      "shop: scheduled",
    ]);
  },
);

behaviour(
  "AUD-08 transitionedAt says when a workflow stopped, and a resume clears it",
  async (world) => {
    const dinner = workflow({
      name: "dinner",
      steps: [{ name: "shop", run: () => {} }, { name: "cook", run: () => {} }],
    });
    const { engine, clock } = await world.engine({ workflows: [dinner] });
    const run = await engine.start(dinner);
    const stoppedAt = (): number | undefined => run.transitionedAt?.getTime();
    assert.equal(stoppedAt(), undefined);
    await performNextStep(run);
    assert.equal(stoppedAt(), undefined);
    clock.travelTo(clock.now() + 1_000);
    await run.pause();
    assert.equal(stoppedAt(), clock.now());
    clock.travelTo(clock.now() + 1_000);
    await run.resume();
    assert.equal(stoppedAt(), undefined);
    assert.equal(run.updatedAt.getTime(), clock.now());
    await performNextStep(run);
    assert.equal(run.state, "finished");
    assert.equal(stoppedAt(), clock.now());
    const other = await engine.start(dinner);
    await other.cancel();
    assert.equal(other.transitionedAt?.getTime(), clock.now());
  },
);
