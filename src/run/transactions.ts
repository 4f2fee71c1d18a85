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
import type { Job } from "../state/records.ts";
import { announce } from "./announce.ts";
import type { Core } from "./core.ts";

/** Whether this flow of control is inside `enqueueInline`; other flows are not affected. */
const inline = new AsyncLocalStorage<true>();

/** The jobs of the transactions that Pawl opened, by their handle. */
const deferred = new WeakMap<object, Job[]>();

/** Runs work whose jobs are handed to the queue at once, inside whatever transaction is open. */
export function enqueueInline<T>(work: () => T): T {
  return inline.run(true, work);
}

/** Runs work in a transaction of the store and announces its jobs once it is committed. */
export async function inTransaction<T>(
  core: Core,
  work: (tx: unknown) => Promise<T>,
): Promise<T> {
  const jobs: Job[] = [];
  const result = await core.store.transaction(async (tx) => {
    if (isHandle(tx)) deferred.set(tx, jobs);
    try {
      return await work(tx);
    } finally {
      if (isHandle(tx)) deferred.delete(tx);
    }
  });
  await announce(core, jobs);
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
  } else if (isHandle(tx)) deferred.get(tx)?.push(...real);
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
