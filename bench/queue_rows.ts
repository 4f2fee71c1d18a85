/**
 * The rows of the queues: the same workflows on Postgres, announced over each queue, against the
 * polling of the table itself, which is the default.
 */

import { pollingQueue } from "../drivers/queues/mod.ts";
import { postgresStore } from "../drivers/postgres/mod.ts";
import { freshPostgres, natsServer, postgresServer, redisServer } from "../tests/_servers.ts";
import type { Row } from "./measure.ts";
import { stepsPerSecond } from "./pawl.ts";
import { dropQueue, openQueue, type QueueName, QUEUES } from "./queues.ts";

/** What each queue is called in the table. */
const TITLES: Readonly<Record<Exclude<QueueName, "polling">, string>> = {
  postgres: "the Postgres queue",
  "graphile-worker": "Graphile Worker",
  "pg-boss": "pg-boss",
  bullmq: "BullMQ on Redis",
  nats: "NATS JetStream",
};

/** The address of the server that a queue lives on; null when it is not there. */
async function addressOf(name: QueueName, store: string): Promise<string | null> {
  if (QUEUES[name] === "store") return store;
  const server = QUEUES[name] === "redis" ? await redisServer() : await natsServer();
  return server?.url ?? null;
}

function queueRow(name: Exclude<QueueName, "polling">, id: string): Row {
  return {
    id,
    name: `Postgres: 5 no-op steps over ${TITLES[name]}, against polling`,
    unit: "steps/s",
    bar: null,
    async measure({ scale }) {
      if (await postgresServer() === null) return null;
      const workflows = Math.max(100, Math.round(4_000 * scale));
      await using over = await freshPostgres({ record: false });
      await using polled = await freshPostgres({ record: false });
      const address = await addressOf(name, over.url);
      if (address === null) return null;
      const scope = `bench_${crypto.randomUUID().replaceAll("-", "")}`;
      const queue = await openQueue(name, address, { scope }) ?? pollingQueue();
      const stores = [postgresStore(over.url), postgresStore(polled.url)] as const;
      try {
        return {
          value: await stepsPerSecond(stores[0], workflows, queue),
          baseline: await stepsPerSecond(stores[1], workflows),
        };
      } finally {
        await queue.close();
        for (const store of stores) await store.close();
        await dropQueue(name, address, scope);
      }
    },
  };
}

/** One row for each queue. */
export const QUEUE_ROWS: readonly Row[] = Object.keys(TITLES).map((name, at) =>
  queueRow(name as keyof typeof TITLES, `15${"abcde"[at]}`)
);
