/**
 * What the cases about races share.
 *
 * @module
 */

import type { StoreDriver } from "../../seams/store.ts";
import { after } from "./_builders.ts";
import { raceCase, type StoreCase } from "./_case.ts";

/** The instant of the races. */
export const NOW: Date = after(5_000);
const ROUNDS = 5;

/** Runs a race several times, each for a hero of its own, because one run may be lucky. */
export function race(
  name: string,
  prove: (one: StoreDriver, two: StoreDriver, heroId: string) => Promise<void>,
): StoreCase {
  return raceCase(name, async (one, two) => {
    for (let round = 0; round < ROUNDS; round++) await prove(one, two, `hero ${round}`);
  });
}

/** What came of several, in no order. */
export function kinds(results: readonly { readonly kind: string }[]): string[] {
  return results.map((one) => one.kind).sort();
}
