/**
 * The table of jobs: what `postgresQueue` keeps in the store's own database.
 *
 * A job that is taken is not deleted at once but moved to a later time; whoever took it deletes it
 * when it has been taken over. So a job of a process that died in between comes back.
 *
 * @module
 */

// @ts-types="@types/pg"
import type { ClientBase, Pool } from "pg";
import type { Clock } from "../../src/seams/clock.ts";
import type { Job } from "../../src/state/records.ts";
import { type Plan, rowsOf, type SqlClient, type SqlRow, together } from "../sql/client.ts";
import type { ValueCodec } from "../sql/dialect.ts";
import { SILENCE_MS } from "../sql/silence.ts";
import { identifier } from "../sql/store.ts";
import { postgresClient } from "./client.ts";
import { postgresDialect } from "./dialect.ts";
import { listen } from "./listen.ts";
import { connectionsOf } from "./pool.ts";

/** Where the jobs are, and how they are reached. */
export interface JobTableOptions {
  /** What the names of the tables begin with. */
  readonly tablePrefix: string;
  /** Their schema. */
  readonly schema: string | undefined;
  /** Whether statements are prepared under names. */
  readonly preparedStatements: boolean;
  /** How many connections a URL may open. */
  readonly maxConnections: number;
}

/** A job that was taken. */
export interface TakenJob extends Job {
  /** Its own id. */
  readonly id: string;
}

/** Which jobs are taken, and until when. */
export interface Taking {
  /** Those due at this instant. */
  readonly now: Date;
  /** When they come back, unless they were deleted. */
  readonly until: Date;
  /** How many at the most. */
  readonly limit: number;
  /** Only these queues; undefined: all. */
  readonly queues?: readonly string[] | undefined;
}

/** The table of jobs. */
export interface JobTable {
  /** Adds jobs and wakes whoever listens, with `tx` in that transaction. */
  add(jobs: readonly Job[], tx?: ClientBase): Promise<void>;
  /** Takes jobs: smallest priority first, then oldest first. */
  take(which: Taking): Promise<TakenJob[]>;
  /** Deletes jobs that were taken over. */
  remove(jobs: readonly TakenJob[]): Promise<void>;
  /** Gives jobs back that were taken and are not wanted. */
  putBack(jobs: readonly TakenJob[]): Promise<void>;
  /** Hears of jobs that are added; an instant, or null when something may have been missed. */
  listen(
    heard: (at: number | null) => void,
    options: { readonly signal: AbortSignal; readonly clock: Clock },
  ): Promise<void>;
  /** Closes what was opened. */
  close(): Promise<void>;
}

/** Opens the table of jobs; nothing is connected to before it is used. */
export function openJobTable(source: string | URL | Pool, options: JobTableOptions): JobTable {
  const { tablePrefix, schema, maxConnections } = options;
  const prefix = identifier(tablePrefix, "tablePrefix");
  const head = schema === undefined ? prefix : `${identifier(schema, "schema")}.${prefix}`;
  const channel = `${prefix}jobs`.toLowerCase();
  const connections = connectionsOf(source, { maxConnections, silenceMs: SILENCE_MS });
  const client = postgresClient(connections, options);
  return {
    ...statements(client, `${head}jobs`, channel),
    listen: (heard, how) =>
      listen({
        ...how,
        channel,
        client: connections.extraClient,
        heard: (payload) => heard(payload === null ? null : Number(payload)),
      }),
    close: () => client.close(),
  };
}

function statements(
  client: SqlClient<ClientBase>,
  table: string,
  channel: string,
): Omit<JobTable, "listen" | "close"> {
  const codec = postgresDialect({ notify: false }).codec("bigint");
  const texts = textsFor(table);

  function* add(jobs: readonly Job[]): Plan<void> {
    const params = [
      jobs.map((job) => job.executionId),
      jobs.map((job) => job.queue),
      jobs.map((job) => job.priority),
      jobs.map((job) => codec.timeIn(job.runAt)),
    ];
    const first = Math.min(...jobs.map((job) => job.runAt.getTime()));
    yield* together([
      rowsOf({ text: texts.add, params }),
      rowsOf({ text: "SELECT pg_notify($1, $2)", params: [channel, first] }),
    ], { last: true });
  }

  function* take({ now, until, limit, queues }: Taking): Plan<TakenJob[]> {
    const params = [codec.timeIn(now), limit, queues ?? null, codec.timeIn(until)];
    const replies = yield { text: texts.take, runs: [params], last: true };
    const jobs = (replies[0]?.rows ?? []).map((row) => jobOf(codec, row));
    return jobs.sort((a, b) =>
      a.priority - b.priority || a.runAt.getTime() - b.runAt.getTime() ||
      Number(a.id) - Number(b.id)
    );
  }

  return {
    add: (jobs, tx) => client.write(() => add(jobs), { tx }),
    // Repeating it is harmless: what was taken and not told comes back by itself.
    take: (which) => client.write(() => take(which), { repeatable: true }),
    async remove(jobs) {
      const params = [jobs.map((job) => job.id)];
      const plan = function* (): Plan<void> {
        yield { text: texts.remove, runs: [params], last: true };
      };
      await client.write(plan, { repeatable: true });
    },
    async putBack(jobs) {
      const params = [jobs.map((job) => job.id), jobs.map((job) => codec.timeIn(job.runAt))];
      const plan = function* (): Plan<void> {
        yield { text: texts.putBack, runs: [params], last: true };
      };
      await client.write(plan, { repeatable: true });
    },
  };
}

function textsFor(table: string): Record<"add" | "take" | "remove" | "putBack", string> {
  return {
    add: `INSERT INTO ${table} (execution_id, queue, priority, run_at) ` +
      `SELECT * FROM unnest($1::text[], $2::text[], $3::integer[], $4::timestamptz[])`,
    // Jumps from lane to lane in the index and looks only at what is due in each.
    take: `WITH RECURSIVE lanes (queue, priority) AS (` +
      `(SELECT j.queue, j.priority FROM ${table} j ORDER BY j.queue, j.priority LIMIT 1) ` +
      `UNION ALL SELECT n.queue, n.priority FROM lanes l CROSS JOIN LATERAL (` +
      `SELECT j.queue, j.priority FROM ${table} j ` +
      `WHERE (j.queue, j.priority) > (l.queue, l.priority) ` +
      `ORDER BY j.queue, j.priority LIMIT 1) n), ` +
      `due AS (SELECT d.id, d.run_at FROM lanes l CROSS JOIN LATERAL (` +
      `SELECT j.id, j.priority, j.run_at FROM ${table} j ` +
      `WHERE j.queue = l.queue AND j.priority = l.priority AND j.run_at <= $1 ` +
      `ORDER BY j.run_at LIMIT $2 FOR UPDATE SKIP LOCKED) d ` +
      `WHERE $3::text[] IS NULL OR l.queue = ANY($3::text[]) ` +
      `ORDER BY d.priority, d.run_at, d.id LIMIT $2) ` +
      `UPDATE ${table} j SET run_at = $4 FROM due WHERE j.id = due.id ` +
      `RETURNING j.id, j.execution_id, j.queue, j.priority, ` +
      `date_part('epoch', due.run_at) AS run_at`,
    remove: `DELETE FROM ${table} WHERE id = ANY($1::bigint[])`,
    putBack: `UPDATE ${table} j SET run_at = u.run_at ` +
      `FROM unnest($1::bigint[], $2::timestamptz[]) AS u (id, run_at) WHERE j.id = u.id`,
  };
}

function jobOf(codec: ValueCodec, row: SqlRow): TakenJob {
  return {
    id: String(row.id),
    executionId: row.execution_id as string,
    queue: row.queue as string,
    priority: Number(row.priority),
    runAt: codec.timeOut(row.run_at),
  };
}
