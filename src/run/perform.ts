/**
 * Performing an execution: run, decide, finish, announce, and go on where that is possible.
 *
 * This is the engine's walk in one file. A claimed execution is run (`run_step`), its result is
 * decided (`src/state/decide`), the verdict is written together with what is next in one commit
 * (`finish`), and what was scheduled is announced. When the next step is due at once and the caller
 * allows it, the commit inserts that execution already claimed, and the walk starts again here
 * without a round trip through the queue.
 *
 * @module
 */

import { bareStep, nextOf, stepNamed } from "../define/definition.ts";
import { StepNotDefinedError } from "../errors.ts";
import type { Claimed } from "../state/claim.ts";
import { decide, type Ruling, type StepResult, verdictOf } from "../state/decide.ts";
import type { FinishResult, Verdict } from "../state/finish.ts";
import type { ExecutionRow, NewExecution, WorkflowRow } from "../state/records.ts";
import { storedError } from "../state/stored_error.ts";
import { announce, writeOptions } from "./announce.ts";
import { type Core, graceMs } from "./core.ts";
import { finishSurely } from "./finish_surely.ts";
import { handleError } from "./handle_error.ts";
import { planAgain, planStep } from "./plan.ts";
import { putBack } from "./put_back.ts";
import { type Ran, runStep } from "./run_step.ts";
import { conditionContext, idsOf, reportContext, scopeLogger, type StepScope } from "./step_scope.ts";

/** How the caller wants an execution performed. */
export interface PerformOptions {
  /** Whether to go on with this execution in the same slot, once it is written. */
  mayContinue(next: NewExecution): boolean;
  /** The worker that performs it, so that it can stop what is its own. */
  readonly owner?: object;
  /** The execution was found by the sweep because its job was lost. */
  readonly jobLost?: boolean;
}

/** What came of performing one execution. */
export interface Performed {
  /** What the body threw, for callers that rethrow; already stored. */
  readonly error: Error | null;
  /** The closed execution; null when the claim was lost. */
  readonly execution: ExecutionRow | null;
  /** The next execution, claimed already, when the caller wanted to go on. */
  readonly next: Claimed | null;
}

/** Performs one claimed execution to its end. */
export async function perform(
  core: Core,
  claimed: Claimed,
  options: PerformOptions,
): Promise<Performed> {
  const { workflow, execution } = claimed;
  const definition = core.definitions.get(workflow.name);
  if (definition === undefined) return await putBack(core, claimed);
  const step = stepNamed(definition, execution.stepName);
  const held = core.holdings.hold({
    executionId: execution.id,
    workflowId: workflow.id,
    token: execution.token as string,
    owner: options.owner ?? null,
  });
  try {
    const scope: StepScope = {
      core,
      definition,
      step: step ?? bareStep(execution.stepName),
      workflow,
      execution,
      held,
      log: scopeLogger(core, workflow, execution),
      cursor: execution.cursor,
      conditions: null,
    };
    if (step === null) return await undefinedStep(scope);
    if (claimed.from === "in_progress") return await recover(scope, "worker", options);
    if (options.jobLost) return await recover(scope, "job", options);
    if (step.transaction) return await performInTransaction(scope, options);
    return await conclude(scope, await orAbandoned(scope, runStep(scope)), options);
  } finally {
    held.release();
  }
}

/** When the worker's grace period ends first, the execution is handed back as interrupted. */
function orAbandoned({ held, log }: StepScope, running: Promise<Ran>): Promise<Ran> {
  const abandoned = held.abandoned.then((): Ran => {
    log.warn("The body did not end within the grace period; its execution is handed back");
    return { kind: "interrupted", reason: "shutdown", waitMs: 0 };
  });
  return Promise.race([running, abandoned]);
}

/** Takes care of an execution whose worker died or whose job was lost. */
async function recover(
  scope: StepScope,
  lost: "worker" | "job",
  options: PerformOptions,
): Promise<Performed> {
  const { core, definition } = scope;
  const action = definition.recovery ?? core.settings.recovery;
  scope.log.warn(
    lost === "worker"
      ? `The worker of this execution is gone; recovering it (${action})`
      : `The job of this execution was lost; recovering it (${action})`,
  );
  const settled = await settle(scope, { kind: "recovered", action }, options);
  core.events.emit("recovered", { ...idsOf(scope), durationMs: 0, lost, action });
  return await afterwards(scope, settled, null);
}

interface Settled {
  readonly result: FinishResult;
  readonly ruling: Ruling;
}

/** From what happened to what is written, and then to whoever must hear of it. */
async function conclude(
  scope: StepScope,
  ran: Ran,
  options: PerformOptions,
  tx?: unknown,
): Promise<Performed> {
  if (ran.kind === "lost") return dropped(scope);
  if (ran.kind !== "error") {
    const settled = await settle(scope, ran, options, tx);
    return await afterwards(scope, settled, ran);
  }
  const handled = await handleError(scope, ran);
  const result: StepResult = {
    kind: "error",
    phase: ran.phase,
    error: storedError(handled.error),
    handling: handled.handling,
  };
  const settled = await settle(scope, result, options);
  warnOfExhaustion(scope, settled.ruling);
  if (settled.result.kind === "done") {
    for (const error of handled.reports(settled.ruling.terminal)) {
      scope.core.events.emit("error", { ...idsOf(scope), durationMs: 0, error });
      await scope.core.report(error, reportContext(scope));
    }
  }
  return { ...await afterwards(scope, settled, ran), error: ran.error };
}

/** Decides, plans what is next and writes both in one commit. */
async function settle(
  scope: StepScope,
  result: StepResult,
  options: PerformOptions,
  tx?: unknown,
): Promise<Settled> {
  const { core, execution, step } = scope;
  const ruling = decide(result, {
    execution,
    cursor: scope.cursor,
    resumable: step.resumable,
    maxUnchanged: core.settings.maxUnchangedContinuations,
    ranMs: execution.startedAt === null ? 0 : core.clock.now() - execution.startedAt.getTime(),
  });
  const verdict = await verdictFor(scope, ruling);
  const next = verdict.next === null ? null : held(core, verdict.next, options);
  const finished = {
    ...verdict,
    next,
    executionId: execution.id,
    workflowId: scope.workflow.id,
    token: execution.token as string,
  };
  if (tx === undefined) return { ruling, result: await finishSurely(core, finished) };
  const [written] = await core.store.finish([finished], writeOptions(core, tx));
  return { ruling, result: written as FinishResult };
}

/** The verdict of a ruling; a wait function that fails pauses the workflow before its step. */
async function verdictFor(scope: StepScope, ruling: Ruling): Promise<Verdict> {
  const { core, definition, step, workflow } = scope;
  const base = { definition, jobOptions: workflow.jobOptions, now: core.now(), graceMs: graceMs(core) };
  const plan = { stepName: step.name };
  if (ruling.then.to === "end") return verdictOf(ruling, { ...plan, next: null });
  if (ruling.then.to === "again") {
    return verdictOf(ruling, { ...plan, next: planAgain(step, base, ruling.then) });
  }
  const following = nextOf(definition, step.name);
  if (following === null) return verdictOf(ruling, { ...plan, next: null });
  try {
    const context = () => scope.conditions ?? conditionContext(scope, null);
    return verdictOf(ruling, { ...plan, next: await planStep(following, base, context) });
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    scope.log.error(`The wait of step "${following.name}" failed; the workflow is paused`, { error });
    await core.report(error, reportContext(scope));
    const paused: Ruling = { ...ruling, then: { to: "end", workflowState: "paused" } };
    return verdictOf(paused, { stepName: following.name, next: null });
  }
}

/** Keeps the claim on the next execution when it is due now and the caller wants to go on. */
function held(core: Core, next: NewExecution, options: PerformOptions): NewExecution {
  const due = next.waitingFor === null && next.scheduledFor.getTime() <= core.clock.now();
  if (!due || !options.mayContinue(next)) return next;
  const { leaseMs } = core.settings;
  return { ...next, hold: { token: core.token(), leaseMs, worker: core.workerId } };
}

/** After the commit: events, announcements, and the next claim. */
async function afterwards(scope: StepScope, settled: Settled, ran: Ran | null): Promise<Performed> {
  const { core } = scope;
  const { result } = settled;
  if (result.kind === "lost") return dropped(scope);
  const bodyRan = ran !== null && ran.kind !== "precondition" &&
    !(ran.kind === "error" && ran.phase !== "body");
  if (bodyRan && core.events.has("finalize")) {
    core.events.emit("finalize", {
      ...idsOf(scope),
      durationMs: 0,
      workflowState: result.workflow.state,
      stepState: result.execution.state,
      ...(scope.step.resumable ? { resumable: true } : {}),
    });
  }
  const goesOn = result.next !== null && result.next.state === "in_progress";
  if (!goesOn) await announce(core, [result.next]);
  return {
    error: null,
    execution: result.execution,
    next: goesOn ? claimedBy(result.workflow, result.next as ExecutionRow) : null,
  };
}

function claimedBy(workflow: WorkflowRow, execution: ExecutionRow): Claimed {
  return { kind: "claimed", from: "scheduled", workflow, execution };
}

/** Thrown inside a step's transaction to roll it back with what happened. */
class RollBack extends Error {
  constructor(readonly ran: Ran) {
    super("The step's transaction is rolled back");
  }
}

/** The body's writes, the end of the step and what is next commit together, or not at all. */
async function performInTransaction(scope: StepScope, options: PerformOptions): Promise<Performed> {
  let performed: { settled: Settled; ran: Ran } | null = null;
  try {
    performed = await scope.core.store.transaction(async (tx) => {
      const ran = await runStep(scope, tx);
      if (ran.kind === "error" || ran.kind === "lost") throw new RollBack(ran);
      const settled = await settle(scope, ran, options, tx);
      if (settled.result.kind === "lost") throw new RollBack({ kind: "lost" });
      return { settled, ran };
    });
  } catch (thrown) {
    const ran: Ran = thrown instanceof RollBack ? thrown.ran : {
      kind: "error",
      phase: "body",
      error: thrown instanceof Error ? thrown : new Error(String(thrown)),
      context: scope.conditions,
    };
    return await conclude(scope, ran, options);
  }
  return await afterwards(scope, performed.settled, performed.ran);
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
  const settled = await settle(
    scope,
    { kind: "error", phase: "prepare", error: storedError(error), handling: { kind: "pause" } },
    { mayContinue: () => false },
  );
  scope.log.error(error.message);
  await scope.core.report(error, reportContext(scope));
  return { ...await afterwards(scope, settled, null), error };
}

function dropped(scope: StepScope): Performed {
  scope.log.warn("This execution was taken over or closed meanwhile; its result is dropped");
  scope.core.events.emit("lost", { ...idsOf(scope), durationMs: 0, lost: true });
  return { error: null, execution: null, next: null };
}

function warnOfExhaustion(scope: StepScope, ruling: Ruling): void {
  if (!ruling.terminal) return;
  scope.log.warn(
    `Reattempts of step "${scope.step.name}" are exhausted after ${scope.execution.failures}; ` +
      `the terminal action was taken`,
    { state: ruling.closing.state, outcome: ruling.closing.outcome },
  );
}
