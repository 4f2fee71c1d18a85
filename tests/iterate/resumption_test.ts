// deno-lint-ignore-file explicit-function-return-type -- typed by what they are passed to
import assert from "node:assert/strict";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import fc from "fast-check";
import type { Iter, IterationOptions } from "../../src/define/context.ts";
import { type Chain, execute, newChain, range, runChain } from "./_harness.ts";

type Seen = (item: unknown) => unknown;
type Walk = (iter: Iter, seen: Seen, options: IterationOptions) => Promise<void>;

/** A way to iterate over `size` items, for every kind of source. */
function walks(size: number, database: DatabaseSync): Record<string, Walk> {
  const items = range(size);
  const fetch = ({ after, limit }: { after: unknown; limit: number }): number[] =>
    items.filter((item) => item > (after as number | null ?? -1)).slice(0, limit);
  const records = { fetch, cursor: (item: number) => item, pageSize: 3 };
  const from = (cursor: unknown): number => cursor === null ? 0 : cursor as number + 1;
  const csv = `n,t\r\n${items.map((n) => `${n},"a\r\n""b"`).join("\r\n")}`;
  const table = {
    ...{ table: "points", dialect: "sqlite" as const, cursor: ["x", "y"], pageSize: 4 },
    where: { sql: "n < ?", params: [size] },
    query: (sql: string, params: readonly unknown[]) =>
      database.prepare(sql).all(...params as SQLInputValue[]),
  };
  return {
    array: (iter, seen, options) => iter.over(items, seen, options),
    generator: (iter, seen, options) =>
      iter.over(
        function* () {
          yield* items;
        },
        seen,
        options,
      ),
    asyncGenerator: (iter, seen, options) =>
      iter.over(
        async function* () {
          yield* items;
        },
        seen,
        options,
      ),
    records: (iter, seen, options) => iter.overRecords(records, seen, options),
    table: (iter, seen, options) => iter.overRecords(table, ({ n }) => seen(n), options),
    batches: (iter, seen, options) =>
      iter.overBatches(records, { ...options, batchSize: 3 }, (batch) => seen(batch)),
    pairs: (iter, seen, options) =>
      iter.overPairs(
        function* (cursor) {
          for (let i = from(cursor); i < size; i++) yield [`item ${i}`, i];
        },
        seen,
        options,
      ),
    asyncPairs: (iter, seen, options) =>
      iter.overPairs(
        async function* (cursor) {
          const at = cursor === null ? 0 : (cursor as { at: bigint }).at;
          for (let i = Number(at); i < size; i++) yield [i, { at: BigInt(i + 1) }];
        },
        seen,
        options,
      ),
    nested: (iter, seen, options) =>
      iter.overNested([
        function* (cursor: unknown) {
          for (let i = from(cursor); i < 4; i++) yield [i, i] as const;
        },
        async function* (outer: number, cursor: unknown) {
          for (let i = from(cursor); i < size && i < outer * 2; i++) yield [`i${i}`, i] as const;
        },
      ], (inner, outer) =>
        seen(`${outer}.${inner}`), options),
    csv: (iter, seen, options) => iter.overCsv(csv, (row) => seen(row), options),
    csvBatches: (iter, seen, options) =>
      iter.overCsv(csv, (rows) => seen(rows), { ...options, batchSize: 3 }),
  };
}

function points(): DatabaseSync {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE points (n INTEGER, x INTEGER NOT NULL, y TEXT NOT NULL)");
  const insert = database.prepare("INSERT INTO points VALUES (?, ?, ?)");
  for (const n of range(40)) insert.run(n, n * 13 % 4, `p${n % 10}${n}`);
  return database;
}

Deno.test("JIT-13 RES-23 RES-44 interrupted after every item, each source gives the same items as uninterrupted", async () => {
  using database = points();
  for (const size of [0, 1, 2, 3, 9, 10]) {
    for (const [name, walk] of Object.entries(walks(size, database))) {
      const whole: unknown[] = [];
      await runChain(({ iter }) => walk(iter, (item) => void whole.push(item), {}));
      const pieces: unknown[] = [];
      await runChain(({ iter }) => walk(iter, (item) => void pieces.push(item), {}), {
        maxIterations: 1,
      });
      assert.deepEqual(pieces, whole, `${name} of ${size}`);
    }
  }
});

Deno.test("RES-62 whatever interrupts, fails or throttles wherever: every item is done once, in order", async () => {
  using database = points();
  const names = Object.keys(walks(1, database));
  const trouble = fc.constantFrom("none", "none", "none", "stop", "fail", "suspend", "throttle");
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...names),
      fc.integer({ min: 0, max: 15 }),
      fc.array(trouble, { maxLength: 40 }),
      fc.option(fc.record({ items: fc.integer({ min: 1, max: 5 }) }), { nil: undefined }),
      async (name, size, troubles, checkpointEvery) => {
        const walk = walks(size, database)[name] as Walk;
        const options = checkpointEvery === undefined ? {} : { checkpointEvery };
        const whole: unknown[] = [];
        await runChain(({ iter }) => walk(iter, (item) => void whole.push(item), {}));
        const pieces = await throughTrouble(walk, options, [...troubles]);
        assert.deepEqual(pieces, whole);
      },
    ),
    { numRuns: 600 },
  );
});

/** Runs a chain whose items meet one trouble after the other, and gives the items that were done. */
async function throughTrouble(
  walk: Walk,
  options: IterationOptions,
  troubles: string[],
): Promise<unknown[]> {
  const done: unknown[] = [];
  const chain: Chain = newChain();
  const meets = (trouble: string): boolean => troubles[0] === trouble && !!troubles.shift();
  for (let execution = 0; execution < 200; execution++) {
    const completed = await execute(chain, ({ iter, suspend }) => {
      iter.throttle(() => meets("throttle"), { backoff: 10 });
      return walk(iter, async (item) => {
        if (meets("fail")) throw new Error("trouble");
        if (meets("suspend")) suspend();
        await Promise.resolve();
        done.push(item);
      }, options);
    }, { shouldStop: () => meets("stop") ? "shutdown" : (meets("none"), null) })
      .catch((error) => error.message === "trouble" ? false : Promise.reject(error));
    if (completed) return done;
  }
  throw new Error("no end");
}
