/**
 * The workflow that lives through the chaos: a plain step, a step in a transaction with the
 * application's ledger, a walk over items with a checkpoint each, and a last plain step.
 *
 * Every body writes what it does into a journal, one line per moment, so that the checker can tell
 * afterwards what really happened from what the rows say.
 */

import { workflow, type WorkflowDefinition } from "../mod.ts";
import type { JournalWriter } from "./journal.ts";

/** The steps, in order. */
export const STEP_NAMES = ["reserve", "book", "notify", "thank"] as const;
/** How many items the walk has. */
export const ITEMS = 10;

/** The times by which late bodies are judged. */
export interface Limits {
  /** How long a claim holds without a heartbeat. */
  readonly leaseMs: number;
  /** How long a body that stood still waits for the word that its lease was lost. */
  readonly chanceMs: number;
}

/** The times of the worker processes. */
export const LIMITS: Limits = { leaseMs: 1_000, chanceMs: 1_000 };

/** What a body needs of its process. */
export interface Surroundings {
  readonly journal: Pick<JournalWriter, "body">;
  /** Books a workflow in the application's ledger, inside the step's transaction. */
  book(tx: unknown, workflowId: string): Promise<void>;
  /** What a body waits for, so that faults meet it; once per plain step and once per item. */
  pace(): Promise<void>;
  /** How long a workflow waits before its second and its last step; default: not at all. */
  readonly waitMs?: number;
  /** Default: those of the worker processes. */
  readonly limits?: Limits;
}

/** What the bodies have in common of their contexts. */
interface Body {
  readonly workflow: { readonly id: string };
  readonly execution: { readonly id: string; readonly stepName: string };
  readonly signal: AbortSignal;
}

/** Makes the definition for one process. */
export function story(surroundings: Surroundings): WorkflowDefinition {
  const { journal, book, pace, waitMs = 0, limits = LIMITS } = surroundings;

  /** Says when a body began and how it ended. */
  async function told({ workflow, execution, signal }: Body, work: () => Promise<unknown>) {
    const { id: executionId, stepName } = execution;
    const line = { workflowId: workflow.id, stepName, executionId };
    const begunAt = Date.now();
    journal.body({ what: "begin", ...line });
    try {
      await work();
    } catch (error) {
      journal.body({ what: "left", ...line });
      throw error;
    }
    // It may have stood still: whoever took its lease for ended tells it, if it gives them a chance.
    if (Date.now() - begunAt > limits.leaseMs) await abortedWithin(signal, limits.chanceMs);
    journal.body({ what: signal.aborted ? "aborted" : "end", ...line });
  }

  return workflow({
    name: "chaos",
    onException: "reattempt",
    steps: [
      { name: "reserve", run: (context) => told(context, pace) },
      {
        name: "book",
        transaction: true,
        wait: waitMs,
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
                const ids = { workflowId: workflow.id, executionId: execution.id };
                journal.body({ what: "item", stepName: "notify", ...ids, item });
              }),
          ),
      },
      { name: "thank", wait: waitMs, run: (context) => told(context, pace) },
    ],
  });
}

async function abortedWithin(signal: AbortSignal, ms: number): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}
