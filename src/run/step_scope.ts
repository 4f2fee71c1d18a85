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
import { attach, attached } from "./attach.ts";
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
  /** The write of a cursor that is under way, or the last one; null: none was. */
  saving: Promise<void> | null;
  /** Whether items were done that have no cursor: then an unchanged cursor is no sign of a stall. */
  cursorless: boolean;
  /** How somebody who performs by hand wants the iteration interrupted; null: as ever. */
  readonly interruption: Interruption | null;
  /** What contexts are made from; null until the hero is loaded. */
  facts: Facts | null;
  /** What a body sees of the workflow; null until it looks. */
  workflowRecord: WorkflowRecord | null;
  /** What a body sees of the execution; null until it looks. */
  executionRecord: ExecutionRecord | null;
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

/** What contexts are made from, once the hero is loaded. */
export interface Facts {
  /** The execution. */
  readonly scope: StepScope;
  /** The hero. */
  readonly hero: unknown;
  /** The input. */
  readonly input: unknown;
  /** What the attempt before ended with. */
  readonly previousError: PreviousError | null;
}

/** Finds out what contexts are made from. */
export function factsOf(scope: StepScope, hero: unknown): Facts {
  const { core, workflow, execution } = scope;
  return {
    scope,
    hero,
    input: decodeColumn(core.codec, "input", workflow.input),
    previousError: previousErrorOf(execution),
  };
}

/** The context of conditions: no flow functions. */
export function conditionContext({ scope, hero, input, previousError }: Facts): ConditionContext {
  const { log, execution: { attempt } } = scope;
  return withLazyParts({ hero, input, attempt, previousError, log }, scope);
}

/** The context of hooks and bodies; parts that only some steps have are added by the caller. */
export function stepContext(facts: Facts, flow: Flow): StepContext {
  const { cancel, pause, skip, finish, reattempt, suspend } = flow.functions;
  const { scope, hero, input, previousError } = facts;
  const { log, execution: { attempt } } = scope;
  const context = {
    cancel,
    pause,
    skip,
    finish,
    reattempt,
    suspend,
    hero,
    input,
    attempt,
    previousError,
    log,
  };
  return withLazyParts(context, scope);
}

/**
 * Parts that most bodies never look at, made for whoever does. The functions are the same for all
 * contexts: with a function of its own in each, a context takes three times the memory. Defined one
 * by one they take 0.4 µs, and 2 with `defineProperties`.
 */
const WORKFLOW: PropertyDescriptor = {
  enumerable: true,
  get(): WorkflowRecord {
    const scope = attached<StepScope>(this);
    return scope.workflowRecord ??= workflowRecord(scope.workflow, scope.core.codec);
  },
};
const EXECUTION: PropertyDescriptor = {
  enumerable: true,
  get(): ExecutionRecord {
    const scope = attached<StepScope>(this);
    return scope.executionRecord ??= executionRecord(scope.execution, scope.core.codec);
  },
};
const SIGNAL: PropertyDescriptor = {
  enumerable: true,
  get(): AbortSignal {
    return attached<StepScope>(this).held.signal;
  },
};

function withLazyParts<Context>(context: object, scope: StepScope): Context {
  attach(context, scope);
  Object.defineProperty(context, "workflow", WORKFLOW);
  Object.defineProperty(context, "execution", EXECUTION);
  return Object.defineProperty(context, "signal", SIGNAL) as Context;
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
