/**
 * Jobs in the tables of pg-boss.
 *
 * Each announcement is a job of its own: if it took the place of an earlier one that is being
 * delivered in this moment, it would go when that one is done. A job that was taken over is deleted,
 * because its history is in the rows of the workflow. One that somebody has held for a minute is
 * given to others by pg-boss itself, as often as it takes.
 *
 * @module
 */

import type { PgBoss } from "pg-boss";
import { StoreError } from "../../../src/errors.ts";
import type { Job } from "../../../src/state/records.ts";
import {
  type EarlyJob,
  instantText,
  jobFrom,
  payloadOf,
  prepared,
  type TransactionLike,
} from "../postgres_engines.ts";

/** The driver's name. */
export const NAME = "pg-boss";

/** A job that was fetched. */
export interface FetchedJob {
  /** The job. */
  readonly job: Job;
  /** The queue of pg-boss that it is in. */
  readonly name: string;
  /** Which attempt to deliver it this is. */
  readonly attempt: { readonly id: string; readonly retryCount: number };
}

/** Jobs in the tables of pg-boss. */
export interface BossJobs {
  /** Adds jobs, one statement for each queue, with `tx` in that transaction. */
  add(jobs: readonly Job[], tx?: TransactionLike): Promise<void>;
  /** Adds jobs again that were delivered too early. */
  putBack(jobs: readonly EarlyJob[]): Promise<void>;
  /** Makes these queues, unless they are there; whether one may be new. */
  makeQueues(queues: readonly string[]): Promise<boolean>;
  /** Reads which queues there are. */
  readQueues(): Promise<void>;
  /** The queues of pg-boss that stand for these; undefined: for all that are known. */
  names(queues: readonly string[] | undefined): readonly string[];
  /** Fetches jobs that are due, most urgent first. */
  fetch(name: string, limit: number): Promise<FetchedJob[]>;
  /** Deletes jobs that were taken over. */
  remove(jobs: readonly FetchedJob[]): Promise<void>;
}

/** How long a job may be in somebody's hands, in seconds. */
const HOLD_S = 60;
const YEAR_S = 365 * 86_400;
const QUEUE_OPTIONS = {
  policy: "standard",
  expireInSeconds: HOLD_S,
  retryLimit: 1_000_000,
  retryDelay: 0,
  // Counted from its time; what nobody has asked for in a year, the sweep will find.
  retentionSeconds: YEAR_S,
  // Only what an administrator has canceled is left for pg-boss to delete.
  deleteAfterSeconds: 86_400,
  notify: true,
} as const;

/**
 * The name of a queue in pg-boss, which allows letters, digits and four signs; everything else is
 * written as its bytes, each after a slash.
 */
export function nameOf(prefix: string, queue: string): string {
  const bytes = encodeURIComponent(queue).replace(
    /[!'()*~]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return prefix + bytes.replaceAll("%", "/");
}

/** What pg-boss runs its statements on. */
interface Database {
  executeSql(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

/** Whether pg-boss says that somebody has deleted a queue. */
export function isGone(error: unknown): boolean {
  return error instanceof Error && /^Queue .+ does not exist/.test(error.message);
}

/** Whether pg-boss says that it was not started, or was stopped. */
export function isResting(error: unknown): boolean {
  return error instanceof Error && /^Database (connection is )?not opened/.test(error.message);
}

/** The jobs of one pg-boss, in queues whose names begin with the prefix. */
export function bossJobs(
  boss: PgBoss,
  { prefix, preparedStatements }: {
    readonly prefix: string;
    readonly preparedStatements: boolean;
  },
): BossJobs {
  const known = new Set<string>();

  /** The transaction as pg-boss wants to see it. */
  function inside(tx: TransactionLike): { db: Database } {
    const executeSql: Database["executeSql"] = (text, values = []) =>
      tx.query(preparedStatements ? prepared(text, values) : { text, values });
    return { db: { executeSql } };
  }

  async function insert(
    rows: readonly { readonly job: Job; readonly startAfter: string }[],
    tx: TransactionLike | undefined,
  ): Promise<void> {
    for (const [queue, those] of Map.groupBy(rows, ({ job }) => job.queue)) {
      const name = nameOf(prefix, queue);
      const inserts = those.map(({ job, startAfter }) => ({
        data: payloadOf(job),
        startAfter,
        // To pg-boss the greatest is the most urgent, to us the smallest.
        priority: 0 - job.priority,
      }));
      const where = tx === undefined ? {} : inside(tx);
      const ids = await boss.insert(name, inserts, { returnId: true, ...where });
      if (ids?.length === those.length) continue;
      // It says nothing when the queue is not there any more.
      known.delete(name);
      throw new StoreError(
        NAME,
        `Cannot add jobs: queue "${name}" is gone, or younger than what this transaction sees; ` +
          `try again, and it is there`,
      );
    }
  }

  return {
    add: (jobs, tx) => insert(jobs.map((job) => ({ job, startAfter: instantText(job.runAt) })), tx),
    putBack: (jobs) =>
      insert(
        jobs.map(({ job, earlyMs }) => ({ job, startAfter: `${earlyMs} milliseconds` })),
        undefined,
      ),
    async makeQueues(queues) {
      const fresh = [...new Set(queues)].map((queue) => nameOf(prefix, queue))
        .filter((name) => !known.has(name));
      for (const name of fresh) {
        await boss.createQueue(name, QUEUE_OPTIONS);
        known.add(name);
      }
      return fresh.length > 0;
    },
    async readQueues() {
      const all = await boss.getQueues();
      known.clear();
      for (const { name } of all) if (name.startsWith(prefix)) known.add(name);
    },
    names: (queues) => queues?.map((queue) => nameOf(prefix, queue)) ?? [...known],
    async fetch(name, limit) {
      const fetched = (await boss.fetch(name, { batchSize: limit }))
        .map(({ id, retryCount, data }) => ({
          job: jobFrom(data),
          name,
          attempt: { id, retryCount },
        }));
      const isOurs = (one: typeof fetched[number]): one is typeof one & FetchedJob =>
        one.job !== null;
      // What somebody else has put into our queue cannot be delivered, today or later.
      const strangers = fetched.filter((one) => !isOurs(one));
      if (strangers.length > 0) await boss.deleteJob(name, strangers.map((one) => one.attempt));
      return fetched.filter(isOurs);
    },
    async remove(jobs) {
      for (const [name, those] of Map.groupBy(jobs, (one) => one.name)) {
        // Only this attempt: if it was held for too long, somebody else has it now.
        await boss.deleteJob(name, those.map(({ attempt }) => attempt));
      }
    },
  };
}
