// deno-lint-ignore-file explicit-function-return-type -- typed by what they are passed to
import assert from "node:assert/strict";
import type { RecordSource } from "../../src/define/context.ts";
import { CursorError, InvalidInputError } from "../../src/errors.ts";
import { execute, newChain, range, runChain, storedCursors } from "./_harness.ts";

Deno.test("RES-01 RES-43 an array is processed in order; the cursor is the next index", async () => {
  const done: [string, number][] = [];
  const chain = await runChain(({ iter }) =>
    iter.over(["a", "b", "c", "d", "e"], (item, index) => done.push([item, index]))
  );
  assert.deepEqual(done, [["a", 0], ["b", 1], ["c", 2], ["d", 3], ["e", 4]]);
  assert.deepEqual(storedCursors(chain), ["1", "2", "3", "4", "5"]);
});

Deno.test("RES-44 a resumed array does not see the items before the cursor", async () => {
  const done: string[] = [];
  const calls: number[] = [];
  await runChain(({ iter }) =>
    iter.over(["a", "b", "c"], (item, index) => {
      done.push(item);
      calls.push(index);
    }), { cursor: "2" });
  assert.deepEqual([done, calls], [["c"], [2]]);
});

Deno.test("RES-45 an empty array completes without a call", async () => {
  const chain = await runChain(({ iter }) => iter.over([], () => assert.fail("called")));
  assert.equal(chain.saves.length, 0);
});

Deno.test("RES-46 JIT-22 what cannot be iterated is an argument error", async () => {
  for (const source of [null, undefined, 5, "abc", {}, { next() {} }, () => 5, () => "abc"]) {
    await assert.rejects(
      runChain(({ iter }) => iter.over(source as never, () => {})),
      InvalidInputError,
      String(source),
    );
  }
});

Deno.test("U25 an iterator that can be used only once is refused", async () => {
  const generator = (function* (): Generator<number> {
    yield 1;
  })();
  const asyncGenerator = (async function* (): AsyncGenerator<number> {
    yield 1;
  })();
  for (const source of [generator, asyncGenerator, [1].values(), new Map().entries()]) {
    await assert.rejects(
      runChain(({ iter }) => iter.over(source as never, () => {})),
      /only once/,
    );
  }
});

Deno.test("D51 JIT-21 sets, maps and functions that make items again are iterated by index", async () => {
  const done: unknown[] = [];
  const take = (item: unknown): void => void done.push(item);
  const limits = { maxIterations: 1 };
  await runChain(({ iter }) => iter.over(new Set(["a", "b"]), take), limits);
  await runChain(({ iter }) => iter.over(new Map([["k", 1]]), take), limits);
  await runChain(({ iter }) => iter.over(() => range(2), take), limits);
  await runChain(({ iter }) =>
    iter.over(function* () {
      yield* ["x", "y"];
    }, take), limits);
  await runChain(({ iter }) =>
    iter.over(async function* () {
      yield* ["v", "w"];
    }, take), limits);
  await runChain(({ iter }) => iter.over(() => Promise.resolve(["p"]), take), limits);
  await runChain(({ iter }) => iter.over(() => null, take), limits);
  assert.deepEqual(done, ["a", "b", ["k", 1], 0, 1, "x", "y", "v", "w", "p"]);
});

Deno.test("RES-47 a cursor beyond a shorter array is the end; one of another kind is an error", async () => {
  await runChain(({ iter }) => iter.over([1], () => assert.fail("called")), { cursor: "9" });
  for (const cursor of ['"a"', "-1", "1.5", "[1]"]) {
    await assert.rejects(runChain(({ iter }) => iter.over([1], () => {}), { cursor }), CursorError);
  }
});

interface User {
  id: number;
  name: string;
}

/** Records in memory, with a note of every fetch. */
function users(ids: number[]): RecordSource<User> & { fetches: unknown[]; ids: number[] } {
  const source = {
    ids,
    fetches: [] as unknown[],
    fetch({ after, limit }: { after: unknown; limit: number }): User[] {
      source.fetches.push({ after, limit });
      return source.ids.filter((id) => after === null || id > (after as number))
        .slice(0, limit).map((id) => ({ id, name: `u${id}` }));
    },
    cursor: (user: User) => user.id,
  };
  return source;
}

Deno.test("RES-48 records come after the cursor, in the order of the key, which is the cursor", async () => {
  const source = { ...users([1, 3, 5, 7, 9]), pageSize: 2 };
  const done: string[] = [];
  const chain = await runChain(({ iter }) =>
    iter.overRecords(source, (user) => void done.push(user.name))
  );
  assert.deepEqual(done, ["u1", "u3", "u5", "u7", "u9"]);
  assert.deepEqual(storedCursors(chain), ["1", "3", "5", "7", "9"]);
  assert.deepEqual(source.fetches, [null, 3, 7, 9].map((after) => ({ after, limit: 2 })));
});

Deno.test("RES-49 an empty source of records completes", async () => {
  await runChain(({ iter }) => iter.overRecords(users([]), () => assert.fail("called")));
});

Deno.test("RES-51 RES-54 a deleted record at the cursor, and new ones on both sides of it", async () => {
  const source = users([1, 2, 3, 4]);
  const done: number[] = [];
  const chain = newChain();
  for (const ids of [[1, 2, 3, 4], [0, 1, 1.5, 3, 3.5, 4]]) {
    source.ids = ids;
    await execute(
      chain,
      ({ iter }) => iter.overRecords(source, (user) => void done.push(user.id)),
      { maxIterations: done.length === 0 ? 2 : null },
    );
  }
  assert.deepEqual(done, [1, 2, 3, 3.5, 4]);
});

Deno.test("JIT-24 JIT-25 composite keys are array cursors, ties are broken by later columns", async () => {
  const rows = [[1, "a"], [1, "b"], [2, "a"], [2, "c"]] as const;
  const done: unknown[] = [];
  const afters: unknown[] = [];
  const chain = await runChain(({ iter }) =>
    iter.overRecords({
      fetch({ after, limit }) {
        afters.push(after);
        const [x, y] = (after ?? [0, ""]) as [number, string];
        return rows.filter(([a, b]) => a > x || (a === x && b > y)).slice(0, limit);
      },
      cursor: (row) => [...row],
      pageSize: 1,
    }, (row) => void done.push(row)), { maxIterations: 1 });
  assert.deepEqual(done, rows);
  assert.equal(chain.cursor, '[2,"c"]');
  assert.deepEqual(afters, [null, [1, "a"], [1, "b"], [2, "a"], [2, "c"]]);
});

Deno.test("JIT-27 U26 a null in a key is refused before the first item of its page", async () => {
  for (const key of [null, undefined, [1, null], [undefined], []]) {
    const source = { fetch: () => [{ key: 1 }, { key }], cursor: (r: { key: unknown }) => r.key };
    await assert.rejects(
      runChain(({ iter }) => iter.overRecords(source, () => assert.fail("called"))),
      CursorError,
    );
  }
});

Deno.test("a key that lost digits is refused", async () => {
  const source = { fetch: () => [2 ** 60], cursor: (id: number) => id };
  await assert.rejects(runChain(({ iter }) => iter.overRecords(source, () => {})), /lost digits/);
});

Deno.test("keys that do not advance are an error, not an endless loop", async () => {
  const fetches: [string, (after: unknown) => unknown[]][] = [
    ["ignores after, numbers", () => [1, 2, 3]],
    ["ignores after, text", () => ["a", "b", "c"]],
    ["takes the key again, numbers", (after) => [after ?? 1]],
    ["takes the key again, text", (after) => [after ?? "a", "zzz"]],
    ["takes the key again, bytes", () => [new Uint8Array([1, 2])]],
    ["descends", () => [3, 2, 1]],
    ["has equal keys", () => [1, 1]],
    ["has equal dates", () => [new Date(5), new Date(5)]],
    ["has equal composite keys", () => [[1, "a"], [1, "a"]]],
    ["composite goes back", () => [[2, "a"], [1, "b"]]],
    ["changes its columns", () => [[1, 2], 3]],
    ["equal Temporal", () => [Temporal.Instant.from("2026-01-01T00:00Z")]],
  ];
  for (const [name, fetch] of fetches) {
    const source = {
      fetch: ({ after }: { after: unknown }) => fetch(after),
      cursor: (k: unknown) => k,
    };
    await assert.rejects(
      runChain(({ iter }) => iter.overRecords(source, () => {})),
      CursorError,
      name,
    );
  }
});

Deno.test("text keys are not compared by JavaScript's order, which is not the database's", async () => {
  const pages = [["a", "B"], ["c", "D"], []];
  const done: string[] = [];
  await runChain(({ iter }) =>
    iter.overRecords(
      { fetch: () => pages.shift() ?? [], cursor: (key: string) => key },
      (key) => void done.push(key),
    )
  );
  assert.deepEqual(done, ["a", "B", "c", "D"]);
});

Deno.test("a fetch that ignores the limit is cut to it", async () => {
  const batches: number[][] = [];
  await runChain(({ iter }) =>
    iter.overBatches(
      {
        fetch: ({ after }) => range(7).filter((n) => n > (after as number ?? -1)),
        cursor: (n) => n,
      },
      { batchSize: 3 },
      (batch) => void batches.push([...batch]),
    )
  );
  assert.deepEqual(batches, [[0, 1, 2], [3, 4, 5], [6]]);
});

Deno.test("RES-46 JIT-46 record sources of another kind are argument errors with a hint", async () => {
  for (
    const source of [
      null,
      [1],
      "users",
      { fetch: 1, cursor: () => 1 },
      { fetch: () => [] },
      {
        fetch: () => "rows",
        cursor: () => 1,
      },
      { fetch: () => null, cursor: () => 1 },
      { ...users([1]), pageSize: 0 },
    ]
  ) {
    await assert.rejects(
      runChain(({ iter }) => iter.overRecords(source as never, () => {})),
      InvalidInputError,
    );
  }
});

Deno.test("RES-52 batches have at most batchSize records, the last may be smaller", async () => {
  const batches: number[][] = [];
  const chain = await runChain(({ iter }) =>
    iter.overBatches(
      users(range(10)),
      { batchSize: 3 },
      (batch) => void batches.push(batch.map(({ id }) => id)),
    )
  );
  assert.deepEqual(batches, [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]);
  assert.deepEqual([storedCursors(chain), chain.checks], [["2", "5", "8", "9"], 4]);
});

Deno.test("JIT-29 n full batches take n + 1 fetches, the last one empty", async () => {
  const source = users(range(9));
  await runChain(({ iter }) => iter.overBatches(source, { batchSize: 3 }, () => {}));
  assert.equal(source.fetches.length, 4);
});

Deno.test("RES-53 the cursor of a batch is taken before the callback changes its rows", async () => {
  const source = users([1, 2, 3, 4]);
  const chain = await runChain(({ iter }) =>
    iter.overBatches(source, { batchSize: 2 }, (batch) => {
      source.ids = source.ids.filter((id) => id > 2);
      for (const user of batch) user.id = -1;
    })
  );
  assert.deepEqual(storedCursors(chain), ["2", "4"]);
});

Deno.test("U27 the batch size may change between executions", async () => {
  const chain = newChain();
  const done: number[][] = [];
  for (const batchSize of [2, 3, 1]) {
    await execute(
      chain,
      ({ iter }) =>
        iter.overBatches(users(range(6)), { batchSize }, (batch) => {
          done.push(batch.map(({ id }) => id));
        }),
      { maxIterations: 1 },
    );
  }
  assert.deepEqual(done, [[0, 1], [2, 3, 4], [5]]);
  for (const batchSize of [0, -1, 1.5, undefined]) {
    await assert.rejects(
      runChain(({ iter }) => iter.overBatches(users([1]), { batchSize } as never, () => {})),
      InvalidInputError,
    );
  }
});

Deno.test("JIT-01 pairs keep their own cursors, which the callback does not see", async () => {
  const done: unknown[][] = [];
  const chain = await runChain(({ iter }) =>
    iter.overPairs((cursor) => {
      assert.equal(cursor, null);
      return [["a", "token-1"], ["b", { next: 2 }]];
    }, (...args) => void done.push(args))
  );
  assert.deepEqual(done, [["a"], ["b"]]);
  assert.deepEqual(storedCursors(chain), ['"token-1"', '{"next":2}']);
});

Deno.test("JIT-04 a source without cursors is interrupted between its items all the same", async () => {
  const queue = range(5);
  const done: number[] = [];
  const chain = await runChain(({ iter }) =>
    iter.overPairs(function* () {
      while (queue.length > 0) yield [queue.shift() as number, null];
    }, (item) => void done.push(item)), { maxIterations: 2 });
  assert.deepEqual([done, chain.executions, chain.cursor], [range(5), 3, null]);
});

Deno.test("JIT-46 pairs that are none, and cursors that cannot be stored, are errors before the item", async () => {
  for (const made of [[1, 2], [["a"]], ["ab"], 5, "ab", {}, [["a", 1, 2]], [["a", undefined]]]) {
    await assert.rejects(
      runChain(({ iter }) => iter.overPairs(() => made as never, () => assert.fail("called"))),
      (error: unknown) => error instanceof InvalidInputError || error instanceof CursorError,
    );
  }
  await assert.rejects(
    runChain(({ iter }) => iter.overPairs([["a", 1]] as never, () => {})),
    InvalidInputError,
  );
});

/** Pairs of an item and itself, after the cursor. */
function after<T extends string | number>(items: readonly T[]): (cursor: unknown) => [T, T][] {
  return (cursor) =>
    items.slice(cursor === null ? 0 : items.indexOf(cursor as T) + 1).map((item) => [item, item]);
}

const SHELVES: Record<string, string[]> = { a: ["a1", "a2"], b: [], c: ["c1", "c2", "c3"] };

Deno.test("JIT-12 JIT-16 JIT-17 nested sources: inner items per outer item, one cursor entry per level", async () => {
  const done: string[] = [];
  const chain = await runChain(({ iter }) =>
    iter.overNested(
      [after(Object.keys(SHELVES)), (shelf: string, cursor) => after(SHELVES[shelf]!)(cursor)],
      (book, shelf) => void done.push(`${shelf}/${book}`),
    )
  );
  assert.deepEqual(done, ["a/a1", "a/a2", "c/c1", "c/c2", "c/c3"]);
  assert.deepEqual(storedCursors(chain), [
    ...['[null,"a1"]', '[null,"a2"]'],
    ...['["b","c1"]', '["b","c2"]', '["b","c3"]'],
  ]);
});

Deno.test("RES-59 JIT-13 a nested cursor continues at the next inner item; inner levels then start over", async () => {
  const opened: unknown[] = [];
  const done: string[] = [];
  const chain = await runChain(({ iter }) =>
    iter.overNested([
      after(["a", "b"]),
      (x: string, cursor) => (opened.push([x, cursor]), after([1, 2])(cursor)),
      async function* (x: string, y: number, cursor: unknown) {
        opened.push([x, y, cursor]);
        yield* after(["p", "q"])(cursor);
      },
    ], (z, x, y) => void done.push(`${x}${y}${z}`)), { maxIterations: 3 });
  assert.deepEqual(done, ["a1p", "a1q", "a2p", "a2q", "b1p", "b1q", "b2p", "b2q"]);
  assert.equal(chain.executions, 3);
  assert.deepEqual(opened.slice(0, 5), [
    ["a", null],
    ["a", 1, null],
    ["a", 2, null],
    ["a", 1],
    ["a", 2, "p"],
  ]);
});

Deno.test("JIT-14 JIT-15 a cursor of other levels, and a level that is no function, are errors", async () => {
  const sources = [after(["a"]), () => after([1])(null)];
  for (const cursor of ["[null]", "[null,1,2]", "5", '"a"']) {
    await assert.rejects(
      runChain(({ iter }) => iter.overNested(sources, () => {}), { cursor }),
      CursorError,
    );
  }
  for (const bad of [[], [after(["a"]), [1]], "x", [null]]) {
    await assert.rejects(
      runChain(({ iter }) => iter.overNested(bad as never, () => {})),
      InvalidInputError,
    );
  }
});

Deno.test("JIT-05 an interruption closes all levels of a nested source, the innermost first", async () => {
  const closed: string[] = [];
  const level = (name: string): () => Generator<[number, number]> =>
    function* () {
      try {
        for (let i = 0; i < 3; i++) yield [i, i];
      } finally {
        closed.push(name);
      }
    };
  await execute(
    newChain(),
    ({ iter }) => iter.overNested([level("outer"), level("inner")], () => {}),
    { maxIterations: 1 },
  );
  assert.deepEqual(closed, ["inner", "outer"]);
});
