/**
 * How a case tries a queue.
 *
 * A queue may deliver twice and late, so the cases ask for each job at least once and wait for it
 * patiently. A queue without jobs of its own (`commit: "none"`) only says "look at the table"; for
 * it a trial keeps a table, and a look takes from it what is due.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Clock } from "../seams/clock.ts";
import type { QueueDriver } from "../seams/queue.ts";
import type { Job } from "../state/records.ts";

/** A queue with the clock that it is driven by. */
export interface CaseQueue {
  /** The queue, empty. */
  readonly queue: QueueDriver;
  /** The clock that its listeners are given. */
  readonly clock: Clock;
  /** Lets this many milliseconds pass on that clock: at once on a fake one, in real time otherwise. */
  advance(ms: number): Promise<void>;
  /** Removes what the queue leaves behind, after it was closed. */
  drop?(): void | Promise<void>;
}

/** What a case of a queue works with. */
export interface QueueCaseContext {
  /** Opens an empty queue. */
  open(): Promise<CaseQueue>;
}

/** One statement about queues, and how it is proved. */
export interface QueueCase {
  /** The statement, beginning with the ids of the behaviours that it covers. */
  readonly name: string;
  /** Rejects with an assertion error when the statement does not hold. */
  run(context: QueueCaseContext): Promise<void>;
}

/** How often a polling queue looks. */
export const POLL_MS = 50;
/** How far a step of waiting goes. */
export const STEP_MS = 10;
/** How many of them there may be before what is waited for counts as missing. */
const STEPS = 1_000;

/** What a case does with a queue: hand jobs over, listen, and look at what has come. */
export interface Trial {
  /** The queue. */
  readonly queue: QueueDriver;
  /** Its clock. */
  readonly clock: Clock;
  /** Lets time pass. */
  readonly advance: (ms: number) => Promise<void>;
  /** What was delivered, in order, with when. */
  readonly deliveries: Delivery[];
  /** A job that is due after so many milliseconds. */
  job(executionId: string, dueInMs?: number, over?: Partial<Job>): Job;
  /** Hands jobs over; what a queue of this process answers comes only after they have run. */
  enqueue(jobs: readonly Job[]): Promise<void>;
  /** Listens until it is stopped. */
  listen(options?: ListenerOptions): Listener;
  /** Waits until something is so. */
  until(isSo: () => boolean, what: string): Promise<void>;
  /** Waits until all of these were delivered. */
  arrive(ids: readonly string[]): Promise<void>;
}

/** A job that arrived. */
export interface Delivery {
  /** The job. */
  readonly job: Job;
  /** When it arrived. */
  readonly at: number;
  /** The name of the listener that got it. */
  readonly listener: string;
}

/** How a case listens. */
export interface ListenerOptions {
  /** Its name in the deliveries. */
  readonly name?: string;
  /** The queues it serves; default: all. */
  readonly queues?: readonly string[];
  /** What handling a delivery takes. */
  readonly work?: () => Promise<void>;
  /** Hears of every call, also of one without jobs. */
  readonly called?: (jobs: readonly Job[]) => void;
}

/** Somebody who listens. */
export interface Listener {
  /** Asks it to end; resolves when it has. */
  stop(): Promise<void>;
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
}

/** A case that starts with an empty queue; its listeners are stopped, whatever comes of it. */
export function queueCase(name: string, prove: (trial: Trial) => Promise<void>): QueueCase {
  return {
    name,
    async run(context) {
      const bench = await context.open();
      const listeners = new Set<Listener>();
      try {
        await prove(trialOn(bench, listeners));
      } finally {
        await Promise.all([...listeners].map((listener) => listener.stop()));
        await bench.queue.close();
        await bench.drop?.();
      }
    },
  };
}

function trialOn(bench: CaseQueue, listeners: Set<Listener>): Trial {
  const { queue, clock, advance } = bench;
  const deliveries: Delivery[] = [];
  const table = new Map<string, Job>();

  /** What a look at the table gives a worker that serves these queues. */
  function takeDue(queues: readonly string[] | undefined): Job[] {
    const due = [...table.values()].filter((job) =>
      job.runAt.getTime() <= clock.now() && (queues?.includes(job.queue) ?? true)
    );
    for (const job of due) table.delete(job.executionId);
    return due;
  }

  function listen({ name = "only", queues, work, called }: ListenerOptions = {}): Listener {
    const stopping = new AbortController();
    const ended = queue.listen(async (jobs) => {
      called?.(jobs);
      const taken = queue.commit === "none" ? takeDue(queues) : jobs;
      for (const job of taken) deliveries.push({ job, at: clock.now(), listener: name });
      await work?.();
    }, { signal: stopping.signal, clock, pollMs: POLL_MS, queues });
    const listener: Listener = {
      ended,
      stop() {
        stopping.abort();
        return ended;
      },
    };
    listeners.add(listener);
    return listener;
  }

  async function until(isSo: () => boolean, what: string): Promise<void> {
    for (let step = 0; step < STEPS && !isSo(); step++) await advance(STEP_MS);
    assert.ok(isSo(), `${what}, even after ${STEPS * STEP_MS} ms`);
  }

  return {
    queue,
    clock,
    advance,
    deliveries,
    listen,
    until,
    job: (executionId, dueInMs = 0, over = {}) => ({
      executionId,
      runAt: new Date(clock.now() + dueInMs),
      queue: "default",
      priority: 0,
      ...over,
    }),
    async enqueue(jobs) {
      for (const job of jobs) table.set(job.executionId, job);
      await queue.enqueue(jobs);
    },
    async arrive(ids) {
      const missing = (): string[] => {
        const seen = new Set(deliveries.map(({ job }) => job.executionId));
        return ids.filter((id) => !seen.has(id));
      };
      await until(() => missing().length === 0, `Jobs are missing (${missing().length})`);
    },
  };
}
