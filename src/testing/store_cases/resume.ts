/**
 * Cases about `command`: how a paused workflow goes on.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  after,
  assertSame,
  assertUnchanged,
  claim,
  claimOptions,
  CLOSINGS,
  command,
  executionRow,
  finish,
  finished,
  LEASE_MS,
  newExecution,
  resume,
  send,
  start,
  startClaimed,
  workflowRow,
} from "./_builders.ts";
import { type StoreCase, storeCase } from "./_case.ts";
import { bring } from "./_situations.ts";

const NOW = after(4_000);

/** The cases about resume. */
export const resumeCases: readonly StoreCase[] = [
  storeCase(
    "EXT-05 AUD-08 a resume wakes the execution that was kept, for its own time",
    async (store) => {
      const due = after(60_000);
      const first = newExecution({ scheduledFor: due, queue: "mail", priority: 4 });
      const { workflowId, executionId } = await bring(store, "paused", { first });
      const kept = await executionRow(store, executionId);
      const resumed = await command(store, workflowId, resume({ graceMs: 500 }), { now: NOW });
      const workflow = await workflowRow(store, workflowId);
      assertSame(resumed.workflow, workflow);
      assertSame([workflow.state, workflow.transitionedAt, workflow.updatedAt], [
        "ready",
        null,
        NOW,
      ]);
      assertSame(resumed.job, { executionId, runAt: due, queue: "mail", priority: 4 });
      assertSame(await store.history(workflowId, { limit: 10 }), [
        { ...kept, wakeAt: after(60_500) },
      ]);
    },
  ),

  storeCase(
    "EXT-06 an execution that became overdue keeps its time and is announced",
    async (store) => {
      const due = after(-60_000);
      const first = newExecution({ scheduledFor: due });
      const { workflowId, executionId } = await bring(store, "paused", { first });
      const resumed = await command(store, workflowId, resume(), { now: NOW });
      assertSame(resumed.job?.runAt, due);
      assertSame((await executionRow(store, executionId)).wakeAt, due);
      await claim(store, executionId, { now: NOW });
    },
  ),

  storeCase(
    "EXT-07 a resume after the job came schedules a new execution of the step",
    async (store) => {
      const { workflowId, executionId } = await bring(store, "paused");
      await store.claim([executionId], claimOptions({ now: after(3_000) }));
      const resumed = await command(store, workflowId, resume(), { now: NOW });
      const [old, fresh] = await store.history(workflowId, { limit: 10 });
      assert.equal(old?.state, "canceled");
      assertSame([fresh?.seq, fresh?.stepName, fresh?.state], [2, "first", "scheduled"]);
      assertSame(fresh?.scheduledFor, after(5_000));
      assert.equal(resumed.job?.executionId, fresh?.id);
      assertSame(resumed.job?.runAt, after(5_000));
    },
  ),

  storeCase("EXT-08 pausing and resuming many times leaves one execution", async (store) => {
    const { workflow, execution } = await start(store, {
      first: newExecution({ scheduledFor: after(60_000) }),
    });
    for (let round = 0; round < 4; round++) {
      await command(store, workflow.id, { kind: "pause" }, { now: after(round * 10) });
      await command(store, workflow.id, resume(), { now: after(round * 10 + 5) });
    }
    assertSame(await store.history(workflow.id, { limit: 10 }), [execution]);
  }),

  storeCase("EXT-10 a resume after a failure runs the failed step again", async (store) => {
    const { workflowId, executionId } = await bring(store, "paused after a failure");
    const failed = await executionRow(store, executionId);
    const resumed = await command(store, workflowId, resume(), { now: NOW });
    const [before, fresh] = await store.history(workflowId, { limit: 10 });
    assertSame(before, failed);
    assert.equal(fresh?.stepName, "first");
    assert.equal(fresh?.continuesFromId, null);
    assertSame(JSON.parse(fresh?.metadata ?? "{}").previousError, {
      class: "TypeError",
      message: "It broke",
    });
    assert.equal(resumed.workflow.state, "ready");
    assert.equal(resumed.workflow.nextStepName, "first");
  }),

  storeCase("EXT-10 a resumable step goes on from where it failed", async (store) => {
    const claimed = await startClaimed(store);
    const { id: executionId } = claimed.execution;
    const beat = { executionId, token: "token-1", cursor: '{"at":4}' };
    await store.checkpoint([beat], { now: after(500), leaseMs: LEASE_MS });
    await finish(
      store,
      finished(claimed, {
        closing: CLOSINGS.failure,
        keepCursor: true,
        workflowState: "paused",
        nextStepName: "first",
      }),
    );
    await command(store, claimed.workflow.id, resume({ resumable: true }), { now: NOW });
    const active = await store.active(claimed.workflow.id);
    assertSame(
      { cursor: active?.cursor, from: active?.continuesFromId },
      { cursor: '{"at":4}', from: executionId },
    );
  }),

  storeCase("U16 a resume while the body still runs gives it back its workflow", async (store) => {
    const { workflowId, executionId } = await bring(store, "paused while running");
    const before = await executionRow(store, executionId);
    const resumed = await command(store, workflowId, resume(), { now: NOW });
    assert.equal(resumed.job, null);
    const { state, currentStepName, transitionedAt } = resumed.workflow;
    assertSame([state, currentStepName, transitionedAt], ["performing", "first", null]);
    assertSame(await store.history(workflowId, { limit: 10 }), [before]);
  }),

  storeCase(
    "a resume that was planned for another step is told that the workflow moved",
    async (store) => {
      const { workflowId } = await bring(store, "paused");
      for (const expected of ["second", null]) {
        const result = await assertUnchanged(
          store,
          workflowId,
          () => store.command(workflowId, resume({ expected }), { now: NOW }),
        );
        assertSame(result, { kind: "moved" });
      }
    },
  ),

  storeCase(
    "NEW-05 a resumed step that waits for a signal is not announced before it comes",
    async (store) => {
      const first = newExecution({ waitingFor: "approved" });
      const { workflowId } = await bring(store, "paused", { first });
      const resumed = await command(store, workflowId, resume(), { now: NOW });
      assert.equal(resumed.job, null);
      assert.equal((await store.active(workflowId))?.wakeAt, null);
    },
  ),

  storeCase(
    "NEW-05 a resumed step that waits for a limited time is announced for the end of that time",
    async (store) => {
      const first = newExecution({ waitingFor: "approved", waitUntil: after(90_000) });
      const { workflowId, executionId } = await bring(store, "paused", { first });
      const resumed = await command(store, workflowId, resume({ graceMs: 7 }), { now: NOW });
      assertSame(resumed.job?.runAt, after(90_000));
      assertSame((await executionRow(store, executionId)).wakeAt, after(90_007));
    },
  ),

  storeCase(
    "NEW-07 a signal that came during the pause is matched by the resume",
    async (store) => {
      const first = newExecution({ waitingFor: "approved", waitUntil: after(90_000) });
      const { workflowId, executionId } = await bring(store, "paused", { first });
      await send(store, workflowId);
      const resumed = await command(store, workflowId, resume({ graceMs: 7 }), { now: NOW });
      assertSame(resumed.job?.runAt, first.scheduledFor);
      assertSame((await executionRow(store, executionId)).wakeAt, after(7));
      const claimed = await claim(store, executionId, { now: NOW });
      assert.equal(JSON.parse(claimed.execution.metadata ?? "{}").event.name, "approved");
    },
  ),

  storeCase("NEW-07 so it is when the resume schedules a new execution", async (store) => {
    const { workflowId, executionId } = await bring(store, "paused");
    await store.claim([executionId], claimOptions({ now: after(2_500) }));
    await send(store, workflowId);
    const fresh = newExecution({ waitingFor: "approved", scheduledFor: NOW });
    const resumed = await command(store, workflowId, resume({ fresh }), { now: NOW });
    assertSame(resumed.job?.runAt, NOW);
    assertSame((await store.active(workflowId))?.wakeAt, NOW);
  }),
];
