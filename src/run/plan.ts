/**
 * Planning executions: which step, when, in which queue.
 *
 * Planning may call user code (a `wait` that is a function), so it happens before any lock is taken.
 *
 * @module
 */

import type { ConditionContext } from "../define/context.ts";
import type { JobOptions, StepDefinition, WorkflowDefinition } from "../define/definition.ts";
import { durationMs } from "../define/durations.ts";
import { mergeJobOptions } from "../define/job_options.ts";
import type { Then } from "../state/decide.ts";
import { metadataOf } from "../state/metadata.ts";
import { DEFAULT_QUEUE, type NewExecution } from "../state/records.ts";

/** What planning needs to know beside the step. */
export interface PlanBase {
  /** The definition. */
  readonly definition: WorkflowDefinition;
  /** The instance's own job options as JSON text. */
  readonly jobOptions: string | null;
  /** The instant from which waits count. */
  readonly now: Date;
  /** The queue's grace. */
  readonly graceMs: number;
}

/** The first execution of a step, due after the step's own wait. */
export async function planStep(
  step: StepDefinition,
  base: PlanBase,
  context: () => ConditionContext | Promise<ConditionContext>,
): Promise<NewExecution> {
  const wait = typeof step.wait === "function" ? await step.wait(await context()) : step.wait;
  const waitMs = wait === null || wait === undefined
    ? 0
    : durationMs(wait as number, `the wait of step "${step.name}"`);
  return plan(step, base, { ...FIRST, waitMs });
}

/** An execution of a step that is due now, whatever its own wait says. */
export function planNow(step: StepDefinition, base: PlanBase): NewExecution {
  return plan(step, base, FIRST);
}

/** Another execution of the same step, as a ruling wants it. */
export function planAgain(
  step: StepDefinition,
  base: PlanBase,
  then: Extract<Then, { to: "again" }>,
): NewExecution {
  return plan(step, base, then);
}

const FIRST = {
  waitMs: 0,
  attempt: 1,
  failures: 0,
  continuesFromId: null,
  cursor: null,
  metadata: null,
} as const;

function plan(
  step: StepDefinition,
  base: PlanBase,
  how: Omit<Extract<Then, { to: "again" }>, "to">,
): NewExecution {
  const scheduledFor = new Date(base.now.getTime() + how.waitMs);
  // A reattempt of a step that has its event already does not wait for another one.
  const waits = step.waitFor !== null && metadataOf(how.metadata).event === undefined;
  const limit = waits && step.timeoutMs !== null ? scheduledFor.getTime() + step.timeoutMs : null;
  const options = jobOptionsOf(step, base);
  return {
    stepName: step.name,
    scheduledFor,
    graceMs: base.graceMs,
    attempt: how.attempt,
    failures: how.failures,
    continuesFromId: how.continuesFromId,
    cursor: how.cursor,
    waitingFor: waits ? step.waitFor : null,
    waitUntil: limit === null ? null : new Date(limit),
    metadata: how.metadata,
    queue: options.queue ?? DEFAULT_QUEUE,
    priority: options.priority ?? 0,
    hold: null,
  };
}

function jobOptionsOf(step: StepDefinition, base: PlanBase): JobOptions {
  const own = base.jobOptions === null ? {} : metadataOf(base.jobOptions) as JobOptions;
  return mergeJobOptions(base.definition.jobOptions, own, step.jobOptions);
}
