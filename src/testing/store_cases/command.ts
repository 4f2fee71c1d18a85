/**
 * Cases about `command`: pause, cancel and what is refused.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { StoreDriver } from "../../seams/store.ts";
import type { Command, CommandResult } from "../../state/command.ts";
import {
  after,
  assertSame,
  assertUnchanged,
  command,
  executionRow,
  newExecution,
  NO_IDS,
  resume,
  skip,
  start,
  stored,
  T0,
  workflowRow,
} from "./_builders.ts";
import { type StoreCase, storeCase } from "./_case.ts";
import { bring, type Situation, SITUATIONS } from "./_situations.ts";

const NOW = after(4_000);
const NEXT = newExecution({ stepName: "second", scheduledFor: NOW });

/** The commands, and the situations in which they are possible; everywhere else they are refused. */
const POSSIBLE: readonly {
  readonly covers: string;
  readonly what: Command;
  readonly title: string;
  readonly where: readonly Situation[];
}[] = [
  {
    covers: "EXT-04 EXT-26",
    title: "pause",
    what: { kind: "pause" },
    where: ["ready", "performing"],
  },
  {
    covers: "EXT-25",
    title: "cancel",
    what: { kind: "cancel" },
    where: ["ready", "performing", "paused", "paused after a failure", "paused while running"],
  },
  {
    covers: "EXT-12 EXT-26",
    title: "resume",
    what: resume(),
    where: ["paused", "paused after a failure", "paused while running"],
  },
  {
    covers: "EXT-21 EXT-26",
    title: "skip",
    what: skip(NEXT),
    where: ["ready", "paused", "paused after a failure"],
  },
  {
    covers: "EXT-15",
    title: "place of a paused workflow",
    what: { kind: "place", from: "paused", next: NEXT },
    where: ["paused", "paused after a failure"],
  },
  {
    covers: "EXT-15",
    title: "place of a ready workflow",
    what: { kind: "place", from: "ready", next: NEXT },
    where: ["ready"],
  },
];

const RUNNING: readonly Situation[] = [
  "performing",
  "paused while running",
  "canceled while running",
];

async function issue(
  store: StoreDriver,
  workflowId: string,
  what: Command,
): Promise<CommandResult> {
  return await store.command(workflowId, what, { now: NOW });
}

function possible(covers: string, title: string, what: Command, situation: Situation): StoreCase {
  return storeCase(
    `${covers} ${title} is possible while a workflow is ${situation}`,
    async (store) => {
      const { workflowId } = await bring(store, situation);
      const result = await issue(store, workflowId, what);
      assert.equal(result.kind, "done");
      assertSame(result.kind === "done" && result.workflow, await store.get(workflowId));
    },
  );
}

function refused(covers: string, title: string, what: Command, situation: Situation): StoreCase {
  return storeCase(
    `${covers} ${title} is refused while a workflow is ${situation}`,
    async (store) => {
      const { workflowId } = await bring(store, situation);
      const { state } = await workflowRow(store, workflowId);
      const result = await assertUnchanged(store, workflowId, () => issue(store, workflowId, what));
      assertSame(result, { kind: "refused", state, running: RUNNING.includes(situation) });
    },
  );
}

const pauseCases: readonly StoreCase[] = [
  storeCase(
    "EXT-01 EXT-02 a pause keeps the scheduled execution, and nobody looks at it",
    async (store) => {
      const { workflow, execution } = await start(store, {
        first: newExecution({ scheduledFor: after(60_000), graceMs: 5 }),
      });
      const paused = await command(store, workflow.id, { kind: "pause" }, { now: NOW });
      assert.equal(paused.job, null);
      assertSame(paused.workflow, {
        ...workflow,
        state: "paused",
        transitionedAt: NOW,
        updatedAt: NOW,
      });
      assertSame(await stored(store, workflow.id), {
        workflow: paused.workflow,
        history: [{ ...execution, wakeAt: null }],
        signals: [],
      });
    },
  ),

  storeCase("EXT-03 a pause keeps an overdue execution", async (store) => {
    const { workflow, execution } = await start(store, {
      first: newExecution({ scheduledFor: after(-60_000) }),
    });
    await command(store, workflow.id, { kind: "pause" }, { now: NOW });
    assertSame(await store.active(workflow.id), { ...execution, wakeAt: null });
  }),

  storeCase("EXT-27 P9 a pause while a body runs leaves its execution alone", async (store) => {
    const { workflowId, executionId } = await bring(store, "performing");
    const before = await executionRow(store, executionId);
    const workflow = await workflowRow(store, workflowId);
    const paused = await command(store, workflowId, { kind: "pause" }, { now: NOW });
    assert.equal(paused.job, null);
    assertSame(paused.workflow, {
      ...workflow,
      state: "paused",
      transitionedAt: NOW,
      updatedAt: NOW,
    });
    assertSame(await executionRow(store, executionId), before);
  }),
];

const cancelCases: readonly StoreCase[] = [
  ...(["ready", "paused"] as const).map((situation) =>
    storeCase(
      `EXT-23 AUD-07 cancel closes the scheduled execution of a ${situation} workflow`,
      async (store) => {
        const { workflowId, executionId } = await bring(store, situation);
        const before = await executionRow(store, executionId);
        const workflow = await workflowRow(store, workflowId);
        const canceled = await command(store, workflowId, { kind: "cancel" }, { now: NOW });
        assert.equal(canceled.job, null);
        assertSame(canceled.workflow, {
          ...workflow,
          state: "canceled",
          transitionedAt: NOW,
          updatedAt: NOW,
        });
        assertSame(await executionRow(store, executionId), {
          ...before,
          state: "canceled",
          outcome: "canceled",
          cause: "operator",
          canceledAt: NOW,
          finishedAt: NOW,
          wakeAt: null,
        });
        assert.equal(await store.active(workflowId), null);
      },
    )
  ),

  storeCase(
    "EXT-24 cancel of a workflow that failed leaves its failure as it is",
    async (store) => {
      const { workflowId, executionId } = await bring(store, "paused after a failure");
      const before = await executionRow(store, executionId);
      const canceled = await command(store, workflowId, { kind: "cancel" }, { now: NOW });
      assert.equal(canceled.workflow.state, "canceled");
      assertSame(canceled.workflow.transitionedAt, NOW);
      assertSame(await executionRow(store, executionId), before);
    },
  ),

  ...(["performing", "paused while running"] as const).map((situation) =>
    storeCase(
      `EXT-27 P9 cancel of a workflow that is ${situation} leaves the running execution alone`,
      async (store) => {
        const { workflowId, executionId } = await bring(store, situation);
        const before = await executionRow(store, executionId);
        const canceled = await command(store, workflowId, { kind: "cancel" }, { now: NOW });
        const { state, currentStepName, nextStepName } = canceled.workflow;
        assertSame([state, currentStepName, nextStepName], ["canceled", null, "first"]);
        assertSame(canceled.workflow, await store.get(workflowId));
        assertSame(await executionRow(store, executionId), before);
      },
    )
  ),
];

/** The cases about `command`, as far as they are not about going on. */
export const commandCases: readonly StoreCase[] = [
  ...POSSIBLE.flatMap(({ covers, title, what, where }) =>
    SITUATIONS.map((situation) =>
      where.includes(situation)
        ? possible(covers, title, what, situation)
        : refused(covers, title, what, situation)
    )
  ),
  ...pauseCases,
  ...cancelCases,

  storeCase("commands to unknown and malformed ids are missing", async (store) => {
    await start(store);
    for (const id of NO_IDS) {
      for (const { what } of POSSIBLE) {
        assertSame(await store.command(id, what, { now: T0 }), { kind: "missing" });
      }
    }
  }),

  storeCase("a command to one workflow leaves the others alone", async (store) => {
    const one = await bring(store, "ready", { heroId: "1" });
    const two = await bring(store, "ready", { heroId: "2" });
    await assertUnchanged(
      store,
      two.workflowId,
      () => command(store, one.workflowId, { kind: "cancel" }),
    );
  }),
];
