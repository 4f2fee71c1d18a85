/**
 * Attaching a value to an object that users hold, where nobody sees it who prints or copies that.
 *
 * What users rarely look at is made when they do (a run among ten thousand that were started, the
 * records in a step's context), by a getter that all such objects share. It finds what it needs
 * under a hidden symbol: also through a proxy, and in an object that inherits from this one, where a
 * private field would not be found. A WeakMap takes four times as long.
 *
 * @module
 */

const ATTACHED = Symbol("attached");

/** Attaches a value to an object, once. */
export function attach(object: object, value: unknown): void {
  Object.defineProperty(object, ATTACHED, { value });
}

/** The value that was attached to an object. */
export function attached<Value>(object: object): Value {
  return (object as { readonly [ATTACHED]: Value })[ATTACHED];
}
