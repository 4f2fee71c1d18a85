/**
 * Matchers: which errors a policy is for.
 *
 * @module
 */

import { StepConfigurationError } from "../errors.ts";
import type { ErrorMatcher } from "./definition.ts";
import { show } from "./options.ts";

const ACCEPTED = "an Error class, the name of one, a predicate function, or an object with match()";

/** Checks the `matching` of a policy: one matcher or a list; undefined: the policy is a blanket. */
export function matchersFrom(value: unknown, what: string): readonly ErrorMatcher[] | null {
  if (value === undefined) return null;
  const members: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (members.length === 0) {
    throw new StepConfigurationError(
      `Cannot use an empty list as ${what}: it would never match; leave it out to match all errors`,
    );
  }
  return Object.freeze(members.map((member) => checkedMatcher(member, what)));
}

function checkedMatcher(value: unknown, what: string): ErrorMatcher {
  if (typeof value === "function") {
    if (isErrorClass(value) || !isClass(value)) return value as ErrorMatcher;
    throw new StepConfigurationError(
      `Cannot use class ${value.name || "(anonymous)"} as ${what}: it is not a subclass of Error`,
    );
  }
  const isName = typeof value === "string" && value !== "";
  if (isName || hasMatch(value)) return value as ErrorMatcher;
  throw new StepConfigurationError(`Cannot use ${show(value)} as ${what}: it must be ${ACCEPTED}`);
}

/**
 * Whether any of the matchers is for this error. It never throws: an error is being handled
 * already, and a broken matcher must not take its place.
 */
export function anyMatches(matchers: readonly ErrorMatcher[], error: Error): boolean {
  return matchers.some((matcher) => {
    try {
      return holds(matcher, error);
    } catch {
      // Not a match: the policies that follow still have their say.
      return false;
    }
  });
}

function holds(matcher: ErrorMatcher, error: Error): boolean {
  if (typeof matcher === "string") return isNamed(error, matcher);
  if (typeof matcher === "object") return answer(matcher.match(error));
  if (isErrorClass(matcher)) return error instanceof matcher;
  return answer((matcher as (error: Error) => boolean)(error));
}

/** A promise is no answer, since matching does not wait; its failure is not to surface elsewhere. */
function answer(value: unknown): boolean {
  if (!(value instanceof Promise)) return Boolean(value);
  value.catch(() => {});
  return false;
}

/** Whether the error, its class or a class that it extends has this name. */
function isNamed(error: Error, name: string): boolean {
  if (error.name === name) return true;
  let prototype: unknown = Object.getPrototypeOf(error);
  while (typeof prototype === "object" && prototype !== null) {
    const own = Object.getOwnPropertyDescriptor(prototype, "constructor")?.value;
    if (typeof own === "function" && own.name === name) return true;
    prototype = Object.getPrototypeOf(prototype);
  }
  return false;
}

// deno-lint-ignore no-explicit-any -- constructors of any shape
function isErrorClass(value: object): value is abstract new (...args: any[]) => Error {
  return value === Error || ("prototype" in value && value.prototype instanceof Error);
}

/**
 * Classes and built-in constructors have a prototype that cannot be reassigned, older classes one
 * with methods of its own; plain functions have neither and arrow functions no prototype at all.
 */
function isClass(value: object): boolean {
  const prototype = Object.getOwnPropertyDescriptor(value, "prototype");
  if (typeof prototype?.value !== "object" || prototype.value === null) return false;
  if (prototype.writable === false) return true;
  return Object.keys(prototype.value).length > 0;
}

function hasMatch(value: unknown): value is { match(error: Error): boolean } {
  return typeof value === "object" && value !== null && "match" in value &&
    typeof value.match === "function";
}
