/**
 * Checking what callers give before it comes near a store: whatever some database would refuse or
 * change is refused here, with the same words on every database, and nothing is half-written.
 *
 * @module
 */

import { show } from "../define/options.ts";
import { InvalidInputError } from "../errors.ts";
import { isPortable } from "../state/codec.ts";
import { storedError, toError } from "../state/stored_error.ts";
import type { Core } from "./core.ts";

/** Names and keys are stored in indexed columns of this width. */
const MAX_TEXT = 255;

/** The years that every database has, less the thousand that the longest wait may add. */
const EARLIEST = Date.parse("1000-01-01T00:00:00.000Z");
const LATEST = Date.parse("8999-12-31T23:59:59.999Z");

/** Whether a row can hold this text in a column of names and keys. */
export function isStorableText(text: string): boolean {
  return text.length <= MAX_TEXT && isPortable(text);
}

/** A text for a column of names and keys. */
export function storableText(value: unknown, what: string): string {
  if (typeof value !== "string" || value === "") {
    throw new InvalidInputError(`Cannot use ${show(value)} as ${what}: it must be a text`);
  }
  if (value.length > MAX_TEXT) {
    throw new InvalidInputError(
      `Cannot use ${show(value)} as ${what}: it has more than ${MAX_TEXT} characters`,
    );
  }
  if (!isPortable(value)) {
    throw new InvalidInputError(
      `Cannot use ${show(value)} as ${what}: it contains NUL or half a character, ` +
        `and databases refuse both`,
    );
  }
  return value;
}

/** An instant that every database can hold. */
export function storableTime(value: Date | number, what: string): Date {
  const date = typeof value === "number" ? new Date(value) : value;
  const ms = date instanceof Date ? date.getTime() : NaN;
  if (ms >= EARLIEST && ms <= LATEST) return date;
  const got = Number.isNaN(ms) ? show(value) : date.toISOString();
  throw new InvalidInputError(
    `${what} must be a valid Date or epoch milliseconds, from the year 1000 to 8999: got ${got}`,
  );
}

/** Writes what a caller gave; what could not come back is the caller's mistake. */
export function encoded(core: Pick<Core, "codec">, value: unknown, what: string): string {
  try {
    return core.codec.encode(value);
  } catch (cause) {
    const { message } = storedError(toError(cause));
    throw new InvalidInputError(`Cannot store ${what}: ${message}`, { cause });
  }
}
