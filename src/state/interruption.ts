/**
 * What an interruption means: a resumable step goes on in a successor, a plain one runs again.
 *
 * @module
 */

import { mergeMetadata, metadataOf } from "./metadata.ts";
import type { StoredError } from "./records.ts";
import {
  again,
  hasProgressed,
  ORDINARY,
  type Ruling,
  type Situation,
  type StepResult,
} from "./ruling.ts";
import { exceptionOf } from "./stored_error.ts";

type Interrupted = Extract<StepResult, { kind: "interrupted" }>;

/**
 * Rules on an interruption. A resumable step goes on in a successor; a plain step that gave up when
 * it was asked to runs again. Neither counts as a failure or as another attempt, so the error of
 * the attempt before is handed on.
 */
export function ruleOnInterruption(result: Interrupted, situation: Situation): Ruling {
  const { execution, resumable } = situation;
  const { previousError } = metadataOf(execution.metadata);
  const metadata = mergeMetadata(execution.metadata, { interruptReason: result.reason });
  if (!resumable) {
    return {
      ...ORDINARY,
      closing: { state: "completed", outcome: "reattempted", cause: "interrupt" },
      metadata,
      then: again(situation, {
        waitMs: result.waitMs,
        attempt: execution.attempt,
        failures: execution.failures,
        bodyStarted: true,
        extra: { previousError },
      }),
    };
  }
  const unchanged = unchangedCount(result, situation);
  if (situation.maxUnchanged !== null && unchanged > situation.maxUnchanged) {
    return stalled(unchanged, situation);
  }
  return {
    ...ORDINARY,
    closing: { state: "completed", outcome: "continued", cause: "interrupt" },
    metadata,
    then: again(situation, {
      waitMs: result.waitMs,
      attempt: execution.attempt,
      failures: 0,
      bodyStarted: true,
      extra: { previousError, unchanged: unchanged === 0 ? undefined : unchanged },
    }),
  };
}

/** A chain that keeps continuing without moving its cursor would go on for ever: it is paused. */
function stalled(unchanged: number, { execution }: Situation): Ruling {
  const error: StoredError = {
    errorClass: "CursorError",
    message:
      `Cannot continue step "${execution.stepName}": ${unchanged} executions in a row left ` +
      `its cursor where it was; set the cursor after each item, or wait between continuations`,
    stack: null,
  };
  return {
    ...ORDINARY,
    closing: { state: "failed", outcome: "failed", cause: "interrupt" },
    error,
    metadata: mergeMetadata(execution.metadata, { exception: exceptionOf(error) }),
    then: { to: "end", workflowState: "paused" },
    terminal: true,
  };
}

/** Interruptions that somebody else asked for: they say nothing about the step's progress. */
const ASKED_FOR: ReadonlySet<string> = new Set(["shutdown", "paused", "canceled"]);

function unchangedCount(result: Interrupted, situation: Situation): number {
  const patient = result.waitMs > 0 || ASKED_FOR.has(result.reason);
  if (hasProgressed(situation) || patient) return 0;
  const before = metadataOf(situation.execution.metadata).unchanged;
  return (typeof before === "number" ? before : 0) + 1;
}

/**
 * Adds this execution to the totals of its chain, where the chain may go on: run time and
 * interruptions travel from chunk to chunk, across failures and pauses.
 */
export function withChain(ruling: Ruling, { execution, resumable, ranMs }: Situation): Ruling {
  const { then } = ruling;
  const ended = then.to === "next" || (then.to === "end" && then.workflowState !== "paused");
  if (!resumable || !ruling.bodyStarted || ended) return ruling;
  const before = (metadataOf(execution.metadata).chain ?? {}) as Record<string, unknown>;
  const chain = {
    interruptions: countOf(before.interruptions) +
      (ruling.closing.outcome === "continued" ? 1 : 0),
    ranMs: countOf(before.ranMs) + ranMs,
  };
  return {
    ...ruling,
    metadata: mergeMetadata(ruling.metadata, { chain }),
    then: then.to === "again"
      ? { ...then, metadata: mergeMetadata(then.metadata, { chain }) }
      : then,
  };
}

function countOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
