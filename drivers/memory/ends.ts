/**
 * The executions that have ended, in the order of their ends: what charts are drawn from.
 *
 * @module
 */

import {
  type Activity,
  type ActivityOptions,
  bucketBounds,
  type EndCount,
  fillBuckets,
  type WorkerActivity,
} from "../../src/state/activity.ts";
import type { ExecutionRow } from "../../src/state/records.ts";

/** The executions that have a `finishedAt`, sorted by it. */
export interface Ends {
  /** Replaces an execution's entry; either may be absent or not have ended. */
  move(before: ExecutionRow | null, after: ExecutionRow | null): void;
  /** Those that ended from an instant on and before another. */
  between(since: Date, until: Date): readonly ExecutionRow[];
}

/** Makes the list of an empty store. */
export function createEnds(): Ends {
  const ended: ExecutionRow[] = [];
  return {
    move(before, after) {
      if (before !== null && before.finishedAt !== null) {
        let at = placeOf(ended, endOf(before));
        while (at < ended.length && ended[at]?.id !== before.id) at++;
        ended.splice(at, 1);
      }
      if (after !== null && after.finishedAt !== null) {
        // Ends come in the order of time, or nearly so: almost always this is a push.
        ended.splice(placeOf(ended, endOf(after) + 1), 0, after);
      }
    },
    between: (since, until) =>
      ended.slice(placeOf(ended, since.getTime()), placeOf(ended, until.getTime())),
  };
}

/** How many ended before an instant, by bisection. */
function placeOf(ended: readonly ExecutionRow[], instant: number): number {
  let low = 0;
  let high = ended.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (endOf(ended[middle] as ExecutionRow) < instant) low = middle + 1;
    else high = middle;
  }
  return low;
}

function endOf(row: ExecutionRow): number {
  return row.finishedAt?.getTime() ?? Infinity;
}

/** What ended in a span of time, and who holds the live executions. */
export function activityOf(
  ends: Ends,
  live: Iterable<ExecutionRow>,
  options: ActivityOptions,
): Activity {
  const bounds = bucketBounds(options);
  return { buckets: fillBuckets(bounds, countsOf(ends, bounds)), workers: workersOf(live) };
}

function* countsOf(ends: Ends, bounds: readonly Date[]): Generator<EndCount> {
  for (const [bucket, from] of bounds.slice(0, -1).entries()) {
    for (const { state, outcome } of ends.between(from, bounds[bucket + 1] as Date)) {
      yield { bucket, state, outcome, count: 1 };
    }
  }
}

function workersOf(live: Iterable<ExecutionRow>): WorkerActivity[] {
  const workers = new Map<string, { running: number; leaseUntil: Date }>();
  for (const { state, worker, leaseUntil } of live) {
    if (state !== "in_progress" || worker === null || leaseUntil === null) continue;
    const known = workers.get(worker) ?? { running: 0, leaseUntil };
    const latest = known.leaseUntil > leaseUntil ? known.leaseUntil : leaseUntil;
    workers.set(worker, { running: known.running + 1, leaseUntil: latest });
  }
  return [...workers].map(([worker, known]) => ({ worker, ...known }))
    .sort((a, b) => a.worker < b.worker ? -1 : 1);
}
