/** A backup whose first step always throws. */

import { type Policy, workflow, type WorkflowDefinition } from "../../mod.ts";

/** There is no network. */
export class Offline extends Error {}

/** A backup whose first step always throws this error. */
export function backup(
  error: unknown,
  onException: Policy | readonly Policy[] | "pause",
): WorkflowDefinition {
  return workflow({
    name: "backup",
    onException,
    steps: [
      {
        name: "upload",
        run: () => {
          throw error;
        },
      },
      { name: "verify", wait: "1 day", run: () => {} },
    ],
  });
}
