/**
 * What an error means, once it is known what is done about it.
 *
 * @module
 */

import type { ExceptionAction } from "../define/definition.ts";
import { ruleOnFlow } from "./flow_control.ts";
import { mergeMetadata } from "./metadata.ts";
import {
  again,
  type FlowRequest,
  hasProgressed,
  ORDINARY,
  type Ruling,
  type Situation,
  type StepResult,
} from "./ruling.ts";
import { exceptionOf } from "./stored_error.ts";

type ErrorResult = Extract<StepResult, { kind: "error" }>;

/** Rules on an error. */
export function ruleOnError(result: ErrorResult, situation: Situation): Ruling {
  const { handling } = result;
  if (handling.kind === "pause") return failedBy("pause", result, situation);
  if (handling.kind === "handler") return handled(handling.flow, result, situation);
  const { policy, cap } = handling;
  if (policy.action !== "reattempt") return failedBy(policy.action ?? "pause", result, situation);
  if (cap !== null && countOf(situation).failures > cap) {
    return { ...failedBy(policy.terminalAction, result, situation), terminal: true };
  }
  return reattempted(result, situation, { waitMs: handling.waitMs, rewind: false });
}

function handled(request: FlowRequest | null, result: ErrorResult, situation: Situation): Ruling {
  if (request === null) return failedBy("pause", result, situation);
  switch (request.action) {
    case "finish": {
      const finished = ruleOnFlow(request, situation);
      return {
        ...finished,
        metadata: mergeMetadata(finished.metadata, { exception: exceptionOf(result.error) }),
        bodyStarted: result.phase === "body",
      };
    }
    case "reattempt":
      return reattempted(result, situation, request);
    default:
      return failedBy(request.action, result, situation);
  }
}

/** The counts with this failure; one after the cursor moved is the first again. */
function countOf(situation: Situation): { attempt: number; failures: number } {
  const { execution } = situation;
  return hasProgressed(situation)
    ? { attempt: 1, failures: 1 }
    : { attempt: execution.attempt, failures: execution.failures + 1 };
}

function reattempted(
  result: ErrorResult,
  situation: Situation,
  how: { waitMs: number; rewind: boolean },
): Ruling {
  const reason = result.phase === "condition" ? "precondition" : "exception_policy";
  const bodyStarted = result.phase === "body";
  const { attempt, failures } = countOf(situation);
  return {
    ...ORDINARY,
    closing: { state: "completed", outcome: "reattempted", cause: "exception" },
    metadata: mergeMetadata(situation.execution.metadata, {
      exception: exceptionOf(result.error),
      reattemptReason: reason,
    }),
    bodyStarted,
    then: again(situation, {
      waitMs: how.waitMs,
      attempt: attempt + 1,
      failures,
      bodyStarted,
      rewind: how.rewind,
      extra: { previousError: { class: result.error.errorClass, message: result.error.message } },
    }),
  };
}

function failedBy(
  action: Exclude<ExceptionAction, "reattempt">,
  result: ErrorResult,
  { execution }: Situation,
): Ruling {
  const base = {
    ...ORDINARY,
    error: result.error,
    metadata: mergeMetadata(execution.metadata, { exception: exceptionOf(result.error) }),
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
