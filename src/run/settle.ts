/**
 * Group commit: writes that meet in the same moment travel to the store together.
 *
 * There is no timer. The first write starts a batch that leaves as soon as the code that is running
 * now has run out of things to do; while that batch is under way, whatever arrives waits and forms
 * the next one. So a batch has one member when the engine is idle and a hundred under load.
 *
 * A store that answers at once, such as SQLite, has nothing under way for long enough, and bodies
 * that wait for others end one by one. So under load, that is when a batch has left just before, the
 * next one leaves at the end of this turn of the event loop, with all that has ended in it (100
 * bodies at a time that wait up to 10 ms, on SQLite: 120 µs of one core per step, and 330 without).
 * Where only a few are left who could join, it does not wait.
 *
 * @module
 */

import { atTurnEnd } from "./turn.ts";

/** Sends one item with whatever else is waiting, and resolves to its own result. */
export type Send<In, Out> = (item: In) => Promise<Out>;

interface Waiting<In, Out> {
  readonly item: In;
  resolve(value: Out): void;
  reject(reason: unknown): void;
}

/** How writes travel together. */
export interface BatchOptions {
  /** How many travel together at the most. */
  readonly maxBatch: number;
  /** How many batches are under way at a time. */
  readonly maxInFlight: number;
  /** How many could come together at the most; default: nobody knows. */
  expected?(): number;
  /** Whether the members of a batch that failed like this may be sent again, each by itself. */
  mayRepeat?(error: unknown): boolean;
}

/** For so few who could still join, a batch does not wait. */
const FEW = 4;

/** Makes a sender over a batched operation that answers each member at its own index. */
export function batched<In, Out>(
  flush: (items: readonly In[]) => Promise<readonly Out[]>,
  options: BatchOptions,
): Send<In, Out> {
  let waiting: Waiting<In, Out>[] = [];
  const pace = createPace();
  let inFlight = 0;
  let gathering = false;

  async function send(batch: readonly Waiting<In, Out>[]): Promise<void> {
    inFlight++;
    pace.left();
    try {
      const results = await flush(batch.map((one) => one.item));
      batch.forEach((one, at) => one.resolve(results[at] as Out));
    } catch (error) {
      const repeats = batch.length > 1 && (options.mayRepeat?.(error) ?? true);
      for (const one of batch) await (repeats ? alone(one) : one.reject(error));
    } finally {
      inFlight--;
      pump();
    }
  }

  /** One member that fails must not fail the others: after a failure each goes by itself. */
  async function alone(one: Waiting<In, Out>): Promise<void> {
    try {
      one.resolve((await flush([one.item]))[0] as Out);
    } catch (error) {
      one.reject(error);
    }
  }

  function depart(): void {
    gathering = false;
    while (waiting.length > 0 && inFlight < options.maxInFlight) {
      const batch = waiting.slice(0, options.maxBatch);
      waiting = waiting.slice(batch.length);
      void send(batch);
    }
  }

  function pump(): void {
    if (gathering || waiting.length === 0 || inFlight >= options.maxInFlight) return;
    gathering = true;
    afterThisMoment(() => {
      const missing = (options.expected?.() ?? Infinity) - waiting.length;
      if (missing <= FEW || !pace.isQuick) depart();
      else atTurnEnd(depart);
    });
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      pump();
    });
}

/**
 * Calls `fn` after the promise jobs that are queued now and the few that follow from them. A timer
 * would add a millisecond to every step; one microtask would let most of the neighbours miss the
 * batch, because a step's end takes several promise jobs.
 */
function afterThisMoment(fn: () => void, hops: number = 12): void {
  if (hops === 0) fn();
  else queueMicrotask(() => afterThisMoment(fn, hops - 1));
}

/** How quickly batches follow each other. */
interface Pace {
  /** Whether one has left in this turn of the event loop, or in the one before. */
  readonly isQuick: boolean;
  /** Takes note of one that leaves. */
  left(): void;
}

function createPace(): Pace {
  let turns = 0;
  function turn(): void {
    if (--turns > 0) atTurnEnd(turn);
  }
  return {
    get isQuick() {
      return turns > 0;
    },
    left() {
      if (turns === 0) atTurnEnd(turn);
      turns = 2;
    },
  };
}
