/**
 * The keys of records: what a position in a key-set may be, and that each comes after the last.
 *
 * A key that is null, or that does not come after the one before, would make records vanish or come
 * again for ever; both are errors before the record reaches the callback. Numbers and dates are
 * compared; text is only compared for being the same, because its order is the database's own.
 *
 * @module
 */

import type { RecordKey } from "../define/context.ts";
import { CursorError } from "../errors.ts";
import { temporalType } from "../state/temporal.ts";

/** Checks that a key can be a position and comes after others (null: there is none), and gives it back. */
export function checkedKey(key: RecordKey, ...others: readonly (RecordKey | null)[]): RecordKey {
  const parts = partsOf(key);
  if (parts.length === 0) throw new CursorError("Cannot iterate: the key of a record is empty");
  parts.forEach((part, column) => checkPart(part, Array.isArray(key) ? column : null));
  for (const before of others) if (before !== null) checkAfter(parts, partsOf(before));
  return key;
}

/** The columns of a key: one value stands for one column. */
export function partsOf(key: RecordKey): readonly unknown[] {
  return Array.isArray(key) ? key : [key];
}

function checkPart(part: unknown, column: number | null): void {
  const what = column === null ? "the key" : `column ${column} of the key`;
  if (part === null || part === undefined) {
    throw new CursorError(
      `Cannot iterate: ${what} of a record is ${part}; order by columns that are never null`,
    );
  }
  if (typeof part === "number" && Number.isInteger(part) && !Number.isSafeInteger(part)) {
    throw new CursorError(
      `Cannot iterate: ${what} of a record is ${part}, which has lost digits; ` +
        `have the database client give large integers as bigint or text`,
    );
  }
}

function checkAfter(parts: readonly unknown[], before: readonly unknown[]): void {
  if (parts.length !== before.length) {
    throw new CursorError(
      `Cannot iterate: the key of a record has ${parts.length} columns, ` +
        `the cursor has ${before.length}`,
    );
  }
  for (let column = 0; column < parts.length; column++) {
    const order = compare(parts[column], before[column]);
    // Later columns only count where all columns before them are the same.
    if (order === null || order > 0) return;
    if (order < 0) break;
  }
  throw new CursorError(
    `Cannot iterate: a record does not come after those before it (${shown(parts)} after ` +
      `${shown(before)}); fetch must order by the key, take only records after it, and the key ` +
      `must be unique: add a column that tells equal ones apart`,
  );
}

/** Negative, zero or positive; null when the two differ and only the database knows their order. */
function compare(a: unknown, b: unknown): number | null {
  const [left, right] = [comparable(a), comparable(b)];
  if (left !== null && right !== null) return left < right ? -1 : left > right ? 1 : 0;
  if (a instanceof Uint8Array && b instanceof Uint8Array) {
    return a.length === b.length && a.every((byte, i) => byte === b[i]) ? 0 : null;
  }
  if (isTemporal(a) && isTemporal(b)) return String(a) === String(b) ? 0 : null;
  return a === b ? 0 : null;
}

function isTemporal(value: unknown): boolean {
  return typeof value === "object" && value !== null && temporalType(value) !== null;
}

function comparable(value: unknown): number | bigint | null {
  if (typeof value === "number" || typeof value === "bigint") return value;
  return value instanceof Date ? value.getTime() : null;
}

function shown(parts: readonly unknown[]): string {
  return parts.map((part) => part instanceof Date ? part.toISOString() : String(part)).join(", ");
}
