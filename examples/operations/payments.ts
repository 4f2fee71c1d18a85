/**
 * The workflows of a small shop, for the guide to operations (`docs/guide/operations.md`).
 *
 * The payment gateway is a file: while `gateway.down` lies in the working folder, it does not answer.
 *
 * @module
 */

import { existsSync } from "node:fs";
import { hero, workflow, type WorkflowDefinition } from "@pawl/pawl";

class GatewayTimeout extends Error {}

const orders = hero("Order", { load: (id) => ({ id }) });

function chargeCard(orderId: string): void {
  if (existsSync("gateway.down")) {
    throw new GatewayTimeout(`No answer for order ${orderId} within 30 s`);
  }
}

const pace = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** From the order to the parcels; it pauses when the card cannot be charged. */
export const payment: WorkflowDefinition = workflow({
  name: "payment",
  hero: orders,
  steps: [
    { name: "reserve", run: () => pace(20) },
    { name: "charge", run: ({ hero }) => chargeCard(hero.id) },
    { name: "await_approval", waitFor: "approved", timeout: "3 days", run: () => {} },
    {
      name: "pack",
      resumable: true,
      maxIterations: 4,
      async run({ iter }) {
        await iter.over(["books", "lamp", "chair", "table", "rug", "vase"], async (_, index) => {
          await pace(5);
          iter.progress(index + 1, 6);
        });
      },
    },
    { name: "thank", wait: "2 days", run: () => {} },
  ],
});
