/**
 * Stored values as people read them: decoded, redacted, and cut to what a page can hold.
 *
 * @module
 */

import type { Codec } from "../state/codec.ts";
import { toError } from "../state/stored_error.ts";
import { decodeColumn } from "../run/view.ts";
import { MASK, type Redactor } from "../observe/redact.ts";

/** A value that JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | { [key: string]: Json };

/** Deeper than this, or beyond so many members, a value is told by its size alone. */
const MAX_DEPTH = 12;
const MAX_MEMBERS = 200;
const MAX_TEXT = 2_000;

/** Reads columns for showing. */
export interface ValueReader {
  /** A column of JSON text as a value to show; what cannot be read says so in its place. */
  column(name: string, text: string | null): Json;
  /** Any value to show. */
  value(value: unknown): Json;
  /** A text to show, such as an error's message. */
  text(text: string): string;
}

/** Makes a reader of stored values. */
export function createValueReader(codec: Codec, redactor: Redactor): ValueReader {
  const value = (what: unknown): Json => shown(what, redactor, 0);
  return {
    column(name, text) {
      try {
        return value(decodeColumn(codec, name, text));
      } catch (thrown) {
        return redactor.text(`unreadable: ${toError(thrown).message}`);
      }
    },
    value,
    text: (text) => redactor.text(text),
  };
}

function shown(value: unknown, redactor: Redactor, depth: number): Json {
  switch (typeof value) {
    case "string":
      return redactor.text(
        value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}… (${value.length} in all)` : value,
      );
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "boolean":
      return value;
    case "bigint":
      return `${value}n`;
    case "object":
      return value === null ? null : shownObject(value, redactor, depth);
    default:
      return null;
  }
}

function shownObject(value: object, redactor: Redactor, depth: number): Json {
  if (value instanceof Date) return Number.isNaN(+value) ? "Invalid Date" : value.toISOString();
  if (value instanceof Uint8Array) return `${value.byteLength} bytes`;
  if (value instanceof Map) return entries([...value], redactor, depth);
  const members = Array.isArray(value) || value instanceof Set ? [...value] : null;
  if (members === null && isOpaque(value)) return String(value);
  if (depth >= MAX_DEPTH) return "…";
  if (members !== null) {
    const some = members.slice(0, MAX_MEMBERS).map((one) => shown(one, redactor, depth + 1));
    return members.length > MAX_MEMBERS ? [...some, `… (${members.length} in all)`] : some;
  }
  return entries(Object.entries(value), redactor, depth);
}

/** What has a text of its own, such as a Temporal value. */
function isOpaque(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype !== null && prototype !== Object.prototype;
}

function entries(
  all: readonly (readonly [unknown, unknown])[],
  redactor: Redactor,
  depth: number,
): Json {
  if (depth >= MAX_DEPTH) return "…";
  // An object without a prototype: a key such as `__proto__` is a key like any other.
  const object: { [key: string]: Json } = Object.create(null);
  for (const [key, one] of all.slice(0, MAX_MEMBERS)) {
    const name = typeof key === "string" ? key : String(key);
    object[name] = redactor.hides(name) && one !== null ? MASK : shown(one, redactor, depth + 1);
  }
  if (all.length > MAX_MEMBERS) object["…"] = `${all.length} in all`;
  return object;
}
