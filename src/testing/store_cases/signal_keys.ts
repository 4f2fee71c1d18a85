/**
 * Cases about signals that were sent before, or too late.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  after,
  assertSame,
  assertUnchanged,
  claim,
  expectKind,
  finish,
  finished,
  newExecution,
  newSignal,
  NO_IDS,
  send,
  start,
  startClaimed,
} from "./_builders.ts";
import { type StoreCase, storeCase } from "./_case.ts";
import { bring } from "./_situations.ts";

const NOW = after(3_000);

const WAITING = newExecution({ waitingFor: "approved" });

const keyCases: readonly StoreCase[] = [
  storeCase("NEW-05 signals of one key are one signal", async (store) => {
    const { workflow } = await start(store, { first: WAITING });
    const key = { idempotencyKey: "evt_1" };
    const first = await send(store, workflow.id, { ...key, payload: "1" });
    for (const name of ["approved", "other"]) {
      const again = newSignal({ ...key, name, payload: "2" });
      const result = await assertUnchanged(
        store,
        workflow.id,
        () => store.signal(workflow.id, again, { now: after(9_000) }),
      );
      assertSame(result, { kind: "known", signal: first.signal });
    }
  }),

  storeCase("a signal that was received is still known by its key", async (store) => {
    const { workflow, execution } = await start(store, { first: WAITING });
    const { signal } = await send(store, workflow.id, { idempotencyKey: "evt_1" });
    await claim(store, execution.id, { now: NOW });
    const again = newSignal({ idempotencyKey: "evt_1" });
    assertSame(await store.signal(workflow.id, again, { now: after(9_000) }), {
      kind: "known",
      signal: { ...signal, consumedById: execution.id },
    });
  }),

  storeCase("signals without a key are all different", async (store) => {
    const { workflow } = await start(store);
    const one = await send(store, workflow.id);
    const two = await send(store, workflow.id);
    assert.notEqual(one.signal.id, two.signal.id);
    assert.equal((await store.signals(workflow.id)).length, 2);
  }),

  storeCase("keys that differ in case or in a final space are different", async (store) => {
    const { workflow } = await start(store);
    for (const idempotencyKey of ["evt", "Evt", "evt "]) {
      await send(store, workflow.id, { idempotencyKey });
    }
    assert.equal((await store.signals(workflow.id)).length, 3);
  }),

  storeCase("a key belongs to its workflow", async (store) => {
    const one = await start(store, { heroId: "1" });
    const two = await start(store, { heroId: "2" });
    await send(store, one.workflow.id, { idempotencyKey: "evt_1" });
    await send(store, two.workflow.id, { idempotencyKey: "evt_1" });
    assert.equal((await store.signals(two.workflow.id)).length, 1);
  }),
];

const endCases: readonly StoreCase[] = [
  ...(["finished", "canceled", "canceled while running"] as const).map((situation) =>
    storeCase(
      `NEW-06 a new signal to a workflow that is ${situation} is refused`,
      async (store) => {
        const { workflowId } = await bring(store, situation);
        const state = situation === "finished" ? "finished" : "canceled";
        for (const idempotencyKey of [null, "evt_1"]) {
          const result = await assertUnchanged(
            store,
            workflowId,
            () => store.signal(workflowId, newSignal({ idempotencyKey }), { now: NOW }),
          );
          assertSame(result, { kind: "refused", state });
        }
      },
    )
  ),

  storeCase("NEW-06 the redelivery of a known key is known, also after the end", async (store) => {
    const held = await startClaimed(store);
    const { id } = held.workflow;
    const { signal } = await send(store, id, { idempotencyKey: "evt_1" }, { now: after(10) });
    await finish(store, finished(held));
    const again = newSignal({ idempotencyKey: "evt_1" });
    const result = expectKind(await store.signal(id, again, { now: NOW }), "known");
    assertSame(result.signal, signal);
  }),

  storeCase("signals to unknown and malformed ids are missing", async (store) => {
    await start(store);
    for (const id of NO_IDS) {
      const signal = newSignal({ idempotencyKey: "evt_1" });
      assertSame(await store.signal(id, signal, { now: NOW }), { kind: "missing" });
      assertSame(await store.signals(id), []);
    }
  }),
];

/** The cases about signals that were sent before, or too late. */
export const signalKeyCases: readonly StoreCase[] = [...keyCases, ...endCases];
