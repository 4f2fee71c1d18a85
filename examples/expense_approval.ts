/**
 * An expense that a manager approves, refuses, or forgets.
 *
 * `deno run -A examples/expense_approval.ts`
 *
 * Shows a step that waits for a signal from outside, for as long as it takes and at no cost: there
 * is a row, and nothing else. A second click on the button is the same signal, by its key. When
 * nobody answers in time, the boss is asked, and the step waits again.
 *
 * @module
 */

import { hero, workflow } from "@pawl/pawl";
import { recount, say, stage } from "./_story.ts";

interface Expense {
  readonly id: string;
  readonly what: string;
  asked: "manager" | "boss";
}

/** What the button in the mail sends. */
interface Decision {
  readonly approved: boolean;
  readonly by: string;
}

const table = new Map<string, Expense>();
const expenses = hero("Expense", { load: (id) => table.get(id), idOf: (one: Expense) => one.id });

const expenseApproval = workflow({
  name: "expense_approval",
  hero: expenses,
  steps: [
    { name: "ask", run: ({ hero }) => say(`the ${hero.asked} is asked about "${hero.what}"`) },
    {
      name: "await_decision",
      waitFor: "decision",
      timeout: "3 days",
      onTimeout({ hero, reattempt, cancel }) {
        if (hero.asked === "boss") cancel();
        hero.asked = "boss";
        say(`nobody answered, the boss is asked about "${hero.what}"`);
        reattempt();
      },
      run({ hero, event, finish }) {
        const { approved, by }: Decision = event.payload;
        say(`${by} ${approved ? "approves" : "refuses"} "${hero.what}"`);
        if (!approved) finish();
      },
    },
    { name: "pay", run: ({ hero }) => say(`"${hero.what}" is paid`) },
  ],
});

async function main(): Promise<void> {
  await using t = await stage({ workflows: [expenseApproval] });
  const hand = (id: string, what: string) => {
    table.set(id, { id, what, asked: "manager" });
    return t.engine.start(expenseApproval, { hero: id });
  };
  const lunch = await hand("1", "lunch");
  const yacht = await hand("2", "yacht");
  const chair = await hand("3", "chair");
  await t.clock.tick("1 day");

  const yes: Decision = { approved: true, by: "Mia" };
  await lunch.signal("decision", yes, { idempotencyKey: "mail-1" });
  await lunch.signal("decision", yes, { idempotencyKey: "mail-1" });
  await yacht.signal("decision", { approved: false, by: "Mia" });
  await t.clock.tick("3 days");
  await chair.signal("decision", { approved: true, by: "the boss" });
  await t.clock.tick("1 day");

  for (const run of [lunch, yacht, chair]) await recount(run);
  console.log(`\nsignals kept for lunch: ${(await lunch.signals()).length}`);
}

if (import.meta.main) await main();

/* It prints:

day 0 09:00:00 | the manager is asked about "lunch"
day 0 09:00:00 | the manager is asked about "yacht"
day 0 09:00:00 | the manager is asked about "chair"
day 1 09:00:00 | Mia approves "lunch"
day 1 09:00:00 | "lunch" is paid
day 1 09:00:00 | Mia refuses "yacht"
day 3 09:00:00 | nobody answered, the boss is asked about "chair"
day 4 09:00:00 | the boss approves "chair"
day 4 09:00:00 | "chair" is paid

expense_approval 1 is finished:
  ask: completed
  await_decision: completed
  pay: completed

expense_approval 2 is finished:
  ask: completed
  await_decision: completed by flow_control

expense_approval 3 is finished:
  ask: completed
  await_decision: reattempted by exception
  await_decision, attempt 2: completed
  pay: completed

signals kept for lunch: 1
*/
