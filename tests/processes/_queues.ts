/** The queue that processes share. */

import type { EngineOptions } from "../../mod.ts";
import { openPostgresQueue, type PostgresQueueName } from "../../bench/queues_postgres.ts";

/** The queue that all processes use. */
export interface QueueAddress {
  readonly name: PostgresQueueName;
  /** Where it is. */
  readonly address: string;
  /** How long a job may be late before it counts as lost. */
  readonly lostMs: number;
}

/** What an engine is told of its queue; without one it polls. */
export async function queueOptions(
  queue: QueueAddress | undefined,
): Promise<Pick<EngineOptions, "queue" | "housekeeping">> {
  if (queue === undefined) return {};
  return {
    queue: await openPostgresQueue(queue.name, queue.address),
    housekeeping: { stuckScheduled: queue.lostMs },
  };
}
