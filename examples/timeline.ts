/**
 * What an operator sees at three in the morning: `pawl failures` and `pawl show` on an order that had
 * a bad night. `deno task screenshots` makes a picture of it.
 *
 * `deno run -A examples/timeline.ts`
 *
 * The command line is a function of its arguments and of the world around it, so that a program can
 * call it, here with a clock on which the night takes no time.
 *
 * @module
 */

import { backoff, type Clock, hero, policy, type Run, workflow } from "@pawl/pawl";
import { run as pawl, systemIo } from "@pawl/pawl/cli";
import { sqliteStore } from "@pawl/pawl/sqlite";
import { type TestEngine, testEngine } from "@pawl/pawl/testing";
import { join } from "node:path";
import process from "node:process";

class GatewayTimeout extends Error {
  override name = "GatewayTimeout";
}

class CarrierError extends Error {
  override name = "CarrierError";
}

function askCarrier(orderId: string): never {
  throw new CarrierError(`503 for order ${orderId}`);
}

/** The workflow; its bodies take their time on the given clock. */
function orderOn(clock: () => Clock) {
  const take = (seconds: number): Promise<void> =>
    new Promise((resolve) => void clock().setTimeout(resolve, seconds * 1_000));
  return workflow({
    name: "order",
    hero: hero("Order", { load: (id) => ({ id, parcels: 12 }) }),
    steps: [
      { name: "reserve", run: () => take(45) },
      {
        name: "charge",
        onException: policy("reattempt", {
          matching: GatewayTimeout,
          wait: backoff.exponential({ first: "1 minute", jitter: 0 }),
          maxReattempts: 5,
        }),
        async run({ attempt }) {
          await take(30);
          if (attempt < 3) throw new GatewayTimeout("No answer within 30 s");
        },
      },
      {
        name: "pack",
        resumable: true,
        maxIterations: 8,
        async run({ hero, iter }) {
          await iter.over(
            Array.from({ length: hero.parcels }, (_, at) => at + 1),
            async (parcel) => {
              await take(20);
              iter.progress(parcel, hero.parcels);
            },
          );
        },
      },
      { name: "await_pickup", waitFor: "picked_up", timeout: "1 day", run: () => take(5) },
      {
        name: "announce",
        async run({ hero }) {
          await take(10);
          askCarrier(hero.id);
        },
      },
      { name: "ask_for_review", wait: "1 week", run: () => {} },
    ],
  });
}

/** What the two commands print, as on a terminal of 100 columns, each after its prompt. */
export async function night({ colours }: { readonly colours: boolean }): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "pawl_timeline_" });
  const database = join(folder, "shop.db");
  const order = orderOn(() => t.clock); // bodies run later, so they may use what is made later
  const t: TestEngine = await testEngine({
    store: sqliteStore(database),
    workflows: [order],
    now: new Date("2026-01-01T03:00:00Z"),
  });
  const { clock } = t;
  const runs: Run[] = [];
  for (const id of ["4711", "4712", "4713"]) {
    runs.push(await t.engine.start(order, { hero: id, input: { cents: 4_200 } }));
    await t.clock.tick("14 minutes");
    await runs.at(-1)?.signal("picked_up");
    await t.clock.tick("1 minute");
  }
  await t.engine.close();

  let text = "";
  const write = (more: string): void => void (text += more);
  const world = {
    ...systemIo(),
    stdout: write,
    stderr: write,
    isTTY: colours,
    columns: 100,
    clock,
  };
  try {
    for (const command of ["failures", `show ${runs[2]?.id}`]) {
      text += `$ pawl ${command}\n`;
      await pawl([...command.split(" "), "--database", database], { ...world, env: {} });
      text += "\n";
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  // Stacks name the folder of this checkout; the picture does not.
  return text.replaceAll(new URL("../", import.meta.url).href, "file:///srv/shop/").trimEnd();
}

if (import.meta.main) {
  const text = await night({ colours: process.stdout.isTTY === true });
  // Without the stack at its end, which changes with every line of Pawl and of this file.
  console.log(text.slice(0, text.lastIndexOf("\n\n")));
}

/* It prints:

$ pawl failures
068f63f44d2d  3 paused  first 30 min 45 s ago, last 45.0 s ago
  CarrierError: <#> for order <#>
  in askCarrier examples/timeline.ts
  order at announce: 3
  such as workflow 3, 2, 1

$ pawl show 3
order 3 · Order 4713 · paused · 15 min · next: announce
  ✓  reserve               ██                                       45.0 s  success
  ↻  charge                  █                                      30.0 s  reattempted (exception)
       GatewayTimeout: No answer within 30 s
  ↻  └ charge (attempt 2)     ░░░█                                  30.0 s  reattempted (exception)
       GatewayTimeout: No answer within 30 s
  ✓  └ charge (attempt 3)         ░░░░░█                            30.0 s  success
  ✓  pack                               ██████████                   4 min  success · 2 chunks
       ████████████████████ 100 % · 12 of 12
  ✓  await_pickup                                 ░░░░░░░░░░░░█      5.0 s  success
  ✗  announce                                                  █    10.0 s  failed (exception)
       CarrierError: 503 for order 4713

  input       {"cents":4200}
  metadata    {}
  created     2026-01-01T03:30:00.000Z (15 min ago)
  changed     2026-01-01T03:44:15.000Z (45.0 s ago)
  signals     picked_up null · 2026-01-01T03:44:00.000Z · received by execution 23
*/
