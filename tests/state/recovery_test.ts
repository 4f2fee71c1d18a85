import assert from "node:assert/strict";
import { decide, type StepResult } from "../../src/state/decide.ts";
import { executionIn, parsed } from "./_rows.ts";
import { againOf, closingOf, plain, resumable } from "./_situations.ts";

const DIED: StepResult = { kind: "recovered", action: "reattempt", bodyStarted: true };
const NOT_HEARD: StepResult = { kind: "recovered", action: "reattempt", bodyStarted: false };

Deno.test("HSK-08 a step that takes every worker down is recovered so often, and then paused", () => {
  let metadata: string | null = null;
  for (let deaths = 1; deaths <= 3; deaths++) {
    const execution = executionIn("in_progress", { metadata });
    const ruling = decide(DIED, plain({ execution, maxRecoveries: 3 }));
    assert.equal(closingOf(ruling), "completed/recovered/recovery");
    ({ metadata } = againOf(ruling));
    assert.equal(parsed(metadata).recoveries, deaths);
  }
  const execution = executionIn("in_progress", { metadata });
  const last = decide(DIED, plain({ execution, maxRecoveries: 3 }));
  assert.equal(closingOf(last), "failed/failed/recovery");
  assert.deepEqual(last.then, { to: "end", workflowState: "paused" });
  assert.equal(last.error?.errorClass, "RecoveryLimitError");
  assert.match(last.error?.message ?? "", /4 workers in a row died/);
  const unlimited = decide(DIED, plain({ execution, maxRecoveries: null }));
  assert.equal(closingOf(unlimited), "completed/recovered/recovery");
});

Deno.test("HSK-08 the first deaths are followed at once, and later ones by waits that part neighbours", () => {
  const waitAfter = (deaths: number, chance: number): number => {
    const metadata = deaths === 1 ? null : JSON.stringify({ recoveries: deaths - 1 });
    const execution = executionIn("in_progress", { metadata });
    return againOf(decide(DIED, plain({ execution, maxRecoveries: null, chance }))).waitMs;
  };
  const cases = [
    { deaths: 1, shortest: 0, longest: 0 },
    { deaths: 2, shortest: 0, longest: 0 },
    { deaths: 3, shortest: 50, longest: 150 },
    { deaths: 4, shortest: 100, longest: 300 },
    { deaths: 8, shortest: 1_600, longest: 4_800 },
    { deaths: 9, shortest: 2_500, longest: 7_500 },
    { deaths: 1_000, shortest: 2_500, longest: 7_500 },
  ];
  for (const { deaths, shortest, longest } of cases) {
    assert.deepEqual(
      [waitAfter(deaths, 0), waitAfter(deaths, 1)],
      [shortest, longest],
      `${deaths}`,
    );
  }
});

Deno.test("HSK-21 a cursor that moved since the last death starts the count again", () => {
  const metadata = JSON.stringify({ recoveries: 3, recoveredFrom: '{"a":1,"b":2}' });
  const stayed = executionIn("in_progress", { cursor: '{"b": 2, "a": 1}', metadata });
  const same = resumable({ execution: stayed, cursor: stayed.cursor, maxRecoveries: 3 });
  assert.equal(closingOf(decide(DIED, same)), "failed/failed/recovery");
  const moved = executionIn("in_progress", { cursor: "7", metadata });
  const ruling = decide(DIED, resumable({ execution: moved, cursor: "7", maxRecoveries: 3 }));
  assert.equal(parsed(againOf(ruling).metadata).recoveries, 1);
  assert.equal(parsed(againOf(ruling).metadata).recoveredFrom, "7");
});

Deno.test("HSK-11 a lost job is nobody's death, and a cancel is a cancel", () => {
  const execution = executionIn("in_progress", { metadata: '{"recoveries":9}' });
  const lost = decide(NOT_HEARD, plain({ execution, maxRecoveries: 1 }));
  assert.equal(againOf(lost).metadata, null);
  const canceled = decide(
    { kind: "recovered", action: "cancel", bodyStarted: true },
    plain({ execution, maxRecoveries: 1 }),
  );
  assert.equal(closingOf(canceled), "canceled/recovered/recovery");
});
