/**
 * Turns inside a transaction, and patience with a server that is busy.
 *
 * @module
 */

/**
 * The timers of the runtime, taken when the module is loaded: waiting for a server is no part of the
 * engine's time, and a fake clock that is installed later must not stop it.
 */
const startTimer = globalThis.setTimeout;
const stopTimer = globalThis.clearTimeout;

/** Runs work when all that came before has ended. */
export type Turns = <T>(work: () => Promise<T>) => Promise<T>;

/** Makes turns: first come, first served. */
export function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => {});
    return mine;
  };
}

/** Waits for so many milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => startTimer(resolve, ms));
}

/**
 * Waits for a promise, but not longer than so many milliseconds.
 *
 * @param late Called with the value when it comes after all; an error that comes late is dropped.
 * @returns The value, or null when it did not come in time.
 */
export async function inTime<T extends object>(
  promise: Promise<T>,
  ms: number,
  late: (value: T) => void,
): Promise<T | null> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<null>((resolve) => {
    timer = startTimer(() => {
      promise.then(late, () => {});
      resolve(null);
    }, ms);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    stopTimer(timer);
  }
}

const FIRST_WAIT_MS = 4;
const LONGEST_WAIT_MS = 250;

/** How long to wait before the next of several tries: longer each time, a part of it at random. */
export function jittered(tries: number): number {
  // Two that met once should not meet again.
  return Math.min(FIRST_WAIT_MS * 2 ** (tries - 1), LONGEST_WAIT_MS) *
    (0.25 + Math.random() * 0.75);
}
