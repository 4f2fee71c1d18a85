import assert from "node:assert/strict";
import { jobOf, newWorkflowRow } from "../../src/state/creation.ts";
import type { NewExecution, NewWorkflow } from "../../src/state/records.ts";
import { at, EXECUTION_STATES, executionIn, newExecution, T0 } from "./_rows.ts";

function newWorkflow(first: NewExecution | null): NewWorkflow {
  return {
    name: "onboarding",
    heroType: "User",
    heroId: "42",
    allowMultiple: true,
    input: '{"plan":"pro"}',
    metadata: '{"by":"ann"}',
    jobOptions: '{"queue":"mail"}',
    traceparent: "00-1-2-01",
    first,
  };
}

function created(first: NewExecution | null): Record<string, unknown> {
  return { ...newWorkflowRow(newWorkflow(first), { id: "w1", now: at(7) }) };
}

const { first: _first, ...GIVEN } = newWorkflow(null);
const NEW = { ...GIVEN, id: "w1", createdAt: at(7), updatedAt: at(7) };

Deno.test("SCH-01 HERO-01 HERO-07 a new workflow is ready for its first step and keeps all it was given", () => {
  assert.deepEqual(created(newExecution({ stepName: "welcome" })), {
    ...NEW,
    state: "ready",
    currentStepName: null,
    nextStepName: "welcome",
    startedAt: null,
    transitionedAt: null,
  });
});

Deno.test("AUD-09 a new workflow whose first step comes already claimed is performing it", () => {
  const hold = { token: "t", leaseMs: 1, worker: "w" };
  assert.deepEqual(created(newExecution({ stepName: "welcome", hold })), {
    ...NEW,
    state: "performing",
    currentStepName: "welcome",
    nextStepName: "welcome",
    startedAt: at(7),
    transitionedAt: null,
  });
});

Deno.test("ORD-18 ORD-20 AUD-08 a new workflow without a step is finished at once", () => {
  assert.deepEqual(created(null), {
    ...NEW,
    state: "finished",
    currentStepName: null,
    nextStepName: null,
    startedAt: null,
    transitionedAt: at(7),
  });
});

Deno.test("SCH-02 SCH-13 a scheduled execution gives rise to a job that carries its id, time, queue and priority", () => {
  const row = executionIn("scheduled", {
    scheduledFor: at(60_000),
    wakeAt: at(960_000),
    queue: "mail",
    priority: 10,
  });
  const job = { executionId: "e1", runAt: at(60_000), queue: "mail", priority: 10 };
  assert.deepEqual(jobOf(row, false), job);
  assert.deepEqual(jobOf(row, true), job);
});

Deno.test("EXT-01 only a scheduled execution that somebody must look at has a job", () => {
  for (const state of EXECUTION_STATES) {
    assert.equal(jobOf(executionIn(state, { wakeAt: T0 }), true) !== null, state === "scheduled");
    assert.equal(jobOf(executionIn(state, { wakeAt: null }), true), null);
  }
});

Deno.test("NEW-05 an execution that waits for a signal has a job when the signal is there, or for the end of its waiting", () => {
  const parked = executionIn("scheduled", { waitingFor: "approved", scheduledFor: at(5) });
  assert.equal(jobOf(parked, false), null);
  assert.deepEqual(jobOf(parked, true)?.runAt, at(5));
  const limited = { ...parked, waitUntil: at(900) };
  assert.deepEqual(jobOf(limited, false)?.runAt, at(900));
  assert.deepEqual(jobOf(limited, true)?.runAt, at(5));
});
