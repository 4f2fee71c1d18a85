/**
 * Which queues a listener serves: those it was told, or whatever there is.
 *
 * @module
 */

import { wait } from "../../src/seams/clock.ts";
import type { ListenOptions } from "../../src/seams/queue.ts";
import { aborted } from "./patience.ts";

/** The lanes of a server, each for one queue. */
export interface Lanes {
  /** The lane of a queue. */
  laneOf(queue: string): string;
  /** The lanes that are there now. */
  all(): Promise<readonly string[]>;
  /** Those in this process who want to know each lane that gets a job. */
  readonly curious: Set<(lane: string) => void>;
}

/**
 * Calls `serve` for each lane of a listener, at least once, until the signal is aborted. A lane that
 * somebody else has made is found at the next look; those of this process are heard of at once.
 */
export async function serveLanes(
  { laneOf, all, curious }: Lanes,
  serve: (lane: string) => void,
  { queues, signal, clock, pollMs }: ListenOptions,
): Promise<void> {
  if (queues !== undefined) {
    for (const queue of queues) serve(laneOf(queue));
    return await aborted(signal);
  }
  const over = aborted(signal);
  curious.add(serve);
  try {
    while (!signal.aborted) {
      const looking = all().catch((): readonly string[] => []);
      for (const lane of await Promise.race([looking, over]) ?? []) serve(lane);
      await wait(clock, pollMs, signal);
    }
  } finally {
    curious.delete(serve);
  }
}
