/**
 * The portable statements, named, in the order of `StoreDriver`. Each is a function that answers a
 * text and its parameters, or a writer that the dialect made; nothing here decides anything.
 *
 * @module
 */

import type { PurgeOptions, WorkflowFilter } from "../../src/seams/store.ts";
import type { ExecutionRow, WorkflowRow } from "../../src/state/records.ts";
import type { SignalRow } from "../../src/state/signal.ts";
import { eachOf, type Plan, type SqlValue, type Statement } from "./client.ts";
import type { CheckpointValues, Column, Dialect, Tables } from "./dialect.ts";
import {
  columnList,
  EXECUTION_FIELDS,
  type Field,
  ID,
  pick,
  SIGNAL_FIELDS,
  valuesOf,
  WORKFLOW_FIELDS,
} from "./rows.ts";

/** The columns that each kind of write touches: no index is rewritten that need not be. */
const MOVED = [
  "state",
  "current_step_name",
  "next_step_name",
  "started_at",
  "transitioned_at",
  "updated_at",
];
const CLAIMED = [
  "state",
  "token",
  "worker",
  "lease_until",
  "wake_at",
  "started_at",
  "waiting_for",
  "wait_until",
  "metadata",
];
const CLOSED = [
  "state",
  "outcome",
  "cause",
  "started_at",
  "completed_at",
  "failed_at",
  "canceled_at",
  "skipped_at",
  "finished_at",
  "wake_at",
  "token",
  "lease_until",
  "cursor_value",
  "error_class",
  "error_message",
  "error_stack",
  "metadata",
];

const ACTIVE = "state IN ('scheduled', 'in_progress')";
const ENDED = "state IN ('finished', 'canceled')";
const ONGOING = "state NOT IN ('finished', 'canceled')";
const WORKFLOW_ID: Column = { name: "workflow_id", kind: "id" };
const NAME: Column = { name: "name", kind: "text" };

/** A position in the live index. */
export interface DueQuery {
  /** The lane. */
  readonly queue: string;
  /** The lane's priority. */
  readonly priority: number;
  /** Rows that wake at or before this. */
  readonly before: SqlValue;
  /** Only rows in this state. */
  readonly state: "scheduled" | "in_progress" | null;
  /** How many at the most. */
  readonly limit: number;
}

/** All statements of a store. */
export type Statements = ReturnType<typeof statements>;

/** The names of the tables under a prefix. */
export function tablesOf(prefix: string): Tables {
  return {
    workflows: `${prefix}workflows`,
    executions: `${prefix}step_executions`,
    signals: `${prefix}signals`,
    schema: `${prefix}schema`,
  };
}
