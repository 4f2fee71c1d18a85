/** Opens a queue by its name, for benchmarks, demos and tests that run on each of them. */

import type { QueueDriver } from "../mod.ts";

/** The name of a queue. */
export type QueueName = "polling" | "postgres" | "bullmq" | "nats";

/** The server that each queue lives on: that of the store, or one of its own. */
export const QUEUES: Readonly<Record<QueueName, "store" | "redis" | "nats">> = {
  polling: "store",
  postgres: "store",
  bullmq: "redis",
  nats: "nats",
};

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
): Promise<QueueDriver | undefined> {
  switch (name) {
    case "polling":
      return undefined;
    case "postgres":
      return (await import("../drivers/queues/postgres.ts")).postgresQueue(address);
    case "bullmq":
      return (await import("../drivers/queues/bullmq.ts")).bullmqQueue(address);
    case "nats":
      return (await import("../drivers/queues/nats.ts")).natsQueue(address);
  }
}
