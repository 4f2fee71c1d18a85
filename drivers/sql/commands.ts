/**
 * The writes from outside as plans: commands, signals, purging and notes. The steps are numbered as
 * in `write_path.ts`: 1. lock; 2. read; 3. ask; 4. write; 5. insert.
 *
 * @module
 */

import type { PurgeOptions } from "../../src/seams/store.ts";
import { type Command, type CommandResult, settleCommand } from "../../src/state/command.ts";
import { jobOf } from "../../src/state/creation.ts";
import { type ExecutionRow, isActive, type Job } from "../../src/state/records.ts";
import {
  type NewSignal,
  settleSignal,
  type SignalResult,
  type SignalRow,
} from "../../src/state/signal.ts";
import { type Plan, type SqlScalar, together } from "./client.ts";
import type { Sql } from "./sql.ts";
import { insertNext, nextRows } from "./write_path.ts";

/** Pauses, resumes, skips, cancels or places a workflow. */
export function* command(
  sql: Sql,
  workflowId: string,
  asked: Command,
  now: Date,
): Plan<CommandResult> {
  const id = sql.idIn(workflowId);
  if (id === null) return { kind: "missing" };
  const [before, last] = yield* together([sql.lock.workflow(id), sql.lock.last(id)]); // 1
  if (before === null) return { kind: "missing" };
  const active = activeOf(last);
  const signalPending = yield* isPending(sql, active); // 2
  const view = { workflow: before, active, last, signalPending };
  const settled = settleCommand(asked, view, now); // 3
  if (settled.kind !== "write") return settled;
  const after = { workflowId: before.id, seq: last?.seq ?? 0 };
  const nexts = settled.next === null ? [] : [{ after, next: settled.next }];
  const following = yield* nextRows(sql, nexts, now); // 2
  const changed = settled.active === null ? [] : [settled.active];
  const [, , , , inserted] = yield* together([
    sql.wakeExecutions(changed.filter((row) => isActive(row.state))), // 4
    sql.closeExecutions(changed.filter((row) => !isActive(row.state))),
    sql.moveWorkflows([{ before, after: settled.workflow }]),
    sql.announce(changed, now),
    insertNext(sql, following, now), // 5
  ]);
  let job: Job | null = inserted[0]?.job ?? null;
  if (settled.reannounce && settled.active !== null) job = jobOf(settled.active, signalPending);
  return { kind: "done", workflow: settled.workflow, job };
}

/** The active execution is always the newest: whatever inserts another closes it first. */
function activeOf(last: ExecutionRow | null): ExecutionRow | null {
  return last !== null && isActive(last.state) ? last : null;
}

function* isPending(sql: Sql, active: ExecutionRow | null): Plan<boolean> {
  if (active === null || active.waitingFor === null) return false;
  const query = { workflowId: active.workflowId, name: active.waitingFor };
  const [kept] = yield* sql.lock.keptSignals([query]);
  return kept !== null;
}

/** Keeps a signal and wakes the execution that waits for it. */
export function* signal(
  sql: Sql,
  workflowId: string,
  sent: NewSignal,
  now: Date,
): Plan<SignalResult> {
  const id = sql.idIn(workflowId);
  if (id === null) return { kind: "missing" };
  const { idempotencyKey } = sent;
  const [workflow, last, known] = yield* together([
    sql.lock.workflow(id), // 1
    sql.lock.last(id),
    knownSignal(sql, id, idempotencyKey), // 2
  ]);
  if (workflow === null) return { kind: "missing" };
  const active = activeOf(last);
  const settled = settleSignal(sent, { workflow, active, known }, now); // 3
  if (known !== null) return { kind: "known", signal: known };
  if (settled.kind !== "store") return settled as Exclude<typeof settled, { kind: "known" }>;
  const woken = settled.wake === null ? [] : [settled.wake];
  const [, , kept] = yield* together([
    sql.wakeExecutions(woken), // 4
    sql.announce(woken, now),
    sql.insertSignal({ // 5
      id: sql.newId(now),
      workflowId: workflow.id,
      name: sent.name,
      payload: sent.payload,
      idempotencyKey,
      sentAt: now,
      consumedById: null,
    }),
  ]);
  const job = settled.wake === null ? null : jobOf(settled.wake, true);
  return { kind: "stored", signal: kept, job, state: workflow.state };
}

function* knownSignal(sql: Sql, id: SqlScalar, key: string | null): Plan<SignalRow | null> {
  return key === null ? null : yield* sql.lock.knownSignal(id, key);
}

/**
 * Deletes ended workflows with all that belongs to them, name by name: each name has its own range
 * in the index, so that those which are kept for longer are not walked over again and again.
 */
export function* purge(
  sql: Sql,
  options: PurgeOptions,
): Plan<{ workflows: number; executions: number }> {
  const names = options.names ?? (yield* sql.query.names());
  const ids: SqlScalar[] = [];
  for (const name of new Set(names)) {
    const wanted = options.limit - ids.length;
    if (wanted <= 0) break;
    if (options.exceptNames?.includes(name)) continue;
    ids.push(...yield* sql.lock.ended(name, options.before, wanted));
  }
  if (ids.length === 0) return { workflows: 0, executions: 0 };
  const executions = yield* sql.deleteWorkflows(ids);
  return { workflows: ids.length, executions };
}

/** Notes the queue's own ids of jobs. */
export function* noteJobIds(
  sql: Sql,
  entries: readonly { readonly executionId: string; readonly jobId: string }[],
): Plan<void> {
  const known = sql.knownIds(entries.map((one) => one.executionId));
  sql.recall?.forget(known.keys());
  const noted: { jobId: string; id: SqlScalar }[] = [];
  for (const { executionId, jobId } of entries) {
    const id = known.get(executionId);
    if (id !== undefined) noted.push({ jobId, id });
  }
  yield* sql.noteJobs(noted);
}
