/**
 * Announcing what was written in somebody's transaction.
 *
 * Nobody may hear of a row before it is committed. In a transaction that Pawl opened itself
 * (`engine.transaction`, or a step with `transaction: true`) jobs are kept and announced after the
 * commit. In a transaction that the caller opened the commit is invisible: the rows are due at once
 * for whoever polls or sweeps. Within `engine.enqueueInline` jobs are handed to the queue in the
 * very call, inside the open transaction: right for a queue that shares it.
 *
 * @module
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { InvalidStateError } from "../errors.ts";
import type { WorkflowEvent } from "../observe/events.ts";
import type { Job } from "../state/records.ts";
import { announce } from "./announce.ts";
import type { Core } from "./core.ts";

/** Whether this flow of control is inside `enqueueInline`; other flows are not affected. */
const inline = new AsyncLocalStorage<true>();

/** What waits for the commit of a transaction that Pawl opened. */
interface Deferred {
  readonly jobs: Job[];
  readonly events: WorkflowEvent[];
}

/** By the handle of the transaction. */
const deferred = new WeakMap<object, Deferred>();

/** The transaction of the engine that this flow of control is in, as long as it is open. */
const open = new AsyncLocalStorage<{ readonly core: Core; ended: boolean }>();

/** Whether this flow of control is inside a transaction that this engine opened. */
export function isInTransaction(core: Core): boolean {
  const transaction = open.getStore();
  return transaction !== undefined && transaction.core === core && !transaction.ended;
}

/**
 * Refuses a write that would wait for the transaction it is called in.
 *
 * @throws {InvalidStateError} When the store has one writer and `tx` was left out inside a transaction.
 */
export function refuseWithoutTx(core: Core, tx: unknown, what: string): void {
  if (tx !== undefined || core.store.exclusive !== true || !isInTransaction(core)) return;
  throw new InvalidStateError(
    `Cannot ${what} inside a transaction without it: ${core.store.name} has one writer, so this ` +
      `would wait for itself; pass { tx }`,
  );
}

/** Runs work whose jobs are handed to the queue at once, inside whatever transaction is open. */
export function enqueueInline<T>(work: () => T): T {
  return inline.run(true, work);
}

/** Runs work in a transaction of the store and announces its jobs once it is committed. */
export async function inTransaction<T>(
  core: Core,
  work: (tx: unknown) => Promise<T>,
): Promise<T> {
  const waiting: Deferred = { jobs: [], events: [] };
  const result = await core.store.transaction(async (tx) => {
    const transaction = { core, ended: false };
    if (isHandle(tx)) deferred.set(tx, waiting);
    try {
      return await open.run(transaction, () => work(tx));
    } finally {
      transaction.ended = true;
      if (isHandle(tx)) deferred.delete(tx);
    }
  });
  for (const event of waiting.events) core.events.emit("workflow", event);
  await announce(core, waiting.jobs);
  return result;
}

/** Announces jobs of a write: now, after the commit, or not at all when nobody can see the commit. */
export async function announceIn(
  core: Core,
  tx: unknown,
  jobs: readonly (Job | null)[],
): Promise<void> {
  if (tx === undefined) return await announce(core, jobs);
  if (core.queue.commit === "with-store") return;
  const real = jobs.filter((job) => job !== null);
  if (inline.getStore()) {
    if (real.length > 0) await core.queue.enqueue(real, { tx });
  } else if (isHandle(tx)) deferred.get(tx)?.jobs.push(...real);
}

/** Tells of a workflow that was started or moved: now, after the commit, or not at all. */
export function emitIn(core: Core, tx: unknown, event: WorkflowEvent): void {
  if (tx === undefined) core.events.emit("workflow", event);
  else if (isHandle(tx)) deferred.get(tx)?.events.push(event);
}

/** How long after its due time a row is looked at, by the queue's own word about lost jobs. */
export function graceMs(core: Pick<Core, "queue" | "settings">, tx?: unknown): number {
  const { commit } = core.queue;
  // Of what is written in a transaction of the caller the queue never hears: the sweep is its queue.
  const silent = commit === "after-store" && !willAnnounce(tx);
  return commit === "none" || silent ? 0 : core.settings.lostJobMs;
}

function willAnnounce(tx: unknown): boolean {
  return tx === undefined || inline.getStore() === true || (isHandle(tx) && deferred.has(tx));
}

function isHandle(tx: unknown): tx is object {
  return typeof tx === "object" && tx !== null;
}
