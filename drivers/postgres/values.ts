/**
 * How values travel to PostgreSQL and back: everything as text.
 *
 * @module
 */

import { instantOf, type KeyType, type ValueCodec } from "../sql/dialect.ts";
import { integerId, uuidId } from "../sql/ids.ts";

/** The codec for a type of key. */
export function valuesFor(keyType: KeyType): ValueCodec {
  return keyType === "uuid" ? { ...VALUES, ...UUID_KEYS } : VALUES;
}

const VALUES: ValueCodec = {
  idIn: (id) => integerId(id) === null ? null : id,
  idOut: (value) => String(value),
  timeIn: timeWriter(),
  timeOut: (value) => instantOf(Math.round(Number(value) * 1_000)),
  booleanIn: (value) => value,
  booleanOut: (value) => value === "t",
  jsonIn: wrapped,
  jsonOut: unwrapped,
};

const UUID_KEYS: Pick<ValueCodec, "idIn"> = {
  idIn: uuidId,
};

/** Most times of a batch are the same few instants, and writing one takes longer than comparing. */
function timeWriter(): (time: Date) => string {
  let last = { ms: NaN, text: "" };
  let other = last;
  return (time) => {
    const ms = time.getTime();
    if (ms === last.ms) return last.text;
    [last, other] = ms === other.ms ? [other, last] : [{ ms, text: timeText(time) }, last];
    return last.text;
  };
}

/** ISO 8601, save that the server wants no sign before years of more than four digits. */
function timeText(time: Date): string {
  const text = time.toISOString();
  const year = time.getUTCFullYear();
  if (year > 0) return text.startsWith("+") ? text.slice(1) : text;
  // Year 0 of ISO 8601 is 1 BC.
  const rest = text.slice(text.indexOf("-", 1));
  return `${String(1 - year).padStart(4, "0")}${rest} BC`;
}

/** What stands before JSON text that jsonb cannot hold as what it is. */
const WRAPPED = "pawl json: ";

/** What needs no second look: most cursors are whole numbers. */
const PLAIN_JSON = /^-?\d{1,15}$/;

/**
 * JSON that names NUL or half a character is refused by jsonb, and so is what a codec of the
 * application writes that is not JSON at all: such a text is stored as a string that holds it, and
 * comes back as it was. The default codec never writes such a thing.
 */
export function wrapped(text: string): string {
  if (PLAIN_JSON.test(text)) return text;
  const odd = /\\u(0000|d[89a-f])/i.test(text) || text.startsWith(`"${WRAPPED}`) || !isJson(text);
  return odd ? JSON.stringify(WRAPPED + text) : text;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The blanks that jsonb puts after separators are taken out again; strings are passed over. */
function unwrapped(value: unknown): string {
  const text = String(value);
  if (text.startsWith(`"${WRAPPED}`)) return String(JSON.parse(text)).slice(WRAPPED.length);
  return text.replaceAll(/("(?:[^"\\]|\\.)*")|([,:]) /g, (_, string, mark) => string ?? mark);
}
