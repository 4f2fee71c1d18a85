/**
 * Churn prevention: one step that repeats itself, at half the time that is left, until the user
 * stays or goes.
 *
 * `deno run -A examples/churn_prevention.ts`
 *
 * Shows `reattempt({ wait })` as a loop that has an end. Each round is a row of its own, so the
 * history tells when every mail was sent.
 *
 * @module
 */

import { hero, workflow } from "@pawl/pawl";
import { now, recount, say, stage } from "./_story.ts";

interface Subscriber {
  readonly id: string;
  readonly name: string;
  lapsesAt: Date;
}

const DAY_MS = 86_400_000;
const table = new Map<string, Subscriber>();
const subscribers = hero("Subscriber", {
  load: (id) => table.get(id),
  idOf: (one: Subscriber) => one.id,
});

const churnPrevention = workflow({
  name: "churn_prevention",
  hero: subscribers,
  steps: [{
    name: "remind",
    run({ hero, cancel, reattempt }) {
      const daysLeft = Math.floor((hero.lapsesAt.getTime() - now().getTime()) / DAY_MS);
      if (daysLeft > 120) cancel();
      if (daysLeft <= 1) {
        say(`mail to ${hero.name}: Sad to see you go`);
        return;
      }
      say(`mail to ${hero.name}: ${daysLeft} days left, stay with us?`);
      reattempt({ wait: { days: Math.floor(daysLeft / 2) } });
    },
  }],
});

async function main(): Promise<void> {
  await using t = await stage({ workflows: [churnPrevention] });
  const subscribe = (id: string, name: string, days: number): Subscriber => {
    const subscriber = { id, name, lapsesAt: new Date(now().getTime() + days * DAY_MS) };
    table.set(id, subscriber);
    return subscriber;
  };
  const ann = subscribe("1", "Ann", 30);
  const bea = subscribe("2", "Bea", 40);
  const ofAnn = await t.engine.start(churnPrevention, { hero: ann });
  const ofBea = await t.engine.start(churnPrevention, { hero: bea });

  await t.clock.tick("25 days");
  say("Bea pays for another year");
  bea.lapsesAt = new Date(bea.lapsesAt.getTime() + 365 * DAY_MS);
  await t.clock.tick("20 days");

  await recount(ofAnn);
  await recount(ofBea);
}

if (import.meta.main) await main();

/* It prints:

day 0 09:00:00 | mail to Ann: 30 days left, stay with us?
day 0 09:00:00 | mail to Bea: 40 days left, stay with us?
day 15 09:00:00 | mail to Ann: 15 days left, stay with us?
day 20 09:00:00 | mail to Bea: 20 days left, stay with us?
day 22 09:00:00 | mail to Ann: 8 days left, stay with us?
day 25 09:00:00 | Bea pays for another year
day 26 09:00:00 | mail to Ann: 4 days left, stay with us?
day 28 09:00:00 | mail to Ann: 2 days left, stay with us?
day 29 09:00:00 | mail to Ann: Sad to see you go

churn_prevention 1 is finished:
  remind: reattempted by flow_control
  remind, attempt 2: reattempted by flow_control
  remind, attempt 3: reattempted by flow_control
  remind, attempt 4: reattempted by flow_control
  remind, attempt 5: reattempted by flow_control
  remind, attempt 6: completed

churn_prevention 2 is canceled:
  remind: reattempted by flow_control
  remind, attempt 2: reattempted by flow_control
  remind, attempt 3: canceled by flow_control
*/
