/**
 * Announcing: telling the queue what was scheduled.
 *
 * How depends on the queue's own word. A queue in the store's database is told inside the
 * transaction (`beforeCommit`); any other after the commit, and what gets lost in between is found
 * by the sweep. An announcement that fails never fails the write that it speaks of; only a queue
 * that runs jobs in the very call (`inProcess`) hands on what a body threw.
 *
 * @module
 */

import type { WriteOptions } from "../seams/store.ts";
import type { Job } from "../state/records.ts";
import type { Core } from "./core.ts";

/** The options of a write, with the queue's part in its transaction. */
export function writeOptions(core: Core, tx?: unknown): WriteOptions {
  const base = { now: core.now(), ...(tx === undefined ? {} : { tx }) };
  if (core.queue.commit !== "with-store") return base;
  return {
    ...base,
    beforeCommit: async (inside, jobs) => {
      const timely = timelyJobs(core, jobs);
      if (timely.length > 0) await core.queue.enqueue(timely, { tx: inside });
    },
  };
}

/** Tells the queue of jobs after their commit, unless it was told within. */
export async function announce(core: Core, jobs: readonly (Job | null)[]): Promise<void> {
  if (core.queue.commit === "with-store") return;
  await enqueue(core, jobs.filter((job) => job !== null));
}

/** Hands jobs to the queue; a failure is logged, because the rows are there and will be found. */
export async function enqueue(core: Core, jobs: readonly Job[]): Promise<void> {
  const timely = timelyJobs(core, jobs);
  if (timely.length === 0) return;
  try {
    const ids = await core.queue.enqueue(timely);
    if (ids !== undefined) await noteJobIds(core, timely, ids);
  } catch (error) {
    if (core.queue.inProcess) throw error;
    core.log.error(
      "The queue could not be told of scheduled executions; the sweep will find them",
      {
        queue: core.queue.name,
        executionIds: timely.map((job) => job.executionId),
        error,
      },
    );
  }
}

/** Keeps the queue's own ids for whoever looks into a problem; nothing depends on them. */
async function noteJobIds(
  core: Core,
  jobs: readonly Job[],
  ids: readonly string[],
): Promise<void> {
  try {
    await core.store.noteJobIds(
      ids.map((jobId, at) => ({ executionId: (jobs[at] as Job).executionId, jobId })),
    );
  } catch (error) {
    core.log.warn("The queue's ids of jobs could not be noted", { queue: core.queue.name, error });
  }
}

/** The jobs that this queue can take now, none of them further away than it can wait. */
function timelyJobs(core: Core, jobs: readonly Job[]): Job[] {
  return jobs.filter((job) => inCycle(core, job)).map((job) => clamped(core, job));
}

/** Under cyclic scheduling only what is due within the current cycle goes to the queue. */
function inCycle(core: Core, job: Job): boolean {
  const { cycleMs } = core.settings;
  return cycleMs === null || core.queue.commit === "none" ||
    job.runAt.getTime() <= core.clock.now() + cycleMs;
}

/** A queue that cannot wait as long is asked earlier: the early delivery is enqueued again. */
function clamped(core: Core, job: Job): Job {
  const { maxDelayMs } = core.queue;
  if (maxDelayMs === undefined) return job;
  const latest = core.clock.now() + maxDelayMs;
  return job.runAt.getTime() <= latest ? job : { ...job, runAt: new Date(latest) };
}
