/**
 * Telling Redis of jobs, also when it is away.
 *
 * @module
 */

import { type BulkJobOptions, Queue } from "bullmq";
import { StoreError } from "../../../src/errors.ts";
import type { Clock } from "../../../src/seams/clock.ts";
import type { Job } from "../../../src/state/records.ts";
import { endsWithin } from "../patience.ts";
import { bullName, type Place } from "./place.ts";

/** What BullMQ carries; the queue's name is that of the queue. */
export interface Load {
  /** The execution. */
  readonly executionId: string;
  /** When it is due, in epoch milliseconds. */
  readonly runAt: number;
  /** Its priority, as Pawl counts. */
  readonly priority: number;
}

/** Tells Redis of jobs. */
export interface Announcer {
  /** Resolves when Redis has them; rejects when it is away, though it may still be told later. */
  announce(jobs: readonly Job[], clock: Clock): Promise<void>;
  /** Forgets what it has not been able to tell. */
  close(): Promise<void>;
}

/** How long the first one waits who finds Redis away; those after it do not wait at all. */
const AWAY_MS = 1_000;
/** How long a connected Redis may take before it counts as away. */
const HUNG_MS = 10_000;
/** How many jobs are kept in memory while Redis is away; the sweep finds the others. */
const MAX_UNTOLD = 10_000;
/** How often jobs are told; a Redis that comes and goes all the time is left to the sweep. */
const MAX_TRIES = 5;
/** How many jobs go into one transaction, which Redis does nothing else during: about 20 ms. */
const BULK = 500;
/** Whoever wants to watch a queue finds its last events; nobody of ours reads them. */
const KEPT_EVENTS = 100;
/** BullMQ's priorities are 1 to 2^21 - 1, and the smallest comes first, as with us. */
const MIDDLE_PRIORITY = 2 ** 20;

/** Makes the one who tells this Redis. */
export function createAnnouncer(place: Place): Announcer {
  const queues = new Map<string, Queue<Load>>();
  let untold = 0;
  let away = false;

  function queueNamed(name: string): Queue<Load> {
    const known = queues.get(name);
    if (known !== undefined) return known;
    const made = new Queue<Load>(bullName(name), {
      connection: place.redis(),
      prefix: place.prefix,
      streams: { events: { maxLen: KEPT_EVENTS } },
    });
    made.on("error", place.onError);
    queues.set(name, made);
    return made;
  }

  async function tell(jobs: readonly Job[], clock: Clock): Promise<void> {
    const lanes = Map.groupBy(jobs, (job) => job.queue);
    await place.redis().sadd(place.namesKey, ...lanes.keys());
    for (const [name, mine] of lanes) {
      const queue = queueNamed(name);
      for (let at = 0; at < mine.length; at += BULK) {
        await queue.addBulk(mine.slice(at, at + BULK).map((job) => asBulk(job, clock.now())));
      }
      for (const hear of place.curious) hear(name);
    }
  }

  /** Tells Redis once it is there, and again when it goes away meanwhile: duplicates collapse. */
  async function tellSurely(jobs: readonly Job[], clock: Clock): Promise<void> {
    untold += jobs.length;
    try {
      for (let tries = 1;; tries++) {
        await place.reachable();
        away = false;
        try {
          return await tell(jobs, clock);
        } catch (error) {
          if (tries >= MAX_TRIES) throw error;
        }
      }
    } finally {
      untold -= jobs.length;
    }
  }

  /** Waits for Redis as long as there is hope; whether it was told. */
  async function isTold(telling: Promise<void>): Promise<boolean> {
    if (away) return false;
    if (await endsWithin(telling, AWAY_MS)) return true;
    const isThere = place.redis().status === "ready";
    if (isThere && await endsWithin(telling, HUNG_MS - AWAY_MS)) return true;
    away = true;
    return false;
  }

  return {
    async announce(jobs, clock) {
      if (away && untold + jobs.length > MAX_UNTOLD) {
        throw new StoreError("bullmq", `Redis is away, and ${untold} jobs wait for it already`);
      }
      const telling = tellSurely(jobs, clock);
      // What fails when nobody waits for it any more is found by the sweep.
      telling.catch(place.onError);
      try {
        if (await isTold(telling)) return;
      } catch (error) {
        const { message } = error as Error;
        throw new StoreError("bullmq", `Redis could not be told: ${message}`, { cause: error });
      }
      throw new StoreError(
        "bullmq",
        "Redis is away; it is told when it is back, unless this process ends before",
      );
    },
    async close() {
      await Promise.all([...queues.values()].map((queue) => queue.close()));
      queues.clear();
    },
  };
}

function asBulk(
  { executionId, runAt, priority }: Job,
  now: number,
): { name: string; data: Load; opts: BulkJobOptions } {
  const at = runAt.getTime();
  return {
    name: "execution",
    data: { executionId, runAt: at, priority },
    opts: {
      delay: Math.max(0, at - now),
      priority: bullPriority(priority),
      removeOnComplete: true,
      removeOnFail: true,
      deduplication: { id: `${executionId}@${at}`, keepLastIfActive: true },
    },
  };
}

/** A priority in BullMQ's range, in the same order; those beyond a million either way are equal. */
export function bullPriority(priority: number): number {
  return Math.min(Math.max(priority + MIDDLE_PRIORITY, 1), 2 * MIDDLE_PRIORITY - 1);
}
