/**
 * Behaviours are tested through the public API on every embedded store: the same test, once in
 * memory and once on SQLite. The servers' stores run the conformance cases (`tests/conformance`).
 */

import { memoryStore } from "../drivers/memory/mod.ts";
import { sqliteStore } from "../drivers/sqlite/mod.ts";
import type { StoreDriver } from "../mod.ts";
import { type TestEngine, testEngine, type TestEngineOptions } from "../src/testing/mod.ts";

const STORES: Readonly<Record<string, () => StoreDriver>> = {
  memory: () => memoryStore(),
  SQLite: () => sqliteStore(":memory:"),
};

/** What a behaviour is given. */
export interface World {
  /** Makes an engine with a fake clock on the store under test; it is closed after the test. */
  engine(options?: TestEngineOptions): Promise<TestEngine>;
  /** Opens a store of the kind under test, for tests that make their engine themselves. */
  store(): StoreDriver;
}

/** Registers a test of one behaviour for every embedded store. */
export function behaviour(name: string, test: (world: World) => Promise<void>): void {
  for (const [kind, open] of Object.entries(STORES)) {
    Deno.test(`${name} (${kind})`, async () => {
      const engines: TestEngine[] = [];
      try {
        await test({
          store: open,
          async engine(options = {}) {
            const made = await testEngine({ store: open(), ...options });
            engines.push(made);
            return made;
          },
        });
      } finally {
        for (const { engine } of engines) await engine.close();
      }
    });
  }
}
