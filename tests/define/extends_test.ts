import assert from "node:assert/strict";
import type { InputSchema } from "../../src/define/definition.ts";
import { hero } from "../../src/define/hero.ts";
import { policy, resolvePolicy } from "../../src/define/policy.ts";
import { removedStep } from "../../src/define/steps.ts";
import { workflow } from "../../src/define/workflow.ts";
import { body, named, order, refusal, untyped } from "./_helpers.ts";

interface User {
  id: string;
}

const users = hero("User", { load: (id): User => ({ id }) });
const members = hero("Member", { load: (id): User => ({ id }) });

const schema: InputSchema<string, number> = {
  "~standard": { version: 1, vendor: "tests", validate: (value) => ({ value: Number(value) }) },
};

function baseCondition(): boolean {
  return false;
}

function ownCondition(): boolean {
  return false;
}

const baseHooks = { beforeStep: body };
const ownHooks = { afterStep: body };

const base = workflow({
  name: "base",
  hero: users,
  input: schema,
  cancelIf: baseCondition,
  onException: policy("cancel", { matching: TypeError }),
  jobOptions: { queue: "mail", priority: 10 },
  hooks: baseHooks,
  mayProceedWithoutHero: true,
  recovery: "cancel",
  retention: "2 days",
  steps: [{ name: "a", run: body }, removedStep("gone"), { run: body }],
});

Deno.test("DEF-49 a derived definition sees what it inherits and what it adds, in that order", () => {
  const snapshot = { ...base };
  const own = policy("skip", { matching: RangeError });
  const derived = workflow({
    name: "derived",
    extends: base,
    cancelIf: [ownCondition],
    onException: own,
    hooks: ownHooks,
    steps: [{ name: "b", run: body }, { run: body }],
  });
  assert.equal(derived.name, "derived");
  assert.deepEqual(order(derived), ["a", "gone", "step_3", "b", "step_5"]);
  assert.deepEqual(derived.steps.map((step) => step.name), ["a", "step_3", "b", "step_5"]);
  assert.deepEqual(derived.cancelIf, [baseCondition, ownCondition]);
  assert.deepEqual(derived.policies, [[own], ...base.policies]);
  assert.deepEqual(derived.hooks, [baseHooks, ownHooks]);
  assert.deepEqual({ ...base }, snapshot);
  assert.deepEqual(order(base), ["a", "gone", "step_3"]);
  assert.equal(base.cancelIf.length, 1);
  assert.equal(base.policies.length, 1);
  assert.equal(base.hooks.length, 1);
});

Deno.test("DEF-49 what a derived definition does not say is the base's", () => {
  const derived = workflow({ name: "derived", extends: base });
  assert.deepEqual({ ...derived, name: "base" }, { ...base });
  assert.ok(Object.isFrozen(derived));
});

Deno.test("DEF-49 what a derived definition says takes the place of the base's", () => {
  const other: InputSchema<string, number> = { "~standard": { ...schema["~standard"] } };
  const derived = workflow({
    name: "derived",
    extends: base,
    hero: members,
    input: other,
    recovery: "reattempt",
    retention: null,
    mayProceedWithoutHero: false,
    steps: [],
  });
  assert.equal(derived.hero, members);
  assert.equal(derived.input, other);
  assert.equal(derived.recovery, "reattempt");
  assert.equal(derived.retentionMs, null);
  assert.equal(derived.mayProceedWithoutHero, false);
  assert.equal(workflow({ name: "third", extends: derived }).retentionMs, null);
  assert.equal(base.hero, users);
  assert.equal(base.retentionMs, 172_800_000);
});

Deno.test("DEF-49 two definitions that extend one base do not see each other", () => {
  const one = workflow({ name: "one", extends: base, steps: [{ name: "x", run: body }] });
  const two = workflow({ name: "two", extends: base, steps: [{ name: "x", run: body }] });
  assert.deepEqual(order(one), order(two));
  assert.notEqual(one.allSteps.at(-1), two.allSteps.at(-1));
  assert.equal(one.allSteps[0], two.allSteps[0]);
});

Deno.test("DEF-07 a name that is inherited already is a duplicate", () => {
  const derive = (name: string): unknown =>
    workflow({ name: "derived", extends: base, steps: [{ name, run: body }] });
  refusal(() => derive("a"), 'Workflow "derived"', '"a"', "duplicate");
  refusal(() => derive("gone"), '"gone"', "removed step");
});

Deno.test("DEF-04 anonymous steps of base and derived have names of their own", () => {
  const anonymous = workflow({ name: "base", steps: [{ run: body }] });
  const derived = workflow({ name: "derived", extends: anonymous, steps: [{ run: body }] });
  assert.deepEqual(order(derived), ["step_1", "step_2"]);
});

Deno.test("DEF-49 only what workflow() made can be extended", () => {
  for (const bad of [null, {}, "base", base.steps, { ...base }, { kind: "workflow" }, users]) {
    refusal(() => untyped({ name: "w", extends: bad, steps: [] }), "extends", "workflow()");
  }
});

Deno.test("HERO-14 mayProceedWithoutHero is inherited, and siblings are not affected", () => {
  const strict = workflow({ name: "strict", hero: users, steps: [] });
  const lenient = workflow({ name: "lenient", extends: strict, mayProceedWithoutHero: true });
  const child = workflow({ name: "child", extends: lenient, steps: [] });
  const sibling = workflow({ name: "sibling", extends: strict, steps: [] });
  assert.deepEqual(
    [strict, lenient, child, sibling].map((one) => one.mayProceedWithoutHero),
    [false, true, true, false],
  );
});

Deno.test("SCH-14 job options are merged with the base's, own keys win", () => {
  const derived = workflow({ name: "derived", extends: base, jobOptions: { priority: 1 } });
  assert.deepEqual(derived.jobOptions, { queue: "mail", priority: 1 });
  assert.deepEqual(base.jobOptions, { queue: "mail", priority: 10 });
  const emptied = untyped({ name: "derived", extends: base, jobOptions: { queue: undefined } });
  assert.deepEqual(emptied.jobOptions, { queue: "mail", priority: 10 });
});

Deno.test("EXC-15 derived specific, base specific, derived blanket, base blanket", () => {
  const grand = workflow({
    name: "grand",
    steps: [],
    onException: [
      policy("cancel"),
      policy("pause", { matching: TypeError }),
      policy("pause", { matching: RangeError }),
    ],
  });
  const parent = workflow({
    name: "parent",
    extends: grand,
    onException: [policy("reattempt"), policy("skip", { matching: TypeError })],
  });
  const silent = workflow({ name: "silent", extends: parent });
  assert.equal(silent.policies.length, 2);
  const actionFor = (error: Error): string | null =>
    resolvePolicy({ step: null, layers: silent.policies, error }).policy.action;
  assert.equal(actionFor(new TypeError()), "skip");
  assert.equal(actionFor(new RangeError()), "pause");
  assert.equal(actionFor(new Error()), "reattempt");
  assert.equal(
    resolvePolicy({ step: null, layers: grand.policies, error: new Error() }).policy.action,
    "cancel",
  );
});

Deno.test("HOK-03 hooks of three generations stand outermost first", () => {
  const first = workflow({ name: "first", steps: [], hooks: { beforeStep: body } });
  const second = workflow({ name: "second", extends: first, hooks: { afterStep: body } });
  const third = workflow({ name: "third", extends: second, hooks: { aroundStep: body } });
  assert.deepEqual(
    third.hooks.map((hooks) => Object.keys(hooks)[0]),
    ["beforeStep", "afterStep", "aroundStep"],
  );
});

Deno.test("ORD-18 a base without steps can be extended", () => {
  const empty = workflow({ name: "empty", steps: [] });
  assert.deepEqual(order(workflow({ name: "w", extends: empty })), []);
  assert.deepEqual(order(workflow({ name: "w", extends: named("a"), steps: [] })), ["a"]);
});
