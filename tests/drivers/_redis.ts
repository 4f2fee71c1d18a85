/** Queues on Redis for tests: each has keys of its own, and removes them. */

import { Redis } from "ioredis";
import { bullmqQueue, type BullmqQueueOptions } from "../../drivers/queues/bullmq.ts";
import { systemClock, wait } from "../../src/seams/clock.ts";
import type { QueueBench } from "../../src/testing/conformance.ts";
import { recordDatabase, redisServer } from "../_servers.ts";

const server = await redisServer();

/** Whether there is a Redis to test on. */
export const HAS_REDIS: boolean = server !== null;

/** Keys that nobody else uses. */
export interface FreshRedis extends AsyncDisposable {
  /** The server's address. */
  readonly url: string;
  /** What the keys begin with. */
  readonly prefix: string;
  /** The keys there are. */
  keys(): Promise<string[]>;
  /** Removes them. */
  drop(): Promise<void>;
}

/** Keys of one test on the server that all tests share. */
export async function freshRedis(): Promise<FreshRedis> {
  if (server === null) {
    throw new Error("There is no Redis; skip what needs it when HAS_REDIS is false");
  }
  await recordDatabase(`${server.version} (${new URL(server.url).host})`);
  const prefix = `pawl_test_${crypto.randomUUID().slice(0, 8)}`;
  const { url } = server;
  const keys = (): Promise<string[]> => onRedis(url, (redis) => redis.keys(`${prefix}:*`));
  const drop = (): Promise<void> =>
    onRedis(url, async (redis) => {
      const left = await redis.keys(`${prefix}:*`);
      if (left.length > 0) await redis.del(...left);
    });
  return { url, prefix, keys, drop, [Symbol.asyncDispose]: drop };
}

/** Does something on a connection of its own. */
export async function onRedis<T>(url: string, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url);
  try {
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

/** An empty queue, on real time: the delays are those of BullMQ. */
export async function bullmqBench(options: BullmqQueueOptions = {}): Promise<QueueBench> {
  const { url, prefix, drop } = await freshRedis();
  return {
    queue: bullmqQueue(url, { prefix, ...options }),
    clock: systemClock,
    advance: (ms) => wait(systemClock, ms),
    drop,
  };
}
