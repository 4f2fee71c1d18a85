/**
 * BullMQ as a queue: jobs in Redis, rows in the database.
 *
 * Each queue of Pawl is a queue of BullMQ, and the names are kept in a set beside them, so that a
 * worker that serves all queues finds new ones. A job carries the id of an execution, its time and
 * its priority; it is told to Redis after the commit of its row.
 *
 * Nothing depends on Redis keeping it:
 *
 * 1. **Duplicates collapse.** A second job for the same execution and the same time joins the first
 *    one as long as that waits. The time belongs to the identity, because an execution that is woken
 *    by a signal is announced again for an earlier time than it was. While a job is being handed
 *    over, a second one is kept and follows it: the first may have been judged by an older row.
 * 2. **A job is done when the worker took it over.** Steps never run inside BullMQ. What is held for
 *    longer than half a minute, because its process died or all its slots are taken, goes to others
 *    too; the claim on the row sorts it out.
 * 3. **When Redis is away**, a start waits for a second at the most. Its job stays in the memory of
 *    this process and is told when Redis is back. What is lost with the process, or with Redis, is
 *    found by the sweep after its grace (`housekeeping.stuckScheduled`).
 *
 * @example On Redis; it connects at the first use
 * ```ts
 * import { createEngine } from "@pawl/pawl";
 * import { bullmqQueue } from "@pawl/pawl/bullmq";
 * import { postgresStore } from "@pawl/pawl/postgres";
 *
 * const url = "postgres://localhost/shop";
 * const queue = bullmqQueue("redis://localhost:6379");
 * const engine = createEngine({ store: postgresStore(url), queue, workflows: [] });
 * await engine.close();
 * ```
 *
 * @module
 */

import type { Redis, RedisOptions } from "ioredis";
import type { QueueDriver } from "../../src/seams/queue.ts";
import { createAnnouncer } from "./bullmq/announce.ts";
import { deliver } from "./bullmq/deliver.ts";
import { placeOf } from "./bullmq/place.ts";
import { serverQueue } from "./server_queue.ts";

export type { QueueDriver } from "../../src/seams/queue.ts";

/** A connection of the client `ioredis`. */
export type RedisConnection = Redis;

/** How `ioredis` connects: host, port, password and so on. */
export type RedisConnectionOptions = RedisOptions;

/** What `bullmqQueue` may be told. */
export interface BullmqQueueOptions {
  /**
   * What the keys in Redis begin with. Applications that share a Redis have one each.
   *
   * @default {"pawl"}
   */
  readonly prefix?: string;
  /**
   * How many jobs of a queue a listener takes at a time. They are claimed together; a worker that is
   * busy keeps as many from the others.
   *
   * @default {20}
   */
  readonly batchSize?: number;
  /**
   * How long a job is kept from others while it is handed over, in milliseconds. After that, and
   * after twice that at the latest, another listener gets it as well.
   *
   * @default {30000}
   */
  readonly holdMs?: number;
  /** Hears of troubles with Redis that the queue gets over by itself; default: nobody. */
  readonly onError?: (error: Error) => void;
}

/**
 * Makes a queue on BullMQ.
 *
 * A URL or options are connected to at the first use, and `close()` ends the connection. A
 * connection that the application gives stays open. Whoever listens uses copies of it: one, and one
 * more for each queue, to wait on.
 *
 * @param source A `redis:` or `rediss:` URL, options of `ioredis`, or a connection of it.
 * @param options Names, and how many jobs go together.
 * @returns The queue.
 * @throws {InvalidInputError} When an argument is not one of these.
 *
 * @example A Redis that the application is connected to already
 * ```ts ignore
 * const redis = new Redis(process.env.REDIS_URL);
 * const engine = createEngine({ store, queue: bullmqQueue(redis), workflows });
 * ```
 */
export function bullmqQueue(
  source: string | URL | RedisConnectionOptions | RedisConnection,
  options: BullmqQueueOptions = {},
): QueueDriver {
  const place = placeOf(source, {
    prefix: "pawl",
    batchSize: 20,
    holdMs: 30_000,
    onError: () => {},
    ...options,
  });
  const announcer = createAnnouncer(place);
  return serverQueue({
    server: announcer.server,
    announce: announcer.announce,
    deliver: (handler, how) => deliver(place, handler, how),
    async close() {
      await announcer.close();
      await place.close();
    },
  });
}
