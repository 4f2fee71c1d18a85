/**
 * What an iteration asks of the engine, and what it tells it.
 *
 * @module
 */

import type { Logger } from "../define/context.ts";
import type { Progress } from "../define/records.ts";
import type { Clock } from "../seams/clock.ts";

/** Why somebody asks a body to stop: one of these, or a queue driver's own words. */
export type StopReason =
  | "shutdown"
  | "paused"
  | "canceled"
  | "lost_lease"
  | (string & Record<never, never>);

/** The request to end this execution here and to go on from the cursor in another one. */
export interface InterruptRequest {
  /** Tells it from the requests of the other flow functions. */
  readonly kind: "interrupt";
  /** Why: a limit, somebody's wish, or the body's own. */
  readonly reason:
    | "max_iterations"
    | "max_runtime"
    | "skip_to"
    | "suspend"
    | "throttled"
    | StopReason;
  /** How long to wait before the other execution; 0: not at all. */
  readonly waitMs: number;
}

/** What the sources tell about an iteration. */
export interface IterationEvent {
  /** What happened. */
  readonly name:
    | "built"
    | "nil-source"
    | "resumed"
    | "throttled"
    | "iteration"
    | "not-found"
    | "interrupted"
    | "completed";
  /** The method of `iter` that it happened in; null for a checkpoint of the body's own. */
  readonly source: string | null;
  /** The cursor at that moment. */
  readonly cursor: unknown;
  /** Items processed so far in this execution by this source. */
  readonly items: number;
  /** Why it was interrupted. */
  readonly reason?: string;
  /** How long the continuation waits. */
  readonly waitMs?: number;
}

/** What is stored at a checkpoint; what is left out stays as it is. */
export interface CheckpointUpdate {
  /** The cursor as JSON text; null: none. */
  readonly cursor?: string | null;
  /** How far the body says it is. */
  readonly progress?: Progress;
}

/** What the engine provides for one execution of a resumable step. */
export interface IterDeps {
  /** The step's name, for messages. */
  readonly stepName: string;
  /** Where to continue, decoded; a copy of the step's `start`, or null, at first. */
  readonly initialCursor: unknown;
  /** Whether this execution continues another one. */
  readonly resumed: boolean;
  /** Whether it is the first of its chain and of its attempts: only then `onStart` is called. */
  readonly firstOfChain: boolean;
  /** Checkpoints per execution; null: no limit. */
  readonly maxIterations: number | null;
  /** Milliseconds per execution; null: no limit. */
  readonly maxRuntimeMs: number | null;
  /** When this execution started, on the same clock. */
  readonly startedAtMs: number;
  /** The engine's clock. */
  readonly clock: Pick<Clock, "now">;
  /** The body's logger. */
  readonly log: Logger;
  /** Stores; resolves once it is durable. What it learns meanwhile, `shouldStop` then says. */
  save(update: CheckpointUpdate): Promise<void>;
  /** Whether somebody asks to stop, and why; asked once per checkpoint and per item, without I/O. */
  shouldStop(): StopReason | null;
  /** Records the request and throws the engine's own signal; called once at the most. */
  interrupt(request: InterruptRequest): never;
  /** Whether what was thrown is only the way out of the body: an interruption or a flow call. */
  isSignal(thrown: unknown): boolean;
  /** Writes a cursor as it is stored; throws `CursorError` for what cannot be. */
  encode(value: unknown): string | null;
  /** Reads what `encode` wrote. */
  decode(text: string): unknown;
  /** Tells about the iteration; must not throw. */
  emit(event: IterationEvent): void;
  /** Whether anybody wants an event for every single item. */
  listensToItems(): boolean;
}
