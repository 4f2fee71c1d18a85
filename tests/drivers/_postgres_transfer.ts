/** A transfer of money whose steps commit together with what they write. */

// @ts-types="@types/pg"
import type { ClientBase } from "pg";
import { workflow, type WorkflowDefinition } from "../../mod.ts";

/** Makes the definition; `written` is called after the second step's write, before its commit. */
export function transfer(written: () => Promise<void>): WorkflowDefinition {
  return workflow({
    name: "transfer",
    steps: [
      { name: "take", transaction: true, run: ({ tx }) => book(tx, "take") },
      {
        name: "give",
        transaction: true,
        async run({ tx }) {
          await book(tx, "give");
          await written();
        },
      },
      { name: "tell", run: () => {} },
    ],
  });
}

async function book(tx: unknown, what: string): Promise<void> {
  await (tx as ClientBase).query("INSERT INTO bookings (what) VALUES ($1)", [what]);
}
