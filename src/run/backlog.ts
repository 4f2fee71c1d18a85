/**
 * Fairness under a backlog: after a downtime there may be hours of work in front of whatever is
 * started now, and oldest first would let the new wait for all of it.
 *
 * So once many claims in a row were full of work that is late, a share of the claims takes the
 * newest work first. New work gets that share of the slots and waits for a few claims only, and the
 * backlog keeps the rest and drains from its old end. Work that is merely busy is not late, and
 * keeps its order.
 *
 * @module
 */

import type { Clock } from "../seams/clock.ts";
import type { Claimed } from "../state/claim.ts";

/** How many full claims in a row make a backlog. */
const PATIENT_CLAIMS = 10;
/** How late the oldest work of each must be. */
const LATE_MS = 5_000;
/** Then one claim of so many takes the newest work. */
const NEWEST_EVERY = 4;

/** What a worker knows of the work that waits. */
export interface Backlog {
  /** Whether the next claim takes the newest work first. */
  newestFirst(): boolean;
  /** Takes note of a claim: what it was granted of how many slots. */
  note(claims: readonly Claimed[], slots: number): void;
}

/** Watches for a backlog. */
export function createBacklog(clock: Clock): Backlog {
  let fullClaims = 0;
  const newestFirst = (): boolean => fullClaims > PATIENT_CLAIMS && fullClaims % NEWEST_EVERY === 0;

  return {
    newestFirst,
    note(claims, slots) {
      const [first] = claims;
      const isFull = first !== undefined && claims.length === slots;
      // Of the newest work it cannot be told how long the oldest waits.
      const isLate = newestFirst() ||
        (isFull && clock.now() - first.execution.scheduledFor.getTime() > LATE_MS);
      fullClaims = isFull && isLate ? fullClaims + 1 : 0;
    },
  };
}
