/**
 * Performing workflows by hand: one step, a whole workflow, or so many items of a resumable step.
 *
 * These work on any store and with any queue. They run ahead of time, wherever the clock stands,
 * and reject with what a body threw once its state is saved.
 *
 * @module
 */

import { stepNamed } from "../define/definition.ts";
import { InvalidInputError, InvalidStateError } from "../errors.ts";
import { command, planPlace } from "../run/commands.ts";
import type { Core } from "../run/core.ts";
import { perform } from "../run/perform.ts";
import { coreOf, type Run } from "../run/run.ts";
import type { Interruption } from "../run/step_scope.ts";
import { executionRecord } from "../run/view.ts";
import type { ExecutionRecord, ExecutionRow } from "../state/records.ts";
import { isOngoing } from "../state/records.ts";
import type { FakeClock } from "./fake_clock.ts";

/** How far a speedrun may go. */
export interface SpeedrunOptions {
  /**
   * How many executions it may run before it counts as endless.
   *
   * @default {100}
   */
  readonly maxSteps?: number;
  /** A fake clock to move to each due time, instead of running ahead of it. */
  readonly clock?: FakeClock;
}

/** Runs the one execution that is scheduled, whenever it is due; null when there is none. */
export async function performNextStep(run: Run): Promise<ExecutionRecord | null> {
  return await performScheduled(run);
}

/**
 * Runs a step now, the next one by default: what was scheduled is canceled and the step takes its
 * place.
 *
 * @throws {InvalidInputError} When there is no step of this name; the message lists those there are.
 */
export async function performStepInline(
  run: Run,
  stepName?: string,
): Promise<ExecutionRecord | null> {
  const core = coreOf(run);
  await run.reload();
  const name = stepName ?? run.nextStepName;
  if (name === null) {
    throw new InvalidInputError("Cannot perform a step: the workflow has none left");
  }
  const definition = core.definitions.get(run.name);
  const known = definition === undefined ? null : stepNamed(definition, name);
  if (definition !== undefined && (known === null || known.removed)) {
    const names = definition.steps.map((step) => JSON.stringify(step.name)).join(", ");
    throw new InvalidInputError(
      `Cannot perform step ${JSON.stringify(name)}: workflow "${run.name}" has no such step; ` +
        `available are ${names || "none"}`,
    );
  }
  refusePaused(run);
  const row = await core.store.get(run.id);
  if (row === null) return null;
  const plan = (at: typeof row) => planPlace(core, at, { stepName: name, from: "ready" });
  await command(core, row, { action: "perform", plan });
  return await performScheduled(run);
}

/**
 * Runs step after step, ignoring waits, until the workflow has ended, is paused, or nothing can run.
 *
 * @throws {Error} When it ran `maxSteps` executions and there are more: it may loop for ever.
 */
export async function speedrunWorkflow(run: Run, options: SpeedrunOptions = {}): Promise<Run> {
  const maxSteps = options.maxSteps ?? 100;
  refusePaused(await run.reload());
  for (let steps = 0; isRunnable(await run.reload()); steps++) {
    if (steps >= maxSteps) {
      throw new Error(
        `Workflow "${run.name}" has run ${maxSteps} executions and goes on: it may loop for ever; ` +
          `raise maxSteps if it does not`,
      );
    }
    if (options.clock !== undefined) await travel(run, options.clock);
    if (await performScheduled(run) === null) break;
  }
  return run;
}

/**
 * Runs the current step to its end, its continuations and reattempts included, without any
 * interruption; null when there is none.
 */
export async function speedrunCurrentStep(
  run: Run,
  options: SpeedrunOptions = {},
): Promise<ExecutionRecord | null> {
  refusePaused(await run.reload());
  const stepName = run.nextStepName;
  const maxSteps = options.maxSteps ?? 100;
  let last: ExecutionRecord | null = null;
  for (let steps = 0; run.nextStepName === stepName && isRunnable(run); steps++) {
    if (steps >= maxSteps) {
      throw new Error(
        `Step "${stepName}" has run ${maxSteps} executions and goes on: it may loop for ever; ` +
          `raise maxSteps if it does not`,
      );
    }
    const execution = await performScheduled(run, { limits: false });
    if (execution === null) break;
    last = execution;
  }
  return last;
}

/** Runs a resumable step for so many checkpoints, then interrupts it. */
export async function runIterations(
  run: Run,
  options: { readonly count: number },
): Promise<ExecutionRecord | null> {
  const { count } = options;
  if (!Number.isSafeInteger(count) || count < 1) {
    throw new InvalidInputError(`Cannot run ${count} iterations: it must be a whole number from 1`);
  }
  const stop: Interruption["stop"] = ({ checkpoints }) => checkpoints >= count ? "test" : null;
  return await performScheduled(run, { limits: false, stop });
}

/** Runs a resumable step until its cursor satisfies a predicate at a checkpoint, then interrupts it. */
export async function interruptWhen(
  run: Run,
  predicate: (cursor: unknown) => boolean,
): Promise<ExecutionRecord | null> {
  const stop: Interruption["stop"] = ({ cursor }) => predicate(cursor) ? "test" : null;
  return await performScheduled(run, { limits: false, stop });
}

/** Runs a resumable step to its end in chunks of so many checkpoints; the executions it took. */
export async function interruptEvery(run: Run, count: number): Promise<ExecutionRecord[]> {
  refusePaused(await run.reload());
  const stepName = run.nextStepName;
  const chunks: ExecutionRecord[] = [];
  while (isRunnable(run) && run.nextStepName === stepName) {
    const chunk = await runIterations(run, { count });
    if (chunk === null) break;
    chunks.push(chunk);
  }
  return chunks;
}

/** Runs step after step until this one has been executed, and no further. */
export async function interruptAfterStep(run: Run, stepName: string): Promise<Run> {
  refusePaused(await run.reload());
  while (isRunnable(await run.reload())) {
    const execution = await performScheduled(run);
    if (execution === null || (execution.stepName === stepName && run.nextStepName !== stepName)) {
      break;
    }
  }
  return run;
}

function isRunnable(run: Run): boolean {
  return isOngoing(run.state) && run.state !== "paused";
}

function refusePaused(run: Run): void {
  if (run.state !== "paused") return;
  throw new InvalidStateError(
    `Cannot perform a step of workflow ${run.id}: it is paused; resume it first`,
    { state: run.state },
  );
}

async function travel(run: Run, clock: FakeClock): Promise<void> {
  const execution = await run.currentExecution();
  const due = execution?.scheduledFor.getTime() ?? 0;
  if (due > clock.now()) clock.travelTo(due);
}

async function performScheduled(
  run: Run,
  interruption?: Interruption,
): Promise<ExecutionRecord | null> {
  const core = coreOf(run);
  refusePaused(await run.reload());
  const active = await core.store.active(run.id);
  const closed = active === null ? null : await claimAndPerform(core, active, interruption)
    .finally(() => run.reload());
  return closed === null ? null : executionRecord(closed, core.codec);
}

async function claimAndPerform(
  core: Core,
  active: ExecutionRow,
  interruption: Interruption | undefined,
): Promise<ExecutionRow | null> {
  const [claim] = await core.store.claim([active.id], {
    now: core.now(),
    token: core.token(),
    leaseMs: core.settings.leaseMs,
    worker: core.workerId,
    ignoreDue: true,
  });
  if (claim?.kind !== "claimed") return null;
  const options = { mayContinue: () => false, ...(interruption && { interruption }) };
  const { error, execution } = await perform(core, claim, options);
  if (error !== null) throw error;
  return execution;
}
