/**
 * pg-boss as a queue: jobs in the store's own PostgreSQL database.
 *
 * A job is inserted in the transaction of the rows it speaks of, also in one of the caller, so both
 * are there or neither is. Who listens fetches jobs in batches, hands them over and deletes them; a
 * job only carries an id, and is never failed: what a step comes to is in its row.
 *
 * @example In the database of the store; it connects at the first use
 * ```ts
 * import { createEngine } from "@pawl/pawl";
 * import { pgBossQueue } from "@pawl/pawl/pg-boss";
 * import { postgresStore } from "@pawl/pawl/postgres";
 *
 * const url = "postgres://localhost/shop";
 * const queue = pgBossQueue(url);
 * const engine = createEngine({ store: postgresStore(url), queue, workflows: [] });
 * await engine.close();
 * ```
 *
 * @module
 */

import type { Logger } from "../../src/define/context.ts";
import { StoreError } from "../../src/errors.ts";
import type { JobHandler, ListenOptions, QueueDriver } from "../../src/seams/queue.ts";
import type { Job } from "../../src/state/records.ts";
import { createAlarm } from "./alarm.ts";
import { fetchUntil, type Opened } from "./pg_boss/fetch.ts";
import { bossJobs, isResting, NAME } from "./pg_boss/jobs.ts";
import type { PgBossLike } from "./pg_boss/like.ts";
import { bossSource } from "./pg_boss/open.ts";
import type { PoolLike } from "./postgres.ts";
import {
  countOf,
  explainedFor,
  inRounds,
  isMissing,
  type TransactionLike,
} from "./postgres_engines.ts";

export type { PgBossLike } from "./pg_boss/like.ts";
export type { PoolLike } from "./postgres.ts";
export type { Logger } from "../../src/define/context.ts";
export type { JobHandler, ListenOptions, QueueCommit, QueueDriver } from "../../src/seams/queue.ts";
export type { Clock } from "../../src/seams/clock.ts";
export type { Job } from "../../src/state/records.ts";

/** What `pgBossQueue` may be told. */
export interface PgBossQueueOptions {
  /**
   * The schema of pg-boss's tables; a pg-boss that is given has one already.
   *
   * @default {"pgboss"}
   */
  readonly schema?: string;
  /**
   * What the names of the queues begin with. Two stores in one database need two of them.
   *
   * @default {"pawl/"}
   */
  readonly prefix?: string;
  /**
   * How many connections the queue opens at the most. It makes them like those of the given pool,
   * and takes none of that; one more listens.
   *
   * @default {4}
   */
  readonly maxConnections?: number;
  /**
   * How many jobs of a queue are fetched at a time.
   *
   * @default {20}
   */
  readonly batchSize?: number;
  /**
   * Whether jobs are added by statements that are prepared once per connection; see `postgresStore`.
   *
   * @default {true}
   */
  readonly preparedStatements?: boolean;
  /** Where the warnings and errors of pg-boss go; default: nowhere. */
  readonly logger?: Logger;
}

/**
 * Makes a queue of pg-boss in the database of a `postgresStore`. Its tables are made, or brought up
 * to date, at the first use; a user who may not do that needs them made by `npx pg-boss migrate`,
 * run as their owner, and all privileges on them.
 *
 * @param source The `postgres:` URL or the `pg.Pool` that the store was given, or a `PgBoss` that
 * the application has started. That one is never stopped; and since nobody but itself hears what it
 * is told, jobs from other processes are found at the next poll.
 * @param options The schema, names, and how many jobs go together.
 * @returns The queue.
 * @throws {InvalidInputError} When an argument is not one of these.
 *
 * @example The store and its queue in one database
 * ```ts ignore
 * import { pgBossQueue } from "@pawl/pawl/pg-boss";
 *
 * const engine = createEngine({ store: postgresStore(pool), queue: pgBossQueue(pool), workflows });
 * ```
 */
export function pgBossQueue(
  source: string | URL | PoolLike | PgBossLike,
  options: PgBossQueueOptions = {},
): QueueDriver {
  const { schema, prefix = "pawl/", maxConnections = 4, logger } = options;
  const { preparedStatements = true } = options;
  const batchSize = countOf(options.batchSize ?? 20, "batchSize");
  const bosses = bossSource(source, { schema, maxConnections, logger });
  const listening = new Set<(jobs: readonly Job[], inside: boolean) => void>();
  let opening: Promise<Opened> | null = null;
  let closed = false;

  function open(): Promise<Opened> {
    if (closed) return Promise.reject(new StoreError(NAME, "Cannot use the queue: it is closed"));
    return opening ??= bosses.open().then(
      (opened) => ({ ...opened, jobs: bossJobs(opened.boss, { prefix, preparedStatements }) }),
      (error) => {
        opening = null;
        throw error;
      },
    );
  }

  /** Tables that are gone are made again at the next use, by another pg-boss. */
  async function shut(opened: Promise<Opened> | null): Promise<void> {
    if (opening === opened) opening = null;
    await (await opened?.catch(() => null))?.close();
  }

  return {
    name: NAME,
    commit: "with-store",
    async enqueue(jobs: readonly Job[], { tx }: { tx?: unknown } = {}): Promise<void> {
      if (jobs.length === 0) return;
      const opened = open();
      try {
        const { jobs: table } = await opened;
        await table.makeQueues(jobs.map((job) => job.queue));
        await table.add(jobs, tx as TransactionLike | undefined);
      } catch (error) {
        if (isMissing(error)) await shut(opened);
        throw explained(error, "they are made again at the next use");
      }
      for (const hear of listening) hear(jobs, tx !== undefined);
    },
    async listen(handler: JobHandler, how: ListenOptions): Promise<void> {
      const alarm = createAlarm(how);
      const hear = (jobs: readonly Job[], inside: boolean): void => {
        for (const { runAt } of jobs) {
          // Inside a transaction nobody can see them yet; its commit sends the word.
          if (!inside || runAt.getTime() > how.clock.now()) alarm.noLaterThan(runAt.getTime());
        }
      };
      listening.add(hear);
      let trouble: unknown = null;
      try {
        await inRounds(async (isLost) => {
          if (isLost) await shut(opening);
          try {
            await fetchUntil(await open(), handler, { ...how, alarm, batchSize });
          } catch (error) {
            if (!isResting(error)) throw error;
            // It may be started yet.
            if (!isResting(trouble)) how.onTrouble?.(explained(error, "") as Error);
            trouble = error;
            return false;
          }
          trouble = null;
          return true;
        }, how);
      } catch (error) {
        throw explained(error, "start the worker again");
      } finally {
        listening.delete(hear);
      }
    },
    async close(): Promise<void> {
      if (closed) return;
      closed = true;
      await shut(opening);
      await bosses.end();
    },
  };
}

function explained(error: unknown, missing: string): unknown {
  if (!isResting(error)) return explainedFor(NAME, error, missing);
  const what = "Cannot use the given pg-boss: it is not running; await its start() first";
  return new StoreError(NAME, what, { cause: error });
}
