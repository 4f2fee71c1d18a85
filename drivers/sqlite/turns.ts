/**
 * Turns on a connection, and patience with a database that is busy.
 *
 * A connection has one transaction at a time. As long as a transaction runs without an await nobody
 * can slip in; but a step's transaction and `beforeCommit` stay open across awaits, and then
 * everybody else has to wait for his turn.
 *
 * @module
 */

import { MAX_TIMER_MS } from "../../src/seams/clock.ts";

/**
 * The timers of the runtime, taken when the module is loaded: waiting for another process is no
 * part of the engine's time, and a fake clock that is installed later must not stop it.
 */
const startTimer = globalThis.setTimeout;
const stopTimer = globalThis.clearTimeout;

/** Who may use a connection next. */
export interface Turns {
  /** Takes the turn when nobody has it. */
  takeNow(): boolean;
  /** Waits for the turn, first come first served; false when it did not come in time. */
  take(waitMs: number): Promise<boolean>;
  /** Hands the turn on. */
  give(): void;
}

/** Makes the turns of one connection. */
export function createTurns(): Turns {
  let taken = false;
  const waiting: (() => void)[] = [];
  return {
    takeNow() {
      if (taken) return false;
      taken = true;
      return true;
    },
    take: (waitMs) =>
      new Promise((resolve) => {
        const mine = (): void => {
          stopTimer(timer);
          resolve(true);
        };
        const timer = startTimer(() => {
          waiting.splice(waiting.indexOf(mine), 1);
          resolve(false);
        }, Math.min(waitMs, MAX_TIMER_MS));
        waiting.push(mine);
      }),
    give() {
      const next = waiting.shift();
      // The turn goes straight to the next in line, so that nobody can jump the queue.
      if (next === undefined) taken = false;
      else next();
    },
  };
}

/** How long a call still waits for a database that is busy. */
export interface Patience {
  /** The milliseconds that are left. */
  left(): number;
  /** Waits a little, longer each time; false when there is no time left. */
  wait(): Promise<boolean>;
}

const FIRST_WAIT_MS = 10;
const LONGEST_WAIT_MS = 100;

/** Makes patience for so many milliseconds in all. */
export function patienceOf(totalMs: number): Patience {
  const until = performance.now() + totalMs;
  let waitMs = FIRST_WAIT_MS;
  const left = (): number => Math.max(0, until - performance.now());
  return {
    left,
    async wait() {
      const rest = left();
      if (rest === 0) return false;
      // Half of it at random: processes that met once should not meet again.
      const ms = Math.min(rest, waitMs * (0.5 + Math.random() / 2));
      waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
      await new Promise<void>((resolve) => startTimer(resolve, ms));
      return true;
    },
  };
}
