/**
 * Cases about heroes: which of them have room for another workflow.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { NewWorkflow } from "../../state/records.ts";
import {
  after,
  assertSame,
  command,
  expectKind,
  newExecution,
  newWorkflow,
  only,
  start,
  T0,
} from "./_builders.ts";
import { type StoreCase, storeCase } from "./_case.ts";
import { bring, type Situation } from "./_situations.ts";

function occupied(situation: Situation): StoreCase {
  return storeCase(
    `HERO-03 HERO-05 EXT-30 a hero with a workflow that is ${situation} has no room`,
    async (store) => {
      const { workflowId } = await bring(store, situation);
      const duplicate = only(await store.create([newWorkflow()], { now: after(9_000) }));
      assertSame(duplicate, { kind: "duplicate", existingId: workflowId });
      assert.equal((await store.list({}, { limit: 10 })).length, 1);
      assert.equal((await store.history(workflowId, { limit: 10 })).length, 1);
    },
  );
}

function vacant(situation: Situation): StoreCase {
  return storeCase(
    `HERO-06 a hero whose workflow is ${situation} has room for another`,
    async (store) => {
      const { workflowId } = await bring(store, situation);
      const { workflow } = await start(store);
      const ids = (await store.list({}, { limit: 10 })).map((row) => row.id);
      assertSame(ids, [workflow.id, workflowId]);
    },
  );
}

/** Two workflows that may both be ongoing. */
function together(name: string, one: Partial<NewWorkflow>, two: Partial<NewWorkflow>): StoreCase {
  return storeCase(name, async (store) => {
    const first = await start(store, one);
    const second = await start(store, two);
    assert.notEqual(first.workflow.id, second.workflow.id);
    assert.equal((await store.list({ states: ["ready"] }, { limit: 10 })).length, 2);
  });
}

/** The cases about heroes. */
export const heroCases: readonly StoreCase[] = [
  occupied("ready"),
  occupied("performing"),
  occupied("paused"),
  occupied("paused after a failure"),
  occupied("paused while running"),
  vacant("finished"),
  vacant("canceled"),
  vacant("canceled while running"),

  together("HERO-07 one that may be ongoing beside others is created", {}, { allowMultiple: true }),
  together("HERO-08 one that allows others takes no slot", { allowMultiple: true }, {}),
  together("HERO-09 different definitions of one hero are apart", {}, { name: "billing" }),
  together("heroes of different types with equal ids are apart", {}, { heroType: "Account" }),
  together(
    "HERO-10 workflows without a hero are apart",
    { heroType: null, heroId: null },
    { heroType: null, heroId: null },
  ),
  together("heroes whose ids differ only in case are apart", { heroId: "a" }, { heroId: "A" }),
  together("heroes whose ids differ only in accents are apart", { heroId: "e" }, { heroId: "é" }),
  together("heroes whose ids differ in a final space are apart", { heroId: "a" }, { heroId: "a " }),
  together("definitions whose names differ only in case are apart", { name: "a" }, { name: "A" }),

  storeCase("HERO-07 the permission to be one of several is stored", async (store) => {
    const { workflow } = await start(store, { allowMultiple: true });
    assert.equal((await store.get(workflow.id))?.allowMultiple, true);
  }),

  storeCase("HERO-11 other options do not make a hero's second workflow another", async (store) => {
    await start(store);
    const second = newWorkflow({
      jobOptions: '{"queue":"slow"}',
      input: "{}",
      first: newExecution({ stepName: "other", queue: "slow" }),
    });
    expectKind(only(await store.create([second], { now: T0 })), "duplicate");
  }),

  storeCase("a workflow without steps neither needs nor takes its hero's slot", async (store) => {
    await start(store);
    const stepless = [newWorkflow({ first: null }), newWorkflow({ heroId: "2", first: null })];
    for (const one of await store.create(stepless, { now: T0 })) expectKind(one, "created");
    await start(store, { heroId: "2" });
  }),

  storeCase("EXT-30 cancel frees the slot of a paused workflow", async (store) => {
    const { workflowId } = await bring(store, "paused");
    await command(store, workflowId, { kind: "cancel" });
    await start(store);
  }),
];
