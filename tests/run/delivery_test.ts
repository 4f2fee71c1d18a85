/**
 * Delivered jobs are hints: they come twice, early, late, for rows that ended, stopped or never
 * were.
 */

import assert from "node:assert/strict";
import { type Claim, type Engine, type Finished, type Run, workflow } from "../../mod.ts";
import {
  assertWorkflowState,
  type FakeClock,
  performNextStep,
  performStepInline,
} from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingLogger, recordingQueue, storeWith } from "./_doubles.ts";

const NOON = Date.UTC(2026, 5, 1, 12);

/** An order whose first step counts how often it ran. */
function order(ran: string[], gate?: Promise<void>): ReturnType<typeof workflow> {
  return workflow({
    name: "order",
    steps: [
      {
        name: "reserve",
        async run({ execution }) {
          ran.push(execution.id);
          await gate;
        },
      },
      { name: "ship", wait: "1 day", run: () => {} },
    ],
  });
}

async function executionId(run: Run): Promise<string> {
  return (await run.currentExecution())?.id as string;
}

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
  { store, clock }: { store: Parameters<typeof storeWith>[0]; clock: FakeClock; engine: Engine },
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

/** A store whose claims are counted and may be told to find nothing at first. */
function countedClaims(
  store: Parameters<typeof storeWith>[0],
  missing = 0,
): { store: Parameters<typeof storeWith>[0]; claims: string[][] } {
  const claims: string[][] = [];
  const counted = storeWith(store, (real) => ({
    claim(ids, options) {
      claims.push([...ids]);
      if (claims.length > missing) return real.claim(ids, options);
      return Promise.resolve(ids.map(() => ({ kind: "missing" })));
    },
  }));
  return { store: counted, claims };
}

behaviour(
  "EXE-10 an execution that does not exist is looked up five times, then warned of",
  async ({ engine, store }) => {
    const { store: counted, claims } = countedClaims(store());
    const logger = recordingLogger();
    const t = await engine({ store: counted, logger });
    let done = false;
    const handling = t.engine.handle("424242").then(() => void (done = true));
    const looks: [number, boolean][] = [];
    for (const ms of [99, 1, 99, 1, 100, 100]) {
      await t.clock.tick(ms);
      looks.push([claims.length, done]);
    }
    assert.deepEqual(looks, [[1, false], [2, false], [2, false], [3, false], [4, false], [
      5,
      true,
    ]]);
    await handling;
    await t.clock.tick("1 minute");
    assert.equal(claims.length, 5);
    const warnings = logger.lines.filter(({ level }) => level === "warn");
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]?.message ?? "", /does not exist/);
    assert.equal(warnings[0]?.fields.executionId, "424242");
  },
);

behaviour(
  "EXE-11 an execution that shows at the third look is run then",
  async ({ engine, store }) => {
    const ran: string[] = [];
    const definition = order(ran);
    const { store: counted, claims } = countedClaims(store(), 2);
    const t = await engine({ store: counted, workflows: [definition], queue: recordingQueue() });
    const run = await t.engine.start(definition);
    const id = await executionId(run);
    const handling = t.engine.handle(id);
    await t.clock.tick(199);
    assert.deepEqual([claims.length, ran], [2, []]);
    await t.clock.tick(1);
    await handling;
    assert.deepEqual(claims, [[id], [id], [id]]);
    assert.deepEqual(ran, [id]);
  },
);

behaviour(
  "EXE-12 an execution that is there at once is looked up once",
  async ({ engine, store }) => {
    const ran: string[] = [];
    const definition = order(ran);
    const { store: counted, claims } = countedClaims(store());
    const t = await engine({ store: counted, workflows: [definition], queue: recordingQueue() });
    const run = await t.engine.start(definition);
    const id = await executionId(run);
    await t.engine.handle(id);
    assert.deepEqual(claims, [[id]]);
    assert.deepEqual(ran, [id]);
  },
);

behaviour(
  "EXE-13 a job without a proper id is dropped with a warning",
  async ({ engine, store }) => {
    const { store: counted, claims } = countedClaims(store());
    const logger = recordingLogger();
    const t = await engine({ store: counted, logger });
    const wrong = [null, undefined, "", "abc", "1; drop table", 7, {}, "1".repeat(20), "-1", "1.5"];
    for (const id of wrong) await t.engine.handle(id as string);
    assert.deepEqual(claims, []);
    assert.deepEqual(logger.lines.map((line) => line.level), wrong.map(() => "warn"));
    for (const [at, { fields }] of logger.lines.entries()) {
      assert.equal(
        fields.executionId,
        wrong[at],
      );
    }
  },
);

behaviour(
  "EXE-13 an id that no row of this store can have is missing, not an error",
  async ({ engine }) => {
    const t = await engine();
    for (const id of ["9".repeat(19), "0", "0190163d-8694-739b-aea5-966c26f8ad91"]) {
      const handling = t.engine.handle(id);
      await t.clock.tick("1 second");
      await handling;
    }
  },
);

behaviour(
  "EXE-14 a job whose rows were cleaned up runs nothing and raises nothing",
  async ({ engine }) => {
    const ran: string[] = [];
    const definition = order(ran);
    const t = await engine({ workflows: [definition], queue: recordingQueue() });
    const run = await t.engine.start(definition);
    const id = await executionId(run);
    await run.cancel();
    await t.clock.tick("31 days");
    assert.equal((await t.engine.housekeep()).executionsDeleted, 1);
    const handling = t.engine.handle(id);
    await t.clock.tick("1 second");
    await handling;
    assert.deepEqual(ran, []);
    assert.equal(await t.engine.find(run.id), null);
  },
);

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
