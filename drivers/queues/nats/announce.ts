/**
 * Telling a stream of jobs.
 *
 * @module
 */

import type { Job } from "../../../src/state/records.ts";
import { createTeller, type JobServer, type Teller, type Telling } from "../teller.ts";
import { laneOf, type Place } from "./place.ts";

/** How many messages are under way at a time. */
const BULK = 500;

/** Tells a stream of jobs. */
export interface Announcer {
  /** Resolves when the stream has them. */
  readonly announce: Teller;
  /** The server that has them. */
  readonly server: JobServer;
}

/** Makes the one who tells this stream. */
export function createAnnouncer(place: Place): Announcer {
  const { link } = place;

  async function publishAll(jobs: readonly Job[], { id, clock }: Telling): Promise<void> {
    const stream = await place.publisher();
    for (let at = 0; at < jobs.length; at += BULK) {
      await Promise.all(
        jobs.slice(at, at + BULK).map(async (job) => {
          const lane = laneOf(job.queue);
          const kind = job.runAt.getTime() > clock.now() ? "later" : "now";
          await stream.publish(place.subjectOf(lane, kind), JSON.stringify(job), {
            // What was told already when the connection broke is not told twice.
            msgID: `${job.executionId}@${job.runAt.getTime()}@${id}`,
          });
          for (const hear of place.curious) hear(lane);
        }),
      );
    }
  }

  const server: JobServer = {
    driver: "nats",
    server: "NATS",
    isThere: link.isThere,
    reachable: async () => void await link.reachable(),
    async hand(jobs, telling) {
      try {
        await Promise.race([publishAll(jobs, telling), link.broken()]);
      } catch (error) {
        place.doubt();
        throw error;
      }
    },
    onError: place.onError,
    trouble: link.trouble,
  };
  return {
    announce: createTeller(server),
    // Whoever listens needs the stream, too.
    server: { ...server, reachable: async () => void await place.publisher() },
  };
}

/** The job in a message; null when the message is none of ours. */
export function jobIn(text: string): Job | null {
  try {
    const { executionId, runAt, queue, priority } = JSON.parse(text) as Record<string, unknown>;
    const at = new Date(String(runAt));
    if (typeof executionId !== "string" || Number.isNaN(at.getTime())) return null;
    return { executionId, runAt: at, queue: String(queue), priority: Number(priority) };
  } catch {
    return null;
  }
}
