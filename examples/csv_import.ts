/**
 * Importing a price list, in batches, from a file with a row that nobody expected.
 *
 * `deno run -A examples/csv_import.ts`
 *
 * Shows what a resumable step does when a row cannot be read: the workflow pauses at that batch with
 * everything before it done. Somebody mends the file, resumes, and the import goes on from there. The
 * big one, with a progress bar and Ctrl-C, is `deno task demo:import`.
 *
 * @module
 */

import { workflow } from "@pawl/pawl";
import { recount, say, stage } from "./_story.ts";

let file = `sku,name,price
A-1,"Screw, long",0.10
A-2,Nut,0.05
A-3,Washer,0.02
B-1,Drill,49.90
B-2,"Saw ""Oak""",about 30
B-3,Hammer,19.00
C-1,Glue,3.50
`;

const prices = new Map<string, number>();

const priceImport = workflow({
  name: "price_import",
  steps: [{
    name: "read_rows",
    resumable: true,
    async run({ iter }) {
      await iter.overCsv(file, (rows, batch) => {
        // The whole batch is checked before any of it is stored, so that a batch is all or nothing.
        const checked = rows.map(({ sku = "", name = "", price = "" }) => {
          const cents = Math.round(Number(price) * 100);
          if (Number.isNaN(cents)) throw new Error(`${sku} (${name}): "${price}" is no price`);
          return [sku, cents] as const;
        });
        for (const [sku, cents] of checked) prices.set(sku, cents);
        say(`batch ${batch + 1}: ${checked.map(([sku]) => sku).join(", ")}`);
      }, { batchSize: 2 });
    },
  }],
});

async function main(): Promise<void> {
  await using t = await stage({ workflows: [priceImport] });
  const run = await t.engine.start(priceImport);
  await t.clock.tick("1 minute");
  say(`${prices.size} prices are stored, the import is ${(await run.reload()).state}`);

  say("somebody mends the file and resumes");
  file = file.replace("about 30", "29.95");
  await run.resume();
  await t.clock.tick("1 minute");
  say(`${prices.size} prices are stored`);
  await recount(run);
}

if (import.meta.main) await main();

/* It prints:

day 0 09:00:00 | batch 1
day 0 09:00:00 | batch 2: A-3, B-1
day 0 09:01:00 | 4 prices are stored, the import is paused
day 0 09:01:00 | somebody mends the file and resumes
day 0 09:01:00 | batch 3: B-2, B-3
day 0 09:01:00 | batch 4: C-1
day 0 09:02:00 | 7 prices are stored

price_import 1 is finished:
  read_rows: failed by exception: B-2 (Saw "Oak"): "about 30" is no price
  read_rows: completed
*/
