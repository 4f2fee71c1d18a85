/**
 * Performing an execution: run, decide, finish, announce, and go on where that is possible.
 *
 * This is the engine's walk. A claimed execution is prepared and run (`run_step`), its result is
 * decided and written together with what is next in one commit (`conclude`), and what was scheduled
 * is announced. When the next step is due at once and the caller allows it, the commit inserts that
 * execution already claimed, and the walk starts again here without a round trip through the queue.
 *
 * @module
 */

import type { Logger } from "../define/context.ts";
import { bareStep, stepNamed } from "../define/definition.ts";
import { RecoveryLimitError, StepNotDefinedError } from "../errors.ts";
import { markFailed, type Tracing } from "../observe/tracing.ts";
import type { Claimed, ClaimHolder } from "../state/claim.ts";
import { toError } from "../state/stored_error.ts";
import {
  afterwards,
  bodyRan,
  conclude,
  type ConcludeOptions,
  type Performed,
  reportAll,
  settle,
  type Settled,
} from "./conclude.ts";
import { type Core, elapsedMs } from "./core.ts";
import { prepareStep, type Ready } from "./prepare_step.ts";
import { putBack } from "./put_back.ts";
import { prepareAndRun, type Ran, runStep } from "./run_step.ts";
import { idsOf, type Interruption, scopeLogger, type StepScope } from "./step_scope.ts";
import { inTransaction } from "./transactions.ts";

/** How the caller wants an execution performed. */
export interface PerformOptions extends ConcludeOptions {
  /** The worker that performs it, so that it can stop what is its own. */
  readonly owner?: object;
  /** The execution was found by the sweep because its job was lost. */
  readonly jobLost?: boolean;
  /** A logger of the caller, whose own tags are kept. */
  readonly logger?: Logger;
  /** How a caller that performs by hand wants the iteration interrupted. */
  readonly interruption?: Interruption;
}

/** Performs one claimed execution to its end. */
export async function perform(
  core: Core,
  claimed: Claimed,
  options: PerformOptions,
): Promise<Performed> {
  const { workflow, execution } = claimed;
  const definition = core.definitions.get(workflow.name);
  if (definition === undefined) return await putBack(core, claimed, options.logger);
  const step = stepNamed(definition, execution.stepName);
  const held = core.holdings.hold({
    executionId: execution.id,
    workflowId: workflow.id,
    token: execution.token as string,
    owner: options.owner ?? null,
    transaction: step?.transaction === true,
    leaseUntil: execution.leaseUntil,
  });
  try {
    const scope: StepScope = {
      core,
      definition,
      step: step ?? bareStep(execution.stepName),
      workflow,
      execution,
      held,
      log: scopeLogger(options.logger ?? core.log, workflow, execution),
      cursor: execution.cursor,
      saving: null,
      cursorless: false,
      interruption: options.interruption ?? null,
      facts: null,
      workflowRecord: null,
      executionRecord: null,
    };
    if (claimed.from === "in_progress") return await recover(scope, claimed.previous, options);
    if (options.jobLost) return await recover(scope, "job", options);
    if (step === null) return await undefinedStep(scope);
    // Its worker was stopped while the claim was on its way: nothing is begun any more.
    if (held.stopReason !== null) return await conclude(scope, SHUT_DOWN, options);
    return core.tracing === null
      ? await performStep(scope, options)
      : await traced(core.tracing, scope, () => performStep(scope, options));
  } finally {
    held.release();
  }
}

function performStep(scope: StepScope, options: PerformOptions): Promise<Performed> {
  if (!scope.step.transaction) {
    return orAbandoned(scope, prepareAndRun(scope)).then((ran) => conclude(scope, ran, options));
  }
  return orAbandoned(scope, Promise.resolve(prepareStep(scope))).then((prepared) =>
    prepared.kind === "ready"
      ? performInTransaction(scope, prepared, options)
      : conclude(scope, prepared, options)
  );
}

/** Where somebody traces, an execution is a span in the trace of whoever started the workflow. */
async function traced(
  tracing: Tracing,
  scope: StepScope,
  work: () => Promise<Performed>,
): Promise<Performed> {
  const { workflow, execution } = scope;
  const attributes = {
    "pawl.workflow.name": workflow.name,
    "pawl.workflow.id": workflow.id,
    "pawl.step": execution.stepName,
    "pawl.execution.id": execution.id,
    "pawl.attempt": execution.attempt,
  };
  const name = `${workflow.name} ${execution.stepName}`;
  return await tracing.span(
    { name, traceparent: workflow.traceparent, attributes },
    async (span) => {
      const performed = await work();
      if (performed.execution !== null) {
        span.setAttribute("pawl.outcome", String(performed.execution.outcome));
      }
      if (performed.error !== null) markFailed(span, performed.error);
      return performed;
    },
  );
}

/** Performs an execution and whatever follows it in the same slot; resolves to the first error. */
export async function performOn(
  core: Core,
  claimed: Claimed,
  options: PerformOptions,
): Promise<Error | null> {
  let first: Error | null = null;
  let at: Claimed | null = claimed;
  while (at !== null) {
    const { error, next }: Performed = await perform(core, at, options);
    first ??= error;
    at = next;
  }
  return first;
}

const SHUT_DOWN = { kind: "interrupted", reason: "shutdown", waitMs: 0 } as const;

/**
 * When the worker's grace period ends first, the execution is handed back as interrupted. A cursor
 * that is on its way to the store by then is waited for: it counts, and whoever continues must not
 * begin before it.
 */
function orAbandoned<Result>(
  scope: StepScope,
  running: Promise<Result>,
): Promise<Result | typeof SHUT_DOWN> {
  return new Promise((resolve, reject) => {
    const handBack = (): void => resolve(SHUT_DOWN);
    scope.held.whenAbandoned(() => {
      scope.log.warn("The body did not end within the grace period; its execution is handed back");
      if (scope.saving === null) handBack();
      else scope.saving.then(handBack, handBack);
    });
    running.then(resolve, reject);
  });
}

/** Takes care of an execution whose job was lost, or whose worker gave no sign of life. */
async function recover(
  scope: StepScope,
  from: "job" | ClaimHolder | undefined,
  options: PerformOptions,
): Promise<Performed> {
  const { core, definition } = scope;
  const action = definition.recovery ?? core.settings.recovery;
  const lost = from === "job" ? "job" : "worker";
  const { worker = null, leaseUntil = null } = from === "job" ? {} : from ?? {};
  const silentMs = leaseUntil === null
    ? null
    : elapsedMs(core, leaseUntil.getTime() - core.settings.leaseMs);
  if (lost === "job") {
    scope.log.warn(`The job of this execution was lost; recovering it (${action})`);
  } else {
    scope.log.warn(
      `The worker of this execution is dead, frozen or does not yield; recovering it (${action})`,
      { lostWorker: worker, silentMs },
    );
  }
  const bodyStarted = lost === "worker";
  const settled = await settle(scope, { kind: "recovered", action, bodyStarted }, options);
  const { ruling, result, durationMs } = settled;
  if (result.kind === "done" && ruling.error !== null) {
    await reportAll(scope, [new RecoveryLimitError(ruling.error.message)]);
  } else if (result.kind === "done") {
    core.events.emit("recovered", {
      ...{ ...idsOf(scope), durationMs, lost, action },
      ...{ worker, silentMs },
    });
  }
  return await afterwards(scope, settled, false);
}

/** Thrown inside a step's transaction to roll it back with what happened. */
class RollBack extends Error {
  constructor(readonly ran: Ran) {
    super("The step's transaction is rolled back");
  }
}

/**
 * Performs a step in its transaction, and waits for it as long as its worker does. A transaction
 * belongs to its body until the body has ended: what the body wrote after a rollback would be
 * committed by itself, or as part of somebody else's transaction. So one that outlives the grace
 * period is left alone; it still commits, unless its lease has ended and somebody else took over.
 */
async function performInTransaction(
  scope: StepScope,
  ready: Ready,
  options: PerformOptions,
): Promise<Performed> {
  return await new Promise((resolve, reject) => {
    scope.held.whenAbandoned(() => {
      scope.log.warn("The body did not end within the grace period; its transaction stays open");
      resolve({ error: null, execution: null, next: null });
    });
    runTransaction(scope, ready, options).then(resolve, reject);
  });
}

/**
 * The body's writes, the end of the step and what is next commit together, or not at all. A flow
 * call is an ordinary end and commits; an error and an interruption roll back.
 */
async function runTransaction(
  scope: StepScope,
  ready: Ready,
  options: PerformOptions,
): Promise<Performed> {
  let committed: { settled: Settled; ran: Ran };
  try {
    committed = await inTransaction(scope.core, async (tx) => {
      const ran = await runStep(scope, ready, tx);
      if (ran.kind !== "completed" && ran.kind !== "flow") throw new RollBack(ran);
      const settled = await settle(scope, ran, options, tx);
      if (settled.result.kind === "lost") throw new RollBack({ kind: "lost" });
      return { settled, ran };
    });
  } catch (thrown) {
    const ran: Ran = thrown instanceof RollBack
      ? thrown.ran
      : { kind: "error", phase: "body", error: toError(thrown), facts: scope.facts };
    return await conclude(scope, ran, options);
  }
  return await afterwards(scope, committed.settled, bodyRan(committed.ran));
}

/** The row names a step that the code does not have: pause, say so, and never guess. */
async function undefinedStep(scope: StepScope): Promise<Performed> {
  const { definition, workflow, execution } = scope;
  const error = new StepNotDefinedError({
    stepName: execution.stepName,
    workflowName: definition.name,
    workflowId: workflow.id,
    executionId: execution.id,
    availableSteps: definition.steps.map((step) => step.name),
  });
  return await conclude(
    scope,
    { kind: "error", phase: "prepare", error, facts: null, mustPause: true },
    { mayContinue: () => false },
  );
}
