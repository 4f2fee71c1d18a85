/** The checker on dossiers and journals made by hand: each promise kept, and each broken. */

import assert from "node:assert/strict";
import { type Attempt, check, type Complaint, type Dossier } from "../../chaos/checker.ts";
import type { Line } from "../../chaos/journal.ts";
import { ITEMS, STEP_NAMES } from "../../chaos/story.ts";

/** A workflow that went well: its rows and its journal, ready to be spoilt. */
function goodRun(): { dossier: Dossier; history: Attempt[]; lines: Line[] } {
  const history = STEP_NAMES.map((stepName, at) => attempt({ id: `${at + 1}`, stepName }));
  const lines = history.flatMap(({ id, stepName }, at) =>
    bodyOf(id, stepName, { from: at * 1_000, to: at * 1_000 + 500 })
  );
  return { dossier: { id: "7", state: "finished", history, booked: 1 }, history, lines };
}

function attempt(given: Partial<Attempt>): Attempt {
  return {
    id: "1",
    stepName: "reserve",
    outcome: "success",
    cause: null,
    cursor: null,
    errorClass: null,
    scheduledFor: new Date(0),
    startedAt: new Date(0),
    ...given,
  };
}

/** The lines of a body; a walk does its items between. */
function bodyOf(
  executionId: string,
  stepName: string,
  { from, to, end = "end", items }: {
    from: number;
    to: number;
    end?: Line["what"] | null;
    items?: readonly number[];
  },
): Line[] {
  const line = (what: Line["what"], at: number, item: number | null = null): Line => ({
    ...{ what, workflowId: "7", stepName, executionId, at, item },
  });
  const done = items ??
    (stepName === "notify" ? Array.from({ length: ITEMS }, (_, item) => item) : []);
  return [
    line("begin", from),
    ...done.map((item, at) => line("item", from + at + 1, item)),
    ...end === null ? [] : [line(end, to)],
  ];
}

/** What the checker says of a run, as text. */
function said(dossier: Partial<Dossier>, lines: readonly Line[]): string[] {
  const { complaints } = check([{ ...goodRun().dossier, ...dossier }], lines);
  return complaints.map(({ kind, sentence }: Complaint) => `${kind}: ${sentence}`);
}

Deno.test("a workflow that went well gives no cause for complaint", () => {
  const { dossier, lines } = goodRun();
  const findings = check([dossier], lines);
  assert.deepEqual(findings, { complaints: [], steps: 4, recovered: 0, recoveriesMs: [] });
});

Deno.test("1. a workflow that is neither finished nor paused with a reason is lost", () => {
  const { lines, history } = goodRun();
  assert.deepEqual(said({ state: "ready" }, lines), ["lost: workflow 7: it is ready at the end"]);
  assert.deepEqual(said({ state: "performing" }, lines), [
    "lost: workflow 7: it is performing at the end",
  ]);
  assert.deepEqual(said({ state: "canceled" }, lines), [
    "lost: workflow 7: it is canceled at the end",
  ]);
  assert.deepEqual(said({ state: "paused" }, lines), [
    "lost: workflow 7: it is paused without a stored reason",
  ]);
  const failed = attempt({ id: "4", stepName: "thank", outcome: "failed", errorClass: "Error" });
  assert.deepEqual(said({ state: "paused", history: [...history.slice(0, 3), failed] }, lines), []);
});

Deno.test("1. a finished workflow has every step completed once, in order", () => {
  const { lines, history } = goodRun();
  assert.deepEqual(said({ history: history.slice(0, 3) }, lines), [
    "lost: workflow 7: it is finished, and its steps succeeded as: reserve, book, notify",
  ]);
  const [first, ...rest] = history as [Attempt, ...Attempt[]];
  assert.match(
    said({ history: [first, { ...first, id: "9" }, ...rest] }, lines)[0] ?? "",
    /^lost: workflow 7: it is finished, and its steps succeeded as: reserve, reserve, book/,
  );
});

Deno.test("2. a body that ran twice under one execution is doubled", () => {
  const { lines } = goodRun();
  const again = bodyOf("4", "thank", { from: 3_600, to: 3_700 });
  assert.deepEqual(said({}, [...lines, ...again]), [
    "doubled: workflow 7: the body of execution 4 ran 2 times",
  ]);
});

Deno.test("2. a step that ran after it had completed is doubled", () => {
  const { lines, history } = goodRun();
  const late = attempt({ id: "9", outcome: "recovered" });
  const more = bodyOf("9", "reserve", { from: 600, to: 700 });
  assert.deepEqual(said({ history: [late, ...history] }, [...lines, ...more]), [
    "doubled: workflow 7: step reserve ran after it had completed",
  ]);
});

Deno.test("2. a success without a body, or whose body never ended, is lost work", () => {
  const { lines } = goodRun();
  const without = lines.filter((line) => line.executionId !== "4");
  const sentence = "lost: workflow 7: execution 4 succeeded, its body did not end";
  assert.deepEqual(said({}, without), [sentence]);
  const unended = lines.filter((line) => line.executionId !== "4" || line.what === "begin");
  assert.deepEqual(said({}, unended), [sentence]);
});

Deno.test("3. the ledger has one entry per booking", () => {
  const { lines } = goodRun();
  assert.deepEqual(said({ booked: 2 }, lines), [
    "doubled: workflow 7: the ledger has 2 entries for 1 bookings",
  ]);
  assert.deepEqual(said({ booked: 0 }, lines), [
    "lost: workflow 7: the ledger has 0 entries for 1 bookings",
  ]);
});

/** A walk that was taken over: its first part, and what the second visits. */
function walk(
  first: readonly number[],
  second: readonly number[],
  cursor: number | null = null,
): string[] {
  const { lines, history } = goodRun();
  const taken = attempt({ id: "9", stepName: "notify", outcome: "recovered", cursor });
  return said({ history: [...history.slice(0, 2), taken, ...history.slice(2)] }, [
    ...lines.filter((line) => line.stepName !== "notify"),
    ...bodyOf("9", "notify", { from: 1_600, to: 0, end: null, items: first }),
    ...bodyOf("3", "notify", { from: 2_000, to: 2_500, items: second }),
  ]);
}

const from = (first: number): number[] =>
  Array.from({ length: ITEMS - first }, (_, at) => first + at);

Deno.test("4. a walk goes back by one item at the most, and leaves none out", () => {
  assert.deepEqual(walk([0, 1, 2], from(2)), [], "the last one may not have been stored");
  assert.deepEqual(walk([0, 1, 2], from(3)), [], "or it was");
  assert.deepEqual(walk([], from(0)), [], "nothing was done yet");
  assert.deepEqual(walk([0, 1, 2], from(1)), [
    "doubled: workflow 7: item 1 was visited again, after 2",
  ]);
  assert.deepEqual(walk([0, 1, 2], from(2), 3), [
    "doubled: workflow 7: item 2 was visited again, after 2",
  ], "the row itself says that it was stored");
  assert.deepEqual(walk([0, 1, 2], from(4)), ["lost: workflow 7: the walk left out item 3"]);
  assert.deepEqual(walk([0, 1], [1, 2]), ["lost: workflow 7: the walk ended at item 2"]);
});

/** The first two steps with these bodies, the rest as it went well. */
function beginning(first: Partial<Attempt>, bodies: readonly Line[]): string[] {
  const { lines, history } = goodRun();
  const own = attempt({ id: "9", ...first });
  return said({ history: [own, ...history] }, [
    ...lines.filter((line) => line.executionId !== "1"),
    ...bodies,
  ]);
}

Deno.test("5. two bodies overlap only when the first has lost its lease or was handed back", () => {
  const overlapping = [
    ...bodyOf("9", "reserve", { from: 0, to: 300 }),
    ...bodyOf("1", "reserve", { from: 100, to: 400 }),
  ];
  assert.deepEqual(beginning({ outcome: "reattempted", cause: "exception" }, overlapping), [
    "overlap: workflow 7: reserve began while reserve held its lease",
  ]);
  assert.deepEqual(beginning({ outcome: "recovered", cause: "recovery" }, overlapping), []);
  assert.deepEqual(beginning({ outcome: "reattempted", cause: "interrupt" }, overlapping), []);
  const { lines } = goodRun();
  const during = lines.map((line) =>
    line.executionId === "2" ? { ...line, at: line.at - 700 } : line
  );
  assert.deepEqual(said({}, during), [
    "overlap: workflow 7: book began while reserve held its lease",
  ]);
});

/** A body that lost its lease at 1,000 and ended in this way, this long after the next one began. */
function late(end: Line["what"], afterMs: number, stepName: string = "reserve"): string[] {
  const { lines, history } = goodRun();
  const own = attempt({ id: "9", stepName, outcome: "recovered" });
  const at = STEP_NAMES.indexOf(stepName as typeof STEP_NAMES[number]);
  const shifted = lines.map((line) => ({ ...line, at: line.at + 1_500 }));
  const next = 1_500 + at * 1_000;
  const body = { from: next - 1_100, to: next + afterMs, end, items: [] };
  return said({ history: history.toSpliced(at, 0, own) }, [
    ...shifted,
    ...bodyOf("9", stepName, body),
  ]);
}

Deno.test("6. a late body that was given the chance has heard that its lease was lost", () => {
  assert.deepEqual(late("aborted", 1_600), []);
  assert.deepEqual(late("left", 1_600), []);
  assert.deepEqual(late("end", 900), [], "it had no chance yet");
  assert.deepEqual(late("end", 1_600), [
    "late: workflow 7: the late body of reserve was not told that its lease was lost",
  ]);
  assert.deepEqual(late("end", 1_600, "book"), [], "its commit finds out");
});

Deno.test("6. a late walk ends at its next checkpoint", () => {
  const { lines, history } = goodRun();
  const own = attempt({ id: "9", stepName: "notify", outcome: "recovered" });
  const goesOn = (items: readonly number[]): string[] =>
    said({ history: history.toSpliced(2, 0, own) }, [
      ...lines,
      ...bodyOf("9", "notify", { from: 1_999, to: 2_400, end: "left", items })
        .map((line) => line.what === "begin" ? line : { ...line, at: line.at + 50 }),
    ]);
  assert.deepEqual(goesOn([0]), []);
  assert.deepEqual(goesOn([0, 1]).slice(-1), [
    "late: workflow 7: a late walk went on for 2 items",
  ]);
});

Deno.test("a recovery takes from the last sign of life to the next body", () => {
  const { lines, history, dossier } = goodRun();
  const lost = attempt({ id: "9", stepName: "notify", outcome: "recovered" });
  const unbegun = attempt({ id: "8", outcome: "recovered", startedAt: null });
  const all = [unbegun, ...history.toSpliced(2, 0, lost)];
  const findings = check([{ ...dossier, history: all }], [
    ...lines,
    ...bodyOf("9", "notify", { from: 1_600, to: 0, end: null, items: [0] }),
  ]);
  assert.deepEqual(findings.complaints, []);
  assert.deepEqual(findings.recoveriesMs, [0, 399]);
  assert.equal(findings.recovered, 2);
  assert.equal(findings.steps, 5);
});
