import assert from "node:assert/strict";
import { decide, type Handling, type StepResult } from "../../src/state/decide.ts";
import { BOOM, executionIn, parsed, policyOf } from "./_rows.ts";
import { againOf, inShort, plain, resumable } from "./_situations.ts";

function interrupted(reason = "max_iterations", waitMs = 0): StepResult {
  return { kind: "interrupted", reason, waitMs };
}

function failing(action: "pause" | "reattempt", phase: "condition" | "body" = "body"): StepResult {
  const handling: Handling = { kind: "policy", policy: policyOf({ action }), cap: null, waitMs: 0 };
  return { kind: "error", phase, error: BOOM, handling };
}

Deno.test("RES-15 RES-16 RES-10 RES-12 an interrupted chunk is continued by a linked successor with its cursor", () => {
  const ruling = decide(interrupted("suspend", 60_000), resumable());
  assert.deepEqual(ruling, {
    closing: { state: "completed", outcome: "continued", cause: "interrupt" },
    error: null,
    metadata: '{"interruptReason":"suspend","chain":{"interruptions":1,"ranMs":250}}',
    keepCursor: true,
    bodyStarted: true,
    terminal: false,
    then: {
      to: "again",
      waitMs: 60_000,
      attempt: 1,
      failures: 0,
      continuesFromId: "e1",
      cursor: "8",
      metadata: '{"chain":{"interruptions":1,"ranMs":250}}',
    },
  });
});

Deno.test("RES-39 EXC-29 JIT-43 a continuation keeps the attempt and starts the count of failures again", () => {
  const metadata = '{"previousError":{"class":"E","message":"m"}}';
  const execution = executionIn("in_progress", { cursor: "5", attempt: 4, failures: 3, metadata });
  const then = againOf(decide(interrupted(), resumable({ execution })));
  assert.equal(then.attempt, 4);
  assert.equal(then.failures, 0);
  assert.deepEqual(parsed(then.metadata).previousError, { class: "E", message: "m" });
});

/** Continues a chain from chunk to chunk without ever moving its cursor. */
function unmoved(results: readonly StepResult[], maxUnchanged: number | null): string[] {
  const ends: string[] = [];
  let execution = executionIn("in_progress", { cursor: "5" });
  for (const result of results) {
    const situation = resumable({ execution, cursor: execution.cursor, maxUnchanged });
    ends.push(inShort(result, situation));
    const { then } = decide(result, situation);
    if (then.to !== "again") break;
    execution = executionIn("in_progress", { cursor: then.cursor, metadata: then.metadata });
  }
  return ends;
}

const CONTINUED = "completed/continued/interrupt -> again";
const STALLED = "failed/failed/interrupt -> paused";

Deno.test("U18 a chain that does not move its cursor is paused after so many continuations", () => {
  for (const max of [0, 1, 3]) {
    const ends = unmoved(new Array(10).fill(interrupted()), max);
    assert.deepEqual(ends, [...new Array(max).fill(CONTINUED), STALLED]);
  }
  assert.deepEqual(
    unmoved(new Array(10).fill(interrupted()), null),
    new Array(10).fill(CONTINUED),
  );
});

Deno.test("U18 RES-25 a continuation that waits, or that somebody else asked for, is none without progress", () => {
  const excused = [
    interrupted("suspend", 1),
    interrupted("shutdown"),
    interrupted("paused"),
    interrupted("canceled"),
  ];
  for (const one of excused) {
    assert.deepEqual(unmoved([one, one, one], 0), [CONTINUED, CONTINUED, CONTINUED]);
    const between = [interrupted(), one, interrupted(), interrupted()];
    assert.deepEqual(unmoved(between, 1), [CONTINUED, CONTINUED, CONTINUED, STALLED]);
  }
});

Deno.test("U18 progress starts the count of unmoved continuations again", () => {
  const execution = executionIn("in_progress", { cursor: "5", metadata: '{"unchanged":3}' });
  const moved = decide(interrupted(), resumable({ execution, cursor: "6", maxUnchanged: 3 }));
  assert.equal(parsed(againOf(moved).metadata).unchanged, undefined);
  const stalled = resumable({ execution, cursor: "5", maxUnchanged: 3 });
  assert.equal(inShort(interrupted(), stalled), STALLED);
});

Deno.test("U18 a count that cannot be read starts again", () => {
  const execution = executionIn("in_progress", { cursor: "5", metadata: '{"unchanged":"3"}' });
  const then = againOf(decide(interrupted(), resumable({ execution, cursor: "5" })));
  assert.equal(parsed(then.metadata).unchanged, 1);
});

Deno.test("U18 AUD-12 a stalled chain is paused with an error that says what to do, in the columns and in the metadata", () => {
  const execution = executionIn("in_progress", { cursor: "5", metadata: '{"unchanged":2}' });
  const ruling = decide(interrupted(), resumable({ execution, cursor: "5", maxUnchanged: 2 }));
  const message = 'Cannot continue step "import": 3 executions in a row left its cursor where it ' +
    "was; set the cursor after each item, or wait between continuations";
  assert.deepEqual(ruling.error, { errorClass: "CursorError", message, stack: null });
  assert.deepEqual(parsed(ruling.metadata).exception, { class: "CursorError", message, stack: [] });
  assert.equal(ruling.keepCursor, true);
  assert.equal(ruling.terminal, true);
});

/** Results after which a chain may go on, and how many interruptions each adds. */
const GOES_ON: readonly (readonly [string, StepResult, number])[] = [
  ["an interruption", interrupted(), 1],
  ["a reattempt()", { kind: "flow", flow: { action: "reattempt", waitMs: 0, rewind: false } }, 0],
  ["a rewind", { kind: "flow", flow: { action: "reattempt", waitMs: 0, rewind: true } }, 0],
  ["a pause()", { kind: "flow", flow: { action: "pause" } }, 0],
  ["an error that pauses", failing("pause"), 0],
  ["an error that reattempts", failing("reattempt"), 0],
  ["a recovery", { kind: "recovered", action: "reattempt" }, 0],
];

for (const [what, result, added] of GOES_ON) {
  Deno.test(`JIT-42 ${what} adds the run time to the chain's, and only an interruption counts as one`, () => {
    const metadata = '{"chain":{"interruptions":2,"ranMs":1000}}';
    const execution = executionIn("in_progress", { cursor: "5", metadata });
    const ruling = decide(result, resumable({ execution, ranMs: 250 }));
    const chain = { interruptions: 2 + added, ranMs: 1250 };
    assert.deepEqual(parsed(ruling.metadata).chain, chain);
    if (ruling.then.to === "again") assert.deepEqual(parsed(ruling.then.metadata).chain, chain);
  });
}

Deno.test("JIT-42 totals that are missing or cannot be read count from nothing", () => {
  for (const metadata of [null, '{"chain":7}', '{"chain":null}', '{"chain":{"ranMs":"x"}}']) {
    const execution = executionIn("in_progress", { cursor: "5", metadata });
    const then = againOf(decide(interrupted(), resumable({ execution, ranMs: 250 })));
    assert.deepEqual(parsed(then.metadata).chain, { interruptions: 1, ranMs: 250 });
  }
});

Deno.test("JIT-42 a plain step has no chain", () => {
  for (const [, result] of GOES_ON) {
    const ruling = decide(result, plain());
    assert.equal(ruling.metadata?.includes("chain") ?? false, false);
    if (ruling.then.to === "again") {
      assert.equal(ruling.then.metadata?.includes("chain") ?? false, false);
    }
  }
});

/** Results that run a step again although its body never started. */
const NEVER_STARTED: readonly StepResult[] = [
  failing("reattempt", "condition"),
  { kind: "recovered", action: "reattempt", bodyStarted: false },
];

Deno.test("RES-02 JIT-30 while no body of a chain has started there is nothing to continue", () => {
  for (const result of NEVER_STARTED) {
    const execution = executionIn("in_progress");
    const then = againOf(decide(result, resumable({ execution, cursor: null })));
    assert.equal(then.continuesFromId, null);
  }
});

Deno.test("RES-03 RES-36 JIT-42 a chunk whose body never started is still a link of its chain, with its cursor and totals", () => {
  const chain = { interruptions: 2, ranMs: 1000 };
  const metadata = JSON.stringify({ chain });
  for (const result of NEVER_STARTED) {
    const execution = executionIn("in_progress", { continuesFromId: "e0", cursor: "5", metadata });
    const then = againOf(decide(result, resumable({ execution, cursor: "5" })));
    assert.equal(then.continuesFromId, "e1");
    assert.equal(then.cursor, "5");
    assert.deepEqual(parsed(then.metadata).chain, chain);
  }
});
