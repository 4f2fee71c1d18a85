/**
 * Turning whatever was thrown into text that fits a row.
 *
 * Storing an error must never fail: messages may be megabytes, causes may be cyclic, getters may
 * throw, and a column of a database may refuse NUL characters.
 *
 * @module
 */

import { PawlError, ThrownValueError } from "../errors.ts";
import { metadataOf } from "./metadata.ts";
import type { StoredError } from "./records.ts";

/** The longest message that is stored, in characters. */
export const MAX_MESSAGE = 4_000;
/** The longest stack that is stored, in characters, causes included. */
export const MAX_STACK = 12_000;
const MAX_CAUSES = 5;

/** What was thrown, as an Error: other values are wrapped and kept as the cause. */
export function toError(thrown: unknown): Error {
  return isError(thrown) ? thrown : new ThrownValueError(thrown);
}

/** Asking a revoked proxy for its prototype throws; such a value is no error that anybody can read. */
function isError(value: unknown): value is Error {
  try {
    return value instanceof Error;
  } catch {
    return false;
  }
}

/** The error as it is stored: class, message and stack, cut to size; never throws. */
export function storedError(error: Error): StoredError {
  return {
    errorClass: cut(attempt(() => classOf(error), "Error"), 255),
    message: cut(attempt(() => String(error.message), ""), MAX_MESSAGE),
    stack: cut(attempt(() => stackOf(error), ""), MAX_STACK) || null,
  };
}

/** The copy of an error that the metadata column gets: its stack by lines, for people. */
export function exceptionOf(error: StoredError): Record<string, unknown> {
  return {
    class: error.errorClass,
    message: error.message,
    stack: error.stack === null ? [] : error.stack.split("\n"),
  };
}

/** The error whose copy stands in a metadata column, or null. */
export function exceptionIn(metadata: string | null): StoredError | null {
  const copy = (metadataOf(metadata).exception ?? {}) as Record<string, unknown>;
  if (typeof copy.class !== "string") return null;
  const lines = Array.isArray(copy.stack) ? copy.stack : [];
  return {
    errorClass: copy.class,
    message: String(copy.message ?? ""),
    stack: lines.join("\n") || null,
  };
}

/** The constructor's name says more than `name`, which many subclasses leave at "Error". */
function classOf(error: Error): string {
  if (error instanceof PawlError) return error.name;
  const constructed: unknown = error.constructor?.name;
  if (isTelling(constructed)) return constructed;
  return isTelling(error.name) ? error.name : "Error";
}

function isTelling(name: unknown): name is string {
  return typeof name === "string" && name !== "" && name !== "Error";
}

function stackOf(error: Error): string {
  const parts: string[] = [];
  const seen = new Set<unknown>();
  let link: unknown = error;
  while (isError(link) && !seen.has(link) && parts.length < MAX_CAUSES) {
    seen.add(link);
    const stack = String(link.stack ?? `${link.name}: ${link.message}`);
    parts.push((parts.length === 0 ? "" : "Caused by: ") + cut(stack, MAX_STACK));
    link = attempt(() => (link as Error).cause, undefined);
  }
  return parts.join("\n");
}

/** A text for people, such as a message: cut to size, and without what a database would refuse. */
export function messageText(text: string): string {
  return cut(text, MAX_MESSAGE);
}

/** Cuts text, says how much is missing, and leaves nothing that a database would refuse. */
function cut(text: string, limit: number): string {
  const clean = text.slice(0, limit).replaceAll("\0", "\uFFFD");
  if (text.length <= limit) return clean.toWellFormed();
  const note = `… (${text.length - limit} more characters)`;
  return clean.slice(0, limit - note.length).toWellFormed() + note;
}

function attempt<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
