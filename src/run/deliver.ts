/**
 * Delivering jobs: from the id that a queue carried to a claimed execution.
 *
 * A job is a hint. One that comes too early is enqueued again for its time; one whose row cannot be
 * seen yet (its transaction may be about to commit) is looked up a few times; one whose execution
 * is taken, ended or stopped is nothing to do.
 *
 * @module
 */

import { wait } from "../seams/clock.ts";
import type { Claim, Claimed } from "../state/claim.ts";
import { DEFAULT_QUEUE, type Job } from "../state/records.ts";
import { enqueue } from "./announce.ts";
import type { Core } from "./core.ts";

const LOOK_UPS = 5;
const LOOK_UP_WAIT_MS = 100;
const WELL_FORMED = /^(\d{1,19}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

/** Claims what jobs speak of; the answer holds only what this worker now has to run. */
export async function claimJobs(
  core: Core,
  jobs: readonly Pick<Job, "executionId">[],
  options: { readonly ignoreDue?: boolean } = {},
): Promise<Claimed[]> {
  const { log } = core;
  const known = jobs.filter(({ executionId }) => {
    if (typeof executionId === "string" && WELL_FORMED.test(executionId)) return true;
    log.warn("A job carries no execution id; it is dropped", { executionId });
    return false;
  });
  const claimed: Claimed[] = [];
  let pending: readonly string[] = known.map((job) => job.executionId);
  for (let lookUp = 1; pending.length > 0; lookUp++) {
    const claims = await claim(core, pending, options);
    claimed.push(...claims.filter((one) => one.kind === "claimed"));
    await enqueueEarly(core, pending, claims, known);
    pending = pending.filter((_, at) => claims[at]?.kind === "missing");
    if (lookUp >= LOOK_UPS) break;
    if (pending.length > 0) await wait(core.clock, LOOK_UP_WAIT_MS);
  }
  for (const executionId of pending) {
    log.warn("The execution of a job does not exist; the job is dropped", { executionId });
  }
  return claimed;
}

async function claim(
  core: Core,
  ids: readonly string[],
  options: { readonly ignoreDue?: boolean },
): Promise<Claim[]> {
  return await core.store.claim(ids, {
    now: core.now(),
    token: core.token(),
    leaseMs: core.settings.leaseMs,
    worker: core.workerId,
    ...options,
  });
}

async function enqueueEarly(
  core: Core,
  ids: readonly string[],
  claims: readonly Claim[],
  jobs: readonly Partial<Job>[],
): Promise<void> {
  const again: Job[] = [];
  for (const [at, one] of claims.entries()) {
    if (one.kind !== "early" || one.runAt === null) continue;
    const executionId = ids[at] as string;
    // A caller that has only the id leaves the queue's name and the priority to the row.
    const given = jobs.find((job) => job.executionId === executionId);
    const known = given?.queue === undefined ? await core.store.getExecution(executionId) : given;
    const { queue = DEFAULT_QUEUE, priority = 0 } = known ?? {};
    again.push({ executionId, runAt: one.runAt, queue, priority });
  }
  await enqueue(core, again);
}
