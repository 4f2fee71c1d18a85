import assert from "node:assert/strict";
import type { ExecutionRecord, WorkflowRecord } from "../../mod.ts";
import { ansiPalette, counted, duration, plainPalette } from "../../src/cli/style.ts";
import { clean, table } from "../../src/cli/table.ts";
import { progressBar, timeline } from "../../src/cli/timeline.ts";

const START = Date.UTC(2026, 0, 1);
const WIDTH = 10;

function at(ms: number): Date {
  return new Date(START + ms);
}

const WORKFLOW: WorkflowRecord = {
  id: "7",
  name: "import",
  heroType: null,
  heroId: null,
  state: "ready",
  currentStepName: null,
  nextStepName: "read",
  allowMultiple: false,
  input: null,
  metadata: {},
  startedAt: at(0),
  transitionedAt: null,
  createdAt: at(0),
  updatedAt: at(0),
};

/** An execution that waited from `times[0]`, ran from `times[1]` and ended at `times[2]`. */
function execution(
  id: number,
  times: readonly [number, number | null, number | null],
  over: Partial<ExecutionRecord> = {},
): ExecutionRecord {
  const [created, started, ended] = times;
  const ended_ = ended === null ? null : at(ended);
  return {
    id: String(id),
    workflowId: "7",
    stepName: "read",
    state: ended === null ? started === null ? "scheduled" : "in_progress" : "completed",
    outcome: ended === null ? null : "success",
    cause: null,
    attempt: 1,
    continuesFromId: null,
    cursor: null,
    progress: null,
    waitingFor: null,
    scheduledFor: at(created),
    startedAt: started === null ? null : at(started),
    completedAt: ended_,
    failedAt: null,
    canceledAt: null,
    skippedAt: null,
    finishedAt: ended_,
    errorClass: null,
    errorMessage: null,
    errorStack: null,
    metadata: {},
    queue: "default",
    priority: 0,
    worker: null,
    createdAt: at(created),
    ...over,
  };
}

function drawn(
  history: readonly ExecutionRecord[],
  over: { chunks?: boolean; limit?: number } = {},
) {
  return timeline(WORKFLOW, history, { now: at(10_000), width: WIDTH, ...over }).split("\n").slice(
    1,
  );
}

Deno.test("a timeline draws waits and runs to scale", () => {
  assert.deepEqual(drawn([execution(1, [0, 5_000, 10_000])]), [
    "  ✓  read  ░░░░░█████      5.0 s  success",
  ]);
});

Deno.test("chunks of a chain that went on without trouble share a line", () => {
  const chain = [
    execution(1, [0, 0, 2_000], { outcome: "continued", cause: "interrupt" }),
    execution(2, [2_000, 4_000, 6_000], { outcome: "continued", continuesFromId: "1" }),
    execution(3, [6_000, 8_000, null], {
      continuesFromId: "2",
      progress: { done: 5, total: 10, message: null },
    }),
  ];
  assert.deepEqual(drawn(chain), [
    "  ▶  read  ██░░██░░██      6.0 s  in_progress · 3 chunks",
    "       ██████████░░░░░░░░░░ 50 % · 5 of 10 · 0.8 per second · about 6.0 s left",
  ]);
  assert.deepEqual(drawn(chain, { chunks: true }).map((line) => line.slice(0, 14)), [
    "  ⤷  read    █",
    "  ⤷  └ read   ",
    "  ▶  └ read   ",
    "       ███████",
  ]);
});

Deno.test("attempts after an error, a crash or a resume have lines of their own", () => {
  const lines = drawn([
    execution(1, [0, 0, 2_000], {
      outcome: "reattempted",
      cause: "exception",
      metadata: { exception: { class: "TypeError", message: "boom\nsecond line" } },
    }),
    execution(2, [2_000, 4_000, 6_000], { attempt: 2, outcome: "recovered", cause: "recovery" }),
    execution(3, [6_000, 8_000, 10_000], {
      attempt: 2,
      continuesFromId: "2",
      state: "failed",
      outcome: "failed",
      cause: "exception",
      errorClass: "RangeError",
      errorMessage: "too far",
    }),
  ]);
  assert.deepEqual(lines, [
    "  ↻  read                ██              2.0 s  reattempted (exception)",
    "       TypeError: boom",
    "  ⟲  └ read (attempt 2)    ░░██          2.0 s  recovered (recovery)",
    "  ✗  └ read                    ░░██      2.0 s  failed (exception)",
    "       RangeError: too far",
  ]);
});

Deno.test("what is scheduled says what it waits for", () => {
  const waits = (over: Partial<ExecutionRecord>): string =>
    drawn([execution(1, [10_000, null, null], over)])[0]?.split(/ {2,}/).at(-1) ?? "";
  assert.equal(waits({ scheduledFor: at(10_000 + 2 * 86_400_000) }), "due in 2 d");
  assert.equal(waits({ scheduledFor: at(9_000) }), "due since 1.0 s");
  assert.equal(waits({ waitingFor: "approved" }), 'waits for the signal "approved"');
});

Deno.test("a long history is cut to its newest lines", () => {
  const history = Array.from({ length: 5 }, (_, id) => execution(id, [0, 0, 1_000]));
  const lines = drawn(history, { limit: 2 });
  assert.equal(lines[0], "  … 3 earlier lines");
  assert.equal(lines.length, 3);
  assert.deepEqual(drawn([]), []);
});

Deno.test("a table is as wide as its cells, cut to the terminal, without control characters", () => {
  const rows = [["1", "short"], ["22", "a text that is far too long for this terminal"]];
  const options = { heads: [">id", "what"], palette: plainPalette, columns: 20 };
  assert.equal(table(rows, options), "id  what\n 1  short\n22  a text that is …");
  assert.equal(table([["1", "a\x1b[2Jb\nc"]], options), "id  what\n 1  a�[2Jb ⏎ c");
  assert.equal(clean("tab\there"), "tab�here");
  const coloured = table([[{ text: "1", colour: "red" }, ""]], {
    ...options,
    palette: ansiPalette,
  });
  assert.ok(coloured.includes("\x1b[31m1\x1b[39m"));
});

Deno.test("progress without an end is a count", () => {
  const bar = (done: number, total: number | null): string =>
    progressBar({ progress: { done, total, message: "rows" } });
  assert.equal(bar(7, null), "7 done · rows");
  assert.equal(bar(12, 10), "████████████████████ 100 % · 12 of 10 · rows");
  assert.equal(progressBar({ progress: null }), "");
});

Deno.test("durations and counts read as people say them", () => {
  const durations = [0, 340, 2_500, 59_999, 200_000, 3_600_000, 187_200_000, -5];
  assert.deepEqual(durations.map(duration), [
    "0 ms",
    "340 ms",
    "2.5 s",
    "60.0 s",
    "3 min 20 s",
    "1 h",
    "2 d 4 h",
    "0 ms",
  ]);
  assert.deepEqual([0, 1, 1_204].map((count) => counted(count, "step")), [
    "0 steps",
    "1 step",
    "1,204 steps",
  ]);
});
