/** A club whose members are the heroes of tests. */

import { hero, type HeroDefinition } from "../../mod.ts";

/** A member as the application knows it. */
export interface Member {
  /** Nothing to remind of. */
  profileComplete: boolean;
  /** Nothing to send to. */
  accountClosed: boolean;
}

/** A club with one member, and a definition of its members as heroes. */
export function club(): { ann: Member; members: HeroDefinition<Member> } {
  const ann: Member = { profileComplete: false, accountClosed: false };
  const members = hero("Member", { load: (id: string) => id === "ann" ? ann : null });
  return { ann, members };
}
