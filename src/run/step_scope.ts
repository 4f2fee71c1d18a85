/**
 * The scope of one execution: everything its conditions, hooks and body are given.
 *
 * @module
 */

import type {
  ConditionContext,
  Logger,
  PreviousError,
  SignalEvent,
  StepContext,
} from "../define/context.ts";
import type { StepDefinition, WorkflowDefinition } from "../define/definition.ts";
import { executionTags, taggedLogger, workflowTags } from "../observe/logging.ts";
import { metadataOf } from "../state/metadata.ts";
import type {
  ExecutionRecord,
  ExecutionRow,
  WorkflowRecord,
  WorkflowRow,
} from "../state/records.ts";
import type { Core, ReportContext } from "./core.ts";
import type { Flow } from "./flow.ts";
import type { Held } from "./holdings.ts";
import { decodeColumn, executionRecord, workflowRecord } from "./view.ts";

/** How somebody who performs by hand wants an iteration interrupted. */
export interface Interruption {
  /** False: neither the step's own limits nor the queue's wish to stop count. */
  readonly limits: boolean;
  /** Asked once per checkpoint; a word interrupts there. */
  stop?(at: { readonly checkpoints: number; readonly cursor: unknown }): string | null;
}

/** One execution that is held, with what it takes to run it. */
export interface StepScope {
  /** The engine. */
  readonly core: Core;
  /** The definition. */
  readonly definition: WorkflowDefinition;
  /** The step. */
  readonly step: StepDefinition;
  /** The workflow's row. */
  readonly workflow: WorkflowRow;
  /** The execution's row. */
  readonly execution: ExecutionRow;
  /** The claim. */
  readonly held: Held;
  /** Logs with all tags. */
  readonly log: Logger;
  /** The cursor as it was last stored. */
  cursor: string | null;
  /** Whether items were done that have no cursor: then an unchanged cursor is no sign of a stall. */
  cursorless: boolean;
  /** How somebody who performs by hand wants the iteration interrupted; null: as ever. */
  readonly interruption: Interruption | null;
  /** What the conditions were given; null until the hero is loaded. */
  conditions: ConditionContext | null;
}

/** The logger of an execution. */
export function scopeLogger(log: Logger, workflow: WorkflowRow, execution: ExecutionRow): Logger {
  return taggedLogger(log, () => ({ ...workflowTags(workflow), ...executionTags(execution) }));
}

/** The ids that events and reports carry. */
export function idsOf(scope: { workflow: WorkflowRow; execution: ExecutionRow }): {
  workflowId: string;
  workflowName: string;
  executionId: string;
  stepName: string;
} {
  return {
    workflowId: scope.workflow.id,
    workflowName: scope.workflow.name,
    executionId: scope.execution.id,
    stepName: scope.execution.stepName,
  };
}

/** What the error reporter is told. */
export function reportContext(
  scope: { workflow: WorkflowRow; execution: ExecutionRow },
): ReportContext {
  return {
    ...idsOf(scope),
    heroType: scope.workflow.heroType,
    heroId: scope.workflow.heroId,
  };
}

/** The context of conditions: no flow functions. The records are made for whoever looks at them. */
export function conditionContext(scope: StepScope, hero: unknown): ConditionContext {
  const { core, workflow, execution, held } = scope;
  let ofWorkflow: WorkflowRecord | null = null;
  let ofExecution: ExecutionRecord | null = null;
  return {
    hero,
    input: decodeColumn(core.codec, "input", workflow.input),
    get workflow() {
      return ofWorkflow ??= workflowRecord(workflow, core.codec);
    },
    get execution() {
      return ofExecution ??= executionRecord(execution, core.codec);
    },
    attempt: execution.attempt,
    previousError: previousErrorOf(execution),
    get signal() {
      return held.signal;
    },
    log: scope.log,
  };
}

/** The context of hooks and bodies; parts that only some steps have are added by the caller. */
export function stepContext(
  conditions: ConditionContext,
  flow: Flow,
  parts: Record<string, unknown>,
): StepContext {
  const { hero, input, attempt, previousError, log } = conditions;
  return {
    ...flow.functions,
    ...parts,
    hero,
    input,
    get workflow() {
      return conditions.workflow;
    },
    get execution() {
      return conditions.execution;
    },
    attempt,
    previousError,
    get signal() {
      return conditions.signal;
    },
    log,
  };
}

/** The event in an execution's metadata, or null. */
export function eventOf(core: Core, execution: ExecutionRow): SignalEvent | null {
  const stored = metadataOf(execution.metadata).event as
    | { name: string; payload: string | null; sentAt: string }
    | undefined;
  if (stored === undefined) return null;
  return {
    name: stored.name,
    payload: decodeColumn(core.codec, "payload", stored.payload),
    sentAt: new Date(stored.sentAt),
  };
}

function previousErrorOf(execution: ExecutionRow): PreviousError | null {
  if (execution.metadata === null) return null;
  const stored = metadataOf(execution.metadata).previousError;
  return stored === undefined ? null : stored as PreviousError;
}
