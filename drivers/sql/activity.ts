/**
 * The statements behind the charts: what ended when, and who is at work. Each bucket is a branch of
 * its own, because arithmetic on times is different in every database, while a range of times is
 * the same everywhere and is read from the index of ends alone.
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
import type { ExecutionState, Outcome } from "../../src/state/records.ts";
import { type Plan, rowsOf, together } from "./client.ts";
import type { Column } from "./dialect.ts";
import type { Ground } from "./statements.ts";
import { template } from "./texts.ts";

/** The statements behind the charts. */
export interface Activities {
  /** What ended in a span of time, and who is at work now. */
  activity(options: ActivityOptions): Plan<Activity>;
}

const LEASE_UNTIL: Column = { name: "lease_until", kind: "time" };
/** Every one of them holds work that is not finished, so there are never very many. */
const MAX_WORKERS = 1_000;

/** Makes the statements behind the charts. */
export function activities({ dialect, tables, codec }: Ground): Activities {
  const ends = template(dialect, (count) =>
    Array.from(
      { length: Number(count) },
      (_, at) =>
        `SELECT ${at} AS bucket, e.state, e.outcome, COUNT(*) AS total FROM ${tables.executions} e ` +
        `WHERE e.finished_at >= ? AND e.finished_at < ? GROUP BY e.state, e.outcome`,
    ).join(" UNION ALL "));
  const latest = dialect.selected?.(LEASE_UNTIL, "MAX(e.lease_until)") ??
    "MAX(e.lease_until) AS lease_until";
  const workers = template(
    dialect,
    (limit) =>
      `SELECT e.worker, COUNT(*) AS total, ${latest} FROM ${tables.executions} e ` +
      `WHERE e.state = 'in_progress' AND e.wake_at IS NOT NULL AND e.worker IS NOT NULL ` +
      `GROUP BY e.worker ORDER BY e.worker ${limit}`,
  );

  function* endsBetween(bounds: readonly Date[]): Plan<EndCount[]> {
    const spans = bounds.slice(1).map((end, at) => [bounds[at] as Date, end]);
    const params = spans.flat().map((bound) => codec.timeIn(bound));
    return (yield* rowsOf({ text: ends(String(spans.length)), params })).map((row) => ({
      bucket: Number(row.bucket),
      state: row.state as ExecutionState,
      outcome: row.outcome as Outcome | null,
      count: Number(row.total),
    }));
  }

  function* atWork(): Plan<WorkerActivity[]> {
    const limit = dialect.limit(MAX_WORKERS);
    return (yield* rowsOf({ text: workers(limit.text), params: limit.params })).map((row) => ({
      worker: row.worker as string,
      running: Number(row.total),
      leaseUntil: codec.timeOut(row.lease_until),
    }));
  }

  return {
    *activity(options) {
      const bounds = bucketBounds(options);
      const [counts, busy] = yield* together([endsBetween(bounds), atWork()]);
      return { buckets: fillBuckets(bounds, counts), workers: busy };
    },
  };
}
