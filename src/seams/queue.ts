/**
 * The seam to a job queue.
 *
 * A queue carries hints: which execution, and when. It may deliver a job twice, early, late or
 * never; the claim on the row sorts that out. So a driver needs no exactly-once promise, only an
 * honest word on how its `enqueue` relates to the store's commit.
 *
 * @module
 */

import type { Job } from "../state/records.ts";
import type { Clock } from "./clock.ts";

/**
 * How `enqueue` relates to the commit of the rows a job speaks of.
 *
 * - `none`: the executions table is the queue; `enqueue` only wakes whoever polls it.
 * - `with-store`: the queue lives in the store's database and enqueues in the same transaction.
 * - `after-store`: the queue lives elsewhere; it is told after the commit, and a job lost in
 *   between is found by the sweep.
 */
export type QueueCommit = "none" | "with-store" | "after-store";

/** What a queue may use while it listens. */
export interface ListenOptions {
  /** Aborted when the worker stops. */
  readonly signal: AbortSignal;
  /** The engine's clock: the only one a driver may wait on. */
  readonly clock: Clock;
  /** How often a polling driver looks. */
  readonly pollMs: number;
  /** The queues the worker serves; undefined: all. */
  readonly queues?: readonly string[] | undefined;
  /**
   * How many jobs the worker runs at a time. A driver that takes several together should not take
   * more: what waits in one process could run in another.
   */
  readonly concurrency?: number | undefined;
  /**
   * Hears that nothing can be delivered for now, and why, from a driver that goes on trying: once
   * for each such time, because it is logged.
   */
  readonly onTrouble?: ((error: Error) => void) | undefined;
}

/**
 * Takes delivered jobs; an empty list means "look at the table". Resolves once they are taken over
 * and never rejects, save for an `inProcess` queue: there it resolves once they have run, and
 * rejects with what a body threw.
 */
export type JobHandler = (jobs: readonly Job[]) => Promise<void>;

/** A job queue, as far as Pawl needs one. */
export interface QueueDriver<Tx = unknown> {
  /** The driver's name, for messages. */
  readonly name: string;
  /** How `enqueue` relates to the store's commit. */
  readonly commit: QueueCommit;
  /** The longest delay the queue takes; longer waits are cut and enqueued again on early delivery. */
  readonly maxDelayMs?: number;
  /** True when the queue runs jobs in the process that enqueues them: the engine needs no worker. */
  readonly inProcess?: boolean;
  /**
   * Whether this process is about to stop, in the words of the platform the queue runs on: true, or
   * a reason. Asked at every checkpoint of a resumable step, so it must be quick.
   */
  shouldStop?(): boolean | string;
  /**
   * Hands jobs over. With `tx`, inside that transaction of the store's database. May answer with
   * the queue's own ids, in the order of the jobs; they are stored for debugging.
   */
  enqueue(jobs: readonly Job[], options?: { tx?: Tx }): Promise<void | readonly string[]>;
  /** Delivers jobs to the handler until the signal is aborted; resolves when nothing is under way. */
  listen(handler: JobHandler, options: ListenOptions): Promise<void>;
  /** Closes what the driver opened. */
  close(): Promise<void>;
}
