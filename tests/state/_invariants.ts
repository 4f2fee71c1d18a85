/**
 * What must be true of a world after every move, whatever the move was.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type ExecutionRow, isActive, isOngoing } from "../../src/state/records.ts";
import { dueAt, EXECUTION_TRANSITIONS, wakeAt } from "../../src/state/transitions.ts";
import { activeOf, pendingFor, STEPS, type World } from "./_world.ts";

/** What a world was before a move. */
export type Snapshot = Pick<World, "workflow" | "executions" | "signals">;

/** Rows are replaced and never changed, so a shallow copy keeps them as they were. */
export function snapshot({ workflow, executions, signals }: World): Snapshot {
  return { workflow, executions: [...executions], signals: [...signals] };
}

/** Checks everything; `before` is the world before the move. */
export function checkInvariants(world: World, before: Snapshot): void {
  checkWorkflow(world);
  checkPointers(world);
  checkNothingEndedChanged(world, before);
  checkEnd(world, before);
  world.executions.forEach((row, index) => checkExecution(world, row, index));
  checkWakeAt(world);
  checkSignals(world);
}

function checkWorkflow(world: World): void {
  const { state, transitionedAt, startedAt } = world.workflow;
  const active = world.executions.filter((row) => isActive(row.state));
  assert.ok(active.length <= 1, "SCH-10 at most one active execution");
  const activity = active[0]?.state ?? "none";
  const possible = {
    ready: ["scheduled"],
    performing: ["in_progress"],
    paused: ["none", "scheduled", "in_progress"],
    finished: ["none"],
    canceled: ["none", "in_progress"],
  }[state];
  assert.ok(possible.includes(activity), `a ${state} workflow with an execution ${activity}`);
  const goesOn = state === "ready" || state === "performing";
  assert.equal(transitionedAt === null, goesOn, "AUD-08");
  if (state === "performing") assert.ok(startedAt !== null, "AUD-09");
}

function checkPointers(world: World): void {
  const { state, currentStepName, nextStepName } = world.workflow;
  const known = STEPS.some((step) => step.name === nextStepName);
  assert.equal(known, state !== "finished", "nextStepName is a step, and null at the end");
  if (state === "finished") assert.equal(nextStepName, null, "SCH-07 FLW-12");
  const active = activeOf(world);
  const runs = active?.state === "in_progress" && isOngoing(state) ? active.stepName : null;
  assert.equal(currentStepName, runs, "AUD-15 EXE-20");
  if (active !== null && isOngoing(state)) assert.equal(active.stepName, nextStepName);
}

function checkNothingEndedChanged(world: World, before: Snapshot): void {
  if (!isOngoing(before.workflow.state)) assert.deepEqual(world.workflow, before.workflow);
  for (const [index, old] of before.executions.entries()) {
    const row = world.executions[index] as ExecutionRow;
    if (!isActive(old.state)) assert.deepEqual(row, old, "an ended execution never changes");
    else if (row.state !== old.state) {
      assert.ok(EXECUTION_TRANSITIONS[old.state].includes(row.state), "EXE-27");
    }
  }
}

/** A workflow is finished by the end of its last step, or because a step says so. */
function checkEnd(world: World, before: Snapshot): void {
  if (world.workflow.state !== "finished" || before.workflow.state === "finished") return;
  const last = world.executions.at(-1) as ExecutionRow;
  const saidSo = last.outcome === "success" && last.cause === "flow_control";
  const wasLast = before.workflow.nextStepName === STEPS.at(-1)?.name;
  assert.ok(wasLast || saidSo, "nothing is left undone");
}

function checkExecution(world: World, row: ExecutionRow, index: number): void {
  assert.equal(row.seq, index + 1);
  assert.ok(row.attempt >= 1 && row.failures >= 0, "counts are never negative");
  const { completed, failed, canceled, skipped } = {
    completed: row.completedAt,
    failed: row.failedAt,
    canceled: row.canceledAt,
    skipped: row.skippedAt,
  };
  const ends = { scheduled: null, in_progress: null, completed, failed, canceled, skipped };
  assert.deepEqual(row.finishedAt, ends[row.state], "AUD-06 AUD-07");
  const stamps = [completed, failed, canceled, skipped].filter((stamp) => stamp !== null);
  assert.equal(stamps.length, isActive(row.state) ? 0 : 1);
  assert.equal(row.outcome === null, isActive(row.state));
  assert.equal(row.token !== null, row.state === "in_progress");
  assert.deepEqual(row.leaseUntil, row.state === "in_progress" ? row.wakeAt : null);
  if (!isActive(row.state)) assert.equal(row.wakeAt, null);
  if (row.outcome === "success") assert.equal(row.cursor, null, "RES-19");
  if (row.outcome === "reattempted") assert.equal(row.errorClass, null, "AUD-10");
  if (row.state === "failed") assert.notEqual(row.errorClass, null, "AUD-12");
  if (row.continuesFromId !== null) checkLink(world, row);
}

function checkLink(world: World, row: ExecutionRow): void {
  const from = world.executions.find((one) => one.id === row.continuesFromId) as ExecutionRow;
  assert.ok(from.seq < row.seq && from.stepName === row.stepName, "RES-15");
  assert.equal(isActive(from.state), false);
  assert.notEqual(from.outcome, "success");
}

/** The row is the truth: nobody may be forgotten, and nobody paused may be woken. */
function checkWakeAt(world: World): void {
  const active = activeOf(world);
  if (active?.state !== "scheduled") return;
  if (world.workflow.state === "paused") return assert.equal(active.wakeAt, null, "EXT-01");
  const due = dueAt(active, pendingFor(world, active) !== null);
  if (due === null) return assert.equal(active.wakeAt, null, "NEW-05 parked");
  assert.ok(active.wakeAt !== null, "what can run has somebody to look at it");
  // A signal may have come after the due time; then the grace counts from the signal.
  assert.ok(active.wakeAt.getTime() >= (wakeAt(due, world.graceMs) as Date).getTime());
  assert.ok(active.wakeAt.getTime() <= Math.max(due.getTime(), world.now) + world.graceMs);
}

function checkSignals(world: World): void {
  const consumers = world.signals.map((one) => one.consumedById).filter((id) => id !== null);
  assert.equal(new Set(consumers).size, consumers.length, "NEW-05 one signal per execution");
  const keys = world.signals.map((one) => one.idempotencyKey).filter((key) => key !== null);
  assert.equal(new Set(keys).size, keys.length, "NEW-05 one signal per key");
}
