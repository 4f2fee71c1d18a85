/**
 * Readings that open pages share. Ten readers of one page cost the database as much as one, and the
 * slower a reading is, the rarer it is made: it never takes more than a tenth of the time.
 *
 * @module
 */

import type { Clock } from "../seams/clock.ts";

/** A value that is read again when it is old enough. */
export interface Reading<T> {
  /** The value, at most so old as its interval. */
  recent(): Promise<T>;
  /** The value as it is now, whatever it costs. */
  fresh(): Promise<T>;
}

/** The share of the time that a reading may take. */
const PATIENCE = 10;

/** Makes a reading that is made again at most every so many milliseconds. */
export function createReading<T>(
  read: () => Promise<T>,
  { clock, everyMs }: { readonly clock: Clock; readonly everyMs: number },
): Reading<T> {
  let last: { readonly value: T; readonly atMs: number; readonly tookMs: number } | null = null;
  let underWay: Promise<T> | null = null;

  async function make(): Promise<T> {
    const begunMs = clock.now();
    const value = await read();
    last = { value, atMs: begunMs, tookMs: Math.max(0, clock.now() - begunMs) };
    return value;
  }

  return {
    fresh: make,
    recent() {
      if (underWay !== null) return underWay;
      if (last !== null) {
        const ageMs = clock.now() - last.atMs;
        // A clock that was set back must not keep a value for ever.
        const isYoung = ageMs >= 0 && ageMs < Math.max(everyMs, last.tookMs * PATIENCE);
        if (isYoung) return Promise.resolve(last.value);
      }
      underWay = make().finally(() => underWay = null);
      return underWay;
    },
  };
}
