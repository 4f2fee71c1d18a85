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
import { type NewSignal, settleSignal, type SignalResult } from "../../src/state/signal.ts";
import type { Plan, SqlScalar } from "./client.ts";
import type { Sql } from "./sql.ts";
import { insertNext } from "./write_path.ts";

/** Pauses, resumes, skips, cancels or places a workflow. */
export function* command(
  sql: Sql,
  workflowId: string,
  asked: Command,
  now: Date,
): Plan<CommandResult> {
  const id = sql.idIn(workflowId);
  const before = id === null ? null : yield* sql.lock.workflow(id); // 1
  if (before === null) return { kind: "missing" };
  const last = yield* sql.lock.last(id);
  const active = activeOf(last);
  const signalPending = yield* isPending(sql, active); // 2
  const view = { workflow: before, active, last, signalPending };
  const settled = settleCommand(asked, view, now); // 3
  if (settled.kind !== "write") return settled;
  if (settled.active !== null) { // 4
    yield* isActive(settled.active.state)
      ? sql.wakeExecutions([settled.active])
      : sql.closeExecutions([settled.active]);
  }
  yield* sql.moveWorkflows([{ before, after: settled.workflow }]);
  let job: Job | null = null;
  if (settled.reannounce && settled.active !== null) job = jobOf(settled.active, signalPending);
  if (settled.next !== null) { // 5
    const after = { workflowId: before.id, seq: last?.seq ?? 0 };
    const inserted = yield* insertNext(sql, [{ after, next: settled.next }], now);
    job = inserted[0]?.job ?? null;
  }
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
  const workflow = id === null ? null : yield* sql.lock.workflow(id); // 1
  if (workflow === null) return { kind: "missing" };
  const active = activeOf(yield* sql.lock.last(id));
  const { idempotencyKey } = sent;
  const known = idempotencyKey === null ? null : yield* sql.lock.knownSignal(id, idempotencyKey); // 2
  const settled = settleSignal(sent, { workflow, active, known }, now); // 3
  if (known !== null) return { kind: "known", signal: known };
  if (settled.kind !== "store") return settled as Exclude<typeof settled, { kind: "known" }>;
  if (settled.wake !== null) yield* sql.wakeExecutions([settled.wake]); // 4
  const kept = yield* sql.insertSignal({ // 5
    id: sql.newId(now),
    workflowId: workflow.id,
    name: sent.name,
    payload: sent.payload,
    idempotencyKey,
    sentAt: now,
    consumedById: null,
  });
  const job = settled.wake === null ? null : jobOf(settled.wake, true);
  return { kind: "stored", signal: kept, job };
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
  const noted: { jobId: string; id: SqlScalar }[] = [];
  for (const { executionId, jobId } of entries) {
    const id = known.get(executionId);
    if (id !== undefined) noted.push({ jobId, id });
  }
  yield* sql.noteJobs(noted);
}
