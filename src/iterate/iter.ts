/**
 * The iter object of a resumable step: its cursor, its checkpoints and its sources.
 *
 * @module
 */

import type { Iter, ResumablePart } from "../define/context.ts";
import { durationMs } from "../define/durations.ts";
import type { Progress } from "../define/records.ts";
import { CursorError, InvalidInputError } from "../errors.ts";
import { messageText } from "../state/stored_error.ts";
import type { InterruptRequest, IterDeps } from "./deps.ts";
import { type Iteration, STOP, STOP_SILENTLY } from "./drive.ts";
import { createPosition, type Position } from "./position.ts";
import { createSources } from "./sources.ts";

export type {
  CheckpointUpdate,
  InterruptRequest,
  IterationEvent,
  IterDeps,
  StopReason,
} from "./deps.ts";

/** What the engine reads when the body has ended. */
export interface IterState {
  /** The cursor, decoded. */
  readonly cursor: unknown;
  /** Whether the cursor was set in this execution. */
  readonly advanced: boolean;
  /** Progress that no checkpoint has stored yet. */
  readonly pendingProgress: Progress | null;
  /** Whether items were done that have no cursor, so that the cursor cannot show the progress. */
  readonly cursorless: boolean;
  /** Resolves when no write is under way: also those that the body did not await. */
  settled(): Promise<void>;
}

/** What a resumable step is given, and what the engine keeps. */
export interface CreatedIter extends ResumablePart {
  /** For the engine. */
  readonly state: IterState;
}

/** Makes the iter object, and `suspend`, of one execution. */
export function createIter(deps: IterDeps): CreatedIter {
  const position = createPosition(deps);
  const iteration: Iteration = { deps, position, throttles: [], active: null };

  /** Ends the execution from within the body; a source that is under way cleans up on its way out. */
  function interrupt(request: InterruptRequest): never {
    position.ensureRunning();
    const { reason, waitMs } = request;
    const source = iteration.active;
    deps.emit({ name: "interrupted", source, cursor: position.cursor, items: 0, reason, waitMs });
    return position.interrupt(request);
  }

  function stopIfAsked(): void {
    const request = position.check();
    if (request !== null) interrupt(request);
  }

  const iter: Iter & { toString(): string } = {
    get cursor(): unknown {
      return position.cursor;
    },
    get advanced(): boolean {
      return position.advanced;
    },
    resumed: deps.resumed,
    stop: STOP,
    stopSilently: STOP_SILENTLY,
    set: (value) => rejecting(() => position.store(position.encode(value), stopIfAsked)),
    advance: ({ from } = {}) => position.store((cursor) => successor(from ?? cursor), stopIfAsked),
    checkpoint: () => position.keep(stopIfAsked),
    skipTo: (value, options) =>
      rejecting(() => {
        const waitMs = waitOf(options, "skipTo");
        const next = position.encode(value);
        return position.store(next, () => interrupt(request("skip_to", waitMs))) as Promise<never>;
      }),
    progress(done, total = null, message = null): void {
      position.writer.note(checkedProgress({ done, total, message }));
    },
    ...createSources(iteration),
    toString: () => `iter of step "${deps.stepName}" at ${stored(position.cursor, deps)}`,
  };

  return {
    iter,
    suspend: (options) => interrupt(request("suspend", waitOf(options, "suspend"))),
    state: stateOf(position),
  };
}

function stateOf(position: Position): IterState {
  return {
    get cursor(): unknown {
      return position.cursor;
    },
    get advanced(): boolean {
      return position.advanced;
    },
    get pendingProgress(): Progress | null {
      return position.writer.pendingProgress;
    },
    get cursorless(): boolean {
      return position.cursorless;
    },
    settled: position.writer.settled,
  };
}

/**
 * Makes a rejection of what is thrown at the call, where the snapshot is taken. It hands on the
 * writer's own promise, which is safe to leave alone when an interruption rejects it.
 */
function rejecting<T>(call: () => Promise<T>): Promise<T> {
  try {
    return call();
  } catch (error) {
    return Promise.reject(error);
  }
}

function request(reason: InterruptRequest["reason"], waitMs: number): InterruptRequest {
  return { kind: "interrupt", reason, waitMs };
}

function waitOf(options: { readonly wait?: unknown } | undefined, what: string): number {
  const wait = options?.wait;
  return wait === undefined ? 0 : durationMs(wait, `the wait of ${what}()`);
}

function successor(cursor: unknown): number | bigint {
  if (typeof cursor === "bigint") return cursor + 1n;
  if (Number.isSafeInteger(cursor) && cursor !== Number.MAX_SAFE_INTEGER) {
    return (cursor as number) + 1;
  }
  throw new CursorError(
    `Cannot advance the cursor: it is ${shown(cursor)}, an integer is required; ` +
      `give one with advance({ from }), or use set()`,
  );
}

function checkedProgress(progress: Progress): Progress {
  const { done, total, message } = progress;
  const counts = Number.isFinite(done) && (total === null || Number.isFinite(total));
  if (counts && message === null) return progress;
  // Like the message of an error it is for people: nothing in it may keep a cursor from its row.
  if (counts && typeof message === "string") return { done, total, message: messageText(message) };
  throw new InvalidInputError("Cannot note progress: give two numbers and a text");
}

/** A cursor as it stands in its column, cut to size; one that the body spoilt is only named. */
function stored(cursor: unknown, deps: IterDeps): string {
  if (typeof cursor !== "object" || cursor === null) return shown(cursor);
  try {
    return deps.encode(cursor)?.slice(0, 200) ?? "null";
  } catch {
    return "an object that cannot be stored";
  }
}

function shown(cursor: unknown): string {
  if (typeof cursor === "bigint") return `${cursor}n`;
  try {
    return JSON.stringify(cursor)?.slice(0, 200) ?? String(cursor);
  } catch {
    return typeof cursor;
  }
}
