/** A purchase whose first step throws what a test says. */

import { type Policy, workflow, type WorkflowDefinition } from "../../mod.ts";

/** The bank says no. */
export class CardDeclined extends Error {}

/** The bank says no, for one reason among others. */
export class CardExpired extends CardDeclined {}

/** Nobody says anything. */
export class GatewayTimeout extends Error {}

/** A purchase whose first step throws what a test says. */
export function purchase(
  thrown: () => unknown,
  options: { step?: Record<string, unknown>; onException?: unknown } = {},
): WorkflowDefinition {
  const { step = {}, ...rest } = options;
  return workflow({
    name: "purchase",
    ...rest as { onException?: Policy },
    steps: [
      {
        name: "charge",
        ...step,
        run: () => {
          throw thrown();
        },
      },
      { name: "ship", wait: "1 day", run: () => {} },
    ],
  });
}
