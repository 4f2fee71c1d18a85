/**
 * Graphile Worker as a queue: jobs in the store's own PostgreSQL database.
 *
 * A job is added in the transaction of the rows it speaks of, also in one of the caller, so both
 * are there or neither is; its commit wakes the workers of Graphile Worker, which lock jobs in
 * batches and delete what was taken over. A job only carries an id, and its task never fails: what
 * a step comes to is in its row.
 *
 * @example In the database of the store; it connects at the first use
 * ```ts
 * import { createEngine } from "@pawl/pawl";
 * import { graphileWorkerQueue } from "@pawl/pawl/graphile-worker";
 * import { postgresStore } from "@pawl/pawl/postgres";
 *
 * const url = "postgres://localhost/shop";
 * const queue = graphileWorkerQueue(url);
 * const engine = createEngine({ store: postgresStore(url), queue, workflows: [] });
 * await engine.close();
 * ```
 *
 * @module
 */

import { Logger as GraphileLogger, runMigrations } from "graphile-worker";
import type { Logger } from "../../src/define/context.ts";
import { StoreError } from "../../src/errors.ts";
import type { JobHandler, ListenOptions, QueueDriver } from "../../src/seams/queue.ts";
import type { Job } from "../../src/state/records.ts";
import { type Ears, earsOf, type GraphileWorld, listenTo } from "./graphile_worker/listen.ts";
import { graphileTables } from "./graphile_worker/tables.ts";
import type { PoolLike } from "./postgres.ts";
import {
  countOf,
  explainedFor,
  isMissing,
  ownPool,
  type TransactionLike,
} from "./postgres_engines.ts";

export type { PoolLike } from "./postgres.ts";
export type { Logger } from "../../src/define/context.ts";
export type { JobHandler, ListenOptions, QueueCommit, QueueDriver } from "../../src/seams/queue.ts";
export type { Clock } from "../../src/seams/clock.ts";
export type { Job } from "../../src/state/records.ts";

/** What `graphileWorkerQueue` may be told. */
export interface GraphileWorkerQueueOptions {
  /**
   * The schema of Graphile Worker's tables.
   *
   * @default {"graphile_worker"}
   */
  readonly schema?: string;
  /**
   * What the task identifiers begin with; the name of the queue follows. Two stores in one database
   * need two of them.
   *
   * @default {"pawl:"}
   */
  readonly prefix?: string;
  /**
   * How many connections the queue opens at the most. It makes them like those of the given pool,
   * and takes none of that; one of them listens.
   *
   * @default {4}
   */
  readonly maxConnections?: number;
  /**
   * How many jobs a worker locks at a time.
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
  /** Where the messages of Graphile Worker go; default: nowhere. */
  readonly logger?: Logger;
}

const NAME = "graphile-worker";

/**
 * Makes a queue of Graphile Worker in the database of a `postgresStore`. Its tables are made, or
 * brought up to date, at the first use; a user who may not do that needs them made by
 * `npx graphile-worker --schema-only`, run as their owner, all privileges on them, and `BYPASSRLS`,
 * because they hide their rows from everybody but their owner.
 *
 * @param source The `postgres:` URL or the `pg.Pool` that the store was given.
 * @param options The schema, names, and how many jobs go together.
 * @returns The queue.
 * @throws {InvalidInputError} When an argument is not one of these.
 *
 * @example The store and its queue in one database
 * ```ts ignore
 * import { graphileWorkerQueue } from "@pawl/pawl/graphile-worker";
 *
 * const engine = createEngine({
 *   store: postgresStore(pool),
 *   queue: graphileWorkerQueue(pool),
 *   workflows,
 * });
 * ```
 */
export function graphileWorkerQueue(
  source: string | URL | PoolLike,
  options: GraphileWorkerQueueOptions = {},
): QueueDriver {
  const { schema = "graphile_worker", prefix = "pawl:", preparedStatements = true } = options;
  const batchSize = countOf(options.batchSize ?? 20, "batchSize");
  const { pool } = ownPool(source, options.maxConnections ?? 4);
  const tables = graphileTables(pool, { schema, prefix, preparedStatements });
  const logger = loggerFor(options.logger);
  const listening = new Set<Ears>();
  let installing: Promise<void> | null = null;
  let closing: Promise<void> | null = null;

  /** Once per process, and again after it has failed or the tables were lost. */
  function install(again: boolean = false): Promise<void> {
    if (closing !== null) {
      return Promise.reject(new StoreError(NAME, "Cannot use the queue: it is closed"));
    }
    if (again) forget();
    return installing ??= runMigrations({ pgPool: pool, schema, logger }).catch((error) => {
      forget();
      throw error;
    });
  }

  function forget(): void {
    installing = null;
    tables.forget();
  }

  return {
    name: NAME,
    commit: "with-store",
    async enqueue(jobs: readonly Job[], { tx }: { tx?: unknown } = {}): Promise<void> {
      if (jobs.length === 0) return;
      try {
        await install();
        const isNew = await tables.register(jobs.map((job) => job.queue));
        await tables.add(jobs, tx as TransactionLike | undefined);
        for (const ears of listening) ears.hear(jobs, isNew);
      } catch (error) {
        if (isMissing(error)) forget();
        throw explainedFor(NAME, error, "they are made again at the next use");
      }
    },
    async listen(handler: JobHandler, how: ListenOptions): Promise<void> {
      if (how.signal.aborted) return;
      const ears = earsOf(how);
      listening.add(ears);
      const world: GraphileWorld = { pool, tables, schema, batchSize, logger, install };
      try {
        await listenTo(world, handler, { ...how, ears });
      } catch (error) {
        throw explainedFor(NAME, error, "start the worker again");
      } finally {
        listening.delete(ears);
      }
    },
    close: () => closing ??= pool.end(),
  };
}

/** Graphile Worker tells of every job that it completes: details, to us. */
function loggerFor(logger: Logger | undefined): GraphileLogger {
  return new GraphileLogger(() => (level, message, meta) => {
    if (level === "error") logger?.error(message, meta);
    else if (level === "warning") logger?.warn(message, meta);
    else logger?.debug(message, meta);
  });
}
