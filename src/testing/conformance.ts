/**
 * What every store and every queue must do, as data: cases with a name and a proof, without any
 * test framework. A driver runs them with the test runner it likes, in Deno or in Node.
 *
 * @example A store of your own, in Deno
 * ```ts ignore
 * import { registerStoreCases } from "@pawl/pawl/testing";
 *
 * registerStoreCases("mine", {
 *   async database() {
 *     const name = await createEmptyDatabase();
 *     return { open: () => myStore(name), drop: () => dropDatabase(name) };
 *   },
 * }, (name, run, skip) => Deno.test({ name, fn: run, ignore: skip !== null }));
 * ```
 *
 * @example The same in Node
 * ```ts ignore
 * import { test } from "node:test";
 * registerStoreCases("mine", setup, (name, run, skip) => test(name, { skip: skip ?? false }, run));
 * ```
 *
 * @module
 */

import type { StoreDriver } from "../seams/store.ts";
import { type CaseQueue, type QueueCase, queueCases } from "./queue_cases.ts";
import type { StoreCase, StoreCaseContext } from "./store_cases/_case.ts";
import { activityCases } from "./store_cases/activity.ts";
import { checkpointCases } from "./store_cases/checkpoint.ts";
import { claimCases } from "./store_cases/claim.ts";
import { claimDueCases } from "./store_cases/claim_due.ts";
import { commandCases } from "./store_cases/command.ts";
import { createCases } from "./store_cases/create.ts";
import { dutyCases } from "./store_cases/duties.ts";
import { finishCases } from "./store_cases/finish.ts";
import { closingStoreCases } from "./store_cases/finish_closing.ts";
import { disturbedCases } from "./store_cases/finish_disturbed.ts";
import { heroCases } from "./store_cases/heroes.ts";
import { hintCases } from "./store_cases/hints.ts";
import { joinStoreCases } from "./store_cases/joins.ts";
import { leaseCases } from "./store_cases/leases.ts";
import { listCases } from "./store_cases/lists.ts";
import { purgeCases } from "./store_cases/purge.ts";
import { raceCases } from "./store_cases/races.ts";
import { outsideRaceCases } from "./store_cases/races_outside.ts";
import { readCases } from "./store_cases/reads.ts";
import { resumeCases } from "./store_cases/resume.ts";
import { signalCases } from "./store_cases/signal.ts";
import { signalKeyCases } from "./store_cases/signal_keys.ts";
import { skipAndPlaceCases } from "./store_cases/skip.ts";
import { transactionStoreCases } from "./store_cases/transactions.ts";
import { troubleCases } from "./store_cases/troubles.ts";
import { valueCases } from "./store_cases/values.ts";

export {
  type CaseQueue,
  type QueueCase,
  type QueueCaseContext,
  queueCases,
} from "./queue_cases.ts";
export type { StoreCase, StoreCaseContext } from "./store_cases/_case.ts";

/** All cases of a store, by member of the seam. */
export const storeCases: readonly StoreCase[] = [
  ...createCases,
  ...heroCases,
  ...valueCases,
  ...claimCases,
  ...claimDueCases,
  ...leaseCases,
  ...checkpointCases,
  ...finishCases,
  ...closingStoreCases,
  ...disturbedCases,
  ...hintCases,
  ...commandCases,
  ...resumeCases,
  ...skipAndPlaceCases,
  ...signalCases,
  ...signalKeyCases,
  ...purgeCases,
  ...dutyCases,
  ...readCases,
  ...listCases,
  ...activityCases,
  ...troubleCases,
  ...joinStoreCases,
  ...transactionStoreCases,
  ...raceCases,
  ...outsideRaceCases,
];

/** A case that a driver does not run, and why. */
export interface SkippedCase {
  /** The case's name, in full. */
  readonly name: string;
  /** Why this driver need not or cannot pass it. */
  readonly reason: string;
}

/** Hands a case to a test runner; `skip` is the reason to leave it out, or null. */
export type Register = (name: string, run: () => Promise<void>, skip: string | null) => void;

/** An empty database for one case. */
export interface CaseDatabase {
  /**
   * Opens a store on it; called again, another connection to the same database. Where only one
   * connection can see it, the same store may be answered each time.
   */
  open(): StoreDriver | Promise<StoreDriver>;
  /** Runs a query on it; absent where the store has no SQL. */
  query?: StoreCaseContext["query"];
  /** Removes it, after its stores were closed. */
  drop?(): void | Promise<void>;
}

/** The store that is to be tested. */
export interface StoreUnderTest {
  /** Makes an empty database for one case; it need not be migrated. */
  database(): CaseDatabase | Promise<CaseDatabase>;
  /** The cases to leave out. */
  readonly skip?: readonly SkippedCase[];
}

/** Hands every case of a store to a test runner, named `<prefix>: <case>`. */
export function registerStoreCases(
  prefix: string,
  store: StoreUnderTest,
  register: Register,
): void {
  registerAll(prefix, storeCases, store.skip ?? [], register, async (one) => {
    await runStoreCase(one, await store.database());
  });
}

/** Runs one case on an empty database, and closes and removes that whatever comes of it. */
export async function runStoreCase(one: StoreCase, database: CaseDatabase): Promise<void> {
  const opened = new Set<StoreDriver>();
  const { query } = database;
  try {
    await one.run({
      async open() {
        const store = await database.open();
        if (opened.size === 0) await store.migrate();
        opened.add(store);
        return store;
      },
      ...(query === undefined ? {} : { query }),
    });
  } finally {
    for (const store of opened) await store.close();
    await database.drop?.();
  }
}

/** The queue that is to be tested. */
export interface QueueUnderTest {
  /** Opens an empty queue for one case, with the clock that drives it. */
  open(): CaseQueue | Promise<CaseQueue>;
  /** The cases to leave out. */
  readonly skip?: readonly SkippedCase[];
}

/** Hands every case of a queue to a test runner, named `<prefix>: <case>`. */
export function registerQueueCases(
  prefix: string,
  queue: QueueUnderTest,
  register: Register,
): void {
  registerAll(prefix, queueCases, queue.skip ?? [], register, async (one: QueueCase) => {
    await one.run({ open: async () => await queue.open() });
  });
}

function registerAll<Case extends { readonly name: string }>(
  prefix: string,
  cases: readonly Case[],
  skips: readonly SkippedCase[],
  register: Register,
  run: (one: Case) => Promise<void>,
): void {
  const reasons = new Map(skips.map((skip) => [skip.name, skip.reason]));
  for (const one of cases) {
    register(`${prefix}: ${one.name}`, () => run(one), reasons.get(one.name) ?? null);
    reasons.delete(one.name);
  }
  const [unknown] = reasons.keys();
  if (unknown === undefined) return;
  throw new TypeError(
    `Cannot skip "${unknown}": there is no such case; correct or remove the skip`,
  );
}
