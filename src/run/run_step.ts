/**
 * Running a step: from a claim to a result.
 *
 * 1. Load the hero; without one the workflow is canceled, unless it may proceed.
 * 2. Evaluate the conditions: any `cancelIf` cancels, `skipIf` skips, before anything of the step ran.
 * 3. Call the hooks and the body. It returns, throws, calls a flow function, stops at a checkpoint,
 *    or runs out of time.
 *
 * No lock is held and no transaction is open meanwhile (save for the store's own transaction of a
 * step that asked for one). What comes out is one result; what it means is decided elsewhere.
 *
 * @module
 */

import type { ConditionContext, SignalEvent, StepContext } from "../define/context.ts";
import type { HeroDefinition, Hooks } from "../define/definition.ts";
import {
  StepConfigurationError,
  StepInterruptedError,
  StepTimeoutError,
  StoredValueError,
} from "../errors.ts";
import type { ErrorPhase, FlowRequest } from "../state/decide.ts";
import { toError } from "../state/stored_error.ts";
import { elapsedMs } from "./core.ts";
import { createFlow, type Flow, isFlowSignal, type Request } from "./flow.ts";
import { isLost, openIteration, readCursor } from "./iter_scope.ts";
import {
  conditionContext,
  eventOf,
  type Facts,
  factsOf,
  idsOf,
  stepContext,
  type StepScope,
} from "./step_scope.ts";

/** What running a step came to, errors still to be handled. */
export type Ran =
  | { readonly kind: "completed" }
  | { readonly kind: "flow"; readonly flow: FlowRequest }
  | { readonly kind: "interrupted"; readonly reason: string; readonly waitMs: number }
  | { readonly kind: "precondition"; readonly action: "skip" | "cancel"; readonly why: string }
  | FailedRun
  /** The claim is somebody else's: drop everything quietly. */
  | { readonly kind: "lost" };

/** A step that ended with an error. */
export interface FailedRun {
  /** Tells it from the others. */
  readonly kind: "error";
  /** Where the error came from. */
  readonly phase: ErrorPhase;
  /** The error. */
  readonly error: Error;
  /** What a handler is given; null when not even the hero could be loaded. */
  readonly facts: Facts | null;
  /** The rows do not fit the code: whatever the policies say, only a pause is right. */
  readonly mustPause?: boolean;
}

/** A step whose conditions have passed. */
export interface Ready {
  /** Tells it from what ended already. */
  readonly kind: "ready";
  /** What contexts are made from. */
  readonly facts: Facts;
  /** Where a resumable step continues. */
  readonly cursor: unknown;
  /** The signal that a `waitFor` step received. */
  readonly event: SignalEvent | null;
}

/** What preparing a step came to. */
export type Prepared = Ready | Extract<Ran, { kind: "precondition" | "error" }>;

/**
 * Loads the hero, evaluates the conditions and reads the cursor; a promise only where there is
 * something to wait for. (An async function takes a kilobyte for each step, and there were a dozen.)
 */
export function prepareStep(scope: StepScope): Prepared | Promise<Prepared> {
  const { core } = scope;
  // Nobody needs the time who does not listen.
  const startedAt = core.events.has("precondition") ? core.clock.now() : null;
  const prepared = scope.definition.hero === null ? evaluate(scope, null) : evaluateHero(scope);
  if (startedAt === null) return prepared;
  const tell = (outcome: Prepared): Prepared => {
    emitPrecondition(scope, outcome, elapsedMs(core, startedAt));
    return outcome;
  };
  return prepared instanceof Promise ? prepared.then(tell) : tell(prepared);
}

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

function emitPrecondition(scope: StepScope, prepared: Prepared, durationMs: number): void {
  scope.core.events.emit("precondition", {
    ...idsOf(scope),
    durationMs,
    outcome: outcomeOf(prepared),
    ...(prepared.kind === "error" ? { error: prepared.error } : {}),
    ...(scope.step.resumable ? { resumable: true } : {}),
  });
}

function outcomeOf(prepared: Prepared): "passed" | "skipped" | "canceled" | "exception" {
  if (prepared.kind === "precondition") return prepared.action === "skip" ? "skipped" : "canceled";
  return prepared.kind === "error" ? "exception" : "passed";
}

const REMOVED = { kind: "precondition", action: "skip", why: "removed_step" } as const;

/** What a step needs that has a hero to load first. */
async function evaluateHero(scope: StepScope): Promise<Prepared> {
  if (scope.step.removed) return REMOVED;
  let hero: unknown;
  try {
    hero = await loadHero(scope);
  } catch (thrown) {
    return failed("prepare", toError(thrown), null);
  }
  if (hero === GONE) return { kind: "precondition", action: "cancel", why: "hero_gone" };
  return await evaluate(scope, hero);
}

function evaluate(scope: StepScope, hero: unknown): Prepared | Promise<Prepared> {
  const { definition, step } = scope;
  if (step.removed) return REMOVED;
  let facts: Facts;
  try {
    facts = factsOf(scope, hero);
  } catch (thrown) {
    return failed("prepare", toError(thrown), null);
  }
  scope.facts = facts;
  return definition.cancelIf.length > 0 || step.skipIf !== null
    ? evaluateConditions(scope, facts)
    : readyOf(scope, facts);
}

async function evaluateConditions(scope: StepScope, facts: Facts): Promise<Prepared> {
  try {
    const met = await conditionMet(scope, conditionContext(facts));
    return met ?? readyOf(scope, facts);
  } catch (thrown) {
    return failed("condition", toError(thrown), facts);
  }
}

/** A step whose conditions have passed, unless its row is against it. */
function readyOf(scope: StepScope, facts: Facts): Prepared {
  const { step, execution } = scope;
  if (execution.waitingFor !== null) {
    const { waitingFor: signalName } = execution;
    const late = new StepTimeoutError(step.name, step.timeoutMs ?? 0, { signalName });
    return failed("condition", late, facts);
  }
  try {
    refuseMismatch(scope);
    return {
      kind: "ready",
      facts,
      cursor: step.resumable ? readCursor(scope) : null,
      event: step.waitFor === null ? null : eventOf(scope.core, execution),
    };
  } catch (thrown) {
    return { ...failed("condition", toError(thrown), facts), mustPause: true };
  }
}

function failed(phase: ErrorPhase, error: Error, facts: Facts | null): FailedRun {
  // An input that cannot be read is no better at the next attempt, nor at the next step.
  return { kind: "error", phase, error, facts, mustPause: error instanceof StoredValueError };
}

/** The first condition that is met, in their order: to cancel, then to skip. */
async function conditionMet(
  { definition, step }: StepScope,
  context: ConditionContext,
): Promise<Extract<Ran, { kind: "precondition" }> | null> {
  for (const condition of definition.cancelIf) {
    if (await condition(context)) {
      return { kind: "precondition", action: "cancel", why: "cancel_if" };
    }
  }
  return step.skipIf !== null && await step.skipIf(context)
    ? { kind: "precondition", action: "skip", why: "skip_if" }
    : null;
}

const GONE: unique symbol = Symbol("the hero is gone");

async function loadHero({ definition, workflow }: StepScope): Promise<unknown> {
  const hero = definition.hero as HeroDefinition;
  if (workflow.heroId !== null && workflow.heroType !== hero.type) {
    throw new StepConfigurationError(
      `Cannot load the hero of workflow ${workflow.id}: its type is "${workflow.heroType}", ` +
        `but "${definition.name}" is defined for "${hero.type}"`,
    );
  }
  const loaded = workflow.heroId === null ? null : await hero.load(workflow.heroId);
  if (loaded !== null && loaded !== undefined) return loaded;
  return definition.mayProceedWithoutHero ? null : GONE;
}

/** A row that was written for the other kind of step is not guessed about. */
function refuseMismatch({ step, execution }: StepScope): void {
  if (step.resumable || execution.cursor === null) return;
  throw new StepConfigurationError(
    `Step "${step.name}" has a stored cursor but is not resumable any more; ` +
      `make it resumable again, or resume the workflow at another step with resumeAt()`,
    { stepName: step.name },
  );
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
