/**
 * Delivering a webhook: at once, then every 30 seconds, then every 5 minutes, then every hour, and
 * then somebody is told.
 *
 * `deno run -A examples/webhook_delivery.ts`
 *
 * Shows steps that a loop makes. A definition is a plain object, so a list of steps can be built by
 * any code; each of them is a step of its own, with a row of its own.
 *
 * @module
 */

import { hero, type StepContext, workflow } from "@pawl/pawl";
import { now, say, stage } from "./_story.ts";

interface Delivery {
  readonly id: string;
  readonly url: string;
  delivered: boolean;
}

const table = new Map<string, Delivery>();
const deliveries = hero("Delivery", {
  load: (id) => table.get(id),
  idOf: (one: Delivery) => one.id,
});

/** When the receiver is up again; it answers 500 until then. */
const upAt = new Map<string, number>();
const http = {
  post: (url: string): number => now().getTime() >= (upAt.get(url) ?? Infinity) ? 200 : 500,
};

/** Tries to deliver; ends the workflow when it worked, else the next step tries again. */
function attempt({ hero, finish }: StepContext<Delivery>): void {
  const status = http.post(hero.url);
  say(`${hero.id}: POST ${hero.url} answers ${status}`);
  if (status !== 200) return;
  hero.delivered = true;
  finish();
}

/** So many attempts, each so long after the one before. */
function attempts(count: number, wait: string) {
  return Array.from({ length: count }, (_, index) => {
    return { name: `after_${wait.replace(" ", "_")}_${index + 1}`, wait, run: attempt };
  });
}

const webhookDelivery = workflow({
  name: "webhook_delivery",
  hero: deliveries,
  steps: [
    { name: "at_once", run: attempt },
    ...attempts(4, "30 seconds"),
    ...attempts(6, "5 minutes"),
    ...attempts(3, "1 hour"),
    { name: "give_up", run: ({ hero }) => say(`${hero.id}: cannot be delivered, ops is told`) },
  ],
});

async function main(): Promise<void> {
  await using t = await stage({ workflows: [webhookDelivery] });
  upAt.set("https://slow.example", t.clock.now() + 12 * 60_000);
  for (
    const [id, url] of [["order-1", "https://slow.example"], ["order-2", "https://gone.example"]]
  ) {
    const delivery = { id: id as string, url: url as string, delivered: false };
    table.set(delivery.id, delivery);
    await t.engine.start(webhookDelivery, { hero: delivery });
  }
  await t.clock.tick("4 hours");

  const { items } = await t.engine.list({ workflow: webhookDelivery });
  for (const run of items) {
    const attempts = (await run.history()).length;
    console.log(`\n${run.heroId}: ${run.state} after ${attempts} executions`);
  }
}

if (import.meta.main) await main();

/* It prints:

day 0 09:00:00 | order-1: POST https://slow.example answers 500
day 0 09:00:00 | order-2: POST https://gone.example answers 500
day 0 09:00:30 | order-1: POST https://slow.example answers 500
day 0 09:00:30 | order-2: POST https://gone.example answers 500
day 0 09:01:00 | order-1: POST https://slow.example answers 500
day 0 09:01:00 | order-2: POST https://gone.example answers 500
day 0 09:01:30 | order-1: POST https://slow.example answers 500
day 0 09:01:30 | order-2: POST https://gone.example answers 500
day 0 09:02:00 | order-1: POST https://slow.example answers 500
day 0 09:02:00 | order-2: POST https://gone.example answers 500
day 0 09:07:00 | order-1: POST https://slow.example answers 500
day 0 09:07:00 | order-2: POST https://gone.example answers 500
day 0 09:12:00 | order-1: POST https://slow.example answers 200
day 0 09:12:00 | order-2: POST https://gone.example answers 500
day 0 09:17:00 | order-2: POST https://gone.example answers 500
day 0 09:22:00 | order-2: POST https://gone.example answers 500
day 0 09:27:00 | order-2: POST https://gone.example answers 500
day 0 09:32:00 | order-2: POST https://gone.example answers 500
day 0 10:32:00 | order-2: POST https://gone.example answers 500
day 0 11:32:00 | order-2: POST https://gone.example answers 500
day 0 12:32:00 | order-2: POST https://gone.example answers 500
day 0 12:32:00 | order-2: cannot be delivered, ops is told

order-2: finished after 15 executions

order-1: finished after 7 executions
*/
