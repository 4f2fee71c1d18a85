/**
 * The workflow that lives through the chaos: a plain step, a step in a transaction with the
 * application's ledger, a walk over items with a checkpoint each, and a last plain step.
 *
 * Every body writes what it does into a journal, one line per moment, so that the checker can tell
 * afterwards what really happened from what the rows say.
 */

import { workflow, type WorkflowDefinition } from "../mod.ts";

export const STEP_NAMES = ["reserve", "book", "notify", "thank"] as const;
export const ITEMS = 10;
export const LEASE_MS = 1_000;

/** What a body needs of its process. */
export interface Surroundings {
  /** Writes a line into the journal; it is on its way to the disk when this returns. */
  journal(line: readonly (string | number)[]): void;
  /** Books a workflow in the application's ledger, inside the step's transaction. */
  book(tx: unknown, workflowId: string): Promise<void>;
  /** How long a body takes, in milliseconds. */
  readonly paceMs: number;
}

/** Makes the definition for one process. */
export function story({ journal, book, paceMs }: Surroundings): WorkflowDefinition {
  const pace = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, paceMs));
  /** Says when a body began and ended; the end is said only if it is still the worker's to run. */
  const told = async (
    { workflow, execution, signal }: {
      readonly workflow: { readonly id: string };
      readonly execution: { readonly id: string; readonly stepName: string };
      readonly signal: AbortSignal;
    },
    work: () => Promise<unknown>,
  ): Promise<void> => {
    const line = [workflow.id, execution.stepName, execution.id] as const;
    journal(["begin", ...line, Date.now()]);
    await work();
    journal([signal.aborted ? "aborted" : "end", ...line, Date.now()]);
  };

  return workflow({
    name: "chaos",
    onException: "reattempt",
    steps: [
      { name: "reserve", run: (context) => told(context, pace) },
      {
        name: "book",
        transaction: true,
        run: (context) =>
          told(context, async () => {
            await book(context.tx, context.workflow.id);
            await pace();
          }),
      },
      {
        name: "notify",
        resumable: true,
        run: (context) =>
          told(
            context,
            () =>
              context.iter.over(Array.from({ length: ITEMS }, (_, item) => item), async (item) => {
                await pace();
                const { workflow, execution } = context;
                journal(["item", workflow.id, "notify", execution.id, Date.now(), item]);
              }),
          ),
      },
      { name: "thank", run: (context) => told(context, pace) },
    ],
  });
}
