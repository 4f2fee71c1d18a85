import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import type { StoreDriver } from "../../src/seams/store.ts";
import type { Claimed } from "../../src/state/claim.ts";
import type { WorkflowState } from "../../src/state/records.ts";
import {
  CLAIM,
  finished,
  made,
  newWorkflow,
  NOW,
  rowCount,
  start,
  withMemory,
  withStore,
} from "./_sqlite.ts";

type Store = StoreDriver<DatabaseSync>;

async function claimOne(store: Store): Promise<Claimed> {
  const [claimed] = await store.claimDue({ ...CLAIM, limit: 1 });
  assert.ok(claimed !== undefined, "nothing was due");
  return claimed;
}

async function bring(store: Store, id: string, state: WorkflowState): Promise<void> {
  if (state === "paused") await store.command(id, { kind: "pause" }, { now: NOW });
  if (state === "canceled") await store.command(id, { kind: "cancel" }, { now: NOW });
  if (state === "performing" || state === "finished") {
    const claimed = await claimOne(store);
    if (state === "finished") await store.finish([finished(claimed)], { now: NOW });
  }
  assert.equal((await store.get(id))?.state, state);
}

for (const state of ["ready", "performing", "paused"] as const) {
  Deno.test(`HERO-03 HERO-05 a second workflow beside one that is ${state} is a duplicate and leaves nothing`, () =>
    withMemory(async (store, db) => {
      const { workflow } = await start(store);
      await bring(store, workflow.id, state);
      const second = await store.create([newWorkflow()], { now: NOW });
      assert.deepEqual(second, [{ kind: "duplicate", existingId: workflow.id }]);
      assert.equal(rowCount(db, "pawl_workflows"), 1);
      assert.equal(rowCount(db, "pawl_step_executions"), 1);
    }));
}

for (const state of ["finished", "canceled"] as const) {
  Deno.test(`HERO-06 a second workflow after one that is ${state} is created`, () =>
    withMemory(async (store, db) => {
      const { workflow } = await start(store);
      await bring(store, workflow.id, state);
      await start(store);
      assert.equal(rowCount(db, "pawl_workflows"), 2);
    }));
}

Deno.test("HERO-07 HERO-08 rows with allowMultiple neither need nor take the hero's place", () =>
  withMemory(async (store) => {
    const several = await start(store, { allowMultiple: true });
    assert.equal((await store.get(several.workflow.id))?.allowMultiple, true);
    await start(store, { allowMultiple: true });
    await start(store);
    await start(store, { allowMultiple: true });
    const [refused] = await store.create([newWorkflow()], { now: NOW });
    assert.equal(refused?.kind, "duplicate");
  }));

Deno.test("HERO-09 HERO-10 HERO-11 name and hero make the place, job options do not", () =>
  withMemory(async (store) => {
    await start(store);
    await start(store, { name: "billing" });
    await start(store, { heroType: "Team" });
    await start(store, { heroType: null, heroId: null });
    await start(store, { heroType: null, heroId: null });
    const other = newWorkflow({ jobOptions: '{"queue":"mail"}' });
    assert.equal((await store.create([other], { now: NOW }))[0]?.kind, "duplicate");
  }));

Deno.test("HERO-03 a batch reports each duplicate, also of its own members, and creates the others", () =>
  withMemory(async (store, db) => {
    const { workflow } = await start(store, { heroId: "taken" });
    const heroes = ["a", "taken", "a", "b"];
    const batch = heroes.map((heroId) => newWorkflow({ heroId }));
    const created = await store.create(batch, { now: NOW });
    assert.deepEqual(created.map((one) => one.kind), [
      "created",
      "duplicate",
      "duplicate",
      "created",
    ]);
    assert.deepEqual(created[1], { kind: "duplicate", existingId: workflow.id });
    assert.deepEqual(created[2], {
      kind: "duplicate",
      existingId: made(created[0]).workflow.id,
    });
    assert.equal(made(created[3]).execution?.workflowId, made(created[3]).workflow.id);
    assert.equal(rowCount(db, "pawl_workflows"), 3);
    assert.equal(rowCount(db, "pawl_step_executions"), 3);
  }));

Deno.test("HERO-04 of several connections that create at once exactly one succeeds", () =>
  withStore(async (store, path) => {
    const others = Array.from({ length: 4 }, () => sqliteStore(path));
    const all = await Promise.all(
      [store, ...others].map((one) => one.create([newWorkflow()], { now: NOW })),
    );
    assert.equal(all.flat().filter((one) => one.kind === "created").length, 1);
    for (const other of others) await other.close();
  }));
