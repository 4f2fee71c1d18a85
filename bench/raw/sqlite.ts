/** The bare limit of SQLite: one BEGIN IMMEDIATE transaction for all the writes of a moment. */

import { DatabaseSync } from "node:sqlite";
import { perSecond } from "../measure.ts";
import { groups, IN_FLIGHT, INSERT_BATCH, type Raw, STEPS } from "./raw.ts";

const SCHEMA = `
  PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
  CREATE TABLE w (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, state TEXT, next_step TEXT,
    created_at INTEGER, updated_at INTEGER) STRICT;
  CREATE TABLE e (id INTEGER PRIMARY KEY AUTOINCREMENT, workflow_id INTEGER, seq INTEGER, step TEXT,
    state TEXT, outcome TEXT, token TEXT, scheduled_for INTEGER, wake_at INTEGER,
    lease_until INTEGER, started_at INTEGER, finished_at INTEGER, cursor_value TEXT) STRICT;
  CREATE UNIQUE INDEX e_active ON e (workflow_id) WHERE state IN ('scheduled', 'in_progress');
  CREATE INDEX e_live ON e (state, wake_at) WHERE wake_at IS NOT NULL;
`;

export function rawSqlite(path: string): Raw {
  const db = new DatabaseSync(path);
  db.exec(SCHEMA);
  const begin = db.prepare("BEGIN IMMEDIATE");
  const commit = db.prepare("COMMIT");
  const insertWorkflow = db.prepare(
    "INSERT INTO w (name, state, next_step, created_at, updated_at) VALUES ('noops', 'ready', 's', ?, ?)",
  );
  const insertExecution = db.prepare(
    `INSERT INTO e (workflow_id, seq, step, state, token, scheduled_for, wake_at, lease_until, started_at)
     VALUES (?, ?, 's', 'in_progress', 'token', ?, ?, ?, ?)`,
  );
  const close = db.prepare(
    `UPDATE e SET state = 'completed', outcome = 'success', token = NULL, wake_at = NULL,
       lease_until = NULL, finished_at = ? WHERE id = ? AND token = 'token'`,
  );
  const finish = db.prepare("UPDATE w SET state = 'finished', updated_at = ? WHERE id = ?");
  const move = db.prepare(
    "UPDATE e SET cursor_value = ?, lease_until = ?, wake_at = ? WHERE id = ? AND token = 'token'",
  );

  function insert(count: number): { workflow: number; execution: number }[] {
    const now = Date.now();
    begin.run();
    const pairs = Array.from({ length: count }, () => {
      const workflow = Number(insertWorkflow.run(now, now).lastInsertRowid);
      const { lastInsertRowid } = insertExecution.run(workflow, 1, now, now, now, now);
      return { workflow, execution: Number(lastInsertRowid) };
    });
    commit.run();
    return pairs;
  }

  function advance(pairs: { workflow: number; execution: number }[]): void {
    for (let step = 1; step <= STEPS; step++) {
      const now = Date.now();
      begin.run();
      for (const pair of pairs) {
        close.run(now, pair.execution);
        if (step === STEPS) finish.run(now, pair.workflow);
        else {
          const next = insertExecution.run(pair.workflow, step + 1, now, now, now, now);
          pair.execution = Number(next.lastInsertRowid);
        }
      }
      commit.run();
    }
  }

  return {
    stepsPerSecond(workflows) {
      const all = [...groups(workflows, IN_FLIGHT)].map((group) => insert(group.length));
      return perSecond(workflows * STEPS, () => all.forEach(advance));
    },
    updatesPerSecond(updates) {
      const [pair] = insert(1);
      return perSecond(updates, () => {
        for (let at = 0; at < updates; at++) {
          begin.run();
          move.run(String(at), at, at, pair?.execution ?? 0);
          commit.run();
        }
      });
    },
    insertsPerSecond: (workflows) =>
      perSecond(workflows, () => {
        for (const group of groups(workflows, INSERT_BATCH)) insert(group.length);
      }),
    [Symbol.asyncDispose]() {
      db.close();
      return Promise.resolve();
    },
  };
}
