/**
 * An outgoing payment: authorized, held back for an hour, captured, and confirmed by asking the
 * gateway until it knows. A suspicious one waits for a person.
 *
 * `deno run -A examples/payment.ts`
 *
 * Shows policies per class of error, `cancel()`, `pause()` with `resume()`, polling with
 * `reattempt()`, and a key that keeps a repeated call from being a second payment.
 *
 * @module
 */

import { hero, policy, workflow } from "@pawl/pawl";
import { recount, say, stage } from "./_story.ts";

interface Payment {
  readonly id: string;
  readonly cents: number;
  status: "new" | "declined" | "in review" | "captured" | "complete";
}

class CardDeclined extends Error {}
class ServiceUnavailable extends Error {}
class RateLimited extends Error {
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number) {
    super("429 too many requests");
    this.retryAfterMs = retryAfterMs;
  }
}

const table = new Map<string, Payment>();
const payments = hero("Payment", { load: (id) => table.get(id), idOf: (one: Payment) => one.id });
const gateway = fakeGateway();

const payOut = workflow({
  name: "pay_out",
  hero: payments,
  onException: [
    policy("reattempt", {
      matching: ServiceUnavailable,
      wait: "5 minutes",
      maxReattempts: 10,
      terminalAction: "pause",
      report: "terminalOnly",
    }),
    // The gateway itself says how long to wait, so a handler decides.
    policy(({ error, reattempt }) => reattempt({ wait: error.retryAfterMs }), {
      matching: RateLimited,
      report: "never",
    }),
  ],
  steps: [
    {
      name: "authorize",
      run({ hero, cancel }) {
        try {
          // All attempts share the key: if this process dies after the call and before its row is
          // written, the next attempt asks the gateway for the same authorization again.
          gateway.authorize(hero, { key: `authorize-${hero.id}` });
        } catch (error) {
          if (!(error instanceof CardDeclined)) throw error;
          hero.status = "declined";
          say(`payment ${hero.id}: the card was declined`);
          cancel();
        }
      },
    },
    {
      name: "capture",
      wait: "1 hour",
      run({ hero, pause }) {
        if (gateway.suspectsFraud(hero)) {
          hero.status = "in review";
          say(`payment ${hero.id}: looks like fraud, a person must decide`);
          pause();
        }
        gateway.capture(hero, { key: `capture-${hero.id}` });
        hero.status = "captured";
      },
    },
    {
      name: "confirm",
      run({ hero, attempt, reattempt }) {
        if (gateway.isProcessing(hero)) {
          say(`payment ${hero.id}: still processing (${attempt})`);
          reattempt({ wait: "30 seconds" });
        }
        hero.status = "complete";
      },
    },
    { name: "send_receipt", run: ({ hero }) => say(`payment ${hero.id}: receipt sent`) },
  ],
});

async function main(): Promise<void> {
  await using t = await stage({ workflows: [payOut] });
  const start = (id: string, cents: number) => {
    table.set(id, { id, cents, status: "new" });
    return t.engine.start(payOut, { hero: id });
  };
  const bumpy = await start("bumpy", 4_200);
  const declined = await start("declined", 1_300);
  const suspicious = await start("suspicious", 990_000);
  await t.clock.tick("2 hours");

  say(`payment suspicious is ${(await suspicious.reload()).state}; an analyst clears it`);
  gateway.clear("suspicious");
  await suspicious.resume();
  await t.clock.tick("1 hour");

  for (const run of [bumpy, declined, suspicious]) await recount(run);
}

/** A gateway with a bad day: busy at first, then rate limited, and slow to confirm. */
function fakeGateway() {
  const cleared = new Set<string>();
  const calls = new Map<string, number>();
  const nth = (key: string): number => {
    calls.set(key, (calls.get(key) ?? 0) + 1);
    return calls.get(key) as number;
  };
  return {
    authorize(payment: Payment, { key }: { key: string }): void {
      if (payment.id === "declined") throw new CardDeclined("insufficient funds");
      const call = nth(key);
      if (payment.id === "bumpy" && call === 1) throw new ServiceUnavailable("503");
      if (payment.id === "bumpy" && call === 2) throw new RateLimited(10_000);
      say(`gateway: ${key}, ${payment.cents / 100} EUR`);
    },
    suspectsFraud: (payment: Payment): boolean =>
      payment.cents > 500_000 && !cleared.has(payment.id),
    capture: (_payment: Payment, { key }: { key: string }): void => say(`gateway: ${key}`),
    isProcessing: (payment: Payment): boolean => nth(`confirm-${payment.id}`) <= 2,
    clear: (id: string): void => void cleared.add(id),
  };
}

if (import.meta.main) await main();

/* It prints:

day 0 09:00:00 | payment declined: the card was declined
day 0 09:00:00 | gateway: authorize-suspicious, 9900 EUR
day 0 09:05:10 | gateway: authorize-bumpy, 42 EUR
day 0 10:00:00 | payment suspicious: looks like fraud, a person must decide
day 0 10:05:10 | gateway: capture-bumpy
day 0 10:05:10 | payment bumpy: still processing (1)
day 0 10:05:40 | payment bumpy: still processing (2)
day 0 10:06:10 | payment bumpy: receipt sent
day 0 11:00:00 | payment suspicious is paused; an analyst clears it
day 0 11:00:00 | gateway: capture-suspicious
day 0 11:00:00 | payment suspicious: still processing (1)
day 0 11:00:30 | payment suspicious: still processing (2)
day 0 11:01:00 | payment suspicious: receipt sent

pay_out 1 is finished:
  authorize: reattempted by exception
  authorize, attempt 2: reattempted by exception
  authorize, attempt 3: completed
  capture: completed
  confirm: reattempted by flow_control
  confirm, attempt 2: reattempted by flow_control
  confirm, attempt 3: completed
  send_receipt: completed

pay_out 2 is canceled:
  authorize: canceled by flow_control

pay_out 3 is finished:
  authorize: completed
  capture: canceled by flow_control
  capture: completed
  confirm: reattempted by flow_control
  confirm, attempt 2: reattempted by flow_control
  confirm, attempt 3: completed
  send_receipt: completed
*/
