/**
 * Cases about what a caller tells a store so that it can do less: the rows as they were seen, and
 * that a lease may stay. A store may pass by both; it must never believe what is not so any more.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  after,
  assertSame,
  assertUnchanged,
  command,
  executionRow,
  expectKind,
  finished,
  LEASE_MS,
  newExecution,
  newWorkflows,
  only,
  startClaimed,
} from "./_builders.ts";
import { type StoreCase, storeCase } from "./_case.ts";

const NOW = after(1_000);
const next = newExecution({ stepName: "second", scheduledFor: NOW });

const seenCases: readonly StoreCase[] = [
  storeCase("a finish that brings the rows along comes to the same", async (store) => {
    const [seen, unseen] = [
      await startClaimed(store),
      await startClaimed(store, { heroId: "2" }),
    ];
    const [one, two] = await store.finish([
      finished(seen, { next, seen }),
      finished(unseen, { next }),
    ], { now: NOW });
    const told = ({ id: _, workflowId: __, ...row }: { id: string; workflowId: string }): unknown =>
      row;
    const [done, other] = [expectKind(one, "done"), expectKind(two, "done")];
    assertSame(told(done.execution), told(other.execution));
    assertSame(await executionRow(store, seen.execution.id), done.execution);
    assertSame(await store.get(seen.workflow.id), done.workflow);
    assert.equal((await store.active(seen.workflow.id))?.stepName, "second");
  }),

  storeCase("rows that were seen before a pause do not outlive it", async (store) => {
    const seen = await startClaimed(store);
    await command(store, seen.workflow.id, { kind: "pause" });
    const done = expectKind(
      only(await store.finish([finished(seen, { next, seen })], { now: NOW })),
      "done",
    );
    assert.equal(done.workflow.state, "paused");
    assert.equal(done.next, null);
    assertSame(await store.get(seen.workflow.id), done.workflow);
    assert.equal(await store.active(seen.workflow.id), null);
  }),

  storeCase("rows that were seen before a cancel do not outlive it", async (store) => {
    const seen = await startClaimed(store);
    await command(store, seen.workflow.id, { kind: "cancel" });
    const done = expectKind(
      only(await store.finish([finished(seen, { next, seen })], { now: NOW })),
      "done",
    );
    assert.equal(done.workflow.state, "canceled");
    assert.equal(done.execution.state, "canceled");
    assert.equal(await store.active(seen.workflow.id), null);
  }),

  storeCase("rows that were seen under a claim that is gone write nothing", async (store) => {
    const seen = await startClaimed(store);
    await store.claimDue({
      ...{ now: after(LEASE_MS + 1), token: "token-2", leaseMs: LEASE_MS },
      ...{ worker: "worker-2", limit: 1 },
    });
    await assertUnchanged(store, seen.workflow.id, async () => {
      const late = after(LEASE_MS + 2);
      assertSame(await store.finish([finished(seen, { next, seen })], { now: late }), [
        { kind: "lost" },
      ]);
    });
  }),

  storeCase(
    "one that was paused meanwhile does not keep the others of its batch",
    async (store) => {
      const claimed = [];
      for (const fresh of newWorkflows(3)) claimed.push(await startClaimed(store, fresh));
      const [first, paused, last] = claimed as [Seen, Seen, Seen];
      await command(store, paused.workflow.id, { kind: "pause" });
      const batch = [first, paused, last].map((seen) => finished(seen, { next, seen }));
      const states = (await store.finish(batch, { now: NOW })).map((one) =>
        expectKind(one, "done").workflow.state
      );
      assertSame(states, ["ready", "paused", "ready"]);
    },
  ),

  storeCase(
    "a large batch of ends that are alike, and of some that are not, is written row by row right",
    async (store) => {
      const claimed: Seen[] = [];
      for (const fresh of newWorkflows(40)) claimed.push(await startClaimed(store, fresh));
      const hold = { token: "held", leaseMs: LEASE_MS, worker: "worker-1" };
      const batch = claimed.map((seen, at) => {
        // Most go on alike; every third has its own next step, every seventh ends.
        if (at % 7 === 6) return finished(seen, { seen });
        const stepName = at % 3 === 2 ? `step_${at}` : "second";
        return finished(seen, { seen, next: newExecution({ stepName, scheduledFor: NOW, hold }) });
      });
      const results = await store.finish(batch, { now: NOW });
      for (const [at, result] of results.entries()) {
        const { workflow, execution, next } = expectKind(result, "done");
        assert.equal(execution.id, claimed[at]?.execution.id);
        assertSame(await store.get(workflow.id), workflow);
        assertSame(await store.getExecution(execution.id), execution);
        assertSame(await store.active(workflow.id), next);
        assert.equal(next?.stepName ?? null, batch[at]?.next?.stepName ?? null);
        assert.equal(workflow.state, next === null ? "finished" : "performing");
      }
    },
  ),
];

type Seen = Awaited<ReturnType<typeof startClaimed>>;

const leaseHintCases: readonly StoreCase[] = [
  storeCase(
    "a checkpoint that may keep its lease stores the cursor all the same",
    async (store) => {
      const { execution } = await startClaimed(store);
      const holder = { executionId: execution.id, token: "token-1", keepsLease: true };
      const progress = { done: 1, total: null, message: "one" };
      const at = { now: NOW, leaseMs: LEASE_MS };
      assertSame(await store.checkpoint([{ ...holder, cursor: "[1]" }], at), ["held"]);
      assertSame(await store.checkpoint([{ ...holder, progress }], at), ["held"]);
      const row = await executionRow(store, execution.id);
      assert.equal(row.cursor, "[1]");
      assertSame(row.progress, progress);
      assert.ok(row.leaseUntil !== null && execution.leaseUntil !== null);
      assert.ok(row.leaseUntil >= execution.leaseUntil, "a lease never gets shorter");
    },
  ),

  storeCase(
    "with nothing to store a checkpoint renews the lease, whatever it may keep",
    async (store) => {
      const { execution } = await startClaimed(store);
      const holder = { executionId: execution.id, token: "token-1", keepsLease: true };
      assertSame(await store.checkpoint([holder], { now: NOW, leaseMs: LEASE_MS }), ["held"]);
      const row = await executionRow(store, execution.id);
      assertSame(row.leaseUntil, after(1_000 + LEASE_MS));
      assertSame(row.wakeAt, row.leaseUntil);
    },
  ),

  storeCase("in one batch some keep their lease and some renew it", async (store) => {
    const [one, two] = [await startClaimed(store), await startClaimed(store, { heroId: "2" })];
    const answers = await store.checkpoint([
      { executionId: one.execution.id, token: "token-1", cursor: "[1]", keepsLease: true },
      { executionId: two.execution.id, token: "token-1", cursor: "[2]" },
    ], { now: NOW, leaseMs: LEASE_MS });
    assertSame(answers, ["held", "held"]);
    assert.equal((await executionRow(store, one.execution.id)).cursor, "[1]");
    const renewed = await executionRow(store, two.execution.id);
    assert.equal(renewed.cursor, "[2]");
    assertSame(renewed.leaseUntil, after(1_000 + LEASE_MS));
  }),

  storeCase("a checkpoint that may keep its lease still says stop and lost", async (store) => {
    const { workflow, execution } = await startClaimed(store);
    const holder = { executionId: execution.id, cursor: "[1]", keepsLease: true };
    const at = { now: NOW, leaseMs: LEASE_MS };
    assertSame(await store.checkpoint([{ ...holder, token: "token-9" }], at), ["lost"]);
    await command(store, workflow.id, { kind: "pause" });
    assertSame(await store.checkpoint([{ ...holder, token: "token-1" }], at), ["paused"]);
  }),
];

/** The cases about hints. */
export const hintCases: readonly StoreCase[] = [...seenCases, ...leaseHintCases];
