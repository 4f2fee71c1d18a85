/**
 * Sources within sources. The cursor has one entry per level: for the outer levels that of the last
 * item that is wholly done, null until there is one; for the innermost that of the last item.
 *
 * @module
 */

import type { PairSource } from "../define/context.ts";
import { CursorError, InvalidInputError } from "../errors.ts";
import { kindOf } from "./array.ts";
import type { Pair, Pairs } from "./drive.ts";
import { openPairs } from "./pairs.ts";

/** Makes the pairs of one level from the items of the levels above it and its cursor. */
export type Level = (
  ...itemsAndCursor: unknown[]
) => PairSource<unknown> | Promise<PairSource<unknown>>;

/** The innermost item first, then those above it from the outermost on. */
export type NestedItem = readonly unknown[];

/** Makes the pairs of all levels together. */
export function openNested(levels: readonly Level[], cursor: unknown): Pairs<NestedItem> {
  if (!Array.isArray(levels) || levels.length === 0) {
    throw new InvalidInputError("Cannot iterate: overNested wants an array of functions");
  }
  levels.forEach((level, index) => {
    if (typeof level === "function") return;
    throw new InvalidInputError(
      `Cannot iterate: level ${index} of overNested is ${kindOf(level)}, it must be a function`,
    );
  });
  return walkLevel(levels, [], positionsFrom(cursor, levels.length));
}

function positionsFrom(cursor: unknown, levels: number): readonly unknown[] {
  if (cursor === null || cursor === undefined) return new Array(levels).fill(null);
  if (Array.isArray(cursor) && cursor.length === levels) return cursor;
  const found = Array.isArray(cursor) ? `has ${cursor.length} levels` : `is ${kindOf(cursor)}`;
  throw new CursorError(
    `Cannot continue iter.overNested(): the cursor ${found}, the source has ${levels}`,
  );
}

/** Walks one level; `start` holds the position of every level at the first item of this one. */
async function* walkLevel(
  levels: readonly Level[],
  outers: readonly unknown[],
  start: readonly unknown[],
): AsyncGenerator<Pair<NestedItem>, void, undefined> {
  const depth = outers.length;
  const made = openPairs(await (levels[depth] as Level)(...outers, start[depth]));
  let positions = start;
  for await (const [item, cursor] of made ?? []) {
    const done = positions.with(depth, cursor);
    if (depth === levels.length - 1) yield [[item, ...outers], done];
    else yield* walkLevel(levels, [...outers, item], positions);
    // The next item of this level begins with its inner levels at their start.
    positions = done.fill(null, depth + 1);
  }
}
