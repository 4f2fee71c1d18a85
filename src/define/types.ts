/**
 * What a user writes: the options of a workflow and of its steps, as types.
 *
 * A step is one of six shapes, told apart by `resumable`, `waitFor` and `transaction`; each shape's
 * `run` is given exactly what such a step has. The compiler picks the shape from the object literal
 * itself, so that nobody has to annotate anything.
 *
 * @module
 */

import type {
  ConditionContext,
  EventPart,
  ExceptionContext,
  ResumablePart,
  StepContext,
  TransactionPart,
  WaitContext,
} from "./context.ts";
import type {
  HeroDefinition,
  Hooks,
  InputSchema,
  TerminalAction,
  WorkflowDefinition,
} from "./definition.ts";
import type { Duration } from "./durations.ts";
import type { JobOptionsInput } from "./job_options.ts";
import type { OnException } from "./policy.ts";

/** A condition: a function of the context, or a constant; null and undefined never hold. */
export type ConditionOption<Hero = unknown, Input = unknown> =
  | ((context: ConditionContext<Hero, Input>) => unknown)
  | boolean
  | null
  | undefined;

/** A wait: a duration, or a function that is called when the step is scheduled. */
export type WaitOption<Hero = unknown, Input = unknown> =
  | Duration
  | ((
    context: WaitContext<Hero, Input>,
  ) => Duration | null | undefined | Promise<Duration | null | undefined>);

/** A handler of errors, written for a workflow's own hero and input. */
export type HandlerOption<Hero = unknown, Input = unknown> = (
  context: ExceptionContext<Hero, Input>,
) => unknown;

/** The options that every step has, whatever its shape. */
export interface CommonStepOptions<Hero = unknown, Input = unknown> {
  /** Its name, the only thing that couples rows and code; default `step_<position>`. */
  readonly name?: string;
  /** How long after its predecessor it is due; default: at once. */
  readonly wait?: WaitOption<Hero, Input>;
  /** Skips the step when it holds; evaluated when the step is about to run. */
  readonly skipIf?: ConditionOption<Hero, Input>;
  /** What is done about its errors; default: as the workflow says. */
  readonly onException?: OnException<HandlerOption<Hero, Input>>;
  /**
   * How many reattempts in a row, with `onException: "reattempt"`; null: without limit.
   *
   * @default {100}
   */
  readonly maxReattempts?: number | null;
  /**
   * What to do when they are exhausted, with `onException: "reattempt"`.
   *
   * @default {"pause"}
   */
  readonly terminalAction?: TerminalAction;
  /** Places it directly before a step that is declared already. */
  readonly beforeStep?: string;
  /** Places it directly after a step that is declared already. */
  readonly afterStep?: string;
  /** Queue options of its jobs; they win over the workflow's. */
  readonly jobOptions?: JobOptionsInput;
  /** How long the body may take; with `waitFor`, how long to wait for the signal. */
  readonly timeout?: Duration;
}

/** A step that runs from start to end in one execution. */
export interface NotResumable {
  /** It has no cursor. */
  readonly resumable?: false;
  /** Only for resumable steps. */
  readonly maxIterations?: never;
  /** Only for resumable steps. */
  readonly maxRuntime?: never;
  /** Only for resumable steps. */
  readonly start?: never;
  /** Only for resumable steps. */
  readonly parseCursor?: never;
}

/** A step with a cursor, which may run in several executions. */
export interface Resumable {
  /** It has a cursor. */
  readonly resumable: true;
  /** A checkpoint inside an open transaction would not outlive a crash. */
  readonly transaction?: false;
  /** Checkpoints per execution; default: no limit. */
  readonly maxIterations?: number;
  /** How long one execution may take; default: no limit. */
  readonly maxRuntime?: Duration;
  /** The cursor of the first execution; default null. */
  readonly start?: unknown;
  /** Checks or converts a stored cursor before the body sees it. */
  readonly parseCursor?: (cursor: unknown) => unknown;
}

/** A step that runs when it is due. */
export interface NotWaiting {
  /** It waits for no signal. */
  readonly waitFor?: never;
  /** Only with `waitFor`. */
  readonly onTimeout?: never;
}

/** A step that runs once a signal has come. */
export interface Waiting<Hero = unknown, Input = unknown> {
  /** The name of the signal. */
  readonly waitFor: string;
  /** What is done when the signal has not come within `timeout`; default: as for any error. */
  readonly onTimeout?: OnException<HandlerOption<Hero, Input>>;
}

/** A step outside of any transaction. */
export interface NotTransactional {
  /** Its writes commit when they are made. */
  readonly transaction?: false;
}

/** A step whose writes commit together with its own completion. */
export interface Transactional {
  /** The body is given `tx`. */
  readonly transaction: true;
}

/** A plain step. */
export interface PlainStepOptions<Hero = unknown, Input = unknown>
  extends CommonStepOptions<Hero, Input>, NotResumable, NotWaiting, NotTransactional {
  /** The body. */
  readonly run: (context: StepContext<Hero, Input>) => unknown;
}

/** A step that waits for a signal. */
export interface WaitingStepOptions<Hero = unknown, Input = unknown>
  extends CommonStepOptions<Hero, Input>, NotResumable, Waiting<Hero, Input>, NotTransactional {
  /** The body. */
  readonly run: (context: StepContext<Hero, Input> & EventPart) => unknown;
}

/** A step that runs in a transaction of the store. */
export interface TransactionalStepOptions<Hero = unknown, Input = unknown>
  extends CommonStepOptions<Hero, Input>, NotResumable, NotWaiting, Transactional {
  /** The body. */
  readonly run: (context: StepContext<Hero, Input> & TransactionPart) => unknown;
}

/** A step that waits for a signal and then runs in a transaction of the store. */
export interface WaitingTransactionalStepOptions<Hero = unknown, Input = unknown>
  extends CommonStepOptions<Hero, Input>, NotResumable, Waiting<Hero, Input>, Transactional {
  /** The body. */
  readonly run: (context: StepContext<Hero, Input> & EventPart & TransactionPart) => unknown;
}

/** A resumable step. */
export interface ResumableStepOptions<Hero = unknown, Input = unknown>
  extends CommonStepOptions<Hero, Input>, Resumable, NotWaiting {
  /** The body; it starts again from `iter.cursor` in every execution. */
  readonly run: (context: StepContext<Hero, Input> & ResumablePart) => unknown;
}

/** A resumable step that waits for a signal first. */
export interface WaitingResumableStepOptions<Hero = unknown, Input = unknown>
  extends CommonStepOptions<Hero, Input>, Resumable, Waiting<Hero, Input> {
  /** The body; it starts again from `iter.cursor` in every execution. */
  readonly run: (context: StepContext<Hero, Input> & EventPart & ResumablePart) => unknown;
}

/** A step as it is written. */
export type StepOptions<Hero = unknown, Input = unknown> =
  | WaitingResumableStepOptions<Hero, Input>
  | WaitingTransactionalStepOptions<Hero, Input>
  | ResumableStepOptions<Hero, Input>
  | TransactionalStepOptions<Hero, Input>
  | WaitingStepOptions<Hero, Input>
  | PlainStepOptions<Hero, Input>;

/**
 * A tombstone: the place of a step that is gone from the code. It says no to what tells steps
 * apart, so that the compiler can still tell them apart in a list that may hold tombstones.
 */
export interface RemovedStep extends NotResumable, NotWaiting, NotTransactional {
  /** Marks what `removedStep()` made. */
  readonly kind: "removed_step";
  /** The name that rows may still hold. */
  readonly name: string;
}

/** A definition of any hero and input. */
// deno-lint-ignore no-explicit-any -- a definition's type parameters occur on both sides of functions
export type AnyDefinition = WorkflowDefinition<any, any, any, boolean>;

/** What a workflow extends that extends nothing: no hero, and an input that nobody checked. */
export interface NoBase extends WorkflowDefinition<null, unknown, unknown, false> {
  /** Never there: it only tells the type from a real definition's. */
  readonly none: never;
}

/** The hero of a definition. */
export type HeroOf<Definition extends AnyDefinition> = Definition extends
  WorkflowDefinition<infer Hero, infer _Input, infer _StartInput, infer _May> ? Hero : never;

/** The input of a definition, as its steps see it. */
export type InputOf<Definition extends AnyDefinition> = Definition extends
  WorkflowDefinition<infer _Hero, infer Input, infer _StartInput, infer _May> ? Input : never;

/** The input of a definition, as `start` takes it. */
export type StartInputOf<Definition extends AnyDefinition> = Definition extends
  WorkflowDefinition<infer _Hero, infer _Input, infer StartInput, infer _May> ? StartInput : never;

/** Whether the steps of a definition may run without their hero. */
export type MayProceedOf<Definition extends AnyDefinition> = Definition["mayProceedWithoutHero"];

/** The hero as steps see it: null as well where steps may run without it. */
export type SeenHero<Hero, MayProceed extends boolean> = NoInfer<
  MayProceed extends true ? Hero | null : Hero
>;

/** What a workflow must say: its steps, or a definition that has some and fits. */
export type StepsOrBase<Base extends AnyDefinition, Hero, Input> = Base extends NoBase
  ? { readonly steps: readonly unknown[] }
  : { readonly extends: FittingBase<Base, Hero, Input> };

/** A base whose steps can work with this hero and this input. */
export type FittingBase<Base extends AnyDefinition, Hero, Input> = [Hero, Input] extends
  [HeroOf<Base> extends null ? unknown : HeroOf<Base>, InputOf<Base>] ? unknown
  : "The steps of this base are written for another hero or input";

/** The options of a workflow, before it is settled that it has steps or a base. */
export interface WorkflowFields<
  Hero,
  Input,
  StartInput,
  MayProceed extends boolean,
  Base extends AnyDefinition,
> {
  /** The name in the rows; renaming it abandons the rows of the old name. */
  readonly name: string;
  /** The steps in their order; required unless the workflow extends another. */
  readonly steps?: readonly (
    | RemovedStep
    | StepOptions<SeenHero<Hero, MayProceed>, NoInfer<Input>>
  )[];
  /** What the workflow is about, made by `hero()`; default: the base's, or none. */
  readonly hero?: HeroDefinition<Hero>;
  /** One condition or several: before every step, any that holds cancels the workflow. */
  readonly cancelIf?:
    | ConditionOption<SeenHero<Hero, MayProceed>, NoInfer<Input>>
    | readonly ConditionOption<SeenHero<Hero, MayProceed>, NoInfer<Input>>[];
  /** What is done about the errors of steps that do not say it themselves; default: pause. */
  readonly onException?: OnException<
    HandlerOption<SeenHero<Hero, MayProceed>, NoInfer<Input>>
  >;
  /** Queue options of all its jobs; they win over the base's. */
  readonly jobOptions?: JobOptionsInput;
  /** Hooks around every step; the base's are outside of them. */
  readonly hooks?: Hooks<StepContext<SeenHero<Hero, MayProceed>, NoInfer<Input>>>;
  /**
   * A definition to build on: its steps come first, and what is not said here is taken from it. The
   * base's own steps keep seeing the hero and the input they were written for.
   */
  readonly extends?: Base;
  /** Whether steps run, with a null hero, when the hero is gone; default: the base's, or false. */
  readonly mayProceedWithoutHero?: MayProceed;
  /** A Standard Schema that checks the input; default: the base's, or anything goes. */
  readonly input?: InputSchema<StartInput, Input>;
  /** What to do with a step whose worker died; default: the base's, or as the engine says. */
  readonly recovery?: "reattempt" | "cancel";
  /** How long after its end it is kept; null: for ever; default: the base's, or the engine's. */
  readonly retention?: Duration | null;
}

/** A workflow as it is written. */
export type WorkflowOptions<
  Hero = null,
  Input = unknown,
  StartInput = Input,
  MayProceed extends boolean = false,
  Base extends AnyDefinition = NoBase,
> = WorkflowFields<Hero, Input, StartInput, MayProceed, Base> & StepsOrBase<Base, Hero, Input>;
