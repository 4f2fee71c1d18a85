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
import { ExceptionHandlerError, StepTimeoutError } from "../errors.ts";
import type { FlowRequest, Handling } from "../state/decide.ts";
import { toError } from "../state/stored_error.ts";
import { createFlow, isFlowSignal } from "./flow.ts";
import type { FailedRun } from "./run_step.ts";
import { conditionContext, stepContext, type StepScope } from "./step_scope.ts";

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
    const waitMs = waitOf(policy, scope);
    return {
      error,
      handling: { kind: "policy", policy, cap, waitMs },
      reports: (terminal) => reported(policy, terminal) ? [error] : [],
    };
  } catch (thrown) {
    return broken(thrown, error, "The wait of the exception policy");
  }
}

/** The wait before a reattempt; the count starts again after the cursor moved. */
function waitOf(policy: Policy, { execution, cursor }: StepScope): number {
  if (policy.action !== "reattempt" || policy.wait === null) return 0;
  const before = cursor === execution.cursor ? execution.failures : 0;
  return durationMs(policy.wait(before + 1), "the wait of an exception policy");
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
    const context = ran.context ?? scope.conditions ?? conditionContext(scope, null);
    await handler(stepContext(context, flow, { error }) as ExceptionContext);
  } catch (thrown) {
    if (!isFlowSignal(thrown)) return broken(thrown, error, "The onException handler");
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

function broken(thrown: unknown, original: Error, what: string): Handled {
  const error = new ExceptionHandlerError(thrown, original, what);
  return {
    error,
    handling: { kind: "pause" },
    reports: () => [original, toError(thrown)],
  };
}

function reported(policy: Policy, terminal: boolean): boolean {
  if (policy.report === "terminalOnly") return terminal;
  return policy.report === "always";
}
