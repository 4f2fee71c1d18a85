/**
 * The workers of Graphile Worker: started together, and stopped together.
 *
 * @module
 */

import { EventEmitter } from "node:events";
import { type Logger, runTaskList, type WorkerEvents, type WorkerPool } from "graphile-worker";
// @ts-types="@types/pg"
import type { Pool, QueryConfig } from "pg";
import type { Tasks } from "./tables.ts";

/** How workers are started. */
export interface WorkersOptions {
  /** Connections of the queue's own. */
  readonly pool: Pool;
  /** The schema of the tables. */
  readonly schema: string;
  /** How many jobs are locked at a time. */
  readonly batchSize: number;
  /** Where Graphile Worker's own messages go. */
  readonly logger: Logger;
}

/** Graphile Worker looks for jobs by itself, too; the looks that count are made on our clock. */
const OWN_POLL_MS = 10_000;

/** The task of every queue. */
export type Task = (payload: unknown) => Promise<void>;

/** Workers that were started together. */
export interface Workers {
  /** Whether they have looked for jobs, or look no more. */
  readonly state: "starting" | "looking" | "stopping";
  /** Resolves when they begin to stop, by themselves or because they were asked to. */
  readonly stopping: Promise<void>;
  /** Makes them look for jobs now. */
  nudge(): void;
  /** Stops them; resolves when what they had in hand is taken over. */
  stop(): Promise<void>;
}

/** Starts workers for these tasks. */
export function startWorkers(
  { pool, schema, batchSize, logger }: WorkersOptions,
  tasks: Tasks,
  task: Task,
): Workers {
  const events: WorkerEvents = new EventEmitter();
  let state: Workers["state"] = "starting";
  events.once("localQueue:getJobs:complete", () => {
    if (state === "starting") state = "looking";
  });
  const stopping = new Promise<void>((resolve) => {
    events.once("pool:gracefulShutdown", () => {
      state = "stopping";
      resolve();
    });
  });
  // Always a new object: Graphile Worker remembers by it what it knows of the tasks, errors too.
  const workers: WorkerPool = runTaskList(
    {
      noHandleSignals: true,
      preset: {
        worker: {
          schema,
          logger,
          events,
          concurrentJobs: batchSize,
          pollInterval: OWN_POLL_MS,
          // One statement locks a batch, and one deletes it.
          localQueue: { size: batchSize },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
          // Nobody heeds the signal that this is about; the timer would outlive the workers.
          gracefulShutdownAbortTimeout: 0,
        },
      },
    },
    Object.fromEntries([...tasks.keys()].map((name) => [name, task])),
    forgiving(pool),
  );
  const stopped = workers.promise.catch(() => {});
  return {
    get state() {
      return state;
    },
    stopping,
    nudge: () => workers.nudge(1),
    async stop() {
      if (state !== "stopping") Promise.resolve(workers.gracefulShutdown()).catch(() => {});
      await stopped;
    },
  };
}

/** The statements that delete, free or fail jobs, by their names. */
const SETTLING = /^(complete|return|fail)_job/;
const NOTHING = { rows: [], rowCount: 0 };

/**
 * The pool as the workers see it: nothing that lets go of jobs ever fails. When the database is away
 * at such a moment, Graphile Worker stops its workers without ever saying that they have stopped, or
 * ends the whole process by a rejection that nobody can catch. Jobs that stay locked by this are
 * given to others later, and the claim says that they were taken.
 */
function forgiving(pool: Pool): Pool {
  async function query(statement: QueryConfig): Promise<unknown> {
    try {
      return await pool.query(statement);
    } catch (error) {
      if (SETTLING.test(statement.name ?? "")) return NOTHING;
      throw error;
    }
  }
  // Who passes a callback wants to listen; all others run one statement, and need no connection of
  // their own for it.
  const connect = (told?: Parameters<Pool["connect"]>[0]): unknown =>
    told === undefined ? Promise.resolve({ query, release() {} }) : pool.connect(told);
  return { connect } as Pool;
}
