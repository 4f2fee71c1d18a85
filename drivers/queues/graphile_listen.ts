/**
 * Listening with the workers of Graphile Worker, and watching over them.
 *
 * They stop when their database is away at the wrong moment, they do not learn of a queue that is
 * new, they remember the numbers of tasks that may have gone with their schema, and a job that a
 * dead process had locked would wait for four hours. So once in a while the tasks are read: when
 * they have changed, the workers are started anew; when they cannot be read, or the workers have
 * stopped, that happens after a wait that grows.
 *
 * @module
 */

import { type Logger, runTaskList, type WorkerPool } from "graphile-worker";
// @ts-types="@types/pg"
import type { Pool } from "pg";
import type { Clock } from "../../src/seams/clock.ts";
import type { JobHandler, ListenOptions } from "../../src/seams/queue.ts";
import type { Job } from "../../src/state/records.ts";
import { type Alarm, createAlarm } from "./alarm.ts";
import { type GraphileTables, HOLD_MS, type Tasks } from "./graphile_tables.ts";
import { type EarlyJob, inRounds, jobFrom, sorted } from "./postgres_engines.ts";

/** What listening needs. */
export interface GraphileWorld {
  /** Connections of the queue's own. */
  readonly pool: Pool;
  /** Graphile Worker's tables. */
  readonly tables: GraphileTables;
  /** Their schema. */
  readonly schema: string;
  /** How many jobs are locked at a time. */
  readonly batchSize: number;
  /** Where Graphile Worker's own messages go. */
  readonly logger: Logger;
  /** Makes the tables, unless they were there before; `again` when they may be gone. */
  install(again: boolean): Promise<void>;
}

/** Somebody who listens, as far as others may wake him. */
export interface Ears {
  /** Rings when jobs are to be looked for. */
  readonly jobs: Alarm;
  /** Rings when the tasks are to be read. */
  readonly tasks: Alarm;
  /** Hears what this process has announced, and whether a queue among it may be new. */
  hear(jobs: readonly Job[], isNew: boolean): void;
}

/** How often the tasks are read, at the most. */
const WATCH_MS = 1_000;
/** Graphile Worker looks for jobs by itself, too; the looks that count are made on our clock. */
const OWN_POLL_MS = 10_000;
/** How often jobs of the dead are looked for: it reads all jobs that there are. */
const UNLOCK_MS = 300_000;

/** The ears of one listener. */
export function earsOf(how: ListenOptions): Ears {
  const { clock } = how;
  const jobs = createAlarm(how);
  const tasks = createAlarm({ ...how, pollMs: Math.max(how.pollMs, WATCH_MS) });
  return {
    jobs,
    tasks,
    hear(announced, isNew) {
      if (isNew) wake(tasks, clock);
      const now = clock.now();
      for (const { runAt } of announced) {
        // Of what is due now the database tells, when it is committed.
        if (runAt.getTime() > now) jobs.noLaterThan(runAt.getTime());
      }
    },
  };
}

/** Listens until the signal is aborted, and ends when nothing is under way. */
export async function listenTo(
  world: GraphileWorld,
  handler: JobHandler,
  { ears, ...how }: ListenOptions & { readonly ears: Ears },
): Promise<void> {
  const { clock, queues, signal } = how;
  const { tables } = world;
  const task = createTask(handler, { tables, clock, ears });
  const draining = new Set<Promise<void>>();
  let workers: Workers | null = null;
  const looking = look(ears.jobs, signal, () => workers?.nudge());

  async function round(isLost: boolean): Promise<boolean> {
    await world.install(isLost);
    await tables.register(queues ?? []);
    const tasks = await tables.tasks(queues);
    const mine = workers = startWorkers(world, tasks, task);
    void mine.stopped.then(() => wake(ears.tasks, clock));
    // Something may have come while they were starting.
    wake(ears.jobs, clock);
    try {
      return await watch(mine, tasks, { tables, ears, ...how });
    } finally {
      workers = null;
      // What they have in hand may wait long for a slot; meanwhile others go on.
      track(draining, mine.stop());
    }
  }

  try {
    await inRounds(round, how);
  } finally {
    await looking;
    await Promise.all(draining);
  }
}

function wake(alarm: Alarm, clock: Clock): void {
  alarm.noLaterThan(clock.now());
}

function track(set: Set<Promise<void>>, promise: Promise<void>): void {
  set.add(promise);
  void promise.then(() => set.delete(promise));
}

/** Looks whenever the alarm rings, until nobody wants it any more. */
async function look(alarm: Alarm, signal: AbortSignal, at: () => void): Promise<void> {
  while (!signal.aborted) {
    await alarm.next();
    at();
  }
}

/**
 * Watches until the tasks have changed (true) or the workers have stopped (false).
 *
 * @throws When the tasks cannot be read.
 */
async function watch(
  workers: Workers,
  tasks: Tasks,
  { tables, ears, clock, queues, signal }: ListenOptions & {
    readonly tables: GraphileTables;
    readonly ears: Ears;
  },
): Promise<boolean> {
  let unlockAt = clock.now() + HOLD_MS * 2;
  while (true) {
    await ears.tasks.next();
    if (signal.aborted || workers.over) return false;
    if (!isSame(await tables.tasks(queues), tasks)) return true;
    if (clock.now() < unlockAt || tasks.size === 0) continue;
    await tables.unlock(tasks);
    unlockAt = clock.now() + UNLOCK_MS;
  }
}

function isSame(one: Tasks, other: Tasks): boolean {
  return one.size === other.size && [...one].every(([name, id]) => other.get(name) === id);
}

type Task = (payload: unknown) => Promise<void>;

/** Workers that were started together. */
interface Workers {
  /** True once they have stopped, by themselves or because they were asked to. */
  readonly over: boolean;
  /** Resolves when they have. */
  readonly stopped: Promise<void>;
  /** Makes them look for jobs now. */
  nudge(): void;
  /** Stops them; resolves when what they had in hand is taken over. */
  stop(): Promise<void>;
}

const NO_WORKERS: Workers = {
  over: false,
  stopped: new Promise(() => {}),
  nudge() {},
  stop: () => Promise.resolve(),
};

/** Starts workers for these tasks. */
function startWorkers(
  { pool, schema, batchSize, logger }: GraphileWorld,
  tasks: Tasks,
  task: Task,
): Workers {
  // Without any task there is nothing to do, and Graphile Worker would say so again and again.
  if (tasks.size === 0) return NO_WORKERS;
  let over = false;
  // Always a new object: Graphile Worker remembers by it what it knows of the tasks, errors too.
  const workers: WorkerPool = runTaskList(
    {
      noHandleSignals: true,
      preset: {
        worker: {
          schema,
          logger,
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
  const stopped = workers.promise.catch(() => {}).then(() => void (over = true));
  return {
    get over() {
      return over;
    },
    stopped,
    nudge: () => workers.nudge(1),
    async stop() {
      if (!over) await Promise.resolve(workers.gracefulShutdown()).catch(() => {});
      await stopped;
    },
  };
}

interface Delivered {
  readonly job: Job;
  taken(): void;
  refused(error: unknown): void;
}

/**
 * The task of every queue: hands jobs over, those that come in the same moment together, and puts
 * back what comes too early.
 */
function createTask(
  handler: JobHandler,
  { tables, clock, ears }: {
    readonly tables: GraphileTables;
    readonly clock: Clock;
    readonly ears: Ears;
  },
): Task {
  let waiting: Delivered[] = [];

  async function handOver(due: readonly Delivered[]): Promise<void> {
    if (due.length === 0) return;
    const since = clock.now();
    await handler(due.map(({ job }) => job));
    const heldMs = clock.now() - since;
    for (const one of due) {
      // Others may have it by now, with another time even: it is not ours to delete any more.
      if (heldMs >= HOLD_MS) one.refused(new Error("It was held for too long, and comes again"));
      else one.taken();
    }
  }

  async function putBack(early: readonly (Delivered & EarlyJob)[]): Promise<void> {
    if (early.length === 0) return;
    try {
      await tables.putBack(early);
    } catch (error) {
      for (const one of early) one.refused(error);
    }
    for (const one of early) {
      ears.jobs.noLaterThan(one.job.runAt.getTime());
      one.taken();
    }
  }

  function flush(): void {
    const { due, early } = sorted(waiting, clock);
    waiting = [];
    void putBack(early);
    void handOver(due);
  }

  return (payload) => {
    const job = jobFrom(payload);
    // What somebody else has put under our name cannot be delivered, today or later.
    if (job === null) return Promise.resolve();
    return new Promise<void>((taken, refused) => {
      waiting.push({ job, taken, refused });
      if (waiting.length === 1) queueMicrotask(flush);
    });
  };
}
