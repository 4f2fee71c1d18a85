/**
 * The statements that lock what a write is about to settle, and the one order in which they do it:
 * workflow rows first, then execution rows, each by id. Whoever keeps to it cannot deadlock.
 *
 * A claim of named executions waits for rows that others hold, because its job would be lost if it
 * passed them by; a claim of whatever is due skips them, because there is other work to find.
 *
 * @module
 */

import type { ExecutionRow, WorkflowRow } from "../../src/state/records.ts";
import type { SignalRow } from "../../src/state/signal.ts";
import {
  eachOf,
  nothing,
  type Plan,
  rowsOf,
  type SqlRow,
  type SqlScalar,
  together,
} from "./client.ts";
import { type Column, type Dialect, liveJoin } from "./dialect.ts";
import {
  columnList,
  EXECUTION_FIELDS,
  executionReader,
  ID,
  pairColumns,
  pick,
  SIGNAL_FIELDS,
  signalReader,
  WORKFLOW_FIELDS,
  WORKFLOW_PREFIX,
  workflowReader,
} from "./rows.ts";
import type { Ground } from "./statements.ts";
import { type Template, template } from "./texts.ts";

/** The states of live executions. */
export type LiveState = "scheduled" | "in_progress";

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

/** A workflow and the name of a signal. */
export interface SignalQuery {
  /** The workflow's id. */
  readonly workflowId: string;
  /** The signal's name. */
  readonly name: string;
}

/** The statements that lock. */
export interface Locks {
  /** Locks one workflow. */
  workflow(id: SqlScalar): Plan<WorkflowRow | null>;
  /** Locks the newest execution of a workflow: the active one, if any is active. */
  last(workflowId: SqlScalar): Plan<ExecutionRow | null>;
  /** Locks executions with their workflows, in any order given; unknown ids are not answered. */
  pairs(executionIds: readonly SqlScalar[]): Plan<Pair[]>;
  /** The same, but of rows that were seen, by the execution's id, only what may have changed is read. */
  held(executionIds: readonly SqlScalar[], seen: ReadonlyMap<string, Pair>): Plan<Pair[]>;
  /** The oldest kept signal for each query, or null. */
  keptSignals(queries: readonly SignalQuery[]): Plan<(SignalRow | null)[]>;
  /** The signal of a workflow with this idempotency key. */
  knownSignal(workflowId: SqlScalar, key: string): Plan<SignalRow | null>;
  /** The lanes that live executions are in. */
  lanes(states: readonly LiveState[]): Plan<Lane[]>;
  /** Locks what wakes at or before an instant, at most `limit` of each lane, oldest first. */
  due(
    lanes: readonly (Pick<Lane, "state" | "queue" | "priority"> & { readonly before: Date })[],
    limit: number,
  ): Plan<Pair[][]>;
  /**
   * Locks what is due in the lanes of the best priority, oldest first, at most `limit` of each lane;
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
  ): Plan<{ readonly pairs: Pair[]; readonly more: boolean } | null>;
  /** Locks workflows of a name that ended before an instant, the longest ended first. */
  ended(name: string, before: Date, limit: number): Plan<SqlScalar[]>;
}

/** Makes the statements that lock. */
export function locks(ground: Ground): Locks {
  const best = bestLock(ground);
  return { ...rowLocks(ground), ...signalReads(ground), ...dueLocks(ground), best };
}

function rowLocks(ground: Ground): Pick<Locks, "workflow" | "last" | "pairs" | "held"> {
  const { dialect, tables, codec } = ground;
  const { wait } = dialect.lock;
  const workflowOf = workflowReader(codec);
  const executionOf = executionReader(codec);
  const workflowColumns = columnList(dialect, WORKFLOW_FIELDS);
  const executionColumns = columnList(dialect, EXECUTION_FIELDS);
  const workflow = dialect.text(
    `SELECT ${workflowColumns} FROM ${tables.workflows} WHERE id = ?${wait}`,
  );
  const last = dialect.text(
    `SELECT ${executionColumns} FROM ${tables.executions} ` +
      `WHERE workflow_id = ? ORDER BY seq DESC LIMIT 1${wait}`,
  );
  const workflowsOf = (columns: string): Template =>
    template(
      dialect,
      (listed) => `SELECT ${columns} FROM ${workflowsSource(ground, listed)} ORDER BY id${wait}`,
    );
  const executionsOf = (columns: string): Template =>
    template(
      dialect,
      (listed) =>
        `SELECT ${columns} FROM ${dialect.byId?.(tables.executions) ?? tables.executions} ` +
        `WHERE ${listed} ORDER BY id${wait}`,
    );
  const whole = {
    workflows: workflowsOf(workflowColumns),
    executions: executionsOf(executionColumns),
  };
  const part = {
    workflows: workflowsOf(columnList(dialect, pick(WORKFLOW_FIELDS, ["state"]))),
    executions: executionsOf(columnList(dialect, pick(EXECUTION_FIELDS, ["workflow_id", "token"]))),
  };

  function* locked(
    { workflows, executions }: typeof whole,
    ids: readonly SqlScalar[],
  ): Plan<[readonly SqlRow[], readonly SqlRow[]]> {
    const { text, params } = dialect.oneOf(ID, ids);
    return yield* together([
      rowsOf({ text: workflows(text), params }),
      rowsOf({ text: executions(text), params }),
    ]);
  }

  function* pairs(executionIds: readonly SqlScalar[]): Plan<Pair[]> {
    if (executionIds.length === 0) return [];
    const [workflowRows, executionRows] = yield* locked(whole, executionIds);
    const workflows = new Map(workflowRows.map(workflowOf).map((one) => [one.id, one]));
    const found: Pair[] = [];
    for (const execution of executionRows.map(executionOf)) {
      const workflow = workflows.get(execution.workflowId);
      // An execution that was inserted between the two statements is not locked yet: missing.
      if (workflow !== undefined) found.push({ workflow, execution });
    }
    return found;
  }

  return {
    *workflow(id) {
      return first(yield* rowsOf({ text: workflow, params: [id] }), workflowOf);
    },
    *last(workflowId) {
      return first(yield* rowsOf({ text: last, params: [workflowId] }), executionOf);
    },
    pairs,
    // Reading two rows as a whole and making objects of them took a third of the time of a step.
    *held(executionIds, seen) {
      if (seen.size < executionIds.length) return yield* pairs(executionIds);
      const [workflowRows, executionRows] = yield* locked(part, executionIds);
      const states = new Map(workflowRows.map((row) => [codec.idOut(row.id), row.state]));
      const found: Pair[] = [];
      for (const row of executionRows) {
        const pair = seen.get(codec.idOut(row.id));
        const same = row.token !== null && row.token === pair?.execution.token &&
          states.get(codec.idOut(row.workflow_id)) === pair?.workflow.state;
        if (same) found.push(pair as Pair);
      }
      return found.length === executionIds.length ? found : yield* pairs(executionIds);
    },
  };
}

function workflowsSource({ dialect, tables }: Ground, listed: string): string {
  return dialect.workflowsOf?.(tables, listed) ??
    `${tables.workflows} WHERE id IN ` +
      `(SELECT workflow_id FROM ${tables.executions} WHERE ${listed})`;
}

function signalReads(ground: Ground): Pick<Locks, "keptSignals" | "knownSignal"> {
  const { dialect, tables, codec } = ground;
  const { look = "" } = dialect.lock;
  const signalOf = signalReader(codec);
  const columns = columnList(dialect, SIGNAL_FIELDS, "s");
  const kept = dialect.text(
    `SELECT ${columns} FROM ${tables.signals} s WHERE s.workflow_id = ? AND s.name = ? ` +
      `AND s.consumed_by_id IS NULL ORDER BY s.sent_at, s.id LIMIT 1${look}`,
  );
  const known = dialect.text(
    `SELECT ${columns} FROM ${tables.signals} s ` +
      `WHERE s.workflow_id = ? AND s.idempotency_key = ?${look}`,
  );
  return {
    *keptSignals(queries) {
      const runs = queries.map((one) => [codec.idIn(one.workflowId), one.name]);
      const replies = yield* eachOf(kept, runs);
      return replies.map((reply) => first(reply.rows, signalOf));
    },
    *knownSignal(workflowId, key) {
      return first(yield* rowsOf({ text: known, params: [workflowId, key] }), signalOf);
    },
  };
}

function dueLocks(ground: Ground): Pick<Locks, "lanes" | "due" | "ended"> {
  const { dialect, tables, codec } = ground;
  const { skip } = dialect.lock;
  const executionOf = executionReader(codec);
  const workflowOf = workflowReader(codec, WORKFLOW_PREFIX);
  const lanes = dialect.lanes?.(tables) ?? portableLanes(ground);
  // A body may run on after its workflow was paused or canceled: its lease ends all the same.
  const due = template(
    dialect,
    (limit) =>
      `SELECT ${pairColumns(dialect)} FROM ${liveJoin(dialect, tables, "live")} ` +
      `WHERE e.state = ? AND e.queue = ? AND e.priority = ? AND e.wake_at <= ? ` +
      `AND (e.state = 'in_progress' OR w.state = 'ready') ORDER BY e.wake_at ${limit}${skip}`,
  );
  const ended = template(
    dialect,
    (limit) =>
      `SELECT id FROM ${tables.workflows} WHERE name = ? AND ${ENDED} ` +
      `AND transitioned_at < ? ORDER BY transitioned_at ${limit}${skip}`,
  );

  return {
    *lanes(states) {
      return (yield* lanes(states)).map((row) => ({
        state: row.state as LiveState,
        queue: row.queue as string,
        priority: Number(row.priority),
        wakeAt: codec.timeOut(row.wake_at),
      }));
    },
    *due(wanted, count) {
      const limit = dialect.limit(count);
      const runs = wanted.map((
        lane,
      ) => [lane.state, lane.queue, lane.priority, codec.timeIn(lane.before), ...limit.params]);
      const replies = yield* eachOf(due(limit.text), runs);
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

function bestLock(ground: Ground): Locks["best"] {
  const { dialect, tables, codec } = ground;
  const { best } = dialect;
  if (best === undefined) return () => nothing(null);
  const executionOf = executionReader(codec);
  const workflowOf = workflowReader(codec, WORKFLOW_PREFIX);
  const text = template(dialect, (...states) =>
    best({
      lanes: laneText({}, tables.executions, states),
      columns: pairColumns(dialect),
      from: liveJoin(dialect, tables, "live"),
    }));
  return function* (states, { scheduled, inProgress, queues }, limit) {
    const bounds = [codec.timeIn(inProgress), codec.timeIn(scheduled)];
    const params = [...bounds, queues ?? null, limit];
    const rows = yield* rowsOf({ text: text(...states), params });
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

function first<Row>(rows: readonly SqlRow[], read: (row: SqlRow) => Row): Row | null {
  const row = rows[0];
  return row === undefined ? null : read(row);
}
