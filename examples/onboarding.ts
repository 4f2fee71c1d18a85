/**
 * User onboarding: mails over two and a half weeks, each only if it still makes sense.
 *
 * `deno run -A examples/onboarding.ts`
 *
 * Shows waits, `skipIf`, `skip()`, `cancelIf`, and that the hero is loaded afresh before each step:
 * what a user did in the meantime counts.
 *
 * @module
 */

import { hero, workflow } from "@pawl/pawl";
import { recount, say, stage } from "./_story.ts";

interface User {
  readonly id: string;
  readonly name: string;
  profileComplete: boolean;
  emailVerified: boolean;
  connections: number;
  accountClosed: boolean;
}

const users = new Map<string, User>();
const people = hero("User", { load: (id) => users.get(id), idOf: (user: User) => user.id });

const mail = {
  send: (user: User, subject: string): void => say(`mail to ${user.name}: ${subject}`),
};

const onboarding = workflow({
  name: "onboarding",
  hero: people,
  // Looked at before every step, so that nobody gets mail for an account that is gone.
  cancelIf: ({ hero }) => hero.accountClosed,
  steps: [
    { name: "send_welcome", run: ({ hero }) => mail.send(hero, "Welcome!") },
    {
      name: "ask_for_profile",
      wait: "1 day",
      run({ hero, skip }) {
        if (hero.profileComplete) skip();
        mail.send(hero, "Tell us who you are");
      },
    },
    {
      name: "ask_for_verification",
      wait: "2 days",
      // The same as skip() in the body, but the body need not know of it.
      skipIf: ({ hero }) => hero.emailVerified,
      run: ({ hero }) => mail.send(hero, "Please verify your address"),
    },
    {
      name: "suggest_connections",
      wait: "3 days",
      skipIf: ({ hero }) => hero.connections > 0,
      run: ({ hero }) => mail.send(hero, "People you may know"),
    },
    { name: "say_goodbye", wait: "7 days", run: ({ hero }) => mail.send(hero, "You are set up") },
  ],
});

async function main(): Promise<void> {
  await using t = await stage({ workflows: [onboarding] });
  const ada = signUp("1", "Ada");
  const bob = signUp("2", "Bob");
  const ofAda = await t.engine.start(onboarding, { hero: ada });
  const ofBob = await t.engine.start(onboarding, { hero: bob });

  await t.clock.tick("12 hours");
  say("Ada fills in her profile");
  ada.profileComplete = true;
  await t.clock.tick("4 days");
  say("Bob closes his account");
  bob.accountClosed = true;
  ada.connections = 3;
  await t.clock.tick("10 days");

  await recount(ofAda);
  await recount(ofBob);
}

function signUp(id: string, name: string): User {
  const user = { id, name, profileComplete: false, emailVerified: false, connections: 0 };
  users.set(id, { ...user, accountClosed: false });
  return users.get(id) as User;
}

if (import.meta.main) await main();

/* It prints:

day 0 09:00:00 | mail to Ada: Welcome!
day 0 09:00:00 | mail to Bob: Welcome!
day 0 21:00:00 | Ada fills in her profile
day 1 09:00:00 | mail to Bob: Tell us who you are
day 3 09:00:00 | mail to Ada: Please verify your address
day 3 09:00:00 | mail to Bob: Please verify your address
day 4 21:00:00 | Bob closes his account
day 13 09:00:00 | mail to Ada: You are set up

onboarding 1 is finished:
  send_welcome: completed
  ask_for_profile: skipped by flow_control
  ask_for_verification: completed
  suggest_connections: skipped by condition
  say_goodbye: completed

onboarding 2 is canceled:
  send_welcome: completed
  ask_for_profile: completed
  ask_for_verification: completed
  suggest_connections: canceled by condition
*/
