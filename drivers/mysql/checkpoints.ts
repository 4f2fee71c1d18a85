/**
 * Checkpoints: the cursor, the lease and whether to go on.
 *
 * A single one, which is what a loop over items writes again and again, is one statement and so one
 * round trip and one commit. It carries the workflow's state home in `LAST_INSERT_ID(…)`, the one
 * value that an UPDATE can answer with. That stands in the condition, where it takes 40 µs; among
 * the assignments it takes 180. Several at once are an UPDATE and a SELECT.
 *
 * @module
 */

import type { WorkflowState } from "../../src/state/records.ts";
import { type Plan, rowsOf, type SqlValue } from "../sql/client.ts";
import type { CheckpointValues, Tables } from "../sql/dialect.ts";
import { marks } from "./writes.ts";

const STATES: readonly WorkflowState[] = ["ready", "performing", "paused", "finished", "canceled"];

/** Makes the function that stores checkpoints. */
export function checkpoints(
  tables: Tables,
): (batch: readonly CheckpointValues[]) => Plan<(WorkflowState | null)[]> {
  return function* (batch): Plan<(WorkflowState | null)[]> {
    const [only] = batch;
    if (batch.length === 1 && only !== undefined) return [yield* single(tables, only)];
    const states: (WorkflowState | null)[] = [];
    for (const group of withoutRepetition(batch)) states.push(...yield* several(tables, group));
    return states;
  };
}

function* single(
  { executions, workflows }: Tables,
  { id, token, leaseUntil, cursor, progress }: CheckpointValues,
): Plan<WorkflowState | null> {
  const known = STATES.map((state) => `'${state}'`).join(", ");
  const state = `SELECT FIELD(w.state, ${known}) FROM ${workflows} w WHERE w.id = workflow_id`;
  const set = [
    ...(leaseUntil === null ? [] : ["lease_until = ?", "wake_at = ?"]),
    ...(cursor.length === 0 ? [] : ["cursor_value = ?"]),
    ...(progress.length === 0
      ? []
      : ["progress_done = ?", "progress_total = ?", "progress_message = ?"]),
  ];
  // Mentioned only for a row that is held: otherwise the answer is 0.
  const text = `UPDATE ${executions} SET ${set.join(", ")} WHERE id = ? AND ` +
    `IF(token = ? AND state = 'in_progress', LAST_INSERT_ID((${state})), 0) > 0`;
  const lease = leaseUntil === null ? [] : [leaseUntil, leaseUntil];
  const params = [...lease, ...cursor, ...progress, id, token];
  const replies = yield { text, runs: [params], last: true };
  return STATES[Number(replies[0]?.lastId ?? 0) - 1] ?? null;
}

function* several(
  { executions, workflows }: Tables,
  batch: readonly CheckpointValues[],
): Plan<(WorkflowState | null)[]> {
  const ids = batch.map((one) => one.id);
  const tokens = batch.flatMap((one) => [one.id, one.token]);
  const held = (alias: string): string =>
    `${alias}id IN (${marks(ids)}) AND ${alias}state = 'in_progress' ` +
    `AND ${alias}token = CASE ${alias}id${" WHEN ? THEN ?".repeat(batch.length)} END`;
  const { set, params } = changesOf(batch);
  yield {
    text: `UPDATE ${executions} FORCE INDEX (PRIMARY) SET ${set.join(", ")} WHERE ${held("")}`,
    runs: [[...params, ...ids, ...tokens]],
  };
  const rows = yield* rowsOf({
    text: `SELECT e.id, w.state FROM ${executions} e FORCE INDEX (PRIMARY) ` +
      `STRAIGHT_JOIN ${workflows} w FORCE INDEX (PRIMARY) ON w.id = e.workflow_id ` +
      `WHERE ${held("e.")}`,
    params: [...ids, ...tokens],
  });
  const states = new Map(rows.map((row) => [String(row.id), row.state as WorkflowState]));
  return batch.map((one) => states.get(String(one.id)) ?? null);
}

function changesOf(batch: readonly CheckpointValues[]): { set: string[]; params: SqlValue[] } {
  const set: string[] = [];
  const params: SqlValue[] = [];
  const change = (
    column: string,
    valueOf: (one: CheckpointValues) => SqlValue | undefined,
  ): void => {
    const values = batch.flatMap((one) => {
      const value = valueOf(one);
      return value === undefined ? [] : [one.id, value];
    });
    if (values.length === 0) return;
    params.push(...values);
    set.push(`${column} = CASE id${" WHEN ? THEN ?".repeat(values.length / 2)} ELSE ${column} END`);
  };
  change("lease_until", (one) => one.leaseUntil ?? undefined);
  change("wake_at", (one) => one.leaseUntil ?? undefined);
  change("cursor_value", (one) => one.cursor[0]);
  change("progress_done", (one) => one.progress[0]);
  change("progress_total", (one) => one.progress[1]);
  change("progress_message", (one) => one.progress[2]);
  return { set, params };
}

/** Two checkpoints of one execution must be stored one after the other. */
function withoutRepetition(batch: readonly CheckpointValues[]): CheckpointValues[][] {
  const groups: CheckpointValues[][] = [];
  let seen = new Set<unknown>();
  for (const one of batch) {
    if (groups.length === 0 || seen.has(one.id)) {
      groups.push([]);
      seen = new Set();
    }
    groups.at(-1)?.push(one);
    seen.add(one.id);
  }
  return groups;
}
