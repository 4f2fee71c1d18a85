/**
 * Where the jobs are: a Redis, and names in it.
 *
 * @module
 */

import { Redis, type RedisOptions } from "ioredis";
import { InvalidInputError } from "../../../src/errors.ts";
import { endsWithin } from "../patience.ts";
import { checkSettings, readUrl, type ServerQueueSettings, shown } from "../server_queue.ts";

/** The settings of a queue, complete. */
export interface Settings extends ServerQueueSettings {
  /** What the keys begin with. */
  readonly prefix: string;
}

/** A Redis with the names of a queue driver in it. */
export interface Place extends Settings {
  /** The key of the set of all queues' names. */
  readonly namesKey: string;
  /** Those in this process who want to know the name of each queue that gets a job. */
  readonly curious: Set<(queue: string) => void>;
  /** The connection, made at the first use. */
  redis(): Redis;
  /** Resolves when Redis is there; rejects when the connection has ended for good. */
  reachable(): Promise<void>;
  /** The last that went wrong with a connection since Redis was there; null: nothing. */
  trouble(): Error | null;
  /** A connection that may wait for jobs, with whatever is copied from it. */
  copy(): Copy;
  /** Ends the connection, unless it is the application's. */
  close(): Promise<void>;
}

/** A connection of one listener. */
export interface Copy {
  /** The connection. */
  readonly redis: Redis;
  /** Ends it and its own copies, whatever they are doing. */
  end(): Promise<void>;
}

/** How long a connection is given to end. */
const END_MS = 3_000;
/** How long a listener's command may take; to wait for a job takes up to ten seconds. */
const COMMAND_MS = 60_000;
const LONGEST_RECONNECT_WAIT_MS = 1_000;

/** Checks what `bullmqQueue` was given; nothing is connected to before it is used. */
export function placeOf(
  source: string | URL | RedisOptions | Redis,
  settings: Settings,
): Place {
  checked(settings);
  const connect = connectorOf(source, settings);
  const isOurs = !isConnection(source);
  let redis: Redis | null = null;
  let reaching: Promise<void> | null = null;
  let trouble: Error | null = null;

  function onError(error: Error): void {
    trouble = error;
    settings.onError(error);
  }

  function heed(connection: Redis): void {
    connection.on("error", onError);
    connection.on("ready", () => void (trouble = null));
  }

  function open(): Redis {
    if (redis !== null) return redis;
    redis = connect();
    if (!isOurs) return redis;
    heed(redis);
    endsAlways(redis);
    return redis;
  }

  async function reach(): Promise<void> {
    const connection = open();
    if (connection.status === "wait") connection.connect().catch(onError);
    if (connection.status !== "end") await happening(connection, "ready", "end");
    if (connection.status === "end") throw new Error("the connection is closed");
  }

  function reachable(): Promise<void> {
    if (open().status === "ready") return Promise.resolve();
    return reaching ??= reach().finally(() => void (reaching = null));
  }

  function copy(): Copy {
    const copies: Redis[] = [];
    const tracked = (override: Partial<RedisOptions>): Redis => {
      const made = open().duplicate(override);
      copies.push(made);
      heed(made);
      // BullMQ makes a copy for each queue, to wait on.
      made.duplicate = (more) => tracked({ ...override, ...more });
      endsAlways(made);
      return made;
    };
    return {
      redis: tracked({
        maxRetriesPerRequest: null,
        retryStrategy,
        // Whatever suits the application: to wait for jobs takes seconds, and reconnecting too.
        enableOfflineQueue: true,
        lazyConnect: false,
        ...(open().options.commandTimeout === undefined ? {} : { commandTimeout: COMMAND_MS }),
      }),
      end: async () => void await Promise.all(copies.map(end)),
    };
  }

  return {
    ...settings,
    onError,
    trouble: () => trouble,
    namesKey: `${settings.prefix}:queues`,
    curious: new Set(),
    redis: open,
    reachable,
    copy,
    async close(): Promise<void> {
      if (redis === null || !isOurs) return;
      await end(redis);
    },
  };
}

/**
 * Lets a connection end in every state. `disconnect` of one that waits for its next attempt to
 * reconnect takes that attempt away, so that neither it nor its commands would ever end: here it is
 * let have it. And of one that has ended already it starts a timer for nothing.
 */
function endsAlways(redis: Redis): void {
  const disconnect = redis.disconnect.bind(redis);
  redis.disconnect = (reconnect) => {
    if (reconnect === true) return disconnect(true);
    redis.options.retryStrategy = () => null;
    if (redis.status === "reconnecting") redis.once("ready", disconnect);
    else if (redis.status !== "end") disconnect();
  };
}

async function end(redis: Redis): Promise<void> {
  if (redis.status === "end") return;
  const ended = happening(redis, "end");
  redis.disconnect();
  await endsWithin(ended, END_MS);
}

/** Resolves at the next of these events. */
export function happening(
  redis: Redis,
  ...events: readonly ("close" | "end" | "ready")[]
): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      for (const event of events) redis.off(event, done);
      resolve();
    };
    for (const event of events) redis.once(event, done);
  });
}

function retryStrategy(times: number): number {
  return Math.min(times * 50, LONGEST_RECONNECT_WAIT_MS);
}

/** The name of BullMQ's queue: it may not contain a colon. */
export function bullName(queue: string): string {
  return queue.replace(/[%:]/g, encodeURIComponent);
}

function checked(settings: Settings): void {
  const { prefix } = settings;
  if (typeof prefix !== "string" || prefix === "") {
    throw new InvalidInputError(`Cannot use ${shown(prefix)} as prefix: use a text for keys`);
  }
  checkSettings(settings);
}

/** How the connection is made. */
function connectorOf(
  source: string | URL | RedisOptions | Redis,
  { prefix }: Settings,
): () => Redis {
  if (isConnection(source)) {
    if (source.isCluster && !/\{.+\}/.test(prefix)) {
      throw new InvalidInputError(
        `Cannot use prefix ${shown(prefix)} in a cluster: put it in braces, such as "{pawl}"; ` +
          "the keys of a queue must be on one of its servers",
      );
    }
    if (source.options.keyPrefix) {
      throw new InvalidInputError(
        "Cannot use this Redis connection: BullMQ's scripts do not know its keyPrefix; " +
          "use one without, and the option prefix",
      );
    }
    return () => source;
  }
  const usual = {
    // What was told while Redis was away is told when it is back.
    maxRetriesPerRequest: null,
    retryStrategy,
  };
  if (typeof source === "string" || source instanceof URL) {
    const url = String(source);
    if (!/^rediss?:\/\//.test(url) || readUrl(url) === null) {
      // The address is not repeated: it may hold a password.
      throw new InvalidInputError(
        "Cannot use this address: use a redis: or rediss: URL, special characters percent-encoded",
      );
    }
    return () => new Redis(url, usual);
  }
  if (typeof source === "object" && source !== null) {
    return () => new Redis({ ...usual, ...source, replyMapping: "legacy" });
  }
  throw new InvalidInputError(
    `Cannot use ${shown(source)} as a Redis: use a URL, options or a connection of ioredis`,
  );
}

function isConnection(source: string | URL | RedisOptions | Redis): source is Redis {
  return typeof source === "object" && source !== null && "duplicate" in source &&
    typeof source.duplicate === "function";
}
