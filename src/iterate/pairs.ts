/**
 * Sources that a user writes: pairs of an item and the cursor to keep once it is done.
 *
 * @module
 */

import type { PairSource } from "../define/context.ts";
import { InvalidInputError } from "../errors.ts";
import { isAsyncIterable, isIterable, kindOf } from "./array.ts";
import type { Pair } from "./drive.ts";

/** Pairs that were checked one by one. */
export type PairIterator<Item> =
  | Generator<Pair<Item>, void, undefined>
  | AsyncGenerator<Pair<Item>, void, undefined>;

/** The pairs of what a user's function made; null when it made nothing. */
export function openPairs<Item>(made: PairSource<Item>): PairIterator<Item> | null {
  if (made === null || made === undefined) return null;
  if (isAsyncIterable<Pair<Item>>(made)) return checkedAsync(made);
  if (isIterable<Pair<Item>>(made)) return checkedSync(made);
  throw new InvalidInputError(
    `Cannot iterate: the source made ${kindOf(made)}; ` +
      `it must make an iterable of [item, cursor] pairs, such as a generator does`,
  );
}

function* checkedSync<Item>(pairs: Iterable<Pair<Item>>): Generator<Pair<Item>, void, undefined> {
  for (const pair of pairs) yield checked(pair);
}

async function* checkedAsync<Item>(
  pairs: AsyncIterable<Pair<Item>>,
): AsyncGenerator<Pair<Item>, void, undefined> {
  for await (const pair of pairs) yield checked(pair);
}

function checked<Item>(pair: Pair<Item>): Pair<Item> {
  if (Array.isArray(pair) && pair.length === 2) return pair;
  throw new InvalidInputError(
    `Cannot iterate: the source yielded ${kindOf(pair)} instead of an [item, cursor] pair; ` +
      `to iterate over plain items use iter.over()`,
  );
}
