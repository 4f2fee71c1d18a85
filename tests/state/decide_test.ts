import assert from "node:assert/strict";
import { decide, type FlowRequest, type StepResult, verdictOf } from "../../src/state/decide.ts";
import { at, executionIn, newExecution, parsed } from "./_rows.ts";
import { againOf, goalOf, inShort, plain, resumable } from "./_situations.ts";

const WITH_METADATA = { metadata: '{"event":{"name":"approved"},"note":1}' };

function flow(request: FlowRequest): StepResult {
  return { kind: "flow", flow: request };
}

const REATTEMPT: FlowRequest = { action: "reattempt", waitMs: 60_000, rewind: false };

/** Statement, result, what it means in a plain step, and in a resumable one where that differs. */
const TABLE: readonly (readonly [string, StepResult, string, string?])[] = [
  ["EXE-03 RES-18 RES-63", { kind: "completed" }, "completed/success/null -> next"],
  ["FLW-01 RES-29", flow({ action: "cancel" }), "canceled/canceled/flow_control -> canceled"],
  [
    "FLW-02 RES-28",
    flow({ action: "pause" }),
    "canceled/canceled/flow_control -> paused",
    "completed/workflow_paused/flow_control -> paused",
  ],
  ["FLW-03 RES-29", flow({ action: "skip" }), "skipped/skipped/flow_control -> next"],
  ["FLW-05 RES-30", flow(REATTEMPT), "completed/reattempted/flow_control -> again"],
  ["FLW-06 RES-29", flow({ action: "finish" }), "completed/success/flow_control -> finished"],
  [
    "U14 RES-15",
    { kind: "interrupted", reason: "shutdown", waitMs: 0 },
    "completed/reattempted/interrupt -> again",
    "completed/continued/interrupt -> again",
  ],
  [
    "CND-01 RES-41 NEW-01",
    { kind: "precondition", action: "skip", why: "skip_if" },
    "skipped/skipped/condition -> next",
  ],
  [
    "CND-07 HERO-12 RES-42",
    { kind: "precondition", action: "cancel", why: "cancel_if" },
    "canceled/canceled/condition -> canceled",
  ],
  [
    "HSK-08 HSK-11 HSK-21",
    { kind: "recovered", action: "reattempt" },
    "completed/recovered/recovery -> again",
  ],
  [
    "HSK-09 HSK-12",
    { kind: "recovered", action: "cancel" },
    "canceled/recovered/recovery -> canceled",
  ],
];

for (const [ids, result, inPlain, inResumable = inPlain] of TABLE) {
  const what = result.kind === "flow" ? `${result.flow.action}()` : result.kind;
  const name = "action" in result ? `${what} (${result.action})` : what;
  Deno.test(`${ids} ${name} closes the execution and sends the workflow on, plain or resumable`, () => {
    assert.equal(inShort(result, plain()), inPlain);
    assert.equal(inShort(result, resumable()), inResumable);
  });

  Deno.test(`FLW-08 FLW-16 ${name} stores no error and exhausts nothing`, () => {
    for (const situation of [plain(), resumable()]) {
      const ruling = decide(result, situation);
      assert.equal(ruling.error, null);
      assert.equal(ruling.terminal, false);
    }
  });

  Deno.test(`AUD-13 ${name} keeps what stands in the metadata already`, () => {
    for (const base of [plain(), resumable()]) {
      const execution = { ...base.execution, ...WITH_METADATA };
      const { metadata } = decide(result, { ...base, execution });
      const { event, note } = parsed(metadata);
      assert.deepEqual({ event, note }, { event: { name: "approved" }, note: 1 });
    }
  });

  Deno.test(`CND-12 after ${name} the row shows a start only where a body started`, () => {
    assert.equal(decide(result, plain()).bodyStarted, result.kind !== "precondition");
  });
}

Deno.test("RES-19 P6 success clears the cursor and leaves its last value in the metadata", () => {
  for (const result of [{ kind: "completed" } as const, flow({ action: "finish" })]) {
    const ruling = decide(result, resumable({ cursor: '{"page":[1,2]}' }));
    assert.equal(ruling.keepCursor, false);
    assert.deepEqual(parsed(ruling.metadata), { lastCursor: { page: [1, 2] } });
    assert.equal(decide(result, plain()).metadata, null);
  }
});

Deno.test("P6 a last cursor that a codec did not write as JSON is kept as it is", () => {
  const ruling = decide({ kind: "completed" }, resumable({ cursor: "v1:abc" }));
  assert.deepEqual(parsed(ruling.metadata), { lastCursor: "v1:abc" });
});

Deno.test("RES-25 RES-28 RES-34 every end but success keeps the cursor on its row", () => {
  for (const [, result] of TABLE) {
    const ruling = decide(result, resumable());
    assert.equal(ruling.keepCursor, ruling.closing.outcome !== "success", result.kind);
  }
});

Deno.test("CND-21 HERO-12 a precondition leaves its reason in the metadata", () => {
  for (const why of ["skip_if", "removed_step"]) {
    const ruling = decide({ kind: "precondition", action: "skip", why }, plain());
    assert.deepEqual(parsed(ruling.metadata), { reason: why });
  }
  const gone = decide({ kind: "precondition", action: "cancel", why: "hero_gone" }, plain());
  assert.deepEqual(parsed(gone.metadata), { reason: "hero_gone" });
});

Deno.test("FLW-05 SCH-11 SCH-12 AUD-10 AUD-11 a reattempt waits as long as asked, and says who asked", () => {
  for (const waitMs of [0, 60_000]) {
    const ruling = decide(flow({ ...REATTEMPT, waitMs }), plain());
    assert.deepEqual(parsed(ruling.metadata), { reattemptReason: "flow_control" });
    assert.deepEqual(ruling.then, {
      to: "again",
      waitMs,
      attempt: 2,
      failures: 0,
      continuesFromId: null,
      cursor: null,
      metadata: null,
    });
  }
});

Deno.test("FLW-11 EXC-27 a reattempt of the body's own counts as an attempt, never as a failure", () => {
  const execution = executionIn("in_progress", { attempt: 7, failures: 3 });
  const { attempt, failures } = againOf(decide(flow(REATTEMPT), plain({ execution })));
  assert.deepEqual({ attempt, failures }, { attempt: 8, failures: 3 });
});

Deno.test("U19 a reattempt of the body's own after progress leaves no failures behind", () => {
  const execution = executionIn("in_progress", { attempt: 7, failures: 3, cursor: "5" });
  assert.equal(againOf(decide(flow(REATTEMPT), resumable({ execution, cursor: "6" }))).failures, 0);
  assert.equal(againOf(decide(flow(REATTEMPT), resumable({ execution, cursor: "5" }))).failures, 3);
});

Deno.test("RES-30 RES-31 RES-32 RES-33 a reattempt goes on from the cursor, a rewind from the start, both linked", () => {
  const onward = againOf(decide(flow(REATTEMPT), resumable()));
  assert.equal(onward.cursor, "8");
  assert.equal(onward.continuesFromId, "e1");
  const rewound = againOf(decide(flow({ ...REATTEMPT, rewind: true }), resumable()));
  assert.equal(rewound.cursor, null);
  assert.equal(rewound.continuesFromId, "e1");
  const inPlain = againOf(decide(flow({ ...REATTEMPT, rewind: true }), plain()));
  assert.deepEqual(inPlain, againOf(decide(flow(REATTEMPT), plain())));
});

Deno.test("NEW-08 whatever runs the step again hands the received event on", () => {
  for (const [, result] of TABLE) {
    const execution = executionIn("in_progress", WITH_METADATA);
    const ruling = decide(result, plain({ execution }));
    if (ruling.then.to !== "again") continue;
    assert.deepEqual(parsed(ruling.then.metadata).event, { name: "approved" }, result.kind);
  }
});

Deno.test("U14 JIT-43 EXC-29 an interruption of a plain step is the same attempt again, with its count of failures", () => {
  const metadata = '{"previousError":{"class":"E","message":"m"}}';
  const execution = executionIn("in_progress", { attempt: 3, failures: 2, metadata });
  const result = { kind: "interrupted", reason: "shutdown", waitMs: 0 } as const;
  const ruling = decide(result, plain({ execution }));
  assert.deepEqual(parsed(ruling.metadata), {
    previousError: { class: "E", message: "m" },
    interruptReason: "shutdown",
  });
  assert.deepEqual(ruling.then, {
    to: "again",
    waitMs: 0,
    attempt: 3,
    failures: 2,
    continuesFromId: null,
    cursor: null,
    metadata,
  });
});

Deno.test("HSK-21 HSK-32 EXC-29 a recovered step starts its counts again and goes on from its cursor, now", () => {
  const execution = executionIn("in_progress", { attempt: 7, failures: 3, cursor: "5" });
  const result = { kind: "recovered", action: "reattempt" } as const;
  const { metadata: _, ...then } = againOf(decide(result, resumable({ execution, cursor: "8" })));
  assert.deepEqual(then, {
    to: "again",
    waitMs: 0,
    attempt: 1,
    failures: 0,
    continuesFromId: "e1",
    cursor: "8",
  });
});

Deno.test("HSK-11 HSK-12 an execution whose job was lost never started", () => {
  for (const action of ["reattempt", "cancel"] as const) {
    const lost = { kind: "recovered", action, bodyStarted: false } as const;
    assert.equal(decide(lost, plain()).bodyStarted, false);
    assert.equal(decide({ ...lost, bodyStarted: true }, plain()).bodyStarted, true);
  }
});

Deno.test("SCH-06 SCH-07 CND-02 FLW-04 the verdict points at what is planned, or at the end", () => {
  const next = newExecution({ stepName: "mail", scheduledFor: at(5) });
  const results: StepResult[] = [
    { kind: "completed" },
    flow({ action: "skip" }),
    { kind: "precondition", action: "skip", why: "skip_if" },
  ];
  for (const result of results) {
    const ruling = decide(result, plain());
    const { closing, error, metadata, keepCursor, bodyStarted } = ruling;
    const same = { closing, error, metadata, keepCursor, bodyStarted };
    assert.deepEqual(verdictOf(ruling, { stepName: "import", next }), {
      ...same,
      workflowState: "ready",
      nextStepName: "mail",
      next,
    });
    assert.deepEqual(verdictOf(ruling, { stepName: "import", next: null }), {
      ...same,
      workflowState: "finished",
      nextStepName: null,
      next: null,
    });
  }
});

Deno.test("FLW-05 a verdict on a step that runs again points at that step", () => {
  const next = newExecution({ stepName: "import" });
  const verdict = verdictOf(decide(flow(REATTEMPT), plain()), { stepName: "import", next });
  assert.equal(verdict.workflowState, "ready");
  assert.equal(verdict.nextStepName, "import");
  assert.equal(verdict.next, next);
});

Deno.test("FLW-12 FLW-13 AUD-15 an end keeps pointing at its step, save for finish(), and schedules nothing", () => {
  const planned = newExecution({ stepName: "mail" });
  const pointers = { cancel: "import", pause: "import", finish: null } as const;
  for (const action of ["cancel", "pause", "finish"] as const) {
    const ruling = decide(flow({ action }), plain());
    const verdict = verdictOf(ruling, { stepName: "import", next: planned });
    assert.equal(verdict.workflowState, goalOf(ruling));
    assert.equal(verdict.nextStepName, pointers[action]);
    assert.equal(verdict.next, null);
  }
});
