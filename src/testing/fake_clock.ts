/**
 * A clock that only moves when it is told to: waits of days run in milliseconds.
 *
 * Moving it fires, in order, the timers that become due on the way, and after each of them waits
 * until what it started has come to rest. Work that waits for a later timer of this very clock is
 * at rest too, or else the clock could never reach that timer.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import { type Duration, durationMs } from "../define/durations.ts";
import type { Clock } from "../seams/clock.ts";

/** A clock that a test moves. */
export interface FakeClock extends Clock {
  /** Moves the clock forward and runs what becomes due on the way. */
  tick(duration: Duration): Promise<void>;
  /** Moves the clock to the next timer and runs it; false when there is none. */
  next(): Promise<boolean>;
  /** Sets the clock, forward or backward, without running anything. */
  travelTo(instant: Date | number): void;
  /** How many timers wait. */
  readonly timers: number;
}

/** What a fake clock may be told. */
export interface FakeClockOptions {
  /** Where it starts; default 2026-01-01T00:00:00Z. */
  readonly now?: Date | number;
  /** Resolves when nothing runs; the clock waits for it after every timer. */
  readonly idle?: () => Promise<void>;
  /** Whether something that nobody can hurry is under way, such as a query to a server. */
  readonly busy?: () => boolean;
}

interface Timer {
  readonly at: number;
  readonly fn: () => void;
}

const DEFAULT_START = Date.UTC(2026, 0, 1);

/** Makes a clock that only moves when it is told to. */
export function createFakeClock(options: FakeClockOptions = {}): FakeClock {
  const timers = new Map<number, Timer>();
  let now = new Date(options.now ?? DEFAULT_START).getTime();
  let handles = 0;

  function earliest(until: number): number | null {
    let found: number | null = null;
    for (const [handle, { at }] of timers) {
      // A Map keeps the order of insertion, so of two at one instant the older is taken.
      if (at <= until && (found === null || at < (timers.get(found) as Timer).at)) found = handle;
    }
    return found;
  }

  async function fire(handle: number): Promise<void> {
    const { at, fn } = timers.get(handle) as Timer;
    timers.delete(handle);
    now = Math.max(now, at);
    fn();
    await rest(options);
  }

  return {
    now: () => now,
    setTimeout(fn, ms) {
      timers.set(++handles, { at: now + Math.max(0, ms), fn });
      return handles;
    },
    clearTimeout: (handle) => void timers.delete(handle as number),
    get timers() {
      return timers.size;
    },
    travelTo: (instant) => void (now = new Date(instant).getTime()),
    async tick(duration) {
      const target = now + durationMs(duration, "the time to tick");
      await rest(options);
      for (let due = earliest(target); due !== null; due = earliest(target)) await fire(due);
      now = Math.max(now, target);
    },
    async next() {
      await rest(options);
      const handle = earliest(Infinity);
      if (handle === null) return false;
      await fire(handle);
      return true;
    },
  };
}

/** How long, in real time, work may do nothing that can be seen before it counts as at rest. */
const PATIENCE_MS = 25;

/** An engine lets the event loop turn now and then, so that others have their turn. */
const MIN_TURNS = 3;

/** Waits until nothing runs, or until what runs seems to wait for the clock itself. */
async function rest({ idle, busy }: FakeClockOptions): Promise<void> {
  let atRest = idle === undefined;
  void idle?.().then(() => void (atRest = true));
  let quietSince = performance.now();
  for (
    let turns = 0;
    turns < MIN_TURNS || (!atRest && performance.now() - quietSince < PATIENCE_MS);
    turns++
  ) {
    await new Promise<void>((resolve) => void setImmediate(resolve));
    if (busy?.()) quietSince = performance.now();
  }
}
