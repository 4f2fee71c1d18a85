/**
 * From rows to records: decoding what is stored for the eyes of users.
 *
 * @module
 */

import { StoredValueError } from "../errors.ts";
import type { Codec } from "../state/codec.ts";
import { metadataOf } from "../state/metadata.ts";
import type {
  ExecutionRecord,
  ExecutionRow,
  WorkflowRecord,
  WorkflowRow,
} from "../state/records.ts";

/** Decodes a column; unreadable text is a typed error that names the column. */
export function decodeColumn(codec: Codec, column: string, text: string | null): unknown {
  if (text === null) return null;
  try {
    return codec.decode(text);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new StoredValueError(column, message, { cause: error });
  }
}

/** The record of a workflow; an unreadable input is only an error for who reads it. */
export function workflowRecord(row: WorkflowRow, codec: Codec): WorkflowRecord {
  let input: { value: unknown } | null = null;
  return Object.freeze({
    id: row.id,
    name: row.name,
    heroType: row.heroType,
    heroId: row.heroId,
    state: row.state,
    currentStepName: row.currentStepName,
    nextStepName: row.nextStepName,
    allowMultiple: row.allowMultiple,
    get input(): unknown {
      input ??= { value: decodeColumn(codec, "input", row.input) };
      return input.value;
    },
    metadata: Object.freeze(givenMetadata(row.metadata, codec)),
    startedAt: row.startedAt,
    transitionedAt: row.transitionedAt,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  });
}

/** The metadata a workflow was started with; like all metadata it is empty when it cannot be read. */
function givenMetadata(text: string | null, codec: Codec): Record<string, unknown> {
  if (text === null) return {};
  try {
    const value = codec.decode(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
  } catch {
    return {};
  }
}

/** What the engine noted of an execution, the last cursor opened where it is sealed. */
function keptMetadata(text: string | null, codec: Codec): Record<string, unknown> {
  const metadata = metadataOf(text);
  const { lastCursor } = metadata as { lastCursor?: { $pawl?: unknown } | null };
  if (lastCursor?.$pawl !== "sealed") return metadata;
  try {
    return { ...metadata, lastCursor: codec.decode(JSON.stringify(lastCursor)) };
  } catch {
    return metadata;
  }
}

/** The record of an execution; an unreadable cursor is only an error for who reads it. */
export function executionRecord(row: ExecutionRow, codec: Codec): ExecutionRecord {
  let cursor: { value: unknown } | null = null;
  return Object.freeze({
    id: row.id,
    workflowId: row.workflowId,
    stepName: row.stepName,
    state: row.state,
    outcome: row.outcome,
    cause: row.cause,
    attempt: row.attempt,
    continuesFromId: row.continuesFromId,
    get cursor(): unknown {
      cursor ??= { value: decodeColumn(codec, "cursor_value", row.cursor) };
      return cursor.value;
    },
    progress: row.progress,
    waitingFor: row.waitingFor,
    scheduledFor: row.scheduledFor,
    startedAt: row.startedAt,
    completedAt: row.completedAt,
    failedAt: row.failedAt,
    canceledAt: row.canceledAt,
    skippedAt: row.skippedAt,
    finishedAt: row.finishedAt,
    errorClass: row.errorClass,
    errorMessage: row.errorMessage,
    errorStack: row.errorStack,
    metadata: Object.freeze(keptMetadata(row.metadata, codec)),
    queue: row.queue,
    priority: row.priority,
    worker: row.worker,
    createdAt: row.createdAt,
  });
}
