/**
 * Graphile Worker's tables, as far as a queue needs them.
 *
 * A queue of Pawl is a task identifier, because a worker of Graphile Worker serves the tasks that it
 * is given; its own named queues run one job at a time. The key of a job is the id of its execution,
 * so a job that is announced again replaces the one before, with its new time; if that one is being
 * delivered in this moment, it stands beside it.
 *
 * Jobs are added by the function `add_jobs`, which everybody may call. The names of the tasks and
 * the locks of the dead have no such function: they are read and written in the tables of this very
 * version (0.18), which call themselves private.
 *
 * @module
 */

import { createHash } from "node:crypto";
// @ts-types="@types/pg"
import type { Pool } from "pg";
import type { Job } from "../../../src/state/records.ts";
import {
  type EarlyJob,
  instantText,
  payloadOf,
  prepared,
  type TransactionLike,
} from "../postgres_engines.ts";

/** The tasks that there are: the number of each by its identifier. */
export type Tasks = ReadonlyMap<string, number>;

/** Graphile Worker's tables. */
export interface GraphileTables {
  /** Adds jobs in one statement, with `tx` in that transaction. */
  add(jobs: readonly Job[], tx?: TransactionLike): Promise<void>;
  /** Adds jobs again that were delivered too early. */
  putBack(jobs: readonly EarlyJob[]): Promise<void>;
  /** Makes the tasks of these queues known, in a transaction of their own; whether one may be new. */
  register(queues: readonly string[]): Promise<boolean>;
  /** Forgets which tasks are known: the tables may be gone. */
  forget(): void;
  /** The tasks of these queues; undefined: of all. */
  tasks(queues: readonly string[] | undefined): Promise<Tasks>;
  /** Frees jobs of these tasks that somebody has held for too long: he is dead, or has no room. */
  unlock(tasks: Tasks): Promise<void>;
}

/** How long an identifier may be. */
const MAX_IDENTIFIER = 128;
/** A job is tried for as long as there is one. */
const MAX_ATTEMPTS = 32_767;
const MAX_PRIORITY = 32_767;

/**
 * How long a job may be in somebody's hands before it counts as his; after twice that, counted by
 * the server, it is given to others.
 */
export const HOLD_MS = 30_000;

/** The identifier of a queue's task; a name that is too long for one goes by its digest. */
export function taskOf(prefix: string, queue: string): string {
  const plain = prefix + queue;
  if (plain.length <= MAX_IDENTIFIER) return plain;
  return `${prefix}~${createHash("sha256").update(queue).digest("hex")}`;
}

/** The tables in a schema, for queues whose tasks begin with the prefix. */
export function graphileTables(
  pool: Pool,
  { schema, prefix, preparedStatements }: {
    readonly schema: string;
    readonly prefix: string;
    readonly preparedStatements: boolean;
  },
): GraphileTables {
  const quoted = `"${schema.replaceAll('"', '""')}"`;
  const texts = textsFor(quoted);
  const known = new Set<string>();
  const specOf = (job: Job, earlyMs: number | null): Record<string, unknown> => ({
    identifier: taskOf(prefix, job.queue),
    payload: payloadOf(job),
    run_at: instantText(job.runAt),
    early_ms: earlyMs,
    max_attempts: MAX_ATTEMPTS,
    job_key: job.executionId,
    priority: Math.min(Math.max(job.priority, -MAX_PRIORITY), MAX_PRIORITY),
  });

  async function insert(
    specs: readonly Record<string, unknown>[],
    on: TransactionLike,
  ): Promise<void> {
    const values = [JSON.stringify(specs)];
    await on.query(preparedStatements ? prepared(texts.add, values) : { text: texts.add, values });
  }

  return {
    async add(jobs, tx) {
      // A statement cannot write the same key twice; the last word counts.
      const last = new Map(jobs.map((job) => [job.executionId, job]));
      await insert([...last.values()].map((job) => specOf(job, null)), tx ?? pool);
    },
    async putBack(jobs) {
      await insert(jobs.map(({ job, earlyMs }) => specOf(job, earlyMs)), pool);
    },
    async register(queues) {
      const fresh = [...new Set(queues)].map((queue) => taskOf(prefix, queue))
        .filter((task) => !known.has(task));
      if (fresh.length === 0) return false;
      // Here and not by the statement that adds the jobs: in a transaction that is open for long it
      // would hold up everybody else who is the first to use that queue.
      await pool.query(texts.register, [fresh]);
      for (const task of fresh) known.add(task);
      return true;
    },
    forget: () => known.clear(),
    async tasks(queues) {
      const { rows } = queues === undefined
        ? await pool.query(texts.all, [prefix])
        : await pool.query(texts.some, [queues.map((queue) => taskOf(prefix, queue))]);
      return new Map(rows.map(({ identifier, id }) => [String(identifier), Number(id)]));
    },
    async unlock(tasks) {
      await pool.query(texts.unlock, [[...tasks.values()], HOLD_MS * 2]);
    },
  };
}

function textsFor(
  schema: string,
): Readonly<Record<"add" | "register" | "all" | "some" | "unlock", string>> {
  const tasks = `${schema}._private_tasks`;
  return {
    add: `SELECT count(*) FROM ${schema}.add_jobs(ARRAY(SELECT (s.identifier, s.payload, NULL, ` +
      `coalesce(now() + s.early_ms * interval '1 millisecond', s.run_at), s.max_attempts, ` +
      `s.job_key, s.priority, NULL)::${schema}.job_spec FROM json_to_recordset($1::json) AS s (` +
      `identifier text, payload json, run_at timestamptz, early_ms double precision, ` +
      `max_attempts smallint, job_key text, priority smallint) ORDER BY s.job_key))`,
    register:
      `INSERT INTO ${tasks} (identifier) SELECT n.name FROM unnest($1::text[]) AS n (name) ` +
      `WHERE NOT EXISTS (SELECT 1 FROM ${tasks} t WHERE t.identifier = n.name) ` +
      `ORDER BY n.name ON CONFLICT DO NOTHING`,
    all: `SELECT identifier, id FROM ${tasks} WHERE starts_with(identifier, $1)`,
    some: `SELECT identifier, id FROM ${tasks} WHERE identifier = ANY($1::text[])`,
    unlock: `UPDATE ${schema}._private_jobs SET locked_at = NULL, locked_by = NULL ` +
      `WHERE task_id = ANY($1::int[]) ` +
      `AND locked_at < now() - $2::double precision * interval '1 millisecond'`,
  };
}
