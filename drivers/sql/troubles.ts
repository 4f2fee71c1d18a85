/**
 * The statements that look for trouble: what has paused workflows, and what holds cursors. Both join
 * workflows with their newest execution, found by one look into the index of histories.
 *
 * @module
 */

import type { CursorCount, Failure } from "../../src/seams/store.ts";
import { type Plan, rowsOf, type SqlScalar } from "./client.ts";
import type { Column, Tables } from "./dialect.ts";
import { columnList, EXECUTION_FIELDS, executionReader } from "./rows.ts";
import type { Ground } from "./statements.ts";
import { template } from "./texts.ts";

/** The statements that look for trouble. */
export interface Troubles {
  /** Ongoing workflows of a definition per step, with and without a cursor. */
  cursorCounts(name: string): Plan<CursorCount[]>;
  /** The failures of paused workflows; `after` is the last workflow of the page before. */
  failures(
    names: readonly string[] | undefined,
    page: { readonly limit: number; readonly after: SqlScalar },
  ): Plan<Failure[]>;
}

const WORKFLOW_NAME: Column = { name: "w.name", kind: "text" };

/** That an execution `e` is the newest of a workflow. */
export function newest({ executions }: Tables, workflowId: string): string {
  return `e.seq = (SELECT MAX(x.seq) FROM ${executions} x WHERE x.workflow_id = ${workflowId})`;
}

/** Makes the statements that look for trouble. */
export function troubles({ dialect, tables, codec }: Ground): Troubles {
  const executionOf = executionReader(codec);
  const joined = `${tables.workflows} w JOIN ${tables.executions} e ON e.workflow_id = w.id ` +
    `AND ${newest(tables, "w.id")}`;
  const cursorCounts = dialect.text(
    `SELECT w.next_step_name, ` +
      `SUM(CASE WHEN e.cursor_value IS NULL THEN 0 ELSE 1 END) AS with_cursor, ` +
      `SUM(CASE WHEN e.cursor_value IS NULL AND (e.started_at IS NOT NULL OR e.attempt > 1) ` +
      `THEN 1 ELSE 0 END) AS begun_without FROM ${joined} ` +
      `WHERE w.name = ? AND w.state IN ('ready', 'performing', 'paused') ` +
      `AND e.step_name = w.next_step_name ` +
      `GROUP BY w.next_step_name ORDER BY w.next_step_name`,
  );
  const failures = template(
    dialect,
    (rest) =>
      `SELECT w.name AS workflow_name, ${columnList(dialect, EXECUTION_FIELDS, "e")} ` +
      `FROM ${joined} WHERE w.state = 'paused' AND e.state = 'failed'${rest}`,
  );
  return {
    *cursorCounts(name) {
      return (yield* rowsOf({ text: cursorCounts, params: [name] })).map((row) => ({
        stepName: row.next_step_name as string,
        withCursor: Number(row.with_cursor),
        begunWithout: Number(row.begun_without),
      }));
    },
    *failures(names, page) {
      const limit = dialect.limit(page.limit);
      const where = [
        ...(names === undefined ? [] : [dialect.oneOf(WORKFLOW_NAME, names)]),
        ...(page.after === null ? [] : [{ text: "w.id < ?", params: [page.after] }]),
      ];
      const rest = where.map((one) => ` AND ${one.text}`).join("");
      const rows = yield* rowsOf({
        text: failures(`${rest} ORDER BY w.id DESC ${limit.text}`),
        params: [...where.flatMap((one) => one.params), ...limit.params],
      });
      return rows.map((row) => ({
        workflowName: row.workflow_name as string,
        execution: executionOf(row),
      }));
    },
  };
}
