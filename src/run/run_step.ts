/**
 * Running a step: from a claim to a result.
 *
 * What must hold before is found out by `prepare_step.ts`; here the hooks and the body are called.
 * The body returns, throws, calls a flow function, stops at a checkpoint, or runs out of time.
 *
 * No lock is held and no transaction is open meanwhile (save for the store's own transaction of a
 * step that asked for one). What comes out is one result; what it means is decided elsewhere.
 *
 * @module
 */

import type { StepContext } from "../define/context.ts";
import type { Hooks } from "../define/definition.ts";
import { StepInterruptedError, StepTimeoutError } from "../errors.ts";
import type { FlowRequest } from "../state/decide.ts";
import { toError } from "../state/stored_error.ts";
import { elapsedMs } from "./core.ts";
import { createFlow, type Flow, isFlowSignal, type Request } from "./flow.ts";
import { isLost, openIteration } from "./iter_scope.ts";
import {
  type FailedRun,
  type Precondition,
  type Prepared,
  prepareStep,
  type Ready,
} from "./prepare_step.ts";
import { type Facts, idsOf, stepContext, type StepScope } from "./step_scope.ts";

/** What running a step came to, errors still to be handled. */
export type Ran =
  | { readonly kind: "completed" }
  | { readonly kind: "flow"; readonly flow: FlowRequest }
  | { readonly kind: "interrupted"; readonly reason: string; readonly waitMs: number }
  | Precondition
  | FailedRun
  /** The claim is somebody else's: drop everything quietly. */
  | { readonly kind: "lost" };

/** Prepares a step and, if nothing is against it, runs it. */
export function prepareAndRun(scope: StepScope): Promise<Ran> {
  const run = (prepared: Prepared): Promise<Ran> =>
    prepared.kind === "ready" ? runStep(scope, prepared) : Promise.resolve(prepared);
  const prepared = prepareStep(scope);
  return prepared instanceof Promise ? prepared.then(run) : run(prepared);
}

/** Runs the body of a step in its hooks; `tx` is the open transaction of one that asked for it. */
export function runStep(scope: StepScope, ready: Ready, tx?: unknown): Promise<Ran> {
  // A process that stood still between its claim and here must not begin: somebody else may have
  // run the step to its end meanwhile.
  if (scope.held.overdue) return Promise.resolve({ kind: "lost" });
  const startedAt = scope.core.events.has("step") ? scope.core.clock.now() : null;
  const running = runBody(scope, ready, tx);
  if (startedAt === null) return running;
  return running.then((ran) => {
    emitStep(scope, ran, elapsedMs(scope.core, startedAt));
    return ran;
  });
}

async function runBody(scope: StepScope, ready: Ready, tx: unknown): Promise<Ran> {
  const { step, log } = scope;
  const flow = createFlow(log);
  const iteration = step.resumable ? openIteration(scope, flow, ready.cursor) : null;
  const context = stepContext(ready.facts, flow);
  if (iteration !== null) Object.assign(context, iteration.parts);
  if (step.transaction) Object.assign(context, { tx });
  if (step.waitFor !== null) Object.assign(context, { event: ready.event });
  try {
    await (step.timeoutMs === null || step.waitFor !== null
      ? callBody(scope, context)
      : withTimeout(scope, step.timeoutMs, async () => await callBody(scope, context)));
    if (iteration !== null) await iteration.settle();
    return resultOf(scope, flow.request());
  } catch (thrown) {
    await iteration?.settle().catch((error) =>
      log.warn("The progress of a step that failed could not be stored", { error })
    );
    if (isFlowSignal(thrown)) return resultOf(scope, flow.request());
    return failedWith(toError(thrown), scope, flow, ready.facts);
  } finally {
    flow.close();
    if (isLost(scope)) {
      log.warn("The claim on this execution was lost while its body ran; its result is dropped");
    }
  }
}

/** An error wins over a flow request that was made before it; giving up when asked to is no error. */
function failedWith(error: Error, scope: StepScope, flow: Flow, facts: Facts): Ran {
  const { held, log } = scope;
  const request = flow.request();
  if (request !== null) {
    log.warn(`The body threw after ${request.action}(); the error counts`, { error });
  }
  const reason = held.stopReason;
  if (reason instanceof StepInterruptedError) {
    if (reason.reason === "lost_lease") return { kind: "lost" };
    if (isAbort(error, reason)) return interrupted(scope, reason.reason, 0);
  }
  return { kind: "error", phase: "body", error, facts };
}

function isAbort(error: Error, reason: Error): boolean {
  try {
    return error === reason || error.name === "AbortError" || error.cause === reason;
  } catch {
    // An error that cannot even be read was not thrown by anybody who obeyed the signal.
    return false;
  }
}

const COMPLETED: Ran = { kind: "completed" };

function resultOf(scope: StepScope, request: Request | null): Ran {
  if (request === null) return COMPLETED;
  if (request.action !== "interrupt") return { kind: "flow", flow: request };
  const { reason, waitMs } = request;
  return reason === "lost_lease" ? { kind: "lost" } : interrupted(scope, reason, waitMs);
}

function interrupted({ log, cursor }: StepScope, reason: string, waitMs: number): Ran {
  log.info(`Interrupted: ${reason}`, { reason, waitMs, cursor });
  return { kind: "interrupted", reason, waitMs };
}

/** Calls the body inside its hooks: inherited hooks outermost, after-hooks however it ended. */
function callBody({ step, definition }: StepScope, context: StepContext): unknown {
  if (definition.hooks.length === 0) return step.run?.(context);
  const body = async (): Promise<void> => void await step.run?.(context);
  const wrapped = definition.hooks.reduceRight<() => Promise<void>>(
    (inner, hooks) => () => hooked(hooks, context, inner),
    body,
  );
  return wrapped();
}

async function hooked(
  hooks: Hooks,
  context: StepContext,
  inner: () => Promise<void>,
): Promise<void> {
  await hooks.beforeStep?.(context);
  try {
    if (hooks.aroundStep === undefined) await inner();
    else await hooks.aroundStep(context, inner);
  } finally {
    await hooks.afterStep?.(context);
  }
}

/**
 * Past its limit a body is told by its signal, and no longer waited for. Only one that runs in a
 * transaction is: whatever it writes late would otherwise land outside of it.
 */
async function withTimeout(
  { core, step, held, log }: StepScope,
  limitMs: number,
  body: () => Promise<unknown>,
): Promise<void> {
  let expired: StepTimeoutError | null = null;
  const running = body();
  await new Promise<void>((resolve, reject) => {
    const timer = core.clock.setTimeout(() => {
      expired = new StepTimeoutError(step.name, limitMs);
      held.stop(expired);
      if (!step.transaction) reject(expired);
      running.catch((late) => log.debug("The body ended after its timeout", { error: late }));
    }, limitMs);
    const ended = (): void => core.clock.clearTimeout(timer);
    running.finally(ended).then(
      () => expired === null ? resolve() : reject(expired),
      (error) => reject(expired ?? error),
    );
  });
}

function emitStep(scope: StepScope, ran: Ran, durationMs: number): void {
  const { core, step } = scope;
  if (ran.kind === "lost") return;
  const base = { ...idsOf(scope), durationMs, ...(step.resumable ? { resumable: true } : {}) };
  switch (ran.kind) {
    case "completed":
      return core.events.emit("step", { ...base, outcome: "completed" });
    case "error":
      return core.events.emit("step", { ...base, outcome: "exception", error: ran.error });
    case "interrupted": {
      const outcome = ran.reason === "suspend" ? "suspend" : "interrupted";
      return core.events.emit("step", { ...base, outcome, reason: ran.reason, waitMs: ran.waitMs });
    }
    case "flow": {
      const { action } = ran.flow;
      return core.events.emit("step", {
        ...base,
        outcome: action === "finish" ? "finished" : action,
      });
    }
    case "precondition":
      return;
  }
}
