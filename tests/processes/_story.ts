/** The workflow that several processes work on together, for the test and for the workers. */

import { type StepOptions, workflow, type WorkflowDefinition } from "../../mod.ts";

export const STEPS = ["reserve", "charge", "pack", "ship", "thank"] as const;
export const LEASE_MS = 1_000;

/**
 * An order of five steps; `visit` hears of every body that runs. When it is `queued`, every step
 * waits for a moment, and so goes through the queue; otherwise a worker goes on by itself.
 */
export function order(
  visit: (line: string) => void | Promise<void>,
  { queued = false }: { readonly queued?: boolean } = {},
): WorkflowDefinition {
  return workflow({
    name: "order",
    steps: STEPS.map((name): StepOptions<null> => ({
      name,
      wait: queued ? 1 : 0,
      run: ({ workflow, execution }) => visit(`${workflow.id} ${name} ${execution.id}`),
    })),
  });
}
