import assert from "node:assert/strict";
import fc from "fast-check";
import { InvalidStateError, ThrownValueError } from "../../src/errors.ts";
import {
  exceptionIn,
  exceptionOf,
  MAX_MESSAGE,
  MAX_STACK,
  storedError,
  toError,
} from "../../src/state/stored_error.ts";
import { BOOM, BOOM_COPY } from "./_rows.ts";

class PaymentError extends Error {}

Deno.test("EXC-54 U36 an Error is itself; anything else is wrapped, with the value as its cause", () => {
  const error = new PaymentError("declined");
  assert.equal(toError(error), error);
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const values = ["text", "", 7, null, undefined, true, 1n, Symbol("s"), { a: 1 }, [1], proxy];
  for (const value of values) {
    const wrapped = toError(value);
    assert.ok(wrapped instanceof ThrownValueError);
    assert.equal(wrapped.cause, value);
    assert.equal(storedError(wrapped).errorClass, "ThrownValueError");
    assert.match(storedError(wrapped).message, /^A value that is not an Error was thrown: /);
  }
});

Deno.test("AUD-12 the stored class is the one an operator would look for", () => {
  class Nameless extends Error {}
  Object.defineProperty(Nameless, "name", { value: "" });
  class Odd extends Error {}
  Object.defineProperty(Odd, "name", { value: 42 });
  const named = new Error("x");
  named.name = "AbortError";
  const bare = Object.assign(new Error("x"), { constructor: undefined });
  const numbered = Object.assign(new Odd("x"), { name: 7 });
  const cases: [Error, string][] = [
    [new Error("x"), "Error"],
    [new TypeError("x"), "TypeError"],
    [new PaymentError("x"), "PaymentError"],
    [new InvalidStateError("x"), "InvalidStateError"],
    [new DOMException("x", "AbortError"), "DOMException"],
    [named, "AbortError"],
    [Object.assign(new PaymentError("x"), { name: "Other" }), "PaymentError"],
    [new Nameless("x"), "Error"],
    [Object.assign(new Nameless("x"), { name: "Given" }), "Given"],
    [bare, "Error"],
    [numbered, "Error"],
  ];
  for (const [error, expected] of cases) assert.equal(storedError(error).errorClass, expected);
});

Deno.test("AUD-12 message and stack are stored", () => {
  const error = new PaymentError("declined");
  assert.deepEqual(storedError(error), {
    errorClass: "PaymentError",
    message: "declined",
    stack: error.stack,
  });
});

Deno.test("U35 an error without a stack is stored with its name and message, and an empty one with null", () => {
  const error = new PaymentError("declined");
  Object.defineProperty(error, "stack", { value: undefined });
  assert.equal(storedError(error).stack, "Error: declined");
  Object.defineProperty(error, "stack", { value: "" });
  assert.equal(storedError(error).stack, null);
});

Deno.test("U35 message, stack and class are cut to size and say how much is missing", () => {
  class Long extends Error {}
  Object.defineProperty(Long, "name", { value: "L".repeat(300) });
  const error = new Long("m".repeat(1_000_000));
  error.stack = "s".repeat(1_000_000);
  const stored = storedError(error);
  assert.equal(stored.errorClass.length, 255);
  assert.equal(stored.message.length, MAX_MESSAGE);
  assert.ok(stored.message.endsWith("… (996000 more characters)"));
  assert.equal(stored.stack?.length, MAX_STACK);
  assert.match(stored.stack ?? "", /more characters\)$/);
  const exact = storedError(new Error("m".repeat(MAX_MESSAGE)));
  assert.equal(exact.message, "m".repeat(MAX_MESSAGE));
});

Deno.test("U35 the chain of causes is flattened into the stack, five at the most", () => {
  let error = new Error("cause 9");
  for (let i = 8; i >= 0; i--) error = new Error(`cause ${i}`, { cause: error });
  const { stack } = storedError(error);
  const found = [...(stack ?? "").matchAll(/Error: cause (\d)/g)].map((match) => match[1]);
  assert.deepEqual(found, ["0", "1", "2", "3", "4"]);
  assert.equal((stack ?? "").split("Caused by: ").length, 5);
});

Deno.test("U35 a cycle of causes ends where it began", () => {
  const first = new Error("first");
  const second = new Error("second", { cause: first });
  first.cause = second;
  const { stack } = storedError(first);
  assert.equal((stack ?? "").split("Caused by: ").length, 2);
  const self = new Error("self");
  self.cause = self;
  assert.equal(storedError(self).stack, self.stack);
});

Deno.test("U35 what a database would refuse is replaced: NUL and lone surrogates, also where the text is cut", () => {
  const note = "… (2 more characters)".length;
  const split = "m".repeat(MAX_MESSAGE - note - 1) + "😀".repeat(note);
  const texts = ["a\0b", "a\ud800b", "\udc00", split, "😀".repeat(MAX_MESSAGE)];
  for (const text of texts) {
    const { message } = storedError(new Error(text));
    assert.ok(message.isWellFormed());
    assert.equal(message.includes("\0"), false);
    assert.ok(message.length <= MAX_MESSAGE);
  }
  assert.equal(storedError(new Error("a\0b\ud800c")).message, "a\uFFFDb\uFFFDc");
});

Deno.test("U35 an error whose fields throw is stored all the same", () => {
  const fields = ["name", "message", "stack", "cause", "constructor"] as const;
  for (const field of fields) {
    const error = new PaymentError("declined");
    Object.defineProperty(error, field, {
      get(): never {
        throw new Error("no");
      },
    });
    const { errorClass, message, stack } = storedError(error);
    assert.equal(errorClass, field === "constructor" ? "Error" : "PaymentError", field);
    assert.equal(message, field === "message" ? "" : "declined");
    assert.equal(stack === null, field === "stack");
  }
});

Deno.test("U35 U36 whatever is thrown, storing it never throws and fits the columns", () => {
  fc.assert(fc.property(fc.anything({ withNullPrototype: true, withBigInt: true }), (thrown) => {
    for (
      const value of [thrown, Object.assign(new Error("x"), { message: thrown, stack: thrown })]
    ) {
      const { errorClass, message, stack } = storedError(toError(value));
      assert.ok(errorClass.length <= 255 && message.length <= MAX_MESSAGE);
      assert.ok(stack === null || stack.length <= MAX_STACK);
      assert.ok((errorClass + message + stack).isWellFormed());
    }
  }));
});

Deno.test("AUD-12 the copy in the metadata column can be read back", () => {
  assert.deepEqual(exceptionOf(BOOM), BOOM_COPY);
  for (const error of [BOOM, { ...BOOM, stack: null }, { ...BOOM, message: "" }]) {
    assert.deepEqual(exceptionIn(JSON.stringify({ exception: exceptionOf(error) })), error);
  }
});

Deno.test("AUD-14 a copy that is absent or malformed is none", () => {
  const texts = [null, "{", "{}", '{"exception":null}', '{"exception":{"class":7}}'];
  for (const text of texts) assert.equal(exceptionIn(text), null);
  assert.deepEqual(exceptionIn('{"exception":{"class":"E","stack":"x"}}'), {
    errorClass: "E",
    message: "",
    stack: null,
  });
});
