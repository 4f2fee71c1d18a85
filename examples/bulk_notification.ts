/**
 * A campaign to every subscriber: one step, as many executions as it takes, and never a second mail
 * to those who have theirs.
 *
 * `deno run -A examples/bulk_notification.ts`
 *
 * Shows a resumable step over rows of a table. The cursor is stored after each subscriber; the step
 * ends after ten of them and goes on in another execution, so that others get their turn. An
 * operator pauses it in the middle, and it goes on from there.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import { hero, type Run, workflow } from "@pawl/pawl";
import { sqliteStore } from "@pawl/pawl/sqlite";
import { say, stage } from "./_story.ts";

interface Campaign {
  readonly id: number;
  readonly subject: string;
}

const SUBSCRIBERS = 28;
const db = new DatabaseSync(":memory:");
db.exec(`
  CREATE TABLE campaigns (id INTEGER PRIMARY KEY, subject TEXT, status TEXT);
  CREATE TABLE subscribers (id INTEGER PRIMARY KEY, mail TEXT, unsubscribed INTEGER);
`);

const campaigns = hero("Campaign", {
  load: (id) => db.prepare("SELECT * FROM campaigns WHERE id = ?").get(id) as Campaign | undefined,
  idOf: (campaign: Campaign) => campaign.id,
});

const setStatus = db.prepare("UPDATE campaigns SET status = ? WHERE id = ?");
const sent: string[] = [];
let onMail = (): Promise<unknown> | void => {};

const bulkNotification = workflow({
  name: "bulk_notification",
  hero: campaigns,
  steps: [
    { name: "prepare", run: ({ hero }) => void setStatus.run("sending", hero.id) },
    {
      name: "send_all",
      resumable: true,
      maxIterations: 10,
      async run({ hero, iter }) {
        say(iter.resumed ? `goes on after subscriber ${iter.cursor}` : `sends "${hero.subject}"`);
        await iter.overRecords({
          table: "subscribers",
          columns: ["id", "mail"],
          where: "unsubscribed = 0",
          dialect: "sqlite",
          query: (sql, params) => db.prepare(sql).all(...params),
        }, async ({ id, mail }) => {
          sent.push(mail);
          iter.progress(sent.length, SUBSCRIBERS - 1, `subscriber ${id}`);
          await onMail();
        });
      },
    },
    { name: "wrap_up", run: ({ hero }) => void setStatus.run("sent", hero.id) },
  ],
});

async function main(): Promise<void> {
  await using t = await stage({ store: sqliteStore(db), workflows: [bulkNotification] });
  db.prepare("INSERT INTO campaigns VALUES (1, 'Spring is here', 'draft')").run();
  const insert = db.prepare("INSERT INTO subscribers VALUES (?, ?, ?)");
  for (let id = 1; id <= SUBSCRIBERS; id++) insert.run(id, `s${id}@example.com`, id === 3 ? 1 : 0);

  const run = await t.engine.start(bulkNotification, { hero: 1 });
  onMail = () => sent.length === 14 ? run.pause() : undefined;
  await t.clock.tick("1 minute");
  await run.reload();
  say(`an operator paused it: ${sent.length} mails are sent, the workflow is ${run.state}`);
  await run.resume();
  await t.clock.tick("1 minute");

  say(`${sent.length} mails to ${new Set(sent).size} people; subscriber 3 got none`);
  await chain(run);
}

/** Prints the executions of the resumable step: the chunks in which it ran. */
async function chain(run: Run): Promise<void> {
  await run.reload();
  console.log(`\nbulk_notification is ${run.state}; send_all ran in these executions:`);
  for (const one of await run.history()) {
    if (one.stepName !== "send_all") continue;
    const from = one.continuesFromId === null ? "" : `, continues ${one.continuesFromId}`;
    console.log(`  ${one.id}: ${one.outcome}, ${one.progress?.done} done${from}`);
  }
}

if (import.meta.main) await main();

/* It prints:

day 0 09:00:00 | sends "Spring is here"
day 0 09:00:00 | goes on after subscriber 11
day 0 09:01:00 | an operator paused it: 14 mails are sent, the workflow is paused
day 0 09:01:00 | goes on after subscriber 15
day 0 09:01:00 | goes on after subscriber 25
day 0 09:02:00 | 27 mails to 27 people; subscriber 3 got none

bulk_notification is finished; send_all ran in these executions:
  2: continued, 10 done
  3: workflow_paused, 14 done, continues 2
  4: continued, 24 done, continues 3
  5: success, 27 done, continues 4
*/
