/**
 * What queues over other people's engines in PostgreSQL share: connections of their own, how a job
 * travels as JSON, and what is done about the server's clock.
 *
 * Those engines look at the clock of the server to see what is due, while everything in Pawl follows
 * the engine's clock. A job that the server delivers too early, because its clock is ahead, is put
 * back by the difference, counted from the server's own now; it would otherwise come again at once,
 * and again, until its time has come. A server whose clock is behind delivers late, by as much.
 *
 * @module
 */

import { createHash } from "node:crypto";
// @ts-types="@types/pg"
import pg from "pg";
import { InvalidInputError, StoreError } from "../../src/errors.ts";
import { type Clock, wait } from "../../src/seams/clock.ts";
import type { Job } from "../../src/state/records.ts";
import { codeOf, isTransient } from "../postgres/errors.ts";
import { isPool, settingsOf } from "../postgres/pool.ts";
import type { PoolLike } from "./postgres.ts";

/** The one member of a client of `pg` in a transaction that is needed of it. */
export interface TransactionLike {
  /** Runs a statement in the transaction. */
  query(statement: pg.QueryConfig): Promise<{ rows: unknown[] }>;
}

const names = new Map<string, string>();
/** More texts than there are queues in most systems; what comes after them is not prepared. */
const MAX_NAMES = 100;

/**
 * A statement that is prepared once per connection. For the insert of 20 jobs into pg-boss that is
 * 1.1 ms instead of 2.5 ms, into Graphile Worker 1.0 ms instead of 1.3 ms. Only inserts: the plan of
 * a prepared statement that looks for rows would be the one for the empty table that it met first.
 */
export function prepared(text: string, values: unknown[]): pg.QueryConfig {
  let name = names.get(text);
  if (name === undefined && names.size < MAX_NAMES) {
    name = `pawl_${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
    names.set(text, name);
  }
  return { text, values, ...(name === undefined ? {} : { name }) };
}

const CONNECT_MS = 10_000;
/** How long a connection that nobody needs is kept. */
const IDLE_MS = 10_000;

/** Connections of one's own. */
export interface OwnPool {
  /** A small pool. */
  readonly pool: pg.Pool;
  /** A client beside it, to be connected and ended by whoever asked for it. */
  extraClient(): pg.Client;
}

/**
 * Makes a small pool of one's own, with the settings of a URL or of the application's pool. It is
 * never the application's pool itself: an engine holds one connection for as long as it listens,
 * and looks things up while transactions of the application wait for it. If those had taken all
 * connections of the pool, both would wait for ever.
 */
export function ownPool(source: string | URL | PoolLike, maxConnections: number): OwnPool {
  if (!Number.isSafeInteger(maxConnections) || maxConnections < 2) {
    throw new InvalidInputError(
      `Cannot use ${String(maxConnections)} as maxConnections: use a whole number of at least 2`,
    );
  }
  if (typeof source !== "string" && !(source instanceof URL) && !isPool(source)) {
    throw new InvalidInputError(
      "Cannot open the queue: pass a URL such as postgres://user@host:5432/name, or a pg.Pool",
    );
  }
  const settings = {
    connectionTimeoutMillis: CONNECT_MS,
    ...settingsOf(source as string | URL | pg.Pool),
    idleTimeoutMillis: IDLE_MS,
    min: 0,
    max: maxConnections,
  };
  const pool = new pg.Pool({ ...settings });
  // A connection can die at any time; the statement that needs it next says so, or nobody cares.
  pool.on("error", ignore);
  pool.on("connect", (client) => client.on("error", ignore));
  return { pool, extraClient: () => new pg.Client({ ...settings }) };
}

function ignore(): void {}

/** A number of options that must be a whole number of at least 1. */
export function countOf(value: number, what: string): number {
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new InvalidInputError(
    `Cannot use ${String(value)} as ${what}: use a whole number of at least 1`,
  );
}

/** A job as JSON, which every engine can carry. */
export interface JobPayload {
  /** The execution. */
  readonly executionId: string;
  /** When it is due, as an ISO text. */
  readonly runAt: string;
  /** Its queue. */
  readonly queue: string;
  /** Its priority. */
  readonly priority: number;
}

/** How a job travels. */
export function payloadOf({ executionId, runAt, queue, priority }: Job): JobPayload {
  return { executionId, runAt: runAt.toJSON(), queue, priority };
}

/** The job in what was delivered; null when it is none of ours. */
export function jobFrom(payload: unknown): Job | null {
  const { executionId, runAt, queue, priority } = (payload ?? {}) as Partial<JobPayload>;
  if (typeof executionId !== "string" || typeof runAt !== "string") return null;
  return {
    executionId,
    runAt: new Date(runAt),
    queue: String(queue),
    priority: Number(priority),
  };
}

const FIRST_INSTANT = 0;
/** The last year that everybody writes with four digits. */
const LAST_INSTANT = Date.UTC(9999, 11, 31);

/** An instant as every engine can read it; what lies further away is delivered early, some day. */
export function instantText(runAt: Date): string {
  return new Date(Math.min(Math.max(runAt.getTime(), FIRST_INSTANT), LAST_INSTANT)).toJSON();
}

/** A job that came too early, and by how much. */
export interface EarlyJob {
  /** The job. */
  readonly job: Job;
  /** How many milliseconds are left. */
  readonly earlyMs: number;
}

/** Splits what was delivered: what is due, most urgent first, and what came too early. */
export function sorted<One extends { readonly job: Job }>(
  delivered: readonly One[],
  clock: Clock,
): { readonly due: One[]; readonly early: (One & EarlyJob)[] } {
  const now = clock.now();
  const due = delivered.filter(({ job }) => job.runAt.getTime() <= now);
  const early = delivered.filter(({ job }) => job.runAt.getTime() > now);
  return {
    due: due.sort((a, b) => byUrgency(a.job, b.job)),
    early: early.map((one) => ({ ...one, earlyMs: one.job.runAt.getTime() - now })),
  };
}

function byUrgency(a: Job, b: Job): number {
  return a.priority - b.priority || a.runAt.getTime() - b.runAt.getTime();
}

/** Whether the server says that a schema, a table, a column or a function is not there. */
export function isMissing(error: unknown): boolean {
  return ["3F000", "42P01", "42703", "42883", "42704"].includes(codeOf(error));
}

/**
 * The error for callers. What may pass stays as it is, because a store that is told so runs its
 * transaction again.
 */
export function explainedFor(driver: string, error: unknown, missing: string): unknown {
  if (!(error instanceof Error) || error instanceof StoreError) return error;
  if (error instanceof InvalidInputError || isTransient(error)) return error;
  const said = error.message || codeOf(error);
  if (isMissing(error)) {
    return new StoreError(driver, `Cannot use its tables: ${said}; ${missing}`, { cause: error });
  }
  if (codeOf(error) === "42501") {
    return new StoreError(
      driver,
      `Cannot use or make its tables: ${said}; let their owner make them, and grant this user ` +
        `their use`,
      { cause: error },
    );
  }
  return new StoreError(driver, `Cannot use its tables: ${said}`, { cause: error });
}

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 10_000;

/**
 * Runs rounds until the signal is aborted. A round that resolves to true is followed by the next at
 * once; one that does not, or that fails by something that may pass, after a wait that grows. A
 * round is told when the one before it has missed its tables.
 */
export async function inRounds(
  round: (isLost: boolean) => Promise<boolean>,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  let waitMs = FIRST_WAIT_MS;
  let isLost = false;
  while (!signal.aborted) {
    let goesOn = false;
    try {
      goesOn = await round(isLost);
      isLost = false;
    } catch (error) {
      isLost = isMissing(error);
      if (!isLost && !isTransient(error)) throw error;
    }
    if (goesOn) waitMs = FIRST_WAIT_MS;
    else {
      // Half of it is random: after a restart not all processes should come back at once.
      await wait(clock, waitMs * (0.5 + Math.random() / 2), signal);
      waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
    }
  }
}
