/**
 * The write path as plans: create, checkpoint and finish; the claims are in `claims.ts`. A plan
 * locks, reads, asks the pure functions of `src/state` and writes what they answer; it decides
 * nothing itself.
 *
 * Each plan has the same five steps, numbered alike in the code:
 * 1. lock the workflows, then the executions; 2. read what else the decision needs; 3. ask;
 * 4. write the rows that change; 5. insert what is new (after the old one has let go of its place).
 *
 * @module
 */

import type { Created } from "../../src/seams/store.ts";
import {
  type Checkpoint,
  type CheckpointAnswer,
  checkpointAnswer,
} from "../../src/state/checkpoint.ts";
import { jobOf, newWorkflowRow } from "../../src/state/creation.ts";
import { type Finished, type FinishResult, settleFinish } from "../../src/state/finish.ts";
import type {
  ExecutionRow,
  NewExecution,
  NewWorkflow,
  WorkflowRow,
} from "../../src/state/records.ts";
import { newExecutionRow } from "../../src/state/transitions.ts";
import { nothing, type Plan, together } from "./client.ts";
import type { CheckpointValues } from "./dialect.ts";
import type { Pair } from "./locks.ts";
import type { Recalled } from "./recall.ts";
import type { Sql } from "./sql.ts";
import type { Move } from "./statements.ts";

/** Inserts workflows with their first executions. */
export function* create(sql: Sql, batch: readonly NewWorkflow[], now: Date): Plan<Created[]> {
  const rows = batch.map((fresh) => newWorkflowRow(fresh, { id: sql.newId(now), now }));
  const firsts = batch.map(({ first }, at) => {
    if (first === null) return null;
    const { id: workflowId } = rows[at] as WorkflowRow;
    const place = { id: sql.newId(now), workflowId, seq: 1, now, signalPending: false };
    return newExecutionRow(first, place);
  });
  const [starts] = yield* together([
    sql.insertStarts(rows, firsts),
    sql.announce(firsts.filter((one) => one !== null), now),
  ]);
  const created: Created[] = [];
  for (const [at, start] of starts.entries()) {
    if (start === null) {
      const existingId = yield* sql.query.ongoing(rows[at] as WorkflowRow);
      created.push({ kind: "duplicate", existingId });
      continue;
    }
    const job = start.execution === null ? null : jobOf(start.execution, false);
    created.push({ kind: "created", ...start, job });
  }
  return created;
}

/** Stores cursors and progress, renews leases and answers whether to go on. */
export function* checkpoint(
  sql: Sql,
  batch: readonly Checkpoint[],
  options: { readonly now: Date; readonly leaseMs: number },
): Plan<CheckpointAnswer[]> {
  const leaseUntil = sql.codec.timeIn(new Date(options.now.getTime() + options.leaseMs));
  const known = sql.knownIds(batch.map((one) => one.executionId));
  const values: CheckpointValues[] = [];
  const places: number[] = [];
  for (const [at, one] of batch.entries()) {
    const id = known.get(one.executionId);
    if (id === undefined) continue;
    places.push(at);
    const { keepsLease, cursor, progress } = one;
    const keeps = keepsLease === true && (cursor !== undefined || progress !== undefined);
    values.push({ id, leaseUntil: keeps ? null : leaseUntil, ...checkpointValues(one) });
  }
  sql.recall?.forget(known.keys());
  const answers = batch.map((): CheckpointAnswer => "lost");
  if (values.length === 0) return answers;
  const states = yield* sql.checkpoint(values);
  for (const [index, at] of places.entries()) {
    const state = states[index] ?? null;
    if (state !== null) answers[at] = checkpointAnswer(state);
  }
  return answers;
}

function checkpointValues(
  { token, cursor, progress }: Checkpoint,
): Omit<CheckpointValues, "id" | "leaseUntil"> {
  return {
    token,
    cursor: cursor === undefined ? [] : [cursor],
    progress: progress === undefined ? [] : [progress.done, progress.total, progress.message],
  };
}

/**
 * Closes executions, moves their workflows and inserts what is next. In a transaction of the
 * store's `own` what is known of the rows takes the place of steps 1 and 2.
 */
export function* finish(
  sql: Sql,
  batch: readonly Finished[],
  { now, own }: { readonly now: Date; readonly own: boolean },
): Plan<FinishResult[]> {
  const recall = own ? sql.recall : null;
  const recalled = recall?.take(batch) ?? null;
  const pairs = recalled ?? (yield* locked(sql, batch)); // 1
  const nexts: { at: number; after: ExecutionRow; next: NewExecution }[] = [];
  const closed: ExecutionRow[] = [];
  const moves: Move[] = [];
  const results = batch.map((finished, at): FinishResult => { // 3
    const pair = pairs[at] ?? null;
    if (pair === null) return { kind: "lost" };
    const settled = settleFinish(finished, pair, now);
    if (settled.kind === "lost") return settled;
    const { workflow, execution, next } = settled;
    closed.push(execution);
    moves.push({ before: pair.workflow, after: workflow });
    if (next !== null) nexts.push({ at, after: execution, next });
    return { kind: "done", workflow, execution, next: null, job: null };
  });
  const following = yield* nextRows(sql, nexts, now); // 2
  const ends = writeEnds(recall, sql, { closed, moves, recalled }); // 4
  const begins = insertNext(sql, following, now); // 5
  const [version, inserted] = recall?.looksBack
    ? [yield* ends, yield* begins]
    : yield* together([ends, begins], { last: true });
  for (const [index, { at }] of nexts.entries()) {
    results[at] = { ...results[at], ...inserted[index] } as FinishResult;
  }
  if (version !== null) recall?.learn(results.flatMap(heldNext), version);
  return results;
}

/** Step 1 of a finish: the rows of each member, locked; null where there is none any more. */
function* locked(sql: Sql, batch: readonly Finished[]): Plan<(Pair | null)[]> {
  const known = sql.knownIds(batch.map((one) => one.executionId));
  const pairs = yield* sql.lock.held([...known.values()], seenIn(batch));
  const byId = new Map(pairs.map((pair) => [pair.execution.id, pair]));
  return batch.map(({ executionId }) => {
    const value = known.get(executionId);
    const id = value === undefined ? null : sql.codec.idOut(value);
    const pair = id === null ? undefined : byId.get(id);
    // The same finish twice in one batch: the second finds the claim gone.
    if (id !== null) byId.delete(id);
    return pair ?? null;
  });
}

/** The rows that the members of a batch bring along, by the execution's id. */
function seenIn(batch: readonly Finished[]): Map<string, Pair> {
  const seen = new Map<string, Pair>();
  for (const { executionId, seen: pair } of batch) {
    if (pair?.execution.id === executionId) seen.set(executionId, pair);
  }
  return seen;
}

/** Step 4 of a finish; answers the transaction's number where rows have versions. */
function* writeEnds(
  recall: Sql["recall"],
  sql: Sql,
  ends: { closed: readonly ExecutionRow[]; moves: readonly Move[]; recalled: Recalled[] | null },
): Plan<string | null> {
  const { closed, moves, recalled } = ends;
  if (recall === null || recalled === null) {
    const [, , version] = yield* together([
      sql.closeExecutions(closed),
      sql.moveWorkflows(moves),
      recall?.version() ?? nothing(null),
    ]);
    return version;
  }
  // What is known is held, so all of it is closed: the places are the same.
  const of = (at: number): string => (recalled[at] as Recalled).version;
  const [version] = yield* together([
    recall.move(moves.map(({ before, after }, at) => ({ before, after, version: of(at) }))),
    recall.close(closed.map((row, at) => ({ row, version: of(at) }))),
  ]);
  return version;
}

/** What the same worker goes on with. */
function heldNext(result: FinishResult): Pair[] {
  if (result.kind !== "done" || result.next === null || result.next.token === null) return [];
  return [{ workflow: result.workflow, execution: result.next }];
}

/** What comes after an execution, and whether the signal is there that it waits for. */
export interface NextRow {
  /** The row to insert. */
  readonly row: ExecutionRow;
  /** Whether its signal was kept already. */
  readonly signalPending: boolean;
}

/** The rows of what comes after executions that are being closed. */
export function* nextRows(
  sql: Sql,
  nexts: readonly { after: Pick<ExecutionRow, "workflowId" | "seq">; next: NewExecution }[],
  now: Date,
): Plan<NextRow[]> {
  const waiting = nexts.flatMap(({ after: { workflowId }, next }) =>
    next.waitingFor === null ? [] : [{ workflowId, name: next.waitingFor }]
  );
  const kept = yield* sql.lock.keptSignals(waiting); // 2
  const there = new Set(waiting.flatMap((one, at) => kept[at] ? [one.workflowId] : []));
  return nexts.map(({ after: { workflowId, seq }, next }) => {
    const signalPending = there.has(workflowId);
    const place = { id: sql.newId(now), workflowId, seq: seq + 1, now, signalPending };
    return { row: newExecutionRow(next, place), signalPending };
  });
}

/** Inserts rows, after those before them have let go of their place; answers the job of each. */
export function* insertNext(
  sql: Sql,
  nexts: readonly NextRow[],
  now: Date,
): Plan<{ next: ExecutionRow; job: ReturnType<typeof jobOf> }[]> {
  const rows = nexts.map((one) => one.row);
  const [inserted] = yield* together([sql.insertExecutions(rows), sql.announce(rows, now)]);
  return inserted.map((next, at) => ({
    next,
    job: jobOf(next, nexts[at]?.signalPending ?? false),
  }));
}
