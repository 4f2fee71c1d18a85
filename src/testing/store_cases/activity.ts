/**
 * Cases about activity: what ended when, in what way, and who is at work.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { StoreDriver } from "../../seams/store.ts";
import type { ActivityBucket } from "../../state/activity.ts";
import type { Closing } from "../../state/transitions.ts";
import {
  after,
  claim,
  CLOSINGS,
  command,
  finish,
  finished,
  newExecution,
  start,
} from "./_builders.ts";
import { type StoreCase, storeCase } from "./_case.ts";

const MINUTE = 60_000;

/** Starts a workflow whose first execution ends in some way at an instant. */
async function ended(
  store: StoreDriver,
  atMs: number,
  closing: Closing = CLOSINGS.success,
): Promise<string> {
  const { workflow, execution } = await start(store, { heroId: crypto.randomUUID() });
  const claimed = await claim(store, execution.id);
  await finish(store, finished(claimed, { closing }), { now: after(atMs) });
  return workflow.id;
}

type Sums = Omit<ActivityBucket, "from">;
const NONE: Sums = { completed: 0, reattempted: 0, failed: 0, skipped: 0, canceled: 0 };

/** The sums of the buckets of some minutes from the beginning, without their times. */
async function sums(store: StoreDriver, minutes: number): Promise<Sums[]> {
  const span = { since: after(0), until: after(minutes * MINUTE), buckets: minutes };
  const { buckets } = await store.activity(span);
  return buckets.map(({ from: _, ...rest }) => rest);
}

const bucketCases: readonly StoreCase[] = [
  storeCase("activity() counts what ended in each slice of time, empty ones too", async (store) => {
    for (const atMs of [1_000, 2_000, MINUTE + 1, 3 * MINUTE + 5_000]) await ended(store, atMs);
    const { buckets } = await store.activity({
      since: after(0),
      until: after(4 * MINUTE),
      buckets: 4,
    });
    assert.deepEqual(buckets, [
      { from: after(0), ...NONE, completed: 2 },
      { from: after(MINUTE), ...NONE, completed: 1 },
      { from: after(2 * MINUTE), ...NONE },
      { from: after(3 * MINUTE), ...NONE, completed: 1 },
    ]);
  }),

  storeCase("activity() counts an instant in the slice that it begins, once", async (store) => {
    await ended(store, MINUTE);
    await ended(store, 2 * MINUTE);
    assert.deepEqual((await sums(store, 2)).map((one) => one.completed), [0, 1]);
    assert.deepEqual((await sums(store, 3)).map((one) => one.completed), [0, 1, 1]);
  }),

  storeCase(
    "activity() cuts a span that its buckets do not divide, without gaps",
    async (store) => {
      for (let atMs = 1; atMs <= 10; atMs++) await ended(store, atMs);
      const { buckets } = await store.activity({ since: after(1), until: after(11), buckets: 3 });
      assert.deepEqual(buckets.map((one) => one.from), [after(1), after(4), after(7)]);
      assert.deepEqual(buckets.map((one) => one.completed), [3, 3, 4]);
    },
  ),

  storeCase("activity() tells the ways of ending apart", async (store) => {
    const again: Closing = { state: "completed", outcome: "reattempted", cause: "exception" };
    const chunk: Closing = { state: "completed", outcome: "continued", cause: "interrupt" };
    const gaveUp: Closing = { state: "failed", outcome: "canceled", cause: "exception" };
    const lost: Closing = { state: "completed", outcome: "recovered", cause: "recovery" };
    const closings = [CLOSINGS.success, chunk, again, lost, CLOSINGS.failure, gaveUp];
    for (const closing of [...closings, CLOSINGS.skip, CLOSINGS.cancel]) {
      await ended(store, 1_000, closing);
    }
    assert.deepEqual(await sums(store, 1), [
      { completed: 2, reattempted: 2, failed: 2, skipped: 1, canceled: 1 },
    ]);
  }),

  storeCase("activity() counts executions that somebody ended from outside", async (store) => {
    const { workflow } = await start(store);
    await command(store, workflow.id, { kind: "cancel" }, { now: after(5_000) });
    assert.deepEqual(await sums(store, 1), [{ ...NONE, canceled: 1 }]);
  }),

  storeCase("activity() knows nothing of what has not ended, or was deleted", async (store) => {
    await start(store, { heroId: "waits" });
    const { execution } = await start(store, { heroId: "runs" });
    await claim(store, execution.id);
    assert.deepEqual(await sums(store, 1), [NONE]);
    await ended(store, 1_000);
    assert.deepEqual(await sums(store, 1), [{ ...NONE, completed: 1 }]);
    await store.purge({ before: after(2_000), limit: 10 });
    assert.deepEqual(await sums(store, 1), [NONE]);
  }),

  storeCase(
    "activity() answers as many as 200 buckets, and refuses what it cannot cut",
    async (store) => {
      await ended(store, 199 * MINUTE);
      const most = await sums(store, 200);
      assert.equal(most.length, 200);
      assert.equal(most.at(-1)?.completed, 1);
      const span = { since: after(0), until: after(MINUTE), buckets: 1 };
      for (const buckets of [0, -1, 1.5, 201, NaN]) {
        await assert.rejects(async () => await store.activity({ ...span, buckets }), {
          code: "invalid_input",
        });
      }
      await assert.rejects(async () => await store.activity({ ...span, until: after(0) }), {
        code: "invalid_input",
      });
    },
  ),
];

const workerCases: readonly StoreCase[] = [
  storeCase("activity() answers who holds how many executions, and until when", async (store) => {
    const first = (heroId: string) => start(store, { heroId });
    const held = [await first("1"), await first("2"), await first("3")];
    const ids = held.map((one) => one.execution.id) as [string, string, string];
    await claim(store, ids[0], { worker: "b", token: "b-1", leaseMs: 10_000 });
    await claim(store, ids[1], { worker: "a", token: "a-1", leaseMs: 10_000 });
    const last = await claim(store, ids[2], { worker: "b", token: "b-2", leaseMs: 20_000 });
    await first("waits");
    const span = { since: after(0), until: after(MINUTE), buckets: 1 };
    assert.deepEqual((await store.activity(span)).workers, [
      { worker: "a", running: 1, leaseUntil: after(10_000) },
      { worker: "b", running: 2, leaseUntil: after(20_000) },
    ]);
    await finish(store, finished(last));
    assert.deepEqual((await store.activity(span)).workers, [
      { worker: "a", running: 1, leaseUntil: after(10_000) },
      { worker: "b", running: 1, leaseUntil: after(10_000) },
    ]);
  }),

  storeCase("activity() counts a successor that a worker goes on with", async (store) => {
    const { execution } = await start(store);
    const claimed = await claim(store, execution.id, { worker: "w" });
    const hold = { token: "next", leaseMs: 7_000, worker: "w" };
    const next = newExecution({ stepName: "second", hold });
    await finish(store, finished(claimed, { next }), { now: after(1_000) });
    const { workers } = await store.activity({
      since: after(0),
      until: after(MINUTE),
      buckets: 1,
    });
    assert.deepEqual(workers, [{ worker: "w", running: 1, leaseUntil: after(8_000) }]);
  }),
];

/** The cases about activity. */
export const activityCases: readonly StoreCase[] = [...bucketCases, ...workerCases];
