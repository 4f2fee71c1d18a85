/**
 * A billing check for every account, every day: a short workflow each time, not one that never ends.
 *
 * `deno run -A examples/billing_check.ts`
 *
 * Shows the cron pattern. Once a day a job starts a fresh workflow for each account that has none
 * under way: it runs today's code, ends the same day, and its history is three lines long. An
 * account whose workflow is paused keeps its place, so that nobody is reminded twice.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import { type Engine, hero, workflow } from "@pawl/pawl";
import { sqliteStore } from "@pawl/pawl/sqlite";
import { say, stage } from "./_story.ts";

interface Account {
  readonly id: number;
  readonly name: string;
  readonly overdue: number;
  readonly mail: string | null;
}

const db = new DatabaseSync(":memory:");
db.exec("CREATE TABLE accounts (id INTEGER PRIMARY KEY, name TEXT, overdue INTEGER, mail TEXT)");

const accounts = hero("Account", {
  load: (id) => db.prepare("SELECT * FROM accounts WHERE id = ?").get(id) as Account | undefined,
  idOf: (account: Account) => account.id,
});

const billingCheck = workflow({
  name: "billing_check",
  hero: accounts,
  retention: "90 days",
  steps: [
    {
      name: "check",
      run({ hero, finish }) {
        if (hero.overdue === 0) finish();
      },
    },
    {
      name: "remind",
      run({ hero }) {
        if (hero.mail === null) throw new Error(`${hero.name} has no mail address`);
        say(`mail to ${hero.mail}: your payment is overdue`);
      },
    },
    {
      name: "hand_over",
      wait: "6 hours",
      skipIf: ({ hero }) => hero.overdue === 0,
      run: ({ hero }) => say(`${hero.name} goes to the reminder department`),
    },
  ],
});

/** What the scheduler calls once a day: `Deno.cron`, croner, or the cron of the machine. */
async function startBillingChecks(engine: Engine): Promise<number> {
  const busy = engine.presenceSql(billingCheck, { heroIdColumn: "accounts.id", ongoing: true });
  const free = db.prepare(`SELECT id FROM accounts WHERE NOT EXISTS (${busy.sql}) ORDER BY id`)
    .all(...busy.params) as { id: number }[];
  // A second scheduler in the same minute does no harm: its starts are reported as duplicates.
  const started = await engine.startMany(billingCheck, free.map(({ id }) => ({ hero: id })));
  return started.filter((one) => one.kind === "started").length;
}

async function main(): Promise<void> {
  await using t = await stage({ store: sqliteStore(db), workflows: [billingCheck] });
  const insert = db.prepare("INSERT INTO accounts VALUES (?, ?, ?, ?)");
  insert.run(1, "Ada", 0, "ada@example.com");
  insert.run(2, "Bob", 1, "bob@example.com");
  insert.run(3, "Cy", 1, null);

  for (const day of ["Thursday", "Friday", "Saturday"]) {
    say(`${day}: ${await startBillingChecks(t.engine)} checks started`);
    await t.clock.tick("3 hours");
    if (day === "Friday") {
      say("Bob pays");
      db.prepare("UPDATE accounts SET overdue = 0 WHERE id = 2").run();
    }
    await t.clock.tick("21 hours");
  }

  for (const { workflow, state, count } of await t.engine.counts()) {
    console.log(`\n${count} of ${workflow} are ${state}`);
  }
  const { items } = await t.engine.list({ workflow: billingCheck, state: "paused" });
  for (const run of items) {
    const failed = (await run.history()).at(-1);
    console.log(`  account ${run.heroId} at "${run.nextStepName}": ${failed?.errorMessage}`);
  }
}

if (import.meta.main) await main();

/* It prints:

day 0 09:00:00 | Thursday: 3 checks started
day 0 09:00:00 | mail to bob@example.com: your payment is overdue
day 0 15:00:00 | Bob goes to the reminder department
day 1 09:00:00 | Friday: 2 checks started
day 1 09:00:00 | mail to bob@example.com: your payment is overdue
day 1 12:00:00 | Bob pays
day 2 09:00:00 | Saturday: 2 checks started

6 of billing_check are finished

1 of billing_check are paused
  account 3 at "remind": Cy has no mail address
*/
