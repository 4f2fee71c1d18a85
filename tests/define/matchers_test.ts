import assert from "node:assert/strict";
import type { ErrorMatcher } from "../../src/define/definition.ts";
import { anyMatches, matchersFrom } from "../../src/define/matchers.ts";
import { policy } from "../../src/define/policy.ts";
import { refusal } from "./_helpers.ts";

class NetworkError extends Error {}
class DnsError extends NetworkError {}
abstract class AbstractError extends Error {}
class ConcreteError extends AbstractError {}

/** Whether one matcher is for an error, after the checks that policy() makes. */
function isFor(matcher: unknown, error: Error): boolean {
  const checked = matchersFrom(matcher, "matching");
  assert.ok(checked !== null);
  return anyMatches(checked, error);
}

Deno.test("DEF-34 a class that is not a subclass of Error is refused", () => {
  function Old(): void {}
  Old.prototype.method = (): void => {};
  for (const Class of [class Plain {}, class {}, Map, Date, Old]) {
    refusal(
      () => policy("pause", { matching: Class as unknown as ErrorMatcher }),
      "matching of policy",
      "not a subclass of Error",
    );
  }
  refusal(() => policy("pause", { matching: Map as unknown as ErrorMatcher }), "class Map");
});

Deno.test("DEF-34 a matcher of another kind is refused with the accepted ones", () => {
  for (const matching of [5, null, "", {}, { match: true }, [null], /x/]) {
    refusal(
      () => policy("pause", { matching: matching as unknown as ErrorMatcher }),
      "matching",
      "an Error class",
      "predicate",
      "match()",
    );
  }
  refusal(() => policy("pause", { matching: [] }), "empty list", "never match");
});

Deno.test("DEF-35 names, predicates and objects with match() are accepted", () => {
  const object = { match: (): boolean => true };
  const predicate = (): boolean => true;
  const made = policy("pause", { matching: ["NoSuchClass", object, predicate, NetworkError] });
  assert.deepEqual(made.matching, ["NoSuchClass", object, predicate, NetworkError]);
  assert.deepEqual(policy("pause", { matching: object }).matching, [object]);
  assert.equal(policy("pause").matching, null);
});

Deno.test("DEF-35 a function of any style is a predicate", () => {
  const styles = [
    (): boolean => true,
    function plain(): boolean {
      return true;
    },
    { method: (): boolean => true }.method,
    ((): boolean => true).bind(null),
  ];
  for (const style of styles) assert.equal(isFor(style, new Error()), true);
});

Deno.test("EXC-16 a class is for its subclasses, not for its ancestors", () => {
  assert.equal(isFor(NetworkError, new NetworkError()), true);
  assert.equal(isFor(NetworkError, new DnsError()), true);
  assert.equal(isFor(DnsError, new NetworkError()), false);
  assert.equal(isFor(Error, new DnsError()), true);
  assert.equal(isFor(AbstractError, new ConcreteError()), true);
});

Deno.test("EXC-17 a name is for errors of that class and of its subclasses", () => {
  assert.equal(isFor("NetworkError", new NetworkError()), true);
  assert.equal(isFor("NetworkError", new DnsError()), true);
  assert.equal(isFor("DnsError", new NetworkError()), false);
  assert.equal(isFor("Error", new DnsError()), true);
  assert.equal(isFor("TypeError", new TypeError()), true);
});

Deno.test("EXC-17 a name is also what an error calls itself", () => {
  const error = new Error("took too long");
  error.name = "TimeoutError";
  assert.equal(isFor("TimeoutError", error), true);
  assert.equal(isFor("AbortError", new DOMException("stop", "AbortError")), true);
});

Deno.test("EXC-17 a name that nothing has never matches and never throws", () => {
  assert.equal(isFor("NoSuchError", new NetworkError()), false);
  assert.equal(isFor("constructor", new NetworkError()), false);
  const bare = Object.setPrototypeOf(new Error("no class"), null) as Error;
  assert.equal(isFor("Error", bare), false);
});

Deno.test("EXC-18 a predicate's answer decides", () => {
  const busy = (error: Error): boolean => error.message.includes("busy");
  assert.equal(isFor(busy, new Error("line busy")), true);
  assert.equal(isFor(busy, new Error("no line")), false);
  assert.equal(isFor({ match: busy }, new Error("line busy")), true);
  assert.equal(isFor({ match: busy }, new Error("no line")), false);
  assert.equal(isFor(() => "truthy", new Error()), true);
});

Deno.test("EXC-18 an object is asked as the object it is", () => {
  const matcher = {
    word: "busy",
    match(error: Error): boolean {
      return error.message === this.word;
    },
  };
  assert.equal(isFor(matcher, new Error("busy")), true);
});

Deno.test("EXC-18 a matcher that throws is no match, and the others still have their say", () => {
  const broken = (): never => {
    throw new Error("broken matcher");
  };
  assert.equal(isFor(broken, new NetworkError()), false);
  assert.equal(isFor([broken, NetworkError], new NetworkError()), true);
});

Deno.test("EXC-18 a promise is no answer, and its failure does not surface elsewhere", async () => {
  assert.equal(isFor(() => Promise.resolve(true), new Error()), false);
  assert.equal(isFor(() => Promise.reject(new Error("later")), new Error()), false);
  // An unhandled rejection would fail this test once the event loop turns.
  await new Promise((resolve) => setTimeout(resolve, 0));
});

Deno.test("EXC-19 a list matches when any member does", () => {
  const list = [TypeError, "DnsError", (error: Error): boolean => error.message === "busy"];
  assert.equal(isFor(list, new TypeError()), true);
  assert.equal(isFor(list, new DnsError()), true);
  assert.equal(isFor(list, new Error("busy")), true);
  assert.equal(isFor(list, new NetworkError()), false);
});
