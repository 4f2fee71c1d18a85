/**
 * A gate in the middle of a body: a test sees the body arrive, does something meanwhile, and lets
 * it go on.
 */

/** Where a body stops until a test lets it pass. */
export interface Gate {
  /** Resolves when a body has arrived. */
  readonly arrived: Promise<void>;
  /** What a body awaits; passes at once when the gate stands open. */
  pass(): Promise<void>;
  /** Lets everybody pass from now on. */
  open(): void;
  /** Makes everybody who waits fail with this error. */
  fail(error: Error): void;
}

/** Makes a closed gate. */
export function createGate(): Gate {
  const arrival = Promise.withResolvers<void>();
  const passage = Promise.withResolvers<void>();
  // A gate that fails before anybody stands at it is no unhandled rejection.
  passage.promise.catch(() => {});
  return {
    arrived: arrival.promise,
    async pass() {
      arrival.resolve();
      await passage.promise;
    },
    open: () => passage.resolve(),
    fail: (error) => passage.reject(error),
  };
}

/** What a body does that listens to nothing but its signal: it gives up with the signal's reason. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
