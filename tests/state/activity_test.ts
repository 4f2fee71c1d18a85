import assert from "node:assert/strict";
import fc from "fast-check";
import { activityClass, bucketBounds, fillBuckets } from "../../src/state/activity.ts";
import type { ExecutionState, Outcome } from "../../src/state/records.ts";

const since = new Date(Date.UTC(2026, 0, 1));

function until(ms: number): Date {
  return new Date(since.getTime() + ms);
}

Deno.test("buckets cover their span without gaps, and differ by a millisecond at the most", () => {
  fc.assert(fc.property(fc.integer({ min: 1, max: 200 }), fc.nat({ max: 1e9 }), (buckets, more) => {
    const spanMs = buckets + more;
    const bounds = bucketBounds({ since, until: until(spanMs), buckets });
    assert.equal(bounds.length, buckets + 1);
    assert.deepEqual([bounds[0], bounds.at(-1)], [since, until(spanMs)]);
    const lengths = bounds.slice(1).map((end, at) =>
      end.getTime() - (bounds[at] as Date).getTime()
    );
    assert.ok(Math.min(...lengths) >= 1);
    assert.ok(Math.max(...lengths) - Math.min(...lengths) <= 1);
  }));
});

Deno.test("a span that cannot be cut is refused", () => {
  for (const buckets of [0, -1, 0.5, 201, NaN, Infinity]) {
    assert.throws(() => bucketBounds({ since, until: until(1_000), buckets }), {
      code: "invalid_input",
    });
  }
  for (const ms of [0, -1, 9]) {
    assert.throws(() => bucketBounds({ since, until: until(ms), buckets: 10 }), {
      code: "invalid_input",
      message: `Cannot cut ${ms} ms into 10 buckets: use a whole number from 1 to 200, and a ` +
        `millisecond or more for each`,
    });
  }
});

Deno.test("every way of ending is of one class", () => {
  const cases: [ExecutionState, Outcome, string][] = [
    ["completed", "success", "completed"],
    ["completed", "continued", "completed"],
    ["completed", "workflow_paused", "completed"],
    ["completed", "reattempted", "reattempted"],
    ["completed", "recovered", "reattempted"],
    ["canceled", "recovered", "canceled"],
    ["canceled", "canceled", "canceled"],
    ["failed", "canceled", "failed"],
    ["failed", "failed", "failed"],
    ["skipped", "skipped", "skipped"],
  ];
  for (const [state, outcome, expected] of cases) {
    assert.equal(activityClass(state, outcome), expected, `${state} ${outcome}`);
  }
});

Deno.test("counts are summed up by class, and those of no bucket are left out", () => {
  const bounds = bucketBounds({ since, until: until(2_000), buckets: 2 });
  const buckets = fillBuckets(bounds, [
    { bucket: 0, state: "completed", outcome: "success", count: 2 },
    { bucket: 0, state: "completed", outcome: "continued", count: 3 },
    { bucket: 1, state: "failed", outcome: "failed", count: 1 },
    { bucket: 7, state: "failed", outcome: "failed", count: 9 },
  ]);
  const none = { reattempted: 0, skipped: 0, canceled: 0 };
  assert.deepEqual(buckets, [
    { from: since, completed: 5, failed: 0, ...none },
    { from: until(1_000), completed: 0, failed: 1, ...none },
  ]);
});
