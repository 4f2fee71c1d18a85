import assert from "node:assert/strict";
import fc from "fast-check";
import {
  busyTimes,
  lanesOf,
  type LaneSpan,
  placeOn,
  scaleOf,
  type SpanKind,
  spansOf,
  ticksOf,
} from "../../src/dashboard/workflow/lanes.ts";
import type { ExecutionRow, WorkflowRow } from "../../src/state/records.ts";

const T0 = Date.UTC(2026, 0, 1);
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

function at(ms: number): Date {
  return new Date(T0 + ms);
}

function workflowRow(over: Partial<WorkflowRow> = {}): WorkflowRow {
  return {
    id: "1",
    name: "w",
    heroType: null,
    heroId: null,
    state: "ready",
    currentStepName: null,
    nextStepName: "a",
    allowMultiple: false,
    input: null,
    metadata: null,
    jobOptions: null,
    traceparent: null,
    startedAt: null,
    transitionedAt: null,
    createdAt: at(0),
    updatedAt: at(0),
    ...over,
  };
}

function execution(over: Partial<ExecutionRow> = {}): ExecutionRow {
  return {
    id: "1",
    workflowId: "1",
    seq: 1,
    stepName: "a",
    state: "scheduled",
    outcome: null,
    cause: null,
    attempt: 1,
    failures: 0,
    continuesFromId: null,
    cursor: null,
    progress: null,
    waitingFor: null,
    waitUntil: null,
    scheduledFor: at(0),
    wakeAt: null,
    token: null,
    leaseUntil: null,
    worker: null,
    startedAt: null,
    completedAt: null,
    failedAt: null,
    canceledAt: null,
    skippedAt: null,
    finishedAt: null,
    errorClass: null,
    errorMessage: null,
    errorStack: null,
    metadata: null,
    jobId: null,
    queue: "default",
    priority: 0,
    createdAt: at(0),
    ...over,
  };
}

/** Spans as kind, from and until, in milliseconds from the beginning. */
function told(spans: readonly LaneSpan[]): [SpanKind, number, number][] {
  return spans.map(({ kind, fromMs, untilMs }) => [kind, fromMs - T0, untilMs - T0]);
}

function spans(one: Partial<ExecutionRow>, nowMs: number, over: Partial<WorkflowRow> = {}) {
  return told(spansOf(execution(one), workflowRow(over), T0 + nowMs));
}

Deno.test("a wait is drawn up to its due time, what is late after it, and the body last", () => {
  const ended = {
    scheduledFor: at(10 * SECOND),
    startedAt: at(12 * SECOND),
    finishedAt: at(20 * SECOND),
    state: "completed",
    outcome: "success",
  } as const;
  assert.deepEqual(spans(ended, HOUR), [
    ["wait", 0, 10 * SECOND],
    ["queued", 10 * SECOND, 12 * SECOND],
    ["success", 12 * SECOND, 20 * SECOND],
  ]);
  assert.deepEqual(
    spans({ ...ended, startedAt: at(2 * MINUTE), finishedAt: at(3 * MINUTE) }, HOUR),
    [
      ["wait", 0, 10 * SECOND],
      ["overdue", 10 * SECOND, 2 * MINUTE],
      ["success", 2 * MINUTE, 3 * MINUTE],
    ],
  );
});

Deno.test("what is scheduled waits up to now, and the rest of its wait is still to come", () => {
  assert.deepEqual(spans({ scheduledFor: at(HOUR) }, MINUTE), [
    ["wait", 0, MINUTE],
    ["future", MINUTE, HOUR],
  ]);
  assert.deepEqual(spans({ scheduledFor: at(MINUTE) }, MINUTE + 5 * SECOND), [
    ["wait", 0, MINUTE],
    ["queued", MINUTE, MINUTE + 5 * SECOND],
  ]);
  assert.deepEqual(spans({ scheduledFor: at(MINUTE) }, HOUR), [
    ["wait", 0, MINUTE],
    ["overdue", MINUTE, HOUR],
  ]);
});

Deno.test("what waits for a signal or is paused is never late", () => {
  assert.deepEqual(spans({ waitingFor: "approved" }, HOUR), [["wait", 0, HOUR]]);
  assert.deepEqual(spans({ scheduledFor: at(MINUTE) }, HOUR, { state: "paused" }), [
    ["wait", 0, HOUR],
  ]);
});

Deno.test("every way of ending has a look of its own", () => {
  const end = { startedAt: at(1), finishedAt: at(2) };
  const cases: [Partial<ExecutionRow>, SpanKind][] = [
    [{ state: "in_progress", startedAt: at(1) }, "running"],
    [{ ...end, state: "completed", outcome: "success" }, "success"],
    [{ ...end, state: "completed", outcome: "continued" }, "continued"],
    [{ ...end, state: "completed", outcome: "reattempted" }, "retried"],
    [{ ...end, state: "completed", outcome: "recovered" }, "retried"],
    [{ ...end, state: "completed", outcome: "workflow_paused" }, "paused"],
    [{ ...end, state: "failed", outcome: "failed" }, "failed"],
    [{ ...end, state: "failed", outcome: "canceled" }, "failed"],
    [{ ...end, state: "canceled", outcome: "canceled" }, "canceled"],
    [{ ...end, state: "canceled", outcome: "recovered" }, "canceled"],
    [{ finishedAt: at(2), state: "skipped", outcome: "skipped" }, "skipped"],
  ];
  for (const [one, kind] of cases) {
    assert.equal(spans(one, 10).at(-1)?.[0], kind, `${one.state} ${one.outcome}`);
  }
  assert.deepEqual(spans({ finishedAt: at(2), state: "skipped", outcome: "skipped" }, 10).at(-1), [
    "skipped",
    2,
    2,
  ]);
});

Deno.test("a lane has all executions of a step that follow each other", () => {
  const rows = ["a", "a", "b", "a"].map((stepName, place) =>
    execution({ id: String(place), seq: place + 1, stepName })
  );
  const lanes = lanesOf(rows, { workflow: workflowRow(), now: at(0) });
  assert.deepEqual(lanes.map((lane) => [lane.stepName, lane.executions.length]), [
    ["a", 2],
    ["b", 1],
    ["a", 1],
  ]);
});

function scale(rows: readonly ExecutionRow[], nowMs: number, over: {
  workflow?: Partial<WorkflowRow>;
  isShort?: boolean;
  hidden?: number;
} = {}) {
  const workflow = workflowRow(over.workflow);
  const options = {
    workflow,
    now: at(nowMs),
    hidden: over.hidden ?? 0,
    isShort: over.isShort ?? false,
  };
  return scaleOf(lanesOf(rows, options), options);
}

const DONE = { state: "completed", outcome: "success" } as const;

Deno.test("a scale ends with the last end, or with now while something is open", () => {
  const ended = execution({ ...DONE, startedAt: at(0), finishedAt: at(MINUTE) });
  assert.equal(scale([ended], DAY, { workflow: { state: "finished" } }).untilMs, T0 + MINUTE);
  assert.equal(scale([ended], DAY, { workflow: { state: "paused" } }).untilMs, T0 + MINUTE);
  const open = execution({ state: "in_progress", startedAt: at(MINUTE) });
  assert.equal(scale([open], HOUR).untilMs, T0 + HOUR);
});

Deno.test("a wait that is still to come takes no more room than what was", () => {
  const soon = execution({ scheduledFor: at(90 * MINUTE) });
  assert.equal(scale([soon], HOUR).untilMs, T0 + 90 * MINUTE);
  const late = execution({ scheduledFor: at(30 * DAY) });
  assert.equal(scale([late], HOUR).untilMs, T0 + 2 * HOUR);
  assert.equal(scale([late], 0).untilMs, T0 + MINUTE + 1);
});

Deno.test("a history whose beginning is left out begins with what is shown", () => {
  const one = execution({
    ...DONE,
    createdAt: at(HOUR),
    scheduledFor: at(HOUR),
    startedAt: at(HOUR),
    finishedAt: at(2 * HOUR),
  });
  assert.equal(scale([one], DAY, { hidden: 5 }).fromMs, T0 + HOUR);
});

Deno.test("on a shortened scale bodies keep their proportions, and waits shrink", () => {
  const rows = [
    execution({ id: "1", seq: 1, ...DONE, startedAt: at(0), finishedAt: at(10 * SECOND) }),
    execution({
      id: "2",
      seq: 2,
      stepName: "b",
      ...DONE,
      createdAt: at(10 * SECOND),
      scheduledFor: at(2 * DAY),
      startedAt: at(2 * DAY),
      finishedAt: at(2 * DAY + 20 * SECOND),
    }),
  ];
  const short = scale(rows, 3 * DAY, { isShort: true, workflow: { state: "finished" } });
  const width = (from: number, until: number): number =>
    placeOn(short, T0 + until) - placeOn(short, T0 + from);
  assert.ok(Math.abs(width(2 * DAY, 2 * DAY + 20 * SECOND) / width(0, 10 * SECOND) - 2) < 0.01);
  assert.ok(width(10 * SECOND, 2 * DAY) < 20);
  assert.equal(placeOn(short, T0 + 2 * DAY + 20 * SECOND), 100);
  const even = scale(rows, 3 * DAY, { workflow: { state: "finished" } });
  assert.ok(placeOn(even, T0 + 10 * SECOND) < 0.1);
  assert.deepEqual(ticksOf(short, 6).atMs.map((ms) => ms - T0), [0, 2 * DAY]);
});

Deno.test("places on a scale grow with time and stay between 0 and 100", () => {
  const times = fc.array(fc.nat({ max: 10 * DAY }), { minLength: 2, maxLength: 20 });
  fc.assert(fc.property(times, fc.boolean(), (all, isShort) => {
    const sorted = all.toSorted((a, b) => a - b);
    const rows = sorted.slice(1).map((end, place) =>
      execution({
        id: String(place),
        seq: place + 1,
        stepName: String(place % 3),
        ...DONE,
        createdAt: at(sorted[place] as number),
        scheduledFor: at(sorted[place] as number),
        startedAt: at(((sorted[place] as number) + end) / 2),
        finishedAt: at(end),
      })
    );
    const made = scale(rows, 11 * DAY, { isShort, workflow: { state: "finished" } });
    const places = sorted.map((ms) => placeOn(made, T0 + ms));
    for (const [index, place] of places.entries()) {
      assert.ok(place >= 0 && place <= 100.000001);
      assert.ok(index === 0 || place >= (places[index - 1] as number) - 1e-9);
    }
    for (const tick of ticksOf(made, 6).atMs) {
      assert.ok(tick >= made.fromMs && tick <= made.untilMs);
    }
  }));
});

Deno.test("marks stand at round times, and there are not too many", () => {
  const of = (spanMs: number) => {
    const [fromMs, untilMs] = [T0 + 7, T0 + 7 + spanMs];
    return ticksOf({ fromMs, untilMs, points: [[fromMs, 0], [untilMs, 100]], begins: null }, 6);
  };
  for (
    const spanMs of [5, 900, 7 * SECOND, 11 * MINUTE, 3 * HOUR, 30 * HOUR, 9 * DAY, 4_000 * DAY]
  ) {
    const { stepMs, atMs } = of(spanMs);
    assert.ok(atMs.length <= 7, `${spanMs}: ${atMs.length}`);
    for (const ms of atMs) assert.equal(ms % stepMs, 0);
  }
  assert.deepEqual(of(11 * MINUTE).atMs.map((ms) => (ms - T0) / MINUTE), [2, 4, 6, 8, 10]);
});

Deno.test("times in which something ran are joined where they touch", () => {
  const pieces = [[0, 5], [20, 30], [4, 10], [25, 26]].map(([fromMs = 0, untilMs = 0]) => ({
    fromMs,
    untilMs,
  }));
  assert.deepEqual(busyTimes(pieces), [{ fromMs: 0, untilMs: 10 }, { fromMs: 20, untilMs: 30 }]);
});
