/**
 * Reading a mailbox page by page, where the only way on is the token of the next page.
 *
 * `deno run -A examples/mail_sync.ts`
 *
 * Shows a cursor that is set by hand. The token is stored after each page, so when the network
 * fails on page three, the next attempt asks for page three and not for page one.
 *
 * @module
 */

import { backoff, policy, workflow } from "@pawl/pawl";
import { recount, say, stage } from "./_story.ts";

class NetworkError extends Error {}

interface Page {
  readonly messages: readonly string[];
  readonly nextPageToken: string | null;
}

const PAGES: Readonly<Record<string, Page>> = {
  first: { messages: ["Hello", "Invoice 17"], nextPageToken: "b2x1" },
  b2x1: { messages: [], nextPageToken: "c9k4" },
  c9k4: { messages: ["Lunch?", "Re: Lunch?"], nextPageToken: "d0m7" },
  d0m7: { messages: ["See you there"], nextPageToken: null },
};

let isDown = true;
const mailbox = {
  list({ pageToken }: { pageToken: string | null }): Promise<Page> {
    if (pageToken === "c9k4" && isDown) {
      say(`page ${pageToken}: socket hang up`);
      throw new NetworkError("socket hang up");
    }
    return Promise.resolve(PAGES[pageToken ?? "first"] as Page);
  },
};
const stored = new Set<string>();

const mailSync = workflow({
  name: "mail_sync",
  onException: policy("reattempt", {
    matching: NetworkError,
    wait: backoff.exponential({ first: "1 minute", jitter: 0 }),
    maxReattempts: 5,
  }),
  steps: [{
    name: "read_pages",
    resumable: true,
    async run({ iter }) {
      let token: string | null = iter.cursor;
      do {
        const page = await mailbox.list({ pageToken: token });
        say(`page ${token ?? "1"}: ${page.messages.length} messages`);
        for (const message of page.messages) stored.add(message);
        token = page.nextPageToken;
        // After the page's work and not before it: the cursor says where to go on.
        if (token !== null) await iter.set(token);
      } while (token !== null);
    },
  }],
});

async function main(): Promise<void> {
  await using t = await stage({ workflows: [mailSync] });
  const run = await t.engine.start(mailSync);
  await t.clock.tick("90 seconds");
  say("the network is back");
  isDown = false;
  await t.clock.tick("5 minutes");
  say(`stored: ${[...stored].join(", ")}`);
  await recount(run);
}

if (import.meta.main) await main();

/* It prints:

day 0 09:00:00 | page 1: 2 messages
day 0 09:00:00 | page b2x1: 0 messages
day 0 09:00:00 | page c9k4: socket hang up
day 0 09:01:00 | page c9k4: socket hang up
day 0 09:01:30 | the network is back
day 0 09:03:00 | page c9k4: 2 messages
day 0 09:03:00 | page d0m7: 1 messages
day 0 09:06:30 | stored: Hello, Invoice 17, Lunch?, Re: Lunch?, See you there

mail_sync 1 is finished:
  read_pages: reattempted by exception
  read_pages, attempt 2: reattempted by exception
  read_pages, attempt 3: completed
*/
