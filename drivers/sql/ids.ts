/**
 * Ids as text and as what is bound: the same rules for every database.
 *
 * A database gives out numbers from one on and a store makes UUIDs, but somebody may have given a
 * row an id by hand. Such a row must be found, claimed and paused like any other: an id that was
 * read and could not be written again would end every claim that meets it, in every worker.
 *
 * @module
 */

const INTEGER = /^(0|-?[1-9]\d{0,18})$/;
const MIN_INTEGER = -(2n ** 63n);
const MAX_INTEGER = 2n ** 63n - 1n;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** What fits a key of 36 characters in ASCII. */
const SHORT_TEXT = /^[\x20-\x7e]{1,36}$/;

/** The whole number of 64 bits that a text says, or null. */
export function integerId(id: string): number | bigint | null {
  if (!INTEGER.test(id)) return null;
  const value = Number(id);
  if (Number.isSafeInteger(value)) return value;
  const exact = BigInt(id);
  return exact >= MIN_INTEGER && exact <= MAX_INTEGER ? exact : null;
}

/** The UUID that a text says, as databases write it, or null. */
export function uuidId(id: string): string | null {
  return UUID.test(id) ? id.toLowerCase() : null;
}

/** The same where keys are columns of text: these may hold any. */
export function textId(id: string): string | null {
  return uuidId(id) ?? (SHORT_TEXT.test(id) ? id : null);
}
