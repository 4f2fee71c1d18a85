/**
 * The two claims as plans: of named executions, and of whatever is due. The steps are numbered as in
 * `write_path.ts`: 1. lock; 2. read; 3. ask; 4. write.
 *
 * @module
 */

import type { ClaimDueOptions, ClaimOptions } from "../../src/seams/store.ts";
import {
  type Claim,
  type Claimed,
  type ClaimIntent,
  judgeClaim,
  type Judgement,
} from "../../src/state/claim.ts";
import type { ExecutionRow } from "../../src/state/records.ts";
import type { SignalRow } from "../../src/state/signal.ts";
import { nothing, type Plan, together } from "./client.ts";
import type { Lane, LiveState, Order, Pair } from "./locks.ts";
import type { Sql } from "./sql.ts";
import type { Move } from "./statements.ts";

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
  yield* writeClaims(sql, asked, judged);
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

/** Steps 2 and 3 of both claims: signals and judgements. */
function* judge(
  sql: Sql,
  asked: readonly (Pair | null)[],
  intent: ClaimIntent,
): Plan<(Judgement | null)[]> {
  const signalOf = yield* signalsOf(sql, asked); // 2
  const first = new Map<string, Judgement>();
  return asked.map((pair) => { // 3
    if (pair === null) return null;
    const { execution } = pair;
    const earlier = first.get(execution.id);
    if (earlier !== undefined) return again(earlier);
    const judgement = judgeClaim({ ...pair, signal: signalOf.get(execution.id) ?? null }, intent);
    first.set(execution.id, judgement);
    return judgement;
  });
}

/** Step 4 of both claims: what the judgements change. */
function* writeClaims(
  sql: Sql,
  asked: readonly (Pair | null)[],
  judged: readonly (Judgement | null)[],
): Plan<void> {
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
  // Taking over a dead lease leaves the workflow as it is, so that only the other rows are known.
  const fresh = granted.filter((one) => one.from === "scheduled");
  const recall = fresh.length === 0 ? null : sql.recall;
  const [version] = yield* together([ // 4
    recall?.version() ?? nothing(null),
    sql.claimExecutions(granted.map((one) => one.execution)),
    sql.closeExecutions(stopped),
    sql.moveWorkflows(movesOf(asked, granted)),
    sql.consumeSignals(consumed),
  ], { last: true });
  if (version !== null) recall?.learn(fresh, version);
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

/** A lane with the instant until which it is looked at. */
type BoundLane = Lane & { readonly before: Date };

/** Claims whatever is due. */
export function* claimDue(sql: Sql, options: ClaimDueOptions): Plan<Claimed[]> {
  if (options.limit < 1) return [];
  const states: readonly LiveState[] = options.state === undefined
    ? ["scheduled", "in_progress"]
    : [options.state];
  let found = yield* best(sql, states, options); // 1
  let lanes: readonly BoundLane[] | null = null;
  for (let wanted = options.limit;; wanted *= 2) {
    if (found === null) {
      lanes ??= yield* boundLanes(sql, states, options);
      found = yield* first(sql, lanes, wanted, orderOf(options));
    }
    const judged = yield* judge(sql, found, { ...options, takeOver: true });
    const grants = judged.filter((one) => one?.kind === "grant");
    // Who looks ahead of time finds rows that still wait; those behind them must not starve.
    if (grants.length < options.limit && found.length === wanted) {
      found = null;
      continue;
    }
    const taken = grants.slice(0, options.limit);
    yield* writeClaims(sql, found, taken);
    return taken.map((one) => one.claimed);
  }
}

/** What is due at the best priority, where one statement tells and that is enough; else null. */
function* best(
  sql: Sql,
  states: readonly LiveState[],
  options: ClaimDueOptions,
): Plan<Pair[] | null> {
  const [scheduled, inProgress] = [boundOf("scheduled", options), boundOf("in_progress", options)];
  const which = { scheduled, inProgress, queues: options.queues };
  const order = orderOf(options);
  const answer = yield* sql.lock.best(states, which, options.limit, order);
  if (answer === null || (answer.more && answer.pairs.length < options.limit)) return null;
  return answer.pairs.sort(BY_WAKE_AT[order]).slice(0, options.limit);
}

/** The lanes in which something is due. */
function* boundLanes(
  sql: Sql,
  states: readonly LiveState[],
  options: ClaimDueOptions,
): Plan<BoundLane[]> {
  return (yield* sql.lock.lanes(states))
    .map((lane) => ({ ...lane, before: boundOf(lane.state, options) }))
    .filter((lane) => lane.wakeAt.getTime() <= lane.before.getTime())
    .filter((lane) => options.queues === undefined || options.queues.includes(lane.queue));
}

/**
 * Finds what is to be taken first. The live index is divided into lanes of one state, queue and priority,
 * each in the order of `wake_at`; lanes of the best priority are read first and merged, and no more
 * of any lane than is still wanted.
 */
function* first(
  sql: Sql,
  lanes: readonly BoundLane[],
  limit: number,
  order: Order,
): Plan<Pair[]> {
  const found: Pair[] = [];
  for (const priority of [...new Set(lanes.map((lane) => lane.priority))].sort(ascending)) {
    const wanted = limit - found.length;
    if (wanted <= 0) break;
    const level = lanes.filter((lane) => lane.priority === priority);
    const pairs = (yield* sql.lock.due(level, wanted, order)).flat();
    found.push(...pairs.sort(BY_WAKE_AT[order]).slice(0, wanted));
  }
  return found;
}

/** Until when a lane is looked at: only a lease that has ended can be taken over. */
function boundOf(state: LiveState, { now, before = now }: ClaimDueOptions): Date {
  return state === "in_progress" && before.getTime() > now.getTime() ? now : before;
}

function ascending(a: number, b: number): number {
  return a - b;
}

function orderOf({ newestFirst = false }: ClaimDueOptions): Order {
  return newestFirst ? "newest" : "oldest";
}

const BY_WAKE_AT: Readonly<Record<Order, (a: Pair, b: Pair) => number>> = {
  oldest: (a, b) => Number(a.execution.wakeAt) - Number(b.execution.wakeAt),
  newest: (a, b) => Number(b.execution.wakeAt) - Number(a.execution.wakeAt),
};
