/** Opens a queue over somebody else's engine in PostgreSQL, for benchmarks, demos and tests. */

import type { QueueDriver } from "../mod.ts";

/** The name of such a queue. */
export type PostgresQueueName = "graphile-worker" | "pg-boss";

/** The server that each queue lives on: that of the store. */
export const POSTGRES_QUEUES: Readonly<Record<PostgresQueueName, "store">> = {
  "graphile-worker": "store",
  "pg-boss": "store",
};

/** Opens a queue in the store's database. */
export async function openPostgresQueue(
  name: PostgresQueueName,
  address: string,
): Promise<QueueDriver> {
  switch (name) {
    case "graphile-worker":
      return (await import("../drivers/queues/graphile_worker.ts")).graphileWorkerQueue(address);
    case "pg-boss":
      return (await import("../drivers/queues/pg_boss.ts")).pgBossQueue(address);
  }
}
