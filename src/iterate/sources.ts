/**
 * The sources of `iter`: each turns what the user gave into pairs, and the one loop drives them.
 *
 * @module
 */

import type {
  BatchOptions,
  CsvOptions,
  CsvSource,
  Iter,
  IterationOptions,
} from "../define/context.ts";
import { openArray } from "./array.ts";
import { openCsv } from "./csv.ts";
import { drive, type Iteration, type Plan } from "./drive.ts";
import { openNested } from "./nested.ts";
import { callable } from "./options.ts";
import { openPairs } from "./pairs.ts";
import { openBatches, openRecords, recordsOf } from "./records.ts";
import { createThrottle } from "./throttle.ts";

/** The methods of `iter` that iterate. */
export type Sources = Pick<
  Iter,
  "over" | "overRecords" | "overBatches" | "overPairs" | "overNested" | "overCsv" | "throttle"
>;

// deno-lint-ignore no-explicit-any -- the overloads of `Iter` say what the callbacks are given
type Callback = (...args: any[]) => unknown;

type AnyRecords = Parameters<typeof recordsOf>[0];

/** Makes the sources of one execution. */
export function createSources(iteration: Iteration): Sources {
  async function iterate<Item>(fn: Callback, plan: Plan<Item>): Promise<void> {
    callable(fn, "the callback");
    await drive(iteration, plan);
  }

  return {
    over: (source, fn: Callback, options) =>
      iterate(fn, {
        source: "over",
        options,
        open: (cursor) => openArray(source, cursor),
        call: (item, next) => fn(item, (next as number) - 1),
      }),
    overRecords: (source: AnyRecords, fn: Callback, options?: IterationOptions) =>
      iterate(fn, {
        source: "overRecords",
        options,
        open: (cursor) => openRecords(recordsOf(source), cursor),
        call: (record) => fn(record),
      }),
    overBatches: (source: AnyRecords, options: BatchOptions, fn: Callback) =>
      iterate(fn, {
        source: "overBatches",
        options,
        open: (cursor) => openBatches(recordsOf(source), cursor, options?.batchSize),
        call: (batch) => fn(batch),
      }),
    overPairs: (source, fn: Callback, options) =>
      iterate(fn, {
        source: "overPairs",
        options,
        open: async (cursor) => openPairs(await callable(source, "the source")(cursor)),
        call: (item) => fn(item),
      }),
    overNested: (sources, fn: Callback, options) =>
      iterate(fn, {
        source: "overNested",
        options,
        open: (cursor) => openNested(sources, cursor),
        call: (items) => fn(...items),
      }),
    overCsv: (source: CsvSource, fn: Callback, options: CsvOptions = {}) =>
      iterate(fn, {
        source: "overCsv",
        options,
        open: (cursor) => openCsv(source, options, cursor),
        call: (rows, next) => fn(rows, (next as number) - 1),
      }),
    throttle(predicate, options): void {
      iteration.throttles.push(createThrottle(predicate, options));
    },
  };
}
