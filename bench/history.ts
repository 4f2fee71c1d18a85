/** Fills a SQLite store with finished workflows of five executions each. */

import type { DatabaseSync } from "node:sqlite";

export function fillHistory(db: DatabaseSync, executions: number): void {
  const workflows = Math.ceil(executions / 5);
  db.exec(`
    BEGIN;
    INSERT INTO pawl_workflows (name, state, allow_multiple, started_at, transitioned_at, created_at, updated_at)
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${workflows})
      SELECT 'old', 'finished', 0, i, i, i, i FROM n;
    INSERT INTO pawl_step_executions (workflow_id, seq, step_name, state, outcome, attempt, failures,
        scheduled_for, started_at, completed_at, finished_at, queue, priority, created_at)
      SELECT w.id, s.seq, 'step_' || s.seq, 'completed', 'success', 1, 0,
          w.id, w.id, w.id, w.id, 'default', 0, w.id
        FROM pawl_workflows w, (SELECT 1 AS seq UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5) s;
    COMMIT;
    ANALYZE;
  `);
}
