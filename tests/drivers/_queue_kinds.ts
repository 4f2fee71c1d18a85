/** The queues that live on a server of their own, for the tests that all of them run. */

import type { QueueDriver } from "../../mod.ts";
import { bullmqQueue } from "../../drivers/queues/bullmq.ts";
import { natsQueue } from "../../drivers/queues/nats.ts";
import type { OwnServer } from "../_own_server.ts";
import { CAN_START_NATS, deleteStream, freshNats, HAS_NATS, ownNats } from "./_nats.ts";
import { CAN_START_REDIS, freshRedis, HAS_REDIS, onRedis, ownRedis } from "./_redis.ts";

/** What such a queue may be told in a test. */
export interface KindOptions {
  readonly batchSize?: number;
  readonly holdMs?: number;
  readonly onError?: (error: Error) => void;
}

/** A place for jobs that nobody else uses. */
export interface FreshPlace extends AsyncDisposable {
  /** Opens a queue there; it is closed with the place. */
  open(options?: KindOptions): QueueDriver;
}

/** One kind of queue. */
export interface QueueKind {
  /** The driver's name. */
  readonly name: string;
  /** The server's name, as messages have it. */
  readonly server: string;
  /** What an address of the server begins with. */
  readonly scheme: string;
  /** Whether the server that tests share is there. */
  readonly isThere: boolean;
  /** Whether one can be started that may be harmed. */
  readonly canStart: boolean;
  /** A place on the server that tests share. */
  fresh(): Promise<FreshPlace>;
  /** A server that may be harmed. */
  own(): Promise<OwnServer>;
  /** A queue on such a server. */
  openAt(address: string, options?: KindOptions): QueueDriver;
  /** Throws away all jobs there. */
  empty(address: string): Promise<unknown>;
  /** A server that wants a password. */
  guarded(): Promise<OwnServer>;
  /** What it says to those who have none. */
  readonly refusal: RegExp;
}

function place(
  open: (options: KindOptions) => QueueDriver,
  drop: () => Promise<void>,
): FreshPlace {
  const opened: QueueDriver[] = [];
  return {
    open(options = {}) {
      const queue = open(options);
      opened.push(queue);
      return queue;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(opened.map((queue) => queue.close()));
      await drop();
    },
  };
}

export const QUEUE_KINDS: readonly QueueKind[] = [
  {
    name: "bullmq",
    server: "Redis",
    scheme: "redis",
    isThere: HAS_REDIS,
    canStart: CAN_START_REDIS,
    async fresh() {
      const { url, prefix, drop } = await freshRedis();
      return place((options) => bullmqQueue(url, { prefix, ...options }), drop);
    },
    own: ownRedis,
    openAt: (address, options) => bullmqQueue(`redis://${address}`, options),
    empty: (address) => onRedis(`redis://${address}`, (redis) => redis.flushall()),
    async guarded() {
      const server = await ownRedis();
      await onRedis(
        `redis://${server.address}`,
        (redis) => redis.config("SET", "requirepass", "secret"),
      );
      return server;
    },
    refusal: /: NOAUTH /,
  },
  {
    name: "nats",
    server: "NATS",
    scheme: "nats",
    isThere: HAS_NATS,
    canStart: CAN_START_NATS,
    async fresh() {
      const { url, stream, drop } = await freshNats();
      return place((options) => natsQueue(url, { stream, ...options }), drop);
    },
    own: () => ownNats(),
    openAt: (address, options) => natsQueue(`nats://${address}`, options),
    empty: (address) => deleteStream(`nats://${address}`, "pawl"),
    guarded: () =>
      ownNats('jetstream: enabled\nauthorization: { users: [{ user: me, password: "secret" }] }'),
    refusal: /: Authorization Violation$/,
  },
];
