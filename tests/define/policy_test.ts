import assert from "node:assert/strict";
import fc from "fast-check";
import type { Policy } from "../../src/define/definition.ts";
import {
  DEFAULT_POLICY,
  matches,
  policiesFrom,
  policy,
  type Resolution,
  resolvePolicy,
} from "../../src/define/policy.ts";
import { workflow } from "../../src/define/workflow.ts";
import { onlyStep, refusal } from "./_helpers.ts";

class TimeoutError extends Error {}
class SlowTimeoutError extends TimeoutError {}
class RateLimited extends Error {}

/** policy() with arguments that its types refuse. */
const loosely = policy as unknown as (does: unknown, options?: unknown) => Policy;

/** What a step's own list says about an error, without a workflow's. */
function inStep(step: readonly Policy[], error: Error): Resolution {
  return resolvePolicy({ step, layers: [], error });
}

/** What a workflow's lists say about an error, the most derived first. */
function inWorkflow(layers: readonly (readonly Policy[])[], error: Error): Resolution {
  return resolvePolicy({ step: null, layers, error });
}

Deno.test("DEF-30 a handler with declarative options is refused", () => {
  const options = { wait: 5, jitter: 0, maxReattempts: 3, terminalAction: "skip" };
  for (const [key, value] of Object.entries(options)) {
    refusal(() => loosely(() => {}, { [key]: value }), key, "handler");
  }
  refusal(() => loosely(() => {}, { action: "pause" }), 'Unknown option "action"');
  const handler = (): void => {};
  const made = policy(handler, { matching: TypeError, report: "never" });
  assert.equal(made.handler, handler);
  assert.equal(made.action, null);
  assert.equal(made.report, "never");
});

Deno.test("DEF-31 DEF-36 a policy needs an action or a handler, as its first argument", () => {
  for (const does of [undefined, null, 5, {}, "retry", { action: "pause" }]) {
    refusal(() => loosely(does), "first argument of policy()", '"pause", "cancel", "reattempt"');
  }
});

Deno.test("DEF-32 DEF-21 DEF-27 the options of reattempt are refused with other actions", () => {
  const options = { wait: 5, jitter: 0.1, maxReattempts: 3, terminalAction: "skip" };
  for (const action of ["pause", "cancel", "skip"]) {
    for (const [key, value] of Object.entries(options)) {
      refusal(() => loosely(action, { [key]: value }), key, `"${action}"`, '"reattempt"');
    }
  }
});

Deno.test("DEF-33 report is one of three words", () => {
  for (const report of ["always", "never", "terminalOnly"] as const) {
    assert.equal(policy("pause", { report }).report, report);
  }
  assert.equal(policy("pause").report, "always");
  for (const report of ["sometimes", "", null, true]) {
    refusal(() => loosely("pause", { report }), "report", '"always", "never", "terminalOnly"');
  }
});

Deno.test("DEF-22 DEF-29 the options of reattempt are checked", () => {
  for (const maxReattempts of [0, -1, 2.5, "3", Infinity]) {
    refusal(() => loosely("reattempt", { maxReattempts }), "maxReattempts", "positive integer");
  }
  for (const terminalAction of ["reattempt", null]) {
    refusal(() => loosely("reattempt", { terminalAction }), "terminalAction", '"pause"');
  }
  for (const jitter of [-0.1, 1.1, NaN, "0.1", null]) {
    refusal(() => loosely("reattempt", { wait: 5, jitter }), "jitter", "from 0 (none) to 1");
  }
  refusal(() => policy("reattempt", { jitter: 0.1 }), "jitter", "no wait");
});

Deno.test("DEF-50 unknown options of a policy are refused, with what was probably meant", () => {
  refusal(() => loosely("pause", { matchin: Error }), "matchin", 'did you mean "matching"?');
  for (const options of [null, 5, []]) refusal(() => loosely("pause", options), "the options of");
});

Deno.test("EXC-34 DEF-23 a reattempt policy without a cap has one of 100, everywhere", () => {
  assert.equal(policy("reattempt").maxReattempts, 100);
  assert.equal(policy("reattempt", { maxReattempts: null }).maxReattempts, null);
  assert.equal(policy("pause").maxReattempts, null);
  const { policies } = workflow({ name: "w", steps: [], onException: "reattempt" });
  assert.equal(inWorkflow(policies, new Error()).cap, 100);
  assert.equal(onlyStep({ onException: policy("reattempt") }).policies?.[0]?.maxReattempts, 100);
});

Deno.test("EXC-41 a policy is frozen and has no state, so that many may share it", () => {
  const shared = policy("reattempt", { matching: [TimeoutError] });
  assert.ok(Object.isFrozen(shared));
  assert.ok(Object.isFrozen(shared.matching));
  const one = workflow({ name: "one", steps: [], onException: [shared] });
  const two = workflow({ name: "two", steps: [], onException: shared });
  assert.equal(one.policies[0]?.[0], two.policies[0]?.[0]);
});

Deno.test("EXC-07 a step's single policy is used whatever the workflow says", () => {
  const own = policy("skip");
  const layers = [[policy("cancel", { matching: TimeoutError }), policy("reattempt")]];
  const found = resolvePolicy({ step: [own], layers, error: new TimeoutError() });
  assert.equal(found.policy, own);
});

Deno.test("EXC-08 of a step's list the first matching specific entry is used", () => {
  const first = policy("skip", { matching: TimeoutError });
  const second = policy("cancel", { matching: TimeoutError });
  const other = policy("pause", { matching: RateLimited });
  assert.equal(inStep([other, first, second], new TimeoutError()).policy, first);
});

Deno.test("EXC-09 in a step's list a specific entry beats a blanket one before it", () => {
  const blanket = policy("cancel");
  const specific = policy("skip", { matching: TimeoutError });
  assert.equal(inStep([blanket, specific], new TimeoutError()).policy, specific);
});

Deno.test("EXC-10 in a step's list an unmatched error meets the first blanket entry", () => {
  const first = policy("cancel");
  const second = policy("skip");
  const specific = policy("pause", { matching: TimeoutError });
  assert.equal(inStep([specific, first, second], new RateLimited()).policy, first);
});

Deno.test("EXC-11 without an entry for it an error falls to the workflow, then to pause", () => {
  const step = [policy("skip", { matching: TimeoutError })];
  const wide = policy("cancel");
  const error = new RateLimited();
  assert.equal(resolvePolicy({ step, layers: [[wide]], error }).policy, wide);
  const last = resolvePolicy({ step, layers: [], error });
  assert.equal(last.policy, DEFAULT_POLICY);
  assert.equal(last.policy.action, "pause");
  assert.equal(last.cap, null);
});

Deno.test("EXC-12 of a workflow's specific policies the one declared last wins", () => {
  const first = policy("skip", { matching: TimeoutError });
  const second = policy("cancel", { matching: TimeoutError });
  assert.equal(inWorkflow([[first, second]], new TimeoutError()).policy, second);
});

Deno.test("EXC-13 a workflow's specific policy beats a blanket one in any order", () => {
  const blanket = policy("cancel");
  const specific = policy("skip", { matching: TimeoutError });
  for (const layer of [[blanket, specific], [specific, blanket]]) {
    assert.equal(inWorkflow([layer], new TimeoutError()).policy, specific);
  }
});

Deno.test("EXC-14 of a workflow's blanket policies the one declared last wins", () => {
  const first = policy("cancel");
  const second = policy("skip");
  assert.equal(inWorkflow([[first, second]], new RateLimited()).policy, second);
});

Deno.test("EXC-15 a blanket of a derived definition does not hide a base's specific policy", () => {
  const derivedSpecific = policy("pause", { matching: RateLimited });
  const derivedBlanket = policy("cancel");
  const baseSpecific = policy("skip", { matching: TimeoutError });
  const baseRate = policy("skip", { matching: RateLimited });
  const baseBlanket = policy("reattempt");
  const layers = [[derivedSpecific, derivedBlanket], [baseSpecific, baseRate, baseBlanket]];
  assert.equal(inWorkflow(layers, new RateLimited()).policy, derivedSpecific);
  assert.equal(inWorkflow(layers, new TimeoutError()).policy, baseSpecific);
  assert.equal(inWorkflow(layers, new Error()).policy, derivedBlanket);
  assert.equal(inWorkflow([[derivedSpecific], [baseBlanket]], new Error()).policy, baseBlanket);
});

Deno.test("EXC-24 the smallest cap of a list limits alternating errors", () => {
  const list = [
    policy("reattempt", { matching: TimeoutError, maxReattempts: 5 }),
    policy("reattempt", { matching: RateLimited, maxReattempts: 2 }),
    policy("reattempt", { maxReattempts: null }),
  ];
  for (const error of [new TimeoutError(), new RateLimited(), new Error()]) {
    assert.equal(inStep(list, error).cap, 2);
    assert.equal(inWorkflow([list], error).cap, 2);
  }
});

Deno.test("EXC-24 only the list that supplied the policy counts for the cap", () => {
  const step = [policy("reattempt", { matching: TimeoutError, maxReattempts: 9 })];
  const layers = [[policy("reattempt", { maxReattempts: 4 })], [
    policy("reattempt", { matching: RateLimited, maxReattempts: 1 }),
  ]];
  assert.equal(resolvePolicy({ step, layers, error: new TimeoutError() }).cap, 9);
  assert.equal(resolvePolicy({ step, layers, error: new Error() }).cap, 4);
  assert.equal(resolvePolicy({ step, layers, error: new RateLimited() }).cap, 1);
});

Deno.test("EXC-25 under the list's cap the matched entry's own terminal action is kept", () => {
  const list = [
    policy("reattempt", { matching: TimeoutError, maxReattempts: 5, terminalAction: "skip" }),
    policy("reattempt", { matching: RateLimited, maxReattempts: 2, terminalAction: "cancel" }),
  ];
  const found = inStep(list, new TimeoutError());
  assert.equal(found.cap, 2);
  assert.equal(found.policy.terminalAction, "skip");
});

Deno.test("EXC-26 without any cap in a list there is none; other actions have none either", () => {
  const endless = policy("reattempt", { matching: TimeoutError, maxReattempts: null });
  const list = [endless, policy("reattempt", { maxReattempts: null }), policy("cancel")];
  assert.equal(inStep(list, new TimeoutError()).cap, null);
  const capped = [policy("skip", { matching: TimeoutError }), policy("reattempt")];
  assert.equal(inStep(capped, new TimeoutError()).cap, null);
});

Deno.test("EXC-39 a handler with a matcher is only for the errors that match", () => {
  const handler = policy(() => {}, { matching: RateLimited });
  assert.equal(inStep([handler], new RateLimited()).policy, handler);
  assert.equal(inStep([handler], new TimeoutError()).policy, DEFAULT_POLICY);
  assert.equal(inStep([handler], new RateLimited()).cap, null);
});

Deno.test("EXC-16 matches() is for subclasses too, and a blanket is for all", () => {
  assert.equal(matches(policy("pause", { matching: TimeoutError }), new SlowTimeoutError()), true);
  assert.equal(matches(policy("pause", { matching: SlowTimeoutError }), new TimeoutError()), false);
  assert.equal(matches(policy("pause"), new Error()), true);
});

Deno.test("DEF-20 policiesFrom() gives null for nothing and one layer for each other form", () => {
  assert.equal(policiesFrom(undefined, {}, "onException"), null);
  const one = policy("skip");
  for (const form of ["skip", one, [one], (): void => {}]) {
    const layer = policiesFrom(form, {}, "onException");
    assert.equal(layer?.length, 1);
    assert.ok(Object.isFrozen(layer));
  }
});

Deno.test("EXC-08 EXC-15 any mix of layers resolves to a policy that is for the error", () => {
  const classes = [TimeoutError, SlowTimeoutError, RateLimited];
  const entry = fc.record({
    matching: fc.option(fc.constantFrom(...classes), { nil: undefined }),
    cap: fc.option(fc.integer({ min: 1, max: 50 }), { nil: null }),
  }).map(({ matching, cap }) =>
    policy("reattempt", { maxReattempts: cap, ...(matching !== undefined && { matching }) })
  );
  const layer = fc.array(entry, { minLength: 1, maxLength: 5 });
  const step = fc.option(layer, { nil: null });
  const thrown = fc.constantFrom(...classes).map((Class) => new Class("x"));
  fc.assert(fc.property(step, fc.array(layer, { maxLength: 3 }), thrown, (step, layers, error) => {
    const found = resolvePolicy({ step, layers, error });
    assert.ok(matches(found.policy, error));
    const home = [step ?? [], ...layers].find((one) => one.includes(found.policy));
    const everything = [...step ?? [], ...layers.flat()];
    if (home === undefined) {
      assert.equal(found.policy, DEFAULT_POLICY);
      assert.equal(everything.some((one) => matches(one, error)), false);
      return;
    }
    const caps = home.flatMap((one) => one.maxReattempts ?? []);
    assert.equal(found.cap, caps.length === 0 ? null : Math.min(...caps));
    if (found.policy.matching !== null) return;
    // A blanket is only used where the list that it is looked up in has nothing specific.
    const rivals = home === step ? step : layers.flat();
    assert.equal(rivals.some((one) => one.matching !== null && matches(one, error)), false);
  }));
});
