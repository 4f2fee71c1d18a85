/**
 * Where the jobs are: a stream, and consumers of it.
 *
 * @module
 */

import { createHash } from "node:crypto";
import {
  AckPolicy,
  type Consumer,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  jetstreamManager,
  RetentionPolicy,
} from "@nats-io/jetstream";
import { nanos, type NatsConnection, type NodeConnectionOptions } from "@nats-io/transport-node";
import { InvalidInputError, StoreError } from "../../../src/errors.ts";
import { checkSettings, type ServerQueueSettings, shown, wholeNumbers } from "../server_queue.ts";
import { type Link, linkTo } from "./link.ts";

/** The settings of a queue, complete. */
export interface Settings extends ServerQueueSettings {
  /** The stream's name. */
  readonly stream: string;
  /** How many servers keep it. */
  readonly replicas: number;
}

/** The two kinds of jobs of a queue: those that are due, and those that wait. */
export const KINDS = ["now", "later"] as const;

/** One of them. */
export type Kind = typeof KINDS[number];

/** A stream of jobs. */
export interface Place extends Settings {
  /** The connection. */
  readonly link: Link;
  /** Those in this process who want to know the lane of each job that is told. */
  readonly curious: Set<(lane: string) => void>;
  /** The subject of a lane. */
  subjectOf(lane: string, kind: Kind): string;
  /** What publishes to the stream, which is made when it is missing. */
  publisher(): Promise<JetStreamClient>;
  /** Looks at the next use whether the stream is still there. */
  doubt(): void;
  /** The consumer of a lane, which all processes share. */
  consumer(lane: string, kind: Kind): Promise<Consumer>;
  /** The lanes in which there are jobs. */
  lanes(): Promise<string[]>;
}

/** How long the server may take for an answer. */
const REQUEST_MS = 5_000;
/** Longer names are shortened: consumers may have 255 bytes, and each wants to be read. */
const MAX_LANE = 120;

/** Checks what `natsQueue` was given; nothing is connected to before it is used. */
export function placeOf(
  source: string | URL | NodeConnectionOptions | NatsConnection,
  settings: Settings,
): Place {
  const { stream, holdMs, onError } = checked(settings);
  const link = linkTo(source, onError);
  let standing: Promise<JetStreamManager> | null = null;

  async function make(): Promise<JetStreamManager> {
    const manager = await jetstreamManager(await link.reachable(), {
      checkAPI: false,
      timeout: REQUEST_MS,
    });
    await ensureStream(manager, settings);
    return manager;
  }

  function stand(): Promise<JetStreamManager> {
    if (standing !== null) return standing;
    const made = make();
    made.catch(() => {
      if (standing === made) standing = null;
    });
    return standing = made;
  }

  const subjectOf = (lane: string, kind: Kind): string => `${stream}.${lane}.${kind}`;

  return {
    ...settings,
    link,
    curious: new Set(),
    subjectOf,
    publisher: async () => (await stand()).jetstream(),
    doubt: () => void (standing = null),
    async consumer(lane, kind) {
      const manager = await stand();
      const name = `${lane}_${kind}`;
      await manager.consumers.add(stream, {
        durable_name: name,
        filter_subject: subjectOf(lane, kind),
        ack_policy: AckPolicy.Explicit,
        ack_wait: nanos(holdMs),
        // However often a job was not taken, it is not given up: its row is still there.
        max_deliver: -1,
        // What waits for its time counts as not acknowledged, and there may be any number of it.
        max_ack_pending: -1,
      });
      return await manager.jetstream().consumers.get(stream, name);
    },
    async lanes() {
      const manager = await stand();
      const { state } = await manager.streams.info(stream, { subjects_filter: `${stream}.>` });
      const subjects = Object.keys(state.subjects ?? {});
      return [...new Set(subjects.map((subject) => subject.split(".")[1] as string))];
    },
  };
}

/**
 * The part of a subject that stands for a queue: a token without dots, blanks and wildcards. It is
 * written like a URL's, but with "=": NATS 2.9 takes the name of a consumer for a text with formats,
 * and a "%" in it garbles the address of the acknowledgement.
 */
export function laneOf(queue: string): string {
  const token = encodeURIComponent(queue)
    .replace(/[.!~*'()]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll("%", "=");
  if (token.length <= MAX_LANE) return token;
  // No other token has this sign. Nobody has to read it back: a job knows its queue.
  return `~${createHash("sha256").update(queue).digest("hex")}`;
}

async function ensureStream(manager: JetStreamManager, settings: Settings): Promise<void> {
  const { stream: name, replicas } = settings;
  const subjects = [`${name}.>`];
  try {
    const { config } = await manager.streams.info(name);
    if (config.retention === RetentionPolicy.Workqueue && config.subjects?.join() === subjects[0]) {
      return;
    }
    throw new StoreError(
      "nats",
      `Cannot use stream "${name}": it must have the subjects ${subjects} and the retention ` +
        `"workqueue"; name another one in the option stream`,
      { refused: true },
    );
  } catch (error) {
    const isMissing = error instanceof JetStreamApiError &&
      error.code === JetStreamApiCodes.StreamNotFound;
    if (!isMissing) throw error;
  }
  await manager.streams.add({
    name,
    subjects,
    retention: RetentionPolicy.Workqueue,
    num_replicas: replicas,
  });
}

function checked(settings: Settings): Settings {
  const { stream, replicas } = settings;
  if (typeof stream !== "string" || !/^[A-Za-z0-9_-]{1,100}$/.test(stream)) {
    throw new InvalidInputError(
      `Cannot use ${shown(stream)} as stream: use letters, digits, "_" and "-"`,
    );
  }
  wholeNumbers({ replicas });
  checkSettings(settings);
  return settings;
}
