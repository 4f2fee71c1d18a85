/**
 * A signup, from the account to the last mail: the story that the demo tells.
 *
 * The application's own tables live in the same SQLite file as the workflow's rows, so that the
 * first step can create the account in one transaction with its own completion.
 */

import { DatabaseSync } from "node:sqlite";
import { backoff, hero, policy, workflow, type WorkflowDefinition } from "../../mod.ts";

/** A person who signs up. */
export interface Person {
  readonly id: number;
  readonly name: string;
  readonly approved: number;
}

/** How long a "day" of the story takes, in milliseconds, and who tells it. */
export interface Story {
  readonly db: DatabaseSync;
  readonly dayMs: number;
  say(line: string): void;
}

export const CONTACTS = 40;

/** The application's own tables. */
export function createTables(db: DatabaseSync): void {
  db.exec(`
    CREATE TABLE IF NOT EXISTS people (id INTEGER PRIMARY KEY, name TEXT, approved INTEGER);
    CREATE TABLE IF NOT EXISTS accounts (person_id INTEGER, opened_by TEXT);
    CREATE TABLE IF NOT EXISTS contacts (id INTEGER, imported_by TEXT);
  `);
}

class MailServerBusy extends Error {}

/** Makes the definition for one process of the demo. */
export function signup({ db, dayMs, say }: Story): WorkflowDefinition {
  const people = hero("Person", {
    load: (id) => db.prepare("SELECT * FROM people WHERE id = ?").get(id) as Person | undefined,
    idOf: (person: Person) => person.id,
  });
  const pace = () => new Promise((resolve) => setTimeout(resolve, 60));

  return workflow({
    name: "signup",
    hero: people,
    onException: policy("reattempt", {
      matching: MailServerBusy,
      wait: backoff.fixed(400),
      maxReattempts: 5,
    }),
    steps: [
      {
        name: "open_account",
        transaction: true,
        run({ hero, execution, tx }) {
          tx.prepare("INSERT INTO accounts VALUES (?, ?)").run(hero.id, execution.id);
          say(`opens an account for ${hero.name}, in one transaction with this very step`);
        },
      },
      {
        name: "send_welcome",
        run({ hero, attempt }) {
          if (attempt < 3) {
            say(`sends a welcome mail: the mail server is busy (attempt ${attempt})`);
            throw new MailServerBusy("451 try again later");
          }
          say(`sends a welcome mail to ${hero.name} (attempt ${attempt})`);
        },
      },
      {
        name: "import_contacts",
        resumable: true,
        async run({ iter, execution }) {
          const insert = db.prepare("INSERT INTO contacts VALUES (?, ?)");
          say(iter.resumed ? `goes on with contact ${iter.cursor}` : "imports 40 contacts");
          await iter.over(Array.from({ length: CONTACTS }, (_, id) => id), async (id) => {
            await pace();
            insert.run(id, execution.id);
            iter.progress(id + 1, CONTACTS);
          });
          say("has imported the contacts");
        },
      },
      {
        name: "remind",
        wait: 2 * dayMs,
        run: ({ hero }) => say(`reminds ${hero.name} of the unfinished profile, two days later`),
      },
      {
        name: "check_fraud",
        run({ hero, pause }) {
          if (hero.approved === 0) {
            say("finds the signup suspicious and pauses until somebody has looked at it");
            pause();
          }
          say("sees that the signup was approved");
        },
      },
      { name: "say_goodbye", run: ({ hero }) => say(`is done with ${hero.name}`) },
    ],
  });
}
