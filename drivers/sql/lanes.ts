/**
 * The statements that look for work and lock what they find. The live index is divided into lanes
 * of one state, queue and priority, each in the order of `wake_at`; rows that others hold are
 * skipped, because there is other work to find.
 *
 * @module
 */

import type { ExecutionRow, WorkflowRow } from "../../src/state/records.ts";
import { eachOf, nothing, type Plan, rowsOf, type SqlRow, type SqlScalar } from "./client.ts";
import { type Column, type Dialect, liveJoin } from "./dialect.ts";
import { executionReader, pairColumns, WORKFLOW_PREFIX, workflowReader } from "./rows.ts";
import type { Ground } from "./statements.ts";
import { template } from "./texts.ts";

/** The states of live executions. */
export type LiveState = "scheduled" | "in_progress";

/** Which end of a lane is taken first; an index is read from either. */
export type Order = "oldest" | "newest";

const ORDERS: Readonly<Record<Order, string>> = {
  oldest: "e.wake_at",
  newest: "e.wake_at DESC",
};

/** What live executions have in common that are next to each other in the live index. */
export interface Lane {
  /** Scheduled, or in progress. */
  readonly state: LiveState;
  /** The queue. */
  readonly queue: string;
  /** The priority. */
  readonly priority: number;
  /** When the first of them wakes. */
  readonly wakeAt: Date;
}

/** An execution with its workflow. */
export interface Pair {
  /** The workflow. */
  readonly workflow: WorkflowRow;
  /** The execution. */
  readonly execution: ExecutionRow;
}

/** The statements that look for work. */
export interface DueLocks {
  /** The lanes that live executions are in. */
  lanes(states: readonly LiveState[]): Plan<Lane[]>;
  /** Locks what wakes at or before an instant, at most `limit` of each lane, in this order. */
  due(
    lanes: readonly (Pick<Lane, "state" | "queue" | "priority"> & { readonly before: Date })[],
    limit: number,
    order: Order,
  ): Plan<Pair[][]>;
  /**
   * Locks what is due in the lanes of the best priority, in this order, at most `limit` of each lane;
   * `more`: there is something due in others. Null where that takes several statements.
   */
  best(
    states: readonly LiveState[],
    which: {
      readonly scheduled: Date;
      readonly inProgress: Date;
      readonly queues: readonly string[] | undefined;
    },
    limit: number,
    order: Order,
  ): Plan<{ readonly pairs: Pair[]; readonly more: boolean } | null>;
  /** Locks workflows of a name that ended before an instant, the longest ended first. */
  ended(name: string, before: Date, limit: number): Plan<SqlScalar[]>;
}

/** Makes the statements that look for work. */
export function dueLocks(ground: Ground): DueLocks {
  const { dialect, tables, codec } = ground;
  const { skip } = dialect.lock;
  const executionOf = executionReader(codec);
  const workflowOf = workflowReader(codec, WORKFLOW_PREFIX);
  const lanes = dialect.lanes?.(tables) ?? portableLanes(ground);
  // A body may run on after its workflow was paused or canceled: its lease ends all the same.
  const due = template(
    dialect,
    (order, limit) =>
      `SELECT ${pairColumns(dialect)} FROM ${liveJoin(dialect, tables, "live")} ` +
      `WHERE e.state = ? AND e.queue = ? AND e.priority = ? AND e.wake_at <= ? ` +
      `AND (e.state = 'in_progress' OR w.state = 'ready') ORDER BY ${order} ${limit}${skip}`,
  );
  const ended = template(
    dialect,
    (limit) =>
      `SELECT id FROM ${tables.workflows} WHERE name = ? AND ${ENDED} ` +
      `AND transitioned_at < ? ORDER BY transitioned_at ${limit}${skip}`,
  );

  return {
    best: bestLock(ground),
    *lanes(states) {
      return (yield* lanes(states)).map((row) => ({
        state: row.state as LiveState,
        queue: row.queue as string,
        priority: Number(row.priority),
        wakeAt: codec.timeOut(row.wake_at),
      }));
    },
    *due(wanted, count, order) {
      const limit = dialect.limit(count);
      const runs = wanted.map((
        lane,
      ) => [lane.state, lane.queue, lane.priority, codec.timeIn(lane.before), ...limit.params]);
      const replies = yield* eachOf(due(ORDERS[order], limit.text), runs);
      const pairOf = (row: SqlRow): Pair => ({
        workflow: workflowOf(row),
        execution: executionOf(row),
      });
      return replies.map((reply) => reply.rows.map(pairOf));
    },
    *ended(name, before, count) {
      const limit = dialect.limit(count);
      const params = [name, codec.timeIn(before), ...limit.params];
      const rows = yield* rowsOf({ text: ended(limit.text), params });
      return rows.map((row) => codec.idIn(codec.idOut(row.id)));
    },
  };
}

function bestLock(ground: Ground): DueLocks["best"] {
  const { dialect, tables, codec } = ground;
  const { best } = dialect;
  if (best === undefined) return () => nothing(null);
  const executionOf = executionReader(codec);
  const workflowOf = workflowReader(codec, WORKFLOW_PREFIX);
  const text = template(dialect, (order, ...states) =>
    best({
      lanes: laneText({}, tables.executions, states),
      columns: pairColumns(dialect),
      from: liveJoin(dialect, tables, "live"),
      order: order as string,
    }));
  return function* (states, { scheduled, inProgress, queues }, limit, order) {
    const bounds = [codec.timeIn(inProgress), codec.timeIn(scheduled)];
    const params = [...bounds, queues ?? null, limit];
    const rows = yield* rowsOf({ text: text(ORDERS[order], ...states), params });
    return {
      // A lane whose rows are all held by others answers none of them.
      pairs: rows.filter((row) => row.id !== null).map((row) => ({
        workflow: workflowOf(row),
        execution: executionOf(row),
      })),
      more: rows.some((row) => codec.booleanOut(row.more)),
    };
  };
}

const WAKE_AT: Column = { name: "wake_at", kind: "time" };

/** Workflows that have ended; partial indexes say it in these very words. */
const ENDED = "state IN ('finished', 'canceled')";

function portableLanes(
  { dialect, tables }: Ground,
): (states: readonly string[]) => Plan<readonly SqlRow[]> {
  const text = template(dialect, (...states) => laneText(dialect, tables.executions, states));
  return function* (states) {
    const replies = yield { text: text(...states), runs: [[]], peek: true };
    return replies[0]?.rows ?? [];
  };
}

/**
 * Which lanes there are, by jumping from one to the next in the live index: its cost is the number
 * of lanes, however many executions wait in them.
 */
function laneText(
  { selected }: Pick<Dialect, "selected">,
  executions: string,
  states: readonly string[],
): string {
  const seeds = states.map((state) => `SELECT '${state}' AS state`).join(" UNION ALL ");
  const least = (column: string, where: string): string =>
    `(SELECT MIN(e.${column}) FROM ${executions} e WHERE ${where} AND e.wake_at IS NOT NULL)`;
  const ofQueue = (at: string): string => `e.state = ${at}.state AND e.queue = ${at}.queue`;
  const earliest = least("wake_at", `${ofQueue("l")} AND e.priority = l.priority`);
  return `WITH RECURSIVE queues (state, queue) AS (` +
    `SELECT s.state, ${least("queue", "e.state = s.state")} FROM (${seeds}) s ` +
    `UNION ALL SELECT q.state, ${least("queue", "e.state = q.state AND e.queue > q.queue")} ` +
    `FROM queues q WHERE q.queue IS NOT NULL), ` +
    `lanes (state, queue, priority) AS (` +
    `SELECT q.state, q.queue, ${least("priority", ofQueue("q"))} ` +
    `FROM queues q WHERE q.queue IS NOT NULL ` +
    `UNION ALL SELECT l.state, l.queue, ` +
    `${least("priority", `${ofQueue("l")} AND e.priority > l.priority`)} ` +
    `FROM lanes l WHERE l.priority IS NOT NULL) ` +
    `SELECT l.state, l.queue, l.priority, ` +
    `${selected?.(WAKE_AT, earliest) ?? `${earliest} AS wake_at`} ` +
    `FROM lanes l WHERE l.priority IS NOT NULL`;
}
