import assert from "node:assert/strict";
import type { InputSchema, WorkflowDefinition } from "../../src/define/definition.ts";
import { hero } from "../../src/define/hero.ts";
import { policy } from "../../src/define/policy.ts";
import { removedStep } from "../../src/define/steps.ts";
import { workflow } from "../../src/define/workflow.ts";
import { body, named, order, refusal, untyped } from "./_helpers.ts";

interface User {
  id: string;
}

const users = hero("User", { load: (id): User => ({ id }), idOf: (user) => user.id });

const schema: InputSchema<string, number> = {
  "~standard": { version: 1, vendor: "tests", validate: (value) => ({ value: Number(value) }) },
};

function mustNotRun(): never {
  throw new Error("called at definition time");
}

/** Everything that a definition holds and that is not the user's own. */
function* madeObjects(value: unknown, notOurs: ReadonlySet<unknown>): Iterable<object> {
  if (typeof value !== "object" || value === null || notOurs.has(value)) return;
  yield value;
  for (const member of Object.values(value)) yield* madeObjects(member, notOurs);
}

Deno.test({
  name: "DEF-01 workflow() gives an immutable definition, steps in order, and does no I/O",
  permissions: "none",
  fn(): void {
    const start = { page: 1 };
    const until = new Date(5);
    const definition = workflow({
      name: "onboarding",
      hero: users,
      input: schema,
      cancelIf: [() => false],
      onException: [policy("cancel", { matching: [TypeError] })],
      jobOptions: { queue: "mail", waitUntil: until },
      hooks: { beforeStep: body },
      steps: [
        { name: "welcome", run: body, onException: policy("skip"), jobOptions: { priority: 1 } },
        { name: "remind", run: body, beforeStep: "welcome" },
        removedStep("old"),
        { name: "import", resumable: true, start, run: body },
        { name: "approve", waitFor: "ok", timeout: "1 day", onTimeout: "cancel", run: body },
      ],
    });
    assert.deepEqual(
      definition.steps.map((step) => step.name),
      ["remind", "welcome", "import", "approve"],
    );
    assert.deepEqual(order(definition), ["remind", "welcome", "old", "import", "approve"]);
    // A Date cannot be frozen; the definition has a copy of its own.
    const notOurs = new Set<unknown>([schema, start, definition.jobOptions.waitUntil]);
    const made = [...madeObjects(definition, notOurs)];
    assert.ok(made.length > 20);
    for (const object of made) assert.ok(Object.isFrozen(object), JSON.stringify(object));
    assert.throws(() => (definition as { name: string }).name = "other", TypeError);
    assert.throws(() => (definition.steps as unknown[]).push(1), TypeError);
    assert.notEqual(definition.jobOptions.waitUntil, until);
    assert.deepEqual(definition.jobOptions.waitUntil, until);
  },
});

Deno.test("DEF-01 DEF-49 what the user passed is neither frozen nor changed", () => {
  const hooks = { beforeStep: body };
  const cancelIf = [(): boolean => false];
  const policies = [policy("pause")];
  const start = { page: 1 };
  const jobOptions = { queue: "mail" };
  const step = { name: "a", resumable: true as const, start, run: body, jobOptions };
  const steps = [step];
  const options = { name: "w", steps, hooks, cancelIf, onException: policies, jobOptions };
  const definition = workflow(options);
  for (const own of [options, steps, step, hooks, cancelIf, policies, start, jobOptions]) {
    assert.equal(Object.isFrozen(own), false);
  }
  assert.deepEqual([start, jobOptions, steps.length], [{ page: 1 }, { queue: "mail" }, 1]);
  assert.deepEqual(Object.keys(step), ["name", "resumable", "start", "run", "jobOptions"]);
  // What the user does to them later does not reach the definition.
  steps.push({ ...step, name: "b" });
  cancelIf.push(() => true);
  step.name = "renamed";
  jobOptions.queue = "other";
  assert.deepEqual(order(definition), ["a"]);
  assert.equal(definition.cancelIf.length, 1);
  assert.equal(definition.jobOptions.queue, "mail");
  assert.equal(definition.steps[0]?.start, start);
});

Deno.test("DEF-01 the name of a workflow is required and must fit into its column", () => {
  refusal(() => untyped({ steps: [] }), "Cannot use undefined as name", "string");
  refusal(() => untyped({ name: 7, steps: [] }), "Cannot use 7 as name", "string");
  refusal(() => untyped({ name: "", steps: [] }), 'Workflow ""', "it is empty");
  refusal(() => untyped({ name: "x".repeat(256), steps: [] }), "256", "255");
  refusal(() => untyped({ name: "a\u0000b", steps: [] }), "control characters");
  refusal(() => untyped({ name: "a\ud800b", steps: [] }), "control characters");
  assert.equal(untyped({ name: "x".repeat(255), steps: [] }).name.length, 255);
  assert.equal(untyped({ name: "señal ✓ 1", steps: [] }).name, "señal ✓ 1");
});

Deno.test("DEF-01 options that are not an object, and steps that are not a list, are refused", () => {
  for (const options of [undefined, null, 5, "x", [], () => {}]) {
    refusal(() => untyped(options), "workflow()", "the options of a workflow");
  }
  for (const steps of [undefined, null, {}, "steps", new Set(), 4]) {
    refusal(() => untyped({ name: "w", steps }), 'Workflow "w"', "as steps", "array");
  }
  for (const step of [undefined, null, 5, "a", [], () => {}]) {
    const error = refusal(
      () => untyped({ name: "w", steps: [{ run: body }, step] }),
      'step "step_2"',
      "the options of a step",
    );
    assert.equal(error.stepName, "step_2");
  }
  // deno-lint-ignore no-sparse-arrays -- a hole is what is tested
  refusal(() => untyped({ name: "w", steps: [, { run: body }] }), 'step "step_1"', "undefined");
});

Deno.test("DEF-02 conditions, bodies, waits, handlers and hooks are not called by workflow()", () => {
  const definition = workflow({
    name: "later",
    hero: hero("User", { load: mustNotRun, idOf: mustNotRun }),
    input: { "~standard": { version: 1, vendor: "tests", validate: mustNotRun } },
    cancelIf: [mustNotRun],
    onException: [policy(mustNotRun, { matching: mustNotRun })],
    hooks: { beforeStep: mustNotRun, aroundStep: mustNotRun, afterStep: mustNotRun },
    steps: [
      { run: mustNotRun, wait: mustNotRun, skipIf: mustNotRun, onException: mustNotRun },
      { run: mustNotRun, resumable: true, parseCursor: mustNotRun },
      { run: mustNotRun, waitFor: "go", timeout: 5, onTimeout: mustNotRun },
    ],
  });
  const step = definition.steps[0];
  assert.equal(step?.run, mustNotRun);
  assert.equal(step?.wait, mustNotRun);
  assert.equal(step?.skipIf, mustNotRun);
});

Deno.test("DEF-04 DEF-05 anonymous steps are named after their place in the declared list", () => {
  const definition = workflow({
    name: "w",
    steps: [{ name: "first", run: body }, { run: body }, { run: body }, removedStep("x"), {
      run: body,
    }],
  });
  assert.deepEqual(order(definition), ["first", "step_2", "step_3", "x", "step_5"]);
});

Deno.test("DEF-06 an anonymous step that is placed keeps the number of its declaration", () => {
  const definition = workflow({
    name: "w",
    steps: [{ name: "a", run: body }, { name: "b", run: body }, { run: body, beforeStep: "a" }],
  });
  assert.deepEqual(order(definition), ["step_3", "a", "b"]);
});

Deno.test("DEF-07 a duplicate name is refused and named", () => {
  const error = refusal(() => named("a", "b", "a"), 'Workflow "sample"', '"a"', "duplicate");
  assert.equal(error.stepName, "a");
});

Deno.test("DEF-07 a generated name counts as a name", () => {
  refusal(
    () => workflow({ name: "w", steps: [{ run: body }, { name: "step_1", run: body }] }),
    '"step_1"',
    "duplicate",
  );
});

Deno.test("DEF-08 names are strings, whatever else would read the same; they are not trimmed", () => {
  for (const name of [1, Symbol("a"), null, true, new String("a"), {}]) {
    refusal(
      () => untyped({ name: "w", steps: [{ name: "1", run: body }, { name, run: body }] }),
      'step "step_2"',
      "as name",
      "string",
    );
  }
  refusal(() => untyped({ name: "w", steps: [{ name: "", run: body }] }), 'step "step_1"', "empty");
  assert.deepEqual(order(named("a", " a", "a ", "A")), ["a", " a", "a ", "A"]);
});

Deno.test("DEF-09 steps that a loop made are steps of their own", () => {
  const ran: number[] = [];
  const steps = Array.from({ length: 1000 }, (_, at) => ({
    name: `send_${at}`,
    run: () => void ran.push(at),
  }));
  const definition = workflow({ name: "loop", steps });
  assert.equal(definition.steps.length, 1000);
  for (const step of definition.steps) step.run?.(undefined);
  assert.deepEqual(ran, steps.map((_, at) => at));
});

Deno.test("DEF-40 an empty cancelIf is refused", () => {
  refusal(() => untyped({ name: "w", steps: [], cancelIf: [] }), 'Workflow "w"', "cancelIf");
});

Deno.test("DEF-41 cancelIf is one condition or several, kept in order", () => {
  const first = (): boolean => false;
  const second = (): boolean => true;
  assert.deepEqual(workflow({ name: "w", steps: [], cancelIf: first }).cancelIf, [first]);
  assert.deepEqual(
    workflow({ name: "w", steps: [], cancelIf: [second, first] }).cancelIf,
    [second, first],
  );
  assert.deepEqual(workflow({ name: "w", steps: [] }).cancelIf, []);
});

Deno.test("DEF-41 CND-09 constants are conditions, and false, null and undefined never hold", () => {
  const holds = (cancelIf: unknown): boolean[] =>
    untyped({ name: "w", steps: [], cancelIf }).cancelIf.map((condition) =>
      Boolean(condition({} as never))
    );
  assert.deepEqual(holds(true), [true]);
  assert.deepEqual(holds([false, null, true, undefined]), [true]);
  for (const never of [false, null, undefined, [false], [null, undefined]]) {
    assert.equal(holds(never).includes(true), false);
  }
  for (const bad of ["yes", 1, {}, ["yes"], [[]]]) {
    refusal(() => holds(bad), "cancelIf", "function", "true, false, null or undefined");
  }
});

Deno.test("DEF-48 every step carries the place of its workflow() call", () => {
  const lineOf = (stack: string | undefined): number =>
    Number(/workflow_test\.ts:(\d+):\d+/.exec(stack ?? "")?.[1]);
  const here = lineOf(new Error().stack);
  const base = workflow({ name: "base", steps: [{ run: body }] });
  const derived = workflow({ name: "derived", extends: base, steps: [removedStep("x")] });
  assert.match(base.steps[0]?.sourceLocation ?? "", /workflow_test\.ts:\d+:\d+$/);
  assert.equal(lineOf(base.steps[0]?.sourceLocation ?? ""), here + 1);
  assert.deepEqual(
    derived.allSteps.map((step) => lineOf(step.sourceLocation ?? "")),
    [here + 1, here + 2],
  );
});

Deno.test("DEF-50 unknown options of a workflow are refused, with what was probably meant", () => {
  refusal(
    () => untyped({ name: "w", steps: [], cancel_if: () => true }),
    'Unknown option "cancel_if"',
    'did you mean "cancelIf"?',
    '"retention"',
  );
  refusal(() => untyped({ name: "w", steps: [], zzz: 1 }), 'Unknown option "zzz" in');
});

Deno.test("a workflow has the hero it is given, or none", () => {
  assert.equal(workflow({ name: "w", hero: users, steps: [] }).hero, users);
  assert.equal(workflow({ name: "w", steps: [] }).hero, null);
  for (const bad of [null, "User", { type: "User", load: body }, { ...users }, users.load]) {
    refusal(() => untyped({ name: "w", steps: [], hero: bad }), "as hero", "hero()");
  }
});

Deno.test("mayProceedWithoutHero is a flag that is off by default", () => {
  const flagOf = (mayProceedWithoutHero: unknown): boolean =>
    untyped({ name: "w", hero: users, steps: [], mayProceedWithoutHero }).mayProceedWithoutHero;
  assert.equal(flagOf(undefined), false);
  assert.equal(flagOf(false), false);
  assert.equal(flagOf(true), true);
  refusal(() => flagOf("yes"), "mayProceedWithoutHero", "true or false");
});

Deno.test("the input is a Standard Schema, as an object or as a function", () => {
  assert.equal(workflow({ name: "w", steps: [], input: schema }).input, schema);
  assert.equal(workflow({ name: "w", steps: [] }).input, null);
  const callable = Object.assign(() => {}, schema);
  assert.equal(workflow({ name: "w", steps: [], input: callable }).input, callable);
  const strangers = [
    null,
    5,
    "schema",
    {},
    { parse: body },
    { "~standard": null },
    { "~standard": { version: 2, validate: body } },
    { "~standard": { version: 1 } },
  ];
  for (const input of strangers) {
    refusal(() => untyped({ name: "w", steps: [], input }), "as input", "Standard Schema");
  }
});

Deno.test("hooks are three functions; others are refused", () => {
  const hooksOf = (hooks: unknown): WorkflowDefinition["hooks"] =>
    untyped({ name: "w", steps: [], hooks }).hooks;
  const around = (): void => {};
  assert.deepEqual(hooksOf({ beforeStep: body, aroundStep: around, afterStep: undefined }), [
    { beforeStep: body, aroundStep: around },
  ]);
  assert.deepEqual(hooksOf({}), []);
  assert.deepEqual(hooksOf(undefined), []);
  refusal(() => hooksOf({ before: body }), '"before"', '"beforeStep"', '"aroundStep"');
  refusal(() => hooksOf({ afterStep: "x" }), "afterStep of hooks", "function");
  refusal(() => hooksOf(5), "hooks", "object");
});

Deno.test("HSK-28 recovery is one of two words, or the engine's", () => {
  assert.equal(workflow({ name: "w", steps: [], recovery: "cancel" }).recovery, "cancel");
  assert.equal(workflow({ name: "w", steps: [], recovery: "reattempt" }).recovery, "reattempt");
  assert.equal(workflow({ name: "w", steps: [] }).recovery, null);
  for (const recovery of ["pause", null, 1]) {
    refusal(() => untyped({ name: "w", steps: [], recovery }), "recovery", '"reattempt", "cancel"');
  }
});

Deno.test("retention is a positive duration, null for ever, or the engine's", () => {
  assert.equal(workflow({ name: "w", steps: [], retention: "2 days" }).retentionMs, 172_800_000);
  assert.equal(workflow({ name: "w", steps: [], retention: null }).retentionMs, null);
  assert.equal(workflow({ name: "w", steps: [] }).retentionMs, undefined);
  for (const retention of [0, -1, "soon", Infinity]) {
    refusal(() => untyped({ name: "w", steps: [], retention }), "retention");
  }
});

Deno.test("DEF-18 DEF-19 onException of a workflow is checked like a step's", () => {
  const { policies } = workflow({ name: "w", steps: [], onException: "reattempt" });
  assert.equal(policies[0]?.[0]?.action, "reattempt");
  assert.deepEqual(workflow({ name: "w", steps: [] }).policies, []);
  refusal(
    () => untyped({ name: "w", steps: [], onException: "retry" }),
    'Workflow "w"',
    "onException",
    '"pause", "cancel", "reattempt", "skip"',
  );
  refusal(() => untyped({ name: "w", steps: [], maxReattempts: 3 }), '"maxReattempts"');
});
