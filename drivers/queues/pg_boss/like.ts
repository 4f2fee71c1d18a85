/**
 * What a pg-boss of the application looks like.
 *
 * @module
 */

/**
 * What tells a `PgBoss` from a pool. Its own type is not named here, because its declarations do not
 * compile everywhere.
 */
export interface PgBossLike {
  /** Makes a queue. */
  createQueue(name: string, ...options: never[]): Promise<unknown>;
  /** Inserts jobs. */
  insert(name: string, ...options: never[]): Promise<unknown>;
  /** Fetches jobs. */
  fetch(name: string, ...options: never[]): Promise<unknown>;
  /** Deletes jobs. */
  deleteJob(name: string, ...options: never[]): Promise<unknown>;
}

/** Whether a value is a pg-boss, of whatever copy of the package. */
export function isBoss(value: unknown): value is PgBossLike {
  const { createQueue, insert, fetch, deleteJob } = (value ?? {}) as Partial<PgBossLike>;
  return [createQueue, insert, fetch, deleteJob].every((one) => typeof one === "function");
}
