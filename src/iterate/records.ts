/**
 * Records in the order of a key, fetched page by page, each page strictly after the last key.
 *
 * Only an empty page is the end: a page may be short because the application filtered it, and
 * records may have been added behind it meanwhile.
 *
 * @module
 */

import type { RecordKey, RecordSource, TableRow, TableSource } from "../define/context.ts";
import { InvalidInputError } from "../errors.ts";
import { kindOf } from "./array.ts";
import type { Pair, Pairs } from "./drive.ts";
import { checkedKey } from "./keys.ts";
import { callable, positiveInteger } from "./options.ts";
import { pagedPairs } from "./pages.ts";
import { tableRecords } from "./table.ts";

const DEFAULT_PAGE_SIZE = 1000;

/** Makes pairs of a record and its key. */
export function openRecords<Item>(source: RecordSource<Item>, cursor: unknown): Pairs<Item> {
  const limit = positiveInteger(source.pageSize ?? DEFAULT_PAGE_SIZE, "pageSize");
  return pagedPairs(keySet(source, cursor, limit));
}

/** Makes pairs of a batch and the key of its last record, taken before anybody works on it. */
export function openBatches<Item>(
  source: RecordSource<Item>,
  cursor: unknown,
  batchSize: number,
): Pairs<readonly Item[]> {
  const load = keySet(source, cursor, positiveInteger(batchSize, "batchSize"));
  return pagedPairs(async () => {
    const page = await load();
    if (page === null) return null;
    const [, key] = page[page.length - 1] as Pair<Item>;
    return [[page.map(([record]) => record), key]];
  });
}

/** The records of either kind of source. */
export function recordsOf<Item>(source: RecordSource<Item> | TableSource): RecordSource<Item> {
  if (typeof source !== "object" || source === null) {
    throw new InvalidInputError(
      `Cannot iterate over ${kindOf(source)}: give { fetch, cursor } or { table, dialect, query }`,
    );
  }
  // A table's rows are what its overload promises.
  if ("table" in source) {
    return tableRecords(source) as RecordSource<TableRow> as RecordSource<Item>;
  }
  callable(source.fetch, "fetch");
  callable(source.cursor, "cursor");
  return source;
}

/** Loads one page after the other; the keys of a page are checked before its first record is used. */
function keySet<Item>(
  source: RecordSource<Item>,
  cursor: unknown,
  limit: number,
): () => Promise<readonly Pair<Item>[] | null> {
  let after: RecordKey | null = cursor ?? null;
  return async () => {
    const fetched: unknown = await source.fetch({ after, limit });
    if (!Array.isArray(fetched)) {
      throw new InvalidInputError(
        `Cannot iterate: fetch must give an array, not ${kindOf(fetched)}`,
      );
    }
    if (fetched.length === 0) return null;
    const page: Pair<Item>[] = [];
    const start = after;
    // What a fetch gives beyond the limit is fetched again, after the key of the last one taken.
    for (const record of (fetched as readonly Item[]).slice(0, limit)) {
      // The page's start is asked too: of text only that betrays a page that comes again.
      after = checkedKey(source.cursor(record), after, start);
      page.push([record, after]);
    }
    return page;
  };
}
