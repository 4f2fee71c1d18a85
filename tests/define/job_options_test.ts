import assert from "node:assert/strict";
import { jobOptions, mergeJobOptions } from "../../src/define/job_options.ts";
import { refusal, untyped } from "./_helpers.ts";

function check(value: unknown): unknown {
  return jobOptions(value, "jobOptions");
}

Deno.test("SCH-13 SCH-16 job options are queue, priority, wait and waitUntil", () => {
  const waitUntil = new Date(1_000);
  assert.deepEqual(
    check({ queue: "mail", priority: -3, wait: "1 minute", waitUntil }),
    { queue: "mail", priority: -3, wait: 60_000, waitUntil },
  );
  assert.deepEqual(check(undefined), {});
  assert.deepEqual(check({}), {});
  assert.deepEqual(check({ queue: undefined, priority: 0 }), { priority: 0 });
  assert.ok(Object.isFrozen(check({ queue: "mail" })));
});

Deno.test("SCH-16 a date that is changed later is not changed in the options", () => {
  const waitUntil = new Date(1_000);
  const checked = jobOptions({ waitUntil }, "jobOptions");
  waitUntil.setTime(2_000);
  assert.equal(checked.waitUntil?.getTime(), 1_000);
});

Deno.test("DEF-46 an unknown key is refused with the allowed ones", () => {
  refusal(
    () => check({ priorty: 5 }),
    'Unknown option "priorty"',
    'did you mean "priority"?',
    "jobOptions",
    '"queue", "priority", "wait", "waitUntil"',
  );
  refusal(() => check({ delay: 5 }), 'Unknown option "delay"');
  for (const value of [null, 5, "mail", []]) refusal(() => check(value), "as jobOptions", "object");
  refusal(
    () => untyped({ name: "w", steps: [], jobOptions: { prio: 1 } }),
    'Workflow "w"',
    '"prio"',
    "jobOptions",
  );
});

Deno.test("DEF-47 a value of the wrong type is refused with key and value", () => {
  for (const queue of [5, "", null, "x".repeat(256)]) {
    refusal(() => check({ queue }), "queue in jobOptions");
  }
  for (const priority of ["5", 1.5, NaN, Infinity, 2 ** 31, null]) {
    refusal(() => check({ priority }), "priority in jobOptions", "integer");
  }
  for (const wait of [-1, NaN, "soon", null]) refusal(() => check({ wait }), "wait in jobOptions");
  for (const waitUntil of [5, "2030-01-01", new Date(NaN), null]) {
    refusal(() => check({ waitUntil }), "waitUntil in jobOptions", "valid Date");
  }
  refusal(() => check({ queue: 5 }), "Cannot use 5 as queue in jobOptions", "string");
  assert.deepEqual(check({ priority: 2 ** 31 - 1 }), { priority: 2_147_483_647 });
});

Deno.test("SCH-15 a step's options win over the instance's, and those over the definition's", () => {
  const merged = mergeJobOptions(
    { queue: "definition", priority: 1, wait: 1 },
    { queue: "instance", priority: 2 },
    { queue: "step" },
  );
  assert.deepEqual(merged, { queue: "step", priority: 2, wait: 1 });
  assert.deepEqual(mergeJobOptions(null, null, null), {});
  assert.ok(Object.isFrozen(merged));
});
