/**
 * The workflows of a small shop: what the demo of the dashboard shows.
 *
 * Their bodies take a little time and fail now and then, like those of a real shop on a busy day.
 */

import { backoff, hero, policy, workflow, type WorkflowDefinition } from "../../mod.ts";

class GatewayTimeout extends Error {}
class CardDeclined extends Error {}
class AddressNotFound extends Error {}

/** An order of the shop. */
interface Order {
  readonly id: string;
}

const orders = hero("Order", {
  load: (id): Order => ({ id }),
  idOf: (order: Order) => order.id,
});
const customers = hero("Customer", {
  load: (id): Order => ({ id }),
  idOf: (customer: Order) => customer.id,
});

/** How many rows the supplier's catalogue has. */
export const CATALOGUE_ROWS = 240_000;

/** Takes some time, more or less; a worker that stops does not wait for it. */
function takes(ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms * (0.4 + Math.random() * 1.2));
  signal?.addEventListener("abort", () => {
    clearTimeout(timer);
    resolve();
  }, { once: true });
  return promise;
}

function chance(share: number): boolean {
  return Math.random() < share;
}

/** From the click on "buy" to the question how it was. */
export const orderFulfilment: WorkflowDefinition = workflow({
  name: "order_fulfilment",
  hero: orders,
  onException: [
    policy("reattempt", {
      matching: GatewayTimeout,
      wait: backoff.exponential({ first: "2 seconds", max: "1 minute" }),
      maxReattempts: 5,
    }),
    policy("cancel", { matching: CardDeclined }),
  ],
  steps: [
    { name: "reserve_stock", transaction: true, run: () => takes(60) },
    {
      name: "charge_card",
      run: async ({ hero, signal }) => {
        await takes(900, signal);
        if (chance(0.12)) throw new GatewayTimeout(`No answer within 2000 ms for order ${hero.id}`);
        if (chance(0.03)) throw new CardDeclined(`Card of order ${hero.id} was declined`);
      },
    },
    {
      name: "book_parcel",
      run: async ({ hero, signal }) => {
        await takes(700, signal);
        if (chance(0.03)) throw new AddressNotFound(`The carrier does not know "Hill ${hero.id}"`);
      },
    },
    { name: "await_delivery", waitFor: "delivered", timeout: "10 days", run: () => takes(50) },
    { name: "ask_for_review", wait: "3 days", skipIf: () => false, run: () => takes(300) },
  ],
});

/** The first days of a customer. */
export const welcome: WorkflowDefinition = workflow({
  name: "welcome",
  hero: customers,
  steps: [
    { name: "send_greeting", run: ({ signal }) => takes(250, signal) },
    { name: "await_confirmation", waitFor: "confirmed", timeout: "2 days", run: () => takes(40) },
    { name: "send_voucher", wait: "1 hour", run: ({ signal }) => takes(250, signal) },
    { name: "remind", wait: "7 days", run: ({ signal }) => takes(250, signal) },
  ],
});

/** Money goes back only when somebody has agreed. */
export const refund: WorkflowDefinition = workflow({
  name: "refund",
  hero: orders,
  steps: [
    { name: "check_request", run: ({ signal }) => takes(200, signal) },
    { name: "await_approval", waitFor: "approved", timeout: "3 days", run: () => takes(30) },
    { name: "pay_back", onException: "reattempt", run: ({ signal }) => takes(800, signal) },
    { name: "send_receipt", run: ({ signal }) => takes(150, signal) },
  ],
});

/** The supplier's catalogue, a quarter of a million rows, in chunks. */
export const catalogueImport: WorkflowDefinition = workflow({
  name: "catalogue_import",
  steps: [
    { name: "download", run: () => takes(3_000) },
    {
      name: "import_rows",
      resumable: true,
      maxRuntime: "90 seconds",
      run: async ({ iter, signal }) => {
        const from = typeof iter.cursor === "number" ? iter.cursor : 0;
        const rows = Array.from({ length: CATALOGUE_ROWS }, (_, row) => row);
        await iter.over(rows, async (row) => {
          if (row % 40 === 0) await takes(120, signal);
          iter.progress(row + 1, CATALOGUE_ROWS, row === from ? "starting" : "upserting products");
        }, { checkpointEvery: { ms: 400 } });
      },
    },
    { name: "rebuild_search", run: () => takes(4_000) },
  ],
});

/** What the law says about a customer who leaves. */
export const erasure: WorkflowDefinition = workflow({
  name: "erasure",
  hero: customers,
  steps: [
    { name: "export_data", run: ({ signal }) => takes(600, signal) },
    { name: "delete_account", wait: "30 days", transaction: true, run: () => takes(100) },
    { name: "confirm", run: ({ signal }) => takes(200, signal) },
  ],
});

/** All of them. */
export const SHOP: readonly WorkflowDefinition[] = [
  orderFulfilment,
  welcome,
  refund,
  catalogueImport,
  erasure,
];
