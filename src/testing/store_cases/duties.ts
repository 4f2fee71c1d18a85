/**
 * Cases about `takeDuty`: one of all workers does what only one should do.
 *
 * @module
 */

import assert from "node:assert/strict";
import { after, T0 } from "./_builders.ts";
import { raceCase, type StoreCase, storeCase } from "./_case.ts";

const HOLD_MS = 1_000;

/** The cases about `takeDuty`. */
export const dutyCases: readonly StoreCase[] = [
  storeCase(
    "HSK-31 a duty is held by one until its time is over, and then anybody's",
    async (store) => {
      const take = (holder: string, now: Date): Promise<boolean> =>
        store.takeDuty("housekeeping", { holder, now, holdMs: HOLD_MS });
      assert.equal(await take("ann", T0), true);
      assert.equal(await take("bob", after(999)), false);
      assert.equal(await take("ann", after(999)), true, "its holder may keep it");
      assert.equal(await take("bob", after(1_998)), false, "and holds it for longer then");
      assert.equal(await take("bob", after(1_999)), true);
      assert.equal(await take("ann", after(2_000)), false);
    },
  ),
  raceCase("HSK-31 U33 of many who take a duty at once exactly one has it", async (one, two) => {
    const takes = Array.from({ length: 10 }, (_, at) => {
      const store = at % 2 === 0 ? one : two;
      return store.takeDuty("housekeeping", { holder: `w${at}`, now: T0, holdMs: HOLD_MS });
    });
    assert.equal((await Promise.all(takes)).filter(Boolean).length, 1);
  }),
];
