import assert from "node:assert/strict";
import { policy } from "../../src/define/policy.ts";
import { removedStep } from "../../src/define/steps.ts";
import { workflow } from "../../src/define/workflow.ts";
import { body, onlyStep, refusal, stepRefusal, untyped } from "./_helpers.ts";

const ACTIONS = ["pause", "cancel", "reattempt", "skip"] as const;

/** A policy written with a class, a handler and nothing else, for what stands beside onException. */
const OTHER_FORMS = [policy("reattempt"), (): void => {}, [policy("reattempt")]];

Deno.test("DEF-03 a step without a body is refused and named", () => {
  refusal(
    () => untyped({ name: "w", steps: [{ name: "send" }] }),
    'Workflow "w"',
    'step "send"',
    "without a body",
    "run is required",
  );
  const error = refusal(() => untyped({ name: "w", steps: [{}] }), 'step "step_1"', "run");
  assert.equal(error.stepName, "step_1");
  for (const run of [null, "send", {}, 5]) stepRefusal({ run }, "as run", "function");
});

Deno.test("DEF-10 without a wait a step is due at once", () => {
  assert.equal(onlyStep().wait, null);
  assert.equal(onlyStep({ wait: undefined }).wait, null);
});

Deno.test("DEF-11 a wait of zero is accepted", () => {
  assert.equal(onlyStep({ wait: 0 }).wait, 0);
});

Deno.test("DEF-10 a wait is a duration in any form, or a function", () => {
  assert.equal(onlyStep({ wait: "2 days" }).wait, 172_800_000);
  assert.equal(onlyStep({ wait: "PT1H30M" }).wait, 5_400_000);
  assert.equal(onlyStep({ wait: { minutes: 1 } }).wait, 60_000);
  const wait = (): string => "2 days";
  assert.equal(onlyStep({ wait }).wait, wait);
});

Deno.test("DEF-12 U12 a negative wait is refused", () => {
  for (const wait of [-1, "-1 day", { days: -1 }, -Infinity]) {
    stepRefusal({ wait }, "as wait", "waits cannot be negative");
  }
});

Deno.test("DEF-13 U12 a wait that is not a finite duration is refused", () => {
  for (const wait of [NaN, Infinity]) stepRefusal({ wait }, "as wait", "finite");
  for (const wait of ["soon", "", "polynomial", "5", true, null, [], {}, 5n, Symbol("x")]) {
    stepRefusal({ wait }, "as wait", "accepted are milliseconds");
  }
});

Deno.test("DEF-14 DEF-15 DEF-16 cumulative delays are left out: the option after is unknown", () => {
  stepRefusal({ after: "10 minutes", wait: "5 minutes" }, 'Unknown option "after"', '"afterStep"');
  refusal(
    () =>
      untyped({
        name: "w",
        steps: [{ run: body, after: "10 hours" }, { run: body, after: "5 hours" }],
      }),
    'step "step_1"',
    '"after"',
  );
});

Deno.test("DEF-17 DEF-25 the four actions are accepted; only reattempt has a cap", () => {
  for (const action of ACTIONS) {
    const step = onlyStep({ onException: action });
    assert.equal(step.onException, action);
    assert.equal(step.policies?.[0]?.action, action);
    assert.equal(step.maxReattempts, action === "reattempt" ? 100 : null);
  }
});

Deno.test("DEF-18 an unknown action is refused with the valid ones", () => {
  for (const onException of ["retry", "PAUSE", ""]) {
    stepRefusal({ onException }, "onException", '"pause", "cancel", "reattempt", "skip"');
  }
});

Deno.test("DEF-19 an onException of another kind is refused with the accepted kinds", () => {
  const strangers = [
    5,
    null,
    {},
    { action: "pause" },
    { kind: "policy" },
    { ...policy("pause"), maxReattempts: -1 },
    [],
    ["pause"],
    [policy("pause"), 7],
    [policy("pause"), undefined],
    [[policy("pause")]],
  ];
  for (const onException of strangers) {
    stepRefusal({ onException }, "onException", "action", "policy()", "handler", "array");
  }
  // deno-lint-ignore no-sparse-arrays -- a hole is what is tested
  stepRefusal({ onException: [policy("pause"), ,] }, "with undefined", "array of policies");
  stepRefusal({ onException: [policy("pause"), 7] }, "an array of 2 with 7");
});

Deno.test("DEF-19 a policy, a handler and a list of policies are accepted", () => {
  const one = policy("skip");
  const handler = (): void => {};
  assert.deepEqual(onlyStep({ onException: one }).policies, [one]);
  assert.equal(onlyStep({ onException: handler }).policies?.[0]?.handler, handler);
  assert.deepEqual(onlyStep({ onException: [one, one] }).policies, [one, one]);
  for (const onException of [one, handler, [one]]) {
    const step = onlyStep({ onException });
    assert.equal(step.onException, null);
    assert.equal(step.maxReattempts, null);
  }
});

Deno.test("DEF-20 a step without onException has no policy of its own", () => {
  const step = onlyStep();
  assert.equal(step.policies, null);
  assert.equal(step.onException, null);
  assert.equal(step.timeoutPolicies, null);
});

Deno.test("DEF-21 maxReattempts is refused beside another action than reattempt", () => {
  for (const onException of ["pause", "cancel", "skip"]) {
    for (const maxReattempts of [3, null]) {
      stepRefusal({ onException, maxReattempts }, "maxReattempts", `"${onException}"`);
    }
  }
  stepRefusal({ maxReattempts: 3 }, "maxReattempts", "without onException", '"reattempt"');
});

Deno.test("DEF-22 maxReattempts is a positive integer or null", () => {
  for (const maxReattempts of [0, -1, 1.5, NaN, Infinity, "3", 3n, 2 ** 60]) {
    stepRefusal({ onException: "reattempt", maxReattempts }, "positive integer, or null");
  }
  assert.equal(onlyStep({ onException: "reattempt", maxReattempts: 1 }).maxReattempts, 1);
});

Deno.test("DEF-23 the cap of reattempt is 100 when nothing is said", () => {
  assert.equal(onlyStep({ onException: "reattempt" }).policies?.[0]?.maxReattempts, 100);
});

Deno.test("DEF-24 a cap of null is no cap", () => {
  const step = onlyStep({ onException: "reattempt", maxReattempts: null });
  assert.equal(step.maxReattempts, null);
  assert.equal(step.policies?.[0]?.maxReattempts, null);
});

Deno.test("DEF-26 DEF-28 options beside a policy or a handler belong on the policy", () => {
  for (const onException of OTHER_FORMS) {
    stepRefusal({ onException, maxReattempts: 3 }, "maxReattempts", "on the policy itself");
    stepRefusal({ onException, terminalAction: "skip" }, "terminalAction", "on the policy itself");
  }
});

Deno.test("DEF-27 terminalAction is refused beside another action than reattempt", () => {
  for (const onException of ["pause", "cancel", "skip"]) {
    stepRefusal(
      { onException, terminalAction: "cancel" },
      `Cannot combine terminalAction with the action "${onException}"`,
      'only for "reattempt"',
    );
  }
  stepRefusal({ terminalAction: "cancel" }, "terminalAction", "without onException");
});

Deno.test("DEF-29 terminalAction is pause, cancel or skip", () => {
  for (const terminalAction of ["pause", "cancel", "skip"]) {
    const step = onlyStep({ onException: "reattempt", terminalAction });
    assert.equal(step.policies?.[0]?.terminalAction, terminalAction);
  }
  for (const terminalAction of ["reattempt", "finish", null, 1]) {
    stepRefusal(
      { onException: "reattempt", terminalAction },
      "terminalAction",
      '"pause", "cancel", "skip"',
    );
  }
});

Deno.test("DEF-37 CND-04 skipIf is a function, a boolean, null or undefined", () => {
  const condition = (): boolean => true;
  assert.equal(onlyStep({ skipIf: condition }).skipIf, condition);
  assert.equal(onlyStep({ skipIf: true }).skipIf?.({} as never), true);
  for (const skipIf of [false, null, undefined]) assert.equal(onlyStep({ skipIf }).skipIf, null);
});

Deno.test("DEF-38 CND-06 a skipIf of another type is refused with the accepted ones", () => {
  for (const skipIf of ["true", "", 0, 1, {}, [], [(): boolean => true], new Date()]) {
    stepRefusal({ skipIf }, "skipIf", "function", "true, false, null or undefined");
  }
});

Deno.test("DEF-39 there is no inverse of skipIf", () => {
  stepRefusal({ if: (): boolean => true, skipIf: true }, 'Unknown option "if"');
  stepRefusal({ unless: (): boolean => true }, 'Unknown option "unless"');
});

Deno.test("DEF-42 a resumable step without a body is refused", () => {
  refusal(
    () => untyped({ name: "w", steps: [{ name: "import", resumable: true }] }),
    'step "import"',
    "without a body",
  );
});

Deno.test("DEF-43 maxIterations is a positive integer", () => {
  assert.equal(onlyStep({ resumable: true, maxIterations: 7 }).maxIterations, 7);
  assert.equal(onlyStep({ resumable: true }).maxIterations, null);
  for (const maxIterations of [0, -1, 1.5, "7", NaN, Infinity, null, 2 ** 53]) {
    stepRefusal({ resumable: true, maxIterations }, "maxIterations", "positive integer");
  }
});

Deno.test("DEF-44 maxRuntime is a positive duration", () => {
  assert.equal(onlyStep({ resumable: true, maxRuntime: "5 minutes" }).maxRuntimeMs, 300_000);
  assert.equal(onlyStep({ resumable: true }).maxRuntimeMs, null);
  for (const maxRuntime of [0, "0 seconds", 0.2]) {
    stepRefusal({ resumable: true, maxRuntime }, "maxRuntime", "positive");
  }
  for (const maxRuntime of [-1, NaN, Infinity, "long", null]) {
    stepRefusal({ resumable: true, maxRuntime }, "maxRuntime");
  }
});

Deno.test("DEF-45 a resumable step has all options of a plain one", () => {
  const skipIf = (): boolean => false;
  const definition = workflow({
    name: "w",
    steps: [{ name: "first", run: body }, {
      name: "import",
      resumable: true,
      run: body,
      wait: "1 minute",
      skipIf,
      onException: "reattempt",
      maxReattempts: 3,
      terminalAction: "skip",
      jobOptions: { queue: "slow", priority: 9 },
      timeout: "1 hour",
      beforeStep: "first",
    }],
  });
  const step = definition.steps[0];
  assert.equal(step?.name, "import");
  assert.equal(step?.resumable, true);
  assert.equal(step?.wait, 60_000);
  assert.equal(step?.skipIf, skipIf);
  assert.equal(step?.onException, "reattempt");
  assert.equal(step?.maxReattempts, 3);
  assert.equal(step?.policies?.[0]?.terminalAction, "skip");
  assert.deepEqual(step?.jobOptions, { queue: "slow", priority: 9 });
  assert.equal(step?.timeoutMs, 3_600_000);
});

Deno.test("DEF-45 only resumable steps have maxIterations, maxRuntime, start and parseCursor", () => {
  const options = { maxIterations: 5, maxRuntime: "1 hour", start: 0, parseCursor: body };
  for (const [key, value] of Object.entries(options)) {
    for (const resumable of [undefined, false]) {
      stepRefusal({ resumable, [key]: value }, key, "not resumable", "set resumable to true");
    }
  }
  const step = onlyStep({ resumable: true, ...options });
  assert.equal(step.start, 0);
  assert.equal(step.parseCursor, body);
  assert.equal(onlyStep({ resumable: true }).start, null);
  stepRefusal({ resumable: true, parseCursor: "json" }, "parseCursor", "function");
});

Deno.test("RES-71 a resumable step in a transaction is refused with the reason", () => {
  stepRefusal(
    { resumable: true, transaction: true },
    "resumable",
    "transaction",
    "a checkpoint inside an open transaction",
  );
});

Deno.test("DEF-50 unknown options of a step are refused, with what was probably meant", () => {
  stepRefusal({ skip_if: true }, 'Unknown option "skip_if"', 'did you mean "skipIf"?');
  stepRefusal({ onexception: "skip" }, 'did you mean "onException"?');
  stepRefusal({ maxReatempts: 3 }, 'did you mean "maxReattempts"?');
  stepRefusal({ kind: "removed_step" }, 'Unknown option "kind"');
  stepRefusal({ foo: undefined }, 'Unknown option "foo"', '"parseCursor"');
  refusal(() => untyped({ name: "w", steps: [{ ...removedStep("x") }] }), 'Unknown option "kind"');
});

Deno.test("resumable and transaction are flags", () => {
  assert.equal(onlyStep().resumable, false);
  assert.equal(onlyStep().transaction, false);
  assert.equal(onlyStep({ transaction: true }).transaction, true);
  stepRefusal({ resumable: "yes" }, "resumable", "true or false");
  stepRefusal({ transaction: 1 }, "transaction", "true or false");
});

Deno.test("timeout is a positive duration", () => {
  assert.equal(onlyStep({ timeout: "30 seconds" }).timeoutMs, 30_000);
  assert.equal(onlyStep().timeoutMs, null);
  for (const timeout of [0, -1, NaN, "later", null]) stepRefusal({ timeout }, "timeout");
});

Deno.test("NEW-05 waitFor is the name of a signal", () => {
  assert.equal(onlyStep({ waitFor: "approved" }).waitFor, "approved");
  assert.equal(onlyStep().waitFor, null);
  for (const waitFor of ["", null, 5, true, "x".repeat(256)]) stepRefusal({ waitFor }, "waitFor");
});

Deno.test("NEW-05 onTimeout takes what onException takes, for a signal that does not come", () => {
  const waiting = { waitFor: "approved", timeout: "3 days" };
  const one = policy("cancel");
  assert.deepEqual(onlyStep({ ...waiting, onTimeout: one }).timeoutPolicies, [one]);
  const step = onlyStep({ ...waiting, onTimeout: "reattempt", onException: "skip" });
  assert.equal(step.timeoutPolicies?.[0]?.action, "reattempt");
  assert.equal(step.timeoutPolicies?.[0]?.maxReattempts, 100);
  assert.equal(step.policies?.[0]?.action, "skip");
  assert.equal(onlyStep(waiting).timeoutPolicies, null);
  stepRefusal({ ...waiting, onTimeout: "retry" }, "onTimeout", '"pause"', "handler");
  stepRefusal({ timeout: 5, onTimeout: "skip" }, "onTimeout without waitFor");
  stepRefusal({ waitFor: "approved", onTimeout: "skip" }, "onTimeout without timeout");
});

Deno.test("DEF-46 DEF-47 the job options of a step are checked", () => {
  assert.deepEqual(onlyStep().jobOptions, {});
  stepRefusal({ jobOptions: { prio: 1 } }, '"prio"', "jobOptions", '"queue", "priority"');
  stepRefusal({ jobOptions: { priority: "high" } }, "priority in jobOptions", '"high"');
});
