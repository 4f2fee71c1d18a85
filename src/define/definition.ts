/**
 * The checked and frozen form of what a user wrote: what the rest of Pawl works with.
 *
 * @module
 */

import type { ConditionContext, ExceptionContext, StepContext, WaitContext } from "./context.ts";

/** What can be done about an error. */
export type ExceptionAction = "pause" | "cancel" | "reattempt" | "skip";
/** What can be done when reattempts are exhausted. */
export type TerminalAction = "pause" | "cancel" | "skip";
/** When the error reporter hears of an error. */
export type ReportMode = "always" | "never" | "terminalOnly";

/** The wait before a reattempt, from the 1-based count of consecutive error reattempts. */
export type PolicyWait = (count: number) => number;

/** What an error is compared with: any match counts. */
export type ErrorMatcher =
  // deno-lint-ignore no-explicit-any -- constructors of any shape
  | (abstract new (...args: any[]) => Error)
  | string
  | ((error: Error) => boolean)
  | { match(error: Error): boolean };

/** A handler that decides about an error with the flow functions it is given. */
// deno-lint-ignore no-explicit-any -- a handler is written for its own workflow's hero and input
export type ExceptionHandler = (context: ExceptionContext<any, any>) => unknown;

/** One checked policy. */
export interface Policy {
  /** Marks what `policy()` made. */
  readonly kind: "policy";
  /** What to do; null when a handler decides. */
  readonly action: ExceptionAction | null;
  /** Who decides; null when an action is given. */
  readonly handler: ExceptionHandler | null;
  /** The errors it is for; null: all (a blanket policy). */
  readonly matching: readonly ErrorMatcher[] | null;
  /** The wait before a reattempt; null: none. */
  readonly wait: PolicyWait | null;
  /** How many reattempts in a row; null: without limit, or not a reattempt. */
  readonly maxReattempts: number | null;
  /** What to do when they are exhausted. */
  readonly terminalAction: TerminalAction;
  /** When the error reporter hears of it. */
  readonly report: ReportMode;
}

/** Queue options of a job. */
export interface JobOptions {
  /** The queue it runs in. */
  readonly queue?: string;
  /** Smaller runs first. */
  readonly priority?: number;
  /** Accepted and kept; a step's own schedule wins over it. */
  readonly wait?: number;
  /** Accepted and kept; a step's own schedule wins over it. */
  readonly waitUntil?: Date;
}

/** A condition as it is evaluated: a function, or a constant. */
// deno-lint-ignore no-explicit-any -- conditions are typed where they are written
export type Condition = (context: ConditionContext<any, any>) => unknown;

/** The hooks around a step; what they return is awaited and ignored. */
// deno-lint-ignore no-explicit-any -- hooks are typed where they are written
export interface Hooks<Context = StepContext<any, any>> {
  /** Before the body, once the conditions have passed. */
  beforeStep?(context: Context): unknown;
  /** Around the body: call `next` to run it. */
  aroundStep?(context: Context, next: () => Promise<void>): unknown;
  /** After the body, however it ended, before anything is written. */
  afterStep?(context: Context): unknown;
}

/** A hero: how its type is called and how one is found. */
export interface HeroDefinition<Hero = unknown> {
  /** Marks what `hero()` made. */
  readonly kind: "hero";
  /** The type's name, stored in the row. */
  readonly type: string;
  /** Finds a hero by id; null or undefined: it is gone. */
  load(id: string): Hero | null | undefined | Promise<Hero | null | undefined>;
  /** The id of a hero, so that `start` can take the object itself. */
  readonly idOf: ((hero: Hero) => string | number | bigint) | null;
}

/** A Standard Schema, as far as Pawl needs one. */
export interface InputSchema<Input = unknown, Output = Input> {
  /** The standard's property. */
  readonly "~standard": {
    /** The standard's version. */
    readonly version: 1;
    /** The library. */
    readonly vendor: string;
    /** Validates a value. */
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    /** Types, at compile time only. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** What a Standard Schema answers. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  // deno-lint-ignore no-explicit-any -- paths are keys or segments, as the standard says
  | { readonly issues: readonly { readonly message: string; readonly path?: any }[] };

/** What a definition says of where its policies stand: each list was one declaration. */
export type PolicyLayer = readonly Policy[];

/** A step, checked. */
export interface StepDefinition {
  /** Its name: the only thing that couples rows and code. */
  readonly name: string;
  /** True for a tombstone: the name resolves, nothing runs. */
  readonly removed: boolean;
  /** The body; null for a tombstone. */
  // deno-lint-ignore no-explicit-any -- bodies are typed where they are written
  readonly run: ((context: any) => unknown) | null;
  /** How long after its predecessor it is due: milliseconds, or a function of the context, or null. */
  // deno-lint-ignore no-explicit-any -- typed where it is written
  readonly wait: number | ((context: WaitContext<any, any>) => unknown) | null;
  /** The signal it waits for. */
  readonly waitFor: string | null;
  /** Skips the step when it holds. */
  readonly skipIf: Condition | null;
  /** Its own policies; null when the step has none, and the workflow's apply. */
  readonly policies: PolicyLayer | null;
  /** The policies for a signal that does not come in time; null: as for any error. */
  readonly timeoutPolicies: PolicyLayer | null;
  /** `onException` as one action, for inspection; null when it is something else. */
  readonly onException: ExceptionAction | null;
  /** The cap of that action; null when it has none. */
  readonly maxReattempts: number | null;
  /** Queue options of its jobs. */
  readonly jobOptions: JobOptions;
  /** How long the body, or the waiting for a signal, may take, in milliseconds. */
  readonly timeoutMs: number | null;
  /** Whether the body runs in a transaction of the store. */
  readonly transaction: boolean;
  /** Whether it has a cursor. */
  readonly resumable: boolean;
  /** Checkpoints per execution; null: no limit. */
  readonly maxIterations: number | null;
  /** Milliseconds per execution; null: no limit. */
  readonly maxRuntimeMs: number | null;
  /** The first cursor; null: none. */
  readonly start: unknown;
  /** Checks or converts a stored cursor before the body sees it. */
  readonly parseCursor: ((cursor: unknown) => unknown) | null;
  /** Where it was declared, as `file:line:column`, where the runtime can tell. */
  readonly sourceLocation: string | null;
}

/** A workflow's definition: what `workflow()` returns, frozen. */
export interface WorkflowDefinition<
  // deno-lint-ignore no-explicit-any -- a definition of any hero
  Hero = any,
  // deno-lint-ignore no-explicit-any -- and of any input, as its steps see it
  Input = any,
  // deno-lint-ignore no-explicit-any -- and as `start` takes it
  StartInput = any,
  MayProceed extends boolean = boolean,
> {
  /** Marks what `workflow()` made. */
  readonly kind: "workflow";
  /** The name in the rows. */
  readonly name: string;
  /** The steps that run, in the order in which they run. */
  readonly steps: readonly StepDefinition[];
  /** The same with the tombstones at their places. */
  readonly allSteps: readonly StepDefinition[];
  /** The hero; null: the workflow has none. */
  readonly hero: HeroDefinition<Hero> | null;
  /** Whether steps run when the hero is gone. */
  readonly mayProceedWithoutHero: MayProceed;
  /** The conditions before every step: its own and inherited ones. */
  readonly cancelIf: readonly Condition[];
  /** The policies for all steps, own declaration first, then what it extends. */
  readonly policies: readonly PolicyLayer[];
  /** Queue options of all jobs. */
  readonly jobOptions: JobOptions;
  /** The hooks, outermost (inherited) first. */
  readonly hooks: readonly Hooks[];
  /** Checks the input. */
  readonly input: InputSchema<StartInput, Input> | null;
  /** What to do with a step whose worker died; null: as the engine says. */
  readonly recovery: "reattempt" | "cancel" | null;
  /** How long after its end it is kept, in milliseconds; null: for ever; undefined: as the engine says. */
  readonly retentionMs: number | null | undefined;
}

/** A step that has a name and nothing else: a tombstone, or a name in a row that the code lacks. */
export function bareStep(name: string): StepDefinition {
  return {
    name,
    removed: true,
    run: null,
    wait: null,
    waitFor: null,
    skipIf: null,
    policies: null,
    timeoutPolicies: null,
    onException: null,
    maxReattempts: null,
    jobOptions: Object.freeze({}),
    timeoutMs: null,
    transaction: false,
    resumable: false,
    maxIterations: null,
    maxRuntimeMs: null,
    start: null,
    parseCursor: null,
    sourceLocation: null,
  };
}

/** Where each step stands in `allSteps`: a workflow of 10,000 steps is looked up as fast as one of ten. */
const positions = new WeakMap<WorkflowDefinition, ReadonlyMap<string, number>>();

function positionOf(definition: WorkflowDefinition, name: string): number {
  let known = positions.get(definition);
  if (known === undefined) {
    known = new Map(definition.allSteps.map((step, at) => [step.name, at]));
    positions.set(definition, known);
  }
  return known.get(name) ?? -1;
}

/** The step of this name, tombstones included, or null. */
export function stepNamed(definition: WorkflowDefinition, name: string): StepDefinition | null {
  return definition.allSteps[positionOf(definition, name)] ?? null;
}

/** The step that runs after this one: the first for null, null at the end and for unknown names. */
export function nextOf(definition: WorkflowDefinition, name: string | null): StepDefinition | null {
  if (name === null) return definition.steps[0] ?? null;
  const at = positionOf(definition, name);
  if (at < 0) return null;
  for (let i = at + 1; i < definition.allSteps.length; i++) {
    const step = definition.allSteps[i] as StepDefinition;
    if (!step.removed) return step;
  }
  return null;
}

/** The step that runs before this one: null for the first, for null and for unknown names. */
export function previousOf(
  definition: WorkflowDefinition,
  name: string | null,
): StepDefinition | null {
  if (name === null) return null;
  for (let i = positionOf(definition, name) - 1; i >= 0; i--) {
    const step = definition.allSteps[i] as StepDefinition;
    if (!step.removed) return step;
  }
  return null;
}
