/**
 * Preparing a step: what must hold before its body is called.
 *
 * 1. Load the hero; without one the workflow is canceled, unless it may proceed.
 * 2. Evaluate the conditions: any `cancelIf` cancels, `skipIf` skips, before anything of the step ran.
 * 3. Read what the row has for the body: the cursor, the signal that was waited for.
 *
 * @module
 */

import type { ConditionContext, SignalEvent } from "../define/context.ts";
import type { HeroDefinition } from "../define/definition.ts";
import { StepConfigurationError, StepTimeoutError, StoredValueError } from "../errors.ts";
import type { ErrorPhase } from "../state/decide.ts";
import { toError } from "../state/stored_error.ts";
import { elapsedMs } from "./core.ts";
import { readCursor } from "./iter_scope.ts";
import {
  conditionContext,
  eventOf,
  type Facts,
  factsOf,
  idsOf,
  type StepScope,
} from "./step_scope.ts";

/** A step that a condition decided about before it ran. */
export interface Precondition {
  /** Tells it from the others. */
  readonly kind: "precondition";
  /** What the condition wants. */
  readonly action: "skip" | "cancel";
  /** Which one it was. */
  readonly why: string;
}

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
export type Prepared = Ready | Precondition | FailedRun;

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
): Promise<Precondition | null> {
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
