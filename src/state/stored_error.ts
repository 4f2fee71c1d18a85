/**
 * Turning whatever was thrown into text that fits a row.
 *
 * Storing an error must never fail: messages may be megabytes, causes may be cyclic, getters may
 * throw, and a column of a database may refuse NUL characters.
 *
 * @module
 */

import { PawlError, ThrownValueError } from "../errors.ts";
import type { StoredError } from "./records.ts";

/** The longest message that is stored, in characters. */
export const MAX_MESSAGE = 4_000;
/** The longest stack that is stored, in characters, causes included. */
export const MAX_STACK = 12_000;
const MAX_CAUSES = 5;

/** What was thrown, as an Error: other values are wrapped and kept as the cause. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new ThrownValueError(thrown);
}

/** The error as it is stored: class, message and stack, cut to size; never throws. */
export function storedError(error: Error): StoredError {
  return {
    errorClass: cut(attempt(() => classOf(error), "Error"), 255),
    message: cut(attempt(() => String(error.message), ""), MAX_MESSAGE),
    stack: cut(attempt(() => stackOf(error), ""), MAX_STACK) || null,
  };
}

function classOf(error: Error): string {
  if (error instanceof PawlError) return error.name;
  const ownName = typeof error.name === "string" && error.name !== "Error" ? error.name : null;
  const constructed = error.constructor?.name;
  return constructed !== undefined && constructed !== "Error" && constructed !== ""
    ? constructed
    : ownName ?? "Error";
}

function stackOf(error: Error): string {
  const parts: string[] = [];
  const seen = new Set<unknown>();
  let link: unknown = error;
  while (link instanceof Error && !seen.has(link) && parts.length < MAX_CAUSES) {
    seen.add(link);
    const stack = String(link.stack ?? `${link.name}: ${link.message}`);
    parts.push((parts.length === 0 ? "" : "Caused by: ") + cut(stack, MAX_STACK));
    link = link.cause;
  }
  return parts.join("\n");
}

/** Cuts text, says how much is missing, and leaves nothing that a database would refuse. */
function cut(text: string, limit: number): string {
  const clean = text.slice(0, limit + 1).replaceAll("\0", "\uFFFD");
  if (text.length <= limit) return clean.toWellFormed();
  const note = `… (${text.length - limit} more characters)`;
  return clean.slice(0, limit - note.length).toWellFormed() + note;
}

function attempt(read: () => string, otherwise: string): string {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
