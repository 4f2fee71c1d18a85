/**
 * What only the memory store promises; the rest of it is in the conformance cases.
 */

import assert from "node:assert/strict";
import { memoryDatabase, memoryStore, type MemoryTx } from "../../drivers/memory/mod.ts";
import { StoreError } from "../../src/errors.ts";
import type { NewWorkflow } from "../../src/state/records.ts";

const NOW = new Date("2026-03-01T12:00:00.000Z");

function fresh(heroId: string): NewWorkflow {
  return {
    name: "onboarding",
    heroType: "User",
    heroId,
    allowMultiple: false,
    input: null,
    metadata: null,
    jobOptions: null,
    traceparent: null,
    first: {
      stepName: "first",
      scheduledFor: NOW,
      graceMs: 0,
      attempt: 1,
      failures: 0,
      continuesFromId: null,
      cursor: null,
      waitingFor: null,
      waitUntil: null,
      metadata: null,
      queue: "default",
      priority: 0,
      hold: null,
    },
  };
}

function isStoreError(message: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof StoreError);
    assert.equal(error.driver, "memory");
    assert.match(error.message, message);
    return true;
  };
}

Deno.test("memoryStore() has nothing to migrate", async () => {
  const report = await memoryStore().migrate();
  assert.deepEqual(report, { applied: [], present: [], sql: "", keyType: "bigint" });
});

Deno.test("memoryStore() gives increasing whole numbers as ids", async () => {
  const store = memoryStore();
  const created = await store.create([fresh("1"), fresh("2"), fresh("3")], { now: NOW });
  const ids = created.map((one) => one.kind === "created" ? one.workflow.id : null);
  assert.deepEqual(ids, ["1", "2", "3"]);
});

Deno.test("QRY-08 memoryStore() says that it has no SQL and what to use instead", () => {
  const asked = { name: "a", heroType: "User", heroIdColumn: "users.id", ongoing: false };
  assert.throws(
    () => memoryStore().presence(asked),
    isStoreError(/^\[memory\] Cannot make a presence query: this store has no SQL; use list\(\)/),
  );
});

Deno.test("memory stores have rows of their own, or share a database", async () => {
  const database = memoryDatabase();
  const [one, two] = [memoryStore({ database }), memoryStore({ database })];
  await one.create([fresh("1")], { now: NOW });
  await one.close();
  assert.equal((await two.list({}, { limit: 10 })).length, 1);
  assert.deepEqual(await memoryStore().list({}, { limit: 10 }), []);
});

Deno.test("memoryStore() refuses a database that is none", () => {
  const database = { kind: "memory" } as const;
  assert.throws(() => memoryStore({ database }), isStoreError(/pass what memoryDatabase\(\)/));
});

Deno.test("a memory transaction that has ended takes no more writes", async () => {
  const store = memoryStore();
  let kept: MemoryTx | undefined;
  await store.transaction((tx) => {
    kept = tx;
    return Promise.resolve();
  });
  const refused = isStoreError(/Cannot use this transaction: it has ended/);
  await assert.rejects(store.create([fresh("1")], { now: NOW, tx: kept }), refused);
  await assert.rejects(store.get("1", { tx: kept }), refused);
  assert.deepEqual(await store.list({}, { limit: 10 }), []);
});

Deno.test("a memory transaction belongs to its database", async () => {
  const [one, two] = [memoryStore(), memoryStore()];
  await one.transaction(async (tx) => {
    const stray = two.create([fresh("1")], { now: NOW, tx });
    await assert.rejects(stray, isStoreError(/it is another store's/));
  });
});

Deno.test("a write that nobody awaits belongs to its transaction all the same", async () => {
  const store = memoryStore();
  let written: Promise<unknown> | undefined;
  await store.transaction((tx) => {
    written = store.create([fresh("1")], { now: NOW, tx });
    return Promise.resolve();
  });
  await written;
  assert.equal((await store.list({}, { limit: 10 })).length, 1);
});

Deno.test("reads without tx do not wait for an open memory transaction", async () => {
  const store = memoryStore();
  await store.create([fresh("1")], { now: NOW });
  await store.transaction(async (tx) => {
    await store.create([fresh("2")], { now: NOW, tx });
    assert.equal((await store.list({}, { limit: 10 })).length, 1);
    assert.deepEqual(await store.counts(), [{ workflow: "onboarding", state: "ready", count: 1 }]);
    assert.equal((await store.due({ before: new Date(NOW.getTime() + 1), limit: 10 })).length, 1);
  });
  assert.equal((await store.list({}, { limit: 10 })).length, 2);
});

Deno.test("a memory transaction inside beforeCommit is part of the write", async () => {
  const store = memoryStore();
  await store.create([fresh("1")], {
    now: NOW,
    beforeCommit: async (tx) => {
      const seen = await store.get("1", { tx });
      assert.equal(seen?.heroId, "1");
    },
  });
});
