// deno-lint-ignore-file explicit-function-return-type -- typed by what they are passed to
/**
 * Plays the engine for one chain of executions: it stores the cursor's text, throws a private
 * signal on interrupt, and starts the body again from the stored text until it completes.
 */

import type { ResumablePart } from "../../src/define/context.ts";
import type { Progress } from "../../src/define/records.ts";
import {
  type CheckpointUpdate,
  createIter,
  type InterruptRequest,
  type IterationEvent,
  type IterDeps,
  type IterState,
} from "../../src/iterate/iter.ts";
import { encodeCursor, jsonCodec } from "../../src/state/codec.ts";

/** The signal that ends an execution; nobody but the harness knows it. */
export class Signal extends Error {}

export type Body = (part: ResumablePart & { state: IterState }) => unknown;

export interface ChainOptions extends Partial<IterDeps> {
  /** The stored text to begin with. */
  cursor?: string | null;
  /** How many executions there may be before the chain counts as endless. */
  maxExecutions?: number;
}

/** What happened in a chain. */
export interface Chain {
  /** The cursor as it is stored. */
  cursor: string | null;
  progress: Progress | null;
  saves: CheckpointUpdate[];
  /** One request per interrupted execution. */
  requests: InterruptRequest[];
  events: IterationEvent[];
  warnings: string[];
  executions: number;
  /** How often somebody was asked whether to stop. */
  checks: number;
  now: number;
}

export function newChain(cursor: string | null = null): Chain {
  return {
    cursor,
    progress: null,
    saves: [],
    requests: [],
    events: [],
    warnings: [],
    executions: 0,
    checks: 0,
    now: 1_000_000,
  };
}

/** Runs one execution; true when it completed, false when it was interrupted. */
export async function execute(
  chain: Chain,
  body: Body,
  options: ChainOptions = {},
): Promise<boolean> {
  chain.executions++;
  let recorded = false;
  const deps: IterDeps = {
    stepName: "import",
    initialCursor: chain.cursor === null ? null : jsonCodec.decode(chain.cursor),
    resumed: chain.executions > 1,
    firstOfChain: chain.executions === 1,
    maxIterations: null,
    maxRuntimeMs: null,
    startedAtMs: chain.now,
    clock: { now: () => chain.now },
    log: {
      debug() {},
      info() {},
      warn: (message) => chain.warnings.push(message),
      error: (message) => chain.warnings.push(message),
    },
    encode: (value) => encodeCursor(jsonCodec, value),
    decode: (text) => jsonCodec.decode(text),
    emit: (event) => chain.events.push(event),
    listensToItems: () => true,
    ...options,
    shouldStop: () => {
      chain.checks++;
      return options.shouldStop?.() ?? null;
    },
    save: async (update) => {
      await options.save?.(update);
      await Promise.resolve();
      if (update.cursor !== undefined) chain.cursor = update.cursor;
      if (update.progress !== undefined) chain.progress = update.progress;
      chain.saves.push(update);
    },
    interrupt: (request) => {
      if (recorded) throw new Error("interrupt() was called twice in one execution");
      recorded = true;
      chain.requests.push(request);
      throw new Signal();
    },
    isSignal: (thrown) => thrown instanceof Signal,
  };
  const created = createIter(deps);
  try {
    await body(created);
  } catch (error) {
    if (!(error instanceof Signal)) throw error;
  }
  await created.state.settled();
  return !recorded;
}

/** Runs executions until one completes. */
export async function runChain(
  body: Body,
  options: ChainOptions = {},
  chain: Chain = newChain(options.cursor ?? null),
): Promise<Chain> {
  const limit = options.maxExecutions ?? 500;
  while (!await execute(chain, body, options)) {
    if (chain.executions >= limit) throw new Error(`no end after ${limit} executions`);
  }
  return chain;
}

/** The cursors that were stored, in order, as text. */
export function storedCursors(chain: Chain): (string | null)[] {
  return chain.saves.flatMap(({ cursor }) => cursor === undefined ? [] : [cursor]);
}

export function eventNames(chain: Chain): string[] {
  return chain.events.map(({ name }) => name);
}

/** Answers "shutdown" at every check from the n-th on. */
export function stopFrom(n: number): () => string | null {
  let asked = 0;
  return () => ++asked >= n ? "shutdown" : null;
}

export function range(n: number): number[] {
  return Array.from({ length: n }, (_, i) => i);
}
