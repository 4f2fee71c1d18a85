/**
 * What a decision is made of: how a step ended, what is known then, and the ruling that follows.
 *
 * @module
 */

import type { Policy } from "../define/definition.ts";
import { isSameJson, mergeMetadata, metadataOf } from "./metadata.ts";
import type { ExecutionRow, StoredError } from "./records.ts";
import type { SameText } from "./same_text.ts";
import type { Closing } from "./transitions.ts";

/** What a body, or a handler, asked for. */
export type FlowRequest =
  | { readonly action: "cancel" | "pause" | "skip" | "finish" }
  | { readonly action: "reattempt"; readonly waitMs: number; readonly rewind: boolean };

/** Where an error came from: finding the hero, a condition, or the body with its hooks. */
export type ErrorPhase = "prepare" | "condition" | "body";

/** What is done about an error, found out before deciding. */
export type Handling =
  /** A policy: its action, the cap of its list, and the wait it computed. */
  | {
    readonly kind: "policy";
    readonly policy: Policy;
    readonly cap: number | null;
    readonly waitMs: number;
  }
  /** A handler ran; null: it asked for nothing, so the workflow is paused. */
  | { readonly kind: "handler"; readonly flow: FlowRequest | null }
  /** Nothing can be done but to pause: a handler or a wait function failed, or the rows do not fit. */
  | { readonly kind: "pause" };

/** How a step ended. */
export type StepResult =
  | { readonly kind: "completed" }
  | { readonly kind: "flow"; readonly flow: FlowRequest }
  /** A resumable step stopped at a checkpoint, or a plain one gave up because it was asked to. */
  | { readonly kind: "interrupted"; readonly reason: string; readonly waitMs: number }
  /** A condition, a missing hero or a tombstone: the body never ran. */
  | { readonly kind: "precondition"; readonly action: "skip" | "cancel"; readonly why: string }
  | {
    readonly kind: "error";
    readonly phase: ErrorPhase;
    readonly error: StoredError;
    readonly handling: Handling;
  }
  /** Its worker is gone; or its job was lost, and then `bodyStarted` is false. */
  | {
    readonly kind: "recovered";
    readonly action: "reattempt" | "cancel";
    readonly bodyStarted?: boolean | undefined;
  };

/** What is known when a step has ended. */
export interface Situation {
  /** The execution as it was claimed. */
  readonly execution: ExecutionRow;
  /** The cursor as it was last stored. */
  readonly cursor: string | null;
  /** How texts of cursors are compared; absent: as JSON. */
  readonly isSameCursor?: SameText | undefined;
  /** Whether the step has a cursor. */
  readonly resumable: boolean;
  /** How many continuations in a row may leave the cursor where it was; null: any number. */
  readonly maxUnchanged: number | null;
  /** How many workers in a row may die over the step at one place; null: any number. */
  readonly maxRecoveries: number | null;
  /** How long the body ran, in milliseconds. */
  readonly ranMs: number;
  /** A random number from 0 to 1, to part what would otherwise happen at the same moment. */
  readonly chance: number;
}

/** Where a workflow goes from here. */
export type Then =
  | { readonly to: "next" }
  | { readonly to: "end"; readonly workflowState: "finished" | "canceled" | "paused" }
  | {
    readonly to: "again";
    readonly waitMs: number;
    readonly attempt: number;
    readonly failures: number;
    readonly continuesFromId: string | null;
    readonly cursor: string | null;
    readonly metadata: string | null;
  };

/** A decision, before the next step's due time is known. */
export interface Ruling {
  /** How the execution closes. */
  readonly closing: Closing;
  /** The error for the error columns. */
  readonly error: StoredError | null;
  /** The metadata column's new text. */
  readonly metadata: string | null;
  /** Whether the cursor stays on the closed row. */
  readonly keepCursor: boolean;
  /** Whether the body had started. */
  readonly bodyStarted: boolean;
  /** Where the workflow goes. */
  readonly then: Then;
  /** True when reattempts were exhausted and the terminal action was taken. */
  readonly terminal: boolean;
}

/** What most rulings have in common. */
export const ORDINARY = {
  error: null,
  keepCursor: true,
  bodyStarted: true,
  terminal: false,
} as const;

/** How the same step runs again. */
export interface AgainOptions {
  /** How long it waits first. */
  readonly waitMs: number;
  /** Which attempt it is then. */
  readonly attempt: number;
  /** Consecutive error reattempts by then. */
  readonly failures: number;
  /** Whether the body of this execution had started. */
  readonly bodyStarted: boolean;
  /** Start over instead of continuing from the cursor. */
  readonly rewind?: boolean;
  /** What to write into its metadata beside the event and the totals of the chain. */
  readonly extra?: Record<string, unknown>;
}

/**
 * The same step once more: with the event it received, and from the cursor. A resumable step is
 * linked to what it continues, unless no body of the chain has started yet.
 */
export function again({ execution, cursor, resumable }: Situation, how: AgainOptions): Then {
  const { event, chain } = metadataOf(execution.metadata);
  const begun = how.bodyStarted || execution.continuesFromId !== null;
  return {
    to: "again",
    waitMs: how.waitMs,
    attempt: how.attempt,
    failures: how.failures,
    continuesFromId: resumable && begun ? execution.id : null,
    cursor: how.rewind ? null : cursor,
    metadata: mergeMetadata(null, { event, chain, ...how.extra }),
  };
}

/** Whether the cursor moved in this execution: then the count of failures starts again. */
export function hasProgressed(
  { execution, cursor, isSameCursor = isSameJson }: Pick<
    Situation,
    "execution" | "cursor" | "isSameCursor"
  >,
): boolean {
  return !isSameCursor(cursor, execution.cursor);
}
