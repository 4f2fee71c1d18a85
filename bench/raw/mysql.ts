/** The bare limit of MySQL and MariaDB: multi-row statements, one transaction per moment. */

import mysql, { type ResultSetHeader } from "mysql2/promise";
import { perSecond } from "../measure.ts";
import { groups, IN_FLIGHT, INSERT_BATCH, type Raw, STEPS } from "./raw.ts";

const SCHEMA = [
  `CREATE TABLE w (id BIGINT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(255), state VARCHAR(20),
    next_step VARCHAR(255), created_at DATETIME(3), updated_at DATETIME(3))`,
  `CREATE TABLE e (id BIGINT AUTO_INCREMENT PRIMARY KEY, workflow_id BIGINT, seq INT,
    step VARCHAR(255), state VARCHAR(20), outcome VARCHAR(20), token VARCHAR(40),
    scheduled_for DATETIME(3), wake_at DATETIME(3), lease_until DATETIME(3), started_at DATETIME(3),
    finished_at DATETIME(3), cursor_value LONGTEXT,
    active BIGINT GENERATED ALWAYS AS
      (CASE WHEN state IN ('scheduled', 'in_progress') THEN workflow_id END) STORED,
    UNIQUE KEY e_active (active), KEY e_live (state, wake_at))`,
];
const EXECUTION =
  "INSERT INTO e (workflow_id, seq, step, state, token, scheduled_for, wake_at, lease_until, started_at) VALUES ?";

interface Pair {
  readonly workflow: number;
  execution: number;
}

export async function rawMysql(url: string): Promise<Raw> {
  const connection = await mysql.createConnection({ uri: url, timezone: "Z" });
  await connection.query("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
  for (const statement of SCHEMA) await connection.query(statement);

  /** A multi-row insert of simple values has consecutive keys from `insertId` on. */
  async function keysOf(text: string, rows: unknown[][]): Promise<number[]> {
    const [result] = await connection.query<ResultSetHeader>(text, [rows]);
    return rows.map((_, at) => result.insertId + at);
  }

  async function insert(count: number): Promise<Pair[]> {
    const now = new Date();
    await connection.query("START TRANSACTION");
    const workflows = await keysOf(
      "INSERT INTO w (name, state, next_step, created_at, updated_at) VALUES ?",
      Array.from({ length: count }, () => ["noops", "ready", "s", now, now]),
    );
    const executions = await keysOf(
      EXECUTION,
      workflows.map((id) => [id, 1, "s", "in_progress", "token", now, now, now, now]),
    );
    await connection.query("COMMIT");
    return workflows.map((workflow, at) => ({ workflow, execution: executions[at] as number }));
  }

  async function advance(pairs: Pair[]): Promise<void> {
    for (let step = 1; step <= STEPS; step++) {
      const now = new Date();
      await connection.query("START TRANSACTION");
      await connection.query(
        `UPDATE e SET state = 'completed', outcome = 'success', token = NULL, wake_at = NULL,
           lease_until = NULL, finished_at = ? WHERE id IN (?) AND token = 'token'`,
        [now, pairs.map((pair) => pair.execution)],
      );
      if (step === STEPS) {
        const ids = pairs.map((pair) => pair.workflow);
        await connection.query("UPDATE w SET state = 'finished', updated_at = ? WHERE id IN (?)", [
          now,
          ids,
        ]);
      } else {
        const rows = pairs.map(({ workflow }) => {
          return [workflow, step + 1, "s", "in_progress", "token", now, now, now, now];
        });
        const keys = await keysOf(EXECUTION, rows);
        pairs.forEach((pair, at) => void (pair.execution = keys[at] as number));
      }
      await connection.query("COMMIT");
    }
  }

  return {
    async stepsPerSecond(workflows) {
      const all: Pair[][] = [];
      for (const group of groups(workflows, IN_FLIGHT)) all.push(await insert(group.length));
      return await perSecond(workflows * STEPS, async () => {
        for (const pairs of all) await advance(pairs);
      });
    },
    async updatesPerSecond(updates) {
      const [pair] = await insert(1);
      const text =
        "UPDATE e SET cursor_value = ?, lease_until = ?, wake_at = ? WHERE id = ? AND token = 'token'";
      return await perSecond(updates, async () => {
        for (let at = 0; at < updates; at++) {
          const now = new Date();
          await connection.execute(text, [String(at), now, now, pair?.execution ?? 0]);
        }
      });
    },
    insertsPerSecond: (workflows) =>
      perSecond(workflows, async () => {
        for (const group of groups(workflows, INSERT_BATCH)) await insert(group.length);
      }),
    [Symbol.asyncDispose]: () => connection.end(),
  };
}
