/**
 * Workers that die: claims that nobody will ever renew or close.
 */

import assert from "node:assert/strict";
import type { ExecutionRow, Run, StoreDriver } from "../../mod.ts";
import type { FakeClock } from "../../src/testing/mod.ts";

/** How long an engine's claims hold by default. */
export const LEASE_MS = 30_000;

/** Claims the scheduled execution of a workflow as a worker does that dies right afterwards. */
export async function dieWith(
  run: Run,
  { store, clock }: { store: StoreDriver; clock: FakeClock },
  leaseMs: number = LEASE_MS,
): Promise<ExecutionRow> {
  const scheduled = await store.active(run.id);
  assert.ok(scheduled, "nothing is scheduled");
  const token = crypto.randomUUID();
  const now = new Date(clock.now());
  const [claim] = await store.claim([scheduled.id], { now, token, leaseMs, worker: "dead worker" });
  assert.equal(claim?.kind, "claimed");
  const execution = await store.active(run.id);
  assert.ok(execution);
  return execution;
}
