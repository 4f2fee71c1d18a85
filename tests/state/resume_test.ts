import assert from "node:assert/strict";
import { type Command, type CommandSettlement, settleCommand } from "../../src/state/command.ts";
import type { ExecutionRow, NewExecution, Outcome } from "../../src/state/records.ts";
import { at, BOOM, BOOM_COPY, executionIn, newExecution, parsed, T0, workflowIn } from "./_rows.ts";

const NOW = at(500);
const FRESH = newExecution({ stepName: "import", scheduledFor: NOW });
const RESUME = {
  kind: "resume",
  expected: "import",
  fresh: FRESH,
  resumable: false,
  graceMs: 0,
} as const satisfies Command;

interface Given {
  readonly active?: ExecutionRow;
  readonly last?: ExecutionRow;
  readonly signalPending?: boolean;
  readonly command?: Partial<Extract<Command, { kind: "resume" }>>;
}

function settle(given: Given): Extract<CommandSettlement, { kind: "write" }> {
  const active = given.active ?? null;
  const settled = settleCommand({ ...RESUME, ...given.command }, {
    workflow: workflowIn("paused", {
      currentStepName: active?.state === "in_progress" ? "import" : null,
    }),
    active,
    last: given.last ?? active,
    signalPending: given.signalPending ?? false,
  }, NOW);
  assert.equal(settled.kind, "write");
  return settled as Extract<CommandSettlement, { kind: "write" }>;
}

function freshFrom(last: ExecutionRow, command: Given["command"] = {}): NewExecution {
  const { next, workflow, active, reannounce } = settle({ last, command });
  assert.equal(workflow.state, "ready");
  assert.equal(active, null);
  assert.equal(reannounce, false);
  return next as NewExecution;
}

Deno.test("EXT-05 EXT-06 EXT-08 AUD-08 a resume reuses the preserved execution with its due time, future or past, and announces it", () => {
  for (const scheduledFor of [T0, at(9_000)]) {
    for (const graceMs of [0, 900_000]) {
      const active = executionIn("scheduled", { scheduledFor, wakeAt: null });
      assert.deepEqual(settle({ active, command: { graceMs } }), {
        kind: "write",
        workflow: {
          ...workflowIn("paused"),
          state: "ready",
          transitionedAt: null,
          updatedAt: NOW,
        },
        active: { ...active, wakeAt: new Date(scheduledFor.getTime() + graceMs) },
        next: null,
        reannounce: true,
      });
    }
  }
});

Deno.test("NEW-07 a signal that came during the pause is matched on resume; without it the execution is parked again", () => {
  const active = executionIn("scheduled", { waitingFor: "approved", wakeAt: null });
  assert.deepEqual(settle({ active, signalPending: true }).active?.wakeAt, T0);
  assert.equal(settle({ active, signalPending: false }).active?.wakeAt, null);
  const limited = { ...active, waitUntil: at(900) };
  assert.deepEqual(settle({ active: limited, signalPending: false }).active?.wakeAt, at(900));
});

Deno.test("U16 a resume while the body still runs makes the workflow perform again: no job, no new execution", () => {
  const active = executionIn("in_progress");
  assert.deepEqual(settle({ active }), {
    kind: "write",
    workflow: {
      ...workflowIn("paused"),
      state: "performing",
      currentStepName: "import",
      transitionedAt: null,
      updatedAt: NOW,
    },
    active: null,
    next: null,
    reannounce: false,
  });
});

Deno.test("EXT-07 EXT-10 EXT-11 without a preserved execution a resume makes a new one of the same step, due now", () => {
  const lasts: [ExecutionRow, string][] = [
    [executionIn("canceled", { startedAt: null }), "its job came during the pause"],
    [executionIn("canceled"), "pause() inside a plain step"],
    [executionIn("completed", { outcome: "recovered" }), "its worker died"],
  ];
  for (const [last, why] of lasts) assert.deepEqual(freshFrom(last), FRESH, why);
  assert.deepEqual(settle({}).next, FRESH, "nothing was ever made");
});

Deno.test("EXT-29 EXC-31 a resume starts the counts of attempts and failures again", () => {
  const { attempt, failures } = freshFrom(executionIn("failed", { attempt: 101, failures: 100 }));
  assert.deepEqual({ attempt, failures }, { attempt: 1, failures: 0 });
});

/** How a resumable execution may have ended with the workflow paused at its step. */
const UNFINISHED: readonly (readonly ["completed" | "failed" | "canceled", Outcome])[] = [
  ["completed", "workflow_paused"],
  ["completed", "recovered"],
  ["completed", "reattempted"],
  ["failed", "failed"],
  ["canceled", "canceled"],
];

Deno.test("RES-26 RES-28 RES-35 HSK-21 a resume continues a resumable step from its cursor, linked to what it continues", () => {
  for (const [state, outcome] of UNFINISHED) {
    const last = executionIn(state, { id: "e7", outcome, cursor: "8" });
    const fresh = freshFrom(last, { resumable: true });
    assert.deepEqual(fresh, { ...FRESH, continuesFromId: "e7", cursor: "8" }, outcome);
    assert.deepEqual(freshFrom(last, { resumable: false }), FRESH, "a plain step has no cursor");
  }
});

Deno.test("RES-02 RES-03 JIT-30 an execution that never started is continued only if it continued another one", () => {
  const unstarted = executionIn("canceled", { id: "e7", startedAt: null });
  assert.equal(freshFrom(unstarted, { resumable: true }).continuesFromId, null);
  const chunk = { ...unstarted, continuesFromId: "e6", cursor: "8" };
  const fresh = freshFrom(chunk, { resumable: true });
  assert.deepEqual([fresh.continuesFromId, fresh.cursor], ["e7", "8"]);
});

Deno.test("U15 a step that has ended is never continued: the next one starts from nothing", () => {
  const ends: ExecutionRow[] = [
    executionIn("completed", { stepName: "sync", cursor: "8" }),
    executionIn("failed", { stepName: "sync", cursor: "8", metadata: '{"event":{}}' }),
    executionIn("completed", { outcome: "success", cursor: "8", metadata: '{"event":{}}' }),
    executionIn("skipped", { outcome: "skipped", cursor: "8", metadata: '{"event":{}}' }),
  ];
  for (const last of ends) assert.deepEqual(freshFrom(last, { resumable: true }), FRESH);
});

Deno.test("NEW-08 a resumed step has the event it received, and does not wait for another one", () => {
  const event = { name: "approved", payload: null, sentAt: T0.toISOString() };
  const waits = { ...FRESH, waitingFor: "approved", waitUntil: at(9_000) };
  const command = { fresh: waits };
  const had = freshFrom(executionIn("canceled", { metadata: JSON.stringify({ event }) }), command);
  assert.deepEqual({ ...had, metadata: parsed(had.metadata) }, {
    ...FRESH,
    waitingFor: null,
    waitUntil: null,
    metadata: { event },
  });
  assert.deepEqual(freshFrom(executionIn("canceled"), command), waits);
});

Deno.test("JIT-42 AUD-13 a resumed step carries the totals of its chain beside what it was planned with", () => {
  const chain = { interruptions: 1, ranMs: 70 };
  const last = executionIn("failed", { metadata: JSON.stringify({ chain, unchanged: 9 }) });
  const fresh = freshFrom(last, { fresh: { ...FRESH, metadata: '{"note":1}' } });
  assert.deepEqual(parsed(fresh.metadata), { note: 1, chain });
});

Deno.test("EXT-10 EXT-31 a resumed step knows the error before it: of the columns, of a reattempt, or handed on", () => {
  const previousError = { class: BOOM.errorClass, message: BOOM.message };
  const columns = { errorClass: BOOM.errorClass, errorMessage: BOOM.message };
  const copy = JSON.stringify({ exception: BOOM_COPY });
  const handed = JSON.stringify({ previousError });
  const cases: [ExecutionRow, unknown][] = [
    [executionIn("failed", columns), previousError],
    [executionIn("completed", { outcome: "reattempted", metadata: copy }), previousError],
    [executionIn("canceled", { startedAt: null, metadata: handed }), previousError],
    [executionIn("canceled", { metadata: handed }), undefined],
  ];
  for (const [last, expected] of cases) {
    const { metadata } = freshFrom(last);
    assert.deepEqual(metadata === null ? undefined : parsed(metadata).previousError, expected);
  }
});

Deno.test("U15 SCH-04 SCH-12 what was to be scheduled during the pause is not run before its time", () => {
  const cases = [
    { nextDueAt: at(60_000).toISOString(), due: at(60_000), until: at(60_400) },
    { nextDueAt: NOW.toISOString(), due: NOW, until: at(900) },
    { nextDueAt: T0.toISOString(), due: NOW, until: at(900) },
    { nextDueAt: "nonsense", due: NOW, until: at(900) },
    { nextDueAt: 7, due: NOW, until: at(900) },
  ];
  for (const { nextDueAt, due, until } of cases) {
    for (const last of [executionIn("completed", { stepName: "sync" }), executionIn("canceled")]) {
      const metadata = JSON.stringify({ nextDueAt });
      const waits = { ...FRESH, waitingFor: "approved", waitUntil: at(900) };
      const plain = freshFrom({ ...last, metadata });
      assert.deepEqual([plain.scheduledFor, plain.waitUntil], [due, null]);
      const waiting = freshFrom({ ...last, metadata }, { fresh: waits });
      assert.deepEqual([waiting.scheduledFor, waiting.waitUntil], [due, until]);
    }
  }
});

Deno.test("EXT-28 a resume that was planned before the workflow was paused is planned again, and finishes nothing", () => {
  const view = {
    workflow: workflowIn("paused"),
    active: null,
    last: executionIn("failed"),
    signalPending: false,
  };
  assert.deepEqual(settleCommand({ ...RESUME, fresh: null }, view, NOW), { kind: "moved" });
});

Deno.test("U15 a resume of a workflow with no step left finishes it", () => {
  const workflow = workflowIn("paused", { nextStepName: null });
  const view = { workflow, active: null, last: executionIn("completed"), signalPending: false };
  assert.deepEqual(settleCommand({ ...RESUME, expected: null, fresh: null }, view, NOW), {
    kind: "write",
    workflow: { ...workflow, state: "finished", transitionedAt: NOW, updatedAt: NOW },
    active: null,
    next: null,
    reannounce: false,
  });
});
