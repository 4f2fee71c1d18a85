/**
 * Cases about `claimDue`: polling, lost jobs and dead leases are one look at `wakeAt`.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  after,
  assertSame,
  command,
  dueOptions,
  LEASE_MS,
  newWorkflows,
  only,
  resume,
  send,
  start,
  T0,
} from "./_builders.ts";
import { type StoreCase, storeCase } from "./_case.ts";
import { look, schedule } from "./_due.ts";
import { bring } from "./_situations.ts";

/** The cases about `claimDue` and scheduled executions. */
export const claimDueCases: readonly StoreCase[] = [
  storeCase("QRY-05 EXE-01 what is due is claimed as a delivered job would be", async (store) => {
    const { workflow, execution } = await start(store);
    const now = after(250);
    const claimed = only(await store.claimDue(dueOptions({ now })));
    assertSame(claimed, {
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
    assertSame(await store.get(workflow.id), claimed.workflow);
    assertSame(await store.getExecution(execution.id), claimed.execution);
    assertSame(await store.claimDue(dueOptions({ now, token: "token-2" })), []);
  }),

  storeCase("claimDue() of an empty store answers nothing", async (store) => {
    assertSame(await store.claimDue(dueOptions()), []);
  }),

  storeCase("HSK-13 nothing is claimed before its time, and at its time it is", async (store) => {
    await schedule(store, { a: { scheduledFor: after(60_000) } });
    assertSame(await look(store, { now: after(59_999) }), []);
    assertSame(await look(store, { now: after(60_000) }), ["a"]);
  }),

  storeCase("BLK-10 the grace of a queue delays the look at its rows", async (store) => {
    await schedule(store, { a: { graceMs: 900_000 } });
    assertSame(await look(store, { now: after(899_999) }), []);
    assertSame(await look(store, { now: after(900_000) }), ["a"]);
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
    assertSame(await look(store), expected);
  }),

  storeCase("newest first, a priority is taken from its other end", async (store) => {
    await schedule(store, {
      "5 late": { priority: 5, scheduledFor: after(-1_000) },
      "0 middle": { priority: 0, scheduledFor: after(-2_000), queue: "mail" },
      "5 early": { priority: 5, scheduledFor: after(-9_000) },
      "0 early": { priority: 0, scheduledFor: after(-3_000) },
      "0 late": { priority: 0, scheduledFor: after(-1_500) },
      "future": { priority: 0, scheduledFor: after(60_000) },
    });
    const newest = { newestFirst: true };
    assertSame(await look(store, { ...newest, limit: 1, token: "a" }), ["0 late"]);
    assertSame(await look(store, { limit: 1, token: "b" }), ["0 early"]);
    assertSame(await look(store, { ...newest, token: "c" }), ["0 middle", "5 late", "5 early"]);
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
    assertSame(seen, ["a", "b", "c", "d"]);
    assertSame(await look(store), []);
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
    assertSame(counts, [3, 3, 1, 0]);
    assert.equal(ids.size, 7);
  }),

  storeCase("a worker is given only what is in its queues", async (store) => {
    await schedule(store, {
      a: { queue: "default" },
      b: { queue: "mail", scheduledFor: after(-3) },
      c: { queue: "slow", scheduledFor: after(-2) },
      d: { queue: "Mail", scheduledFor: after(-1) },
    });
    assertSame(await look(store, { queues: ["none"] }), []);
    assertSame(await look(store, { queues: [] }), []);
    assertSame(await look(store, { queues: ["slow", "mail"] }), ["b", "c"]);
    assertSame(await look(store), ["d", "a"]);
  }),

  storeCase("an empty queue before a full one does not use up the limit", async (store) => {
    await schedule(store, {
      a: { queue: "mail", priority: 0 },
      b: { queue: "mail", priority: 1 },
      c: { queue: "slow", priority: 9 },
    });
    assertSame(await look(store, { queues: ["slow"], limit: 1 }), ["c"]);
  }),

  storeCase("HSK-11 only what is long overdue can be asked for", async (store) => {
    await schedule(store, {
      a: { scheduledFor: after(-900_001) },
      b: { scheduledFor: after(-900_000) },
      c: { scheduledFor: after(-899_999) },
    });
    assertSame(await look(store, { before: after(-900_000) }), ["a", "b"]);
    assertSame(await look(store), ["c"]);
  }),

  storeCase("HSK-23 SCH-23 nothing of a paused or ended workflow is claimed", async (store) => {
    for (const [at, situation] of (["paused", "finished", "canceled"] as const).entries()) {
      await bring(store, situation, { heroId: String(at) });
    }
    assertSame(await look(store, { now: after(86_400_000) }), []);
  }),

  storeCase("EXT-05 what was paused is claimed again after the resume", async (store) => {
    const { workflowId, executionId } = await bring(store, "paused");
    await command(store, workflowId, resume({ graceMs: 1_000 }), { now: after(5_000) });
    assertSame(await look(store, { now: after(999) }), []);
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
      assertSame(await look(store, { now: after(3_599_999) }), []);
      assertSame(await look(store, { now: after(3_600_000) }), ["an hour"]);
      const [waiting] = await store.list({ nextStepName: "for ever" }, { limit: 1 });
      await send(store, waiting?.id ?? "", {}, { now: after(3_610_000) });
      assertSame(await look(store, { now: after(3_610_000) }), ["for ever"]);
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
