/**
 * Activity: how many executions ended in each slice of a span of time, by how they ended, and who is
 * at work now. What a chart of throughput and failures is drawn from.
 *
 * @module
 */

import { InvalidInputError } from "../errors.ts";
import type { ExecutionState, Outcome } from "./records.ts";

/** The span of time to look at, and how it is cut. */
export interface ActivityOptions {
  /** Where the first bucket begins. */
  readonly since: Date;
  /** Where the last bucket ends; this very instant is not part of it. */
  readonly until: Date;
  /** Into how many buckets of equal length the span is cut; at most 200. */
  readonly buckets: number;
}

/** In what way an execution has ended, as far as a chart tells them apart. */
export type ActivityClass = "completed" | "reattempted" | "failed" | "skipped" | "canceled";

/** The executions that ended in one slice of time. */
export interface ActivityBucket extends Readonly<Record<ActivityClass, number>> {
  /** Where the slice begins; it ends where the next one begins. */
  readonly from: Date;
}

/** A worker that holds executions. */
export interface WorkerActivity {
  /** The worker's name, unique per start of its process. */
  readonly worker: string;
  /** How many executions it holds. */
  readonly running: number;
  /** Until when the latest of its claims holds: past, when it has gone silent. */
  readonly leaseUntil: Date;
}

/** What ended in a span of time, and who is at work now. */
export interface Activity {
  /** As many as were asked for, oldest first, empty ones included. */
  readonly buckets: readonly ActivityBucket[];
  /** The workers that hold executions, by name; an idle worker leaves no trace. */
  readonly workers: readonly WorkerActivity[];
}

/** More slices than this are more than a chart can show. */
export const MAX_BUCKETS = 200;

/**
 * Where the buckets begin, and at last where the final one ends.
 *
 * @throws {InvalidInputError} When the span is empty, or cut into too many or too thin slices.
 */
export function bucketBounds({ since, until, buckets }: ActivityOptions): Date[] {
  const spanMs = until.getTime() - since.getTime();
  const isWhole = Number.isSafeInteger(buckets) && buckets >= 1 && buckets <= MAX_BUCKETS;
  if (!isWhole || !(spanMs >= buckets)) {
    throw new InvalidInputError(
      `Cannot cut ${spanMs} ms into ${buckets} buckets: use a whole number from 1 to ` +
        `${MAX_BUCKETS}, and a millisecond or more for each`,
    );
  }
  return Array.from(
    { length: buckets + 1 },
    (_, at) => new Date(since.getTime() + Math.floor(spanMs * at / buckets)),
  );
}

/** Tells in what way an execution ended: a retry is one whatever state its row was closed in. */
export function activityClass(state: ExecutionState, outcome: Outcome | null): ActivityClass {
  if (outcome === "reattempted") return "reattempted";
  if (outcome === "recovered" && state === "completed") return "reattempted";
  return state === "failed" || state === "skipped" || state === "canceled" ? state : "completed";
}

/** So many executions that ended alike in one bucket. */
export interface EndCount {
  /** The bucket's place, from 0. */
  readonly bucket: number;
  /** The state they were closed in. */
  readonly state: ExecutionState;
  /** Their outcome. */
  readonly outcome: Outcome | null;
  /** How many. */
  readonly count: number;
}

/** Sums counts up into buckets. */
export function fillBuckets(bounds: readonly Date[], counts: Iterable<EndCount>): ActivityBucket[] {
  const buckets = bounds.slice(0, -1).map((from) => ({
    from,
    completed: 0,
    reattempted: 0,
    failed: 0,
    skipped: 0,
    canceled: 0,
  }));
  for (const { bucket, state, outcome, count } of counts) {
    const one = buckets[bucket];
    if (one !== undefined) one[activityClass(state, outcome)] += count;
  }
  return buckets;
}
