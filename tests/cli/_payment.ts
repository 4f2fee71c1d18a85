/** A payment whose gateway can be switched off, for the tests of the command line. */

import { hero, policy, type Run, workflow, type WorkflowDefinition } from "../../mod.ts";
import { performNextStep } from "../../src/testing/mod.ts";

export class GatewayTimeout extends Error {}

/** What is broken now. */
export const gateway = { down: false };

const orders = hero("Order", { load: (id) => ({ id }) });

/** Three plain steps, an approval and a resumable step; it pauses when the gateway is down. */
export const payment: WorkflowDefinition = workflow({
  name: "payment",
  hero: orders,
  onException: policy("pause", { report: "never" }),
  steps: [
    { name: "reserve", run: () => {} },
    {
      name: "charge",
      run({ hero }) {
        if (gateway.down) throw new GatewayTimeout(`No answer for order ${hero.id} in 30 s`);
      },
    },
    { name: "await_approval", waitFor: "approved", run: () => {} },
    {
      name: "ship",
      resumable: true,
      async run({ iter }) {
        await iter.over(["a", "b", "c"], (_, at) => iter.progress(at + 1, 3));
      },
    },
  ],
});

/** Runs the next step of a run, whatever it throws. */
export async function step(run: Run): Promise<void> {
  await performNextStep(run).catch((error) => {
    if (!(error instanceof GatewayTimeout)) throw error;
  });
  await run.reload();
}
