/**
 * A world of one workflow: its row, its executions and its signals, moved only by the pure
 * decisions. It stands for a store and for any number of workers, some of which are late.
 *
 * @module
 */

import { checkpointAnswer, isHeld } from "../../src/state/checkpoint.ts";
import { judgeClaim } from "../../src/state/claim.ts";
import { type Command, type CommandSettlement, settleCommand } from "../../src/state/command.ts";
import { newWorkflowRow } from "../../src/state/creation.ts";
import { decide, type Ruling, type StepResult, verdictOf } from "../../src/state/decide.ts";
import { settleFinish } from "../../src/state/finish.ts";
import { metadataOf } from "../../src/state/metadata.ts";
import {
  type ExecutionRow,
  isActive,
  isOngoing,
  type NewExecution,
  type WorkflowRow,
} from "../../src/state/records.ts";
import { settleSignal, type SignalRow } from "../../src/state/signal.ts";
import { newExecutionRow } from "../../src/state/transitions.ts";
import { LEASE_MS, newExecution, T0 } from "./_rows.ts";

/** One step of the world's only definition. */
export interface Step {
  readonly name: string;
  readonly resumable: boolean;
  readonly waitMs: number;
  readonly waitFor: string | null;
  readonly timeoutMs: number | null;
}

const STEP: Omit<Step, "name"> = { resumable: false, waitMs: 0, waitFor: null, timeoutMs: null };

/** A plain step, a resumable one, two that wait for a signal, and a last one after a wait. */
export const STEPS: readonly Step[] = [
  { ...STEP, name: "welcome" },
  { ...STEP, name: "import", resumable: true },
  { ...STEP, name: "approve", waitFor: "approved" },
  { ...STEP, name: "confirm", waitFor: "confirmed", timeoutMs: 60_000, resumable: true },
  { ...STEP, name: "remind", waitMs: 10_000 },
];

/** A claim as its worker remembers it, whether or not it still holds. */
export interface Holding {
  readonly token: string;
  readonly execution: ExecutionRow;
  cursor: string | null;
}

/** The world; rows are replaced, never changed. */
export interface World {
  now: number;
  readonly graceMs: number;
  workflow: WorkflowRow;
  executions: ExecutionRow[];
  signals: SignalRow[];
  holdings: Holding[];
  tokens: number;
}

/** A world whose workflow was just created. */
export function newWorld(graceMs: number): World {
  const world: World = {
    now: T0.getTime(),
    graceMs,
    workflow: null as never,
    executions: [],
    signals: [],
    holdings: [],
    tokens: 0,
  };
  const first = planStep(world, stepNamed("welcome"), {});
  const given = { heroType: "User", heroId: "42", allowMultiple: false, input: null };
  const rest = { metadata: null, jobOptions: null, traceparent: null };
  const fresh = { name: "onboarding", ...given, ...rest, first };
  world.workflow = newWorkflowRow(fresh, { id: "w1", now: nowOf(world) });
  insert(world, first);
  return world;
}

export function nowOf(world: World): Date {
  return new Date(world.now);
}

export function stepNamed(name: string): Step {
  return STEPS.find((step) => step.name === name) as Step;
}

function following(name: string): Step | null {
  return STEPS[STEPS.findIndex((step) => step.name === name) + 1] ?? null;
}

/** The execution that is scheduled or in progress. */
export function activeOf(world: World): ExecutionRow | null {
  return world.executions.find((row) => isActive(row.state)) ?? null;
}

/** The oldest kept signal that an execution waits for. */
export function pendingFor(world: World, row: { waitingFor: string | null }): SignalRow | null {
  return world.signals.find((one) => one.name === row.waitingFor && one.consumedById === null) ??
    null;
}

/** Plans as the engine does: without a lock, from what the definition says. */
export function planStep(
  world: World,
  step: Step,
  how: Partial<NewExecution> & { readonly waitMs?: number },
): NewExecution {
  const { waitMs = step.waitMs, ...rest } = how;
  const scheduledFor = new Date(world.now + waitMs);
  const waits = step.waitFor !== null && metadataOf(rest.metadata ?? null).event === undefined;
  const limit = waits && step.timeoutMs !== null ? scheduledFor.getTime() + step.timeoutMs : null;
  return newExecution({
    stepName: step.name,
    scheduledFor,
    graceMs: world.graceMs,
    waitingFor: waits ? step.waitFor : null,
    waitUntil: limit === null ? null : new Date(limit),
    ...rest,
  });
}

function insert(world: World, fresh: NewExecution): ExecutionRow {
  const seq = world.executions.length + 1;
  const row = newExecutionRow(fresh, {
    id: `e${seq}`,
    workflowId: "w1",
    seq,
    now: nowOf(world),
    signalPending: pendingFor(world, fresh) !== null,
  });
  world.executions.push(row);
  return row;
}

function replace(world: World, row: ExecutionRow): void {
  world.executions = world.executions.map((one) => one.id === row.id ? row : one);
}

/** Claims one execution; the sweep takes over, a job does not. */
export function claim(world: World, id: string, takeOver: boolean): string {
  const execution = world.executions.find((row) => row.id === id) as ExecutionRow;
  const signal = pendingFor(world, execution);
  const token = `t${++world.tokens}`;
  const intent = { now: nowOf(world), token, leaseMs: LEASE_MS, worker: "worker", takeOver };
  const judged = judgeClaim({ workflow: world.workflow, execution, signal }, intent);
  if (judged.kind === "stop") replace(world, judged.execution);
  if (judged.kind === "grant") {
    world.workflow = judged.claimed.workflow;
    replace(world, judged.claimed.execution);
    if (judged.consume !== null) consume(world, judged.consume, id);
    remember(world, judged.claimed.execution);
  }
  return judged.kind === "refuse" ? judged.claim.kind : judged.kind;
}

function consume(world: World, signal: SignalRow, id: string): void {
  world.signals = world.signals.map((one) =>
    one.id === signal.id ? { ...one, consumedById: id } : one
  );
}

function remember(world: World, execution: ExecutionRow): void {
  const { token, cursor } = execution;
  world.holdings.push({ token: token as string, execution, cursor });
}

/** Claims whatever must be looked at now. */
export function sweep(world: World): void {
  const due = world.executions.filter((row) => row.wakeAt !== null && row.wakeAt <= nowOf(world));
  for (const row of due) claim(world, row.id, true);
}

/** A sign of life with a new cursor; answers as a store does. */
export function checkpoint(world: World, holding: Holding, cursor: string): string {
  const row = world.executions.find((one) => one.id === holding.execution.id) as ExecutionRow;
  if (!isHeld(row, holding.token)) return "lost";
  const leaseUntil = new Date(world.now + LEASE_MS);
  replace(world, { ...row, cursor, leaseUntil, wakeAt: leaseUntil });
  holding.cursor = cursor;
  return checkpointAnswer(world.workflow.state);
}

/** Decides, plans what is next, and finishes; `goOn` keeps the claim on what is due at once. */
export function finish(
  world: World,
  holding: Holding,
  how: { readonly result: StepResult; readonly goOn: boolean },
): "lost" | "done" {
  const step = stepNamed(holding.execution.stepName);
  const ruling = decide(how.result, {
    execution: holding.execution,
    cursor: holding.cursor,
    resumable: step.resumable,
    maxUnchanged: 2,
    maxRecoveries: 3,
    ranMs: world.now - (holding.execution.startedAt as Date).getTime(),
    chance: 0.5,
  });
  const planned = planNext(world, step, ruling);
  const next = planned !== null && how.goOn ? held(world, planned) : planned;
  const verdict = verdictOf(ruling, { stepName: step.name, next });
  const ids = { executionId: holding.execution.id, workflowId: "w1", token: holding.token };
  const execution = world.executions.find((row) => row.id === ids.executionId) as ExecutionRow;
  const view = { workflow: world.workflow, execution };
  const settled = settleFinish({ ...verdict, ...ids }, view, nowOf(world));
  if (settled.kind === "lost") return "lost";
  world.workflow = settled.workflow;
  replace(world, settled.execution);
  if (settled.next !== null) {
    const row = insert(world, settled.next);
    if (row.token !== null) remember(world, row);
  }
  return "done";
}

function planNext(world: World, step: Step, { then }: Ruling): NewExecution | null {
  if (then.to === "end") return null;
  if (then.to === "again") {
    const { to: _, ...how } = then;
    return planStep(world, step, how);
  }
  const next = following(step.name);
  return next && planStep(world, next, {});
}

function held(world: World, next: NewExecution): NewExecution {
  if (next.waitingFor !== null || next.scheduledFor > nowOf(world)) return next;
  return { ...next, hold: { token: `t${++world.tokens}`, leaseMs: LEASE_MS, worker: "worker" } };
}

/** Plans a command as the engine does, from the workflow as it is when it is planned. */
export function planCommand(world: World, kind: Command["kind"], stepName: string): Command {
  const { state, nextStepName: expected } = world.workflow;
  if (kind === "pause" || kind === "cancel") return { kind };
  if (kind === "place") {
    const from = state === "ready" ? "ready" : "paused";
    return { kind, from, next: planStep(world, stepNamed(stepName), { waitMs: 0 }) };
  }
  if (kind === "skip") {
    const next = expected === null || !isOngoing(state) ? null : following(expected);
    return { kind, expected, next: next && planStep(world, next, {}) };
  }
  const step = state === "paused" && expected !== null ? stepNamed(expected) : null;
  const fresh = step && planStep(world, step, { waitMs: 0 });
  return { kind, expected, fresh, resumable: step?.resumable ?? false, graceMs: world.graceMs };
}

/** Settles a command that may have been planned long ago. */
export function command(world: World, planned: Command): CommandSettlement["kind"] {
  const active = activeOf(world);
  const settled = settleCommand(planned, {
    workflow: world.workflow,
    active,
    last: world.executions.at(-1) ?? null,
    signalPending: active !== null && pendingFor(world, active) !== null,
  }, nowOf(world));
  if (settled.kind !== "write") return settled.kind;
  world.workflow = settled.workflow;
  if (settled.active !== null) replace(world, settled.active);
  if (settled.next !== null) insert(world, settled.next);
  return settled.kind;
}

/** Sends a signal. */
export function signal(world: World, name: string, key: string | null): void {
  const known = key === null ? null : world.signals.find((one) => one.idempotencyKey === key);
  const sent = { name, payload: null, idempotencyKey: key, graceMs: world.graceMs };
  const view = { workflow: world.workflow, active: activeOf(world), known: known ?? null };
  const settled = settleSignal(sent, view, nowOf(world));
  if (settled.kind !== "store") return;
  const id = `s${world.signals.length + 1}`;
  const row = { id, workflowId: "w1", name, payload: null, idempotencyKey: key };
  world.signals.push({ ...row, sentAt: nowOf(world), consumedById: null });
  if (settled.wake !== null) replace(world, settled.wake);
}
