/**
 * The memory store: the reference of what a store is, and the store of tests.
 *
 * Read it to learn the contract. `operations.ts` holds the writes, each a synchronous function that
 * looks rows up, hands them to the pure functions of `src/state` and puts what they answer;
 * `transactions.ts` lets one transaction run after the other, each on a layer of its own
 * (`layer.ts`); `database.ts` holds what is committed, with its indexes.
 *
 * Everything is lost when the process ends. Several stores may share one database, as several
 * processes would: `memoryStore({ database })`.
 *
 * @example A program without a database
 * ```ts
 * import { createEngine, workflow } from "@pawl/pawl";
 * import { memoryStore } from "@pawl/pawl/memory";
 *
 * const greeting = workflow({ name: "greeting", steps: [{ run: () => console.log("hello") }] });
 * const engine = createEngine({ store: memoryStore(), workflows: [greeting] });
 * await engine.start(greeting);
 * await engine.work().idle();
 * await engine.close();
 * ```
 *
 * @module
 */

import { isDate } from "node:util/types";
import { StoreError } from "../../src/errors.ts";
import type { CursorCount, Failure, StoreDriver, WriteOptions } from "../../src/seams/store.ts";
import type { ExecutionRow, Job, WorkflowRow } from "../../src/state/records.ts";
import { createDatabase, type Database } from "./database.ts";
import { activityOf } from "./ends.ts";
import type { Ground, Layer } from "./layer.ts";
import {
  checkpointAll,
  claimAll,
  claimDue,
  commandOne,
  createAll,
  type Desk,
  finishAll,
  signalOne,
} from "./operations.ts";
import { createTransactions, type MemoryTx, type Transactions } from "./transactions.ts";

export type { MemoryTx } from "./transactions.ts";
export type { StoreDriver } from "../../src/seams/store.ts";

/** The rows that memory stores share; it holds nothing that a caller could use. */
export interface MemoryDatabase {
  /** Tells it from other databases. */
  readonly kind: "memory";
}

/** What a memory store may be told. */
export interface MemoryStoreOptions {
  /** The rows to work on; default: new and empty ones. */
  readonly database?: MemoryDatabase;
}

interface Inside {
  readonly committed: Database;
  readonly transactions: Transactions;
  /** Who holds each duty, and until when. */
  readonly duties: Map<string, { readonly holder: string; readonly until: number }>;
}

const databases = new WeakMap<MemoryDatabase, Inside>();

/** Makes an empty database for several memory stores. */
export function memoryDatabase(): MemoryDatabase {
  const database: MemoryDatabase = Object.freeze({ kind: "memory" });
  const committed = createDatabase();
  const transactions = createTransactions(committed);
  databases.set(database, { committed, transactions, duties: new Map() });
  return database;
}

/** Makes a store that keeps its rows in the memory of this process. */
export function memoryStore(options: MemoryStoreOptions = {}): StoreDriver<MemoryTx> {
  const inside = databases.get(options.database ?? memoryDatabase());
  if (inside === undefined) {
    throw new StoreError("memory", "Cannot open the database: pass what memoryDatabase() returned");
  }
  return {
    name: "memory",
    exclusive: true,
    migrate: () => Promise.resolve({ applied: [], present: [], sql: "", keyType: "bigint" }),
    ...writes(inside),
    ...reads(inside),
    presence() {
      throw new StoreError(
        "memory",
        "Cannot make a presence query: this store has no SQL; use list(), or a store that has",
      );
    },
    transaction: (work) => inside.transactions.run(undefined, (_, tx) => work(tx)),
    close: () => Promise.resolve(),
  };
}

type Writes = Pick<
  StoreDriver<MemoryTx>,
  | "create"
  | "claim"
  | "claimDue"
  | "checkpoint"
  | "finish"
  | "command"
  | "signal"
  | "purge"
  | "noteJobIds"
  | "takeDuty"
>;

function writes({ committed, transactions, duties }: Inside): Writes {
  const { ids } = committed;

  /** One write in a transaction of its own, inside the caller's when there is one. */
  async function write<T>(options: WriteOptions<MemoryTx>, settle: (desk: Desk) => T): Promise<T> {
    const { tx, beforeCommit } = options;
    const now = copyOf(options.now);
    return copyOf(
      await transactions.run(tx, async (rows, own) => {
        const result = settle({ rows, ids, now });
        await beforeCommit?.(own, copyOf(jobsIn(result)));
        return result;
      }),
    );
  }

  /** A write that can join no transaction. */
  async function alone<T>(work: (rows: Layer) => T): Promise<T> {
    return copyOf(await transactions.run(undefined, work));
  }

  return {
    async create(batch, options) {
      const given = copyOf(batch);
      return await write(options, (desk) => createAll(desk, given));
    },
    async claim(executionIds, options) {
      const given = copyOf(options);
      return await alone((rows) => claimAll({ rows, ids, now: given.now }, executionIds, given));
    },
    async claimDue(options) {
      const given = copyOf(options);
      return await alone((rows) => claimDue({ rows, ids, now: given.now }, committed.live, given));
    },
    async checkpoint(batch, { now, leaseMs }) {
      const given = copyOf(batch);
      return await alone((rows) => checkpointAll({ rows, ids, now }, given, leaseMs));
    },
    async finish(batch, options) {
      const given = copyOf(batch);
      return await write(options, (desk) => finishAll(desk, given));
    },
    async command(workflowId, command, options) {
      const given = copyOf(command);
      return await write(options, (desk) => commandOne(desk, workflowId, given));
    },
    async signal(workflowId, signal, options) {
      return await write(options, (desk) => signalOne(desk, workflowId, signal));
    },
    async purge(options) {
      return await alone(() => {
        const ended = committed.ended(options);
        return { workflows: ended.length, executions: committed.remove(ended) };
      });
    },
    async noteJobIds(entries) {
      await alone((rows) => {
        for (const { executionId, jobId } of entries) {
          const execution = rows.execution(executionId);
          if (execution !== null) rows.putExecution({ ...execution, jobId });
        }
      });
    },
    takeDuty(name, { now, holder, holdMs }) {
      const held = duties.get(name);
      const free = held === undefined || held.until <= now.getTime() || held.holder === holder;
      if (free) duties.set(name, { holder, until: now.getTime() + holdMs });
      return Promise.resolve(free);
    },
  };
}

type Reads = Pick<
  StoreDriver<MemoryTx>,
  | "get"
  | "getExecution"
  | "active"
  | "list"
  | "history"
  | "signals"
  | "counts"
  | "stepCounts"
  | "cursorCounts"
  | "failures"
  | "due"
  | "activity"
>;

function reads({ committed, transactions }: Inside): Reads {
  /** A look at the rows; it never waits, because what is committed is always whole. */
  function look<T>(tx: MemoryTx | undefined, read: (rows: Ground) => T): Promise<T> {
    return new Promise((resolve) => resolve(copyOf(read(transactions.seen(tx)))));
  }

  function ongoing(name: string): Iterable<WorkflowRow> {
    const states = ["ready", "performing", "paused"] as const;
    return committed.workflows({ names: [name], states }, undefined);
  }

  return {
    get: (id, options) => look(options?.tx, (rows) => rows.dossier(id)?.workflow ?? null),
    getExecution: (id) => look(undefined, (rows) => rows.execution(id)),
    active: (workflowId) => look(undefined, (rows) => rows.dossier(workflowId)?.active ?? null),
    list: (filter, { limit, after }) =>
      look(undefined, () => take(committed.workflows(filter, after), limit)),
    history: (workflowId, { limit, afterSeq }) =>
      look(undefined, () => take(committed.history(workflowId, afterSeq ?? 0), limit)),
    signals: (workflowId) =>
      look(undefined, (rows) => [...rows.dossier(workflowId)?.signals ?? []]),
    counts: () => look(undefined, () => committed.counts()),
    stepCounts: (name) =>
      look(undefined, () => {
        const counts = new Map<string, number>();
        for (const row of ongoing(name)) {
          if (row.nextStepName === null) continue;
          counts.set(row.nextStepName, (counts.get(row.nextStepName) ?? 0) + 1);
        }
        return [...counts].map(([stepName, count]) => ({ stepName, count }));
      }),
    cursorCounts: (name) => look(undefined, (rows) => cursorCounts(rows, ongoing(name))),
    failures: ({ names }, { limit, after }) =>
      look(undefined, (rows) => {
        const paused = committed.workflows({ names, states: ["paused"] }, after);
        return take(failuresOf(rows, paused), limit);
      }),
    due: ({ before, limit }) =>
      look(undefined, (rows) => {
        const isDue = (row: ExecutionRow): boolean =>
          row.state === "scheduled" && row.waitingFor === null && row.scheduledFor < before &&
          rows.dossier(row.workflowId)?.workflow.state === "ready";
        const due = [...committed.live.all()].filter(isDue);
        const oldest = (a: ExecutionRow, b: ExecutionRow): number =>
          a.scheduledFor.getTime() - b.scheduledFor.getTime() || Number(a.id) - Number(b.id);
        return due.sort(oldest).slice(0, limit);
      }),
    activity: (options) =>
      look(undefined, () => activityOf(committed.ends, committed.live.all(), copyOf(options))),
  };
}

function* failuresOf(rows: Ground, paused: Iterable<WorkflowRow>): Generator<Failure> {
  for (const { id, name } of paused) {
    const last = rows.dossier(id)?.last;
    if (last?.state === "failed") yield { workflowName: name, execution: last };
  }
}

function cursorCounts(rows: Ground, ongoing: Iterable<WorkflowRow>): CursorCount[] {
  const counts = new Map<string, { withCursor: number; begunWithout: number }>();
  for (const { id, nextStepName } of ongoing) {
    const last = rows.dossier(id)?.last ?? null;
    if (last === null || last.stepName !== nextStepName) continue;
    const sums = counts.get(nextStepName) ?? { withCursor: 0, begunWithout: 0 };
    counts.set(nextStepName, sums);
    if (last.cursor !== null) sums.withCursor++;
    else if (last.startedAt !== null || last.attempt > 1) sums.begunWithout++;
  }
  return [...counts].map(([stepName, sums]) => ({ stepName, ...sums }));
}

function take<T>(rows: Iterable<T>, limit: number): T[] {
  const taken: T[] = [];
  for (const row of rows) {
    if (taken.length >= limit) break;
    taken.push(row);
  }
  return taken;
}

/** The jobs in the results of a write, in their order. */
function jobsIn(results: unknown): Job[] {
  const all = (Array.isArray(results) ? results : [results]) as { readonly job?: Job | null }[];
  return all.flatMap(({ job }) => job ?? []);
}

/**
 * A deep copy: what comes in and what goes out is nobody else's, just as with a database. Dates are
 * told by their inside, because a fake time replaces the global class.
 */
function copyOf<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (isDate(value)) return new Date(value.getTime()) as T;
  if (Array.isArray(value)) return value.map(copyOf) as T;
  const copy: Record<string, unknown> = {};
  for (const [key, one] of Object.entries(value)) copy[key] = copyOf(one);
  return copy as T;
}
