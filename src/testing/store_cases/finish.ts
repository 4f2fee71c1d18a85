/**
 * Cases about `finish`: one commit closes an execution, moves its workflow and inserts what is next.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  after,
  assertSame,
  assertUnchanged,
  claim,
  CLOSINGS,
  dueOptions,
  executionRow,
  expectKind,
  finish,
  finished,
  LEASE_MS,
  newExecution,
  newWorkflows,
  only,
  send,
  startClaimed,
  stored,
  T0,
} from "./_builders.ts";
import { type StoreCase, storeCase } from "./_case.ts";

const NOW = after(1_000);

const nextCases: readonly StoreCase[] = [
  storeCase(
    "EXE-03 SCH-06 EXE-20 AUD-06 a step that succeeded is closed and the next one scheduled",
    async (store) => {
      const claimed = await startClaimed(store);
      const due = after(86_401_000);
      const next = newExecution({
        stepName: "second",
        scheduledFor: due,
        graceMs: 60_000,
        queue: "mail",
        priority: -2,
      });
      const done = await finish(store, finished(claimed, { next, metadata: '{"note":1}' }));
      assertSame(done.execution, {
        ...claimed.execution,
        state: "completed",
        outcome: "success",
        cause: null,
        completedAt: NOW,
        finishedAt: NOW,
        wakeAt: null,
        token: null,
        leaseUntil: null,
        metadata: '{"note":1}',
      });
      assertSame(done.workflow, {
        ...claimed.workflow,
        state: "ready",
        currentStepName: null,
        nextStepName: "second",
        updatedAt: NOW,
      });
      assertSame(done.next, {
        ...(await executionRow(store, done.next?.id ?? "")),
        workflowId: claimed.workflow.id,
        seq: 2,
        stepName: "second",
        state: "scheduled",
        attempt: 1,
        scheduledFor: due,
        wakeAt: after(86_461_000),
        startedAt: null,
        token: null,
        queue: "mail",
        priority: -2,
        createdAt: NOW,
      });
      const executionId = done.next?.id;
      assertSame(done.job, { executionId, runAt: due, queue: "mail", priority: -2 });
      assertSame(await stored(store, claimed.workflow.id), {
        workflow: done.workflow,
        history: [done.execution, done.next],
        signals: [],
      });
      assertSame(await store.active(claimed.workflow.id), done.next);
    },
  ),

  storeCase("SCH-07 AUD-08 the last step finishes the workflow", async (store) => {
    const claimed = await startClaimed(store);
    const done = await finish(store, finished(claimed));
    assert.equal(done.next, null);
    assert.equal(done.job, null);
    assertSame(done.workflow, {
      ...claimed.workflow,
      state: "finished",
      currentStepName: null,
      nextStepName: null,
      transitionedAt: NOW,
      updatedAt: NOW,
    });
    assertSame(await store.get(claimed.workflow.id), done.workflow);
    assert.equal(await store.active(claimed.workflow.id), null);
  }),

  storeCase(
    "a next step that comes with a hold is inserted claimed, and the worker goes on",
    async (store) => {
      const claimed = await startClaimed(store);
      const hold = { token: "token-2", leaseMs: 5_000, worker: "worker-1" };
      const next = newExecution({ stepName: "second", scheduledFor: NOW, hold });
      const done = await finish(store, finished(claimed, { next }));
      assert.equal(done.job, null);
      assertSame(done.workflow, {
        ...claimed.workflow,
        state: "performing",
        currentStepName: "second",
        nextStepName: "second",
        updatedAt: NOW,
      });
      const row = done.next;
      assert.ok(row !== null);
      assertSame(
        [row.state, row.token, row.worker, row.startedAt, row.leaseUntil, row.wakeAt],
        ["in_progress", "token-2", "worker-1", NOW, after(6_000), after(6_000)],
      );
      assertSame(await stored(store, claimed.workflow.id), {
        workflow: done.workflow,
        history: [done.execution, row],
        signals: [],
      });
      const beat = { executionId: row.id, token: "token-2" };
      assertSame(await store.checkpoint([beat], { now: NOW, leaseMs: LEASE_MS }), ["held"]);
      const last = await finish(store, finished({ execution: row }), { now: after(2_000) });
      assert.equal(last.workflow.state, "finished");
    },
  ),

  storeCase("SCH-12 a reattempt is a new execution of the same step", async (store) => {
    const claimed = await startClaimed(store);
    const again = newExecution({
      scheduledFor: after(61_000),
      attempt: 2,
      failures: 1,
      continuesFromId: claimed.execution.id,
      cursor: '"c"',
      metadata: '{"previousError":{}}',
    });
    const done = await finish(
      store,
      finished(claimed, {
        closing: { state: "completed", outcome: "reattempted", cause: "exception" },
        metadata: '{"reattemptReason":"exception_policy"}',
        next: again,
      }),
    );
    assertSame(
      [done.execution.outcome, done.execution.cause, done.execution.errorClass],
      ["reattempted", "exception", null],
    );
    const { attempt, failures, continuesFromId, cursor, metadata } = await executionRow(
      store,
      done.next?.id ?? "",
    );
    assertSame({ attempt, failures, continuesFromId, cursor, metadata }, {
      attempt: 2,
      failures: 1,
      continuesFromId: claimed.execution.id,
      cursor: '"c"',
      metadata: '{"previousError":{}}',
    });
  }),

  storeCase(
    "NEW-05 a next step that waits for a signal has no job until it comes",
    async (store) => {
      const claimed = await startClaimed(store);
      const next = newExecution({ stepName: "second", waitingFor: "approved", scheduledFor: NOW });
      const done = await finish(store, finished(claimed, { next }));
      assert.equal(done.job, null);
      assert.equal(done.next?.wakeAt, null);
      assert.equal(done.workflow.state, "ready");
    },
  ),

  storeCase(
    "NEW-05 a next step whose signal is there already is due like any other",
    async (store) => {
      const claimed = await startClaimed(store);
      await send(store, claimed.workflow.id, { name: "approved" }, { now: after(500) });
      const next = newExecution({
        stepName: "second",
        waitingFor: "approved",
        waitUntil: after(99_000),
        scheduledFor: after(3_000),
        graceMs: 10,
      });
      const done = await finish(store, finished(claimed, { next }));
      assertSame(done.job?.runAt, after(3_000));
      assertSame(done.next?.wakeAt, after(3_010));
    },
  ),

  storeCase(
    "AUD-17 the executions of a workflow are numbered from 1 without a gap",
    async (store) => {
      let held = await startClaimed(store);
      for (let seq = 2; seq <= 6; seq++) {
        const next = newExecution({ stepName: `step ${seq}`, scheduledFor: NOW });
        const done = await finish(store, finished(held, { next }));
        assert.equal(done.next?.seq, seq);
        held = await claim(store, done.next.id, { now: NOW, token: `token-${seq}` });
      }
      const history = await store.history(held.workflow.id, { limit: 10 });
      assertSame(history.map((row) => row.seq), [1, 2, 3, 4, 5, 6]);
    },
  ),
];

const batchCases: readonly StoreCase[] = [
  storeCase("finish() of nothing answers nothing", async (store) => {
    assertSame(await store.finish([], { now: NOW }), []);
  }),

  storeCase(
    "finish() answers each member at its own index, whatever comes of the others",
    async (store) => {
      const one = await startClaimed(store, { heroId: "1" });
      const two = await startClaimed(store, { heroId: "2" });
      const three = await startClaimed(store, { heroId: "3" });
      const next = newExecution({ stepName: "second" });
      const results = await store.finish(
        [
          finished(three, { next }),
          finished(two, { token: "stale", next }),
          finished(one),
          finished(two, { executionId: "none" }),
        ],
        { now: NOW },
      );
      assertSame(results.map((result) => result.kind), ["done", "lost", "done", "lost"]);
      const first = expectKind(results[0], "done");
      assert.equal(first.workflow.id, three.workflow.id);
      assert.equal(first.next?.workflowId, three.workflow.id);
      assert.equal(expectKind(results[2], "done").workflow.id, one.workflow.id);
      const states = await store.list({}, { limit: 3 });
      assertSame(states.map((row) => row.state), ["ready", "performing", "finished"]);
    },
  ),

  storeCase("of two finishes of one execution in a batch the first counts", async (store) => {
    const claimed = await startClaimed(store);
    const next = newExecution({ stepName: "second" });
    const results = await store.finish(
      [finished(claimed, { next }), finished(claimed, { closing: CLOSINGS.failure })],
      { now: NOW },
    );
    assertSame(results.map((result) => result.kind), ["done", "lost"]);
    const history = await store.history(claimed.workflow.id, { limit: 10 });
    assertSame(history.map((row) => row.state), ["completed", "scheduled"]);
  }),

  storeCase("200 finishes travel in one call", async (store) => {
    await store.create(newWorkflows(200), { now: T0 });
    const claims = await store.claimDue(dueOptions({ limit: 200 }));
    assert.equal(claims.length, 200);
    const next = newExecution({ stepName: "second", scheduledFor: NOW });
    const results = await store.finish(claims.map((one) => finished(one, { next })), { now: NOW });
    for (const [at, result] of results.entries()) {
      const done = expectKind(result, "done");
      assert.equal(done.execution.id, claims[at]?.execution.id);
      assert.equal(done.next?.workflowId, claims[at]?.workflow.id);
      assert.equal(done.job?.executionId, done.next?.id);
    }
    const due = await store.claimDue(dueOptions({ limit: 300, now: NOW, token: "token-2" }));
    assert.equal(due.length, 200);
  }),

  storeCase("a finish of one workflow leaves the others alone", async (store) => {
    const one = await startClaimed(store, { heroId: "1" });
    const two = await startClaimed(store, { heroId: "2" });
    await assertUnchanged(store, two.workflow.id, () => finish(store, finished(one)));
    only(await store.list({ states: ["performing"] }, { limit: 10 }));
  }),
];

/** The cases about `finish` of a workflow that nobody disturbed. */
export const finishCases: readonly StoreCase[] = [
  ...nextCases,
  ...batchCases,
];
