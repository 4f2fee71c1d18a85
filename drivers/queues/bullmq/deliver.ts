/**
 * Delivering jobs from Redis: a worker of BullMQ for each queue.
 *
 * @module
 */

import { Worker } from "bullmq";
import type { JobHandler, ListenOptions } from "../../../src/seams/queue.ts";
import { createHandOver } from "../hand_over.ts";
import { serveLanes } from "../lanes.ts";
import { aborted, endsWithin } from "../patience.ts";
import type { Load } from "./announce.ts";
import { bullName, happening, type Place } from "./place.ts";

/** How long BullMQ waits after it could not reach Redis. */
const RETRY_MS = 500;
/** How long BullMQ is given to put down what it holds when the listener ends. */
const END_MS = 5_000;

/** Delivers jobs until the signal is aborted. */
export async function deliver(
  place: Place,
  handler: JobHandler,
  how: ListenOptions,
): Promise<void> {
  const { signal } = how;
  const handOver = createHandOver(handler);
  const copy = place.copy();
  const workers = new Map<string, Worker<Load>>();

  function serve(queue: string): void {
    if (workers.has(queue) || signal.aborted) return;
    const worker = new Worker<Load>(
      bullName(queue),
      ({ data: { executionId, runAt, priority } }) =>
        handOver.take({ executionId, runAt: new Date(runAt), queue, priority }),
      {
        connection: copy.redis,
        prefix: place.prefix,
        concurrency: place.batchSize,
        lockDuration: place.holdMs,
        skipLockRenewal: true,
        stalledInterval: Math.ceil(place.holdMs / 2),
        // However often a job was held for too long, it is not given up: its row is still there.
        maxStalledCount: Number.MAX_SAFE_INTEGER,
        runRetryDelay: RETRY_MS,
      },
    );
    worker.on("error", place.onError);
    workers.set(queue, worker);
  }

  try {
    // A worker of BullMQ that has never reached Redis can hardly be closed.
    while (copy.redis.status !== "ready" && !signal.aborted) {
      await Promise.race([happening(copy.redis, "ready"), aborted(signal)]);
    }
    const all = (): Promise<string[]> => copy.redis.smembers(place.namesKey);
    const lanes = { laneOf: (queue: string) => queue, all, curious: place.curious };
    await serveLanes(lanes, serve, how);
  } finally {
    const closing = Promise.all([...workers.values()].map((worker) => worker.close()));
    await handOver.idle();
    // Without Redis there is nothing to put down, and nothing to wait for.
    await endsWithin(Promise.race([closing, happening(copy.redis, "close")]), END_MS);
    await copy.end();
    await endsWithin(closing, END_MS);
  }
}
