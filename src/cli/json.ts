/**
 * The shapes that `--json` prints: records with ISO times, and values as they are stored.
 *
 * @module
 */

import type { ExecutionRecord, WorkflowRecord } from "../define/records.ts";
import type { SignalRecord } from "../run/commands.ts";
import { jsonCodec } from "../state/codec.ts";
import { toError } from "../state/stored_error.ts";

/** A value that JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | { [key: string]: Json };

/**
 * A decoded value as JSON: what JSON cannot say is tagged as it is in the row. A value that cannot be
 * read must not keep anybody from looking at the rest.
 */
export function valueJson(read: () => unknown): Json {
  try {
    const value = read();
    return value === undefined ? null : JSON.parse(jsonCodec.encode(value)) as Json;
  } catch (thrown) {
    return { unreadable: toError(thrown).message };
  }
}

function timeJson(time: Date | null): string | null {
  return time?.toISOString() ?? null;
}

/** A workflow for machines. */
export function workflowJson(workflow: WorkflowRecord): Record<string, Json> {
  return {
    id: workflow.id,
    name: workflow.name,
    heroType: workflow.heroType,
    heroId: workflow.heroId,
    state: workflow.state,
    currentStepName: workflow.currentStepName,
    nextStepName: workflow.nextStepName,
    allowMultiple: workflow.allowMultiple,
    input: valueJson(() => workflow.input),
    metadata: valueJson(() => workflow.metadata),
    startedAt: timeJson(workflow.startedAt),
    transitionedAt: timeJson(workflow.transitionedAt),
    createdAt: timeJson(workflow.createdAt),
    updatedAt: timeJson(workflow.updatedAt),
  };
}

/** An execution for machines. */
export function executionJson(one: ExecutionRecord): Record<string, Json> {
  return {
    id: one.id,
    workflowId: one.workflowId,
    stepName: one.stepName,
    state: one.state,
    outcome: one.outcome,
    cause: one.cause,
    attempt: one.attempt,
    continuesFromId: one.continuesFromId,
    cursor: valueJson(() => one.cursor),
    progress: one.progress === null ? null : { ...one.progress },
    waitingFor: one.waitingFor,
    scheduledFor: timeJson(one.scheduledFor),
    startedAt: timeJson(one.startedAt),
    finishedAt: timeJson(one.finishedAt),
    errorClass: one.errorClass,
    errorMessage: one.errorMessage,
    errorStack: one.errorStack,
    metadata: valueJson(() => one.metadata),
    queue: one.queue,
    priority: one.priority,
    worker: one.worker,
    createdAt: timeJson(one.createdAt),
  };
}

/** A signal for machines. */
export function signalJson(signal: SignalRecord): Record<string, Json> {
  return {
    id: signal.id,
    name: signal.name,
    payload: valueJson(() => signal.payload),
    idempotencyKey: signal.idempotencyKey,
    sentAt: timeJson(signal.sentAt),
    consumedById: signal.consumedById,
  };
}
