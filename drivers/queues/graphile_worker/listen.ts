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

import process from "node:process";
import type { Clock } from "../../../src/seams/clock.ts";
import type { JobHandler, ListenOptions } from "../../../src/seams/queue.ts";
import { DEFAULT_QUEUE, type Job } from "../../../src/state/records.ts";
import { type Alarm, createAlarm } from "../alarm.ts";
import { type GraphileTables, HOLD_MS, type Tasks } from "./tables.ts";
import { startWorkers, type Task, type Workers, type WorkersOptions } from "./workers.ts";
import { type EarlyJob, inRounds, jobFrom, sorted } from "../postgres_engines.ts";

/** What listening needs. */
export interface GraphileWorld extends WorkersOptions {
  /** Graphile Worker's tables. */
  readonly tables: GraphileTables;
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
/** How often they are read before workers count as stuck that have never looked for jobs. */
const PATIENT_LOOKS = 5;
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
  const ending = new AbortController();
  const looking = look(ears.jobs, AbortSignal.any([signal, ending.signal]), () => {
    workers?.nudge();
  });

  async function round(isLost: boolean): Promise<boolean> {
    await world.install(isLost);
    pardon();
    // Whoever serves all queues serves this one, whether it was used before or not.
    await tables.register(queues ?? [DEFAULT_QUEUE]);
    const tasks = await tables.tasks(queues);
    const mine = workers = startWorkers(world, tasks, task);
    void mine.stopping.then(() => wake(ears.tasks, clock));
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
    ending.abort();
    await looking;
    await Promise.all(draining);
  }
}

/** What Graphile Worker has the process exit with when it hears of tables of another kind. */
const FOREIGN_TABLES = 57;

/**
 * Takes that back once the tables have turned out to be usable. It is also heard when somebody has
 * dropped them and they were made again.
 */
function pardon(): void {
  if (process.exitCode === FOREIGN_TABLES) process.exitCode = 0;
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
  // A little later than they may be held, so that those of a process that was lost just now go, too.
  let unlockAt = clock.now() + HOLD_MS * 2 + WATCH_MS;
  for (let looks = 1;; looks++) {
    await ears.tasks.next();
    if (signal.aborted || workers.state === "stopping") return false;
    // They remember what went wrong with their first look, and would never look again.
    if (workers.state === "starting" && looks >= PATIENT_LOOKS) return false;
    if (!isSame(await tables.tasks(queues), tasks)) return true;
    if (clock.now() < unlockAt) continue;
    await tables.unlock(tasks);
    unlockAt = clock.now() + UNLOCK_MS;
  }
}

function isSame(one: Tasks, other: Tasks): boolean {
  return one.size === other.size && [...one].every(([name, id]) => other.get(name) === id);
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
