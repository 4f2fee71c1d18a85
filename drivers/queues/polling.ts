/**
 * The polling queue: the executions table is the queue.
 *
 * There is nothing to enqueue into, so nothing can be lost and nothing must be kept in step. The
 * worker looks at the table at an interval, at once when this process has scheduled something, and
 * at the moment when something that this process scheduled becomes due.
 *
 * @module
 */

import type { JobHandler, ListenOptions, QueueDriver } from "../../src/seams/queue.ts";
import type { Job } from "../../src/state/records.ts";

/** A queue of workers that look at the executions table; works over any store. */
export function pollingQueue(): QueueDriver {
  const looks = new Set<(at: number) => void>();
  return {
    name: "polling",
    commit: "none",
    enqueue(jobs: readonly Job[]): Promise<void> {
      const earliest = Math.min(...jobs.map((job) => job.runAt.getTime()));
      for (const look of looks) look(earliest);
      return Promise.resolve();
    },
    async listen(handler: JobHandler, options: ListenOptions): Promise<void> {
      const alarm = createAlarm(options);
      looks.add(alarm.noLaterThan);
      try {
        while (!options.signal.aborted) {
          await handler([]);
          await alarm.next();
        }
      } finally {
        looks.delete(alarm.noLaterThan);
      }
    },
    close: () => Promise.resolve(),
  };
}

interface Alarm {
  /** Resolves at the next poll, or earlier when somebody asked for it. */
  next(): Promise<void>;
  /** Asks for a look at this instant at the latest. */
  noLaterThan(at: number): void;
}

function createAlarm({ clock, pollMs, signal }: ListenOptions): Alarm {
  const asked: number[] = [];
  let ring: (() => void) | null = null;
  let timer: unknown = null;

  function arm(): void {
    if (ring === null) return;
    if (timer !== null) clock.clearTimeout(timer);
    const now = clock.now();
    const earliest = Math.min(...asked, now + pollMs);
    timer = clock.setTimeout(() => ring?.(), Math.max(0, earliest - now));
  }

  return {
    noLaterThan(at) {
      asked.push(at);
      arm();
    },
    next: () =>
      new Promise((resolve) => {
        const wake = (): void => {
          if (timer !== null) clock.clearTimeout(timer);
          timer = null;
          ring = null;
          signal.removeEventListener("abort", wake);
          const now = clock.now();
          const later = asked.filter((at) => at > now);
          asked.splice(0, asked.length, ...later);
          resolve();
        };
        if (signal.aborted) return resolve();
        ring = wake;
        signal.addEventListener("abort", wake, { once: true });
        arm();
      }),
  };
}
