/**
 * The workflow of the engine's tests, and a process that works on it until it is killed:
 * `node _worker.mjs <kind> <address>` prints the step that it is in and never ends it.
 */

import { argv, exit, stdin } from "node:process";
import { createEngine, workflow } from "@pawl/pawl";
import { openStore } from "./_stores.mjs";

/** A lease that a test can wait for. */
export const LEASE_MS = 500;

/**
 * An order that is charged and then shipped item by item.
 *
 * @param {{ charge(): unknown, ship(item: string): unknown }} shop
 */
export function orderOf({ charge, ship }) {
  return workflow({
    name: "order",
    steps: [
      { name: "charge", run: charge },
      {
        name: "ship",
        resumable: true,
        run: ({ iter }) => iter.over(["book", "lamp", "chair"], async (item) => await ship(item)),
      },
    ],
  });
}

const [, script = "", kind, address] = argv;
if (script.endsWith("_worker.mjs")) {
  const order = orderOf({
    charge: () => {},
    // A body that is never done, so that the process can only be killed in the middle of it.
    ship: (item) =>
      item === "book" ? undefined : new Promise(() => console.log(`shipping ${item}`)),
  });
  const engine = createEngine({
    store: await openStore(kind, address),
    workflows: [order],
    leaseMs: LEASE_MS,
    pollMs: 20,
  });
  engine.work({ concurrency: 1 });
  // Whoever started it holds the other end; when that process is gone, so is this one.
  stdin.resume().on("end", () => exit(1));
}
