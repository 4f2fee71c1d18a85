/**
 * The queues that need no server of their own.
 *
 * @module
 */

export { type InlineQueue, inlineQueue, type InlineQueueOptions } from "./inline.ts";
export { pollingQueue, type PollingQueueOptions } from "./polling.ts";
export { type PoolLike, postgresQueue, type PostgresQueueOptions } from "./postgres.ts";
export type { JobHandler, ListenOptions, QueueCommit, QueueDriver } from "../../src/seams/queue.ts";
export type { Clock } from "../../src/seams/clock.ts";
export type { Job } from "../../src/state/records.ts";
