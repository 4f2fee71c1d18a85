/**
 * What the cases about `claimDue` share.
 *
 * @module
 */

import type { ClaimDueOptions, StoreDriver } from "../../seams/store.ts";
import type { NewExecution } from "../../state/records.ts";
import { dueOptions, expectKind, newExecution, newWorkflow, T0 } from "./_builders.ts";

/** Starts a workflow for each first execution, in this order; the step's name tells them apart. */
export async function schedule(
  store: StoreDriver,
  firsts: Readonly<Record<string, Partial<NewExecution>>>,
): Promise<void> {
  const batch = Object.entries(firsts).map(([stepName, over]) =>
    newWorkflow({ heroId: stepName, first: newExecution({ stepName, ...over }) })
  );
  for (const one of await store.create(batch, { now: T0 })) expectKind(one, "created");
}

/** The names of the steps that a look at the table gives. */
export async function look(
  store: StoreDriver,
  over: Partial<ClaimDueOptions> = {},
): Promise<string[]> {
  return (await store.claimDue(dueOptions(over))).map((one) => one.execution.stepName);
}
