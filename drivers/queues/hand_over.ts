/**
 * Handing jobs over that arrive one by one.
 *
 * A worker claims what it is handed in one statement, so jobs go together: what arrives while a
 * batch is being handed over forms the next one. A batch of one when the queue is idle, a full one
 * under load, and no timer in between.
 *
 * @module
 */

import type { JobHandler } from "../../src/seams/queue.ts";
import type { Job } from "../../src/state/records.ts";

/** Hands jobs over in batches. */
export interface HandOver {
  /** Hands a job over, together with others; resolves once it was taken over. */
  take(job: Job): Promise<void>;
  /** Resolves when nothing is being handed over. */
  idle(): Promise<void>;
}

/** Makes a hand-over to this handler. */
export function createHandOver(handler: JobHandler): HandOver {
  let waiting: Job[] = [];
  let next: Promise<void> | null = null;
  let current: Promise<void> = Promise.resolve();

  async function afterCurrent(): Promise<void> {
    await current;
    const batch = waiting;
    waiting = [];
    next = null;
    current = handler(batch);
    await current;
  }

  return {
    take(job) {
      waiting.push(job);
      return next ??= afterCurrent();
    },
    async idle() {
      while (next !== null) await next;
      await current;
    },
  };
}
