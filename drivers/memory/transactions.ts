/**
 * Transactions of the memory store: one after another, each a layer over what is committed.
 *
 * A transaction may hold others: a write that joins the caller's is one inside it. Inside one
 * transaction, too, writes go one after another, so that each sees what the one before it wrote.
 *
 * @module
 */

import { StoreError } from "../../src/errors.ts";
import { createLayer, type Ground, type Layer } from "./layer.ts";

/** An open transaction of a memory store; it holds nothing that a caller could use. */
export interface MemoryTx {
  /** Tells the handle from those of other stores. */
  readonly store: "memory";
}

/** The transactions of one database. */
export interface Transactions {
  /**
   * Runs work in a transaction, inside `tx` when there is one. What work writes is there for
   * everybody once it resolves, or for the rest of `tx`; when it rejects, nothing is.
   */
  run<T>(
    tx: MemoryTx | undefined,
    work: (layer: Layer, own: MemoryTx) => T | Promise<T>,
  ): Promise<T>;
  /** What a reader sees: the rows of its transaction, or the committed ones. */
  seen(tx: MemoryTx | undefined): Ground;
}

interface Scope {
  readonly rows: Ground;
  readonly turn: Turn;
}

/** Makes the transactions of a database. */
export function createTransactions(committed: Ground): Transactions {
  const root: Scope = { rows: committed, turn: createTurn() };
  const open = new WeakMap<MemoryTx, Scope>();

  function scopeOf(tx: MemoryTx | undefined): Scope {
    const scope = tx === undefined ? root : open.get(tx);
    if (scope !== undefined) return scope;
    throw new StoreError(
      "memory",
      "Cannot use this transaction: it has ended, or it is another store's; " +
        "pass the tx that transaction() gave, while its work runs",
    );
  }

  return {
    async run(tx, work) {
      const around = scopeOf(tx);
      return await around.turn(async () => {
        // While this one waited for its turn, the transaction around it may have ended.
        scopeOf(tx);
        const layer = createLayer(around.rows);
        const own: MemoryTx = Object.freeze({ store: "memory" });
        const scope: Scope = { rows: layer, turn: createTurn() };
        open.set(own, scope);
        try {
          const result = await work(layer, own);
          // A write that nobody awaited belongs to this transaction all the same.
          await scope.turn(() => {});
          around.rows.absorb(layer.changes);
          return result;
        } finally {
          open.delete(own);
        }
      });
    },
    seen: (tx) => scopeOf(tx).rows,
  };
}

/** Runs one piece of work after the other, whatever comes of them. */
type Turn = <T>(work: () => T | Promise<T>) => Promise<T>;

function createTurn(): Turn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => {});
    return mine;
  };
}
