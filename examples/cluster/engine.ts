/** The engine of one process: the same store and the same queue in all of them. */

import { createEngine, type Engine, type StoreDriver, type WorkflowDefinition } from "../../mod.ts";
import { openQueue, type QueueName } from "../../bench/queues.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { order } from "./order.ts";

/** Where processes work together. */
export interface Where {
  /** The store: a URL of a server, or the path of a SQLite file. */
  readonly database: string;
  /** The queue; default: polling. */
  readonly queue?: QueueAddress | undefined;
}

/** The queue that all processes use. */
export interface QueueAddress {
  /** Which one. */
  readonly name: QueueName;
  /** Where it is. */
  readonly address: string;
  /** What its keys, or its stream, are called. */
  readonly scope?: string;
  /** How long a job is kept from others while it is handed over. */
  readonly holdMs?: number;
  /** How long a job may be late before it counts as lost. */
  readonly lostMs: number;
}

/** Short, so that nobody has to wait long for a recovery; in earnest it is 30 seconds. */
export const LEASE_MS = 1_000;
/** With a queue of its own every step waits for so long, and so goes through it. */
const WAIT_MS = 1;

/** The workflow, as it is run at this place. */
export function orderAt(
  { queue }: Where,
  visit: (line: string) => void | Promise<void>,
): WorkflowDefinition {
  return order({ visit, waitMs: queue === undefined ? 0 : WAIT_MS });
}

/** Opens an engine there. */
export async function openEngine(
  { database, queue }: Where,
  definition: WorkflowDefinition,
): Promise<Engine> {
  const driver = queue && await openQueue(queue.name, queue.address, queue);
  return createEngine({
    store: await openStore(database),
    ...(driver === undefined ? {} : { queue: driver }),
    ...(queue === undefined ? {} : { housekeeping: { stuckScheduled: queue.lostMs } }),
    workflows: [definition],
    leaseMs: LEASE_MS,
    pollMs: 50,
  });
}

/** Opens a store by its address: a URL of a server, or the path of a SQLite file. */
export async function openStore(address: string): Promise<StoreDriver> {
  if (address.startsWith("postgres")) {
    const { postgresStore } = await import("../../drivers/postgres/mod.ts");
    return postgresStore(address);
  }
  if (address.startsWith("mysql")) {
    const { mysqlStore } = await import("../../drivers/mysql/mod.ts");
    return mysqlStore(address);
  }
  return sqliteStore(address);
}
