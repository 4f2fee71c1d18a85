/**
 * Sending signals: once per key, in a transaction, and to workflows that do not take any.
 */

import assert from "node:assert/strict";
import {
  InvalidInputError,
  InvalidStateError,
  type SignalEvent,
  workflow,
  type WorkflowDefinition,
} from "../../mod.ts";
import { performNextStep, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";

/** An expense report: handed in, approved by somebody, paid. */
function expenses(events: SignalEvent[]): WorkflowDefinition {
  return workflow({
    name: "expenses",
    steps: [
      { name: "hand_in", run() {} },
      { name: "approve", waitFor: "approved", run: ({ event }) => void events.push(event) },
      { name: "pay", run() {} },
    ],
  });
}

behaviour(
  "NEW-05 signals of one idempotency key are one signal, per workflow",
  async ({ engine }) => {
    const events: SignalEvent[] = [];
    const definition = expenses(events);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    const other = await t.engine.start(definition);
    const first = await run.signal("approved", "first", { idempotencyKey: "webhook-1" });
    const again = await run.signal("approved", "again", { idempotencyKey: "webhook-1" });
    assert.deepEqual(again, first);
    assert.equal((await run.signals()).length, 1);
    const elsewhere = await other.signal("approved", "other", { idempotencyKey: "webhook-1" });
    assert.equal(elsewhere.payload, "other");

    await speedrunWorkflow(run);
    assert.deepEqual(events.map((event) => event.payload), ["first"]);
    const racing = await Promise.all(
      Array.from({ length: 5 }, () => other.signal("approved", 5, { idempotencyKey: "webhook-2" })),
    );
    assert.equal(new Set(racing.map((one) => one.id)).size, 1);
    assert.equal((await other.signals()).length, 2);
  },
);

behaviour(
  "NEW-06 a finished or canceled workflow takes no new signal, only one it knows already",
  async ({ engine }) => {
    const definition = expenses([]);
    const t = await engine({ workflows: [definition] });
    const finished = await t.engine.start(definition);
    const known = await finished.signal("approved", 1, { idempotencyKey: "a" });
    await speedrunWorkflow(finished);
    const canceled = await t.engine.start(definition);
    const kept = await canceled.signal("approved", 2, { idempotencyKey: "a" });
    await canceled.cancel();

    for (
      const [run, state, first] of [
        [finished, "finished", known],
        [canceled, "canceled", kept],
      ] as const
    ) {
      const before = await run.signals();
      for (const options of [{}, { idempotencyKey: "b" }]) {
        await assert.rejects(run.signal("approved", 3, options), (error) => {
          assert.ok(error instanceof InvalidStateError);
          assert.equal(error.state, state);
          assert.match(
            error.message,
            new RegExp(`^Cannot signal "approved" to a ${state} workflow`),
          );
          return true;
        });
      }
      const redelivered = await run.signal("approved", 3, { idempotencyKey: "a" });
      assert.deepEqual([redelivered.id, redelivered.payload], [first.id, first.payload]);
      assert.deepEqual(await run.signals(), before);
    }
  },
);

behaviour(
  "NEW-05 a signal needs a name and a payload that can be stored, or nothing is written",
  async ({ engine }) => {
    const definition = expenses([]);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    await assert.rejects(run.signal(""), InvalidInputError);
    await assert.rejects(run.signal(undefined as unknown as string), InvalidInputError);
    await assert.rejects(run.signal("approved", () => {}));
    assert.deepEqual(await run.signals(), []);
    const bare = await run.signal("approved");
    assert.equal(bare.payload, null);
  },
);

behaviour(
  "NEW-05 a signal in the caller's transaction is there with its commit, or not at all",
  async ({ engine }) => {
    const events: SignalEvent[] = [];
    const definition = expenses(events);
    const t = await engine({ workflows: [definition] });
    const run = await t.engine.start(definition);
    await performNextStep(run);
    await assert.rejects(
      t.store.transaction(async (tx) => {
        await run.signal("approved", 1, { tx });
        throw new Error("changed our mind");
      }),
      /changed our mind/,
    );
    assert.deepEqual(await run.signals(), []);
    assert.equal((await t.store.active(run.id))?.wakeAt, null);
    await t.store.transaction(async (tx) => {
      await run.signal("approved", 2, { tx });
    });
    assert.equal((await t.store.active(run.id))?.wakeAt?.getTime(), t.clock.now(), "for the sweep");
    await performNextStep(run);
    assert.deepEqual(events.map((event) => event.payload), [2]);
  },
);
