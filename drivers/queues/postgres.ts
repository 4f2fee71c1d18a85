/**
 * A queue in the store's own PostgreSQL database.
 *
 * Jobs are rows of the table `<prefix>jobs`, which `engine.migrate()` makes. They are enqueued in
 * the transaction of the rows they speak of, so that both are there or neither is, and its commit
 * wakes the listeners (NOTIFY). A job is held while it is handed over and deleted when it was taken
 * over; what gets stuck in between is delivered again.
 *
 * The default queue needs no such table, since the executions are its jobs. This one is for those
 * who want to see the jobs of their system in one place, or feed workers from them.
 *
 * @module
 */

import { InvalidInputError, MigrationError, StoreError } from "../../src/errors.ts";
import type { JobHandler, ListenOptions, QueueDriver } from "../../src/seams/queue.ts";
import type { Job } from "../../src/state/records.ts";
import type { JobTable, TakenJob } from "../postgres/jobs.ts";
import { type Alarm, createAlarm } from "./alarm.ts";

/**
 * What tells a `pg.Pool` from a URL. Its own type is not named here, so that whoever uses another
 * queue needs neither the client nor its types.
 */
export interface PoolLike {
  /** How many connections it has. */
  readonly totalCount: number;
  /** Takes one of them. */
  connect(): Promise<unknown>;
}

/** What `postgresQueue` may be told. */
export interface PostgresQueueOptions {
  /**
   * What the names of the store's tables begin with.
   *
   * @default {"pawl_"}
   */
  readonly tablePrefix?: string;
  /** The schema of the store's tables, if it was given one. */
  readonly schema?: string;
  /**
   * Whether statements are prepared once per connection; see `postgresStore`.
   *
   * @default {true}
   */
  readonly preparedStatements?: boolean;
  /**
   * How many connections the queue opens at the most when it is given a URL.
   *
   * @default {4}
   */
  readonly maxConnections?: number;
  /**
   * How many jobs are handed over at a time.
   *
   * @default {as many as the worker runs at a time}
   */
  readonly batchSize?: number;
}

/** How long a job that is being handed over is kept from others. */
const HOLD_MS = 30_000;

/** How many jobs go together where nobody says how many run at a time. */
const DEFAULT_BATCH = 10;

/**
 * Makes a queue in the database of a `postgresStore`.
 *
 * @param source The `postgres:` URL or the `pg.Pool` that the store was given.
 * @param options The store's names, and how many jobs go together.
 * @returns The queue.
 * @throws {InvalidInputError} When an argument is not one of these.
 *
 * @example The store and its queue on one pool
 * ```ts ignore
 * const engine = createEngine({ store: postgresStore(pool), queue: postgresQueue(pool), workflows });
 * ```
 */
export function postgresQueue(
  source: string | URL | PoolLike,
  options: PostgresQueueOptions = {},
): QueueDriver {
  const { batchSize } = options;
  if (batchSize !== undefined && (!Number.isSafeInteger(batchSize) || batchSize < 1)) {
    throw new InvalidInputError(
      `Cannot use ${String(batchSize)} as batchSize: use a whole number of at least 1`,
    );
  }
  const alarms = new Set<Alarm>();
  let opening: Promise<JobTable> | null = null;
  let closed = false;

  function open(): Promise<JobTable> {
    if (closed) {
      return Promise.reject(new StoreError("postgres", "Cannot use the queue: it is closed"));
    }
    return opening ??= openTable(source, options);
  }

  return {
    name: "postgres",
    commit: "with-store",
    async enqueue(jobs: readonly Job[], { tx }: { tx?: unknown } = {}): Promise<void> {
      if (jobs.length === 0) return;
      await (await open()).add(jobs, tx as Parameters<JobTable["add"]>[1]);
      // Inside a transaction nobody can see them yet; its commit sends the word.
      if (tx !== undefined) return;
      for (const { runAt } of jobs) for (const alarm of alarms) alarm.noLaterThan(runAt.getTime());
    },
    async listen(handler: JobHandler, how: ListenOptions): Promise<void> {
      const table = await open();
      const alarm = createAlarm(how);
      const limit = batchSize ?? how.concurrency ?? DEFAULT_BATCH;
      alarms.add(alarm);
      const ending = new AbortController();
      const hearing = table.listen((at) => alarm.noLaterThan(at ?? how.clock.now()), {
        clock: how.clock,
        signal: AbortSignal.any([how.signal, ending.signal]),
      });
      try {
        while (!how.signal.aborted) {
          if (!await deliver(table, handler, how, limit)) await alarm.next();
        }
      } finally {
        alarms.delete(alarm);
        ending.abort();
        await hearing;
      }
    },
    async close(): Promise<void> {
      if (closed) return;
      closed = true;
      await (await opening?.catch(() => null))?.close();
    },
  };
}

/** Hands over what is due now; whether there may be more. */
async function deliver(
  table: JobTable,
  handler: JobHandler,
  { clock, queues, signal }: ListenOptions,
  limit: number,
): Promise<boolean> {
  const now = clock.now();
  const until = new Date(now + HOLD_MS);
  let jobs: TakenJob[];
  try {
    jobs = await table.take({ now: new Date(now), until, limit, queues });
  } catch (error) {
    // A database that is away for a moment is asked again at the next look; a missing table is not.
    if (error instanceof MigrationError) throw error;
    return false;
  }
  if (jobs.length === 0) return false;
  await handler(jobs.map(({ id: _, ...job }) => job));
  try {
    // A worker that is stopping takes over nothing: others shall have it at once.
    await (signal.aborted ? table.putBack(jobs) : table.remove(jobs));
  } catch {
    // They are delivered once more, and the claims say that they were taken.
  }
  return jobs.length === limit;
}

/** Imported when it is needed, so that the other queues need no client of PostgreSQL. */
async function openTable(
  source: string | URL | PoolLike,
  options: PostgresQueueOptions,
): Promise<JobTable> {
  const { openJobTable } = await import("../postgres/jobs.ts");
  return openJobTable(source as Parameters<typeof openJobTable>[0], {
    tablePrefix: options.tablePrefix ?? "pawl_",
    schema: options.schema,
    preparedStatements: options.preparedStatements ?? true,
    maxConnections: options.maxConnections ?? 4,
  });
}
