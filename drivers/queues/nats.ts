/**
 * NATS JetStream as a queue: jobs in a stream, rows in the database.
 *
 * The jobs of all queues are in one stream, which forgets what was acknowledged. Each queue has two
 * subjects and, for each, one durable consumer that all processes share: `now` for what is due, and
 * `later` for what waits. JetStream (up to 2.11) knows no time of delivery, so a job for later is
 * fetched once, refused with its delay, and comes again when that has passed. Long waits cost no
 * more than short ones, but their consumer remembers each of them, so they have one of their own. On
 * NATS 2.9 a million of them took 700 MB of the server's memory; what was due came within 3 ms all
 * the same, and what waited for 100 ms came 120 ms late. Beyond that they are better left to the
 * database, by `scheduling: { cycle: "15 minutes" }` and `engine.cycle()`.
 *
 * Nothing depends on NATS keeping a job:
 *
 * 1. **A job is acknowledged when the worker took it over.** Steps never run inside of a delivery.
 *    What is not acknowledged within half a minute, because its process died or all its slots are
 *    taken, goes to others too; the claim on the row sorts it out.
 * 2. **Duplicates are delivered.** JetStream would drop a message whose id it has seen within two
 *    minutes, also when the first one is long done. A workflow that is paused and resumed announces
 *    the same execution for the same time again, so a message's id only tells a repeated attempt of
 *    one announcement from the next announcement.
 * 3. **There are no priorities.** JetStream delivers in the order of arrival. What is urgent gets a
 *    queue of its own, with workers of its own.
 * 4. **When NATS is away**, a start waits for a second at the most. Its job stays in the memory of
 *    this process and is told when NATS is back. What is lost with the process, or with the stream,
 *    is found by the sweep after its grace (`housekeeping.stuckScheduled`).
 *
 * @example On a NATS server with JetStream; it connects at the first use
 * ```ts
 * import { createEngine } from "@pawl/pawl";
 * import { natsQueue } from "@pawl/pawl/nats";
 * import { postgresStore } from "@pawl/pawl/postgres";
 *
 * const url = "postgres://localhost/shop";
 * const queue = natsQueue("nats://localhost:4222");
 * const engine = createEngine({ store: postgresStore(url), queue, workflows: [] });
 * await engine.close();
 * ```
 *
 * @module
 */

import type { NatsConnection, NodeConnectionOptions } from "@nats-io/transport-node";
import type { QueueDriver } from "../../src/seams/queue.ts";
import { createAnnouncer } from "./nats/announce.ts";
import { deliver } from "./nats/deliver.ts";
import { placeOf } from "./nats/place.ts";
import { serverQueue } from "./server_queue.ts";

export type { QueueDriver } from "../../src/seams/queue.ts";

/** A connection of the client `@nats-io/transport-node`, or of another transport of NATS. */
export type NatsQueueConnection = NatsConnection;

/** How `@nats-io/transport-node` connects: servers, user, token, TLS and so on. */
export type NatsQueueConnectionOptions = NodeConnectionOptions;

/** What `natsQueue` may be told. */
export interface NatsQueueOptions {
  /**
   * The name of the stream, and what its subjects begin with. It is made when it is missing; one
   * that is there is used as it is, if it has these subjects and the retention `workqueue`.
   *
   * @default {"pawl"}
   */
  readonly stream?: string;
  /**
   * How many servers of a cluster keep the stream, when it is made.
   *
   * @default {1}
   */
  readonly replicas?: number;
  /**
   * How many jobs of a queue a listener takes at a time. They are claimed together; a worker that is
   * busy keeps as many from the others.
   *
   * @default {20}
   */
  readonly batchSize?: number;
  /**
   * How long a job is kept from others while it is handed over, in milliseconds. It belongs to the
   * consumers that all processes share, so all should say the same.
   *
   * @default {30000}
   */
  readonly holdMs?: number;
  /** Hears of troubles with NATS that the queue gets over by itself; default: nobody. */
  readonly onError?: (error: Error) => void;
}

/**
 * Makes a queue on NATS JetStream.
 *
 * A URL or options are connected to at the first use, and `close()` ends the connection. A
 * connection that the application gives stays open; let it reconnect for ever
 * (`maxReconnectAttempts: -1`).
 *
 * @param source A `nats:` or `tls:` URL, or several with commas in between, options of `@nats-io/transport-node`, or a connection.
 * @param options Names, and how many jobs go together.
 * @returns The queue.
 * @throws {InvalidInputError} When an argument is not one of these.
 *
 * @example A connection that the application has already
 * ```ts ignore
 * const nats = await connect({ servers: process.env.NATS_URL, maxReconnectAttempts: -1 });
 * const engine = createEngine({ store, queue: natsQueue(nats), workflows });
 * ```
 */
export function natsQueue(
  source: string | URL | NatsQueueConnectionOptions | NatsQueueConnection,
  options: NatsQueueOptions = {},
): QueueDriver {
  const place = placeOf(source, {
    stream: "pawl",
    replicas: 1,
    batchSize: 20,
    holdMs: 30_000,
    onError: () => {},
    ...options,
  });
  return serverQueue({
    ...createAnnouncer(place),
    deliver: (handler, how) => deliver(place, handler, how),
    close: place.link.close,
  });
}
