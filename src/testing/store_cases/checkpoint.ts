/**
 * Cases about `checkpoint`: a position, a lease and a question in one write.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { StoreDriver } from "../../seams/store.ts";
import type { Checkpoint, CheckpointAnswer } from "../../state/checkpoint.ts";
import {
  after,
  assertSame,
  assertUnchanged,
  claim,
  command,
  executionRow,
  LEASE_MS,
  newExecution,
  newWorkflows,
  NO_IDS,
  resume,
  start,
  startClaimed,
  T0,
} from "./_builders.ts";
import { type StoreCase, storeCase } from "./_case.ts";
import { bring } from "./_situations.ts";

const NOW = after(10_000);
const RENEWED = after(10_000 + LEASE_MS);

async function beat(
  store: StoreDriver,
  batch: readonly Checkpoint[],
): Promise<CheckpointAnswer[]> {
  return await store.checkpoint(batch, { now: NOW, leaseMs: LEASE_MS });
}

const progress = { done: 3, total: 12.5, message: "three of a dozen" };

const heldCases: readonly StoreCase[] = [
  storeCase(
    "a checkpoint stores the cursor and the progress and renews the lease",
    async (store) => {
      const { workflow, execution } = await startClaimed(store);
      const checkpoint = { executionId: execution.id, token: "token-1", cursor: "[3]", progress };
      assertSame(await beat(store, [checkpoint]), ["held"]);
      assertSame(await executionRow(store, execution.id), {
        ...execution,
        cursor: "[3]",
        progress,
        leaseUntil: RENEWED,
        wakeAt: RENEWED,
      });
      assertSame(await store.get(workflow.id), workflow);
    },
  ),

  storeCase("a heartbeat leaves cursor and progress as they are", async (store) => {
    const { execution } = await startClaimed(store);
    const holder = { executionId: execution.id, token: "token-1" };
    await beat(store, [{ ...holder, cursor: "[3]", progress }]);
    assertSame(await beat(store, [holder]), ["held"]);
    assertSame(await beat(store, [{ ...holder, cursor: undefined, progress: undefined }]), [
      "held",
    ]);
    const row = await executionRow(store, execution.id);
    assert.equal(row.cursor, "[3]");
    assertSame(row.progress, progress);
    assertSame(row.leaseUntil, RENEWED);
  }),

  storeCase(
    "a cursor can be stored without progress, and progress without a cursor",
    async (store) => {
      const first = newExecution({ cursor: "0" });
      const { execution } = await startClaimed(store, { first });
      const holder = { executionId: execution.id, token: "token-1" };
      await beat(store, [{ ...holder, progress }]);
      assert.equal((await executionRow(store, execution.id)).cursor, "0");
      await beat(store, [{ ...holder, cursor: "1" }]);
      assertSame((await executionRow(store, execution.id)).progress, progress);
      assert.equal((await executionRow(store, execution.id)).cursor, "1");
    },
  ),

  storeCase("a cursor can be taken back", async (store) => {
    const { execution } = await startClaimed(store, { first: newExecution({ cursor: "5" }) });
    await beat(store, [{ executionId: execution.id, token: "token-1", cursor: null }]);
    assert.equal((await executionRow(store, execution.id)).cursor, null);
  }),

  storeCase("an ended lease that nobody took over is renewed", async (store) => {
    const { execution } = await startClaimed(store);
    const late = { now: after(LEASE_MS * 5), leaseMs: LEASE_MS };
    const holder = { executionId: execution.id, token: "token-1" };
    assertSame(await store.checkpoint([holder], late), ["held"]);
    assertSame((await executionRow(store, execution.id)).leaseUntil, after(LEASE_MS * 6));
  }),
];

const stopCases: readonly StoreCase[] = [
  ...(["paused", "canceled"] as const).map((state) =>
    storeCase(
      `EXT-27 a body whose workflow was ${state} is told so, and its position is kept`,
      async (store) => {
        const { workflowId, executionId } = await bring(store, `${state} while running`);
        const workflow = await store.get(workflowId);
        const checkpoint = { executionId, token: "token-1", cursor: "[9]", progress };
        assertSame(await beat(store, [checkpoint]), [state]);
        const row = await executionRow(store, executionId);
        assert.equal(row.cursor, "[9]");
        assertSame(row.progress, progress);
        assertSame(row.leaseUntil, RENEWED);
        assert.equal(row.state, "in_progress");
        assertSame(await store.get(workflowId), workflow);
      },
    )
  ),

  storeCase("U16 after a resume the body that still runs holds its claim again", async (store) => {
    const { workflowId, executionId } = await bring(store, "paused while running");
    const holder = { executionId, token: "token-1" };
    assertSame(await beat(store, [holder]), ["paused"]);
    await command(store, workflowId, resume());
    assertSame(await beat(store, [holder]), ["held"]);
  }),
];

const lostCases: readonly StoreCase[] = [
  storeCase("U2 a stale token has lost and writes nothing", async (store) => {
    const { workflow, execution } = await startClaimed(store);
    const answers = await assertUnchanged(store, workflow.id, () =>
      beat(store, [
        { executionId: execution.id, token: "token-0", cursor: "[9]", progress },
        { executionId: execution.id, token: "TOKEN-1", cursor: "[9]" },
        { executionId: execution.id, token: "", cursor: "[9]" },
      ]));
    assertSame(answers, ["lost", "lost", "lost"]);
  }),

  storeCase("unknown and malformed ids have lost", async (store) => {
    await startClaimed(store);
    const batch = NO_IDS.map((executionId) => ({ executionId, token: "token-1", cursor: "1" }));
    assertSame(await beat(store, batch), NO_IDS.map(() => "lost"));
  }),

  storeCase("an execution that nobody has claimed cannot be written", async (store) => {
    const { workflow, execution } = await start(store);
    const answers = await assertUnchanged(
      store,
      workflow.id,
      () => beat(store, [{ executionId: execution.id, token: "token-1", cursor: "1" }]),
    );
    assertSame(answers, ["lost"]);
  }),

  storeCase("an execution that has ended cannot be written any more", async (store) => {
    const { workflowId, executionId } = await bring(store, "finished");
    const answers = await assertUnchanged(
      store,
      workflowId,
      () => beat(store, [{ executionId, token: "token-1", cursor: "1" }]),
    );
    assertSame(answers, ["lost"]);
  }),
];

const batchCases: readonly StoreCase[] = [
  storeCase("checkpoint() of nothing answers nothing", async (store) => {
    assertSame(await beat(store, []), []);
  }),

  storeCase(
    "checkpoint() answers each member at its own index, whatever comes of the others",
    async (store) => {
      const one = (await startClaimed(store, { heroId: "1" })).execution.id;
      const two = (await bring(store, "paused while running", { heroId: "2" })).executionId;
      const three = (await startClaimed(store, { heroId: "3" })).execution.id;
      const four = (await bring(store, "canceled while running", { heroId: "4" })).executionId;
      const token = "token-1";
      const answers = await beat(store, [
        { executionId: four, token, cursor: "4" },
        { executionId: three, token, progress },
        { executionId: "none", token, cursor: "0" },
        { executionId: two, token: "stale", cursor: "2" },
        { executionId: one, token, cursor: "1" },
      ]);
      assertSame(answers, ["canceled", "held", "lost", "lost", "held"]);
      const cursors = await Promise.all(
        [one, two, three, four].map((id) => executionRow(store, id)),
      );
      assertSame(cursors.map((row) => row.cursor), ["1", null, null, "4"]);
      assertSame(cursors.map((row) => row.progress), [null, null, progress, null]);
    },
  ),

  storeCase(
    "of two checkpoints of one execution in a batch both count, the later one last",
    async (store) => {
      const { execution } = await startClaimed(store);
      const holder = { executionId: execution.id, token: "token-1" };
      const answers = await beat(store, [
        { ...holder, cursor: "1", progress },
        { ...holder, cursor: "2" },
        holder,
      ]);
      assertSame(answers, ["held", "held", "held"]);
      const row = await executionRow(store, execution.id);
      assert.equal(row.cursor, "2");
      assertSame(row.progress, progress);
    },
  ),

  storeCase("200 checkpoints travel in one call", async (store) => {
    await store.create(newWorkflows(200), { now: T0 });
    const options = { now: T0, token: "token-1", leaseMs: LEASE_MS, worker: "w", limit: 200 };
    const claims = await store.claimDue(options);
    const batch = claims.map(({ execution }, at) => ({
      executionId: execution.id,
      token: "token-1",
      cursor: String(at),
    }));
    assertSame(await beat(store, batch), batch.map(() => "held"));
    for (const [at, { executionId }] of batch.entries()) {
      assert.equal((await executionRow(store, executionId)).cursor, String(at));
    }
  }),

  storeCase("a claim that was renewed is still the same claim", async (store) => {
    const { execution } = await start(store);
    const claimed = await claim(store, execution.id);
    await beat(store, [{ executionId: execution.id, token: "token-1" }]);
    const row = await executionRow(store, execution.id);
    assertSame(
      [row.token, row.worker, row.startedAt],
      [claimed.execution.token, claimed.execution.worker, claimed.execution.startedAt],
    );
  }),
];

/** The cases about `checkpoint`. */
export const checkpointCases: readonly StoreCase[] = [
  ...heldCases,
  ...stopCases,
  ...lostCases,
  ...batchCases,
];
