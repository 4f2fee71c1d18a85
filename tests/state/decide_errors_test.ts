import assert from "node:assert/strict";
import type { ExceptionAction, TerminalAction } from "../../src/define/definition.ts";
import {
  decide,
  type ErrorPhase,
  type FlowRequest,
  type Handling,
  type Situation,
  type StepResult,
} from "../../src/state/decide.ts";
import { BOOM, BOOM_COPY, executionIn, parsed, policyOf } from "./_rows.ts";
import { againOf, closingOf, goalOf, inShort, plain, resumable } from "./_situations.ts";

const PHASES: readonly ErrorPhase[] = ["prepare", "condition", "body"];

function thrown(handling: Handling, phase: ErrorPhase = "body"): StepResult {
  return { kind: "error", phase, error: BOOM, handling };
}

function byPolicy(
  action: ExceptionAction | null,
  more: { cap?: number | null; waitMs?: number; terminalAction?: TerminalAction } = {},
): Handling {
  const { cap = null, waitMs = 0, terminalAction = "pause" } = more;
  return { kind: "policy", policy: policyOf({ action, terminalAction }), cap, waitMs };
}

function byHandler(flow: FlowRequest | null): Handling {
  return { kind: "handler", flow };
}

const REATTEMPT: FlowRequest = { action: "reattempt", waitMs: 5_000, rewind: false };

type ByPhase = Readonly<Record<ErrorPhase, string>>;

function inEveryPhase(text: string): ByPhase {
  return { prepare: text, condition: text, body: text };
}

const PAUSED = inEveryPhase("failed/failed/exception -> paused");
const CANCELED = inEveryPhase("failed/canceled/exception -> canceled");
const AGAIN = inEveryPhase("completed/reattempted/exception -> again");
const SKIPPED: ByPhase = {
  ...inEveryPhase("skipped/skipped/exception -> next"),
  prepare: "failed/failed/exception -> next",
};
const FINISHED = inEveryPhase("completed/success/flow_control -> finished");

/** Statement, what is done about the error, and what that means in each phase. */
const TABLE: readonly (readonly [string, string, Handling, ByPhase])[] = [
  ["EXC-01 CND-15 HERO-15 RES-34", "policy pause", byPolicy("pause"), PAUSED],
  ["EXC-01 DEF-20", "no policy", byPolicy(null), PAUSED],
  ["EXC-02 CND-16 HERO-16 RES-37", "policy cancel", byPolicy("cancel"), CANCELED],
  ["EXC-03 CND-18 HERO-16 RES-37", "policy skip", byPolicy("skip"), SKIPPED],
  ["EXC-04 CND-17 RES-36", "policy reattempt", byPolicy("reattempt"), AGAIN],
  ["EXC-36", "a handler that asks for nothing", byHandler(null), PAUSED],
  ["EXC-35 CND-24 EXC-49", "a handler's pause()", byHandler({ action: "pause" }), PAUSED],
  ["EXC-35 CND-24 EXC-49", "a handler's cancel()", byHandler({ action: "cancel" }), CANCELED],
  ["EXC-35 CND-24 EXC-49", "a handler's skip()", byHandler({ action: "skip" }), SKIPPED],
  ["EXC-37", "a handler's finish()", byHandler({ action: "finish" }), FINISHED],
  ["EXC-38 CND-24", "a handler's reattempt()", byHandler(REATTEMPT), AGAIN],
  ["U4 U12 EXE-23", "a broken handler or wait", { kind: "pause" }, PAUSED],
];

for (const [ids, what, handling, expected] of TABLE) {
  Deno.test(`${ids} ${what}: what an error means in each phase, plain or resumable`, () => {
    for (const phase of PHASES) {
      assert.equal(inShort(thrown(handling, phase), plain()), expected[phase], phase);
      assert.equal(inShort(thrown(handling, phase), resumable()), expected[phase], phase);
    }
  });

  Deno.test(`EXC-03 AUD-10 AUD-12 ${what}: the error stands in the metadata, and in the columns unless the step went well or again`, () => {
    for (const phase of PHASES) {
      const execution = executionIn("in_progress", { metadata: '{"note":1}' });
      const ruling = decide(thrown(handling, phase), plain({ execution }));
      const { note, exception } = parsed(ruling.metadata);
      assert.deepEqual({ note, exception }, { note: 1, exception: BOOM_COPY });
      const { outcome } = ruling.closing;
      const inColumns = outcome !== "reattempted" && outcome !== "success";
      assert.deepEqual(ruling.error, inColumns ? BOOM : null);
    }
  });

  Deno.test(`CND-12 CND-15 EXC-48 ${what}: the row shows a start only when the body threw`, () => {
    for (const phase of PHASES) {
      assert.equal(decide(thrown(handling, phase), plain()).bodyStarted, phase === "body");
    }
  });

  Deno.test(`RES-34 ${what}: the cursor stays, unless the step counts as a success`, () => {
    const ruling = decide(thrown(handling), resumable());
    assert.equal(ruling.keepCursor, ruling.closing.outcome !== "success");
    assert.equal(ruling.terminal, false);
  });
}

Deno.test("EXC-54 an error without a stack has no lines in the metadata", () => {
  const error = { ...BOOM, stack: null };
  const result = { ...thrown(byPolicy("pause")), error } as StepResult;
  const { exception } = parsed(decide(result, plain()).metadata);
  assert.deepEqual(exception, { class: "TimeoutError", message: "boom", stack: [] });
});

Deno.test("AUD-11 CND-21 EXC-38 a reattempt says whether the body or a condition caused it", () => {
  const reasons = {
    prepare: "exception_policy",
    condition: "precondition",
    body: "exception_policy",
  };
  for (const handling of [byPolicy("reattempt"), byHandler(REATTEMPT)]) {
    for (const phase of PHASES) {
      const { reattemptReason } = parsed(decide(thrown(handling, phase), plain()).metadata);
      assert.equal(reattemptReason, reasons[phase]);
    }
  }
});

Deno.test("EXC-05 EXC-38 RES-36 a reattempt waits as its policy or its handler says, and knows the error before it", () => {
  const cases = [[byPolicy("reattempt", { waitMs: 750 }), 750], [
    byHandler(REATTEMPT),
    5_000,
  ]] as const;
  for (const [handling, waitMs] of cases) {
    const execution = executionIn("in_progress", { attempt: 3, failures: 1 });
    assert.deepEqual(decide(thrown(handling), plain({ execution })).then, {
      to: "again",
      waitMs,
      attempt: 4,
      failures: 2,
      continuesFromId: null,
      cursor: null,
      metadata: '{"previousError":{"class":"TimeoutError","message":"boom"}}',
    });
  }
});

Deno.test("RES-36 RES-31 a reattempt after an error goes on from the cursor, a handler's rewind from the start", () => {
  const onward = againOf(decide(thrown(byPolicy("reattempt")), resumable()));
  assert.deepEqual([onward.continuesFromId, onward.cursor], ["e1", "8"]);
  const rewind = byHandler({ action: "reattempt", waitMs: 0, rewind: true });
  const rewound = againOf(decide(thrown(rewind), resumable()));
  assert.deepEqual([rewound.continuesFromId, rewound.cursor], ["e1", null]);
});

Deno.test("EXC-37 P6 a handler's finish() keeps the error and the last cursor in the metadata", () => {
  const ruling = decide(thrown(byHandler({ action: "finish" })), resumable());
  assert.deepEqual(parsed(ruling.metadata), { lastCursor: 8, exception: BOOM_COPY });
});

/** Lets a step fail until it does not go again; answers with the executions that were made. */
function failUntilEnd(handlings: (failure: number) => Handling, situation: Situation): string[] {
  const ends: string[] = [];
  let { execution } = situation;
  for (let failure = 1; failure <= 500; failure++) {
    const ruling = decide(thrown(handlings(failure)), { ...situation, execution });
    ends.push(`${closingOf(ruling)} -> ${goalOf(ruling)}${ruling.terminal ? ", terminal" : ""}`);
    if (ruling.then.to !== "again") return ends;
    const { attempt, failures, metadata } = ruling.then;
    execution = executionIn("in_progress", { attempt, failures, metadata });
  }
  return ends;
}

Deno.test("EXC-20 EXC-21 EXC-22 EXC-23 EXC-44 CND-20 RES-38 a cap of N allows N reattempts; failure N + 1 takes the terminal action", () => {
  const actions = { pause: PAUSED.body, cancel: CANCELED.body, skip: SKIPPED.body } as const;
  for (const terminalAction of ["pause", "cancel", "skip"] as const) {
    for (const cap of [1, 2, 5, 100]) {
      for (const situation of [plain(), resumable({ cursor: null })]) {
        const ends = failUntilEnd(() => byPolicy("reattempt", { cap, terminalAction }), {
          ...situation,
          execution: executionIn("in_progress"),
        });
        const again = new Array(cap).fill(AGAIN.body);
        assert.deepEqual(ends, [...again, `${actions[terminalAction]}, terminal`]);
      }
    }
  }
});

Deno.test("EXC-23 CND-20 a terminal action before the body is the one of its phase", () => {
  const handling = byPolicy("reattempt", { cap: 1, terminalAction: "skip" });
  const situation = plain({ execution: executionIn("in_progress", { failures: 1 }) });
  for (const phase of PHASES) {
    const ruling = decide(thrown(handling, phase), situation);
    assert.equal(ruling.terminal, true);
    assert.equal(inShort(thrown(handling, phase), situation), SKIPPED[phase]);
  }
});

Deno.test("EXC-24 EXC-25 when errors alternate, the smallest cap of their list counts, with the action of the one that matched", () => {
  const entries = [
    byPolicy("reattempt", { cap: 2, terminalAction: "skip" }),
    byPolicy("reattempt", { cap: 2, terminalAction: "cancel" }),
  ];
  const ends = failUntilEnd((failure) => entries[failure % 2] as Handling, plain());
  assert.deepEqual(ends, [AGAIN.body, AGAIN.body, `${CANCELED.body}, terminal`]);
});

Deno.test("EXC-26 EXC-33 EXC-38 without a cap, and with a handler, a step is reattempted without limit", () => {
  for (const handling of [byPolicy("reattempt", { cap: null }), byHandler(REATTEMPT)]) {
    assert.deepEqual(failUntilEnd(() => handling, plain()), new Array(500).fill(AGAIN.body));
  }
});

Deno.test("U37 history is compared with the cap as it is now", () => {
  const execution = executionIn("in_progress", { failures: 10 });
  const lowered = thrown(byPolicy("reattempt", { cap: 3 }));
  assert.equal(decide(lowered, plain({ execution })).terminal, true);
  const raised = thrown(byPolicy("reattempt", { cap: 11 }));
  assert.equal(decide(raised, plain({ execution })).terminal, false);
});

Deno.test("U19 a failure after the cursor advanced starts the count again at one", () => {
  const execution = executionIn("in_progress", { cursor: "5", attempt: 9, failures: 3 });
  const result = thrown(byPolicy("reattempt", { cap: 3 }));
  assert.equal(decide(result, resumable({ execution, cursor: "5" })).terminal, true);
  const { attempt, failures } = againOf(decide(result, resumable({ execution, cursor: "6" })));
  assert.deepEqual({ attempt, failures }, { attempt: 2, failures: 1 });
});
