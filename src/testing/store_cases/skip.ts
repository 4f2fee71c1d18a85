/**
 * Cases about the commands that let a workflow go on elsewhere: skip and place.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  after,
  assertSame,
  assertUnchanged,
  command,
  executionRow,
  newExecution,
  send,
  skip,
  stored,
} from "./_builders.ts";
import { type StoreCase, storeCase } from "./_case.ts";
import { bring } from "./_situations.ts";

const NOW = after(4_000);

const skipCases: readonly StoreCase[] = [
  ...(["ready", "paused"] as const).map((situation) =>
    storeCase(
      `EXT-16 EXT-20 AUD-07 skip of a ${situation} workflow goes on with the next step`,
      async (store) => {
        const { workflowId, executionId } = await bring(store, situation);
        const before = await executionRow(store, executionId);
        const next = newExecution({ stepName: "second", scheduledFor: after(90_000), graceMs: 3 });
        const skipped = await command(store, workflowId, skip(next), { now: NOW });
        const [old, fresh] = await store.history(workflowId, { limit: 10 });
        assertSame(old, {
          ...before,
          state: "skipped",
          outcome: "skipped",
          cause: "operator",
          skippedAt: NOW,
          finishedAt: NOW,
          wakeAt: null,
        });
        assertSame([fresh?.stepName, fresh?.seq, fresh?.state], ["second", 2, "scheduled"]);
        assertSame(fresh?.wakeAt, after(90_003));
        assertSame([skipped.job?.executionId, skipped.job?.runAt], [
          fresh?.id,
          after(90_000),
        ]);
        const { state, nextStepName, transitionedAt } = skipped.workflow;
        assertSame([state, nextStepName, transitionedAt], ["ready", "second", null]);
        assertSame(await store.get(workflowId), skipped.workflow);
      },
    )
  ),

  storeCase("EXT-17 skip of the last step finishes the workflow", async (store) => {
    const { workflowId, executionId } = await bring(store, "ready");
    const skipped = await command(store, workflowId, skip(null), { now: NOW });
    assert.equal(skipped.job, null);
    const { state, nextStepName, transitionedAt } = skipped.workflow;
    assertSame([state, nextStepName, transitionedAt], ["finished", null, NOW]);
    assert.equal((await executionRow(store, executionId)).state, "skipped");
    assert.equal(await store.active(workflowId), null);
  }),

  storeCase("EXT-18 each skip goes one step further, and the last one finishes", async (store) => {
    const { workflowId } = await bring(store, "ready");
    await command(store, workflowId, skip(newExecution({ stepName: "second" })));
    await command(store, workflowId, skip(newExecution({ stepName: "third" }), "second"));
    const last = await command(store, workflowId, skip(null, "third"));
    assert.equal(last.workflow.state, "finished");
    const history = await store.history(workflowId, { limit: 10 });
    assertSame(history.map((row) => [row.stepName, row.state]), [
      ["first", "skipped"],
      ["second", "skipped"],
      ["third", "skipped"],
    ]);
  }),

  storeCase(
    "EXT-19 skip after a failure goes on after the failed step, which stays failed",
    async (store) => {
      const { workflowId, executionId } = await bring(store, "paused after a failure");
      const failed = await executionRow(store, executionId);
      const next = newExecution({ stepName: "second", scheduledFor: NOW });
      const skipped = await command(store, workflowId, skip(next), { now: NOW });
      assertSame([skipped.workflow.state, skipped.workflow.nextStepName], [
        "ready",
        "second",
      ]);
      assertSame(await executionRow(store, executionId), failed);
      assert.equal((await store.active(workflowId))?.stepName, "second");
    },
  ),

  storeCase(
    "a skip that was planned for another step is told that the workflow moved",
    async (store) => {
      const { workflowId } = await bring(store, "ready");
      const result = await assertUnchanged(
        store,
        workflowId,
        () => store.command(workflowId, skip(null, "second"), { now: NOW }),
      );
      assertSame(result, { kind: "moved" });
    },
  ),

  storeCase("NEW-05 a skip to a step whose signal is there makes it due", async (store) => {
    const { workflowId } = await bring(store, "ready");
    await send(store, workflowId);
    const next = newExecution({ stepName: "second", waitingFor: "approved", scheduledFor: NOW });
    const skipped = await command(store, workflowId, skip(next), { now: NOW });
    assertSame(skipped.job?.runAt, NOW);
  }),
];

const placeCases: readonly StoreCase[] = [
  ...(["ready", "paused"] as const).map((from) =>
    storeCase(
      `EXT-15 place of a ${from} workflow cancels what is scheduled and goes elsewhere`,
      async (store) => {
        const { workflowId, executionId } = await bring(store, from);
        const next = newExecution({ stepName: "fifth", scheduledFor: NOW, queue: "mail" });
        const placed = await command(store, workflowId, { kind: "place", from, next }, {
          now: NOW,
        });
        const old = await executionRow(store, executionId);
        assertSame([old.state, old.outcome, old.cause, old.finishedAt, old.wakeAt], [
          "canceled",
          "canceled",
          "operator",
          NOW,
          null,
        ]);
        const active = await store.active(workflowId);
        assertSame([active?.stepName, active?.queue, active?.seq], ["fifth", "mail", 2]);
        assertSame(placed.job, {
          executionId: active?.id,
          runAt: NOW,
          queue: "mail",
          priority: 0,
        });
        const { state, nextStepName, transitionedAt } = placed.workflow;
        assertSame([state, nextStepName, transitionedAt], ["ready", "fifth", null]);
      },
    )
  ),

  storeCase("EXT-15 place after a failure leaves the failure as it is", async (store) => {
    const { workflowId, executionId } = await bring(store, "paused after a failure");
    const before = await executionRow(store, executionId);
    const next = newExecution({ stepName: "fifth", scheduledFor: NOW });
    await command(store, workflowId, { kind: "place", from: "paused", next }, { now: NOW });
    const rows = await stored(store, workflowId);
    assertSame(rows.history[0], before);
    assert.equal(rows.history.length, 2);
  }),
];

/** The cases about skip and place. */
export const skipAndPlaceCases: readonly StoreCase[] = [...skipCases, ...placeCases];
