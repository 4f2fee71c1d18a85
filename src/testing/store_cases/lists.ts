/**
 * Cases about lists and counts of workflows.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { StoreDriver, WorkflowFilter } from "../../seams/store.ts";
import type { WorkflowState } from "../../state/records.ts";
import {
  after,
  assertSame,
  assertUnchanged,
  command,
  newExecution,
  newWorkflow,
  newWorkflows,
  NO_IDS,
  skip,
  start,
  T0,
  workflowRow,
} from "./_builders.ts";
import { type StoreCase, storeCase } from "./_case.ts";
import { bring, type Situation } from "./_situations.ts";

/** One workflow in each state, by state; each of a hero of its own. */
async function oneOfEach(store: StoreDriver): Promise<Record<WorkflowState, string>> {
  const ids: Partial<Record<WorkflowState, string>> = {};
  const states = ["finished", "paused", "ready", "canceled", "performing"] as const;
  for (const state of states satisfies readonly Situation[]) {
    ids[state] = (await bring(store, state, { heroId: state })).workflowId;
  }
  return ids as Record<WorkflowState, string>;
}

async function ids(store: StoreDriver, filter: WorkflowFilter): Promise<string[]> {
  return (await store.list(filter, { limit: 100 })).map((row) => row.id);
}

async function idSet(store: StoreDriver, filter: WorkflowFilter): Promise<Set<string>> {
  return new Set(await ids(store, filter));
}

const filterCases: readonly StoreCase[] = [
  storeCase("a list of an empty store is empty", async (store) => {
    assertSame(await store.list({}, { limit: 10 }), []);
    assertSame(await store.counts(), []);
    assertSame(await store.stepCounts("onboarding"), []);
  }),

  storeCase("a list holds whole rows, newest first", async (store) => {
    const started: string[] = [];
    for (const heroId of ["1", "2", "3"]) {
      started.push((await start(store, { heroId })).workflow.id);
    }
    const rows = await store.list({}, { limit: 10 });
    assertSame(rows.map((row) => row.id), started.reverse());
    for (const row of rows) assertSame(row, await workflowRow(store, row.id));
  }),

  storeCase("QRY-01 QRY-02 AUD-03 states are listed one by one and together", async (store) => {
    const of = await oneOfEach(store);
    for (const [state, id] of Object.entries(of)) {
      assertSame(await ids(store, { states: [state as WorkflowState] }), [id]);
    }
    assertSame(
      await idSet(store, { states: ["ready", "performing", "paused"] }),
      new Set([of.ready, of.performing, of.paused]),
    );
    assertSame(
      await idSet(store, { states: ["paused", "canceled"] }),
      new Set([of.paused, of.canceled]),
    );
    assertSame(await ids(store, { states: [] }), []);
    assert.equal((await ids(store, {})).length, 5);
  }),

  storeCase("QRY-03 a hero's workflows of any state are listed", async (store) => {
    const old = (await bring(store, "finished", { heroId: "7" })).workflowId;
    const ongoing = (await bring(store, "paused", { heroId: "7" })).workflowId;
    const account = (await bring(store, "ready", { heroId: "7", heroType: "Account" })).workflowId;
    await bring(store, "ready", { heroId: "8" });
    await bring(store, "ready", { heroType: null, heroId: null });
    assertSame(await ids(store, { heroType: "User", heroId: "7" }), [ongoing, old]);
    assertSame(await ids(store, { heroId: "7" }), [account, ongoing, old]);
    assertSame(await ids(store, { heroType: "Account" }), [account]);
    assertSame(await ids(store, { heroId: "7", states: ["paused"] }), [ongoing]);
    assertSame(await ids(store, { heroId: "9" }), []);
  }),

  storeCase("QRY-06 QRY-11 definitions are listed by name, known or not", async (store) => {
    const a = (await start(store, { name: "a" })).workflow.id;
    const b = (await start(store, { name: "b" })).workflow.id;
    const c = (await start(store, { name: "gone from the code" })).workflow.id;
    assertSame(await ids(store, { names: ["a"] }), [a]);
    assertSame(await ids(store, { names: ["b", "gone from the code"] }), [c, b]);
    assertSame(await ids(store, { names: ["A"] }), []);
    assertSame(await ids(store, { names: [] }), []);
    assertSame(await ids(store, { names: ["a", "a"], states: ["ready", "ready"] }), [a]);
  }),

  storeCase("workflows are listed by the step that they point at", async (store) => {
    const first = (await start(store, { heroId: "1" })).workflow.id;
    const second = (await start(store, { heroId: "2" })).workflow.id;
    await command(store, second, skip(newExecution({ stepName: "second" })));
    assertSame(await ids(store, { nextStepName: "first" }), [first]);
    assertSame(await ids(store, { nextStepName: "second" }), [second]);
    assertSame(await ids(store, { nextStepName: "third" }), []);
  }),

  storeCase("QRY-07 rows that were not written since an instant are listed", async (store) => {
    const stuck = (await start(store, { heroId: "1" })).workflow.id;
    const fresh = (await start(store, { heroId: "2" })).workflow.id;
    await command(store, fresh, { kind: "pause" }, { now: after(5_000) });
    assertSame(await ids(store, { updatedBefore: T0 }), []);
    assertSame(await ids(store, { updatedBefore: after(1) }), [stuck]);
    assertSame(await ids(store, { updatedBefore: after(5_000) }), [stuck]);
    assertSame(await ids(store, { updatedBefore: after(5_001) }), [fresh, stuck]);
  }),

  storeCase("QRY-06 filters are combined", async (store) => {
    const wanted = await bring(store, "paused", { name: "a", heroId: "1" });
    await bring(store, "ready", { name: "a", heroId: "2" });
    await bring(store, "paused", { name: "b", heroId: "1" });
    const filter = {
      names: ["a"],
      states: ["paused", "finished"] as const,
      heroType: "User",
      heroId: "1",
      nextStepName: "first",
      updatedBefore: after(60_000),
    };
    assertSame(await ids(store, filter), [wanted.workflowId]);
    assertSame(await ids(store, { ...filter, nextStepName: "second" }), []);
    assertSame(await ids(store, { ...filter, heroType: "Account" }), []);
  }),
];

async function allPages(
  store: StoreDriver,
  filter: WorkflowFilter,
  between: (page: number) => Promise<void> = () => Promise.resolve(),
): Promise<string[]> {
  const seen: string[] = [];
  let last: string | undefined;
  for (let page = 0; page < 50; page++) {
    const rows = await store.list(filter, { limit: 4, after: last });
    if (rows.length === 0) return seen;
    seen.push(...rows.map((row) => row.id));
    last = rows.at(-1)?.id;
    await between(page);
  }
  throw new Error("The pages have no end");
}

const pageCases: readonly StoreCase[] = [
  storeCase("pages follow each other without gaps or repeats", async (store) => {
    await store.create(newWorkflows(18), { now: T0 });
    const all = await ids(store, {});
    assert.equal(all.length, 18);
    assertSame(await allPages(store, {}), all);
    assertSame((await store.list({}, { limit: 1 })).map((row) => row.id), [all[0]]);
  }),

  storeCase("pages stay in step while rows are added", async (store) => {
    await store.create(newWorkflows(12), { now: T0 });
    const all = await ids(store, {});
    const seen = await allPages(store, {}, async (page) => {
      await store.create(newWorkflows(2, { name: `added ${page}` }), { now: after(page) });
    });
    assertSame(seen, all);
    assert.ok((await ids(store, {})).length > 12, "rows were added on the way");
  }),

  storeCase("pages stay in step while rows leave the filter", async (store) => {
    await store.create(newWorkflows(10), { now: T0 });
    const all = await ids(store, { states: ["ready"] });
    const seen = await allPages(store, { states: ["ready"] }, async (page) => {
      await command(store, all[page * 4] as string, { kind: "cancel" });
    });
    assertSame(seen, all);
  }),

  storeCase("pages of a filter hold only what it lets through", async (store) => {
    const batch = newWorkflows(20).map((one, at) =>
      newWorkflow({ ...one, name: at % 3 === 0 ? "a" : "b" })
    );
    await store.create(batch, { now: T0 });
    const all = await ids(store, { names: ["a"] });
    assert.equal(all.length, 7);
    assertSame(await allPages(store, { names: ["a"] }), all);
  }),

  storeCase("a page can follow a row that was deleted meanwhile", async (store) => {
    const older = (await start(store, { heroId: "1" })).workflow.id;
    const { workflowId } = await bring(store, "canceled", { heroId: "2" });
    await store.purge({ before: after(60_000), limit: 1 });
    const rows = await store.list({}, { limit: 10, after: workflowId });
    assertSame(rows.map((row) => row.id), [older]);
  }),

  storeCase("a page after an id that no row has is no error", async (store) => {
    const { workflow } = await start(store);
    for (const id of NO_IDS) {
      const rows = await assertUnchanged(
        store,
        workflow.id,
        () => store.list({}, { limit: 10, after: id }),
      );
      assert.ok(rows.length <= 1);
    }
  }),
];

const countCases: readonly StoreCase[] = [
  storeCase("workflows are counted by definition and state", async (store) => {
    await oneOfEach(store);
    await bring(store, "finished", { heroId: "another" });
    await bring(store, "ready", { name: "billing" });
    const counts = [...await store.counts()].sort((a, b) =>
      `${a.workflow} ${a.state}`.localeCompare(`${b.workflow} ${b.state}`)
    );
    assertSame(counts, [
      { workflow: "billing", state: "ready", count: 1 },
      { workflow: "onboarding", state: "canceled", count: 1 },
      { workflow: "onboarding", state: "finished", count: 2 },
      { workflow: "onboarding", state: "paused", count: 1 },
      { workflow: "onboarding", state: "performing", count: 1 },
      { workflow: "onboarding", state: "ready", count: 1 },
    ]);
  }),

  storeCase("a state that nobody is in any more is not counted", async (store) => {
    const { workflow } = await start(store);
    await command(store, workflow.id, { kind: "pause" });
    assertSame(await store.counts(), [{ workflow: "onboarding", state: "paused", count: 1 }]);
  }),

  storeCase(
    "QRY-12 ongoing workflows are counted by the step that they point at",
    async (store) => {
      for (const [at, situation] of (["ready", "performing", "paused"] as const).entries()) {
        await bring(store, situation, { heroId: String(at) });
      }
      await bring(store, "finished", { heroId: "f" });
      await bring(store, "canceled", { heroId: "c" });
      await bring(store, "ready", { name: "billing" });
      const { workflow } = await start(store, { heroId: "s" });
      await command(store, workflow.id, skip(newExecution({ stepName: "second" })));
      const counts = [...await store.stepCounts("onboarding")].sort((a, b) => b.count - a.count);
      assertSame(counts, [
        { stepName: "first", count: 3 },
        { stepName: "second", count: 1 },
      ]);
      assertSame(await store.stepCounts("none"), []);
    },
  ),
];

/** The cases about lists and counts. */
export const listCases: readonly StoreCase[] = [...filterCases, ...pageCases, ...countCases];
