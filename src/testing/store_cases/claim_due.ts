/**
 * Cases about `claimDue`: polling, lost jobs and dead leases are one look at `wakeAt`.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { ClaimDueOptions, StoreDriver } from "../../seams/store.ts";
import type { NewExecution } from "../../state/records.ts";
import {
  after,
  assertUnchanged,
  claimOptions,
  command,
  dueOptions,
  expectKind,
  finished,
  LEASE_MS,
  newExecution,
  newWorkflow,
  newWorkflows,
  only,
  resume,
  send,
  start,
  startClaimed,
  T0,
} from "./_builders.ts";
import { type StoreCase, storeCase } from "./_case.ts";
import { bring } from "./_situations.ts";

/** Starts a workflow for each first execution, in this order; the step's name tells them apart. */
async function schedule(
  store: StoreDriver,
  firsts: Readonly<Record<string, Partial<NewExecution>>>,
): Promise<void> {
  const batch = Object.entries(firsts).map(([stepName, over]) =>
    newWorkflow({ heroId: stepName, first: newExecution({ stepName, ...over }) })
  );
  for (const one of await store.create(batch, { now: T0 })) expectKind(one, "created");
}

/** The names of the steps that a look at the table gives. */
async function look(store: StoreDriver, over: Partial<ClaimDueOptions> = {}): Promise<string[]> {
  return (await store.claimDue(dueOptions(over))).map((one) => one.execution.stepName);
}

const scheduledCases: readonly StoreCase[] = [
  storeCase("QRY-05 EXE-01 what is due is claimed as a delivered job would be", async (store) => {
    const { workflow, execution } = await start(store);
    const now = after(250);
    const claimed = only(await store.claimDue(dueOptions({ now })));
    assert.deepEqual(claimed, {
      kind: "claimed",
      from: "scheduled",
      workflow: {
        ...workflow,
        state: "performing",
        currentStepName: "first",
        startedAt: now,
        updatedAt: now,
      },
      execution: {
        ...execution,
        state: "in_progress",
        token: "token-1",
        worker: "worker-1",
        startedAt: now,
        leaseUntil: after(250 + LEASE_MS),
        wakeAt: after(250 + LEASE_MS),
      },
    });
    assert.deepEqual(await store.get(workflow.id), claimed.workflow);
    assert.deepEqual(await store.getExecution(execution.id), claimed.execution);
    assert.deepEqual(await store.claimDue(dueOptions({ now, token: "token-2" })), []);
  }),

  storeCase("claimDue() of an empty store answers nothing", async (store) => {
    assert.deepEqual(await store.claimDue(dueOptions()), []);
  }),

  storeCase("HSK-13 nothing is claimed before its time, and at its time it is", async (store) => {
    await schedule(store, { a: { scheduledFor: after(60_000) } });
    assert.deepEqual(await look(store, { now: after(59_999) }), []);
    assert.deepEqual(await look(store, { now: after(60_000) }), ["a"]);
  }),

  storeCase("BLK-10 the grace of a queue delays the look at its rows", async (store) => {
    await schedule(store, { a: { graceMs: 900_000 } });
    assert.deepEqual(await look(store, { now: after(899_999) }), []);
    assert.deepEqual(await look(store, { now: after(900_000) }), ["a"]);
  }),

  storeCase("the smallest priority goes first, then the oldest", async (store) => {
    await schedule(store, {
      "5 late": { priority: 5, scheduledFor: after(-1_000) },
      "0 middle": { priority: 0, scheduledFor: after(-2_000), queue: "mail" },
      "-3": { priority: -3, scheduledFor: after(-500) },
      "5 early": { priority: 5, scheduledFor: after(-9_000) },
      "0 early": { priority: 0, scheduledFor: after(-3_000) },
      "0 late": { priority: 0, scheduledFor: after(-1_500) },
      "future": { priority: -9, scheduledFor: after(60_000) },
    });
    const expected = ["-3", "0 early", "0 middle", "0 late", "5 early", "5 late"];
    assert.deepEqual(await look(store), expected);
  }),

  storeCase("the order holds across calls that take a few each", async (store) => {
    await schedule(store, {
      d: { priority: 2, scheduledFor: after(-9_000), queue: "mail" },
      b: { priority: 1, scheduledFor: after(-2_000) },
      c: { priority: 1, scheduledFor: after(-1_000), queue: "mail" },
      a: { priority: 1, scheduledFor: after(-3_000), queue: "slow" },
    });
    const seen: string[] = [];
    for (let at = 0; at < 4; at++) {
      seen.push(...await look(store, { limit: 1, token: `token-${at}` }));
    }
    assert.deepEqual(seen, ["a", "b", "c", "d"]);
    assert.deepEqual(await look(store), []);
  }),

  storeCase("HSK-20 a limit is kept, and the rest is there for the next call", async (store) => {
    await store.create(newWorkflows(7), { now: T0 });
    const counts: number[] = [];
    const ids = new Set<string>();
    for (let at = 0; at < 4; at++) {
      const claims = await store.claimDue(dueOptions({ limit: 3, token: `token-${at}` }));
      counts.push(claims.length);
      for (const { execution } of claims) {
        assert.equal(execution.token, `token-${at}`);
        ids.add(execution.id);
      }
    }
    assert.deepEqual(counts, [3, 3, 1, 0]);
    assert.equal(ids.size, 7);
  }),

  storeCase("a worker is given only what is in its queues", async (store) => {
    await schedule(store, {
      a: { queue: "default" },
      b: { queue: "mail", scheduledFor: after(-3) },
      c: { queue: "slow", scheduledFor: after(-2) },
      d: { queue: "Mail", scheduledFor: after(-1) },
    });
    assert.deepEqual(await look(store, { queues: ["none"] }), []);
    assert.deepEqual(await look(store, { queues: [] }), []);
    assert.deepEqual(await look(store, { queues: ["slow", "mail"] }), ["b", "c"]);
    assert.deepEqual(await look(store), ["d", "a"]);
  }),

  storeCase("an empty queue before a full one does not use up the limit", async (store) => {
    await schedule(store, {
      a: { queue: "mail", priority: 0 },
      b: { queue: "mail", priority: 1 },
      c: { queue: "slow", priority: 9 },
    });
    assert.deepEqual(await look(store, { queues: ["slow"], limit: 1 }), ["c"]);
  }),

  storeCase("HSK-11 only what is long overdue can be asked for", async (store) => {
    await schedule(store, {
      a: { scheduledFor: after(-900_001) },
      b: { scheduledFor: after(-900_000) },
      c: { scheduledFor: after(-899_999) },
    });
    assert.deepEqual(await look(store, { before: after(-900_000) }), ["a", "b"]);
    assert.deepEqual(await look(store), ["c"]);
  }),

  storeCase("HSK-23 SCH-23 nothing of a paused or ended workflow is claimed", async (store) => {
    for (const [at, situation] of (["paused", "finished", "canceled"] as const).entries()) {
      await bring(store, situation, { heroId: String(at) });
    }
    assert.deepEqual(await look(store, { now: after(86_400_000) }), []);
  }),

  storeCase("EXT-05 what was paused is claimed again after the resume", async (store) => {
    const { workflowId, executionId } = await bring(store, "paused");
    await command(store, workflowId, resume({ graceMs: 1_000 }), { now: after(5_000) });
    assert.deepEqual(await look(store, { now: after(999) }), []);
    const claimed = only(await store.claimDue(dueOptions({ now: after(1_000) })));
    assert.equal(claimed.execution.id, executionId);
  }),

  storeCase(
    "NEW-05 what waits for a signal is claimed when it comes, or when time is up",
    async (store) => {
      await schedule(store, {
        "for ever": { waitingFor: "approved" },
        "an hour": { waitingFor: "approved", waitUntil: after(3_600_000) },
      });
      assert.deepEqual(await look(store, { now: after(3_599_999) }), []);
      assert.deepEqual(await look(store, { now: after(3_600_000) }), ["an hour"]);
      const [waiting] = await store.list({ nextStepName: "for ever" }, { limit: 1 });
      await send(store, waiting?.id ?? "", {}, { now: after(3_610_000) });
      assert.deepEqual(await look(store, { now: after(3_610_000) }), ["for ever"]);
    },
  ),

  storeCase("300 due executions are handed out, each once", async (store) => {
    await store.create(newWorkflows(300), { now: T0 });
    const ids: string[] = [];
    for (const token of ["a", "b", "c"]) {
      const claims = await store.claimDue(dueOptions({ limit: 100, token }));
      ids.push(...claims.map((one) => one.execution.id));
    }
    assert.equal(new Set(ids).size, 300);
    assert.equal(ids.length, 300);
  }),
];

const leaseCases: readonly StoreCase[] = [
  storeCase("P3 HSK-10 a lease that has not ended is nobody else's", async (store) => {
    const { workflow } = await startClaimed(store);
    const claims = await assertUnchanged(
      store,
      workflow.id,
      () => store.claimDue(dueOptions({ token: "token-2", now: after(LEASE_MS - 1) })),
    );
    assert.deepEqual(claims, []);
  }),

  storeCase(
    "P3 HSK-08 HSK-21 an ended lease is taken over with a new token, and nothing else moves",
    async (store) => {
      const held = await startClaimed(store, { first: newExecution({ cursor: "7" }) });
      const now = after(LEASE_MS);
      const taken = only(
        await store.claimDue(dueOptions({ token: "token-2", worker: "two", now })),
      );
      assert.deepEqual(taken, {
        kind: "claimed",
        from: "in_progress",
        workflow: held.workflow,
        execution: {
          ...held.execution,
          token: "token-2",
          worker: "two",
          leaseUntil: after(2 * LEASE_MS),
          wakeAt: after(2 * LEASE_MS),
        },
      });
      assert.deepEqual(await store.getExecution(held.execution.id), taken.execution);
      assert.deepEqual(await store.claimDue(dueOptions({ token: "token-3", now })), []);
    },
  ),

  storeCase("U2 HSK-22 EXE-18 after a take-over the old token has lost", async (store) => {
    const held = await startClaimed(store);
    const now = after(LEASE_MS + 1);
    only(await store.claimDue(dueOptions({ token: "token-2", now })));
    const { workflow, execution } = held;
    await assertUnchanged(store, workflow.id, async () => {
      const beat = { executionId: execution.id, token: "token-1", cursor: "99" };
      assert.deepEqual(await store.checkpoint([beat], { now, leaseMs: LEASE_MS }), ["lost"]);
      const next = newExecution({ stepName: "second" });
      const results = await store.finish([finished(held, { next })], { now });
      assert.deepEqual(results, [{ kind: "lost" }]);
    });
    const beat = { executionId: execution.id, token: "token-2", cursor: "99" };
    assert.deepEqual(await store.checkpoint([beat], { now, leaseMs: LEASE_MS }), ["held"]);
  }),

  storeCase("U1 a checkpoint keeps a long execution from being taken over", async (store) => {
    const { execution } = await startClaimed(store);
    const beat = { executionId: execution.id, token: "token-1" };
    await store.checkpoint([beat], { now: after(20_000), leaseMs: LEASE_MS });
    assert.deepEqual(await look(store, { token: "token-2", now: after(49_999) }), []);
    assert.deepEqual(await look(store, { token: "token-3", now: after(50_000) }), ["first"]);
  }),

  storeCase(
    "a lease of an execution that was inserted claimed ends like any other",
    async (store) => {
      const hold = { token: "held", leaseMs: 1_000, worker: "worker-1" };
      await start(store, { first: newExecution({ hold }) });
      assert.deepEqual(await look(store, { now: after(999) }), []);
      const taken = only(await store.claimDue(dueOptions({ token: "token-2", now: after(1_000) })));
      assert.equal(taken.from, "in_progress");
      assert.equal(taken.execution.token, "token-2");
    },
  ),

  ...(["paused while running", "canceled while running"] as const).map((situation) =>
    storeCase(
      `HSK-24 a dead worker's execution is taken over when its workflow is ${situation}`,
      async (store) => {
        const { workflowId, executionId } = await bring(store, situation);
        const before = await store.get(workflowId);
        const options = dueOptions({ token: "token-2", now: after(LEASE_MS) });
        const taken = only(await store.claimDue(options));
        assert.equal(taken.from, "in_progress");
        assert.equal(taken.execution.id, executionId);
        assert.deepEqual(taken.workflow, before);
        assert.deepEqual(await store.get(workflowId), before);
      },
    )
  ),

  storeCase("scheduled executions and ended leases can be asked for one by one", async (store) => {
    await schedule(store, { dead: {} });
    assert.deepEqual(await look(store, { token: "token-1" }), ["dead"]);
    await schedule(store, { waiting: {} });
    const now = after(LEASE_MS);
    const options = { now, token: "token-2" };
    assert.deepEqual(await look(store, { ...options, state: "in_progress" }), ["dead"]);
    assert.deepEqual(await look(store, { ...options, state: "in_progress" }), []);
    assert.deepEqual(await look(store, { ...options, state: "scheduled" }), ["waiting"]);
    assert.deepEqual(await look(store, { ...options, state: "scheduled" }), []);
  }),

  storeCase("scheduled executions and ended leases come in one order", async (store) => {
    await schedule(store, { dead: { priority: 3 } });
    await look(store);
    await schedule(store, { "more urgent": { priority: 1 }, "less urgent": { priority: 5 } });
    const options = { token: "token-2", now: after(LEASE_MS) };
    assert.deepEqual(await look(store, options), ["more urgent", "dead", "less urgent"]);
  }),

  storeCase("a claim that is finished has no lease left to take over", async (store) => {
    const held = await startClaimed(store);
    await store.finish([finished(held)], { now: after(1) });
    const options = { ...claimOptions({ token: "token-2", now: after(LEASE_MS * 2) }), limit: 10 };
    assert.deepEqual(await store.claimDue(options), []);
  }),
];

/** The cases about `claimDue`. */
export const claimDueCases: readonly StoreCase[] = [...scheduledCases, ...leaseCases];
