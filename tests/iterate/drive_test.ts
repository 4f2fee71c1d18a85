// deno-lint-ignore-file explicit-function-return-type -- typed by what they are passed to
import assert from "node:assert/strict";
import { InvalidInputError, PawlError } from "../../src/errors.ts";
import {
  type Chain,
  eventNames,
  execute,
  newChain,
  range,
  runChain,
  stopFrom,
  storedCursors,
} from "./_harness.ts";

Deno.test("JIT-02 the cursor moves only after the callback succeeded", async () => {
  const chain = newChain();
  const body = execute(chain, ({ iter }) =>
    iter.over(range(100), (item) => {
      if (item === 60) throw new Error("bad item");
    }));
  await assert.rejects(body, /bad item/);
  assert.equal(chain.cursor, "60");
});

Deno.test("JIT-03 a failure at item 61 is never passed, however often it is tried", async () => {
  const chain = newChain();
  const done: number[] = [];
  for (let attempt = 0; attempt < 3; attempt++) {
    await assert.rejects(execute(chain, ({ iter }) =>
      iter.over(range(100), (item) => {
        if (item === 60) throw new Error("bad item");
        done.push(item);
      })));
  }
  assert.deepEqual(done, range(60));
  assert.equal(chain.cursor, "60");
});

Deno.test("JIT-37 whether to stop is asked once per item and never before the first", async () => {
  const order: string[] = [];
  const chain = newChain();
  await execute(
    chain,
    ({ iter }) => iter.over(["a", "b", "c"], (item) => void order.push(item)),
    { shouldStop: () => (order.push("?"), null) },
  );
  assert.deepEqual(order, ["a", "?", "b", "?", "c", "?"]);
});

Deno.test("JIT-38 RES-23 a process that is stopping already still does one item", async () => {
  const done: number[] = [];
  const chain = newChain();
  const completed = await execute(
    chain,
    ({ iter }) => iter.over(range(5), (item) => done.push(item)),
    { shouldStop: () => "shutdown" },
  );
  assert.deepEqual([completed, done, chain.cursor], [false, [0], "1"]);
  assert.deepEqual(chain.requests, [{ kind: "interrupt", reason: "shutdown", waitMs: 0 }]);
});

Deno.test("RES-72 an array whose last item is done completes instead of leaving nothing to do", async () => {
  const chain = newChain();
  let after = false;
  const completed = await execute(chain, async ({ iter }) => {
    await iter.over(range(4), () => {});
    after = true;
  }, { maxIterations: 4, shouldStop: stopFrom(4) });
  assert.deepEqual([completed, after, chain.cursor, chain.checks], [true, true, "4", 4]);
});

Deno.test("RES-73 after the last item of other sources a successor finds nothing and completes", async () => {
  const done: number[] = [];
  const chain = await runChain(({ iter }) =>
    iter.over(
      () => new Set(range(4)),
      (item) => done.push(item),
    ), { maxIterations: 2 });
  assert.deepEqual([done, chain.executions], [range(4), 3]);
  assert.deepEqual(eventNames(chain).slice(-3), ["resumed", "not-found", "completed"]);
});

Deno.test("JIT-30 JIT-31 JIT-32 callbacks of a chain: start once, shutdown each time, complete once", async () => {
  const calls: string[] = [];
  const chain: Chain = newChain();
  await runChain(
    ({ iter }) =>
      iter.over(range(5), (item) => void calls.push(String(item)), {
        onStart: () => void calls.push("start"),
        onShutdown: () => void calls.push(`shutdown ${chain.requests.length}`),
        onComplete: () => void calls.push("complete"),
      }),
    { maxIterations: 2 },
    chain,
  );
  assert.deepEqual(calls, [
    ...["start", "0", "1", "shutdown 0"],
    ...["2", "3", "shutdown 1"],
    ...["4", "shutdown 2", "complete"],
  ]);
});

Deno.test("JIT-31 JIT-32 neither shutdown nor complete is called when the callback threw", async () => {
  const calls: string[] = [];
  await assert.rejects(execute(newChain(), ({ iter }) =>
    iter.over(range(5), () => {
      throw new Error("no");
    }, { onShutdown: () => calls.push("shutdown"), onComplete: () => calls.push("complete") })));
  assert.deepEqual(calls, []);
});

Deno.test("JIT-31 shutdown is called when the callback itself suspends", async () => {
  const calls: string[] = [];
  const chain = newChain();
  await execute(chain, ({ iter, suspend }) =>
    iter.over(range(5), (item) => {
      if (item === 2) suspend();
    }, { onShutdown: () => calls.push("shutdown"), onComplete: () => calls.push("complete") }));
  assert.deepEqual([calls, chain.cursor], [["shutdown"], "2"]);
});

Deno.test("RES-13 an item that suspends before its checkpoint is processed again", async () => {
  const done: number[] = [];
  let suspended = false;
  await runChain(({ iter, suspend }) =>
    iter.over(range(3), (item) => {
      done.push(item);
      if (item === 1 && !suspended) {
        suspended = true;
        suspend();
      }
    })
  );
  assert.deepEqual(done, [0, 1, 1, 2]);
});

Deno.test("JIT-33 aroundIteration wraps every callback and sees its errors", async () => {
  const calls: string[] = [];
  await runChain(({ iter }) =>
    iter.over(["a", "b"], (item) => void calls.push(item), {
      async aroundIteration(next, item) {
        calls.push(`<${item}`);
        await next();
        calls.push(">");
      },
    })
  );
  assert.deepEqual(calls, ["<a", "a", ">", "<b", "b", ">"]);
  await runChain(({ iter }) =>
    iter.over([1, 2], () => iter.stop, {
      aroundIteration: async (next, item) => {
        assert.equal(item, 1);
        await next();
      },
    })
  );
});

Deno.test("JIT-34 iter.stop ends the iteration as complete, before the cursor passes that item", async () => {
  const calls: unknown[] = [];
  const chain = await runChain(({ iter }) =>
    iter.over(range(5), async (item) => {
      calls.push(item);
      await Promise.resolve();
      return item === 2 ? iter.stop : undefined;
    }, { onComplete: () => calls.push("complete"), onShutdown: () => calls.push("shutdown") })
  );
  assert.deepEqual(calls, [0, 1, 2, "shutdown", "complete"]);
  // A failure later in the body then meets the same stop again, not the items behind it.
  assert.equal(chain.cursor, "2");
});

Deno.test("JIT-35 iter.stopSilently ends the iteration without onComplete", async () => {
  const calls: string[] = [];
  const chain = await runChain(({ iter }) =>
    iter.over(range(5), () => iter.stopSilently, {
      onComplete: () => calls.push("complete"),
      onShutdown: () => calls.push("shutdown"),
    })
  );
  assert.deepEqual([calls, chain.executions], [["shutdown"], 1]);
});

Deno.test("JIT-36 an unknown stop signal is an error; other results are ignored", async () => {
  await assert.rejects(
    runChain(({ iter }) => iter.over([1], () => ({ stop: true, silent: "maybe" }))),
    InvalidInputError,
  );
  const done: number[] = [];
  const results = [{ stop: () => {} }, "stop", false, { stop: false }, [], null, Symbol()];
  await runChain(({ iter }) => iter.over(results, (result, i) => (done.push(i), result)));
  assert.equal(done.length, results.length);
});

Deno.test("JIT-06 JIT-10 a throttle suspends before the item, with its backoff and the last cursor", async () => {
  const done: number[] = [];
  const calls: string[] = [];
  const chain = newChain();
  let busy = false;
  const body = async ({ iter }: Parameters<Parameters<typeof execute>[1]>[0]): Promise<void> => {
    iter.throttle(() => busy, { backoff: "30 seconds" });
    await iter.over(range(4), (item) => {
      done.push(item);
      busy = item === 1;
    }, { onComplete: () => calls.push("complete"), onShutdown: () => calls.push("shutdown") });
  };
  assert.equal(await execute(chain, body), false);
  assert.deepEqual([done, chain.cursor, calls], [[0, 1], "2", ["shutdown"]]);
  assert.deepEqual(chain.requests, [{ kind: "interrupt", reason: "throttled", waitMs: 30_000 }]);
  const throttled = chain.events.filter(({ name }) => name === "throttled");
  assert.deepEqual(throttled.map(({ waitMs, items }) => [waitMs, items]), [[30_000, 2]]);
  // JIT-08: held back at the first item, it keeps the cursor it started with.
  assert.equal(await execute(chain, body), false);
  assert.deepEqual([done, chain.cursor], [[0, 1], "2"]);
  busy = false;
  assert.equal(await execute(chain, body), true);
  assert.deepEqual([done, calls.at(-1)], [range(4), "complete"]);
});

Deno.test("JIT-07 a throttle that never holds changes nothing; several are asked in order", async () => {
  const asked: string[] = [];
  const done: number[] = [];
  await runChain(async ({ iter }) => {
    iter.throttle(() => (asked.push("a"), false), { backoff: 1 });
    iter.throttle(() => Promise.resolve((asked.push("b"), false)), { backoff: 1 });
    await iter.over(range(3), (item) => done.push(item));
  });
  assert.deepEqual([done, asked], [range(3), ["a", "b", "a", "b", "a", "b"]]);
});

Deno.test("JIT-11 the throttle is asked before the item is pulled", async () => {
  const order: string[] = [];
  await runChain(async ({ iter }) => {
    iter.throttle(() => (order.push("asked"), false), { backoff: 0 });
    await iter.overPairs(function* () {
      for (const item of ["a", "b"]) {
        order.push(`pulled ${item}`);
        yield [item, item];
      }
    }, () => {});
  });
  assert.deepEqual(order, ["asked", "pulled a", "asked", "pulled b", "asked"]);
});

Deno.test("a throttle's arguments are checked at the call", async () => {
  await runChain(({ iter }) => {
    assert.throws(() => iter.throttle(() => true, { backoff: -1 }), PawlError);
    assert.throws(() => iter.throttle(true as never, { backoff: 1 }), InvalidInputError);
    assert.throws(() => iter.throttle(() => true, undefined as never), PawlError);
  });
});

Deno.test("JIT-05 the source is closed on interruption, error and stop, and not after its end", async () => {
  const closed: string[] = [];
  const numbers = function* (): Generator<[number, number]> {
    try {
      for (let i = 0; i < 3; i++) yield [i, i];
      closed.push("end");
    } finally {
      closed.push("closed");
    }
  };
  await execute(newChain(), ({ iter }) => iter.overPairs(numbers, () => {}), {
    shouldStop: () => "shutdown",
  });
  await execute(newChain(), ({ iter }) => iter.overPairs(numbers, () => iter.stop));
  await assert.rejects(
    execute(
      newChain(),
      ({ iter }) => iter.overPairs(numbers, () => Promise.reject(new Error("x"))),
    ),
  );
  assert.deepEqual(closed, ["closed", "closed", "closed"]);
  await execute(newChain(), ({ iter }) => iter.overPairs(numbers, () => {}));
  assert.deepEqual(closed.slice(3), ["end", "closed"]);
});

Deno.test("a source that cannot be closed is logged and changes nothing", async () => {
  const chain = newChain();
  const completed = await execute(chain, ({ iter }) =>
    iter.overPairs(function* () {
      try {
        yield [1, 1];
      } finally {
        // deno-lint-ignore no-unsafe-finally -- a broken clean-up is what is tested
        throw new Error("cannot close");
      }
    }, () => iter.stop));
  assert.deepEqual([completed, chain.warnings], [true, ["Cannot close the source"]]);
});

Deno.test("INS-12 an iteration tells what happens to it", async () => {
  const chain = await runChain(({ iter }) => iter.over(range(3), () => {}), { maxIterations: 2 });
  assert.deepEqual(chain.events.map(({ name, items, cursor }) => [name, items, cursor]), [
    ["built", 0, null],
    ["iteration", 1, 1],
    ["iteration", 2, 2],
    ["interrupted", 2, 2],
    ["built", 0, 2],
    ["resumed", 0, 2],
    ["iteration", 1, 3],
    ["completed", 1, 3],
  ]);
  assert.equal(chain.events[3]?.reason, "max_iterations");
  const quiet = await runChain(({ iter }) => iter.over(range(3), () => {}), {
    listensToItems: () => false,
  });
  assert.deepEqual(eventNames(quiet), ["built", "completed"]);
});

Deno.test("JIT-44 JIT-45 no source, and a source with nothing in it, both complete", async () => {
  const calls: string[] = [];
  const options = { onStart: () => calls.push("start"), onComplete: () => calls.push("complete") };
  const none = await runChain(({ iter }) => iter.overPairs(() => null, () => {}, options));
  assert.deepEqual([eventNames(none), calls], [["nil-source"], []]);
  const empty = await runChain(({ iter }) => iter.overPairs(() => [], () => {}, options));
  assert.deepEqual(eventNames(empty), ["built", "not-found", "completed"]);
  assert.deepEqual(calls, ["start", "complete"]);
});

Deno.test("one cursor serves one source: a second, or one within another, is refused", async () => {
  await assert.rejects(
    runChain(async ({ iter }) => {
      await iter.over([1], () => {});
      await iter.over([1, 2], () => {});
    }),
    /after another source/,
  );
  await assert.rejects(
    runChain(({ iter }) => iter.over([1], () => iter.over([2], () => {}))),
    /overNested/,
  );
  const done: number[] = [];
  await runChain(async ({ iter }) => {
    await iter.over([1], (item) => done.push(item));
    await iter.set(null);
    await iter.over([2, 3], (item) => done.push(item));
  });
  assert.deepEqual(done, [1, 2, 3]);
});

Deno.test("checkpointEvery.items stores every so many items, and what is left at the end", async () => {
  const chain = await runChain(({ iter }) =>
    iter.over(range(7), () => {}, { checkpointEvery: { items: 3 } })
  );
  assert.deepEqual([storedCursors(chain), chain.checks], [["3", "6", "7"], 7]);
});

Deno.test("checkpointEvery.ms stores when so much time has passed since the last store", async () => {
  const chain = newChain();
  await runChain(
    ({ iter }) =>
      iter.over(range(10), () => void (chain.now += 30), { checkpointEvery: { ms: 100 } }),
    {},
    chain,
  );
  assert.deepEqual(storedCursors(chain), ["4", "8", "10"]);
});

Deno.test("checkpointEvery keeps the exact cursor on interruption, error, suspend and stop", async () => {
  const every = { checkpointEvery: { items: 100 } };
  const interrupted = newChain();
  await execute(interrupted, ({ iter }) => iter.over(range(9), () => {}, every), {
    maxIterations: 4,
  });
  assert.deepEqual(storedCursors(interrupted), ["4"]);
  const failed = newChain();
  await assert.rejects(
    execute(
      failed,
      ({ iter }) =>
        iter.over(range(9), (i) => i === 5 ? Promise.reject(new Error("no")) : undefined, every),
    ),
  );
  assert.deepEqual(storedCursors(failed), ["5"]);
  const suspended = newChain();
  await execute(
    suspended,
    ({ iter, suspend }) => iter.over(range(9), (i) => i === 6 ? suspend() : undefined, every),
  );
  assert.deepEqual(storedCursors(suspended), ["6"]);
  const skipped = newChain();
  await execute(
    skipped,
    ({ iter }) => iter.over(range(9), (i) => i === 6 ? iter.skipTo(8) : undefined, every),
  );
  assert.deepEqual(storedCursors(skipped), ["8"]);
  const stopped = newChain();
  await execute(
    stopped,
    ({ iter }) => iter.over(range(9), (i) => i === 3 ? iter.stop : undefined, every),
  );
  assert.deepEqual(storedCursors(stopped), ["3"]);
});

Deno.test("a failing store after a failed callback does not hide the callback's error", async () => {
  const chain = newChain();
  let saves = 0;
  const body = execute(
    chain,
    ({ iter }) =>
      iter.over(range(9), (i) => i === 5 ? Promise.reject(new Error("callback")) : undefined, {
        checkpointEvery: { items: 100 },
      }),
    { save: () => Promise.reject(new Error(`store ${++saves}`)) },
  );
  await assert.rejects(body, /callback/);
  assert.deepEqual([saves, chain.warnings.length], [1, 1]);
});

Deno.test("a failing store ends the iteration with its error and is not tried again", async () => {
  let saves = 0;
  let items = 0;
  await assert.rejects(
    execute(newChain(), ({ iter }) => iter.over(range(9), () => void items++), {
      save: () => Promise.reject(new Error(`store ${++saves}`)),
    }),
    /store 1/,
  );
  assert.deepEqual([saves, items], [1, 1]);
});

Deno.test("an item whose callback swallowed an interruption does not count as done", async () => {
  const chain = newChain();
  const completed = await execute(chain, ({ iter, suspend }) =>
    iter.over(range(5), (item) => {
      try {
        if (item === 2) suspend();
      } catch {
        // The body should not do this; the interruption holds all the same.
      }
    }));
  assert.deepEqual([completed, chain.cursor], [false, "2"]);
});

Deno.test("options are checked before anything is iterated", async () => {
  await runChain(async ({ iter }) => {
    const bad: unknown[] = [
      { onStart: 1 },
      { aroundIteration: "x" },
      { checkpointEvery: { items: 0 } },
      { checkpointEvery: { items: 1.5 } },
      { checkpointEvery: { ms: NaN } },
      { checkpointEvery: { ms: -1 } },
    ];
    for (const options of bad) {
      await assert.rejects(
        iter.over([1], () => assert.fail("called"), options as never),
        InvalidInputError,
      );
    }
    await assert.rejects(iter.over([1], undefined as never), InvalidInputError);
  });
});

Deno.test("progress() of a callback is stored with its item", async () => {
  const chain = newChain();
  await execute(chain, ({ iter }) =>
    iter.over(range(5), (item) => {
      iter.progress(item + 1, 5);
      if (item === 2) throw new Error("no");
    })).catch(() => {});
  assert.deepEqual(chain.progress?.done, 3);
  assert.equal(chain.cursor, "2");
});
