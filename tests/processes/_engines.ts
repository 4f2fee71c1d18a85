/** Opens the engine of a process: its store, its queue and its workflow. */

import { createEngine, type Engine, type StoreDriver, type WorkflowDefinition } from "../../mod.ts";
import { openQueue } from "../../bench/queues.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { LEASE_MS, order, type QueueAddress } from "./_story.ts";

/** Where processes work together. */
export interface Where {
  /** The store: a URL of a server, or the path of a SQLite file. */
  readonly address: string;
  /** The queue; default: polling. */
  readonly queue?: QueueAddress | undefined;
}

/** What a worker process is told. */
export interface WorkerTask extends Where {
  /** The file in which it notes the bodies that ran. */
  readonly journal: string;
  /** How long each body takes. */
  readonly paceMs: number;
}

/** With a queue of its own every step waits for so long, and so goes through it. */
const WAIT_MS = 1;

/** The workflow of a process at this place. */
export function orderAt(
  { queue }: Where,
  visit: (line: string) => void | Promise<void>,
): WorkflowDefinition {
  return order(visit, { waitMs: queue === undefined ? 0 : WAIT_MS });
}

/** Opens an engine there. */
export async function openEngine(
  { address, queue }: Where,
  definition: WorkflowDefinition,
): Promise<Engine> {
  const driver = queue && await openQueue(queue.name, queue.address);
  return createEngine({
    store: await openStore(address),
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
