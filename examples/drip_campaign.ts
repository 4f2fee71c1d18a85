/**
 * A drip campaign that wins users back with growing offers, and closes the account in the end.
 *
 * `deno run -A examples/drip_campaign.ts`
 *
 * Shows a condition that looks at the workflow's own row: whoever bought something since the
 * campaign began is out of it. Shows `skip` from outside, too: support grants Cleo the last offer
 * ahead of its time.
 *
 * @module
 */

import { hero, workflow } from "@pawl/pawl";
import { now, recount, say, stage } from "./_story.ts";

interface Customer {
  readonly id: string;
  readonly name: string;
  readonly purchases: Date[];
  closed: boolean;
}

const table = new Map<string, Customer>();
const customers = hero("Customer", {
  load: (id) => table.get(id),
  idOf: (one: Customer) => one.id,
});

const offer = (customer: Customer, what: string): void => say(`offer to ${customer.name}: ${what}`);

const reengagement = workflow({
  name: "reengagement",
  hero: customers,
  cancelIf: ({ hero, workflow }) => hero.purchases.some((at) => at > workflow.createdAt),
  steps: [
    { name: "bonus", run: ({ hero }) => offer(hero, "100 bonus points") },
    { name: "discount", wait: "14 days", run: ({ hero }) => offer(hero, "10 % off") },
    { name: "double_discount", wait: "7 days", run: ({ hero }) => offer(hero, "20 % off") },
    {
      name: "close_account",
      wait: "3 days",
      run({ hero }) {
        hero.closed = true;
        say(`the account of ${hero.name} is closed`);
      },
    },
  ],
});

async function main(): Promise<void> {
  await using t = await stage({ workflows: [reengagement] });
  const customer = (id: string, name: string): Customer => {
    table.set(id, { id, name, purchases: [], closed: false });
    return table.get(id) as Customer;
  };
  const [ali, ben, cleo] = [customer("1", "Ali"), customer("2", "Ben"), customer("3", "Cleo")];
  const started = await t.engine.startMany(
    reengagement,
    [ali, ben, cleo].map((hero) => ({ hero })),
  );
  const runs = started.flatMap((one) => one.kind === "started" ? [one.run] : []);

  await t.clock.tick("2 days");
  say("support skips the 10 % for Cleo, so that the next offer is due a week from now");
  await runs[2]?.skip();
  await t.clock.tick("14 days");
  say("Ben buys a coat");
  ben.purchases.push(now());
  await t.clock.tick("14 days");

  for (const run of runs) await recount(run);
}

if (import.meta.main) await main();

/* It prints:

day 0 09:00:00 | offer to Ali: 100 bonus points
day 0 09:00:00 | offer to Ben: 100 bonus points
day 0 09:00:00 | offer to Cleo: 100 bonus points
day 2 09:00:00 | support skips the 10 % for Cleo, so that the next offer is due a week from now
day 9 09:00:00 | offer to Cleo: 20 % off
day 12 09:00:00 | the account of Cleo is closed
day 14 09:00:00 | offer to Ali: 10 % off
day 14 09:00:00 | offer to Ben: 10 % off
day 16 09:00:00 | Ben buys a coat
day 21 09:00:00 | offer to Ali: 20 % off
day 24 09:00:00 | the account of Ali is closed

reengagement 1 is finished:
  bonus: completed
  discount: completed
  double_discount: completed
  close_account: completed

reengagement 2 is canceled:
  bonus: completed
  discount: completed
  double_discount: canceled by condition

reengagement 3 is finished:
  bonus: completed
  discount: skipped by operator
  double_discount: completed
  close_account: completed
*/
