/**
 * Account erasure: archive without names, tell partners, delete row by row, say so, and only then
 * delete the account itself.
 *
 * `deno run -A examples/account_erasure.ts`
 *
 * Shows why the order of steps is worth a workflow: nothing is deleted before the archive is
 * complete, and nobody is told that his data is gone before it is. The tables are the
 * application's own, in the same database as the workflow's rows.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import { hero, type RecordSource, workflow } from "@pawl/pawl";
import { sqliteStore } from "@pawl/pawl/sqlite";
import { recount, say, stage } from "./_story.ts";

interface Account {
  readonly id: number;
  readonly mail: string;
  readonly active: number;
}

interface Datapoint {
  readonly id: number;
  readonly kind: string;
  readonly value: number;
}

const db = new DatabaseSync(":memory:");
db.exec(`
  CREATE TABLE accounts (id INTEGER PRIMARY KEY, mail TEXT, active INTEGER);
  CREATE TABLE sessions (account_id INTEGER);
  CREATE TABLE datapoints (id INTEGER PRIMARY KEY, account_id INTEGER, kind TEXT, value INTEGER);
  CREATE TABLE archive (datapoint_id INTEGER PRIMARY KEY, kind TEXT, value INTEGER);
`);

const accounts = hero("Account", {
  load: (id) => db.prepare("SELECT * FROM accounts WHERE id = ?").get(id) as Account | undefined,
  idOf: (account: Account) => account.id,
});

const datapointsAfter = db.prepare(
  "SELECT * FROM datapoints WHERE account_id = ? AND id > ? ORDER BY id LIMIT ?",
);

/** The datapoints of an account, page by page, in the order of their ids. */
function datapointsOf(account: Account): RecordSource<Datapoint> {
  return {
    fetch: ({ after, limit }) =>
      datapointsAfter.all(account.id, after ?? 0, limit) as unknown as Datapoint[],
    cursor: (datapoint) => datapoint.id,
  };
}

const erasure = workflow({
  name: "account_erasure",
  hero: accounts,
  steps: [
    {
      name: "deactivate",
      // Both writes and the completion of this step commit together, or none of them.
      transaction: true,
      run({ hero, tx }) {
        tx.prepare("UPDATE accounts SET active = 0 WHERE id = ?").run(hero.id);
        tx.prepare("DELETE FROM sessions WHERE account_id = ?").run(hero.id);
        say(`account ${hero.id} is deactivated, its sessions are gone`);
      },
    },
    {
      name: "archive_without_names",
      resumable: true,
      async run({ hero, iter }) {
        // A row may be archived twice after a crash, so archiving it twice must not matter.
        const insert = db.prepare("INSERT OR REPLACE INTO archive VALUES (?, ?, ?)");
        await iter.overRecords(datapointsOf(hero), ({ id, kind, value }) => {
          insert.run(id, kind, value);
        });
        say(`${count("archive")} datapoints are archived without a name`);
      },
    },
    { name: "tell_partners", run: () => say("partners are asked to delete, too") },
    {
      name: "delete_datapoints",
      wait: "24 hours",
      resumable: true,
      async run({ hero, iter }) {
        await iter.overBatches(datapointsOf(hero), { batchSize: 400 }, (batch) => {
          const ids = JSON.stringify(batch.map((one) => one.id));
          db.prepare("DELETE FROM datapoints WHERE id IN (SELECT value FROM json_each(?))").run(
            ids,
          );
          say(`${batch.length} datapoints are deleted`);
        });
      },
    },
    { name: "confirm", run: ({ hero }) => say(`mail to ${hero.mail}: your data is gone`) },
    {
      // The last step: a workflow whose hero is gone would be canceled before its next one.
      name: "delete_account",
      transaction: true,
      run: ({ hero, tx }) => void tx.prepare("DELETE FROM accounts WHERE id = ?").run(hero.id),
    },
  ],
});

async function main(): Promise<void> {
  await using t = await stage({ store: sqliteStore(db), workflows: [erasure] });
  db.prepare("INSERT INTO accounts VALUES (7, 'ada@example.com', 1)").run();
  db.prepare("INSERT INTO sessions VALUES (7), (7)").run();
  const insert = db.prepare("INSERT INTO datapoints VALUES (?, 7, 'steps', ?)");
  for (let id = 1; id <= 1_000; id++) insert.run(id, id % 100);

  const run = await t.engine.start(erasure, { hero: 7 });
  await t.clock.tick("1 hour");
  say(
    `the account is still there (${count("accounts")}), so are ${count("datapoints")} datapoints`,
  );
  await t.clock.tick("1 day");
  say(`left are ${count("accounts")} accounts, ${count("datapoints")} datapoints`);
  await recount(run);
}

function count(table: string): number {
  return (db.prepare(`SELECT count(*) AS n FROM ${table}`).get() as { n: number }).n;
}

if (import.meta.main) await main();

/* It prints:

day 0 09:00:00 | account 7 is deactivated, its sessions are gone
day 0 09:00:00 | 1000 datapoints are archived without a name
day 0 09:00:00 | partners are asked to delete, too
day 0 10:00:00 | the account is still there (1), so are 1000 datapoints
day 1 09:00:00 | 400 datapoints are deleted
day 1 09:00:00 | 400 datapoints are deleted
day 1 09:00:00 | 200 datapoints are deleted
day 1 09:00:00 | mail to ada@example.com: your data is gone
day 1 10:00:00 | left are 0 accounts, 0 datapoints

account_erasure 1 is finished:
  deactivate: completed
  archive_without_names: completed
  tell_partners: completed
  delete_datapoints: completed
  confirm: completed
  delete_account: completed
*/
