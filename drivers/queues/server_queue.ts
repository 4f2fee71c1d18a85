/**
 * A queue on a server of its own, put together from its parts.
 *
 * @module
 */

import { InvalidInputError, StoreError } from "../../src/errors.ts";
import { type Clock, systemClock } from "../../src/seams/clock.ts";
import type { JobHandler, ListenOptions, QueueDriver } from "../../src/seams/queue.ts";
import type { Job } from "../../src/state/records.ts";
import { aborted, endsWithin } from "./patience.ts";
import { isAway, type JobServer, type Teller } from "./teller.ts";

/** What every such queue may be told, complete. */
export interface ServerQueueSettings {
  /** How many jobs of a queue are taken at a time. */
  readonly batchSize: number;
  /** How long a job is kept from others. */
  readonly holdMs: number;
  /** Hears of troubles that pass by themselves. */
  readonly onError: (error: Error) => void;
}

/** The parts of a queue. */
export interface QueueParts {
  /** The server; it is reachable when it can be listened to. */
  readonly server: Pick<JobServer, "driver" | "server" | "reachable" | "trouble">;
  /** Tells the server of jobs. */
  readonly announce: Teller;
  /** Delivers jobs until the signal is aborted. */
  deliver(handler: JobHandler, how: ListenOptions): Promise<void>;
  /** Ends what was opened. */
  close(): Promise<void>;
}

/** How long a server may take until whoever listens says that it is away. */
const AWAY_MS = 2_000;

/** Makes the driver: it tells after the commit, and delays are counted on its listeners' clock. */
export function serverQueue({ server, announce, deliver, close }: QueueParts): QueueDriver {
  const { driver: name } = server;
  const clocks: Clock[] = [];
  let closed = false;

  const refuseClosed = (): void => {
    if (closed) throw new StoreError(name, "Cannot use the queue: it is closed");
  };

  return {
    name,
    commit: "after-store",
    async enqueue(jobs: readonly Job[]): Promise<void> {
      refuseClosed();
      if (jobs.length > 0) await announce(jobs, clocks[0] ?? systemClock);
    },
    async listen(handler: JobHandler, how: ListenOptions): Promise<void> {
      refuseClosed();
      if (how.signal.aborted) return;
      clocks.push(how.clock);
      try {
        await Promise.all([deliver(handler, how), sayIfAway(server, how)]);
      } finally {
        clocks.splice(clocks.indexOf(how.clock), 1);
      }
    },
    async close(): Promise<void> {
      if (closed) return;
      closed = true;
      await close();
    },
  };
}

/** Says once that the server is not there: a wrong address would otherwise look like no work. */
async function sayIfAway(
  server: QueueParts["server"],
  { signal, onTrouble }: ListenOptions,
): Promise<void> {
  if (onTrouble === undefined) return;
  try {
    if (await endsWithin(Promise.race([server.reachable(), aborted(signal)]), AWAY_MS)) return;
    onTrouble(isAway(server, "it is listened to when it is back"));
  } catch (cause) {
    // One of ours ends the listening, and so is heard of already.
    if (cause instanceof StoreError) return;
    const { message } = cause as Error;
    const what = `${server.server} cannot be listened to yet: ${message}`;
    onTrouble(new StoreError(server.driver, what, { cause }));
  }
}

/**
 * Checks what every such queue may be told.
 *
 * @throws {InvalidInputError} When something is not what it should be.
 */
export function checkSettings({ onError, ...numbers }: ServerQueueSettings): void {
  const { batchSize, holdMs } = numbers;
  wholeNumbers({ batchSize, holdMs });
  if (typeof onError === "function") return;
  throw new InvalidInputError(`Cannot use ${shown(onError)} as onError: use a function`);
}

/** Checks numbers by the names of their options. */
export function wholeNumbers(numbers: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(numbers)) {
    if (Number.isSafeInteger(value) && value >= 1) continue;
    throw new InvalidInputError(
      `Cannot use ${shown(value)} as ${name}: use a whole number of at least 1`,
    );
  }
}

/** What a URL says, decoded; null when its port, its user or its password cannot be read. */
export function readUrl(
  text: string,
): { readonly url: URL; readonly user: string; readonly password: string } | null {
  try {
    const url = new URL(text);
    const [user, password] = [url.username, url.password].map(decodeURIComponent);
    return { url, user: user as string, password: password as string };
  } catch {
    return null;
  }
}

/** A value as a message shows it. */
export function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
