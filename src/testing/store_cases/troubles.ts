/**
 * Cases about what has gone wrong: the failures of paused workflows, lists by the class of an error,
 * and the cursors that a deploy must not lose.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { CursorCount, Failure, StoreDriver } from "../../seams/store.ts";
import type { NewWorkflow } from "../../state/records.ts";
import {
  after,
  claim,
  CLOSINGS,
  command,
  executionRow,
  finish,
  finished,
  newExecution,
  resume,
  start,
} from "./_builders.ts";
import { type StoreCase, storeCase } from "./_case.ts";
import { bring, type Situation, SITUATIONS } from "./_situations.ts";

/** Starts a workflow whose first execution fails and pauses it; answers its ids. */
async function failed(
  store: StoreDriver,
  errorClass: string,
  over: Partial<NewWorkflow> = {},
): Promise<{ workflowId: string; executionId: string }> {
  const { workflow, execution } = await start(store, over);
  const claimed = await claim(store, execution.id);
  await finish(
    store,
    finished(claimed, {
      closing: CLOSINGS.failure,
      error: { errorClass, message: "It broke", stack: "at charge (pay.ts:1:1)" },
      keepCursor: true,
      workflowState: "paused",
      nextStepName: "first",
    }),
  );
  return { workflowId: workflow.id, executionId: execution.id };
}

function ids(failures: readonly Failure[]): string[] {
  return failures.map((one) => one.execution.workflowId);
}

function apart(situation: Situation): StoreCase {
  return storeCase(`failures() leaves out what is ${situation}`, async (store) => {
    await bring(store, situation);
    assert.deepEqual(await store.failures({}, { limit: 10 }), []);
  });
}

const failureCases: readonly StoreCase[] = [
  storeCase(
    "failures() answers the failed execution of a paused workflow, with its definition's name",
    async (store) => {
      const { workflowId, executionId } = await failed(store, "TypeError");
      const execution = await executionRow(store, executionId);
      assert.equal(execution.errorClass, "TypeError");
      assert.equal(execution.errorStack, "at charge (pay.ts:1:1)");
      assert.equal(execution.workflowId, workflowId);
      assert.deepEqual(await store.failures({}, { limit: 10 }), [{
        workflowName: "onboarding",
        execution,
      }]);
    },
  ),

  ...SITUATIONS.filter((one) => one !== "paused after a failure").map(apart),

  storeCase("failures() knows only the newest execution of a workflow", async (store) => {
    const { workflowId } = await failed(store, "TypeError");
    await command(store, workflowId, resume());
    assert.deepEqual(await store.failures({}, { limit: 10 }), [], "it goes on");
    await command(store, workflowId, { kind: "pause" }, { now: after(3_000) });
    assert.deepEqual(await store.failures({}, { limit: 10 }), [], "somebody paused it");

    await command(store, workflowId, resume(), { now: after(4_000) });
    const active = await store.active(workflowId);
    const claimed = await claim(store, active?.id ?? "", { now: after(10_000), token: "again" });
    await finish(
      store,
      finished(claimed, {
        closing: CLOSINGS.failure,
        error: { errorClass: "RangeError", message: "", stack: null },
        workflowState: "paused",
        nextStepName: "first",
      }),
      { now: after(11_000) },
    );
    const failures = await store.failures({}, { limit: 10 });
    assert.deepEqual(failures.map((one) => one.execution.errorClass), ["RangeError"]);
  }),

  storeCase("failures() come in pages, newest workflow first, none twice", async (store) => {
    const all: string[] = [];
    for (let hero = 1; hero <= 7; hero++) {
      // One that is paused without a failure lies between all others.
      await bring(store, "paused", { heroId: `p${hero}` });
      all.unshift((await failed(store, "TypeError", { heroId: String(hero) })).workflowId);
    }
    const found: string[] = [];
    let last: string | undefined;
    while (found.length < 100) {
      const page: string[] = ids(await store.failures({}, { limit: 3, after: last }));
      assert.ok(page.length <= 3);
      found.push(...page);
      if (page.length < 3) break;
      last = page.at(-1);
    }
    assert.deepEqual(found, all);
  }),

  storeCase("failures() can be asked for some definitions", async (store) => {
    const one = await failed(store, "TypeError", { name: "billing" });
    const two = await failed(store, "TypeError", { name: "export" });
    await failed(store, "TypeError", { name: "erasure" });
    const page = { limit: 10 };
    assert.deepEqual(ids(await store.failures({ names: ["billing"] }, page)), [one.workflowId]);
    assert.deepEqual(ids(await store.failures({ names: ["export", "billing", "none"] }, page)), [
      two.workflowId,
      one.workflowId,
    ]);
    assert.deepEqual(await store.failures({ names: [] }, page), []);
  }),

  storeCase(
    "failures() of a limit of none, or after an id that is none, are none",
    async (store) => {
      await failed(store, "TypeError");
      assert.deepEqual(await store.failures({}, { limit: 0 }), []);
      for (const id of ["abc", "1' OR '1'='1", "🐢"]) {
        assert.deepEqual(await store.failures({}, { limit: 10, after: id }), [], id);
      }
    },
  ),
];

const listCases: readonly StoreCase[] = [
  storeCase("list() by the class of the error that came last", async (store) => {
    const types = await failed(store, "TypeError");
    const ranges = await failed(store, "RangeError", { heroId: "2" });
    await failed(store, "typeerror", { heroId: "3" });
    await bring(store, "ready", { heroId: "4" });
    const listed = async (errorClass: string, page = { limit: 10 }): Promise<string[]> =>
      (await store.list({ states: ["paused"], errorClass }, page)).map((row) => row.id);
    assert.deepEqual(await listed("TypeError"), [types.workflowId]);
    assert.deepEqual(await listed("RangeError"), [ranges.workflowId]);
    assert.deepEqual(await listed("SyntaxError"), []);

    const anywhere = await store.list({ errorClass: "TypeError" }, { limit: 10 });
    assert.deepEqual(anywhere.map((row) => row.id), [types.workflowId]);
    const named = { names: ["onboarding", "billing"], errorClass: "RangeError", heroId: "2" };
    assert.deepEqual((await store.list(named, { limit: 10 })).map((row) => row.id), [
      ranges.workflowId,
    ]);

    await command(store, types.workflowId, resume());
    assert.deepEqual(await store.list({ errorClass: "TypeError" }, { limit: 10 }), []);
  }),

  storeCase("list() by the class of an error comes in pages", async (store) => {
    const all: string[] = [];
    for (let hero = 1; hero <= 5; hero++) {
      await failed(store, "RangeError", { heroId: `r${hero}` });
      all.unshift((await failed(store, "TypeError", { heroId: String(hero) })).workflowId);
    }
    const filter = { states: ["paused" as const], errorClass: "TypeError" };
    const first = await store.list(filter, { limit: 2 });
    const rest = await store.list(filter, { limit: 10, after: first.at(-1)?.id });
    assert.deepEqual([...first, ...rest].map((row) => row.id), all);
  }),
];

/** What `cursorCounts` says, without the steps at which there is nothing. */
async function cursors(store: StoreDriver, name = "onboarding"): Promise<CursorCount[]> {
  const counts = await store.cursorCounts(name);
  return counts.filter((one) => one.withCursor > 0 || one.begunWithout > 0)
    .sort((a, b) => a.stepName < b.stepName ? -1 : 1);
}

const cursorCases: readonly StoreCase[] = [
  storeCase("cursorCounts() counts who holds a cursor at the step it points at", async (store) => {
    const first = newExecution({ cursor: "5" });
    await start(store, { heroId: "1", first });
    await start(store, { heroId: "2", first: newExecution({ cursor: "null" }) });
    await start(store, { heroId: "3", first: newExecution({ stepName: "other", cursor: "1" }) });
    await start(store, { heroId: "4" });
    await start(store, { heroId: "5", name: "billing", first });
    await bring(store, "canceled", { heroId: "6", first });
    await bring(store, "paused", { heroId: "7", first });
    assert.deepEqual(await cursors(store), [
      { stepName: "first", withCursor: 3, begunWithout: 0 },
      { stepName: "other", withCursor: 1, begunWithout: 0 },
    ]);
    assert.deepEqual(await cursors(store, "none"), []);
  }),

  storeCase("cursorCounts() counts who has begun a step without a cursor", async (store) => {
    await bring(store, "ready", { heroId: "1" });
    await bring(store, "performing", { heroId: "2" });
    await bring(store, "paused after a failure", { heroId: "3" });
    await start(store, { heroId: "4", first: newExecution({ attempt: 2 }) });
    await bring(store, "finished", { heroId: "5" });
    assert.deepEqual(await cursors(store), [
      { stepName: "first", withCursor: 0, begunWithout: 3 },
    ]);
  }),

  storeCase("cursorCounts() looks at the newest execution only", async (store) => {
    const { execution } = await start(store, { first: newExecution({ cursor: "5" }) });
    const claimed = await claim(store, execution.id);
    await finish(store, finished(claimed, { next: newExecution({ stepName: "second" }) }));
    assert.deepEqual(await cursors(store), []);
  }),
];

/** The cases about what has gone wrong. */
export const troubleCases: readonly StoreCase[] = [...failureCases, ...listCases, ...cursorCases];
