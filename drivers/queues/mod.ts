/**
 * The queues that need no server of their own.
 *
 * @example A script: a start runs what is due before it resolves
 * ```ts
 * import { createEngine, workflow } from "@pawl/pawl";
 * import { memoryStore } from "@pawl/pawl/memory";
 * import { inlineQueue } from "@pawl/pawl/queues";
 *
 * const greeting = workflow({ name: "greeting", steps: [{ run: () => console.log("hello") }] });
 * const engine = createEngine({
 *   store: memoryStore(),
 *   queue: inlineQueue(),
 *   workflows: [greeting],
 * });
 * await engine.start(greeting);
 * await engine.close();
 * ```
 *
 * @module
 */

export { type InlineQueue, inlineQueue, type InlineQueueOptions } from "./inline.ts";
export { pollingQueue, type PollingQueueOptions } from "./polling.ts";
export { type PoolLike, postgresQueue, type PostgresQueueOptions } from "./postgres.ts";
export type { JobHandler, ListenOptions, QueueCommit, QueueDriver } from "../../src/seams/queue.ts";
export type { Clock } from "../../src/seams/clock.ts";
export type { Job } from "../../src/state/records.ts";
