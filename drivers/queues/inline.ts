/**
 * The inline queue: jobs run in the process that enqueues them, in the very call.
 *
 * A job that is due runs before `enqueue` resolves, and `enqueue` rejects with what its body threw,
 * once that is stored. A job for later waits for a timer on the engine's clock; what its body
 * throws has nowhere to go but to the error reporter. With `deferred`, every job waits for a timer,
 * so that with a fake clock nothing runs until the clock is moved.
 *
 * @module
 */

import { type Clock, MAX_TIMER_MS } from "../../src/seams/clock.ts";
import type { JobHandler, ListenOptions, QueueDriver } from "../../src/seams/queue.ts";
import type { Job } from "../../src/state/records.ts";

/** How an inline queue runs its jobs. */
export interface InlineQueueOptions {
  /**
   * Leave also what is due at once to a timer of the clock.
   *
   * @default {false}
   */
  readonly deferred?: boolean;
}

/** A queue that runs jobs in the process that enqueues them. */
export interface InlineQueue extends QueueDriver {
  /** Resolves when no job is running. */
  idle(): Promise<void>;
}

/**
 * Makes a queue that runs jobs in the process that enqueues them: for tests, scripts and small
 * tools. What is due later is only kept in memory; the sweep of a worker finds it after a restart.
 */
export function inlineQueue(options: InlineQueueOptions = {}): InlineQueue {
  const unheard: Job[] = [];
  const running = new Set<Promise<unknown>>();
  const timers = new Set<unknown>();
  const listeners: { readonly handler: JobHandler; readonly clock: Clock }[] = [];
  let closed = false;

  /** Runs one job and remembers that it is under way. */
  async function run(job: Job): Promise<void> {
    const listener = listeners[0];
    if (listener === undefined) return void unheard.push(job);
    const delivered = listener.handler([job]);
    running.add(delivered);
    try {
      await delivered;
    } finally {
      running.delete(delivered);
    }
  }

  /** Runs a job at its time; a timer cannot wait for more than 24 days, so it may ring again. */
  function runLater(job: Job, clock: Clock): void {
    const delayMs = Math.max(0, job.runAt.getTime() - clock.now());
    const timer = clock.setTimeout(() => {
      timers.delete(timer);
      if (delayMs > MAX_TIMER_MS) runLater(job, clock);
      // The engine has stored and reported the error; there is no caller left to reject to.
      else run(job).catch(() => {});
    }, Math.min(delayMs, MAX_TIMER_MS));
    timers.add(timer);
  }

  async function enqueue(jobs: readonly Job[]): Promise<void> {
    if (closed) throw new Error("[inline] Cannot enqueue: the queue is closed");
    const clock = listeners[0]?.clock;
    if (clock === undefined) return void unheard.push(...jobs);
    const isDue = (job: Job): boolean => !options.deferred && job.runAt.getTime() <= clock.now();
    for (const job of jobs) if (!isDue(job)) runLater(job, clock);
    let failure: { readonly error: unknown } | null = null;
    for (const job of jobs.filter(isDue).sort((a, b) => a.priority - b.priority)) {
      await run(job).catch((error: unknown) => void (failure ??= { error }));
    }
    if (failure !== null) throw (failure as { readonly error: unknown }).error;
  }

  async function idle(): Promise<void> {
    while (running.size > 0) await Promise.allSettled([...running]);
  }

  return {
    name: "inline",
    commit: "after-store",
    inProcess: true,
    enqueue,
    idle,
    async listen(handler: JobHandler, { clock, signal }: ListenOptions): Promise<void> {
      const listener = { handler, clock };
      listeners.push(listener);
      for (const job of unheard.splice(0)) runLater(job, clock);
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener("abort", () => resolve(), { once: true });
      });
      listeners.splice(listeners.indexOf(listener), 1);
      if (listeners.length === 0) {
        for (const timer of timers) clock.clearTimeout(timer);
        timers.clear();
      }
      await idle();
    },
    close(): Promise<void> {
      closed = true;
      return Promise.resolve();
    },
  };
}
