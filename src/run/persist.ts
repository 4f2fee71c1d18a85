/**
 * Writing persistently: a store that is away for a moment is asked again with a growing wait, as
 * long as the claim that the write stands on can still be ours.
 *
 * @module
 */

import { StoreError } from "../errors.ts";
import { wait } from "../seams/clock.ts";
import type { Core } from "./core.ts";

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 2_000;

/** How persistently to write. */
export interface Persistence {
  /** How long to try; default: until the lease must have ended. */
  readonly forMs?: number;
  /** Hears of every failure. */
  failed(error: unknown): void;
}

/** Tries a write again and again; rejects with the store's last error when the time is up. */
export async function persist<T>(
  core: Core,
  write: () => Promise<T>,
  { forMs = core.settings.leaseMs, failed }: Persistence,
): Promise<T> {
  const giveUpAt = core.clock.now() + forMs;
  let waitMs = FIRST_WAIT_MS;
  while (true) {
    try {
      return await write();
    } catch (error) {
      // What the database refuses it would refuse again, however long the wait.
      if (error instanceof StoreError && error.refused) throw error;
      failed(error);
      if (core.clock.now() + waitMs >= giveUpAt) throw error;
      await wait(core.clock, waitMs);
      waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
    }
  }
}
