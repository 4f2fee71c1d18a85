/**
 * A process of its own that runs a step in a transaction, says when the step has written its row, and
 * then does nothing more: whoever reads that kills it.
 *
 * @module
 */

import type { Connection } from "mysql2/promise";
import { mysqlStore } from "../../drivers/mysql/mod.ts";
import { type AnyDefinition, createEngine, workflow } from "../../mod.ts";

/** The workflow that both processes know; `afterwards` is called between the write and the commit. */
export function payment(afterwards: () => Promise<void>): AnyDefinition {
  return workflow({
    name: "payment",
    steps: [
      {
        name: "book",
        transaction: true,
        run: async ({ tx, execution }) => {
          await (tx as Connection).query("INSERT INTO bookings (execution_id) VALUES (?)", [
            execution.id,
          ]);
          await afterwards();
        },
      },
      { name: "thank", run: () => {} },
    ],
  });
}

if (import.meta.main) {
  const definition = payment(() => {
    console.log("written");
    return new Promise(() => {});
  });
  const store = mysqlStore(Deno.args[0] as string);
  const engine = createEngine({ store, workflows: [definition], leaseMs: 600, pollMs: 20 });
  engine.work();
  // Nothing else keeps the process alive while the body waits for its end.
  setInterval(() => {}, 1_000);
}
