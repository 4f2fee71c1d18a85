/**
 * Doubles of the drivers: a queue that remembers, a logger that keeps its lines, a store that can
 * be made to fail.
 */

import type { Job, Logger, QueueDriver, StoreDriver } from "../../mod.ts";

/** A queue outside of the process that delivers nothing by itself and remembers what it was told. */
export interface RecordingQueue extends QueueDriver {
  /** The jobs it was told of, in order. */
  readonly jobs: Job[];
  /** The jobs since the last call. */
  take(): Job[];
}

/** Makes a recording queue; it is told after the store's commit, unless the options say otherwise. */
export function recordingQueue(options: Partial<QueueDriver> = {}): RecordingQueue {
  const jobs: Job[] = [];
  let taken = 0;
  return {
    name: "recording",
    commit: "after-store",
    jobs,
    take() {
      const fresh = jobs.slice(taken);
      taken = jobs.length;
      return fresh;
    },
    enqueue(more) {
      jobs.push(...more);
      return Promise.resolve();
    },
    listen: (_, { signal }) =>
      new Promise((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener("abort", () => resolve(), { once: true });
      }),
    close: () => Promise.resolve(),
    ...options,
  };
}

/** A line that was logged. */
export interface Line {
  /** How loud. */
  readonly level: keyof Logger;
  /** What it says. */
  readonly message: string;
  /** Its tags and fields. */
  readonly fields: Record<string, unknown>;
}

/** Makes a logger that keeps its lines. */
export function recordingLogger(): Logger & { readonly lines: Line[] } {
  const lines: Line[] = [];
  const at = (level: keyof Logger) => (message: string, fields: Record<string, unknown> = {}) =>
    void lines.push({ level, message, fields });
  return { lines, debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** A store with some members replaced; `real` is the member that was there. */
export function storeWith(
  store: StoreDriver,
  change: (real: StoreDriver) => Partial<StoreDriver>,
): StoreDriver {
  const changes = change(store) as Record<PropertyKey, unknown>;
  return new Proxy(store, {
    get: (target, name) => name in changes ? changes[name] : Reflect.get(target, name),
  });
}

/** Resolves when a condition holds; fails loudly when it does not come to hold in so many looks. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  maxLooks: number = 2_000,
): Promise<void> {
  for (let looks = 0; looks < maxLooks; looks++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  throw new Error("The condition that a test waits for did not come to hold");
}
