import assert from "node:assert/strict";
import fc from "fast-check";
import { backoff } from "../../src/define/backoff.ts";
import { hero } from "../../src/define/hero.ts";
import { policy } from "../../src/define/policy.ts";
import { removedStep } from "../../src/define/steps.ts";
import { StepConfigurationError } from "../../src/errors.ts";
import { body, named, untyped } from "./_helpers.ts";

const WORKFLOW_KEYS = [
  "name",
  "steps",
  "hero",
  "cancelIf",
  "onException",
  "jobOptions",
  "hooks",
  "extends",
  "mayProceedWithoutHero",
  "input",
  "recovery",
  "retention",
];

const STEP_KEYS = [
  "name",
  "run",
  "wait",
  "waitFor",
  "skipIf",
  "onException",
  "maxReattempts",
  "terminalAction",
  "beforeStep",
  "afterStep",
  "jobOptions",
  "timeout",
  "onTimeout",
  "transaction",
  "resumable",
  "maxIterations",
  "maxRuntime",
  "start",
  "parseCursor",
];

const anything = fc.anything({
  withBigInt: true,
  withDate: true,
  withMap: true,
  withSet: true,
  withNullPrototype: true,
  withObjectString: true,
  withSparseArray: true,
  withTypedArray: true,
  maxDepth: 2,
});

/** What somebody may have meant: some of it valid in some place, none of it valid everywhere. */
const plausible = fc.constantFrom<unknown>(
  body,
  "a",
  "b",
  "2 days",
  "reattempt",
  "skip",
  "polynomial",
  0,
  1,
  -1,
  2.5,
  NaN,
  null,
  undefined,
  true,
  false,
  [],
  {},
  { days: 1 },
  { queue: "mail" },
  { beforeStep: body },
  policy("reattempt"),
  [policy("pause"), policy("skip", { matching: TypeError })],
  backoff.polynomial(),
  hero("User", { load: () => null }),
  named("a", "b"),
  removedStep("a"),
  new Date(NaN),
  { "~standard": { version: 1, vendor: "tests", validate: body } },
);

/** Mostly what is plausible, sometimes anything at all. */
const value = fc.oneof({ weight: 4, arbitrary: plausible }, { weight: 1, arbitrary: anything });

/** Some of these keys, each with a value. */
function someOf(keys: readonly string[]): fc.Arbitrary<Record<string, unknown>> {
  return fc.dictionary(fc.constantFrom(...keys), value, { maxKeys: 5, noNullPrototype: true });
}

const step = fc.oneof(
  { weight: 6, arbitrary: someOf(STEP_KEYS).map((options) => ({ run: body, ...options })) },
  { weight: 1, arbitrary: value },
);

const options = someOf(WORKFLOW_KEYS).chain((garbage) =>
  fc.record({
    name: fc.oneof({ weight: 9, arbitrary: fc.constant("w") }, { weight: 1, arbitrary: value }),
    steps: fc.oneof({ weight: 9, arbitrary: fc.array(step, { maxLength: 3 }) }, {
      weight: 1,
      arbitrary: value,
    }),
  }).map((sound) => ({ ...garbage, ...sound }))
);

/** Whether a definition came of it; anything but a StepConfigurationError goes through. */
function accepted(garbage: unknown): boolean {
  try {
    const definition = untyped(garbage);
    assert.equal(definition.kind, "workflow");
    assert.ok(Object.isFrozen(definition));
    const names = definition.allSteps.map((one) => one.name);
    assert.equal(new Set(names).size, names.length);
    for (const one of definition.steps) assert.equal(typeof one.run, "function");
    return true;
  } catch (error) {
    if (!(error instanceof StepConfigurationError)) throw error;
    assert.match(error.message, /^(Workflow ".*"|workflow\(\)): /s);
    return false;
  }
}

Deno.test("DEF-50 any value at all becomes a definition or a StepConfigurationError", () => {
  fc.assert(fc.property(anything, (garbage) => void accepted(garbage)));
});

Deno.test("DEF-50 any mix of options becomes a definition or a StepConfigurationError", () => {
  const counts = { accepted: 0, refused: 0 };
  fc.assert(
    fc.property(options, (garbage) => {
      counts[accepted(garbage) ? "accepted" : "refused"]++;
    }),
    { numRuns: 3_000 },
  );
  // The property says something only if both ways are taken.
  assert.ok(counts.accepted > 50, JSON.stringify(counts));
  assert.ok(counts.refused > 50, JSON.stringify(counts));
});

Deno.test("DEF-50 any single option of a step becomes a step or a StepConfigurationError", () => {
  fc.assert(
    fc.property(fc.constantFrom(...STEP_KEYS), value, fc.boolean(), (key, one, resumable) => {
      accepted({ name: "w", steps: [{ run: body, resumable, [key]: one }] });
    }),
    { numRuns: 3_000 },
  );
});

Deno.test("DEF-50 the keys that these tests know are all that there are", () => {
  for (const key of WORKFLOW_KEYS) assert.ok(accepted({ [key]: undefined, name: "w", steps: [] }));
  for (const key of STEP_KEYS) {
    assert.ok(accepted({ name: "w", steps: [{ [key]: undefined, run: body }] }));
  }
  const known = (keys: readonly string[]): RegExp =>
    new RegExp(`known are ${keys.map((key) => `"${key}"`).join(", ")}$`);
  assert.throws(() => untyped({ name: "w", steps: [], zzz: 1 }), known(WORKFLOW_KEYS));
  assert.throws(() => untyped({ name: "w", steps: [{ run: body, zzz: 1 }] }), known(STEP_KEYS));
});
