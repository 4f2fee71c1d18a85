/**
 * The writes of the memory store: look rows up, ask `src/state`, put what it answers.
 *
 * Every function here is synchronous and works on a layer, so it is atomic by nature: nobody runs
 * in between, and when one throws, its layer is forgotten. The members of a batch are settled one
 * after another, so each sees what the one before it wrote.
 *
 * @module
 */

import type { ClaimDueOptions, ClaimOptions, Created } from "../../src/seams/store.ts";
import {
  type Checkpoint,
  type CheckpointAnswer,
  checkpointAnswer,
  isHeld,
} from "../../src/state/checkpoint.ts";
import { type Claim, type Claimed, type ClaimIntent, judgeClaim } from "../../src/state/claim.ts";
import { type Command, type CommandResult, settleCommand } from "../../src/state/command.ts";
import { jobOf, newWorkflowRow } from "../../src/state/creation.ts";
import { type Finished, type FinishResult, settleFinish } from "../../src/state/finish.ts";
import {
  type ExecutionRow,
  isOngoing,
  type Job,
  type NewExecution,
  type NewWorkflow,
} from "../../src/state/records.ts";
import {
  type NewSignal,
  settleSignal,
  type SignalResult,
  type SignalRow,
} from "../../src/state/signal.ts";
import { newExecutionRow } from "../../src/state/transitions.ts";
import type { Ids } from "./database.ts";
import { type Dossier, type Layer, slotKey } from "./layer.ts";
import type { Lanes } from "./lanes.ts";

/** What a write works with. */
export interface Desk {
  /** The rows, to look at and to write. */
  readonly rows: Layer;
  /** Ids for new rows. */
  readonly ids: Ids;
  /** The instant of the write. */
  readonly now: Date;
}

/** Inserts workflows with their first executions. */
export function createAll(desk: Desk, batch: readonly NewWorkflow[]): Created[] {
  return batch.map((fresh) => createOne(desk, fresh));
}

function createOne(desk: Desk, fresh: NewWorkflow): Created {
  const { rows, ids, now } = desk;
  const workflow = newWorkflowRow(fresh, { id: ids.next("workflows"), now });
  const slot = isOngoing(workflow.state) ? slotKey(workflow) : null;
  const existingId = slot === null ? null : rows.slot(slot);
  if (existingId !== null) return { kind: "duplicate", existingId };
  rows.putWorkflow(workflow);
  const inserted = fresh.first === null ? NOTHING : insert(desk, workflow.id, fresh.first);
  return { kind: "created", workflow, ...inserted };
}

/** Claims executions that were delivered; of an id that comes twice, only the first is claimed. */
export function claimAll(desk: Desk, ids: readonly string[], options: ClaimOptions): Claim[] {
  return ids.map((id) => {
    const execution = desk.rows.execution(id);
    if (execution === null) return { kind: "missing" };
    return claimOne(desk, execution, { ...options, takeOver: false });
  });
}

/** Claims what is due, in the order of the lanes. */
export function claimDue(desk: Desk, live: Lanes, options: ClaimDueOptions): Claimed[] {
  const { queues, state, limit, before, newestFirst = false } = options;
  const claims: Claimed[] = [];
  for (const execution of live.due(before ?? desk.now, newestFirst)) {
    if (claims.length >= limit) break;
    if (queues !== undefined && !queues.includes(execution.queue)) continue;
    if (state !== undefined && state !== execution.state) continue;
    const claim = claimOne(desk, execution, { ...options, takeOver: true });
    if (claim.kind === "claimed") claims.push(claim);
  }
  return claims;
}

function claimOne(desk: Desk, execution: ExecutionRow, intent: ClaimIntent): Claim {
  const { rows } = desk;
  const { workflow, signals } = dossierOf(desk, execution.workflowId);
  const signal = keptSignal(signals, execution.waitingFor);
  const judgement = judgeClaim({ workflow, execution, signal }, intent);
  switch (judgement.kind) {
    case "refuse":
      return judgement.claim;
    case "stop":
      rows.putExecution(judgement.execution);
      return { kind: "stopped", state: judgement.state };
    case "grant": {
      const { claimed, consume } = judgement;
      rows.putWorkflow(claimed.workflow);
      rows.putExecution(claimed.execution);
      if (consume !== null) rows.putSignal({ ...consume, consumedById: execution.id });
      return claimed;
    }
  }
}

/** Stores positions, renews leases and answers whether to go on. */
export function checkpointAll(
  desk: Desk,
  batch: readonly Checkpoint[],
  leaseMs: number,
): CheckpointAnswer[] {
  const leaseUntil = new Date(desk.now.getTime() + leaseMs);
  return batch.map(({ executionId, token, cursor, progress }) => {
    const execution = desk.rows.execution(executionId);
    if (execution === null || !isHeld(execution, token)) return "lost";
    desk.rows.putExecution({
      ...execution,
      leaseUntil,
      wakeAt: leaseUntil,
      cursor: cursor === undefined ? execution.cursor : cursor,
      progress: progress === undefined ? execution.progress : progress,
    });
    return checkpointAnswer(dossierOf(desk, execution.workflowId).workflow.state);
  });
}

/** Closes executions, moves their workflows and inserts what is next. */
export function finishAll(desk: Desk, batch: readonly Finished[]): FinishResult[] {
  return batch.map((finished) => finishOne(desk, finished));
}

function finishOne(desk: Desk, finished: Finished): FinishResult {
  const { rows, now } = desk;
  const execution = rows.execution(finished.executionId);
  const workflow = rows.dossier(finished.workflowId)?.workflow ?? null;
  if (execution?.workflowId !== workflow?.id) return { kind: "lost" };
  const settled = settleFinish(finished, { workflow, execution }, now);
  if (settled.kind === "lost") return settled;
  rows.putExecution(settled.execution);
  rows.putWorkflow(settled.workflow);
  const { execution: next, job } = settled.next === null
    ? NOTHING
    : insert(desk, settled.workflow.id, settled.next);
  return { kind: "done", workflow: settled.workflow, execution: settled.execution, next, job };
}

/** Pauses, resumes, skips, cancels or places a workflow from outside. */
export function commandOne(desk: Desk, workflowId: string, command: Command): CommandResult {
  const { rows, now } = desk;
  const dossier = rows.dossier(workflowId);
  if (dossier === null) return { kind: "missing" };
  const { workflow, active, last } = dossier;
  const signalPending = active !== null && isPending(dossier, active.waitingFor);
  const settled = settleCommand(command, { workflow, active, last, signalPending }, now);
  if (settled.kind !== "write") return settled;
  if (settled.active !== null) rows.putExecution(settled.active);
  rows.putWorkflow(settled.workflow);
  const { job } = settled.next === null ? NOTHING : insert(desk, workflowId, settled.next);
  const woken = settled.reannounce && settled.active !== null
    ? jobOf(settled.active, signalPending)
    : null;
  return { kind: "done", workflow: settled.workflow, job: job ?? woken };
}

/** Keeps a signal and wakes the execution that waits for it. */
export function signalOne(desk: Desk, workflowId: string, signal: NewSignal): SignalResult {
  const { rows, ids, now } = desk;
  const dossier = rows.dossier(workflowId);
  if (dossier === null) return { kind: "missing" };
  const { name, payload, idempotencyKey } = signal;
  const known = idempotencyKey === null
    ? null
    : dossier.signals.find((one) => one.idempotencyKey === idempotencyKey) ?? null;
  const settled = settleSignal(signal, { ...dossier, known }, now);
  if (settled.kind === "refused") return settled;
  if (settled.kind === "known") return { kind: "known", signal: known as SignalRow };
  const row: SignalRow = {
    id: ids.next("signals"),
    workflowId,
    name,
    payload,
    idempotencyKey,
    sentAt: now,
    consumedById: null,
  };
  rows.putSignal(row);
  if (settled.wake !== null) rows.putExecution(settled.wake);
  const job = settled.wake && jobOf(settled.wake, true);
  return { kind: "stored", signal: row, job, state: dossier.workflow.state };
}

/** What a write has scheduled, and the job of it. */
interface Inserted {
  readonly execution: ExecutionRow | null;
  readonly job: Job | null;
}

const NOTHING: Inserted = { execution: null, job: null };

/** Inserts the next execution of a workflow; whatever was active is closed before. */
function insert(desk: Desk, workflowId: string, fresh: NewExecution): Inserted {
  const dossier = dossierOf(desk, workflowId);
  const signalPending = isPending(dossier, fresh.waitingFor);
  const execution = newExecutionRow(fresh, {
    id: desk.ids.next("executions"),
    workflowId,
    seq: (dossier.last?.seq ?? 0) + 1,
    now: desk.now,
    signalPending,
  });
  desk.rows.putExecution(execution);
  return { execution, job: jobOf(execution, signalPending) };
}

/** An execution never outlives its workflow, so its dossier is there. */
function dossierOf(desk: Desk, workflowId: string): Dossier {
  return desk.rows.dossier(workflowId) as Dossier;
}

function isPending({ signals }: Dossier, waitingFor: string | null): boolean {
  return keptSignal(signals, waitingFor) !== null;
}

/** The oldest signal of a name that nobody has received yet. */
function keptSignal(signals: readonly SignalRow[], name: string | null): SignalRow | null {
  if (name === null) return null;
  return signals.find((one) => one.name === name && one.consumedById === null) ?? null;
}
