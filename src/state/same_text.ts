/**
 * Comparing stored texts by what they say: whether a cursor has moved must not depend on how a
 * database or a codec writes it.
 *
 * @module
 */

import type { Codec } from "./codec.ts";
import { isSameJson } from "./metadata.ts";

/** Whether two stored texts, or none, say the same. */
export type SameText = (one: string | null, other: string | null) => boolean;

/** How texts of a codec are compared; one that cannot be read is the same only as itself. */
export function sameTextOf(codec: Codec): SameText {
  if (codec.isSame === undefined) return isSameJson;
  return (one, other) => {
    if (one === other) return true;
    if (one === null || other === null) return false;
    try {
      return codec.isSame?.(one, other) ?? false;
    } catch {
      return false;
    }
  };
}
