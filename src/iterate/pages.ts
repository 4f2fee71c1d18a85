/**
 * Pairs that come page by page: pulled one by one, awaited once per page.
 *
 * @module
 */

import type { Pair, Pairs } from "./drive.ts";

/** Loads the next page of pairs; null at the end. A page may be empty without being the last. */
export type LoadPage<Item> = () => Promise<readonly Pair<Item>[] | null>;

type Result<Item> = IteratorResult<Pair<Item>, undefined>;

/** Makes pairs of pages; `close` is called when the iteration ends before the pages do. */
export function pagedPairs<Item>(load: LoadPage<Item>, close?: () => unknown): Pairs<Item> {
  let page: readonly Pair<Item>[] = [];
  let at = 0;

  async function turn(): Promise<Result<Item>> {
    do {
      const loaded = await load();
      if (loaded === null) return { done: true, value: undefined };
      page = loaded;
      at = 0;
    } while (page.length === 0);
    return { done: false, value: page[at++] as Pair<Item> };
  }

  return {
    next(): Result<Item> | Promise<Result<Item>> {
      if (at < page.length) return { done: false, value: page[at++] as Pair<Item> };
      return turn();
    },
    return: () => close?.(),
  };
}
