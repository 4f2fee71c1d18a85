/**
 * The one loop that all sources share.
 *
 * A source is a sequence of pairs: an item, and the cursor to keep once the item is done. For each
 * pair, in this order: the throttles are asked, the pair is pulled, its cursor is encoded, the
 * callback runs, the cursor moves, it is stored if it is due, and whether to stop is asked once.
 * The loop awaits only what is a promise: over an array with a checkpoint every 100 ms it adds about
 * 0.1 µs to an item, half of it to ask for the time.
 *
 * @module
 */

import type { IterationOptions, IterationStop } from "../define/context.ts";
import { InvalidInputError } from "../errors.ts";
import type { InterruptRequest, IterationEvent, IterDeps } from "./deps.ts";
import { checkOptions, isDue } from "./options.ts";
import type { Position } from "./position.ts";
import { heldBack, type Throttle } from "./throttle.ts";

/** An item and the cursor to keep once it is done. */
export type Pair<Item> = readonly [item: Item, cursor: unknown];

/** Pairs, pulled one by one; a sync or an async iterator is one. */
export interface Pairs<Item> {
  /** The next pair, at once or later. */
  next(): IteratorResult<Pair<Item>, unknown> | Promise<IteratorResult<Pair<Item>, unknown>>;
  /** Called when the iteration ends before the pairs do. */
  return?(): unknown;
  /** True when it is known that no pair follows; only then it spares an empty continuation. */
  isExhausted?(): boolean;
}

/** One iteration over one source. */
export interface Plan<Item> {
  /** The method of `iter`, for messages and events. */
  readonly source: string;
  /** Makes the pairs from the cursor; null or undefined: there is nothing to iterate. */
  open(cursor: unknown): Pairs<Item> | null | undefined | Promise<Pairs<Item> | null | undefined>;
  /** Calls the user's function with an item and the cursor that follows it. */
  call(item: Item, cursor: unknown): unknown;
  /** The user's options. */
  readonly options: IterationOptions | undefined;
}

/** What the iterations of one execution share. */
export interface Iteration {
  /** The engine. */
  readonly deps: IterDeps;
  /** The cursor. */
  readonly position: Position;
  /** The checks before every item, as far as they are registered. */
  readonly throttles: Throttle[];
  /** The source that is being iterated; null between sources. */
  active: string | null;
}

/** Ends an iteration as complete. */
export const STOP: IterationStop = Object.freeze({ stop: true, silent: false });
/** Ends an iteration without `onComplete`. */
export const STOP_SILENTLY: IterationStop = Object.freeze({ stop: true, silent: true });

/** Iterates over a source from the cursor on. */
export async function drive<Item>(iteration: Iteration, plan: Plan<Item>): Promise<void> {
  const { position } = iteration;
  const options = checkOptions(plan.options);
  claim(iteration, plan.source);
  const run: Run<Item> = { iteration, plan, options, items: 0, pulling: false };
  try {
    const pairs = await plan.open(position.cursor);
    if (pairs === null || pairs === undefined) return tell(run, "nil-source");
    tell(run, "built");
    const end = await walk(run, pairs);
    await position.flush();
    if (run.items === 0 && !("reason" in end)) tell(run, "not-found");
    await options.onShutdown?.();
    if ("reason" in end) interrupt(run, end);
    if (!end.silent) await options.onComplete?.();
    tell(run, "completed");
  } finally {
    iteration.active = null;
  }
}

/** One iteration under way. */
interface Run<Item> {
  readonly iteration: Iteration;
  readonly plan: Plan<Item>;
  readonly options: IterationOptions;
  /** Items processed so far. */
  items: number;
  /** Whether a pair is being asked for. */
  pulling: boolean;
}

/**
 * One cursor serves one source at a time. A second source that took the first one's cursor for its
 * own would leave out items without a word, so it is refused unless the body has set the cursor since.
 */
function claim(iteration: Iteration, source: string): void {
  iteration.position.ensureRunning();
  if (iteration.active !== null) {
    throw new InvalidInputError(
      `Cannot call iter.${source}() within iter.${iteration.active}(): ` +
        `the cursor belongs to the outer iteration; use iter.overNested()`,
    );
  }
  if (iteration.position.heldBySource) {
    throw new InvalidInputError(
      `Cannot call iter.${source}() after another source: the cursor is where that one ended; ` +
        `make a step of each`,
    );
  }
  iteration.active = source;
}

/** Walks to the end, a stop or an interruption; the pairs are closed however it ends. */
async function walk<Item>(
  run: Run<Item>,
  pairs: Pairs<Item>,
): Promise<IterationStop | InterruptRequest> {
  const { deps } = run.iteration;
  try {
    if (deps.firstOfChain) await run.options.onStart?.();
    else tell(run, "resumed");
    const end = await consume(run, pairs);
    if (end !== null) await close(run, pairs);
    return end ?? STOP;
  } catch (error) {
    await flushAfterError(run.iteration);
    // An iterator that threw has ended by itself.
    if (!run.pulling) await close(run, pairs);
    if (deps.isSignal(error)) await run.options.onShutdown?.();
    throw error;
  }
}

/** The loop itself; null when the pairs came to their end. */
async function consume<Item>(
  run: Run<Item>,
  pairs: Pairs<Item>,
): Promise<IterationStop | InterruptRequest | null> {
  const { iteration: { deps, position }, plan, options } = run;
  const throttles = [...run.iteration.throttles];
  const announces = deps.listensToItems();
  while (!pairs.isExhausted?.()) {
    if (throttles.length > 0) {
      const held = await heldBack(throttles);
      if (held !== null) return held;
    }
    run.pulling = true;
    const pulled = pairs.next();
    const { done, value } = isPromise(pulled) ? await pulled : pulled;
    run.pulling = false;
    if (done) return null;
    const item = value[0];
    const cursor = value[1];
    const snapshot = position.snapshot(cursor);
    const called = options.aroundIteration === undefined
      ? plan.call(item, cursor)
      : callAround(run, item, cursor);
    const result = isPromise(called) ? await called : called;
    run.items++;
    if (result !== undefined && isStop(result)) return result;
    position.move(cursor, snapshot);
    if (isDue(options, position, deps.clock)) await position.flush();
    if (announces) tell(run, "iteration");
    const request = position.check();
    // The work is done: to stop now would only leave an execution with nothing to do.
    if (request !== null && !pairs.isExhausted?.()) return request;
  }
  return null;
}

async function callAround<Item>(run: Run<Item>, item: Item, cursor: unknown): Promise<unknown> {
  let result: unknown;
  await run.options.aroundIteration?.(async () => {
    result = await run.plan.call(item, cursor);
  }, item);
  return result;
}

function isPromise<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === "object" && value !== null &&
    typeof (value as PromiseLike<T>).then === "function";
}

function isStop(result: unknown): result is IterationStop {
  if (result === STOP || result === STOP_SILENTLY) return true;
  if (typeof result !== "object" || result === null || !("stop" in result)) return false;
  if (result.stop !== true) return false;
  throw new InvalidInputError(
    "Cannot stop the iteration: the callback returned an unknown stop signal; " +
      "return iter.stop or iter.stopSilently",
  );
}

/** Stores what was done before an error, which a failure to store must not hide. */
async function flushAfterError({ deps, position }: Iteration): Promise<void> {
  // When the error is that of the write itself, a second one would fail the same way.
  if (position.writer.failed) return;
  try {
    await position.flush();
  } catch (error) {
    deps.log.warn("Cannot store the cursor after an error", { error: String(error) });
  }
}

/** Lets the source clean up. This is a courtesy: its failure is logged and changes nothing. */
async function close<Item>(run: Run<Item>, pairs: Pairs<Item>): Promise<void> {
  try {
    await pairs.return?.();
  } catch (error) {
    run.iteration.deps.log.warn("Cannot close the source", { error: String(error) });
  }
}

function interrupt<Item>(run: Run<Item>, request: InterruptRequest): never {
  const { reason, waitMs } = request;
  tell(run, reason === "throttled" ? "throttled" : "interrupted", { reason, waitMs });
  return run.iteration.position.interrupt(request);
}

function tell<Item>(
  run: Run<Item>,
  name: IterationEvent["name"],
  more: { readonly reason?: string; readonly waitMs?: number } = {},
): void {
  const { deps, position } = run.iteration;
  deps.emit({ name, source: run.plan.source, cursor: position.cursor, items: run.items, ...more });
}
