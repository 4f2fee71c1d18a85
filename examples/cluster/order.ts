/** The workflow that several processes work on together: an order of five steps. */

import { type StepOptions, workflow, type WorkflowDefinition } from "../../mod.ts";

export const STEPS = ["reserve", "charge", "pack", "ship", "thank"] as const;

/** What makes the definition of one process. */
export interface OrderOptions {
  /** Hears of every body that runs, and may take its time. */
  visit(line: string): void | Promise<void>;
  /** How long each step waits. With a wait, steps go through the queue; without, a worker goes on. */
  readonly waitMs: number;
}

/** An order; a line of `visit` names the workflow, the step and the execution. */
export function order({ visit, waitMs }: OrderOptions): WorkflowDefinition {
  return workflow({
    name: "order",
    steps: STEPS.map((name): StepOptions<null> => ({
      name,
      wait: waitMs,
      run: ({ workflow, execution }) => visit(`${workflow.id} ${name} ${execution.id}`),
    })),
  });
}
