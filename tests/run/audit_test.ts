/** The audit trail: what the rows say about what happened, when and why. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { type ExecutionRecord, type Run, type StepContext, workflow } from "../../mod.ts";
import {
  performNextStep,
  runIterations,
  speedrunWorkflow,
  testEngine,
} from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { current, executionAt, startAndDeliver, storyOf } from "./_story.ts";

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

behaviour(
  "AUD-10 AUD-11 a reattempted row keeps its error in the metadata, with the reason",
  async (world) => {
    const oven = workflow({
      name: "oven",
      steps: [{
        name: "bake",
        onException: "reattempt",
        skipIf: ({ attempt }) => {
          if (attempt === 3) throw new TypeError("no thermometer");
          return false;
        },
        run: ({ attempt, reattempt }) => {
          if (attempt === 1) throw new RangeError("too hot");
          if (attempt === 2) reattempt();
        },
      }],
    });
    const { engine, clock } = await world.engine({ workflows: [oven] });
    const run = await engine.start(oven);
    await clock.tick("1 minute");
    const [hot, asked, blind, done] = await run.history();
    for (const row of [hot, asked, blind, done]) {
      assert.deepEqual([row?.errorClass, row?.errorMessage, row?.errorStack], [null, null, null]);
    }
    assert.deepEqual(
      [hot, asked, blind, done].map((row) => row?.metadata.reattemptReason),
      ["exception_policy", "flow_control", "precondition", undefined],
    );
    const exception = hot?.metadata.exception as {
      class: string;
      message: string;
      stack: string[];
    };
    assert.equal(exception.class, "RangeError");
    assert.equal(exception.message, "too hot");
    assert.match(exception.stack[0] ?? "", /RangeError: too hot/);
    assert.ok(exception.stack.length > 1);
    assert.equal(asked?.metadata.exception, undefined);
    assert.equal((blind?.metadata.exception as { class: string }).class, "TypeError");
    assert.equal(done?.metadata.exception, undefined);
  },
);

behaviour(
  "AUD-12 a failed row has its error in columns and, as a copy, in the metadata",
  async (world) => {
    const oven = workflow({
      name: "oven",
      steps: [{
        name: "bake",
        run: () => {
          throw new RangeError("too hot");
        },
      }],
    });
    const { engine } = await world.engine({ workflows: [oven] });
    const { run } = await startAndDeliver(engine, oven);
    const { errorClass, errorMessage, errorStack, metadata } = await executionAt(run, 0);
    assert.deepEqual([errorClass, errorMessage], ["RangeError", "too hot"]);
    assert.match(errorStack ?? "", /audit_test/);
    assert.deepEqual(metadata.exception, {
      class: "RangeError",
      message: "too hot",
      stack: errorStack?.split("\n"),
    });
  },
);

behaviour(
  "AUD-13 metadata is never missing, and writing keeps what is there",
  async ({ engine: open }) => {
    const post = workflow({
      name: "post",
      steps: [{
        name: "answer",
        waitFor: "letter",
        onException: "reattempt",
        run: ({ attempt }) => {
          if (attempt === 1) throw new Error("no stamp");
        },
      }],
    });
    const { engine } = await open({ workflows: [post] });
    const run = await engine.start(post);
    assert.deepEqual(run.metadata, {});
    assert.equal(run.metadata.anything ?? null, null);
    await run.signal("letter", { from: "Bob" });
    await performNextStep(run).catch(() => {});
    const { metadata } = await executionAt(run, 0);
    assert.equal((metadata.event as { name: string }).name, "letter");
    assert.equal(metadata.reattemptReason, "exception_policy");
    assert.equal((metadata.exception as { message: string }).message, "no stamp");
    assert.throws(() => void ((metadata as Record<string, unknown>).event = null), TypeError);
  },
);

Deno.test("AUD-14 metadata that is no JSON reads as empty and does no harm", async () => {
  const post = workflow({
    name: "post",
    steps: [{ name: "write", run: () => {} }, { name: "send", run: () => {} }],
  });
  const database = new DatabaseSync(":memory:");
  await using t = await testEngine({ store: sqliteStore(database), workflows: [post] });
  const run = await t.engine.start(post, { metadata: { colour: "blue" } });
  await performNextStep(run);
  for (const text of ["{not json", "[1, 2]", "7", "null", '"text"', ""]) {
    const quoted = `'${text}'`;
    database.exec(`UPDATE pawl_workflows SET metadata = ${quoted}`);
    database.exec(`UPDATE pawl_step_executions SET metadata = ${quoted}`);
    assert.deepEqual((await run.reload()).metadata, {}, text);
    assert.deepEqual((await current(run)).metadata, {}, text);
  }
  await speedrunWorkflow(run);
  assert.equal(run.state, "finished");
});
