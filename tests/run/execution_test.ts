/**
 * One execution from its claim to its end: what the rows show, what is held meanwhile, and what
 * becomes of a result that comes too late.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  createEngine,
  type ExecutionState,
  InvalidStateError,
  type Run,
  type StepContext,
  StepNotDefinedError,
  workflow,
  type WorkflowState,
} from "../../mod.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { closeExecution, moveWorkflow } from "../../src/state/transitions.ts";
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

behaviour(
  "EXE-21 EXE-22 the error of a body is rethrown after the commit, and a retry of the job does nothing",
  async ({ engine }) => {
    const declined = new RangeError("the card was declined");
    let bodies = 0;
    const pay = workflow({
      name: "pay",
      steps: [{
        name: "charge",
        run() {
          bodies++;
          throw declined;
        },
      }],
    });
    const t = await engine({ workflows: [pay] });
    const run = await t.engine.start(pay);
    const id = (await run.currentExecution())?.id as string;
    await assert.rejects(t.engine.handle(id), (error) => {
      assert.equal(error, declined);
      return true;
    });
    const [row, execution] = [await t.store.get(run.id), await t.store.getExecution(id)];
    assert.equal(row?.state, "paused");
    assert.deepEqual([execution?.state, execution?.outcome], ["failed", "failed"]);
    assert.deepEqual([execution?.errorClass, execution?.errorMessage], [
      "RangeError",
      "the card was declined",
    ]);
    await t.engine.handle(id);
    assert.equal(bodies, 1);
    assert.deepEqual(await t.store.get(run.id), row);
    assert.deepEqual(await t.store.getExecution(id), execution);
  },
);

behaviour(
  "EXE-23 a step that the code does not have pauses the workflow with an error that says so",
  async ({ engine }) => {
    const before = workflow({
      name: "pay",
      onException: "cancel",
      steps: [{ name: "transfer", run: () => {} }, { name: "receipt", run: () => {} }],
    });
    const after = workflow({
      name: "pay",
      onException: "cancel",
      steps: [{ name: "charge", run: () => assert.fail() }, { name: "receipt", run: () => {} }],
    });
    const reports: Error[] = [];
    const t = await engine({
      workflows: [before],
      reportError: (error) => void reports.push(error),
    });
    const run = await t.engine.start(before);
    const id = (await run.currentExecution())?.id as string;
    t.engine.register(after, { replace: true });
    await assert.rejects(t.engine.handle(id), (error) => {
      assert.ok(error instanceof StepNotDefinedError);
      assert.equal(error.stepName, "transfer");
      assert.deepEqual([error.workflowName, error.workflowId, error.executionId], [
        "pay",
        run.id,
        id,
      ]);
      assert.deepEqual(error.availableSteps, ["charge", "receipt"]);
      assert.match(error.message, /"charge", "receipt".*resumeAt.*removedStep\("transfer"\)/);
      return true;
    });
    const execution = await t.store.getExecution(id);
    assert.deepEqual([execution?.state, execution?.outcome], ["failed", "failed"]);
    assert.equal(execution?.errorClass, "StepNotDefinedError");
    assert.match(execution?.errorMessage ?? "", /has no step "transfer"/);
    await assertWorkflowState(run, "paused");
    assert.equal(run.nextStepName, "transfer");
    assert.equal(reports.length, 1);
    await assert.rejects(run.resume(), StepNotDefinedError);
    await run.resumeAt("receipt");
    await performNextStep(run);
    await assertWorkflowState(run, "finished");
  },
);

behaviour(
  "EXE-24 what a body leaves on its objects is not there in the next step",
  async ({ engine }) => {
    const seen: unknown[] = [];
    const workflows: unknown[] = [];
    const walk = workflow({
      name: "walk",
      steps: ["one", "two"].map((name) => ({
        name,
        run(context: StepContext) {
          const open = context as unknown as Record<string, unknown>;
          seen.push([open.luggage, (context.input as { bag: string }).bag]);
          open.luggage = "a suitcase";
          (context.input as { bag: string }).bag = "lost";
          workflows.push(context.workflow);
        },
      })),
    });
    const t = await engine({ workflows: [walk] });
    const run = await t.engine.start(walk, { input: { bag: "blue" } });
    await performNextStep(run);
    await performNextStep(run);
    assert.deepEqual(seen, [[undefined, "blue"], [undefined, "blue"]]);
    assert.notEqual(workflows[0], workflows[1]);
    assert.deepEqual(run.input, { bag: "blue" });
  },
);

behaviour(
  "EXE-25 the workflow and the execution that a body sees are read-only",
  async ({ engine }) => {
    const walk = workflow({
      name: "walk",
      steps: [{
        name: "cheat",
        run({ workflow, execution }) {
          assert.throws(() => Object.assign(workflow, { state: "finished" }), TypeError);
          assert.throws(() => Object.assign(workflow.metadata, { paid: true }), TypeError);
          assert.throws(() => Object.assign(execution, { attempt: 99 }), TypeError);
          workflow.createdAt.setTime(0);
        },
      }],
    });
    const t = await engine({ workflows: [walk], now: NOON });
    const run = await t.engine.start(walk, { metadata: { paid: false } });
    assert.equal((await performNextStep(run))?.outcome, "success");
    const row = await t.store.get(run.id);
    assert.equal(row?.state, "finished");
    assert.deepEqual(row?.createdAt, new Date(NOON));
    assert.deepEqual(run.metadata, { paid: false });
    assert.equal((await run.history())[0]?.attempt, 1);
  },
);

behaviour(
  "EXE-26 a transaction of the body that fails does not take the bookkeeping with it",
  async ({ engine }) => {
    const child = workflow({ name: "child", steps: [{ name: "only", run: () => {} }] });
    const parent = workflow({
      name: "parent",
      steps: [
        {
          name: "by_itself",
          onException: "skip",
          run: () =>
            t.store.transaction(async (tx) => {
              await t.engine.start(child, { tx });
              throw new Error("constraint failed");
            }),
        },
        {
          name: "by_the_engine",
          transaction: true,
          async run({ tx }) {
            await t.engine.start(child, { tx });
            throw new Error("constraint failed again");
          },
        },
      ],
    });
    const t = await engine({ workflows: [child, parent] });
    const run = await t.engine.start(parent);
    await assert.rejects(performNextStep(run), /constraint failed$/);
    await assert.rejects(performNextStep(run), /constraint failed again/);
    const ended = (await run.history()).map(({ state, errorMessage }) => [state, errorMessage]);
    assert.deepEqual(ended, [
      ["skipped", "constraint failed"],
      ["failed", "constraint failed again"],
    ]);
    await assertWorkflowState(run, "paused");
    assert.deepEqual((await t.engine.list({ workflow: child })).items, []);
  },
);

Deno.test("EXE-27 executions go from scheduled anywhere, from in progress to an end, from an end nowhere", () => {
  const ends = ["completed", "failed", "canceled", "skipped"] as const;
  const states: readonly ExecutionState[] = ["scheduled", "in_progress", ...ends];
  fc.assert(fc.property(fc.constantFrom(...states), fc.constantFrom(...ends), (from, to) => {
    const row = { id: "1", state: from } as Parameters<typeof closeExecution>[0];
    const closing = { state: to, outcome: "success", cause: null } as const;
    const move = () => closeExecution(row, closing, new Date(NOON));
    if (from === "scheduled" || from === "in_progress") assert.equal(move().state, to);
    else {
      assert.throws(move, (error) => {
        assert.ok(error instanceof InvalidStateError);
        assert.deepEqual([error.code, error.state], ["invalid_state", from]);
        return true;
      });
    }
  }));
  for (const from of ["finished", "canceled"] as const) {
    for (const state of ["ready", "performing", "paused", "finished", "canceled"] as const) {
      const row = { id: "1", state: from as WorkflowState } as Parameters<typeof moveWorkflow>[0];
      const to = { state, currentStepName: null, nextStepName: null };
      assert.throws(() => moveWorkflow(row, to, new Date(NOON)), InvalidStateError);
    }
  }
});
