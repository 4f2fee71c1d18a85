/** What the tests of queues over other people's engines in PostgreSQL share. */

import assert from "node:assert/strict";
import { graphileWorkerQueue } from "../../drivers/queues/graphile_worker.ts";
import { pgBossQueue } from "../../drivers/queues/pg_boss.ts";
import type { PoolLike } from "../../drivers/queues/postgres.ts";
import { type Clock, type Job, type Logger, type QueueDriver, systemClock } from "../../mod.ts";
import { postgresTest, type TestDatabase } from "./_postgres.ts";

/** What both kinds of queue may be told. */
export interface EngineOptions {
  readonly batchSize?: number;
  readonly maxConnections?: number;
  readonly prefix?: string;
  readonly schema?: string;
  readonly logger?: Logger;
}

/** An engine, and where to look what it has. */
export interface QueueEngine {
  readonly name: string;
  /** Opens a queue. */
  open(source: string | URL | PoolLike, options?: EngineOptions): QueueDriver;
  /** Its schema. */
  readonly schema: string;
  /** Its jobs, as `execution_id`, `run_at` and `queue`, whatever state they are in. */
  readonly jobs: string;
  /** Makes it look as if a process had died long ago that had all jobs in its hands. */
  readonly abandon: string;
}

/** The engines. */
export const ENGINES: readonly QueueEngine[] = [
  {
    name: "graphile-worker",
    open: graphileWorkerQueue,
    schema: "graphile_worker",
    jobs: "SELECT j.payload->>'executionId' AS execution_id, j.run_at, t.identifier AS queue " +
      "FROM graphile_worker._private_jobs j " +
      "JOIN graphile_worker._private_tasks t ON t.id = j.task_id ORDER BY j.id",
    abandon: "UPDATE graphile_worker._private_jobs " +
      "SET attempts = 1, locked_by = 'the dead', locked_at = now() - interval '1 hour'",
  },
  {
    name: "pg-boss",
    open: pgBossQueue,
    schema: "pgboss",
    jobs: "SELECT data->>'executionId' AS execution_id, start_after AS run_at, name AS queue " +
      "FROM pgboss.job ORDER BY created_on, id",
    abandon: "UPDATE pgboss.job SET state = 'active', started_on = now() - interval '1 hour'",
  },
];

/** A job that is due now. */
export function job(executionId: string, over: Partial<Job> = {}): Job {
  return { executionId, runAt: new Date(), queue: "default", priority: 0, ...over };
}

/** A queue that is closed at the end of its scope. */
export function closing(queue: QueueDriver): QueueDriver & AsyncDisposable {
  return { ...queue, [Symbol.asyncDispose]: () => queue.close() };
}

/** Somebody who listens, and notes what comes. */
export interface Listener extends AsyncDisposable {
  /** The ids that came, in order. */
  readonly ids: string[];
  /** Each call, as ids. */
  readonly calls: string[][];
  /** Resolves when something is so; looked at after each delivery. */
  until(isSo: (ids: readonly string[]) => boolean): Promise<void>;
  /** Resolves when all of these have come. */
  all(ids: readonly string[]): Promise<void>;
  /** Ends when the listening does. */
  readonly ended: Promise<void>;
}

/** Listens until the end of the scope. */
export function listening(
  queue: QueueDriver,
  { clock = systemClock, pollMs = 50, queues, during }: {
    readonly clock?: Clock;
    readonly pollMs?: number;
    readonly queues?: readonly string[];
    /** What a delivery takes. */
    readonly during?: (jobs: readonly Job[]) => Promise<void>;
  } = {},
): Listener {
  const stopping = new AbortController();
  const ids: string[] = [];
  const calls: string[][] = [];
  let wake = (): void => {};
  const ended = queue.listen(async (jobs) => {
    calls.push(jobs.map((one) => one.executionId));
    ids.push(...jobs.map((one) => one.executionId));
    wake();
    await during?.(jobs);
  }, { signal: stopping.signal, clock, pollMs, queues });
  const failed = ended.then(() => {
    throw new Error("The listening has ended");
  });
  failed.catch(() => {});

  async function until(isSo: (ids: readonly string[]) => boolean): Promise<void> {
    while (!isSo(ids)) {
      await Promise.race([new Promise<void>((resolve) => void (wake = resolve)), failed]);
    }
  }

  return {
    ids,
    calls,
    until,
    ended,
    all: (wanted) => until((came) => wanted.every((id) => came.includes(id))),
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await ended;
    },
  };
}

/** Asks until the answer is as wanted. */
export async function eventually(isSo: () => Promise<boolean>): Promise<void> {
  for (let times = 0; !(await isSo()); times++) {
    assert.ok(times < 1_000, "It does not happen");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** The test of each engine. */
export function eachEngine(
  name: string,
  test: (engine: QueueEngine, database: TestDatabase) => Promise<void>,
): void {
  for (const engine of ENGINES) {
    postgresTest(`${engine.name}: ${name}`, (database) => test(engine, database));
  }
}

export async function idsIn({ jobs }: QueueEngine, database: TestDatabase): Promise<string[]> {
  const rows = await database.query(jobs);
  return rows.map((row) => String(row.execution_id));
}

/** Tries again what a lost connection has failed. */
export async function persistently(work: () => Promise<unknown>): Promise<void> {
  await eventually(() => work().then(() => true, () => false));
}
