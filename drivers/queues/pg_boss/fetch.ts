/**
 * Fetching jobs from pg-boss.
 *
 * One look asks every queue that is served, hands over what is due and then deletes it, while the
 * next look is already under way. Looks are made when pg-boss tells of new jobs, when something that
 * this process has announced becomes due, and at the polls.
 *
 * @module
 */

import type { JobHandler, ListenOptions } from "../../../src/seams/queue.ts";
import { isTransient } from "../../postgres/errors.ts";
import { listen } from "../../postgres/listen.ts";
import type { Alarm } from "../alarm.ts";
import { type BossJobs, type FetchedJob, isGone } from "./jobs.ts";
import type { OpenBoss } from "./open.ts";
import { type EarlyJob, sorted } from "../postgres_engines.ts";

/** A pg-boss that is running, with the jobs in it. */
export interface Opened extends OpenBoss {
  /** The jobs. */
  readonly jobs: BossJobs;
}

/** How jobs are fetched. */
export interface Fetching extends ListenOptions {
  /** When to look. */
  readonly alarm: Alarm;
  /** How many jobs of a queue are fetched at a time. */
  readonly batchSize: number;
}

/** How often the queues are read, at the most. */
const WATCH_MS = 1_000;

/** Fetches jobs and hands them over until the signal is aborted, or pg-boss's tables are gone. */
export async function fetchUntil(
  { jobs, news }: Opened,
  handler: JobHandler,
  how: Fetching,
): Promise<void> {
  const { alarm, clock, pollMs, queues, signal } = how;
  const ending = new AbortController();
  const hearing = news === null ? null : listen({
    ...news,
    clock,
    signal: AbortSignal.any([signal, ending.signal]),
    heard: () => alarm.noLaterThan(clock.now()),
  });
  const deliver = createDelivery(jobs, handler, how);
  let readAt = 0;
  try {
    while (!signal.aborted) {
      let isMore = false;
      try {
        if (clock.now() >= readAt) {
          await jobs.readQueues();
          await jobs.makeQueues(queues ?? []);
          readAt = clock.now() + Math.max(pollMs, WATCH_MS);
        }
        isMore = await deliver.next();
      } catch (error) {
        // A database that is away for a moment is asked again at the next look.
        if (!isTransient(error) && !isGone(error)) throw error;
        readAt = 0;
      }
      if (!isMore) await alarm.next();
    }
  } finally {
    ending.abort();
    await hearing;
    await deliver.done();
  }
}

/** Looks, one after the other. */
interface Delivery {
  /** Hands over what is due now; whether there may be more. */
  next(): Promise<boolean>;
  /** Resolves when what was taken over is deleted. */
  done(): Promise<void>;
}

function createDelivery(
  jobs: BossJobs,
  handler: JobHandler,
  { alarm, batchSize, clock, queues }: Fetching,
): Delivery {
  let removing: Promise<void> = Promise.resolve();

  /** Puts back what came too early; what cannot be comes again when it has been held long enough. */
  async function putBack(early: readonly (FetchedJob & EarlyJob)[]): Promise<boolean> {
    if (early.length === 0) return true;
    for (const { job } of early) alarm.noLaterThan(job.runAt.getTime());
    return await jobs.putBack(early).then(() => true, () => false);
  }

  return {
    async next() {
      const looks = await Promise.allSettled(
        jobs.names(queues).map((name) => jobs.fetch(name, batchSize)),
      );
      const batches = looks.map((look) => look.status === "fulfilled" ? look.value : []);
      const { due, early } = sorted(batches.flat(), clock);
      const isBack = putBack(early);
      if (due.length > 0) await handler(due.map(({ job }) => job));
      const done = await isBack ? [...due, ...early] : due;
      await removing;
      // What cannot be deleted comes once more, and the claim says that it was taken.
      if (done.length > 0) removing = jobs.remove(done).catch(() => {});
      const failed = looks.find((look) => look.status === "rejected");
      if (failed !== undefined) throw failed.reason;
      return batches.some((batch) => batch.length >= batchSize);
    },
    done: () => removing,
  };
}
