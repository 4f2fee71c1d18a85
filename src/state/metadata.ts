/**
 * Reading the metadata columns: absent or malformed text is empty, never an error.
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
  const merged = { ...metadataOf(text), ...keys };
  for (const key of Object.keys(merged)) if (merged[key] === undefined) delete merged[key];
  return Object.keys(merged).length === 0 ? null : JSON.stringify(merged);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
