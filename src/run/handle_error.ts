/**
 * Handling an error: which policy is for it, what its handler or its wait function says, and
 * whether the error reporter hears of it.
 *
 * This is the part of deciding that runs user code, so it happens before the decision, without a
 * lock. What user code does wrong here ends in a pause that keeps both errors.
 *
 * @module
 */

import type { ExceptionContext } from "../define/context.ts";
import type { ExceptionHandler, Policy } from "../define/definition.ts";
import { durationMs } from "../define/durations.ts";
import { resolvePolicy } from "../define/policy.ts";
import { ExceptionHandlerError, StepConfigurationError, StepTimeoutError } from "../errors.ts";
import type { FlowRequest, Handling } from "../state/decide.ts";
import { sameTextOf } from "../state/same_text.ts";
import { hasProgressed } from "../state/ruling.ts";
import { storedError, toError } from "../state/stored_error.ts";
import { createFlow, isFlowSignal } from "./flow.ts";
import type { FailedRun } from "./prepare_step.ts";
import { factsOf, stepContext, type StepScope } from "./step_scope.ts";

/** What is done about an error, and who hears of it. */
export interface Handled {
  /** For the decision. */
  readonly handling: Handling;
  /** The error to store and to rethrow: the original, or the one that handling it caused. */
  readonly error: Error;
  /** The errors to report; `terminal` says whether reattempts were exhausted. */
  reports(terminal: boolean): readonly Error[];
}

/** Finds out what is done about an error. */
export async function handleError(
  scope: StepScope,
  ran: FailedRun,
): Promise<Handled> {
  const { step, definition } = scope;
  const { error } = ran;
  if (ran.mustPause) return { error, handling: { kind: "pause" }, reports: () => [error] };
  const timedOutWaiting = error instanceof StepTimeoutError && scope.execution.waitingFor !== null;
  const own = timedOutWaiting ? step.timeoutPolicies ?? step.policies : step.policies;
  const { policy, cap } = resolvePolicy({ step: own, layers: definition.policies, error });
  if (policy.handler !== null) return await askHandler(scope, ran, policy, policy.handler);
  try {
    const waitMs = waitOf(policy, cap, scope);
    return {
      error,
      handling: { kind: "policy", policy, cap, waitMs },
      reports: (terminal) => reported(policy, terminal) ? [error] : [],
    };
  } catch (thrown) {
    return brokenWait(thrown, error, step.name);
  }
}

/** The wait before a reattempt, if there will be one; the count starts again after the cursor moved. */
function waitOf(policy: Policy, cap: number | null, scope: StepScope): number {
  if (policy.action !== "reattempt" || policy.wait === null) return 0;
  const { core, execution, cursor } = scope;
  const moved = hasProgressed({ execution, cursor, isSameCursor: sameTextOf(core.codec) });
  const count = (moved ? 0 : execution.failures) + 1;
  if (cap !== null && count > cap) return 0;
  return durationMs(policy.wait(count), "the wait of an exception policy");
}

async function askHandler(
  scope: StepScope,
  ran: FailedRun,
  policy: Policy,
  handler: ExceptionHandler,
): Promise<Handled> {
  const { error } = ran;
  const flow = createFlow(scope.log);
  try {
    const facts = ran.facts ?? scope.facts ?? factsOf(scope, null);
    await handler(Object.assign(stepContext(facts, flow), { error }) as ExceptionContext);
  } catch (thrown) {
    if (!isFlowSignal(thrown)) return brokenHandler(thrown, error);
  } finally {
    flow.close();
  }
  const request = flow.request();
  const wanted = request === null || request.action === "interrupt" ? null : request as FlowRequest;
  return {
    error,
    handling: { kind: "handler", flow: wanted },
    reports: () => policy.report === "always" ? [error] : [],
  };
}

function brokenHandler(thrown: unknown, original: Error): Handled {
  // As text, because reading what a handler threw may throw once more.
  const { message } = storedError(toError(thrown));
  return {
    error: new ExceptionHandlerError(new Error(message), original),
    handling: { kind: "pause" },
    reports: () => [original, toError(thrown)],
  };
}

function brokenWait(thrown: unknown, original: Error, stepName: string): Handled {
  const { message } = storedError(toError(thrown));
  const error = new StepConfigurationError(
    `Cannot reattempt step "${stepName}": the wait of its exception policy failed: ${message}`,
    { stepName, cause: original },
  );
  return { error, handling: { kind: "pause" }, reports: () => [original, error] };
}

function reported(policy: Policy, terminal: boolean): boolean {
  if (policy.report === "terminalOnly") return terminal;
  return policy.report === "always";
}
