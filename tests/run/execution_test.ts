/**
 * One execution from its claim to its end: what the rows show, what is held meanwhile, and what
 * becomes of a result that comes too late.
 */

import assert from "node:assert/strict";
import { createEngine, type Run, workflow } from "../../mod.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { assertWorkflowState, createFakeClock, performNextStep } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingLogger, recordingQueue } from "./_doubles.ts";

const NOON = Date.UTC(2026, 5, 1, 12);

behaviour(
  "EXE-01 a claimed execution is in progress, and its workflow performs that step",
  async ({ engine }) => {
    const seen: unknown[] = [];
    const bake = workflow({
      name: "bake",
      steps: [
        {
          name: "knead",
          async run({ workflow, execution }) {
            seen.push(await t.store.get(workflow.id), await t.store.getExecution(execution.id));
          },
        },
        { name: "rise", wait: "1 hour", run: () => {} },
      ],
    });
    const t = await engine({ workflows: [bake], now: NOON });
    const run = await t.engine.start(bake);
    const before = await t.store.get(run.id);
    const scheduled = await t.store.active(run.id);
    t.clock.travelTo(NOON + 5);
    await t.engine.handle(scheduled?.id as string);
    const now = new Date(NOON + 5);
    const [row, execution] = seen as [typeof before, typeof scheduled];
    assert.deepEqual(row, {
      ...before,
      state: "performing",
      currentStepName: "knead",
      startedAt: now,
      updatedAt: now,
    });
    assert.equal(row?.nextStepName, "knead");
    const { token, leaseUntil, wakeAt, worker, ...rest } = execution as NonNullable<
      typeof execution
    >;
    assert.ok(token !== null && worker !== null);
    assert.deepEqual([leaseUntil, wakeAt], [new Date(NOON + 30_005), new Date(NOON + 30_005)]);
    const { token: _, leaseUntil: __, wakeAt: ___, worker: ____, ...given } =
      scheduled as NonNullable<typeof scheduled>;
    assert.deepEqual(rest, { ...given, state: "in_progress", startedAt: now });
  },
);

behaviour(
  "EXE-02 while a body runs nothing is locked: others write, also to its own workflow",
  async ({ engine }) => {
    const other = workflow({ name: "other", steps: [{ name: "only", run: () => {} }] });
    const busy = workflow({
      name: "busy",
      steps: [{
        name: "work",
        async run({ workflow }) {
          const beside = await t.engine.start(other);
          await performNextStep(beside);
          await t.store.transaction(async (tx) => void await t.engine.start(other, { tx }));
          const self = await t.engine.find(workflow.id) as Run;
          await self.pause();
          await self.resume();
          await self.signal("noted");
        },
      }],
    });
    const t = await engine({ workflows: [other, busy] });
    const run = await t.engine.start(busy);
    assert.equal((await performNextStep(run))?.outcome, "success");
    await assertWorkflowState(run, "finished");
    assert.equal((await t.engine.list({ workflow: other })).items.length, 2);
  },
);

Deno.test("EXE-02 while a body runs another connection can write to the SQLite file", async () => {
  const directory = await Deno.makeTempDir();
  const [ours, theirs] = [1, 2].map(() => sqliteStore(`${directory}/app.db`, { busyTimeoutMs: 1 }));
  const simple = workflow({ name: "simple", steps: [{ name: "only", run: () => {} }] });
  const outside = createEngine({
    store: theirs as NonNullable<typeof theirs>,
    queue: recordingQueue(),
    workflows: [simple],
  });
  const busy = workflow({
    name: "busy",
    steps: [{ name: "work", run: async () => void await outside.start(simple) }],
  });
  const engine = createEngine({
    store: ours as NonNullable<typeof ours>,
    queue: recordingQueue(),
    workflows: [busy],
  });
  try {
    await engine.migrate();
    const run = await engine.start(busy);
    await performNextStep(run);
    await assertWorkflowState(run, "finished");
    assert.equal((await outside.list({ workflow: simple })).items.length, 1);
  } finally {
    await engine.close();
    await outside.close();
    await Deno.remove(directory, { recursive: true });
  }
});

behaviour(
  "EXE-03 a body that returns completes its execution and schedules the next, or finishes",
  async ({ engine }) => {
    const bake = workflow({
      name: "bake",
      steps: [{ name: "knead", run: () => "ignored" }, { name: "rise", run: () => {} }],
    });
    const t = await engine({ workflows: [bake], now: NOON });
    const run = await t.engine.start(bake);
    t.clock.travelTo(NOON + 1_000);
    const kneaded = await performNextStep(run);
    assert.deepEqual([kneaded?.state, kneaded?.outcome, kneaded?.cause], [
      "completed",
      "success",
      null,
    ]);
    assert.deepEqual(kneaded?.startedAt, new Date(NOON + 1_000));
    assert.deepEqual(kneaded?.completedAt, kneaded?.finishedAt);
    assert.deepEqual([kneaded?.failedAt, kneaded?.canceledAt, kneaded?.skippedAt], [
      null,
      null,
      null,
    ]);
    assert.deepEqual([kneaded?.errorClass, kneaded?.metadata], [null, {}]);
    await assertWorkflowState(run, "ready");
    const [, next, ...others] = await run.history();
    assert.deepEqual(others, []);
    assert.deepEqual([next?.stepName, next?.state], ["rise", "scheduled"]);
    await performNextStep(run);
    await assertWorkflowState(run, "finished");
    assert.equal(await run.currentExecution(), null);
  },
);

behaviour(
  "EXE-18 the result of a worker that was thought dead is dropped with a warning",
  async ({ store }) => {
    const shared = store();
    const gate = Promise.withResolvers<void>();
    const bodies: string[] = [];
    const pay = workflow({
      name: "pay",
      steps: [{
        name: "transfer",
        async run({ execution }) {
          bodies.push(execution.id);
          if (bodies.length === 1) await gate.promise;
        },
      }, { name: "receipt", wait: "1 day", run: () => {} }],
    });
    const logger = recordingLogger();
    const common = { store: shared, workflows: [pay] };
    const slow = createEngine({
      ...common,
      queue: recordingQueue(),
      clock: createFakeClock({ now: NOON }),
      logger,
    });
    const later = createFakeClock({ now: NOON + 31_000 });
    const quick = createEngine({ ...common, queue: recordingQueue(), clock: later });
    const lost: string[] = [];
    slow.events.on("lost", ({ executionId }) => void lost.push(executionId));
    await slow.migrate();
    const run = await slow.start(pay);
    const first = (await run.currentExecution())?.id as string;
    const handling = slow.handle(first);
    assert.equal((await quick.housekeep()).recoveredInProgress, 1);
    await quick.handle((await run.currentExecution())?.id as string);
    const [workflowRow, history] = [await shared.get(run.id), await run.history()];
    assert.deepEqual(history.map((one) => [one.stepName, one.outcome]), [
      ["transfer", "recovered"],
      ["transfer", "success"],
      ["receipt", null],
    ]);
    gate.resolve();
    await handling;
    assert.deepEqual(await shared.get(run.id), workflowRow);
    assert.deepEqual(await run.history(), history);
    assert.equal(bodies.length, 2);
    assert.deepEqual(lost, [first]);
    assert.ok(
      logger.lines.some(({ level, message }) => level === "warn" && /dropped/.test(message)),
    );
    await slow.close();
  },
);

behaviour(
  "EXE-19 when the workflow was canceled meanwhile the execution is canceled, and nothing follows",
  async ({ engine }) => {
    const queue = recordingQueue();
    const pay = workflow({
      name: "pay",
      steps: [
        { name: "transfer", run: async () => void await run.cancel() },
        { name: "receipt", run: () => {} },
      ],
    });
    const t = await engine({ workflows: [pay], queue });
    const run = await t.engine.start(pay);
    queue.take();
    const execution = await performNextStep(run);
    assert.deepEqual([execution?.state, execution?.outcome, execution?.cause], [
      "canceled",
      "canceled",
      "operator",
    ]);
    assert.deepEqual(execution?.canceledAt, execution?.finishedAt);
    await assertWorkflowState(run, "canceled");
    assert.equal((await run.history()).length, 1);
    assert.deepEqual(queue.take(), []);
  },
);

behaviour(
  "EXE-20 however an execution ends, the workflow performs no step any more",
  async ({ engine }) => {
    const ends = ["return", "throw", "skip", "pause", "cancel", "finish", "reattempt"] as const;
    const definitions = ends.map((end) =>
      workflow({
        name: end,
        steps: [{
          name: "first",
          run(context) {
            if (end === "throw") throw new Error("broken");
            if (end !== "return") context[end]();
          },
        }, { name: "second", run: () => {} }],
      })
    );
    const t = await engine({ workflows: definitions });
    const rows: unknown[] = [];
    for (const definition of definitions) {
      const run = await t.engine.start(definition);
      await performNextStep(run).catch(() => {});
      const row = await t.store.get(run.id);
      rows.push([row?.name, row?.state, row?.currentStepName, row?.nextStepName]);
    }
    assert.deepEqual(rows, [
      ["return", "ready", null, "second"],
      ["throw", "paused", null, "first"],
      ["skip", "ready", null, "second"],
      ["pause", "paused", null, "first"],
      ["cancel", "canceled", null, "first"],
      ["finish", "finished", null, null],
      ["reattempt", "ready", null, "first"],
    ]);
  },
);
