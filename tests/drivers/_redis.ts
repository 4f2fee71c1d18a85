/** Queues on Redis for tests: each has keys of its own, and removes them. */

import { once } from "node:events";
import { Redis } from "ioredis";
import { bullmqQueue, type BullmqQueueOptions } from "../../drivers/queues/bullmq.ts";
import { systemClock, wait } from "../../src/seams/clock.ts";
import type { CaseQueue } from "../../src/testing/conformance.ts";
import { type OwnServer, ownServer } from "../_own_server.ts";
import { recordDatabase, redisServer } from "../_servers.ts";
import { findPrograms } from "../_start_servers.ts";

const server = await redisServer();

/** Whether there is a Redis to test on. */
export const HAS_REDIS: boolean = server !== null;

/** Whether one can be started that a test may restart; in CI it must be possible. */
export const CAN_START_REDIS: boolean = Deno.env.get("CI") === "true" ||
  HAS_REDIS && await findPrograms(["redis-server"]) !== null;

/** A Redis of a test's own; what it was told it has after a restart. */
export function ownRedis(): Promise<OwnServer> {
  return ownServer({
    program: "redis-server",
    args: (folder, port) => [
      ...["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""],
      ...["--appendonly", "yes", "--appendfsync", "everysec"],
    ],
    ask: (address) => onRedis(`redis://${address}`, (redis) => redis.ping()),
  });
}

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
  const redis = new Redis(url, { retryStrategy: () => null, maxRetriesPerRequest: 0 });
  redis.on("error", () => {});
  try {
    return await work(redis);
  } finally {
    if (redis.status !== "end") {
      const ended = once(redis, "end");
      redis.disconnect();
      await ended;
    }
  }
}

/** An empty queue, on real time: the delays are those of BullMQ. */
export async function bullmqBench(options: BullmqQueueOptions = {}): Promise<CaseQueue> {
  const { url, prefix, drop } = await freshRedis();
  return {
    queue: bullmqQueue(url, { prefix, ...options }),
    clock: systemClock,
    advance: (ms) => wait(systemClock, ms),
    drop,
  };
}
