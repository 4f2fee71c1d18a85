/**
 * Reading the JSON columns: absent or malformed metadata is empty, never an error.
 *
 * @module
 */

/** The object in a metadata column; empty when there is none or it cannot be read. */
export function metadataOf(text: string | null): Record<string, unknown> {
  if (text === null) return {};
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? { ...value } : {};
  } catch {
    return {};
  }
}

/** The text of a metadata column with some keys written and all others kept. */
export function mergeMetadata(text: string | null, keys: Record<string, unknown>): string | null {
  // Most steps have no metadata and add none.
  if (text === null && isEmpty(keys)) return null;
  const merged = { ...metadataOf(text), ...keys };
  for (const key of Object.keys(merged)) if (merged[key] === undefined) delete merged[key];
  return Object.keys(merged).length === 0 ? null : JSON.stringify(merged);
}

function isEmpty(keys: Record<string, unknown>): boolean {
  for (const key in keys) if (keys[key] !== undefined) return false;
  return true;
}

/**
 * Whether two JSON texts say the same. A database may hand text back with other spaces and the keys
 * in another order (Postgres' `jsonb` does), so equal texts are only the quick answer.
 */
export function isSameJson(one: string | null, other: string | null): boolean {
  if (one === other) return true;
  if (one === null || other === null) return false;
  try {
    return canonical(JSON.parse(one)) === canonical(JSON.parse(other));
  } catch {
    // A codec may write something other than JSON; no database changes that.
    return false;
  }
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) => {
    if (!isObject(member)) return member;
    return Object.fromEntries(Object.keys(member).sort().map((key) => [key, member[key]]));
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
