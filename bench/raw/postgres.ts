/** The bare limit of Postgres: all the writes of a moment in one statement, with its plan pinned. */

// @ts-types="@types/pg"
import pg from "pg";
import { perSecond } from "../measure.ts";
import { groups, IN_FLIGHT, INSERT_BATCH, type Raw, STEPS } from "./raw.ts";

const SCHEMA = `
  CREATE TABLE w (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text, state text,
    next_step text, created_at timestamptz, updated_at timestamptz);
  CREATE TABLE e (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, workflow_id bigint, seq int,
    step text, state text, outcome text, token text, scheduled_for timestamptz, wake_at timestamptz,
    lease_until timestamptz, started_at timestamptz, finished_at timestamptz, cursor_value jsonb);
  CREATE UNIQUE INDEX e_active ON e (workflow_id) WHERE state IN ('scheduled', 'in_progress');
  CREATE INDEX e_live ON e (state, wake_at) WHERE wake_at IS NOT NULL;
`;
const INSERT = `
  WITH fresh AS (
    INSERT INTO w (name, state, next_step, created_at, updated_at)
      SELECT 'noops', 'ready', 's', $2, $2 FROM generate_series(1, $1::int) RETURNING id
  )
  INSERT INTO e (workflow_id, seq, step, state, token, scheduled_for, wake_at, lease_until, started_at)
    SELECT id, 1, 's', 'in_progress', 'token', $2, $2, $2, $2 FROM fresh RETURNING id`;
// The rows are found by primary key, one by one: a guard that could match the partial index would
// let the planner scan it.
const ADVANCE = `
  WITH done AS (
    UPDATE e SET state = 'completed', outcome = 'success', token = NULL, wake_at = NULL,
        lease_until = NULL, finished_at = $2
      WHERE ctid = ANY (ARRAY(
        SELECT one.ctid FROM unnest($1::bigint[]) AS asked (id),
          LATERAL (SELECT ctid FROM e WHERE e.id = asked.id LIMIT 1) AS one))
        AND token = 'token'
      RETURNING workflow_id, seq
  )
  INSERT INTO e (workflow_id, seq, step, state, token, scheduled_for, wake_at, lease_until, started_at)
    SELECT workflow_id, seq + 1, 's', 'in_progress', 'token', $2, $2, $2, $2 FROM done
    RETURNING id`;
const FINISH = `
  WITH done AS (
    UPDATE e SET state = 'completed', outcome = 'success', token = NULL, wake_at = NULL,
        lease_until = NULL, finished_at = $2
      WHERE ctid = ANY (ARRAY(
        SELECT one.ctid FROM unnest($1::bigint[]) AS asked (id),
          LATERAL (SELECT ctid FROM e WHERE e.id = asked.id LIMIT 1) AS one))
        AND token = 'token'
      RETURNING workflow_id
  )
  UPDATE w SET state = 'finished', updated_at = $2 FROM done WHERE w.id = done.workflow_id`;
const MOVE = `UPDATE e SET cursor_value = $2, lease_until = $3, wake_at = $3
  WHERE id = $1 AND token = 'token'`;

export async function rawPostgres(url: string): Promise<Raw> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`CREATE SCHEMA raw; SET search_path TO raw; SET random_page_cost = 1.1;`);
  await client.query(SCHEMA);

  async function insert(count: number): Promise<string[]> {
    const values = [count, new Date()];
    const { rows } = await client.query({ name: "insert", text: INSERT, values });
    return rows.map((row) => row.id as string);
  }

  async function advance(first: string[]): Promise<void> {
    let ids = first;
    for (let step = 1; step < STEPS; step++) {
      const values = [ids, new Date()];
      const { rows } = await client.query({ name: "advance", text: ADVANCE, values });
      ids = rows.map((row) => row.id as string);
    }
    await client.query({ name: "finish", text: FINISH, values: [ids, new Date()] });
  }

  return {
    async stepsPerSecond(workflows) {
      const all: string[][] = [];
      for (const group of groups(workflows, IN_FLIGHT)) all.push(await insert(group.length));
      return await perSecond(workflows * STEPS, async () => {
        for (const ids of all) await advance(ids);
      });
    },
    async updatesPerSecond(updates) {
      const [id] = await insert(1);
      return await perSecond(updates, async () => {
        for (let at = 0; at < updates; at++) {
          await client.query({ name: "move", text: MOVE, values: [id, String(at), new Date()] });
        }
      });
    },
    insertsPerSecond: (workflows) =>
      perSecond(workflows, async () => {
        for (const group of groups(workflows, INSERT_BATCH)) await insert(group.length);
      }),
    [Symbol.asyncDispose]: () => client.end(),
  };
}
