/**
 * The checker catches stores that break a promise: the story is played on each of them, and the
 * sentence is the right one.
 */

import assert from "node:assert/strict";
import { BROKEN, type Broken } from "../../chaos/broken.ts";
import type { Kind } from "../../chaos/checker.ts";
import { play, type StandStill } from "./_stage.ts";

/** What the checker must say of each, and over which body the first worker stands still for it. */
const CAUGHT: Readonly<
  Record<Broken, { kind: Kind; sentence: RegExp; still: StandStill | null }>
> = {
  "double-claim": {
    kind: "doubled",
    sentence: /^workflow \d+: the body of execution \d+ ran 2 times$/,
    still: null,
  },
  "ignored-token": {
    kind: "overlap",
    sentence: /^workflow \d+: book began while notify held its lease$/,
    still: { step: "reserve", pace: 1, suddenly: true },
  },
  "dropped-next": {
    kind: "lost",
    sentence: /^workflow \d+: it is ready at the end$/,
    still: null,
  },
  "repeated-finish": {
    kind: "doubled",
    sentence: /^workflow \d+: the body of execution \d+ ran 2 times$/,
    still: { step: "reserve", pace: 1, suddenly: true },
  },
  "lying-checkpoint": {
    kind: "doubled",
    sentence: /^workflow \d+: item 0 was visited again, after 5$/,
    still: { step: "notify", pace: 6 },
  },
  "deaf-heartbeat": {
    kind: "late",
    sentence: /^workflow \d+: the late body of reserve was not told that its lease was lost$/,
    still: { step: "reserve", pace: 1 },
  },
  "ledger-apart": {
    kind: "doubled",
    sentence: /^workflow \d+: the ledger has 2 entries for 1 bookings$/,
    still: null,
  },
  "blind-sweep": {
    kind: "lost",
    sentence: /^workflow \d+: it is performing at the end$/,
    still: { step: "reserve", pace: 1 },
  },
};

for (const [name, { kind, sentence, still }] of Object.entries(CAUGHT)) {
  const { what } = BROKEN[name as Broken];
  Deno.test(`the checker catches ${what}`, async () => {
    const { complaints } = await play(name as Broken, {
      workflows: still?.suddenly ? 1 : 6,
      still,
    });
    const said = complaints.map((one) => `${one.kind}: ${one.sentence}`).join("\n");
    assert.ok(complaints.some((one) => one.kind === kind && sentence.test(one.sentence)), said);
  });
}

for (const still of [null, { step: "reserve", pace: 1 }, { step: "notify", pace: 6 }]) {
  const when = still === null ? "nobody stands still" : `a worker stands still over ${still.step}`;
  Deno.test(`the checker has nothing to say of a whole store when ${when}`, async () => {
    const { complaints, steps, recovered } = await play(null, { workflows: 6, still });
    assert.deepEqual(complaints, []);
    assert.equal(recovered, still === null ? 0 : 1);
    assert.equal(steps, 6 * 4 + recovered);
  });
}
