/**
 * Deciding: what a step's end means for its execution and its workflow.
 *
 * The engine turns whatever happened into one `StepResult`; this file turns the result into a
 * `Ruling`, and the ruling into the `Verdict` that a store writes. No clock is read, no user code
 * runs, nothing is awaited: a policy's wait, a handler's choice and the next step's due time are
 * found out before and handed in.
 *
 * @module
 */

import type { ExceptionAction, Policy } from "../define/definition.ts";
import type { Verdict } from "./finish.ts";
import { mergeMetadata, metadataOf } from "./metadata.ts";
import type { ExecutionRow, NewExecution, StoredError } from "./records.ts";
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
  | { readonly kind: "policy"; readonly policy: Policy; readonly cap: number | null; readonly waitMs: number }
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
  /** Its worker is gone, or its job was lost. */
  | { readonly kind: "recovered"; readonly action: "reattempt" | "cancel" };

/** What is known when a step has ended. */
export interface Situation {
  /** The execution as it was claimed. */
  readonly execution: ExecutionRow;
  /** The cursor as it was last stored. */
  readonly cursor: string | null;
  /** Whether the step has a cursor. */
  readonly resumable: boolean;
  /** How many continuations in a row may leave the cursor where it was; null: any number. */
  readonly maxUnchanged: number | null;
  /** How long the body ran, in milliseconds. */
  readonly ranMs: number;
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

/** Decides what a step's end means. */
export function decide(result: StepResult, situation: Situation): Ruling {
  switch (result.kind) {
    case "completed":
      return completed(situation);
    case "flow":
      return flow(result.flow, situation);
    case "interrupted":
      return interrupted(result, situation);
    case "precondition":
      return precondition(result);
    case "error":
      return failed(result, situation);
    case "recovered":
      return recovered(result, situation);
  }
}

/** Turns a ruling into what the store writes, once the execution that follows is planned. */
export function verdictOf(
  ruling: Ruling,
  plan: { stepName: string; next: NewExecution | null },
): Verdict {
  const { then, terminal: _, ...rest } = ruling;
  if (then.to === "end") {
    const nextStepName = then.workflowState === "finished" ? null : plan.stepName;
    return { ...rest, workflowState: then.workflowState, nextStepName, next: null };
  }
  return {
    ...rest,
    workflowState: plan.next === null ? "finished" : "ready",
    nextStepName: plan.next?.stepName ?? null,
    next: plan.next,
  };
}

function completed({ cursor, execution }: Situation): Ruling {
  const lastCursor = cursor === null ? undefined : JSON.parse(cursor);
  return {
    ...ORDINARY,
    closing: { state: "completed", outcome: "success", cause: null },
    metadata: mergeMetadata(execution.metadata, { lastCursor }),
    keepCursor: false,
    then: { to: "next" },
  };
}

function flow(request: FlowRequest, situation: Situation): Ruling {
  const { execution, resumable } = situation;
  const base = { ...ORDINARY, metadata: execution.metadata };
  const cause = "flow_control";
  switch (request.action) {
    case "cancel":
      return {
        ...base,
        closing: { state: "canceled", outcome: "canceled", cause },
        then: { to: "end", workflowState: "canceled" },
      };
    case "pause":
      return {
        ...base,
        closing: resumable
          ? { state: "completed", outcome: "workflow_paused", cause }
          : { state: "canceled", outcome: "canceled", cause },
        then: { to: "end", workflowState: "paused" },
      };
    case "skip":
      return {
        ...base,
        closing: { state: "skipped", outcome: "skipped", cause },
        then: { to: "next" },
      };
    case "finish":
      return {
        ...base,
        closing: { state: "completed", outcome: "success", cause },
        then: { to: "end", workflowState: "finished" },
      };
    case "reattempt":
      return {
        ...base,
        closing: { state: "completed", outcome: "reattempted", cause },
        metadata: mergeMetadata(execution.metadata, { reattemptReason: "flow_control" }),
        then: again(situation, {
          waitMs: request.waitMs,
          attempt: execution.attempt + 1,
          failures: execution.failures,
          rewind: request.rewind,
        }),
      };
  }
}

/**
 * A resumable step goes on in a successor. A plain step that gave up when it was asked to runs
 * again, and neither counts as a failure.
 */
function interrupted(
  result: Extract<StepResult, { kind: "interrupted" }>,
  situation: Situation,
): Ruling {
  const { execution, resumable } = situation;
  if (!resumable) {
    return {
      ...ORDINARY,
      closing: { state: "completed", outcome: "reattempted", cause: "interrupt" },
      metadata: mergeMetadata(execution.metadata, {
        reattemptReason: "interrupt",
        interruptReason: result.reason,
      }),
      then: again(situation, {
        waitMs: result.waitMs,
        attempt: execution.attempt,
        failures: execution.failures,
      }),
    };
  }
  const unchanged = unchangedCount(result, situation);
  const chain = chainOf(situation);
  const metadata = { interruptReason: result.reason, chain };
  if (situation.maxUnchanged !== null && unchanged > situation.maxUnchanged) {
    return stalled(unchanged, situation);
  }
  return {
    ...ORDINARY,
    closing: { state: "completed", outcome: "continued", cause: "interrupt" },
    metadata: mergeMetadata(execution.metadata, metadata),
    then: again(situation, {
      waitMs: result.waitMs,
      attempt: execution.attempt,
      failures: 0,
      extra: { chain, unchanged: unchanged === 0 ? undefined : unchanged },
    }),
  };
}

/** A chain that keeps continuing without moving its cursor would go on for ever: it is paused. */
function stalled(unchanged: number, situation: Situation): Ruling {
  const error: StoredError = {
    errorClass: "CursorError",
    message: `Step "${situation.execution.stepName}" was continued ${unchanged} times without ` +
      `moving its cursor; set the cursor after each item, or wait between continuations`,
    stack: null,
  };
  return {
    ...ORDINARY,
    closing: { state: "failed", outcome: "failed", cause: "interrupt" },
    error,
    metadata: mergeMetadata(situation.execution.metadata, { exception: exceptionOf(error) }),
    then: { to: "end", workflowState: "paused" },
    terminal: true,
  };
}

function unchangedCount(
  result: Extract<StepResult, { kind: "interrupted" }>,
  { execution, cursor }: Situation,
): number {
  const moved = cursor !== execution.cursor;
  const patient = result.waitMs > 0 || result.reason === "shutdown";
  if (moved || patient) return 0;
  const before = metadataOf(execution.metadata).unchanged;
  return (typeof before === "number" ? before : 0) + 1;
}

/** The run time and the interruptions of a whole chain travel from chunk to chunk. */
function chainOf({ execution, ranMs }: Situation): { interruptions: number; ranMs: number } {
  const before = metadataOf(execution.metadata).chain as Partial<Record<string, unknown>> | undefined;
  const interruptions = typeof before?.interruptions === "number" ? before.interruptions : 0;
  const total = typeof before?.ranMs === "number" ? before.ranMs : 0;
  return { interruptions: interruptions + 1, ranMs: total + ranMs };
}

function precondition(result: Extract<StepResult, { kind: "precondition" }>): Ruling {
  const base = { ...ORDINARY, metadata: JSON.stringify({ reason: result.why }), bodyStarted: false };
  return result.action === "skip"
    ? {
      ...base,
      closing: { state: "skipped", outcome: "skipped", cause: "condition" },
      then: { to: "next" },
    }
    : {
      ...base,
      closing: { state: "canceled", outcome: "canceled", cause: "condition" },
      then: { to: "end", workflowState: "canceled" },
    };
}

function recovered(
  result: Extract<StepResult, { kind: "recovered" }>,
  situation: Situation,
): Ruling {
  const base = { ...ORDINARY, metadata: situation.execution.metadata };
  if (result.action === "cancel") {
    return {
      ...base,
      closing: { state: "canceled", outcome: "recovered", cause: "recovery" },
      then: { to: "end", workflowState: "canceled" },
    };
  }
  return {
    ...base,
    closing: { state: "completed", outcome: "recovered", cause: "recovery" },
    then: again(situation, { waitMs: 0, attempt: 1, failures: 0 }),
  };
}

type ErrorResult = Extract<StepResult, { kind: "error" }>;

function failed(result: ErrorResult, situation: Situation): Ruling {
  const { handling } = result;
  if (handling.kind === "pause") return failedBy("pause", result, situation);
  if (handling.kind === "handler") return handled(handling.flow, result, situation);
  const { policy, cap } = handling;
  if (policy.action !== "reattempt") return failedBy(policy.action ?? "pause", result, situation);
  const count = failuresBefore(situation) + 1;
  if (cap !== null && count > cap) {
    return { ...failedBy(policy.terminalAction, result, situation), terminal: true };
  }
  return reattempted(result, situation, { waitMs: handling.waitMs, rewind: false });
}

function handled(request: FlowRequest | null, result: ErrorResult, situation: Situation): Ruling {
  if (request === null) return failedBy("pause", result, situation);
  switch (request.action) {
    case "finish":
      return {
        ...flow(request, situation),
        metadata: withException(result, situation),
        bodyStarted: result.phase === "body",
      };
    case "reattempt":
      return reattempted(result, situation, request);
    default:
      return failedBy(request.action, result, situation);
  }
}

/** A failure after the cursor moved starts the count again: the step does make progress. */
function failuresBefore({ execution, cursor }: Situation): number {
  return cursor !== execution.cursor ? 0 : execution.failures;
}

function reattempted(
  result: ErrorResult,
  situation: Situation,
  how: { waitMs: number; rewind: boolean },
): Ruling {
  const reason = result.phase === "condition" ? "precondition" : "exception_policy";
  return {
    ...ORDINARY,
    closing: { state: "completed", outcome: "reattempted", cause: "exception" },
    metadata: mergeMetadata(withException(result, situation), { reattemptReason: reason }),
    bodyStarted: result.phase === "body",
    then: again(situation, {
      waitMs: how.waitMs,
      attempt: situation.execution.attempt + 1,
      failures: failuresBefore(situation) + 1,
      rewind: how.rewind,
      extra: { previousError: { class: result.error.errorClass, message: result.error.message } },
    }),
  };
}

function failedBy(
  action: Exclude<ExceptionAction, "reattempt">,
  result: ErrorResult,
  situation: Situation,
): Ruling {
  const base = {
    ...ORDINARY,
    error: result.error,
    metadata: withException(result, situation),
    bodyStarted: result.phase === "body",
  };
  const cause = "exception";
  switch (action) {
    case "pause":
      return {
        ...base,
        closing: { state: "failed", outcome: "failed", cause },
        then: { to: "end", workflowState: "paused" },
      };
    case "cancel":
      return {
        ...base,
        closing: { state: "failed", outcome: "canceled", cause },
        then: { to: "end", workflowState: "canceled" },
      };
    case "skip":
      // A step whose hero could not even be loaded was not skipped by anybody: it stays failed.
      return {
        ...base,
        closing: result.phase === "prepare"
          ? { state: "failed", outcome: "failed", cause }
          : { state: "skipped", outcome: "skipped", cause },
        then: { to: "next" },
      };
  }
}

function again(
  { execution, cursor, resumable }: Situation,
  how: {
    waitMs: number;
    attempt: number;
    failures: number;
    rewind?: boolean;
    extra?: Record<string, unknown>;
  },
): Then {
  const { event, chain } = metadataOf(execution.metadata);
  return {
    to: "again",
    waitMs: how.waitMs,
    attempt: how.attempt,
    failures: how.failures,
    continuesFromId: resumable ? execution.id : null,
    cursor: how.rewind ? null : cursor,
    metadata: mergeMetadata(null, { event, chain, ...how.extra }),
  };
}

function withException({ error }: ErrorResult, { execution }: Situation): string | null {
  return mergeMetadata(execution.metadata, { exception: exceptionOf(error) });
}

function exceptionOf(error: StoredError): Record<string, unknown> {
  return {
    class: error.errorClass,
    message: error.message,
    stack: error.stack === null ? [] : error.stack.split("\n"),
  };
}

const ORDINARY = {
  error: null,
  metadata: null,
  keepCursor: true,
  bodyStarted: true,
  terminal: false,
} as const;
