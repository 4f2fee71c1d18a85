import assert from "node:assert/strict";
import fc from "fast-check";
import { backoff, policyWait, type PolicyWaitInput } from "../../src/define/backoff.ts";
import type { PolicyWait } from "../../src/define/definition.ts";
import { MAX_DURATION_MS } from "../../src/define/durations.ts";
import { policy } from "../../src/define/policy.ts";
import { StepConfigurationError } from "../../src/errors.ts";
import { refusal } from "./_helpers.ts";

/** The waits of a policy after one, two, … failures in a row. */
function waits(wait: PolicyWaitInput, counts: number, jitter?: number): number[] {
  const made = policy("reattempt", { wait, ...(jitter !== undefined && { jitter }) }).wait;
  assert.ok(made !== null);
  return Array.from({ length: counts }, (_, at) => made(at + 1));
}

function least(): number {
  return 0;
}

/** The largest number below one. */
function most(): number {
  return 1 - Number.EPSILON / 2;
}

Deno.test("EXC-50 polynomial: n^4 + 2 seconds without jitter", () => {
  const figures = [3_000, 18_000, 83_000, 258_000, 627_000];
  assert.deepEqual(waits(backoff.polynomial({ jitter: 0 }), 5), figures);
  assert.deepEqual(waits("polynomial", 5, 0), figures);
  assert.deepEqual(waits(backoff.polynomial({ random: least }), 5), figures);
});

Deno.test("EXC-50 polynomial: up to 15 % of n^4 is added at random", () => {
  assert.deepEqual(waits(backoff.polynomial({ random: most }), 3), [3_150, 20_400, 95_150]);
  assert.deepEqual(waits(backoff.polynomial({ random: () => 0.5 }), 2), [3_075, 19_200]);
  assert.deepEqual(waits(backoff.polynomial({ random: most, jitter: 1 }), 2), [4_000, 34_000]);
});

Deno.test("EXC-50 a policy's jitter takes the place of the backoff's", () => {
  const wait = backoff.polynomial({ random: most, jitter: 1 });
  assert.deepEqual(waits(wait, 2, 0), [3_000, 18_000]);
  assert.deepEqual(waits(wait, 2, 0.5), [3_500, 26_000]);
});

Deno.test("EXC-50 every wait of a polynomial lies within its jitter", () => {
  const wait = policy("reattempt", { wait: "polynomial" }).wait as PolicyWait;
  fc.assert(fc.property(fc.integer({ min: 1, max: 100 }), (count) => {
    const ms = wait(count);
    assert.ok(Number.isInteger(ms));
    assert.ok(ms >= count ** 4 * 1000 + 2000);
    assert.ok(ms <= count ** 4 * 1150 + 2000);
  }));
});

Deno.test("EXC-50 exponential: multiplied each time, up to the longest", () => {
  assert.deepEqual(waits(backoff.exponential({ jitter: 0 }), 4), [1_000, 2_000, 4_000, 8_000]);
  const options = { first: "100 ms", factor: 3, max: "1 second", jitter: 0 };
  assert.deepEqual(waits(backoff.exponential(options), 4), [100, 300, 900, 1_000]);
  assert.deepEqual(waits(backoff.exponential({ random: most }), 2), [1_150, 2_300]);
  const steady = policyWait(backoff.exponential({ jitter: 0 }), undefined, "wait");
  assert.equal(steady(5_000), 86_400_000);
});

Deno.test("EXC-51 a function gets the 1-based count, and its result is the wait", () => {
  const counts: number[] = [];
  const wait = (count: number): number => {
    counts.push(count);
    return count * 10;
  };
  assert.deepEqual(waits(wait, 3), [10, 20, 30]);
  assert.deepEqual(counts, [1, 2, 3]);
  assert.deepEqual(waits((count) => `${count} minutes`, 2), [60_000, 120_000]);
  assert.deepEqual(waits((count) => ({ seconds: count }), 2), [1_000, 2_000]);
});

Deno.test("U12 what a wait function returns is checked when it is called, not before", () => {
  for (const nonsense of [-1, NaN, "soon", null, undefined, Promise.resolve(5)]) {
    const wait = policyWait(() => nonsense, undefined, "wait of policy");
    assert.throws(() => wait(1), (error) => {
      assert.ok(error instanceof StepConfigurationError);
      assert.match(error.message, /as the result of wait of policy/);
      return true;
    });
  }
});

Deno.test("EXC-52 U12 an unknown backoff or a wait of another type is refused when it is written", () => {
  for (const wait of ["exponential", "linear", "Polynomial"]) {
    refusal(() => policy("reattempt", { wait }), wait, "no backoff of this name", '"polynomial"');
  }
  for (const wait of [-5, NaN, Infinity, "", "5", true, null, {}, [], { kind: "backoff" }]) {
    refusal(
      () => policy("reattempt", { wait: wait as PolicyWaitInput }),
      'wait of policy("reattempt")',
    );
  }
  const copy = { ...backoff.polynomial() };
  refusal(() => policy("reattempt", { wait: copy as unknown as PolicyWaitInput }), "wait of");
});

Deno.test("EXC-52 the options of backoffs are checked", () => {
  refusal(() => backoff.polynomial({ jitter: 2 }), "jitter", "backoff.polynomial()");
  refusal(() => backoff.polynomial({ jiter: 0 } as never), 'did you mean "jitter"?');
  refusal(() => backoff.polynomial({ random: 5 } as never), "random", "function");
  refusal(() => backoff.polynomial(5 as never), "the options of backoff.polynomial()");
  for (const factor of [0, 0.5, -2, NaN, Infinity, "2"]) {
    refusal(() => backoff.exponential({ factor: factor as number }), "factor", "at least 1");
  }
  for (const first of [0, -1, "x"]) refusal(() => backoff.exponential({ first }), "first");
  for (const max of [0, -1, "x"]) refusal(() => backoff.exponential({ max }), "max");
  refusal(() => backoff.exponential({ jitter: -1 }), "jitter", "backoff.exponential()");
  refusal(() => backoff.fixed("soon"), "backoff.fixed()");
});

Deno.test("EXC-53 a fixed wait is the same each time, and has no jitter unless asked for", () => {
  for (const wait of [5_000, "5 seconds", "PT5S", { seconds: 5 }, backoff.fixed("5 seconds")]) {
    assert.deepEqual(waits(wait, 3), [5_000, 5_000, 5_000]);
  }
  for (const ms of waits(1_000, 50, 0.2)) assert.ok(ms >= 1_000 && ms <= 1_200);
  assert.deepEqual(waits(0, 2), [0, 0]);
});

Deno.test("EXC-50 no wait is longer than the longest duration", () => {
  const wait = policyWait("polynomial", undefined, "wait");
  assert.equal(wait(100_000), MAX_DURATION_MS);
  assert.equal(wait(Number.MAX_SAFE_INTEGER), MAX_DURATION_MS);
});

Deno.test("EXC-41 backoffs are frozen", () => {
  assert.ok(Object.isFrozen(backoff));
  for (const one of [backoff.polynomial(), backoff.exponential(), backoff.fixed(1)]) {
    assert.ok(Object.isFrozen(one));
  }
});
