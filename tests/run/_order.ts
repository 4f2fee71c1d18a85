/**
 * An order whose bodies are counted.
 */

import { type Run, workflow, type WorkflowDefinition } from "../../mod.ts";

/** An order whose first step counts how often it ran. */
export function order(ran: string[], gate?: Promise<void>): WorkflowDefinition {
  return workflow({
    name: "order",
    steps: [
      {
        name: "reserve",
        async run({ execution }) {
          ran.push(execution.id);
          await gate;
        },
      },
      { name: "ship", wait: "1 day", run: () => {} },
    ],
  });
}

/** The id of what is scheduled or running. */
export async function executionId(run: Run): Promise<string> {
  return (await run.currentExecution())?.id as string;
}
