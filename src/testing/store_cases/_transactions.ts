/**
 * What the cases about transactions share.
 *
 * @module
 */

import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import type { StoreDriver } from "../../seams/store.ts";

/** What a case throws to have a transaction rolled back. */
export class Refusal extends Error {}

/** Lets everything run that can run without anybody's help. */
export function turn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

/** A transaction that is rolled back after its work. */
export async function rolledBack(
  store: StoreDriver,
  work: (tx: unknown) => Promise<unknown>,
): Promise<void> {
  const refusal = new Refusal("No");
  const open = store.transaction(async (tx) => {
    await work(tx);
    throw refusal;
  });
  await assert.rejects(open, (error) => error === refusal);
}
