/** Opens a queue by its name, for benchmarks, demos and tests that run on each of them. */

import type { QueueDriver } from "../mod.ts";

/** The name of a queue. */
export type QueueName =
  | "polling"
  | "postgres"
  | "graphile-worker"
  | "pg-boss"
  | "bullmq"
  | "nats";

/** The server that each queue lives on: that of the store, or one of its own. */
export const QUEUES: Readonly<Record<QueueName, "store" | "redis" | "nats">> = {
  polling: "store",
  postgres: "store",
  "graphile-worker": "store",
  "pg-boss": "store",
  bullmq: "redis",
  nats: "nats",
};

/** What distinguishes one queue on a server from another. */
export interface QueueOptions {
  /** What its keys, or its stream, are called; default: as in earnest. */
  readonly scope?: string | undefined;
  /** How long a job is kept from others while it is handed over; default: the driver's. */
  readonly holdMs?: number | undefined;
}

/** Whether a text is the name of a queue. */
export function isQueueName(name: string): name is QueueName {
  return Object.hasOwn(QUEUES, name);
}

/**
 * Opens a queue at the address of its server: of the store's database, of Redis or of NATS.
 * Undefined is the engine's own choice, which is polling.
 */
export async function openQueue(
  name: QueueName,
  address: string,
  { scope, holdMs }: QueueOptions = {},
): Promise<QueueDriver | undefined> {
  const hold = holdMs === undefined ? {} : { holdMs };
  switch (name) {
    case "polling":
      return undefined;
    case "postgres": {
      const { postgresQueue } = await import("../drivers/queues/postgres.ts");
      return postgresQueue(address);
    }
    case "graphile-worker": {
      const { graphileWorkerQueue } = await import("../drivers/queues/graphile_worker.ts");
      return graphileWorkerQueue(address);
    }
    case "pg-boss": {
      const { pgBossQueue } = await import("../drivers/queues/pg_boss.ts");
      return pgBossQueue(address);
    }
    case "bullmq": {
      const { bullmqQueue } = await import("../drivers/queues/bullmq.ts");
      return bullmqQueue(address, { ...hold, ...(scope === undefined ? {} : { prefix: scope }) });
    }
    case "nats": {
      const { natsQueue } = await import("../drivers/queues/nats.ts");
      return natsQueue(address, { ...hold, ...(scope === undefined ? {} : { stream: scope }) });
    }
  }
}

/** Removes what a queue of that scope has left on its server. */
export async function dropQueue(name: QueueName, address: string, scope: string): Promise<void> {
  if (name === "bullmq") {
    const { Redis } = await import("ioredis");
    const redis = new Redis(address);
    const keys = await redis.keys(`${scope}:*`);
    if (keys.length > 0) await redis.del(...keys);
    await redis.quit();
  } else if (name === "nats") {
    const { jetstreamManager } = await import("@nats-io/jetstream");
    const { connect } = await import("@nats-io/transport-node");
    const connection = await connect({ servers: new URL(address).host });
    const { streams } = await jetstreamManager(connection);
    // One that nobody has used is not there.
    await streams.delete(scope).catch(() => {});
    await connection.close();
  }
}
