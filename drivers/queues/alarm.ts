/**
 * The alarm of a queue that polls: it rings at an interval, and earlier when somebody knows of work
 * that is due before.
 *
 * @module
 */

import type { ListenOptions } from "../../src/seams/queue.ts";

/** When somebody who polls looks next. */
export interface Alarm {
  /** Resolves at the next poll, or earlier when somebody asked for it. */
  next(): Promise<void>;
  /** Asks for a look at this instant at the latest. */
  noLaterThan(at: number): void;
}

/**
 * How many instants an alarm remembers, the nearest ones. What it forgets is found by the poll all
 * the same, only not to the millisecond.
 */
const MAX_ASKED = 1_000;

/** Makes the alarm of one listener; it rings at its poll, when it was asked to, and on abort. */
export function createAlarm({ clock, pollMs, signal }: ListenOptions): Alarm {
  // In ascending order, each instant once.
  const asked: number[] = [];
  let ring: (() => void) | null = null;
  let timer: unknown = null;
  let pollAt = 0;

  function arm(): void {
    if (ring === null) return;
    if (timer !== null) clock.clearTimeout(timer);
    const now = clock.now();
    const earliest = Math.min(asked[0] ?? Infinity, pollAt);
    timer = clock.setTimeout(() => ring?.(), Math.max(0, earliest - now));
  }

  return {
    noLaterThan(at) {
      const place = placeOf(asked, at);
      if (asked[place] === at || place >= MAX_ASKED) return;
      asked.splice(place, 0, at);
      if (asked.length > MAX_ASKED) asked.pop();
      if (place > 0) return;
      // A timer would take a millisecond for what is due already.
      if (at <= clock.now()) ring?.();
      else arm();
    },
    next: () =>
      new Promise((resolve) => {
        const wake = (): void => {
          if (timer !== null) clock.clearTimeout(timer);
          timer = null;
          ring = null;
          signal.removeEventListener("abort", wake);
          const now = clock.now();
          asked.splice(0, placeOf(asked, now + 1));
          resolve();
        };
        if (signal.aborted) return resolve();
        ring = wake;
        pollAt = clock.now() + pollMs;
        signal.addEventListener("abort", wake, { once: true });
        arm();
      }),
  };
}

/** Where an instant stands or belongs in ascending instants, by bisection. */
function placeOf(instants: readonly number[], at: number): number {
  let low = 0;
  let high = instants.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((instants[middle] as number) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}
