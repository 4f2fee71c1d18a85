/**
 * Waiting for a server, but not for ever.
 *
 * @module
 */

/**
 * The timers of the runtime, taken when the module is loaded: waiting for a server is no part of
 * the engine's time, and a fake clock that is installed later must not stop it.
 */
const { setTimeout: startTimer, clearTimeout: stopTimer } = globalThis;

/** Whether work ends within this time; when it fails, so does this. What ends later is let be. */
export async function endsWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: ReturnType<typeof startTimer> | undefined;
  const late = new Promise<false>((resolve) => {
    timer = startTimer(() => resolve(false), ms);
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    stopTimer(timer);
  }
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
