/**
 * The stage of a crash sweep: what the first process does passes points, and at one of them it dies
 * or freezes. Whatever else it was doing then stands still as well, and a database whose client is
 * gone ends the transaction that was open.
 *
 * @module
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { StoreError } from "../errors.ts";
import type { StoreDriver } from "../seams/store.ts";

/** What a setup is given: fresh for every run. */
export interface Sweep {
  /**
   * Watches an object, also an instance of a class: each call of one of its functions is an effect,
   * named `name.function`, with a point before and after it, and answers a promise. With `key`, calls
   * with the same key count once, as they do for a service that is given an idempotency key.
   */
  watch<T extends object>(
    name: string,
    object: T,
    // deno-lint-ignore no-explicit-any -- the arguments of the object's own functions
    options?: { readonly key?: (...args: any[]) => string },
  ): T;
}

/** What happens to the first process, and at which point. */
export interface Fault {
  /** The number of the point; 0: nowhere. */
  readonly point: number;
  /** What happens there. */
  readonly mode: "none" | "crash" | "freeze";
}

/** The first process, and the point at which something happens to it. */
export interface Stage {
  /** How many points it passed. */
  readonly points: number;
  /** The point at which it was stopped; null: it was not. */
  readonly where: string | null;
  /** Resolves when it is stopped. */
  readonly stopped: Promise<void>;
  /** Watches an object of the user. */
  readonly watch: Sweep["watch"];
  /** Runs the first process: only what it does passes points. */
  perform<T>(work: () => T): T;
  /** Lets a frozen process go on. */
  thaw(): void;
  /** The store with points around its writes. */
  around(store: StoreDriver): StoreDriver;
  /** How often each watched effect happened. */
  effects(): Record<string, number>;
}

const WRITES: readonly PropertyKey[] = ["create", "claim", "claimDue", "checkpoint", "finish"];

/** Passes a point; it never resolves where the process dies. */
type Pass = (what: string) => Promise<void>;

/** Makes the stage of one run. */
export function createStage({ point, mode }: Fault): Stage {
  const inside = new AsyncLocalStorage<true>();
  let points = 0;
  let where: string | null = null;
  let stop = (): void => {};
  let thaw = (): void => {};
  const stopped = new Promise<void>((resolve) => void (stop = resolve));
  const thawed = new Promise<void>((resolve) => void (thaw = resolve));
  const still = (): Promise<void> => mode === "crash" ? new Promise<never>(() => {}) : thawed;

  async function pass(what: string): Promise<void> {
    if (!inside.getStore()) return;
    if (where === null && (++points !== point || mode === "none")) return;
    if (where === null) {
      where = what;
      stop();
    }
    await still();
  }

  /** A transaction that is rolled back when its process stops, as a database does. */
  async function transaction<T>(store: StoreDriver, work: (tx: unknown) => Promise<T>): Promise<T> {
    let result: T;
    try {
      result = await store.transaction((tx) => Promise.race([work(tx), stopped.then(disconnect)]));
    } catch (error) {
      if (where !== null) await still();
      throw error;
    }
    await pass("after commit");
    return result;
  }

  return {
    get points() {
      return points;
    },
    get where() {
      return where;
    },
    stopped,
    ...watcher(pass),
    around: (store) => withPoints(store, pass, (work) => transaction(store, work)),
    perform: (work) => inside.run(true, work),
    thaw: () => thaw(),
  };
}

function disconnect(): never {
  throw new StoreError("sweep", "The transaction was rolled back: its process did not answer");
}

function withPoints(
  store: StoreDriver,
  pass: Pass,
  transaction: StoreDriver["transaction"],
): StoreDriver {
  return new Proxy(store, {
    get(target, name) {
      if (name === "transaction") return transaction;
      const member: unknown = Reflect.get(target, name);
      if (!WRITES.includes(name) || typeof member !== "function") return member;
      return async (...args: unknown[]): Promise<unknown> => {
        await pass(`before ${String(name)}`);
        const result: unknown = await Reflect.apply(member, target, args);
        await pass(`after ${String(name)}`);
        return result;
      };
    },
  });
}

function watcher(pass: Pass): Pick<Stage, "watch" | "effects"> {
  const counts = new Map<string, number>();
  const keys = new Set<string>();
  const watch: Sweep["watch"] = (name, object, options = {}) => {
    function called(effect: string, fn: (...args: unknown[]) => unknown) {
      return async (...args: unknown[]): Promise<unknown> => {
        await pass(`before ${effect}`);
        const once = options.key === undefined ? null : `${effect} ${options.key(...args)}`;
        if (once === null || !keys.has(once)) counts.set(effect, (counts.get(effect) ?? 0) + 1);
        if (once !== null) keys.add(once);
        // On the object itself: what it calls of its own is no effect of the workflow.
        const result = await Reflect.apply(fn, object, args);
        await pass(`after ${effect}`);
        return result;
      };
    }
    return new Proxy(object, {
      get(target, key) {
        const member: unknown = Reflect.get(target, key);
        const isEffect = typeof key === "string" && typeof member === "function" &&
          member !== Reflect.get(Object.prototype, key) && key !== "constructor";
        return isEffect ? called(`${name}.${key}`, member as () => unknown) : member;
      },
    });
  };
  return { watch, effects: () => Object.fromEntries(counts) };
}
