/**
 * The polling queue: the executions table is the queue.
 *
 * There is nothing to enqueue into, so nothing can be lost and nothing must be kept in step. The
 * worker looks at the table at an interval, at once when this process has scheduled something, and
 * at the moment when something that this process scheduled becomes due. Where the database can
 * tell, it also looks when another process has scheduled something.
 *
 * @module
 */

import type { Clock } from "../../src/seams/clock.ts";
import type { JobHandler, ListenOptions, QueueDriver } from "../../src/seams/queue.ts";
import type { Job } from "../../src/state/records.ts";
import { createAlarm } from "./alarm.ts";

/** What a polling queue may be told. */
export interface PollingQueueOptions {
  /**
   * Calls `heard` whenever another process has scheduled something, with the instant when it is
   * due, until the signal is aborted: what the `listen` of a store does. The polls go on meanwhile,
   * so it may miss some, and when it fails nothing is lost but time.
   */
  readonly wake?: (
    heard: (at: number) => void,
    options: { readonly signal: AbortSignal; readonly clock: Clock },
  ) => Promise<void>;
}

/** A queue of workers that look at the executions table; works over any store. */
export function pollingQueue({ wake }: PollingQueueOptions = {}): QueueDriver {
  const looks = new Set<(at: number) => void>();
  return {
    name: "polling",
    commit: "none",
    enqueue(jobs: readonly Job[]): Promise<void> {
      for (const job of jobs) for (const look of looks) look(job.runAt.getTime());
      return Promise.resolve();
    },
    async listen(handler: JobHandler, options: ListenOptions): Promise<void> {
      const alarm = createAlarm(options);
      looks.add(alarm.noLaterThan);
      const ending = new AbortController();
      const signal = AbortSignal.any([options.signal, ending.signal]);
      // Without the wake-up there are still the polls.
      const waking = wake?.(alarm.noLaterThan, { signal, clock: options.clock }).catch(() => {});
      try {
        while (!options.signal.aborted) {
          await handler([]);
          await alarm.next();
        }
      } finally {
        looks.delete(alarm.noLaterThan);
        ending.abort();
        await waking;
      }
    },
    close: () => Promise.resolve(),
  };
}
