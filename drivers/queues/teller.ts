/**
 * Telling a server of jobs, also while it is away.
 *
 * The rows are committed when a server is told, so nobody must wait for it for long. The first one
 * who finds it away waits for a second, those after it not at all. What was not told stays in the
 * memory of this process, up to a limit, and is told when the server is back; what is lost with the
 * process is found by the sweep.
 *
 * @module
 */

import { StoreError } from "../../src/errors.ts";
import type { Clock } from "../../src/seams/clock.ts";
import type { Job } from "../../src/state/records.ts";
import { endsWithin } from "./patience.ts";

/** A server that takes jobs. */
export interface JobServer {
  /** The driver's name, for messages. */
  readonly driver: string;
  /** The server's name, for messages. */
  readonly server: string;
  /** Whether it is connected to now. */
  isThere(): boolean;
  /** Resolves when it is; rejects when it will never be again. */
  reachable(): Promise<void>;
  /** Hands jobs over once. It is called again with the same `telling` when it failed. */
  hand(jobs: readonly Job[], telling: Telling): Promise<void>;
  /** Hears of what failed when nobody waited for it any more. */
  onError(error: Error): void;
  /** The last that went wrong with the connection since it was there; null: nothing. */
  trouble(): Error | null;
}

/** One announcement, however often it is tried. */
export interface Telling {
  /** Unlike that of any other announcement. */
  readonly id: string;
  /** The clock that delays are counted on. */
  readonly clock: Clock;
}

/** Tells of jobs; rejects when the server could not be told yet, though it may still be told later. */
export type Teller = (jobs: readonly Job[], clock: Clock) => Promise<void>;

/** How long the first one waits who finds the server away. */
const AWAY_MS = 1_000;
/** How long a server that is connected to may take before it counts as away. */
const HUNG_MS = 10_000;
/** How many jobs are kept in memory while the server is away; the sweep finds the others. */
const MAX_UNTOLD = 10_000;
/** How often jobs are told; a server that comes and goes all the time is left to the sweep. */
const MAX_TRIES = 5;

/** Makes a teller for this server. */
export function createTeller(server: JobServer): Teller {
  let untold = 0;
  let away = false;

  /** Tells the server once it is there, and again when it goes away meanwhile. */
  async function tell(jobs: readonly Job[], telling: Telling): Promise<void> {
    untold += jobs.length;
    try {
      for (let tries = 1;; tries++) {
        await server.reachable();
        away = false;
        try {
          return await server.hand(jobs, telling);
        } catch (error) {
          if (tries >= MAX_TRIES) throw error;
        }
      }
    } finally {
      untold -= jobs.length;
    }
  }

  /** Waits for the server as long as there is hope; whether it was told. */
  async function isTold(telling: Promise<void>): Promise<boolean> {
    if (away) return false;
    if (await endsWithin(telling, AWAY_MS)) return true;
    if (server.isThere() && await endsWithin(telling, HUNG_MS - AWAY_MS)) return true;
    away = true;
    return false;
  }

  return async (jobs, clock) => {
    const { driver, server: name } = server;
    if (away && untold + jobs.length > MAX_UNTOLD) {
      throw new StoreError(driver, `${name} is away, and ${untold} jobs wait for it already`);
    }
    const telling = tell(jobs, { id: crypto.randomUUID(), clock });
    telling.catch((error) => server.onError(error));
    try {
      if (await isTold(telling)) return;
    } catch (error) {
      const { message } = error as Error;
      throw new StoreError(driver, `${name} could not be told: ${message}`, { cause: error });
    }
    throw isAway(server, "it is told when it is back, unless this process ends before");
  };
}

/** The error of a server that is away: what becomes of it, and why that is so, as far as is known. */
export function isAway(
  { driver, server, trouble }: Pick<JobServer, "driver" | "server" | "trouble">,
  what: string,
): StoreError {
  const cause = trouble();
  if (cause === null) return new StoreError(driver, `${server} is away; ${what}`);
  const { message, code } = cause as Error & { readonly code?: unknown };
  // The error of a host with several addresses has a code and no message.
  const why = message || String(code ?? cause.name);
  return new StoreError(driver, `${server} is away; ${what}: ${why}`, { cause });
}
