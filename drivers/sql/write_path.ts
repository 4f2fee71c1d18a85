/**
 * The write path as plans: create, claim, claimDue, checkpoint and finish. A plan locks, reads,
 * asks the pure functions of `src/state` and writes what they answer; it decides nothing itself.
 *
 * Each plan has the same five steps, numbered alike in the code:
 * 1. lock the workflows, then the executions; 2. read what else the decision needs; 3. ask;
 * 4. write the rows that change; 5. insert what is new (after the old one has let go of its place).
 *
 * @module
 */

import type { ClaimDueOptions, ClaimOptions, Created } from "../../src/seams/store.ts";
import {
  type Checkpoint,
  type CheckpointAnswer,
  checkpointAnswer,
} from "../../src/state/checkpoint.ts";
import {
  type Claim,
  type Claimed,
  type ClaimIntent,
  judgeClaim,
  type Judgement,
} from "../../src/state/claim.ts";
import { jobOf, newWorkflowRow } from "../../src/state/creation.ts";
import { type Finished, type FinishResult, settleFinish } from "../../src/state/finish.ts";
import type { ExecutionRow, NewExecution, NewWorkflow } from "../../src/state/records.ts";
import type { SignalRow } from "../../src/state/signal.ts";
import { newExecutionRow } from "../../src/state/transitions.ts";
import type { Plan } from "./client.ts";
import type { CheckpointValues } from "./dialect.ts";
import type { Lane, LiveState, Pair } from "./locks.ts";
import type { Sql } from "./sql.ts";
import type { Move } from "./statements.ts";

/** Inserts workflows with their first executions. */
export function* create(sql: Sql, batch: readonly NewWorkflow[], now: Date): Plan<Created[]> {
  const rows = batch.map((fresh) => newWorkflowRow(fresh, { id: sql.newId(now), now }));
  const workflows = yield* sql.insertWorkflows(rows);
  const firsts: ExecutionRow[] = [];
  for (const [at, { first }] of batch.entries()) {
    const workflowId = workflows[at]?.id;
    if (first === null || workflowId === undefined) continue;
    const place = { id: sql.newId(now), workflowId, seq: 1, now, signalPending: false };
    firsts.push(newExecutionRow(first, place));
  }
  const executions = yield* sql.insertExecutions(firsts);
  const firstOf = new Map(executions.map((one) => [one.workflowId, one]));
  const created: Created[] = [];
  for (const [at, workflow] of workflows.entries()) {
    if (workflow === null) {
      const existingId = yield* sql.query.ongoing(rows[at] as (typeof rows)[number]);
      created.push({ kind: "duplicate", existingId });
      continue;
    }
    const execution = firstOf.get(workflow.id) ?? null;
    const job = execution === null ? null : jobOf(execution, false);
    created.push({ kind: "created", workflow, execution, job });
  }
  return created;
}

/** Claims the executions that a queue delivered. */
export function* claim(
  sql: Sql,
  ids: readonly string[],
  options: ClaimOptions,
): Plan<Claim[]> {
  const known = sql.knownIds(ids);
  const pairs = yield* sql.lock.pairs([...known.values()]); // 1
  const byId = new Map(pairs.map((pair) => [pair.execution.id, pair]));
  const asked = ids.map((id) => {
    const value = known.get(id);
    return value === undefined ? null : byId.get(sql.codec.idOut(value)) ?? null;
  });
  const intent = { ...options, takeOver: false };
  const judged = yield* judge(sql, asked, intent);
  return judged.map((one) => one === null ? { kind: "missing" } : claimOf(one));
}

function claimOf(judgement: Judgement): Claim {
  switch (judgement.kind) {
    case "grant":
      return judgement.claimed;
    case "stop":
      return { kind: "stopped", state: judgement.state };
    case "refuse":
      return judgement.claim;
  }
}

/** Steps 2 to 4 of both claims: signals, judgements, writes. */
function* judge(
  sql: Sql,
  asked: readonly (Pair | null)[],
  intent: ClaimIntent,
): Plan<(Judgement | null)[]> {
  const signalOf = yield* signalsOf(sql, asked); // 2
  const first = new Map<string, Judgement>();
  const judged = asked.map((pair) => { // 3
    if (pair === null) return null;
    const { execution } = pair;
    const earlier = first.get(execution.id);
    if (earlier !== undefined) return again(earlier);
    const judgement = judgeClaim({ ...pair, signal: signalOf.get(execution.id) ?? null }, intent);
    first.set(execution.id, judgement);
    return judgement;
  });
  const granted: Claimed[] = [];
  const consumed: SignalRow[] = [];
  const stopped: ExecutionRow[] = [];
  for (const one of judged) {
    if (one?.kind === "stop") stopped.push(one.execution);
    if (one?.kind !== "grant") continue;
    granted.push(one.claimed);
    if (one.consume !== null) {
      consumed.push({ ...one.consume, consumedById: one.claimed.execution.id });
    }
  }
  yield* sql.claimExecutions(granted.map((one) => one.execution)); // 4
  yield* sql.closeExecutions(stopped);
  yield* sql.moveWorkflows(movesOf(asked, granted));
  yield* sql.consumeSignals(consumed);
  return judged;
}

/** An id that stands twice in a batch finds what its first delivery left behind. */
function again(earlier: Judgement): Judgement {
  return earlier.kind === "refuse" ? earlier : { kind: "refuse", claim: { kind: "taken" } };
}

function movesOf(asked: readonly (Pair | null)[], granted: readonly Claimed[]): Move[] {
  const before = new Map(asked.map((pair) => [pair?.workflow.id, pair?.workflow]));
  return granted.flatMap(({ workflow: after }) => {
    const was = before.get(after.id);
    // Taking over a dead lease leaves the workflow as it is.
    return was === undefined || was === after ? [] : [{ before: was, after }];
  });
}

/** The oldest kept signal of each scheduled execution that waits for one. */
function* signalsOf(
  sql: Sql,
  asked: readonly (Pair | null)[],
): Plan<Map<string, SignalRow | null>> {
  const waiting: { id: string; workflowId: string; name: string }[] = [];
  for (const pair of asked) {
    const { id, workflowId, state, waitingFor } = pair?.execution ?? {};
    if (state !== "scheduled" || id === undefined || workflowId === undefined) continue;
    if (typeof waitingFor === "string") waiting.push({ id, workflowId, name: waitingFor });
  }
  const signals = yield* sql.lock.keptSignals(waiting);
  return new Map(waiting.map((one, at) => [one.id, signals[at] ?? null]));
}

const FOREVER = new Date(8_640_000_000_000_000);

/**
 * Claims whatever is due. The live index is divided into lanes of one state, queue and priority,
 * each in the order of `wake_at`; lanes of the best priority are read first and merged, and no more
 * of any lane than is still wanted.
 */
export function* claimDue(sql: Sql, options: ClaimDueOptions): Plan<Claimed[]> {
  if (options.limit < 1) return [];
  const states: readonly LiveState[] = options.state === undefined
    ? ["scheduled", "in_progress"]
    : [options.state];
  const lanes = (yield* sql.lock.lanes(states))
    .map((lane) => ({ ...lane, before: boundOf(lane, options) }))
    .filter((lane) => lane.wakeAt.getTime() <= lane.before.getTime())
    .filter((lane) => options.queues === undefined || options.queues.includes(lane.queue));
  const found: Pair[] = [];
  for (const priority of [...new Set(lanes.map((lane) => lane.priority))].sort(ascending)) {
    const wanted = options.limit - found.length;
    if (wanted <= 0) break;
    const level = lanes.filter((lane) => lane.priority === priority);
    const pairs = (yield* sql.lock.due(level, wanted)).flat(); // 1
    found.push(...pairs.sort(byWakeAt).slice(0, wanted));
  }
  const judged = yield* judge(sql, found, { ...options, takeOver: true });
  return judged.flatMap((one) => one?.kind === "grant" ? [one.claimed] : []);
}

/** Until when a lane is looked at: only a lease that has ended can be taken over. */
function boundOf({ state }: Lane, { now, before, ignoreDue }: ClaimDueOptions): Date {
  const bound = before ?? (ignoreDue ? FOREVER : now);
  return state === "in_progress" && bound.getTime() > now.getTime() ? now : bound;
}

function ascending(a: number, b: number): number {
  return a - b;
}

function byWakeAt(a: Pair, b: Pair): number {
  return Number(a.execution.wakeAt) - Number(b.execution.wakeAt);
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
    values.push({ id, leaseUntil, ...checkpointValues(one) });
  }
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

/** Closes executions, moves their workflows and inserts what is next. */
export function* finish(
  sql: Sql,
  batch: readonly Finished[],
  now: Date,
): Plan<FinishResult[]> {
  const known = sql.knownIds(batch.map((one) => one.executionId));
  const pairs = yield* sql.lock.pairs([...known.values()]); // 1
  const byId = new Map(pairs.map((pair) => [pair.execution.id, pair]));
  const nexts: { at: number; after: ExecutionRow; next: NewExecution }[] = [];
  const closed: ExecutionRow[] = [];
  const moves: Move[] = [];
  const results = batch.map((finished, at): FinishResult => { // 3
    const value = known.get(finished.executionId);
    const pair = value === undefined ? undefined : byId.get(sql.codec.idOut(value));
    const view = { workflow: pair?.workflow ?? null, execution: pair?.execution ?? null };
    const settled = settleFinish(finished, view, now);
    if (settled.kind === "lost" || pair === undefined) return { kind: "lost" };
    const { workflow, execution, next } = settled;
    closed.push(execution);
    moves.push({ before: pair.workflow, after: workflow });
    // The same finish twice in one batch: the second finds the claim gone.
    byId.set(execution.id, { workflow, execution });
    if (next !== null) nexts.push({ at, after: execution, next });
    return { kind: "done", workflow, execution, next: null, job: null };
  });
  yield* sql.closeExecutions(closed); // 4
  yield* sql.moveWorkflows(moves);
  const inserted = yield* insertNext(sql, nexts, now); // 5
  for (const [index, { at }] of nexts.entries()) {
    results[at] = { ...results[at], ...inserted[index] } as FinishResult;
  }
  return results;
}

/** Inserts what comes after executions that were just closed, with the job of each. */
export function* insertNext(
  sql: Sql,
  nexts: readonly { after: Pick<ExecutionRow, "workflowId" | "seq">; next: NewExecution }[],
  now: Date,
): Plan<{ next: ExecutionRow; job: ReturnType<typeof jobOf> }[]> {
  const waiting = nexts.flatMap(({ after: { workflowId }, next }) =>
    next.waitingFor === null ? [] : [{ workflowId, name: next.waitingFor }]
  );
  const kept = yield* sql.lock.keptSignals(waiting); // 2
  const there = new Set(waiting.flatMap((one, at) => kept[at] ? [one.workflowId] : []));
  const rows = nexts.map(({ after: { workflowId, seq }, next }) => {
    const signalPending = there.has(workflowId);
    return newExecutionRow(next, {
      id: sql.newId(now),
      workflowId,
      seq: seq + 1,
      now,
      signalPending,
    });
  });
  const inserted = yield* sql.insertExecutions(rows);
  return inserted.map((next) => ({ next, job: jobOf(next, there.has(next.workflowId)) }));
}
