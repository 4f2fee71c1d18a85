/**
 * Telling Redis of jobs, through BullMQ's own queues.
 *
 * @module
 */

import { type BulkJobOptions, Queue } from "bullmq";
import type { Job } from "../../../src/state/records.ts";
import { createTeller, type JobServer, type Teller, type Telling } from "../teller.ts";
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
  /** Resolves when Redis has them. */
  readonly announce: Teller;
  /** The server that has them. */
  readonly server: JobServer;
  /** Lets go of the connection. */
  close(): Promise<void>;
}

/** How many jobs go into one transaction, during which Redis does nothing else: about 20 ms. */
const BULK = 500;
/** Whoever wants to watch a queue finds its last events; nobody of ours reads them. */
const KEPT_EVENTS = 100;
/** BullMQ's priorities are 1 to 2^21 - 1, and the smallest comes first, as with us. */
const MIDDLE_PRIORITY = 2 ** 20;

/** Makes the one who tells this Redis. */
export function createAnnouncer(place: Place): Announcer {
  const queues = new Map<string, Queue<Load>>();

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

  async function hand(jobs: readonly Job[], { clock }: Telling): Promise<void> {
    const byQueue = Map.groupBy(jobs, (job) => job.queue);
    await place.redis().sadd(place.namesKey, ...byQueue.keys());
    for (const [name, mine] of byQueue) {
      const queue = queueNamed(name);
      for (let at = 0; at < mine.length; at += BULK) {
        await queue.addBulk(mine.slice(at, at + BULK).map((job) => asBulk(job, clock.now())));
      }
      for (const hear of place.curious) hear(name);
    }
  }

  const server: JobServer = {
    driver: "bullmq",
    server: "Redis",
    isThere: () => place.redis().status === "ready",
    reachable: place.reachable,
    hand,
    onError: place.onError,
    trouble: place.trouble,
  };
  return {
    server,
    announce: createTeller(server),
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
