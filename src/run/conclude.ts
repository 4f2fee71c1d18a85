/**
 * Concluding an execution: decide, plan what is next, write both in one commit, and tell whoever
 * must hear of it.
 *
 * @module
 */

import { nextOf } from "../define/definition.ts";
import { CursorError } from "../errors.ts";
import type { Claimed } from "../state/claim.ts";
import { sameTextOf } from "../state/same_text.ts";
import { decide, type Handling, type Ruling, type StepResult, verdictOf } from "../state/decide.ts";
import type { Finished, FinishResult, Verdict } from "../state/finish.ts";
import { mergeMetadata } from "../state/metadata.ts";
import type { ExecutionRow, NewExecution } from "../state/records.ts";
import { storedError, toError } from "../state/stored_error.ts";
import { announce, writeOptions } from "./announce.ts";
import { type Core, elapsedMs } from "./core.ts";
import { finishOrPause } from "./finish_surely.ts";
import { handleError } from "./handle_error.ts";
import { planAgain, planStep } from "./plan.ts";
import type { Ran } from "./run_step.ts";
import { idsOf, reportContext, type StepScope } from "./step_scope.ts";
import { graceMs } from "./transactions.ts";

/** How the caller wants an execution concluded. */
export interface ConcludeOptions {
  /** Whether to go on with this execution in the same slot, once it is written. */
  mayContinue(next: NewExecution): boolean;
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

/** A decision and what the store made of it. */
export interface Settled {
  /** The store's answer. */
  readonly result: FinishResult;
  /** What was decided. */
  readonly ruling: Ruling;
  /** How long writing it took. */
  readonly durationMs: number;
}

/** From what happened to what is written, and then to whoever must hear of it. */
export function conclude(scope: StepScope, ran: Ran, options: ConcludeOptions): Promise<Performed> {
  if (ran.kind === "lost") return Promise.resolve(dropped(scope));
  if (ran.kind === "error") return concludeError(scope, ran, options);
  return settle(scope, ran, options).then((settled) => {
    const error = stalledBy(settled);
    const emits = bodyRan(ran);
    return error === null
      ? afterwards(scope, settled, emits)
      : concludeStalled(scope, settled, error, emits);
  });
}

async function concludeStalled(
  scope: StepScope,
  settled: Settled,
  error: Error,
  emits: boolean,
): Promise<Performed> {
  await reportAll(scope, [error]);
  return { ...await afterwards(scope, settled, emits), error };
}

async function concludeError(
  scope: StepScope,
  ran: Extract<Ran, { kind: "error" }>,
  options: ConcludeOptions,
): Promise<Performed> {
  const handled = await handleError(scope, ran);
  const result: StepResult = {
    kind: "error",
    phase: ran.phase,
    error: storedError(handled.error),
    handling: handled.handling,
  };
  const settled = await settle(scope, result, options);
  if (settled.ruling.terminal) warnOfExhaustion(scope, handled.handling);
  if (settled.result.kind === "done") {
    await reportAll(scope, handled.reports(settled.ruling.terminal));
  }
  return { ...await afterwards(scope, settled, bodyRan(ran)), error: ran.error };
}

/** The error of a chain that was paused because it does not move; nobody threw it. */
function stalledBy({ ruling, result }: Settled): Error | null {
  if (result.kind === "lost" || ruling.error === null) return null;
  return new CursorError(ruling.error.message);
}

/** Tells the error reporter, and whoever listens. */
export async function reportAll(scope: StepScope, errors: readonly Error[]): Promise<void> {
  for (const error of errors) {
    scope.core.events.emit("error", { ...idsOf(scope), durationMs: 0, error });
    await scope.core.report(error, reportContext(scope), scope.log);
  }
}

/** Whether the body ran at all: only then the end of a step is an event. */
export function bodyRan(ran: Ran): boolean {
  return ran.kind !== "precondition" && !(ran.kind === "error" && ran.phase !== "body");
}

/** Decides, plans what is next and writes both in one commit, or as part of a transaction. */
export function settle(
  scope: StepScope,
  result: StepResult,
  options: ConcludeOptions,
  tx?: unknown,
): Promise<Settled> {
  const { core, execution, step } = scope;
  const startedAt = core.clock.now();
  const ruling = decide(result, {
    execution,
    cursor: scope.cursor,
    isSameCursor: sameTextOf(core.codec),
    resumable: step.resumable,
    maxUnchanged: scope.cursorless ? null : core.settings.maxUnchangedContinuations,
    maxRecoveries: core.settings.maxRecoveries,
    ranMs: Math.max(0, startedAt - (execution.startedAt?.getTime() ?? startedAt)),
    chance: core.chance(),
  });
  const verdict = verdictFor(scope, ruling);
  const written = verdict instanceof Promise
    ? verdict.then((waited) => write(scope, finishedOf(scope, waited, options), tx))
    : write(scope, finishedOf(scope, verdict, options), tx);
  return written.then((answer) => ({
    ruling,
    result: answer,
    durationMs: elapsedMs(core, startedAt),
  }));
}

function finishedOf(scope: StepScope, verdict: Verdict, options: ConcludeOptions): Finished {
  const { core, execution, workflow, step } = scope;
  return {
    closing: verdict.closing,
    error: verdict.error,
    metadata: verdict.metadata,
    keepCursor: verdict.keepCursor,
    bodyStarted: verdict.bodyStarted,
    workflowState: verdict.workflowState,
    nextStepName: verdict.nextStepName,
    next: verdict.next === null ? null : held(core, verdict.next, options),
    executionId: execution.id,
    workflowId: workflow.id,
    token: execution.token as string,
    seen: step.resumable ? undefined : { workflow, execution },
  };
}

async function inTx(core: Core, finished: Finished, tx: unknown): Promise<FinishResult> {
  return (await core.store.finish([finished], writeOptions(core, tx)))[0] as FinishResult;
}

function write(scope: StepScope, finished: Finished, tx: unknown): Promise<FinishResult> {
  const { core, execution, log } = scope;
  if (tx !== undefined) return inTx(core, finished, tx);
  return finishOrPause(core, finished, {
    execution,
    log,
    report: (refusal) => reportAll(scope, [refusal]),
  });
}

/** The verdict of a ruling; a promise only where a step's wait is a function. */
function verdictFor(scope: StepScope, ruling: Ruling): Verdict | Promise<Verdict> {
  const { core, definition, step, workflow } = scope;
  const { then } = ruling;
  if (then.to === "end") return verdictOf(ruling, { stepName: step.name, next: null });
  const base = { definition, workflow, now: core.now(), graceMs: graceMs(core) };
  if (then.to === "again") {
    return verdictOf(ruling, { stepName: step.name, next: planAgain(step, base, then) });
  }
  const following = nextOf(definition, step.name);
  if (following === null) return verdictOf(ruling, { stepName: step.name, next: null });
  const next = planStep(core, following, base);
  return next instanceof Promise
    ? verdictAfterWait(scope, ruling, following.name, next)
    : verdictOf(ruling, { stepName: step.name, next });
}

/** A wait function that fails pauses the workflow before its step. */
async function verdictAfterWait(
  scope: StepScope,
  ruling: Ruling,
  following: string,
  planning: Promise<NewExecution>,
): Promise<Verdict> {
  const { core, step } = scope;
  try {
    return verdictOf(ruling, { stepName: step.name, next: await planning });
  } catch (thrown) {
    const error = toError(thrown);
    scope.log.error(`The wait of step "${following}" failed; the workflow is paused`, { error });
    await core.report(error, reportContext(scope), scope.log);
    const { errorClass, message } = storedError(error);
    const waitError = { step: following, class: errorClass, message };
    const paused: Ruling = {
      ...ruling,
      metadata: mergeMetadata(ruling.metadata, { waitError }),
      then: { to: "end", workflowState: "paused" },
    };
    return verdictOf(paused, { stepName: following, next: null });
  }
}

/** Keeps the claim on the next execution when it is due now and the caller wants to go on. */
function held(core: Core, next: NewExecution, options: ConcludeOptions): NewExecution {
  const due = next.waitingFor === null && next.scheduledFor.getTime() <= core.clock.now();
  if (!due || !options.mayContinue(next)) return next;
  const { leaseMs } = core.settings;
  return { ...next, hold: { token: core.heldToken, leaseMs, worker: core.workerId } };
}

/** After the commit: the event, the announcement, and the next claim; a promise if one is told. */
export function afterwards(
  scope: StepScope,
  { result, durationMs }: Settled,
  emits: boolean,
): Performed | Promise<Performed> {
  const { core } = scope;
  if (result.kind === "lost") return dropped(scope);
  const { workflow, execution, next, job } = result;
  if (emits && core.events.has("finalize")) {
    core.events.emit("finalize", {
      ...idsOf(scope),
      durationMs,
      workflowState: workflow.state,
      stepState: execution.state,
      ...(scope.step.resumable ? { resumable: true } : {}),
    });
  }
  const goesOn = next !== null && next.state === "in_progress";
  const performed: Performed = {
    error: null,
    execution,
    next: goesOn ? { kind: "claimed", from: "scheduled", workflow, execution: next } : null,
  };
  return job === null ? performed : announce(core, [job]).then(() => performed);
}

/** The claim was somebody else's: nothing was written, and nobody is told but the log. */
export function dropped(scope: StepScope): Performed {
  scope.log.warn("This execution was taken over or closed meanwhile; its result is dropped");
  scope.core.events.emit("lost", { ...idsOf(scope), durationMs: 0, lost: true });
  return { error: null, execution: null, next: null };
}

function warnOfExhaustion({ log, step, execution }: StepScope, handling: Handling): void {
  if (handling.kind !== "policy") return;
  const { cap, policy } = handling;
  log.warn(
    `Step "${step.name}" failed ${execution.failures + 1} times in a row and is limited to ` +
      `${cap} reattempts; the terminal action "${policy.terminalAction}" is taken`,
    { maxReattempts: cap, terminalAction: policy.terminalAction },
  );
}
