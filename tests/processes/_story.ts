/** The workflow that several processes work on together, for the test and for the workers. */

import { type StepOptions, workflow, type WorkflowDefinition } from "../../mod.ts";
import type { QueueName } from "../../bench/queues.ts";

export const STEPS = ["reserve", "charge", "pack", "ship", "thank"] as const;
export const LEASE_MS = 1_000;

/** The queue that all processes use. */
export interface QueueAddress {
  readonly name: QueueName;
  /** Where it is. */
  readonly address: string;
  /** How long a job may be late before it counts as lost. */
  readonly lostMs: number;
}

/**
 * An order of five steps; `visit` hears of every body that runs. With a wait every step goes through
 * the queue; without, a worker goes on by itself.
 */
export function order(
  visit: (line: string) => void | Promise<void>,
  { waitMs = 0 }: { readonly waitMs?: number } = {},
): WorkflowDefinition {
  return workflow({
    name: "order",
    steps: STEPS.map((name): StepOptions<null> => ({
      name,
      wait: waitMs,
      run: ({ workflow, execution }) => visit(`${workflow.id} ${name} ${execution.id}`),
    })),
  });
}
