/**
 * The clock: the only source of time in Pawl.
 *
 * Every timestamp that is stored or compared comes from `now()`, and every wait goes through
 * `setTimeout`, so that a fake clock governs the whole engine and no statement ever asks the
 * database for the time.
 *
 * @module
 */

/** The time, and waiting for it. */
export interface Clock {
  /** The current instant in epoch milliseconds. */
  now(): number;
  /** Calls `fn` after `ms` milliseconds; returns a handle for `clearTimeout`. */
  setTimeout(fn: () => void, ms: number): unknown;
  /** Forgets a timer. */
  clearTimeout(handle: unknown): void;
}

/** Timers beyond 2^31-1 ms fire at once in every runtime; a wait is cut to this and asked again. */
export const MAX_TIMER_MS = 2_147_483_647;

/**
 * The clock of the runtime. It looks `Date.now` and the global timers up at each call, so that a
 * fake time installed later governs it too.
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout: (fn, ms) => globalThis.setTimeout(fn, Math.min(ms, MAX_TIMER_MS)),
  clearTimeout: (handle) => globalThis.clearTimeout(handle as number),
};

/** Resolves after `ms` on this clock, or at once when the signal is or gets aborted. */
export function wait(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      clock.clearTimeout(handle);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const handle = clock.setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
  });
}
