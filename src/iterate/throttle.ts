/**
 * Throttles: checks before every item that can put the rest of the work off.
 *
 * @module
 */

import type { Duration } from "../define/durations.ts";
import { durationMs } from "../define/durations.ts";
import type { InterruptRequest } from "./deps.ts";
import { callable } from "./options.ts";

/** A check before every item. */
export interface Throttle {
  /** True: not now. */
  readonly predicate: () => boolean | Promise<boolean>;
  /** How long to wait then. */
  readonly backoffMs: number;
}

/** Checks what the user gave and makes a throttle of it. */
export function createThrottle(
  predicate: () => boolean | Promise<boolean>,
  options: { readonly backoff: Duration },
): Throttle {
  callable(predicate, "the predicate of a throttle");
  return { predicate, backoffMs: durationMs(options?.backoff, "the backoff of a throttle") };
}

/** Asks the throttles in their order; null when none of them holds the work back. */
export async function heldBack(throttles: readonly Throttle[]): Promise<InterruptRequest | null> {
  for (const { predicate, backoffMs } of throttles) {
    if (await predicate()) return { kind: "interrupt", reason: "throttled", waitMs: backoffMs };
  }
  return null;
}
