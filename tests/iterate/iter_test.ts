import assert from "node:assert/strict";
import { CursorError, InvalidInputError, PawlError } from "../../src/errors.ts";
import { eventNames, execute, newChain, runChain, storedCursors } from "./_harness.ts";

Deno.test("RES-02 the first execution has a null cursor and is not resumed", async () => {
  await runChain(({ iter }) => {
    assert.equal(iter.cursor, null);
    assert.equal(iter.resumed, false);
    assert.equal(iter.advanced, false);
  });
});

Deno.test("RES-03 RES-10 skipTo() stores, stops, and the successor sees exactly that value", async () => {
  const seen: unknown[] = [];
  const chain = await runChain(async ({ iter }) => {
    seen.push([iter.cursor, iter.resumed]);
    if (!iter.resumed) {
      await iter.skipTo({ page: [1, new Date(5)] });
      seen.push("not reached");
    }
  });
  assert.deepStrictEqual(seen, [[null, false], [{ page: [1, new Date(5)] }, true]]);
  assert.deepEqual(chain.requests, [{ kind: "interrupt", reason: "skip_to", waitMs: 0 }]);
});

Deno.test("RES-04 set() is durable before it resolves, and only then asks whether to stop", async () => {
  const order: string[] = [];
  const chain = newChain();
  await execute(chain, async ({ iter }) => {
    await iter.set(7);
    assert.equal(chain.cursor, "7");
    assert.equal(iter.cursor, 7);
    order.push("resolved");
  }, {
    save: () => Promise.resolve(void order.push("saved")),
    shouldStop: () => (order.push("asked"), null),
  });
  assert.deepEqual(order, ["saved", "asked", "resolved"]);
});

Deno.test("RES-05 RES-09 checkpoint() stores the cursor as it is and does not count as a set", async () => {
  const chain = await runChain(async ({ iter }) => {
    await iter.checkpoint();
    assert.equal(iter.advanced, false);
    await iter.set({ page: 1 });
    assert.equal(iter.advanced, true);
    await iter.checkpoint();
    assert.deepEqual(iter.cursor, { page: 1 });
  });
  assert.deepEqual(storedCursors(chain), [null, '{"page":1}', '{"page":1}']);
  assert.equal(chain.checks, 3);
});

Deno.test("RES-06 RES-08 advance() adds one, to the cursor or to what is given", async () => {
  const chain = await runChain(async ({ iter }) => {
    await iter.advance();
    await iter.advance({ from: 41 });
    await iter.advance({ from: 2n ** 64n });
    await iter.advance();
  }, { initialCursor: 3 });
  assert.deepEqual(storedCursors(chain), [
    ...["4", "42"],
    '{"$pawl":"bigint","v":"18446744073709551617"}',
    '{"$pawl":"bigint","v":"18446744073709551618"}',
  ]);
});

Deno.test("RES-07 advance() wants an integer and leaves the cursor alone otherwise", async () => {
  for (const cursor of [null, "3", 1.5, new Date(0), Number.MAX_SAFE_INTEGER, [1]]) {
    const chain = await runChain(async ({ iter }) => {
      await assert.rejects(iter.advance(), (error: unknown) => {
        assert.ok(error instanceof CursorError);
        assert.match(error.message, /an integer is required/);
        return true;
      });
      assert.deepEqual(iter.cursor, cursor);
      assert.equal(iter.advanced, false);
    }, { initialCursor: cursor });
    assert.equal(chain.saves.length, 0);
  }
});

Deno.test("RES-11 RES-12 skipTo() and suspend() take a wait in any form", async () => {
  const chain = await runChain(async ({ iter, suspend }) => {
    if (iter.cursor === null) await iter.skipTo(1, { wait: "2 days" });
    if (iter.cursor === 1) {
      await iter.set(2);
      suspend({ wait: 1500 });
    }
  });
  assert.deepEqual(chain.requests, [
    { kind: "interrupt", reason: "skip_to", waitMs: 172_800_000 },
    { kind: "interrupt", reason: "suspend", waitMs: 1500 },
  ]);
  assert.equal(chain.cursor, "2");
});

Deno.test("U11 a negative, NaN or infinite wait is an argument error and writes nothing", async () => {
  const chain = await runChain(async ({ iter, suspend }) => {
    for (const wait of [-1, NaN, Infinity, "soon"]) {
      await assert.rejects(iter.skipTo(1, { wait }), PawlError);
      assert.throws(() => suspend({ wait }), PawlError);
    }
    assert.equal(iter.cursor, null);
  });
  assert.deepEqual([chain.saves, chain.requests], [[], []]);
});

Deno.test("RES-14 nothing runs after a checkpoint that interrupts", async () => {
  let after = 0;
  const chain = newChain();
  const completed = await execute(chain, async ({ iter }) => {
    await iter.set(1);
    after++;
  }, { shouldStop: () => "shutdown" });
  assert.deepEqual([completed, after, chain.cursor], [false, 0, "1"]);
  assert.equal(chain.requests[0]?.reason, "shutdown");
  assert.equal(chain.events[0]?.name, "interrupted");
});

Deno.test("RES-20 maxIterations counts checkpoints of one execution", async () => {
  const perExecution: number[] = [];
  const chain = await runChain(async ({ iter }) => {
    perExecution.push(0);
    for (let i: number = iter.cursor ?? 0; i < 7; i++) {
      perExecution[perExecution.length - 1]!++;
      await iter.set(i + 1);
    }
  }, { maxIterations: 3 });
  assert.deepEqual(perExecution, [3, 3, 1]);
  assert.deepEqual(chain.requests.map(({ reason }) => reason), [
    "max_iterations",
    "max_iterations",
  ]);
});

Deno.test("RES-21 JIT-41 maxRuntime interrupts past its limit, not at it, and only at checkpoints", async () => {
  const chain = newChain();
  const reached: number[] = [];
  await execute(chain, async ({ iter }) => {
    for (const elapsed of [99, 100, 101, 102]) {
      chain.now = 1_000_000 + elapsed;
      reached.push(elapsed);
      await iter.checkpoint();
    }
  }, { maxRuntimeMs: 100 });
  assert.deepEqual(reached, [99, 100, 101]);
  assert.equal(chain.requests[0]?.reason, "max_runtime");
});

Deno.test("RES-22 RES-24 without limits, or without checkpoints, nothing interrupts", async () => {
  const unlimited = await runChain(async ({ iter }) => {
    for (let i = 0; i < 1000; i++) await iter.set(i);
  });
  assert.equal(unlimited.executions, 1);
  const silent = await runChain(() => {}, { shouldStop: () => "shutdown", maxIterations: 1 });
  assert.deepEqual([silent.executions, silent.checks], [1, 0]);
});

Deno.test("JIT-39 what somebody asks for outranks a limit", async () => {
  const chain = newChain();
  await execute(chain, ({ iter }) => iter.set(1), {
    maxIterations: 1,
    shouldStop: () => "canceled",
  });
  assert.equal(chain.requests[0]?.reason, "canceled");
});

Deno.test("RES-57 U20 a cursor that cannot be stored leaves the one before, in memory too", async () => {
  const chain = await runChain(async ({ iter }) => {
    await iter.set({ page: 1 });
    for (const value of [undefined, NaN, () => {}, "x".repeat(200_000)]) {
      await assert.rejects(iter.set(value), CursorError);
      await assert.rejects(iter.skipTo(value), CursorError);
    }
    assert.deepEqual(iter.cursor, { page: 1 });
    await iter.set(null);
  });
  assert.deepEqual(storedCursors(chain), ['{"page":1}', null]);
});

Deno.test("a write that fails leaves the cursor before in memory", async () => {
  let failing = false;
  await runChain(async ({ iter }) => {
    await iter.set(1);
    failing = true;
    await assert.rejects(iter.set(2), /no connection/);
    assert.equal(iter.cursor, 1);
    failing = false;
    await iter.advance();
    assert.equal(iter.cursor, 2);
  }, { save: () => failing ? Promise.reject(new Error("no connection")) : Promise.resolve() });
});

Deno.test("U21 a snapshot of the cursor is taken at the call", async () => {
  const chain = await runChain(async ({ iter }) => {
    const value = { ids: [1] };
    const first = iter.set(value);
    value.ids.push(2);
    await first;
    assert.deepEqual(iter.cursor, { ids: [1] });
    value.ids.push(3);
    assert.deepEqual(iter.cursor, { ids: [1] });
  });
  assert.deepEqual(storedCursors(chain), ['{"ids":[1]}']);
});

Deno.test("U22 concurrent calls are written one at a time, in the order of the calls", async () => {
  let writing = 0;
  const chain = await runChain(async ({ iter }) => {
    await Promise.all([
      iter.set(10),
      iter.advance(),
      iter.advance(),
      iter.checkpoint(),
      iter.set(5),
      iter.advance(),
    ]);
  }, {
    save: async () => {
      assert.equal(++writing, 1);
      for (let i = 0; i < 5; i++) await Promise.resolve();
      writing--;
    },
  });
  assert.deepEqual(storedCursors(chain), ["10", "11", "12", "12", "5", "6"]);
});

Deno.test("U22 after an interruption none of the waiting calls writes", async () => {
  const chain = newChain();
  await execute(chain, async ({ iter }) => {
    const results = await Promise.allSettled([iter.set(1), iter.set(2), iter.advance()]);
    assert.deepEqual(results.map(({ status }) => status), ["rejected", "rejected", "rejected"]);
  }, { shouldStop: () => "shutdown" });
  assert.deepEqual(storedCursors(chain), ["1"]);
});

Deno.test("a swallowed interruption stays one: every later call throws it and nothing is written", async () => {
  const chain = newChain();
  let items = 0;
  const completed = await execute(chain, async ({ iter, suspend }) => {
    const signals: unknown[] = [];
    const swallow = async (call: () => unknown): Promise<void> => {
      try {
        await call();
      } catch (error) {
        signals.push(error);
      }
    };
    await swallow(() => iter.set(1));
    await swallow(() => iter.set(2));
    await swallow(() => iter.skipTo(3));
    await swallow(() => suspend());
    await swallow(() => iter.over([1, 2], () => items++));
    assert.equal(new Set(signals).size, 1);
    assert.equal(signals.length, 5);
  }, { shouldStop: () => "shutdown" });
  assert.deepEqual([completed, chain.cursor, items], [false, "1", 0]);
  assert.deepEqual(eventNames(chain), ["interrupted"]);
});

Deno.test("an interruption in a call that nobody awaits does not end the process", async () => {
  const chain = newChain();
  const completed = await execute(chain, ({ iter }) => {
    iter.set(1);
    iter.skipTo(2);
  }, { shouldStop: () => "shutdown" });
  assert.deepEqual([completed, chain.cursor], [false, "1"]);
});

Deno.test("progress() is stored with the next checkpoint, and kept for the end otherwise", async () => {
  const chain = await runChain(async ({ iter, state }) => {
    iter.progress(1, 10);
    assert.deepEqual(state.pendingProgress, { done: 1, total: 10, message: null });
    iter.progress(2, 10, "two");
    await iter.checkpoint();
    assert.equal(state.pendingProgress, null);
    iter.progress(3);
    assert.deepEqual(state.pendingProgress, { done: 3, total: null, message: null });
    assert.throws(() => iter.progress(NaN), InvalidInputError);
  });
  assert.deepEqual(chain.progress, { done: 2, total: 10, message: "two" });
});

Deno.test("progress() noted while a checkpoint is written goes with the next one", async () => {
  const chain = await runChain(async ({ iter }) => {
    const first = iter.set(1);
    iter.progress(1);
    await first;
    await iter.set(2);
  }, { save: () => Promise.resolve() });
  assert.deepEqual(chain.progress?.done, 1);
});

Deno.test("RES-60 opaque tokens come back as they were", async () => {
  const token = "CiAKGjBpNDd2Nmp\0/+=";
  await runChain(async ({ iter }) => {
    if (iter.cursor === null) await iter.skipTo(token);
    assert.equal(iter.cursor, token);
  });
});

Deno.test("RES-63 a body that never touches iter completes", async () => {
  const chain = await runChain(() => {});
  assert.deepEqual([chain.executions, chain.saves.length, chain.events.length], [1, 0, 0]);
});

Deno.test("RES-64 a start value is the first cursor, and checkpoint() stores it", async () => {
  const chain = await runChain(async ({ iter }) => {
    assert.deepEqual(iter.cursor, { page: 3 });
    await iter.checkpoint();
  }, { initialCursor: { page: 3 } });
  assert.equal(chain.cursor, '{"page":3}');
});

Deno.test("RES-74 iter as text names the step and the cursor", async () => {
  await runChain(async ({ iter }) => {
    await iter.set([1, "a"]);
    assert.equal(String(iter), 'iter of step "import" at [1,"a"]');
    await iter.set(5n);
    assert.match(String(iter), /5n/);
  });
});
