/**
 * Pushing contacts to a CRM that takes so many calls a minute, and sometimes fewer.
 *
 * `deno run -A examples/rate_limited_api.ts`
 *
 * Shows `iter.throttle`, which asks before every contact whether there is budget left, and
 * `suspend({ wait })` for the answer that nobody could foresee. Either way the execution ends, the
 * worker is free for others, and another execution goes on at the same contact.
 *
 * @module
 */

import { workflow } from "@pawl/pawl";
import { now, recount, say, stage } from "./_story.ts";

const CONTACTS = ["ann", "bob", "cy", "dee", "eve", "fay", "gus", "hal"];

const crm = fakeCrm();

const pushContacts = workflow({
  name: "push_contacts",
  steps: [{
    name: "push",
    resumable: true,
    async run({ iter, suspend }) {
      iter.throttle(() => crm.budget() === 0, { backoff: "1 minute" });
      await iter.over(CONTACTS, (contact) => {
        const answer = crm.push(contact);
        // The cursor has not moved yet, so this very contact is the next one.
        if (answer.status === 429) suspend({ wait: answer.retryAfterMs });
      });
    },
  }],
});

async function main(): Promise<void> {
  await using t = await stage({ workflows: [pushContacts] });
  t.engine.events.on("throttled", () => say("no budget left: on with it in a minute"));
  const run = await t.engine.start(pushContacts);
  await t.clock.tick("10 minutes");
  say(`pushed: ${crm.pushed().join(", ")}`);
  await recount(run);
}

/** Three calls a minute; once, for no reason that we know of, it wants to be left alone. */
function fakeCrm() {
  const PER_MINUTE = 3;
  const calls: { contact: string; minute: number }[] = [];
  const minuteOf = (): number => Math.floor(now().getTime() / 60_000);
  let hiccups = 1;
  return {
    budget: (): number => PER_MINUTE - calls.filter(({ minute }) => minute === minuteOf()).length,
    push(contact: string): { status: number; retryAfterMs: number } {
      if (contact === "eve" && hiccups-- > 0) {
        say("CRM: 429, come back in 20 seconds");
        return { status: 429, retryAfterMs: 20_000 };
      }
      calls.push({ contact, minute: minuteOf() });
      say(`CRM: ${contact}`);
      return { status: 200, retryAfterMs: 0 };
    },
    pushed: (): string[] => calls.map(({ contact }) => contact),
  };
}

if (import.meta.main) await main();

/* It prints:

day 0 09:00:00 | CRM: ann
day 0 09:00:00 | CRM: bob
day 0 09:00:00 | CRM: cy
day 0 09:00:00 | no budget left: on with it in a minute
day 0 09:01:00 | CRM: dee
day 0 09:01:00 | CRM: 429, come back in 20 seconds
day 0 09:01:20 | CRM: eve
day 0 09:01:20 | CRM: fay
day 0 09:01:20 | no budget left: on with it in a minute
day 0 09:02:20 | CRM: gus
day 0 09:02:20 | CRM: hal
day 0 09:10:00 | pushed: ann, bob, cy, dee, eve, fay, gus, hal

push_contacts 1 is finished:
  push: continued by interrupt
  push: continued by interrupt
  push: continued by interrupt
  push: completed
*/
