/**
 * Cases about `create`: what the rows of a new workflow look like, and which heroes are taken.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { NewWorkflow } from "../../state/records.ts";
import {
  after,
  assertSame,
  expectKind,
  LEASE_MS,
  newExecution,
  newWorkflow,
  newWorkflows,
  only,
  start,
  stored,
  T0,
} from "./_builders.ts";
import { type StoreCase, storeCase } from "./_case.ts";

const rowCases: readonly StoreCase[] = [
  storeCase(
    "SCH-01 AUD-01 a new workflow is ready for its first step, with one scheduled execution",
    async (store) => {
      const { workflow, execution } = await start(store);
      assertSame(workflow, {
        id: workflow.id,
        name: "onboarding",
        heroType: "User",
        heroId: "1",
        state: "ready",
        currentStepName: null,
        nextStepName: "first",
        allowMultiple: false,
        input: null,
        metadata: null,
        jobOptions: null,
        traceparent: null,
        startedAt: null,
        transitionedAt: null,
        createdAt: T0,
        updatedAt: T0,
      });
      assertSame(execution, {
        id: execution.id,
        workflowId: workflow.id,
        seq: 1,
        stepName: "first",
        state: "scheduled",
        outcome: null,
        cause: null,
        attempt: 1,
        failures: 0,
        continuesFromId: null,
        cursor: null,
        progress: null,
        waitingFor: null,
        waitUntil: null,
        scheduledFor: T0,
        wakeAt: T0,
        token: null,
        leaseUntil: null,
        worker: null,
        startedAt: null,
        completedAt: null,
        failedAt: null,
        canceledAt: null,
        skippedAt: null,
        finishedAt: null,
        errorClass: null,
        errorMessage: null,
        errorStack: null,
        metadata: null,
        jobId: null,
        queue: "default",
        priority: 0,
        createdAt: T0,
      });
      assertSame(await store.get(workflow.id), workflow);
      assertSame(await store.getExecution(execution.id), execution);
      assertSame(await store.active(workflow.id), execution);
      assertSame(await store.history(workflow.id, { limit: 10 }), [execution]);
    },
  ),

  storeCase(
    "SCH-02 SCH-03 the job of a new workflow says which execution, when, in which queue and how urgent",
    async (store) => {
      const due = after(7_200_000);
      const first = newExecution({
        scheduledFor: due,
        graceMs: 900_000,
        queue: "mail",
        priority: 7,
      });
      const { execution, job } = await start(store, { first });
      assertSame(job, { executionId: execution.id, runAt: due, queue: "mail", priority: 7 });
      assertSame(execution.scheduledFor, due);
      assertSame(execution.wakeAt, after(7_200_000 + 900_000));
    },
  ),

  storeCase("HERO-01 AUD-21 a new workflow keeps what it was given", async (store) => {
    const given: NewWorkflow = newWorkflow({
      name: "billing",
      heroType: "Account",
      heroId: "acc_42",
      allowMultiple: true,
      input: '{"plan":"pro"}',
      metadata: '{"source":"import"}',
      jobOptions: '{"queue":"slow"}',
      traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      first: newExecution({
        stepName: "charge",
        attempt: 3,
        failures: 2,
        cursor: "[1,2]",
        metadata: '{"chain":{"interruptions":1}}',
      }),
    });
    const { workflow } = await start(store, given);
    const { first, ...rest } = given;
    const read = await stored(store, workflow.id);
    assertSame({ ...read.workflow, ...rest }, read.workflow);
    const { stepName, attempt, failures, cursor, metadata } = only(read.history);
    assertSame(
      { stepName, attempt, failures, cursor, metadata },
      {
        stepName: "charge",
        attempt: 3,
        failures: 2,
        cursor: "[1,2]",
        metadata: first?.metadata,
      },
    );
  }),

  storeCase("a workflow without steps is finished at once and has no execution", async (store) => {
    const created = only(await store.create([newWorkflow({ first: null })], { now: T0 }));
    const { workflow, execution, job } = expectKind(created, "created");
    assert.equal(execution, null);
    assert.equal(job, null);
    const { state, nextStepName, currentStepName, startedAt, transitionedAt } = workflow;
    assertSame(
      { state, nextStepName, currentStepName, startedAt, transitionedAt },
      {
        state: "finished",
        nextStepName: null,
        currentStepName: null,
        startedAt: null,
        transitionedAt: T0,
      },
    );
    assertSame(await stored(store, workflow.id), { workflow, history: [], signals: [] });
  }),

  storeCase("a first execution that comes with a hold is inserted claimed", async (store) => {
    const hold = { token: "held", leaseMs: LEASE_MS, worker: "worker-9" };
    const { workflow, execution, job } = await start(store, { first: newExecution({ hold }) });
    assert.equal(job, null);
    assert.equal(workflow.state, "performing");
    assert.equal(workflow.currentStepName, "first");
    assert.equal(workflow.nextStepName, "first");
    assertSame(workflow.startedAt, T0);
    assert.equal(execution.state, "in_progress");
    assert.equal(execution.token, "held");
    assert.equal(execution.worker, "worker-9");
    assertSame(execution.startedAt, T0);
    assertSame(execution.leaseUntil, after(LEASE_MS));
    assertSame(execution.wakeAt, after(LEASE_MS));
    assertSame(await store.active(workflow.id), execution);
    assertSame(await store.get(workflow.id), workflow);
  }),

  storeCase(
    "NEW-05 a first step that waits for a signal has no job and no wake-up",
    async (store) => {
      const first = newExecution({ waitingFor: "approved" });
      const { execution, job } = await start(store, { first });
      assert.equal(job, null);
      assert.equal(execution.wakeAt, null);
      assert.equal(execution.waitingFor, "approved");
    },
  ),

  storeCase(
    "NEW-05 one that waits for a limited time is due when that time ends",
    async (store) => {
      const waitUntil = after(60_000);
      const first = newExecution({ waitingFor: "approved", waitUntil, graceMs: 500 });
      const { execution, job } = await start(store, { first });
      assertSame(job?.runAt, waitUntil);
      assertSame(execution.waitUntil, waitUntil);
      assertSame(execution.wakeAt, after(60_500));
      assertSame(execution.scheduledFor, T0);
    },
  ),
];

const batchCases: readonly StoreCase[] = [
  storeCase("create() of nothing answers nothing", async (store) => {
    assertSame(await store.create([], { now: T0 }), []);
  }),

  storeCase("create() answers each member of a batch at its own index", async (store) => {
    const { workflow: taken } = await start(store, { heroId: "2" });
    const results = await store.create(newWorkflows(3), { now: T0 });
    assert.equal(results.length, 3);
    assert.equal(expectKind(results[0], "created").workflow.heroId, "1");
    assert.equal(expectKind(results[1], "duplicate").existingId, taken.id);
    assert.equal(expectKind(results[2], "created").workflow.heroId, "3");
    assert.equal((await store.list({}, { limit: 10 })).length, 3);
  }),

  storeCase(
    "HERO-03 of two workflows of one hero in a batch the first is created",
    async (store) => {
      const twins = [newWorkflow({ input: "1" }), newWorkflow({ input: "2" })];
      const results = await store.create(twins, { now: T0 });
      const { workflow } = expectKind(results[0], "created");
      assert.equal(expectKind(results[1], "duplicate").existingId, workflow.id);
      assertSame(await store.list({}, { limit: 10 }), [workflow]);
      assert.equal(workflow.input, "1");
    },
  ),

  storeCase(
    "BLK-14 a batch of 500 is created in order, each with rows of its own",
    async (store) => {
      const batch = newWorkflows(500);
      const results = (await store.create(batch, { now: T0 })).map((one) =>
        expectKind(one, "created")
      );
      assertSame(results.map((one) => one.workflow.heroId), batch.map((one) => one.heroId));
      assert.equal(new Set(results.map((one) => one.workflow.id)).size, 500);
      assert.equal(new Set(results.map((one) => one.execution?.id)).size, 500);
      for (const { workflow, execution, job } of results) {
        assert.equal(execution?.workflowId, workflow.id);
        assert.equal(job?.executionId, execution?.id);
      }
      assertSame(await store.counts(), [{
        workflow: "onboarding",
        state: "ready",
        count: 500,
      }]);
    },
  ),
];

/** The cases about `create`. */
export const createCases: readonly StoreCase[] = [...rowCases, ...batchCases];
