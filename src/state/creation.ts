/**
 * Creating: the row of a new workflow, and the job that a scheduled execution gives rise to.
 *
 * @module
 */

import type { ExecutionRow, Job, NewWorkflow, WorkflowRow } from "./records.ts";
import { dueAt } from "./transitions.ts";

/**
 * The row of a new workflow: ready for its first step, performing when that step comes already
 * claimed, or finished at once when there is no step.
 */
export function newWorkflowRow(
  fresh: NewWorkflow,
  place: { readonly id: string; readonly now: Date },
): WorkflowRow {
  const { first } = fresh;
  const held = first !== null && first.hold !== null;
  return {
    id: place.id,
    name: fresh.name,
    heroType: fresh.heroType,
    heroId: fresh.heroId,
    state: first === null ? "finished" : held ? "performing" : "ready",
    currentStepName: held ? first.stepName : null,
    nextStepName: first?.stepName ?? null,
    allowMultiple: fresh.allowMultiple,
    input: fresh.input,
    metadata: fresh.metadata,
    jobOptions: fresh.jobOptions,
    traceparent: fresh.traceparent,
    startedAt: held ? place.now : null,
    transitionedAt: first === null ? place.now : null,
    createdAt: place.now,
    updatedAt: place.now,
  };
}

/**
 * The job of an execution that was just scheduled or woken; null when nobody needs to run it. Only
 * the store knows whether the signal is there that the execution waits for, so stores make the jobs.
 */
export function jobOf(execution: ExecutionRow, signalPending: boolean): Job | null {
  if (execution.state !== "scheduled" || execution.wakeAt === null) return null;
  const runAt = dueAt(execution, signalPending);
  if (runAt === null) return null;
  const { id: executionId, queue, priority } = execution;
  return { executionId, runAt, queue, priority };
}
