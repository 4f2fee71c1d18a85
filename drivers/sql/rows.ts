/**
 * Rows between the database and `src/state`: which column holds which field, and in what kind.
 *
 * @module
 */

import { StoreError } from "../../src/errors.ts";
import type {
  Cause,
  ExecutionRow,
  ExecutionState,
  Outcome,
  Progress,
  WorkflowRow,
  WorkflowState,
} from "../../src/state/records.ts";
import type { SignalRow } from "../../src/state/signal.ts";
import type { SqlRow, SqlScalar } from "./client.ts";
import type { Column, ColumnKind, Dialect, ValueCodec } from "./dialect.ts";

type FieldValue = string | number | boolean | Date | null;

/** A column, and where its value is found in a row. */
export interface Field<Row> extends Column {
  /** The value of this column. */
  readonly of: (row: Row) => FieldValue;
}

function field<Row>(name: string, kind: ColumnKind, of: (row: Row) => FieldValue): Field<Row> {
  return { name, kind, of };
}

/** The primary key of every table. */
export const ID: Column = { name: "id", kind: "id" };

/** The columns of a workflow, without its id. */
export const WORKFLOW_FIELDS: readonly Field<WorkflowRow>[] = [
  field("name", "text", (row) => row.name),
  field("hero_type", "text", (row) => row.heroType),
  field("hero_id", "text", (row) => row.heroId),
  field("state", "text", (row) => row.state),
  field("current_step_name", "text", (row) => row.currentStepName),
  field("next_step_name", "text", (row) => row.nextStepName),
  field("allow_multiple", "boolean", (row) => row.allowMultiple),
  field("input", "json", (row) => row.input),
  field("metadata", "json", (row) => row.metadata),
  field("job_options", "json", (row) => row.jobOptions),
  field("traceparent", "text", (row) => row.traceparent),
  field("started_at", "time", (row) => row.startedAt),
  field("transitioned_at", "time", (row) => row.transitionedAt),
  field("created_at", "time", (row) => row.createdAt),
  field("updated_at", "time", (row) => row.updatedAt),
];

/** The columns of an execution, without its id. */
export const EXECUTION_FIELDS: readonly Field<ExecutionRow>[] = [
  field("workflow_id", "id", (row) => row.workflowId),
  field("seq", "integer", (row) => row.seq),
  field("step_name", "text", (row) => row.stepName),
  field("state", "text", (row) => row.state),
  field("outcome", "text", (row) => row.outcome),
  field("cause", "text", (row) => row.cause),
  field("attempt", "integer", (row) => row.attempt),
  field("failures", "integer", (row) => row.failures),
  field("continues_from_id", "id", (row) => row.continuesFromId),
  field("cursor_value", "json", (row) => row.cursor),
  field("progress_done", "real", (row) => row.progress?.done ?? null),
  field("progress_total", "real", (row) => row.progress?.total ?? null),
  field("progress_message", "text", (row) => row.progress?.message ?? null),
  field("waiting_for", "text", (row) => row.waitingFor),
  field("wait_until", "time", (row) => row.waitUntil),
  field("scheduled_for", "time", (row) => row.scheduledFor),
  field("wake_at", "time", (row) => row.wakeAt),
  field("token", "text", (row) => row.token),
  field("lease_until", "time", (row) => row.leaseUntil),
  field("worker", "text", (row) => row.worker),
  field("started_at", "time", (row) => row.startedAt),
  field("completed_at", "time", (row) => row.completedAt),
  field("failed_at", "time", (row) => row.failedAt),
  field("canceled_at", "time", (row) => row.canceledAt),
  field("skipped_at", "time", (row) => row.skippedAt),
  field("finished_at", "time", (row) => row.finishedAt),
  field("error_class", "text", (row) => row.errorClass),
  field("error_message", "text", (row) => row.errorMessage),
  field("error_stack", "text", (row) => row.errorStack),
  field("metadata", "json", (row) => row.metadata),
  field("job_id", "text", (row) => row.jobId),
  field("queue", "text", (row) => row.queue),
  field("priority", "integer", (row) => row.priority),
  field("created_at", "time", (row) => row.createdAt),
];

/** The columns of a signal, without its id. */
export const SIGNAL_FIELDS: readonly Field<SignalRow>[] = [
  field("workflow_id", "id", (row) => row.workflowId),
  field("name", "text", (row) => row.name),
  field("payload", "json", (row) => row.payload),
  field("idempotency_key", "text", (row) => row.idempotencyKey),
  field("sent_at", "time", (row) => row.sentAt),
  field("consumed_by_id", "id", (row) => row.consumedById),
];

/** The named ones among fields, in the order of the names. */
export function pick<Row>(fields: readonly Field<Row>[], names: readonly string[]): Field<Row>[] {
  return names.map((name) => {
    const found = fields.find((one) => one.name === name);
    if (found === undefined) throw new TypeError(`No column is called "${name}"`);
    return found;
  });
}

type Selected = Pick<Dialect, "selected">;

/** The list of columns of a SELECT, the id first. */
export function columnList(dialect: Selected, fields: readonly Column[], alias?: string): string {
  return [ID, ...fields].map((column) => {
    const name = alias === undefined ? column.name : `${alias}.${column.name}`;
    return dialect.selected?.(column, name) ?? name;
  }).join(", ");
}

/** What stands before the columns of a workflow where they are selected beside an execution's. */
export const WORKFLOW_PREFIX = "w_";

/** What an execution has only once it has ended: reading it of live ones would be in vain. */
const ENDS: readonly string[] = [
  ...["outcome", "cause", "completed_at", "failed_at", "canceled_at", "skipped_at", "finished_at"],
  ...["error_class", "error_message", "error_stack"],
];

/** The columns of a workflow `w` beside those of a live execution `e`, told apart by the prefix. */
export function pairColumns(dialect: Selected): string {
  const workflow = [ID, ...WORKFLOW_FIELDS].map(({ name, kind }) => {
    const prefixed = { name: `${WORKFLOW_PREFIX}${name}`, kind };
    const column = `w.${name} AS ${prefixed.name}`;
    return dialect.selected?.(prefixed, `w.${name}`) ?? column;
  });
  const execution = EXECUTION_FIELDS.filter(({ name }) => !ENDS.includes(name));
  return `${columnList(dialect, execution, "e")}, ${workflow.join(", ")}`;
}

/**
 * Makes the function that answers the values of a row in the order of the fields, ready for binding.
 * How each travels is settled once here: asking every value for its kind took a third longer.
 */
export function rowWriter<Row>(
  codec: ValueCodec,
  fields: readonly Field<Row>[],
): (row: Row) => SqlScalar[] {
  const writers = fields.map(({ of, kind }) => ({ of, write: valueWriter(codec, kind) }));
  return (row) => {
    const values: SqlScalar[] = new Array(writers.length);
    for (let at = 0; at < writers.length; at++) {
      const { of, write } = writers[at] as (typeof writers)[number];
      const value = of(row);
      values[at] = value === null || write === null ? value as SqlScalar : write(value);
    }
    return values;
  };
}

/** How a value that is not null travels; null: as it is. */
function valueWriter(
  codec: ValueCodec,
  kind: ColumnKind,
): ((value: NonNullable<FieldValue>) => SqlScalar) | null {
  const { jsonIn } = codec;
  switch (kind) {
    case "time":
      return (value) => codec.timeIn(value as Date);
    case "boolean":
      return (value) => codec.booleanIn(value as boolean);
    case "json":
      return jsonIn === undefined ? null : (value) => jsonIn(String(value));
    case "id":
      return (value) => {
        const id = codec.idIn(String(value));
        if (id !== null) return id;
        throw new StoreError("sql", `Cannot write ${JSON.stringify(value)} as an id: it is none`);
      };
    default:
      return null;
  }
}

/** Makes the function that reads workflows, out of columns with or without a prefix. */
export function workflowReader(
  codec: ValueCodec,
  prefix: string = "",
): (row: SqlRow) => WorkflowRow {
  const { id, ...columns } = prefixed(prefix);
  const { time, text, json } = nullable(codec);
  return (row) => ({
    id: codec.idOut(row[id]),
    name: row[columns.name] as string,
    heroType: text(row[columns.heroType]),
    heroId: text(row[columns.heroId]),
    state: row[columns.state] as WorkflowState,
    currentStepName: text(row[columns.currentStepName]),
    nextStepName: text(row[columns.nextStepName]),
    allowMultiple: codec.booleanOut(row[columns.allowMultiple]),
    input: json(row[columns.input]),
    metadata: json(row[columns.metadata]),
    jobOptions: json(row[columns.jobOptions]),
    traceparent: text(row[columns.traceparent]),
    startedAt: time(row[columns.startedAt]),
    transitionedAt: time(row[columns.transitionedAt]),
    createdAt: codec.timeOut(row[columns.createdAt]),
    updatedAt: codec.timeOut(row[columns.updatedAt]),
  });
}

/** The names of a workflow's columns, composed once and not per row. */
function prefixed(prefix: string): Record<keyof WorkflowRow, string> {
  return {
    id: `${prefix}id`,
    name: `${prefix}name`,
    heroType: `${prefix}hero_type`,
    heroId: `${prefix}hero_id`,
    state: `${prefix}state`,
    currentStepName: `${prefix}current_step_name`,
    nextStepName: `${prefix}next_step_name`,
    allowMultiple: `${prefix}allow_multiple`,
    input: `${prefix}input`,
    metadata: `${prefix}metadata`,
    jobOptions: `${prefix}job_options`,
    traceparent: `${prefix}traceparent`,
    startedAt: `${prefix}started_at`,
    transitionedAt: `${prefix}transitioned_at`,
    createdAt: `${prefix}created_at`,
    updatedAt: `${prefix}updated_at`,
  };
}

/** Makes the function that reads executions; a column that was not selected is taken for empty. */
export function executionReader(codec: ValueCodec): (row: SqlRow) => ExecutionRow {
  const { time, id, text, json } = nullable(codec);
  return (row) => ({
    id: codec.idOut(row.id),
    workflowId: codec.idOut(row.workflow_id),
    seq: Number(row.seq),
    stepName: row.step_name as string,
    state: row.state as ExecutionState,
    outcome: text(row.outcome) as Outcome | null,
    cause: text(row.cause) as Cause | null,
    attempt: Number(row.attempt),
    failures: Number(row.failures),
    continuesFromId: id(row.continues_from_id),
    cursor: json(row.cursor_value),
    progress: progressOf(row),
    waitingFor: text(row.waiting_for),
    waitUntil: time(row.wait_until),
    scheduledFor: codec.timeOut(row.scheduled_for),
    wakeAt: time(row.wake_at),
    token: text(row.token),
    leaseUntil: time(row.lease_until),
    worker: text(row.worker),
    startedAt: time(row.started_at),
    completedAt: time(row.completed_at),
    failedAt: time(row.failed_at),
    canceledAt: time(row.canceled_at),
    skippedAt: time(row.skipped_at),
    finishedAt: time(row.finished_at),
    errorClass: text(row.error_class),
    errorMessage: text(row.error_message),
    errorStack: text(row.error_stack),
    metadata: json(row.metadata),
    jobId: text(row.job_id),
    queue: row.queue as string,
    priority: Number(row.priority),
    createdAt: codec.timeOut(row.created_at),
  });
}

/** Makes the function that reads signals. */
export function signalReader(codec: ValueCodec): (row: SqlRow) => SignalRow {
  const { id, text, json } = nullable(codec);
  return (row) => ({
    id: codec.idOut(row.id),
    workflowId: codec.idOut(row.workflow_id),
    name: row.name as string,
    payload: json(row.payload),
    idempotencyKey: text(row.idempotency_key),
    sentAt: codec.timeOut(row.sent_at),
    consumedById: id(row.consumed_by_id),
  });
}

function nullable(codec: ValueCodec): {
  time(value: unknown): Date | null;
  id(value: unknown): string | null;
  text(value: unknown): string | null;
  json(value: unknown): string | null;
} {
  const { jsonOut } = codec;
  return {
    time: (value) => value === null || value === undefined ? null : codec.timeOut(value),
    id: (value) => value === null ? null : codec.idOut(value),
    text: (value) => value === undefined ? null : value as string | null,
    json: (value) =>
      value === null || jsonOut === undefined ? value as string | null : jsonOut(value),
  };
}

function progressOf(row: SqlRow): Progress | null {
  if (row.progress_done === null) return null;
  return {
    done: Number(row.progress_done),
    total: row.progress_total === null ? null : Number(row.progress_total),
    message: row.progress_message as string | null,
  };
}
