/**
 * Arrays and whatever else can be iterated again from its start; the cursor is the next index.
 *
 * @module
 */

import type { ItemSource } from "../define/context.ts";
import { CursorError, InvalidInputError } from "../errors.ts";
import type { Pair, Pairs } from "./drive.ts";

/** Makes pairs of an item and the index that follows it, from the cursor's index on. */
export async function openArray<Item>(
  source: ItemSource<Item>,
  cursor: unknown,
): Promise<Pairs<Item> | null> {
  const from = indexFrom(cursor, "over");
  const items = typeof source === "function" ? await source() : replayable(source);
  if (items === null || items === undefined) return null;
  if (Array.isArray(items)) return arrayPairs<Item>(items, from);
  if (isAsyncIterable<Item>(items)) return asyncPairs(items, from);
  if (isIterable<Item>(items)) return syncPairs(items, from);
  throw new InvalidInputError(
    `Cannot iterate: the factory made ${kindOf(items)}; it must make an iterable`,
  );
}

/** The index that a cursor stands for: the start for null. */
export function indexFrom(cursor: unknown, source: string): number {
  if (cursor === null || cursor === undefined) return 0;
  if (Number.isSafeInteger(cursor) && (cursor as number) >= 0) return cursor as number;
  throw new CursorError(
    `Cannot continue iter.${source}(): the cursor is ${kindOf(cursor)}, ` +
      `an index is wanted; it was made by something else`,
  );
}

/** Whether `for await` would take it for asynchronous. */
export function isAsyncIterable<Item>(value: unknown): value is AsyncIterable<Item> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** Whether it can be iterated at all; text is not meant when items are. */
export function isIterable<Item>(value: unknown): value is Iterable<Item> {
  return typeof value === "object" && value !== null && Symbol.iterator in value;
}

/** What a value is, for a message. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value !== "object") return `a ${typeof value}`;
  // A generator's constructor has no name, but a generator says what it is.
  const name = value.constructor?.name || Object.prototype.toString.call(value).slice(8, -1);
  return Array.isArray(value) ? "an array" : `an object (${name})`;
}

/** Refuses what would be used up after one execution, and what cannot be iterated at all. */
function replayable<Item>(source: Iterable<Item>): Iterable<Item> {
  if (Array.isArray(source)) return source;
  const hint = "give an array, or a function that makes the items again each time";
  if (isAsyncIterable(source) || (isIterable(source) && "next" in source)) {
    throw new InvalidInputError(
      `Cannot iterate over ${kindOf(source)}: it can be iterated only once; ${hint}`,
    );
  }
  if (isIterable<Item>(source)) return source;
  throw new InvalidInputError(`Cannot iterate over ${kindOf(source)}: ${hint}`);
}

function arrayPairs<Item>(items: readonly Item[], from: number): Pairs<Item> {
  let index = from;
  // One pair serves all items: the loop takes it apart before it asks for the next.
  const pair: [Item, number] = [undefined as Item, from];
  const result = { done: false as const, value: pair };
  return {
    isExhausted: () => index >= items.length,
    next(): IteratorResult<Pair<Item>, undefined> {
      if (index >= items.length) return { done: true, value: undefined };
      pair[0] = items[index++] as Item;
      pair[1] = index;
      return result;
    },
  };
}

function* syncPairs<Item>(
  items: Iterable<Item>,
  from: number,
): Generator<Pair<Item>, void, undefined> {
  let index = 0;
  for (const item of items) {
    if (++index > from) yield [item, index];
  }
}

async function* asyncPairs<Item>(
  items: AsyncIterable<Item>,
  from: number,
): AsyncGenerator<Pair<Item>, void, undefined> {
  let index = 0;
  for await (const item of items) {
    if (++index > from) yield [item, index];
  }
}
