/**
 * Checkpoints: one statement that stores, renews and answers.
 *
 * A closed execution has no token, so comparing the token says also that it is in progress.
 *
 * @module
 */

import type { WorkflowState } from "../../src/state/records.ts";
import type { Plan, SqlScalar, Statement } from "../sql/client.ts";
import type { CheckpointValues, Column, Tables } from "../sql/dialect.ts";
import { batchStatement, numbered, type Types } from "./batch.ts";
import { wrapped } from "./values.ts";

/** The columns of one checkpoint, in the order of the arrays. */
const CHECKPOINT: readonly Column[] = [
  { name: "id", kind: "id" },
  { name: "token", kind: "text" },
  { name: "lease", kind: "time" },
  { name: "has_cursor", kind: "boolean" },
  { name: "cursor", kind: "json" },
  { name: "has_progress", kind: "boolean" },
  { name: "done", kind: "real" },
  { name: "total", kind: "real" },
  { name: "message", kind: "text" },
];

/** Makes the statement; a batch locks its rows in the order of their ids, like everywhere. */
export function checkpoint(
  tables: Tables,
  types: Types,
): (batch: readonly CheckpointValues[]) => Plan<(WorkflowState | null)[]> {
  const statement = batchStatement(CHECKPOINT, types, ({ from, value }) => {
    const names = CHECKPOINT.map(({ name }) => `${value(name)} AS ${name}`).join(", ");
    const kept = (column: string, has: string, name: string): string =>
      `${column} = CASE WHEN h.${has} THEN h.${name} ELSE e.${column} END`;
    return `WITH held AS MATERIALIZED (SELECT ${names}, u.place, e.workflow_id FROM ${from} ` +
      `JOIN ${tables.executions} e ON e.id = ${value("id")} AND e.token = ${value("token")} ` +
      `ORDER BY e.id FOR NO KEY UPDATE OF e), ` +
      `stored AS (UPDATE ${tables.executions} e SET ` +
      `lease_until = COALESCE(h.lease, e.lease_until), wake_at = COALESCE(h.lease, e.wake_at), ` +
      `${kept("cursor_value", "has_cursor", "cursor")}, ` +
      `${kept("progress_done", "has_progress", "done")}, ` +
      `${kept("progress_total", "has_progress", "total")}, ` +
      `${kept("progress_message", "has_progress", "message")} ` +
      `FROM held h WHERE e.id = h.id) ` +
      `SELECT h.place, w.state FROM held h JOIN ${tables.workflows} w ON w.id = h.workflow_id`;
  });
  const single = singleCheckpoint(tables, types);
  return function* (batch): Plan<(WorkflowState | null)[]> {
    const { merged, placeOf } = merge(batch);
    const { text, params } = merged.length === 1
      ? single(merged[0] as CheckpointValues)
      : statement(merged.map(checkpointRow));
    const replies = yield { text, runs: [params], last: true };
    const states = new Map<number, WorkflowState>();
    for (const { place, state } of replies[0]?.rows ?? []) {
      states.set(Number(place) - 1, state as WorkflowState);
    }
    return placeOf.map((place) => states.get(place) ?? null);
  };
}

interface Texts {
  readonly renews: string;
  readonly keeps: string;
}

/** A walk over many items makes one checkpoint after the other: it pays to write no more than that. */
function singleCheckpoint(
  { executions, workflows }: Tables,
  types: Types,
): (values: CheckpointValues) => Statement {
  const textOf = (hasLease: boolean, hasCursor: boolean, hasProgress: boolean): string => {
    const set = [
      ...(hasLease ? ["lease_until = ?::timestamptz, wake_at = ?::timestamptz"] : []),
      ...(hasCursor ? ["cursor_value = ?::jsonb"] : []),
      ...(hasProgress ? ["progress_done = ?, progress_total = ?, progress_message = ?"] : []),
    ];
    return numbered(
      `UPDATE ${executions} e SET ${set.join(", ")} WHERE e.id = ?::${types.id} AND e.token = ? ` +
        `RETURNING 1 AS place, ` +
        `(SELECT w.state FROM ${workflows} w WHERE w.id = e.workflow_id) AS state`,
    );
  };
  const texts = [false, true].map((hasCursor) =>
    [false, true].map((hasProgress) => ({
      renews: textOf(true, hasCursor, hasProgress),
      // Without a column that is in an index the row stays where it is (a "HOT" update).
      keeps: textOf(false, hasCursor, hasProgress),
    }))
  );
  return ({ id, token, leaseUntil, cursor, progress }) => {
    const { renews, keeps } = texts[cursor.length]?.[progress.length === 0 ? 0 : 1] as Texts;
    const stored = cursor.map((json) => json === null ? null : wrapped(json));
    const lease = leaseUntil === null ? [] : [leaseUntil, leaseUntil];
    const text = leaseUntil === null ? keeps : renews;
    return { text, params: [...lease, ...stored, ...progress, id, token] };
  };
}

function checkpointRow(values: CheckpointValues): SqlScalar[] {
  const { id, token, leaseUntil, cursor, progress } = values;
  const [json = null] = cursor;
  const [done = null, total = null, message = null] = progress;
  return [
    ...[id, token, leaseUntil, cursor.length > 0, json === null ? null : wrapped(json)],
    ...[progress.length > 0, done, total, message],
  ];
}

/** An UPDATE writes a row once, so what a batch says twice of one claim is said once: the later wins. */
function merge(
  batch: readonly CheckpointValues[],
): { merged: CheckpointValues[]; placeOf: number[] } {
  const places = new Map<string, number>();
  const merged: CheckpointValues[] = [];
  const placeOf = batch.map((one) => {
    const key = `${one.id} ${one.token}`;
    const place = places.get(key) ?? merged.length;
    const before = merged[place];
    places.set(key, place);
    merged[place] = before === undefined ? one : {
      ...one,
      leaseUntil: one.leaseUntil ?? before.leaseUntil,
      cursor: one.cursor.length > 0 ? one.cursor : before.cursor,
      progress: one.progress.length > 0 ? one.progress : before.progress,
    };
    return place;
  });
  return { merged, placeOf };
}
