import assert from "node:assert/strict";
import { checkpointAnswer, isHeld } from "../../src/state/checkpoint.ts";
import { isActive, isOngoing } from "../../src/state/records.ts";
import { EXECUTION_STATES, executionIn, TOKEN, WORKFLOW_STATES } from "./_rows.ts";

Deno.test("EXT-27 RES-25 RES-27 a checkpoint is told to go on only while the workflow performs", () => {
  const answers = WORKFLOW_STATES.map((state) => [state, checkpointAnswer(state)]);
  assert.deepEqual(Object.fromEntries(answers), {
    ready: "canceled",
    performing: "held",
    paused: "paused",
    finished: "canceled",
    canceled: "canceled",
  });
});

Deno.test("U2 EXE-18 a claim holds an execution in progress with its own token, and nothing else", () => {
  for (const state of EXECUTION_STATES) {
    // Even a closed row that still showed the token would not be held.
    const row = executionIn(state, { token: TOKEN });
    assert.equal(isHeld(row, TOKEN), state === "in_progress", state);
    assert.equal(isHeld(row, "token-0"), false);
  }
  assert.equal(isHeld(null, TOKEN), false);
});

Deno.test("QRY-02 HERO-05 HERO-06 a workflow is ongoing until it is finished or canceled", () => {
  assert.deepEqual(WORKFLOW_STATES.filter(isOngoing), ["ready", "performing", "paused"]);
});

Deno.test("QRY-04 SCH-10 the active execution is the one that is scheduled or in progress", () => {
  assert.deepEqual(EXECUTION_STATES.filter(isActive), ["scheduled", "in_progress"]);
});
