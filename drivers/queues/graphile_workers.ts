/**
 * The workers of Graphile Worker: started together, and stopped together.
 *
 * @module
 */

import { EventEmitter } from "node:events";
import {
  type Logger,
  runTaskList,
  type WorkerEventMap,
  type WorkerEvents,
  type WorkerPool,
} from "graphile-worker";
// @ts-types="@types/pg"
import type { Pool } from "pg";
import type { Tasks } from "./graphile_tables.ts";

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
  const happens = (what: keyof WorkerEventMap): Promise<void> =>
    new Promise((resolve) => events.once(what, () => resolve()));
  const stopping = happens("pool:gracefulShutdown");
  // After jobs could not be deleted, nobody is told any more when the workers have stopped: the
  // count of what is under way is wrong by then. That they have let go of their jobs is told.
  const broken = happens("pool:fatalError");
  const released = happens("pool:gracefulShutdown:complete");
  const failed = happens("pool:gracefulShutdown:error");
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
          // One statement locks a batch, and one deletes it. A single deletion that failed would
          // end the process, because nobody hears of it.
          localQueue: { size: batchSize },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
          // Nobody heeds the signal that this is about; the timer would outlive the workers.
          gracefulShutdownAbortTimeout: 0,
        },
      },
    },
    Object.fromEntries([...tasks.keys()].map((name) => [name, task])),
    pool,
  );
  let state: Workers["state"] = "starting";
  events.once("localQueue:getJobs:complete", () => {
    if (state === "starting") state = "looking";
  });
  events.once("pool:gracefulShutdown", () => void (state = "stopping"));
  const stopped = Promise.race([
    workers.promise.catch(() => {}),
    broken.then(() => Promise.race([released, failed])),
  ]);
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
