/**
 * Cases about `claim`: every delivered job is judged against the rows.
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
  executionRow,
  expectKind,
  finish,
  finished,
  LEASE_MS,
  newExecution,
  newWorkflows,
  NO_IDS,
  only,
  start,
  startClaimed,
  T0,
  workflowRow,
} from "./_builders.ts";
import { type StoreCase, storeCase } from "./_case.ts";
import { bring } from "./_situations.ts";

const grantCases: readonly StoreCase[] = [
  storeCase(
    "EXE-01 AUD-05 AUD-09 AUD-15 a claim starts the execution and its workflow",
    async (store) => {
      const { workflow, execution } = await start(store);
      const now = after(250);
      const claimed = await claim(store, execution.id, { now });
      assertSame(claimed, {
        kind: "claimed",
        from: "scheduled",
        workflow: {
          ...workflow,
          state: "performing",
          currentStepName: "first",
          startedAt: now,
          updatedAt: now,
        },
        execution: {
          ...execution,
          state: "in_progress",
          token: "token-1",
          worker: "worker-1",
          startedAt: now,
          leaseUntil: after(250 + LEASE_MS),
          wakeAt: after(250 + LEASE_MS),
        },
      });
      assertSame(await store.get(workflow.id), claimed.workflow);
      assertSame(await store.getExecution(execution.id), claimed.execution);
      assertSame(await store.active(workflow.id), claimed.execution);
    },
  ),

  storeCase("AUD-09 a workflow starts once, with its first claim", async (store) => {
    const claimed = await startClaimed(store);
    const next = newExecution({ stepName: "second", scheduledFor: after(1_000) });
    const done = await finish(store, finished(claimed, { next }));
    const again = await claim(store, done.next?.id ?? "", { now: after(5_000), token: "token-2" });
    assertSame(again.workflow.startedAt, T0);
    assertSame(again.execution.startedAt, after(5_000));
    assert.equal(again.workflow.currentStepName, "second");
    assert.equal(again.workflow.nextStepName, "second");
  }),

  storeCase(
    "EXE-15 an execution can be claimed at the very instant at which it is due",
    async (store) => {
      const { execution } = await start(store, {
        first: newExecution({ scheduledFor: after(60_000) }),
      });
      const claimed = await claim(store, execution.id, { now: after(60_000) });
      assertSame(claimed.execution.scheduledFor, after(60_000));
    },
  ),

  storeCase("a claim may ask for an execution ahead of its time", async (store) => {
    const { execution } = await start(store, {
      first: newExecution({ scheduledFor: after(60_000) }),
    });
    const claimed = await claim(store, execution.id, { ignoreDue: true });
    assertSame(claimed.execution.scheduledFor, after(60_000));
    assertSame(claimed.execution.startedAt, T0);
  }),

  storeCase("the grace of a queue delays its sweep, not its jobs", async (store) => {
    const { execution } = await start(store, { first: newExecution({ graceMs: 900_000 }) });
    await claim(store, execution.id);
  }),

  storeCase(
    "NEW-05 a wait for a signal that has run out can be claimed without one",
    async (store) => {
      const first = newExecution({ waitingFor: "approved", waitUntil: after(60_000) });
      const { execution } = await start(store, { first });
      const claimed = await claim(store, execution.id, { now: after(60_000) });
      assert.equal(claimed.execution.metadata, null);
      assert.equal(claimed.execution.waitingFor, "approved");
    },
  ),
];

const refusalCases: readonly StoreCase[] = [
  storeCase(
    "EXE-15 a job that comes early changes nothing and is told when to come",
    async (store) => {
      const due = after(60_000);
      const { workflow, execution } = await start(store, {
        first: newExecution({ scheduledFor: due, graceMs: 1_000 }),
      });
      const results = await assertUnchanged(
        store,
        workflow.id,
        () => store.claim([execution.id], claimOptions({ now: after(59_999) })),
      );
      assertSame(results, [{ kind: "early", runAt: due }]);
    },
  ),

  storeCase(
    "NEW-05 a step that waits for a signal cannot be claimed before it comes",
    async (store) => {
      const { workflow, execution } = await start(store, {
        first: newExecution({ waitingFor: "approved" }),
      });
      for (const ignoreDue of [false, true]) {
        const results = await assertUnchanged(
          store,
          workflow.id,
          () => store.claim([execution.id], claimOptions({ now: after(86_400_000), ignoreDue })),
        );
        assertSame(results, [{ kind: "early", runAt: null }]);
      }
    },
  ),

  storeCase(
    "NEW-05 one that waits for a limited time is early until that time ends",
    async (store) => {
      const first = newExecution({ waitingFor: "approved", waitUntil: after(60_000) });
      const { execution } = await start(store, { first });
      assertSame(await store.claim([execution.id], claimOptions({ now: after(59_999) })), [
        { kind: "early", runAt: after(60_000) },
      ]);
    },
  ),

  storeCase("EXE-06 an execution in progress is taken, even for its own holder", async (store) => {
    const { workflow, execution } = await startClaimed(store);
    for (const token of ["token-2", "token-1"]) {
      const results = await assertUnchanged(
        store,
        workflow.id,
        () => store.claim([execution.id], claimOptions({ token, now: after(1) })),
      );
      assertSame(results, [{ kind: "taken" }]);
    }
  }),

  storeCase(
    "EXE-06 a job does not take over an ended lease: only the sweep does",
    async (store) => {
      const { workflow, execution } = await startClaimed(store);
      const options = claimOptions({
        token: "token-2",
        now: after(LEASE_MS * 10),
        ignoreDue: true,
      });
      const results = await assertUnchanged(
        store,
        workflow.id,
        () => store.claim([execution.id], options),
      );
      assertSame(results, [{ kind: "taken" }]);
    },
  ),

  ...Object.entries(CLOSINGS).map(([how, closing]) =>
    storeCase(`EXE-04 EXE-07 EXE-22 an execution that ended by ${how} is taken`, async (store) => {
      const claimed = await startClaimed(store);
      await finish(store, finished(claimed, { closing }));
      const results = await assertUnchanged(
        store,
        claimed.workflow.id,
        () => store.claim([claimed.execution.id], claimOptions({ now: after(9_000) })),
      );
      assertSame(results, [{ kind: "taken" }]);
    })
  ),

  storeCase(
    "EXE-16 the job of a superseded execution is taken, that of its successor is not",
    async (store) => {
      const claimed = await startClaimed(store);
      const again = newExecution({ attempt: 2, scheduledFor: after(1_000) });
      const done = await finish(store, finished(claimed, { next: again }));
      const results = await store.claim(
        [claimed.execution.id, done.next?.id ?? ""],
        claimOptions({ now: after(2_000), token: "token-2" }),
      );
      assertSame(results.map((one) => one.kind), ["taken", "claimed"]);
    },
  ),

  storeCase("EXE-07 EXT-23 the job of a canceled workflow is taken", async (store) => {
    const { workflowId, executionId } = await bring(store, "canceled");
    const results = await assertUnchanged(
      store,
      workflowId,
      () => store.claim([executionId], claimOptions({ now: after(9_000) })),
    );
    assertSame(results, [{ kind: "taken" }]);
  }),

  storeCase("EXE-08 AUD-07 the job of a paused workflow uses its execution up", async (store) => {
    const { workflowId, executionId } = await bring(store, "paused");
    const before = await executionRow(store, executionId);
    const workflow = await workflowRow(store, workflowId);
    const now = after(9_000);
    const results = await store.claim([executionId], claimOptions({ now }));
    assertSame(results, [{ kind: "stopped", state: "paused" }]);
    assertSame(await executionRow(store, executionId), {
      ...before,
      state: "canceled",
      outcome: "canceled",
      cause: "operator",
      canceledAt: now,
      finishedAt: now,
      wakeAt: null,
    });
    assertSame(await workflowRow(store, workflowId), workflow);
    assert.equal(await store.active(workflowId), null);
  }),

  storeCase("EXE-10 EXE-13 unknown and malformed ids are missing", async (store) => {
    await start(store);
    const results = await store.claim(NO_IDS, claimOptions());
    assertSame(results, NO_IDS.map(() => ({ kind: "missing" })));
  }),
];

const batchCases: readonly StoreCase[] = [
  storeCase("claim() of nothing answers nothing", async (store) => {
    assertSame(await store.claim([], claimOptions()), []);
  }),

  storeCase(
    "claim() answers each id at its own index, whatever comes of the others",
    async (store) => {
      const due = (await start(store, { heroId: "1" })).execution.id;
      const early = (await start(store, {
        heroId: "2",
        first: newExecution({ scheduledFor: after(60_000) }),
      })).execution.id;
      const taken = (await startClaimed(store, { heroId: "3" })).execution.id;
      const stopped = (await bring(store, "paused", { heroId: "4" })).executionId;
      const late = (await start(store, { heroId: "5" })).execution.id;
      const ids = ["none", late, stopped, taken, early, due, "999999999"];
      const results = await store.claim(ids, claimOptions({ now: after(5_000), token: "token-2" }));
      assertSame(
        results.map((one) => one.kind),
        ["missing", "claimed", "stopped", "taken", "early", "claimed", "missing"],
      );
      assert.equal(expectKind(results[1], "claimed").execution.id, late);
      assert.equal(expectKind(results[5], "claimed").execution.id, due);
      for (const id of [late, due]) {
        assert.equal((await executionRow(store, id)).token, "token-2");
      }
    },
  ),

  storeCase("EXE-05 an id that comes twice in one call is claimed once", async (store) => {
    const { workflow, execution } = await start(store);
    const results = await store.claim([execution.id, execution.id], claimOptions());
    assertSame(results.map((one) => one.kind).sort(), ["claimed", "taken"]);
    assert.equal((await workflowRow(store, workflow.id)).state, "performing");
  }),

  storeCase("500 executions are claimed in one call", async (store) => {
    const created = await store.create(newWorkflows(500), { now: T0 });
    const ids = created.map((one) => expectKind(one, "created").execution?.id ?? "");
    const results = await store.claim(ids, claimOptions());
    assertSame(results.map((one) => expectKind(one, "claimed").execution.id), ids);
    assertSame(await store.claimDue({ ...claimOptions(), limit: 500 }), []);
  }),

  storeCase("EXE-14 the job of a deleted workflow is missing", async (store) => {
    const { executionId } = await bring(store, "canceled");
    await store.purge({ before: after(60_000), limit: 10 });
    assertSame(only(await store.claim([executionId], claimOptions())), { kind: "missing" });
  }),
];

/** The cases about `claim`. */
export const claimCases: readonly StoreCase[] = [...grantCases, ...refusalCases, ...batchCases];
