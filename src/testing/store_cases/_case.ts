/**
 * What a conformance case of a store is.
 *
 * @module
 */

import type { StoreDriver } from "../../seams/store.ts";

/** What a case of a store works with: one database, empty when the case begins. */
export interface StoreCaseContext {
  /** Opens the case's database, migrated; called again, opens another connection to it. */
  open(): Promise<StoreDriver>;
  /** Runs a query on that database; absent where the store has no SQL. */
  query?(sql: string, params: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
}

/** One statement about stores, and how it is proved. */
export interface StoreCase {
  /** The statement, beginning with the ids of the behaviours that it covers. */
  readonly name: string;
  /** Rejects with an assertion error when the statement does not hold. */
  run(context: StoreCaseContext): Promise<void>;
}

/** A case that starts with one open store. */
export function storeCase(
  name: string,
  prove: (store: StoreDriver, context: StoreCaseContext) => Promise<void>,
): StoreCase {
  return { name, run: async (context) => await prove(await context.open(), context) };
}

/** A case about two connections to one database. */
export function raceCase(
  name: string,
  prove: (one: StoreDriver, two: StoreDriver) => Promise<void>,
): StoreCase {
  return storeCase(name, async (store, context) => await prove(store, await context.open()));
}
