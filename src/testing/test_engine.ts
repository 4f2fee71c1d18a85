/**
 * An engine for tests: its own fake clock, and nothing runs until a test says so.
 *
 * @module
 */

import { buildEngine, type Engine } from "../run/engine.ts";
import type { EngineOptions } from "../run/options.ts";
import type { QueueDriver } from "../seams/queue.ts";
import type { StoreDriver } from "../seams/store.ts";
import { createFakeClock, type FakeClock } from "./fake_clock.ts";

/** What a test engine may be told beside the options of an engine. */
export interface TestEngineOptions extends Partial<Omit<EngineOptions, "clock">> {
  /** Where its clock starts; default 2026-01-01T00:00:00Z. */
  readonly now?: Date | number;
}

/** An engine with its clock. */
export interface TestEngine extends Disposable, AsyncDisposable {
  /** The engine. */
  readonly engine: Engine;
  /** Its clock: `tick` runs what becomes due. */
  readonly clock: FakeClock;
  /** Its store. */
  readonly store: StoreDriver;
}

/** The drivers that a test engine uses when it is given none. */
export interface TestDrivers {
  /** The store. */
  readonly store: StoreDriver;
  /** The queue, and when nothing of it runs. */
  readonly queue: QueueDriver & { idle?(): Promise<void> };
}

/** Makes a test engine on the given drivers. */
export async function makeTestEngine(
  { now, store: _, queue: __, ...options }: TestEngineOptions,
  drivers: TestDrivers,
): Promise<TestEngine> {
  const { store, underWay } = counted(drivers.store);
  const { queue } = drivers;
  const clock = createFakeClock({
    ...(now === undefined ? {} : { now }),
    idle: () => queue.idle?.() ?? Promise.resolve(),
    busy: () => underWay() > 0,
  });
  await store.migrate();
  const engine = buildEngine({ ...options, store, queue, clock });
  return {
    engine,
    clock,
    store,
    // A test does not wait for what nobody can see any more: the store is in memory or its own.
    [Symbol.dispose]: () => void engine.close(),
    [Symbol.asyncDispose]: () => engine.close(),
  };
}

/**
 * The store, and how many of its operations are under way: a fake clock waits for these. While a
 * body runs in a transaction it waits for none, because they may all be waiting for that body, and
 * the body for the clock.
 */
function counted(store: StoreDriver): { store: StoreDriver; underWay(): number } {
  let count = 0;
  let bodies = 0;
  async function transaction<T>(work: (tx: unknown) => Promise<T>): Promise<T> {
    return await store.transaction(async (tx) => {
      bodies++;
      try {
        return await work(tx);
      } finally {
        bodies--;
      }
    });
  }
  const counting = new Proxy(store, {
    get(target, name) {
      const member = name === "transaction" ? transaction : Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...args: unknown[]): unknown => {
        const result: unknown = Reflect.apply(member, target, args);
        if (!(result instanceof Promise)) return result;
        count++;
        const done = (): void => void count--;
        result.then(done, done);
        return result;
      };
    },
  });
  return { store: counting, underWay: () => bodies > 0 ? 0 : count };
}
