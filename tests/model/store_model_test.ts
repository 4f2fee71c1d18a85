/**
 * Every store against the reference: both get the same random operations, and whatever they answer
 * must be the same.
 */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { memoryStore } from "../../drivers/memory/mod.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import type { StoreDriver } from "../../mod.ts";
import { STORE_KINDS } from "../security/_stores.ts";
import { runs } from "../security/_values.ts";
import { type StoreOperation, storeOperation, StoreWorld } from "./_store_world.ts";

const NAME = "EXE-05 EXE-17 random operations have the same answers as in the reference store";

async function inStep(store: StoreDriver, operations: readonly StoreOperation[]): Promise<void> {
  const [ours, reference] = [new StoreWorld(store), new StoreWorld(memoryStore())];
  for (const op of operations) {
    assert.deepEqual(await ours.apply(op), await reference.apply(op), op.kind);
  }
}

for (const keyType of ["bigint", "uuid"] as const) {
  Deno.test(`${NAME} (SQLite, ${keyType} keys)`, () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(storeOperation, { minLength: 5, maxLength: 60 }),
        async (operations) => {
          const db = new DatabaseSync(":memory:");
          const store = sqliteStore(db);
          await store.migrate({ keyType });
          await inStep(store as StoreDriver, operations);
          db.close();
        },
      ),
      { numRuns: runs(150) },
    ));
}

for (const kind of STORE_KINDS.filter((one) => one.isServer)) {
  Deno.test({
    name: `${NAME} (${kind.name})`,
    ignore: !kind.isHere,
    async fn() {
      const { store, clear, drop } = await kind.open();
      try {
        await fc.assert(
          fc.asyncProperty(
            fc.array(storeOperation, { minLength: 5, maxLength: 40 }),
            async (operations) => {
              await clear();
              await inStep(store, operations);
            },
          ),
          { numRuns: runs(25) },
        );
      } finally {
        await drop();
      }
    },
  });
}
