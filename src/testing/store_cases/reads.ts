/**
 * Cases about the reads of one workflow and of what is due, and about the ends of a store's life.
 *
 * @module
 */

import assert from "node:assert/strict";
import { StoreError } from "../../errors.ts";
import type { StoreDriver } from "../../seams/store.ts";
import {
  after,
  assertSame,
  assertUnchanged,
  claim,
  executionRow,
  finish,
  finished,
  newExecution,
  newWorkflow,
  NO_IDS,
  send,
  start,
  startClaimed,
  T0,
} from "./_builders.ts";
import { type StoreCase, storeCase, type StoreCaseContext } from "./_case.ts";
import { bring, SITUATIONS } from "./_situations.ts";

const oneCases: readonly StoreCase[] = [
  storeCase("unknown and malformed ids have no rows", async (store) => {
    await start(store);
    for (const id of NO_IDS) {
      assert.equal(await store.get(id), null);
      assert.equal(await store.getExecution(id), null);
      assert.equal(await store.active(id), null);
      assertSame(await store.history(id, { limit: 10 }), []);
      assertSame(await store.signals(id), []);
    }
  }),

  ...SITUATIONS.map((situation) =>
    storeCase(
      `QRY-04 the active execution of a workflow that is ${situation} is found, or none`,
      async (store) => {
        const { workflowId, executionId } = await bring(store, situation);
        const { state } = await executionRow(store, executionId);
        const isActive = state === "scheduled" || state === "in_progress";
        assert.equal((await store.active(workflowId))?.id ?? null, isActive ? executionId : null);
      },
    )
  ),

  storeCase("AUD-17 history comes in the order of its numbers, in pages", async (store) => {
    let held = await startClaimed(store);
    for (let seq = 2; seq <= 7; seq++) {
      // Time goes backward here: the order must not depend on it.
      const now = after(-1_000 * seq);
      const next = newExecution({ stepName: `step ${seq}`, scheduledFor: now });
      const done = await finish(store, finished(held, { next }), { now });
      held = await claim(store, done.next?.id ?? "", { now, token: `token-${seq}` });
    }
    const { id } = held.workflow;
    const seqs = async (limit: number, afterSeq?: number): Promise<number[]> =>
      (await store.history(id, { limit, afterSeq })).map((row) => row.seq);
    assertSame(await seqs(10), [1, 2, 3, 4, 5, 6, 7]);
    assertSame(await seqs(3), [1, 2, 3]);
    assertSame(await seqs(3, 3), [4, 5, 6]);
    assertSame(await seqs(3, 6), [7]);
    assertSame(await seqs(3, 7), []);
    assertSame(await seqs(10, 0), [1, 2, 3, 4, 5, 6, 7]);
  }),

  storeCase("the history and the signals of other workflows are not mixed in", async (store) => {
    const one = await start(store, { heroId: "1" });
    const two = await start(store, { heroId: "2" });
    await send(store, two.workflow.id);
    const history = await store.history(one.workflow.id, { limit: 10 });
    assertSame(history.map((row) => row.id), [one.execution.id]);
    assertSame(await store.signals(one.workflow.id), []);
  }),

  storeCase(
    "SCH-17 the queue's own ids of jobs are noted, and nothing else changes",
    async (store) => {
      const { workflow, execution } = await start(store);
      const other = await start(store, { heroId: "2" });
      await store.noteJobIds([]);
      await assertUnchanged(store, other.workflow.id, () =>
        store.noteJobIds([
          ...NO_IDS.map((executionId) => ({ executionId, jobId: "lost" })),
          { executionId: execution.id, jobId: "queue:1'2\"3" },
        ]));
      assertSame(await store.getExecution(execution.id), {
        ...execution,
        jobId: "queue:1'2\"3",
      });
      assertSame(await store.get(workflow.id), workflow);
      await store.noteJobIds([{ executionId: execution.id, jobId: "second" }]);
      const claimed = await claim(store, execution.id);
      assert.equal(claimed.execution.jobId, "second");
    },
  ),
];

const dueCases: readonly StoreCase[] = [
  storeCase(
    "QRY-05 SCH-21 what is due comes oldest first, whatever its priority and grace",
    async (store) => {
      const at: Record<string, number> = { c: 30, a: -10, d: 40, b: 20, late: 1_000 };
      for (const [stepName, ms] of Object.entries(at)) {
        const first = newExecution({
          stepName,
          scheduledFor: after(ms),
          priority: -ms,
          graceMs: 60_000 - ms,
        });
        await start(store, { heroId: stepName, first });
      }
      const names = async (limit: number): Promise<string[]> =>
        (await store.due({ before: after(1_000), limit })).map((row) => row.stepName);
      assertSame(await names(10), ["a", "b", "c", "d"]);
      assertSame(await names(2), ["a", "b"]);
      const [oldest] = await store.due({ before: after(1_000), limit: 1 });
      assertSame(oldest, await executionRow(store, oldest?.id ?? ""));
    },
  ),

  ...SITUATIONS.filter((situation) => situation !== "ready").map((situation) =>
    storeCase(`SCH-23 nothing is due of a workflow that is ${situation}`, async (store) => {
      await bring(store, situation);
      assertSame(await store.due({ before: after(1e9), limit: 10 }), []);
    })
  ),

  storeCase("a step that waits for a signal is not due by its time alone", async (store) => {
    await start(store, { heroId: "1", first: newExecution({ waitingFor: "approved" }) });
    const first = newExecution({ waitingFor: "approved", waitUntil: after(10) });
    await start(store, { heroId: "2", first });
    assertSame(await store.due({ before: after(1e9), limit: 10 }), []);
  }),

  storeCase("asking what is due changes nothing", async (store) => {
    const { workflow } = await start(store);
    const due = () => store.due({ before: after(1_000), limit: 10 });
    assert.equal((await assertUnchanged(store, workflow.id, due)).length, 1);
    assert.equal((await due()).length, 1);
  }),
];

/** The heroes of a list that `presence` leaves over, in the words of plain SQL. */
async function absent(
  store: StoreDriver,
  query: NonNullable<StoreCaseContext["query"]>,
  asked: { name: string; heroType: string; ongoing: boolean },
): Promise<string[]> {
  const { sql, params } = store.presence({ ...asked, heroIdColumn: "heroes.id" });
  const heroes = ["1", "2", "3", "4"].map((id) => `SELECT '${id}' AS id`).join(" UNION ALL ");
  const text = `SELECT heroes.id AS id FROM (${heroes}) heroes WHERE NOT EXISTS (${sql})`;
  return (await query(text, params)).map((row) => String(row.id)).sort();
}

const presenceCases: readonly StoreCase[] = [
  storeCase(
    "QRY-08 QRY-09 QRY-10 a presence query finds heroes without a workflow",
    async (store, context) => {
      const asked = { name: "onboarding", heroType: "User", ongoing: false };
      const { query } = context;
      if (query === undefined) {
        assert.throws(() => store.presence({ ...asked, heroIdColumn: "u.id" }), StoreError);
        return;
      }
      await bring(store, "ready", { heroId: "1" });
      await bring(store, "finished", { heroId: "2" });
      await bring(store, "ready", { heroId: "3", heroType: "Account" });
      await bring(store, "ready", { heroId: "4", name: "billing" });
      assertSame(await absent(store, query, asked), ["3", "4"]);
      assertSame(await absent(store, query, { ...asked, ongoing: true }), ["2", "3", "4"]);
      assertSame(await absent(store, query, { ...asked, heroType: "Account" }), [
        "1",
        "2",
        "4",
      ]);
      assertSame(await absent(store, query, { ...asked, name: "none" }), [
        "1",
        "2",
        "3",
        "4",
      ]);
    },
  ),
];

const lifeCases: readonly StoreCase[] = [
  storeCase("a store has a name", (store) => {
    assert.ok(store.name.length > 0);
    return Promise.resolve();
  }),

  storeCase("a migrated store has nothing left to apply, and its rows stay", async (store) => {
    const { workflow } = await start(store);
    const again = await assertUnchanged(store, workflow.id, () => store.migrate());
    assertSame(again.applied, []);
    assert.equal(again.sql, "");
    assert.ok(again.keyType === "bigint" || again.keyType === "uuid");
    const dry = await store.migrate({ dryRun: true });
    assertSame(dry.applied, []);
  }),

  storeCase("two connections see the same rows", async (store, context) => {
    const other = await context.open();
    const { workflow, execution } = await start(store);
    assertSame(await other.get(workflow.id), workflow);
    await claim(other, execution.id);
    assert.equal((await store.get(workflow.id))?.state, "performing");
    const duplicate = await other.create([newWorkflow()], { now: T0 });
    assertSame(duplicate, [{ kind: "duplicate", existingId: workflow.id }]);
  }),

  storeCase("a store can be closed twice", async (store) => {
    await start(store);
    await store.close();
    await store.close();
  }),

  storeCase("P2 a store that knows its server's time tells it in milliseconds", async (store) => {
    if (store.serverTime === undefined) return;
    const instant = await store.serverTime();
    assert.ok(Math.abs(instant - Date.now()) < 3_600_000, String(instant));
  }),
];

/** The cases about the reads of one workflow and of what is due. */
export const readCases: readonly StoreCase[] = [
  ...oneCases,
  ...dueCases,
  ...presenceCases,
  ...lifeCases,
];
