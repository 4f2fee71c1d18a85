/**
 * Planning executions: which step, when, in which queue.
 *
 * Planning may call user code (a `wait` that is a function), so it happens before any lock is taken.
 *
 * @module
 */

import type { WaitContext } from "../define/context.ts";
import type { JobOptions, StepDefinition, WorkflowDefinition } from "../define/definition.ts";
import { durationMs } from "../define/durations.ts";
import { jobOptions as checkedJobOptions, mergeJobOptions } from "../define/job_options.ts";
import type { Then } from "../state/decide.ts";
import { metadataOf } from "../state/metadata.ts";
import { DEFAULT_QUEUE, type NewExecution, type WorkflowRow } from "../state/records.ts";
import { taggedLogger, workflowTags } from "../observe/logging.ts";
import type { Core } from "./core.ts";
import { decodeColumn, workflowRecord } from "./view.ts";

/** What planning needs to know beside the step. */
export interface PlanBase {
  /** The definition. */
  readonly definition: WorkflowDefinition;
  /** The workflow's row; a provisional one while it is being started. */
  readonly workflow: WorkflowRow;
  /** The instant from which waits count. */
  readonly now: Date;
  /** The queue's grace. */
  readonly graceMs: number;
}

/** The first execution of a step, due after the step's own wait; a promise only where it is asked. */
export function planStep(
  core: Core,
  step: StepDefinition,
  base: PlanBase,
): NewExecution | Promise<NewExecution> {
  const { wait } = step;
  return typeof wait === "function"
    ? askWait(core, wait, base).then((found) => planAfter(step, base, found))
    : planAfter(step, base, wait);
}

function planAfter(step: StepDefinition, base: PlanBase, found: unknown): NewExecution {
  const waitMs = found === null || found === undefined
    ? 0
    : durationMs(found, `the wait of step "${step.name}"`);
  return plan(step, base, { ...FIRST, waitMs });
}

/** Calls a `wait` that is a function; without its hero the step is due at once, to be canceled. */
async function askWait(
  core: Core,
  wait: (context: WaitContext) => unknown,
  { definition, workflow }: PlanBase,
): Promise<unknown> {
  const { hero, mayProceedWithoutHero } = definition;
  const { heroId } = workflow;
  const loaded = hero === null || heroId === null ? null : await hero.load(heroId) ?? null;
  if (loaded === null && hero !== null && !mayProceedWithoutHero) return 0;
  return await wait({
    hero: loaded,
    input: decodeColumn(core.codec, "input", workflow.input),
    workflow: workflowRecord(workflow, core.codec),
    log: taggedLogger(core.log, () => workflowTags(workflow)),
  });
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
  const { queue, priority } = jobOptionsOf(step, base);
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
    queue: queue ?? DEFAULT_QUEUE,
    priority: priority ?? 0,
    hold: null,
  };
}

const NONE: JobOptions = Object.freeze({});

function jobOptionsOf(
  step: StepDefinition,
  { definition, workflow }: PlanBase,
): { readonly queue?: string | undefined; readonly priority?: number | undefined } {
  const { jobOptions } = workflow;
  if (jobOptions !== null) {
    return mergeJobOptions(definition.jobOptions, storedOptions(jobOptions), step.jobOptions);
  }
  // Most workflows have none of their own, and this is asked for every step.
  const { queue, priority } = step.jobOptions ?? NONE;
  return {
    queue: queue ?? definition.jobOptions?.queue,
    priority: priority ?? definition.jobOptions?.priority,
  };
}

/** An instance's own options; like all metadata, what somebody spoilt by hand is left out. */
function storedOptions(text: string | null): JobOptions {
  const { queue, priority } = metadataOf(text);
  return { ...sound({ queue }), ...sound({ priority }) };
}

function sound(options: Record<string, unknown>): JobOptions {
  try {
    return checkedJobOptions(options, "stored job options");
  } catch {
    return NONE;
  }
}
