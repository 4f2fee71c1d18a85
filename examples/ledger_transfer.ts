/**
 * A transfer that is booked exactly once, whatever goes wrong on the way.
 *
 * `deno run -A examples/ledger_transfer.ts [postgres://… | mysql://…]`; SQLite without an address. The
 * database must be empty: the example makes its own tables in it.
 *
 * Shows a step with `transaction: true`. What its body writes through `tx`, its own completion and
 * the schedule of the next step are one commit. So an attempt that fails after its writes leaves
 * nothing behind, and one that is delivered twice books once.
 *
 * @module
 */

import { createEngine, hero, workflow } from "@pawl/pawl";
import {
  type Ledger,
  mysqlLedger,
  postgresLedger,
  sqliteLedger,
  type Transfer,
} from "./_ledgers.ts";

const TRANSFERS = 20;
const table = new Map<string, Transfer>();
const transfers = hero("Transfer", {
  load: (id) => table.get(id),
  idOf: (one: Transfer) => one.id,
});

/** The workflow, for a ledger on any database. */
function transferOn<Tx>(ledger: Ledger<Tx>, onBody: () => void) {
  return workflow({
    name: "transfer",
    hero: transfers,
    steps: [
      {
        name: "book",
        transaction: true,
        onException: "reattempt",
        maxReattempts: 3,
        async run({ hero, attempt, tx }) {
          onBody();
          await ledger.book(tx, hero);
          if (attempt === 1) throw new Error("the power fails, both accounts are changed already");
        },
      },
      { name: "notify", run: () => {} },
    ],
  });
}

async function main(url: string | undefined): Promise<void> {
  const ledger = url === undefined
    ? sqliteLedger()
    : url.startsWith("postgres")
    ? postgresLedger(url)
    : mysqlLedger(url);
  await tell(ledger as Ledger<unknown>);
}

async function tell(ledger: Ledger<unknown>): Promise<void> {
  let bodies = 0;
  const transfer = transferOn(ledger, () => bodies++);
  const engine = createEngine({
    store: ledger.store,
    workflows: [transfer],
    reportError: () => {}, // they fail because the story wants it; else they would be on the console
  });
  await engine.migrate();
  await ledger.open(["ada", "bob"]);

  const started = await engine.startMany(
    transfer,
    Array.from({ length: TRANSFERS }, (_, index) => {
      const one = { id: `t${index}`, from: "ada", to: "bob", cents: 1_000 + index };
      table.set(one.id, one);
      return { hero: one };
    }),
  );
  const runs = started.flatMap((one) => one.kind === "started" ? [one.run] : []);
  const jobs = await Promise.all(runs.map((run) => run.currentExecution()));

  // Two workers look for work, and every job is delivered by hand as well, twice.
  const workers = [engine.work(), engine.work()];
  await Promise.allSettled(
    [...jobs, ...jobs].map((job) => job === null ? null : engine.handle(job.id)),
  );
  for (const worker of workers) await worker.idle();
  for (const worker of workers) await worker.stop();

  const { balances, bookings } = await ledger.totals();
  console.log(`${ledger.name}: ${TRANSFERS} transfers, each fails once after its writes`);
  console.log(`  bodies begun: ${bodies}, bookings: ${bookings}`);
  for (const [name, cents] of Object.entries(balances)) {
    console.log(`  ${name}: ${(cents / 100).toFixed(2)}`);
  }
  for (const { state, count } of await engine.counts()) console.log(`  ${count} are ${state}`);
  await engine.close();
  await ledger.close();
}

if (import.meta.main) await main(Deno.args[0]);

/* It prints:

SQLite: 20 transfers, each fails once after its writes
  bodies begun: 40, bookings: 20
  ada: 798.10
  bob: 1201.90
  20 are finished
*/
