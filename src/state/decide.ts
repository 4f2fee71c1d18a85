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

import { ruleOnError } from "./failure.ts";
import type { Verdict } from "./finish.ts";
import { ruleOnFlow, succeeded } from "./flow_control.ts";
import { ruleOnInterruption, withChain } from "./interruption.ts";
import { ruleOnRecovery } from "./recovery.ts";
import { mergeMetadata } from "./metadata.ts";
import type { NewExecution } from "./records.ts";
import { ORDINARY, type Ruling, type Situation, type StepResult } from "./ruling.ts";

export type {
  ErrorPhase,
  FlowRequest,
  Handling,
  Ruling,
  Situation,
  StepResult,
  Then,
} from "./ruling.ts";

/** Decides what a step's end means. */
export function decide(result: StepResult, situation: Situation): Ruling {
  return withChain(ruleOn(result, situation), situation);
}

function ruleOn(result: StepResult, situation: Situation): Ruling {
  switch (result.kind) {
    case "completed":
      return { ...succeeded(situation, null), then: { to: "next" } };
    case "flow":
      return ruleOnFlow(result.flow, situation);
    case "interrupted":
      return ruleOnInterruption(result, situation);
    case "precondition":
      return ruleOnPrecondition(result, situation);
    case "error":
      return ruleOnError(result, situation);
    case "recovered":
      return ruleOnRecovery(result, situation);
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

function ruleOnPrecondition(
  result: Extract<StepResult, { kind: "precondition" }>,
  { execution }: Situation,
): Ruling {
  const base = {
    ...ORDINARY,
    metadata: mergeMetadata(execution.metadata, { reason: result.why }),
    bodyStarted: false,
  };
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
