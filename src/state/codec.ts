/**
 * How values become text and come back: cursors, inputs and payloads of signals.
 *
 * Plain JSON stays plain JSON, so that a person can read it in SQL. What JSON cannot say is written
 * as a tagged object, `{"$pawl": "date", "v": "2026-01-01T00:00:00.000Z"}`; an object of the user
 * that carries the tag's key itself is written as a tagged list of its entries. The text is always
 * acceptable to Postgres' `jsonb`, which refuses NUL and lone surrogates, and never nests deeper
 * than MySQL's `JSON` allows.
 *
 * What comes back is equal to what went in and of the same type, -0 included, with three
 * exceptions: an object without a prototype comes back as an ordinary one, a `Buffer` as a
 * `Uint8Array`, and two references to one object as two objects. What could not come back is
 * refused with a `CursorError` that says where it sits; nothing is ever dropped silently.
 *
 * @module
 */

import { CursorError, CursorTooLargeError } from "../errors.ts";
import { toError } from "./stored_error.ts";
import { temporalFrom, temporalText, temporalType } from "./temporal.ts";

/** Turns values into text and back; the engine's `codec` option replaces the default. */
export interface Codec {
  /** Writes a value as JSON text; throws for what could not come back. */
  encode(value: unknown): string;
  /** Reads what `encode` wrote. */
  decode(text: string): unknown;
  /**
   * Whether two texts say the same, where the same value may be written in several ways; absent:
   * they are compared as JSON.
   */
  isSame?(one: string, other: string): boolean;
}

/** How large a cursor may be when the engine does not say otherwise. */
export const DEFAULT_MAX_CURSOR_BYTES = 131_072;

/**
 * How deep the text may nest: the limit of MySQL's `JSON`, the lowest of the databases, less the
 * level that the metadata column puts around the last cursor of a step.
 */
export const MAX_DEPTH = 99;

const TAG = "$pawl";

/** The default codec: JSON, with tags for what JSON cannot say. */
export const jsonCodec: Codec = {
  encode(value: unknown): string {
    // Most cursors are small integers, and they are written once per item.
    if (Number.isSafeInteger(value) && !Object.is(value, -0)) return String(value);
    return write(value, { path: ["$"], parents: new Set(), depth: 0 });
  },
  decode(text: string): unknown {
    let tree: unknown;
    try {
      tree = JSON.parse(text);
    } catch (cause) {
      throw new CursorError("Cannot read a stored value: it is not JSON", { cause, path: "$" });
    }
    return read(tree, ["$"]);
  },
};

/**
 * Writes a cursor with any codec: null stays null, and a text beyond the limit is refused.
 *
 * @throws {CursorTooLargeError} When the text has more than `maxBytes` bytes in UTF-8.
 * @throws {CursorError} When the codec cannot write the value.
 */
export function encodeCursor(
  codec: Codec,
  value: unknown,
  maxBytes: number | null = DEFAULT_MAX_CURSOR_BYTES,
): string | null {
  if (value === null) return null;
  const text = encodeWith(codec, value);
  // A UTF-16 unit takes three bytes at the most: short texts need no counting.
  if (maxBytes === null || text.length * 3 <= maxBytes) return text;
  const bytes = new TextEncoder().encode(text).byteLength;
  if (bytes > maxBytes) throw new CursorTooLargeError({ bytes, maxBytes });
  return text;
}

function encodeWith(codec: Codec, value: unknown): string {
  let text: unknown;
  try {
    text = codec.encode(value);
  } catch (error) {
    if (error instanceof CursorError) throw error;
    throw new CursorError(`Cannot store the cursor: ${toError(error).message}`, { cause: error });
  }
  if (typeof text === "string") return text;
  throw new CursorError(`Cannot store the cursor: the codec made ${typeof text}, not text`);
}

/** Where the writer stands: the path from the root, the containers it is in, the levels of text. */
interface Place {
  readonly path: (string | number)[];
  readonly parents: Set<object>;
  depth: number;
}

function write(value: unknown, at: Place): string {
  switch (typeof value) {
    case "string":
      return writeString(value, at);
    case "number":
      return writeNumber(value, at);
    case "boolean":
      return value ? "true" : "false";
    case "bigint":
      return tagged("bigint", `"${value}"`, at);
    case "object":
      return value === null ? "null" : writeObject(value, at);
    default:
      throw refusal(
        typeof value === "undefined" ? "undefined" : `a ${typeof value}`,
        at.path,
        PLAIN,
      );
  }
}

function writeString(text: string, at: Place): string {
  const json = JSON.stringify(text);
  // Escaped twice, NUL and lone surrogates are plain ASCII to the database.
  return isPortable(text) ? json : tagged("string", JSON.stringify(json), at);
}

/** Whether every database can store a text as it is: NUL and half a character are refused by some. */
export function isPortable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

function writeNumber(value: number, at: Place): string {
  if (!Number.isFinite(value)) throw refusal(String(value), at.path);
  return Object.is(value, -0) ? tagged("number", '"-0"', at) : String(value);
}

function writeObject(value: object, at: Place): string {
  if (at.parents.has(value)) throw refusal("a value that contains itself", at.path);
  at.parents.add(value);
  try {
    return writeContainer(value, at);
  } finally {
    at.parents.delete(value);
  }
}

function writeContainer(value: object, at: Place): string {
  if (Array.isArray(value)) return writeArray(value, at);
  const prototype = Object.getPrototypeOf(value);
  // The second test is for plain objects of another realm, such as those of a test runner.
  if (prototype === null || Object.getPrototypeOf(prototype) === null) {
    return writeRecord(value, at);
  }
  // Fake clocks make subclasses of Date; what they hold is a date all the same.
  if (value instanceof Date) return writeDate(value, at);
  if (value instanceof Uint8Array) return tagged("bytes", `"${toBase64(value)}"`, at);
  if (prototype === Map.prototype) {
    return tagged("map", list([...(value as Map<unknown, unknown>)], at, 1), at);
  }
  if (prototype === Set.prototype) {
    return tagged("set", list([...(value as Set<unknown>)], at, 1), at);
  }
  const temporal = temporalType(value);
  if (temporal !== null) return tagged(temporal, temporalText(temporal, value), at);
  throw refusal(`an instance of ${value.constructor?.name || "a class"}`, at.path, PLAIN);
}

function writeArray(value: readonly unknown[], at: Place): string {
  for (let i = 0; i < value.length; i++) {
    if (!(i in value)) throw refusal("a hole in an array", [...at.path, i]);
  }
  if (Object.keys(value).length !== value.length) {
    throw refusal("an array with properties of its own", at.path);
  }
  return list(value, at, 0);
}

/** Writes a list `levels` deeper than where it stands, because a tag stands around it. */
function list(values: readonly unknown[], at: Place, levels: number): string {
  enter(at, levels + 1);
  let text = "";
  for (let i = 0; i < values.length; i++) {
    at.path.push(i);
    text += (i === 0 ? "" : ",") + write(values[i], at);
    at.path.pop();
  }
  at.depth -= levels + 1;
  return `[${text}]`;
}

function writeRecord(value: object, at: Place): string {
  if (Object.getOwnPropertySymbols(value).length > 0) {
    throw refusal("an object with symbols for keys", at.path);
  }
  const entries = Object.entries(value);
  const plain = entries.every(([key]) => key !== TAG && isPortable(key));
  const levels = plain ? 1 : 3;
  enter(at, levels);
  const parts: string[] = [];
  for (const [key, member] of entries) {
    at.path.push(key);
    const text = write(member, at);
    at.path.pop();
    parts.push(plain ? `${JSON.stringify(key)}:${text}` : `[${writeString(key, at)},${text}]`);
  }
  at.depth -= levels;
  return plain ? `{${parts.join(",")}}` : tagged("object", `[${parts.join(",")}]`, at);
}

function writeDate(value: Date, at: Place): string {
  if (Number.isNaN(value.getTime())) throw refusal("an invalid Date", at.path);
  return tagged("date", `"${value.toISOString()}"`, at);
}

function tagged(type: string, text: string, at: Place): string {
  enter(at, 1);
  at.depth -= 1;
  return `{"${TAG}":"${type}","v":${text}}`;
}

function enter(at: Place, levels: number): void {
  at.depth += levels;
  if (at.depth > MAX_DEPTH) {
    throw new CursorError(
      `Cannot store a value that nests deeper than ${MAX_DEPTH} levels, at ${shown(at.path)}`,
      { path: shown(at.path) },
    );
  }
}

/** What to do about a value that JSON would change or drop. */
const PLAIN = "; store plain data, such as an id, and load the rest in the step";

function refusal(what: string, path: readonly (string | number)[], advice = ""): CursorError {
  const where = shown(path);
  return new CursorError(`Cannot store ${what}, at ${where}${advice}`, { path: where });
}

function shown(path: readonly (string | number)[]): string {
  let text = "$";
  for (const part of path.slice(1)) {
    if (typeof part === "number") text += `[${part}]`;
    else text += /^[A-Za-z_$][\w$]*$/.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`;
  }
  return text.length <= 500 ? text : `${text.slice(0, 500)}…`;
}

function read(value: unknown, path: (string | number)[]): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (path.length > MAX_DEPTH + 1) {
    throw unreadable(`it nests deeper than ${MAX_DEPTH} levels`, path);
  }
  if (Array.isArray(value)) return readList(value, path);
  if (Object.hasOwn(value, TAG)) return readTagged(value as Record<string, unknown>, path);
  for (const key of Object.keys(value)) {
    path.push(key);
    // JSON.parse made every key an own property, `__proto__` too, so this never meets a setter.
    (value as Record<string, unknown>)[key] = read((value as Record<string, unknown>)[key], path);
    path.pop();
  }
  return value;
}

function readList(values: unknown[], path: (string | number)[]): unknown[] {
  for (let i = 0; i < values.length; i++) {
    path.push(i);
    values[i] = read(values[i], path);
    path.pop();
  }
  return values;
}

function readTagged(value: Record<string, unknown>, path: (string | number)[]): unknown {
  const { [TAG]: type, v } = value;
  try {
    switch (type) {
      case "date":
        return readDate(v as string);
      case "bigint":
        return BigInt(v as string);
      case "number":
        return Number(v);
      case "string":
        return JSON.parse(v as string);
      case "bytes":
        return Uint8Array.from(atob(v as string), (char) => char.charCodeAt(0));
      case "map":
        return new Map(readList(v as unknown[], path) as [unknown, unknown][]);
      case "set":
        return new Set(readList(v as unknown[], path));
      case "object":
        // fromEntries defines, it does not assign: `__proto__` becomes a key like any other.
        return Object.fromEntries(readList(v as unknown[], path) as [string, unknown][]);
      case "sealed":
        throw new TypeError("it is encrypted; give the engine the encryptedCodec() that wrote it");
      default:
        return temporalFrom(type, v);
    }
  } catch (cause) {
    if (cause instanceof CursorError) throw cause;
    throw unreadable(`it is no ${JSON.stringify(type)}: ${toError(cause).message}`, path, cause);
  }
}

function readDate(text: string): Date {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) throw new RangeError(`Invalid date: ${text}`);
  return date;
}

function unreadable(why: string, path: readonly (string | number)[], cause?: unknown): CursorError {
  const where = shown(path);
  return new CursorError(`Cannot read the stored value at ${where}: ${why}`, {
    path: where,
    cause,
  });
}

function toBase64(bytes: Uint8Array): string {
  let binary = "";
  // In chunks, because the arguments of one call have a limit.
  for (let i = 0; i < bytes.length; i += 8192) {
    binary += String.fromCharCode(...bytes.subarray(i, i + 8192));
  }
  return btoa(binary);
}
