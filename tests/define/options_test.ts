import assert from "node:assert/strict";
import fc from "fast-check";
import {
  about,
  isMade,
  nameText,
  nearest,
  optionsObject,
  priorityNumber,
  show,
} from "../../src/define/options.ts";
import { policy } from "../../src/define/policy.ts";
import { StepConfigurationError } from "../../src/errors.ts";
import { refusal } from "./_helpers.ts";

Deno.test("DEF-47 values are shown in messages in a form that tells them apart", () => {
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  const shown: [unknown, string][] = [
    ["a", '"a"'],
    [5, "5"],
    ["5", '"5"'],
    [5n, "5n"],
    [NaN, "NaN"],
    [undefined, "undefined"],
    [null, "null"],
    [true, "true"],
    [Symbol("x"), "Symbol(x)"],
    [[1, 2], "an array of 2"],
    [{ a: 1 }, '{"a":1}'],
    [function named(): void {}, "function named"],
    [(() => () => {})(), "function (anonymous)"],
    [circular, "a value of type object"],
    [{ toJSON: () => undefined }, "a value of type object"],
  ];
  for (const [value, text] of shown) assert.equal(show(value), text);
  assert.ok(show("x".repeat(1_000)).length < 90);
  assert.ok(show({ text: "x".repeat(1_000) }).length < 90);
});

Deno.test("DEF-47 showing a value never throws", () => {
  fc.assert(fc.property(fc.anything({ withNullPrototype: true }), (value) => {
    assert.equal(typeof show(value), "string");
  }));
});

Deno.test("DEF-50 a slip of a known word is recognised, another word is not", () => {
  const known = ["skipIf", "onException", "maxReattempts", "wait"];
  const slips = { skip_if: "skipIf", SKIPIF: "skipIf", onExeption: "onException", wiat: null };
  for (const [slip, meant] of Object.entries(slips)) assert.equal(nearest(slip, known), meant);
  assert.equal(nearest("maxReatempt", known), "maxReattempts");
  assert.equal(nearest("completely_different", known), null);
  assert.equal(nearest("", known), null);
  assert.equal(nearest("x".repeat(10_000), []), null);
});

Deno.test("DEF-50 the nearest of known words is the word itself, if it is among them", () => {
  const word = fc.stringMatching(/^[a-z]{3,12}$/);
  fc.assert(fc.property(fc.uniqueArray(word, { minLength: 1 }), fc.nat(), (known, at) => {
    const wanted = known[at % known.length] as string;
    assert.equal(nearest(wanted, known), wanted);
  }));
});

Deno.test("DEF-50 keys that an object only inherits are not options", () => {
  assert.ok(optionsObject(Object.create({ inherited: 1 }), ["own"], "options"));
  assert.ok(optionsObject(Object.assign(Object.create(null), { own: 1 }), ["own"], "options"));
  refusal(() => optionsObject({ constructor: 1 }, ["own"], "options"), '"constructor"');
  refusal(() => optionsObject(JSON.parse('{"__proto__":1}'), ["own"], "options"), '"__proto__"');
});

Deno.test("DEF-08 a name is text that every database can store", () => {
  for (const name of ["a", " a ", "señal ✓", "名前", "a".repeat(255), "👍"]) {
    assert.equal(nameText(name, "name"), name);
  }
  for (const name of ["a\tb", "a\u007f", "\u0000", "\ud800", "a\nb"]) {
    refusal(() => nameText(name, "name"), "control characters");
  }
});

Deno.test("DEF-47 a priority fits into 32 bits", () => {
  assert.equal(priorityNumber(-(2 ** 31) + 1, "priority"), -2_147_483_647);
  refusal(() => priorityNumber(-(2 ** 31), "priority"), "32 bits");
});

Deno.test("DEF-19 only what is frozen counts as made", () => {
  const made = policy("pause");
  assert.equal(isMade(made, "policy"), true);
  assert.equal(isMade(made, "hero"), false);
  assert.equal(isMade({ ...made }, "policy"), false);
  assert.equal(isMade(Object.freeze({}), "policy"), false);
  for (const value of [null, undefined, 5, "policy", () => {}]) {
    assert.equal(isMade(value, "policy"), false);
  }
});

Deno.test("DEF-03 about() says where the trouble is, and keeps the step that an error names", () => {
  const fail = (stepName: string | null) => (): never => {
    throw new StepConfigurationError("Cannot do this", { stepName });
  };
  const own = refusal(
    () => about({ where: "here", stepName: "outer" }, fail(null)),
    "here: Cannot",
  );
  assert.equal(own.stepName, "outer");
  assert.equal(
    refusal(() => about({ where: "here", stepName: "outer" }, fail("inner"))).stepName,
    "inner",
  );
  const bug = new TypeError("a bug");
  assert.throws(
    () =>
      about({ where: "here", stepName: null }, () => {
        throw bug;
      }),
    (error) => error === bug,
  );
  assert.equal(about({ where: "here", stepName: null }, () => 5), 5);
});
