/**
 * A sports club: the heroes of several tests.
 */

import { hero, workflow, type WorkflowDefinition } from "../../mod.ts";

/** A member of the club. */
export interface Member {
  readonly id: string;
  readonly name: string;
}

/** A sports club: its members, and how often each was looked up. */
export function club(): {
  members: Map<string, Member>;
  loads: string[];
  hero: ReturnType<typeof hero<Member>>;
} {
  const members = new Map([["ann", { id: "ann", name: "Ann" }], ["bo", { id: "bo", name: "Bo" }]]);
  const loads: string[] = [];
  return {
    members,
    loads,
    hero: hero("Member", {
      load(id) {
        loads.push(id);
        return Promise.resolve(members.get(id));
      },
      idOf: (member: Member) => member.id,
    }),
  };
}

/** A membership: a letter, and a year later the renewal; `letters` is what was sent. */
export function membership(
  heroes: ReturnType<typeof club>,
  letters: string[],
  name = "membership",
): WorkflowDefinition<Member> {
  return workflow({
    name,
    hero: heroes.hero,
    steps: [
      { name: "welcome", run: ({ hero }) => void letters.push(`Welcome, ${hero.name}`) },
      {
        name: "renew",
        wait: "365 days",
        run: ({ hero }) => void letters.push(`Dear ${hero.name}`),
      },
    ],
  });
}
