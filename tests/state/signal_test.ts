import assert from "node:assert/strict";
import { type NewSignal, receiveSignal, settleSignal } from "../../src/state/signal.ts";
import {
  at,
  EXECUTION_STATES,
  executionIn,
  parsed,
  signalRow,
  T0,
  WORKFLOW_STATES,
  workflowIn,
} from "./_rows.ts";

const APPROVED: NewSignal = {
  name: "approved",
  payload: '{"by":"ann"}',
  idempotencyKey: "k1",
  graceMs: 0,
};
const NOW = at(100);
const WAITING = { waitingFor: "approved", waitUntil: null, wakeAt: null } as const;

Deno.test("NEW-05 NEW-06 a known key is one signal in every state, ended workflows included", () => {
  for (const state of WORKFLOW_STATES) {
    for (const active of [null, executionIn("scheduled", WAITING)]) {
      const view = { workflow: workflowIn(state), active, known: signalRow() };
      assert.deepEqual(settleSignal(APPROVED, view, NOW), { kind: "known" });
    }
  }
});

Deno.test("NEW-05 NEW-06 NEW-07 what becomes of a new signal in every state of both rows", () => {
  for (const state of WORKFLOW_STATES) {
    for (const executionState of [null, ...EXECUTION_STATES]) {
      const active = executionState === null ? null : executionIn(executionState, WAITING);
      const view = { workflow: workflowIn(state), active, known: null };
      const settled = settleSignal(APPROVED, view, NOW);
      if (state === "finished" || state === "canceled") {
        assert.deepEqual(settled, { kind: "refused", state });
        continue;
      }
      const wakes = state === "ready" && executionState === "scheduled";
      assert.deepEqual(
        settled,
        { kind: "store", wake: wakes ? { ...active, wakeAt: NOW } : null },
        `${state}, ${executionState}`,
      );
    }
  }
});

Deno.test("NEW-05 a signal that comes before its step, or for another one, is only kept", () => {
  for (const waitingFor of [null, "rejected", "Approved"]) {
    const active = executionIn("scheduled", { waitingFor });
    const view = { workflow: workflowIn("ready"), active, known: null };
    assert.deepEqual(settleSignal(APPROVED, view, NOW), { kind: "store", wake: null });
  }
});

Deno.test("NEW-05 a woken execution is looked at now, or at its due time, plus the queue's grace", () => {
  const cases = [
    { scheduledFor: T0, graceMs: 0, wakes: NOW },
    { scheduledFor: T0, graceMs: 900_000, wakes: at(900_100) },
    { scheduledFor: NOW, graceMs: 5, wakes: at(105) },
    { scheduledFor: at(5_000), graceMs: 0, wakes: at(5_000) },
    { scheduledFor: at(5_000), graceMs: 10, wakes: at(5_010) },
  ];
  for (const { scheduledFor, graceMs, wakes } of cases) {
    const active = executionIn("scheduled", { ...WAITING, scheduledFor });
    const view = { workflow: workflowIn("ready"), active, known: null };
    assert.deepEqual(settleSignal({ ...APPROVED, graceMs }, view, NOW), {
      kind: "store",
      wake: { ...active, wakeAt: wakes },
    });
  }
});

Deno.test("NEW-08 AUD-13 a received signal ends the waiting and stands in the metadata beside what was there", () => {
  const waiting = executionIn("scheduled", {
    ...WAITING,
    waitUntil: at(900),
    metadata: '{"previousError":{"class":"E"}}',
  });
  const received = receiveSignal(waiting, signalRow({ payload: null, sentAt: at(5) }));
  assert.deepEqual({ ...received, metadata: parsed(received.metadata) }, {
    ...waiting,
    waitingFor: null,
    waitUntil: null,
    metadata: {
      previousError: { class: "E" },
      event: { name: "approved", payload: null, sentAt: at(5).toISOString() },
    },
  });
});
