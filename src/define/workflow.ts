/**
 * Definitions of workflows: checked, completed with what they extend, and frozen.
 *
 * @module
 */

import { StepConfigurationError } from "../errors.ts";
import { callSite } from "./call_site.ts";
import { conditionsFrom } from "./conditions.ts";
import type { HeroDefinition, Hooks, InputSchema, WorkflowDefinition } from "./definition.ts";
import { positiveDurationMs } from "./durations.ts";
import { jobOptions, mergeJobOptions } from "./job_options.ts";
import { about, callable, flag, isMade, nameText, oneOf, optionsObject, show } from "./options.ts";
import { orderSteps } from "./ordering.ts";
import { policiesFrom } from "./policy.ts";
import { stepFrom } from "./steps.ts";
import type {
  AnyDefinition,
  HeroOf,
  InputOf,
  MayProceedOf,
  NoBase,
  StartInputOf,
  WorkflowOptions,
} from "./types.ts";

const KEYS = [
  "name",
  "steps",
  "hero",
  "cancelIf",
  "onException",
  "jobOptions",
  "hooks",
  "extends",
  "mayProceedWithoutHero",
  "input",
  "recovery",
  "retention",
] as const;

const RECOVERIES: readonly ("reattempt" | "cancel")[] = ["reattempt", "cancel"];
const HOOK_KEYS = ["beforeStep", "aroundStep", "afterStep"] as const;

/** What was written, with its keys checked. */
type Given = Readonly<Record<string, unknown>>;

/**
 * Defines a workflow. Only its structure is fixed here: conditions, bodies and waits that are
 * functions are called when the workflow runs, maybe in another process.
 *
 * Each step's `sourceLocation` is the place of this call, since a plain object has none of its own;
 * inherited steps keep the place of the definition they come from.
 *
 * @returns A frozen definition; nothing is written anywhere, and what was passed stays as it was.
 * @throws {StepConfigurationError} When it cannot work; the message names step and option.
 *
 * @example A welcome, and a reminder two days later
 * ```ts ignore
 * export const onboarding = workflow({
 *   name: "onboarding",
 *   hero: users,
 *   cancelIf: ({ hero }) => hero.accountClosed,
 *   steps: [
 *     { name: "send_welcome", run: ({ hero }) => mail.welcome(hero) },
 *     { name: "remind", wait: "2 days", run: ({ hero }) => mail.remind(hero) },
 *   ],
 * });
 * ```
 */
export function workflow<
  Base extends AnyDefinition = NoBase,
  Hero = HeroOf<Base>,
  Input = InputOf<Base>,
  StartInput = StartInputOf<Base>,
  MayProceed extends boolean = MayProceedOf<Base>,
>(
  options: WorkflowOptions<Hero, Input, StartInput, MayProceed, Base>,
): WorkflowDefinition<NoInfer<Hero>, NoInfer<Input>, NoInfer<StartInput>, NoInfer<MayProceed>> {
  const sourceLocation = callSite(workflow);
  return about({ where: titleOf(options), stepName: null }, () => {
    const given = optionsObject(options, KEYS, "the options of a workflow");
    return defined(given, baseFrom(given.extends), sourceLocation) as WorkflowDefinition<
      Hero,
      Input,
      StartInput,
      MayProceed
    >;
  });
}

/** What an error calls a definition by before anything of it is checked. */
function titleOf(options: unknown): string {
  if (typeof options !== "object" || options === null || !("name" in options)) return "workflow()";
  return typeof options.name === "string" ? `Workflow ${show(options.name)}` : "workflow()";
}

function defined(
  given: Given,
  base: WorkflowDefinition | null,
  sourceLocation: string | null,
): WorkflowDefinition {
  const name = nameText(given.name, "name");
  const allSteps = stepsFrom(given.steps, base, sourceLocation);
  const layer = policiesFrom(given.onException, {}, "onException");
  return Object.freeze({
    kind: "workflow",
    name,
    steps: Object.freeze(allSteps.filter((step) => !step.removed)),
    allSteps,
    hero: heroFrom(given.hero) ?? base?.hero ?? null,
    mayProceedWithoutHero: given.mayProceedWithoutHero === undefined
      ? base?.mayProceedWithoutHero ?? false
      : flag(given.mayProceedWithoutHero, "mayProceedWithoutHero"),
    cancelIf: Object.freeze([
      ...base?.cancelIf ?? [],
      ...conditionsFrom(given.cancelIf, "cancelIf"),
    ]),
    policies: Object.freeze([...(layer === null ? [] : [layer]), ...base?.policies ?? []]),
    jobOptions: mergeJobOptions(
      base?.jobOptions ?? null,
      null,
      jobOptions(given.jobOptions, "jobOptions"),
    ),
    hooks: Object.freeze([...base?.hooks ?? [], ...hooksFrom(given.hooks)]),
    input: schemaFrom(given.input) ?? base?.input ?? null,
    recovery: recoveryFrom(given.recovery) ?? base?.recovery ?? null,
    retentionMs: given.retention === undefined ? base?.retentionMs : retentionFrom(given.retention),
  });
}

function baseFrom(value: unknown): WorkflowDefinition | null {
  if (value === undefined) return null;
  if (isMade<WorkflowDefinition>(value, "workflow")) return value;
  throw new StepConfigurationError(
    `Cannot extend ${show(value)}: extends must be a definition that workflow() made`,
  );
}

/** Positions count inherited steps, so that anonymous steps of base and derived keep apart. */
function stepsFrom(
  value: unknown,
  base: WorkflowDefinition | null,
  sourceLocation: string | null,
): WorkflowDefinition["allSteps"] {
  const inherited = base?.allSteps ?? [];
  if (value === undefined && base !== null) return inherited;
  if (!Array.isArray(value)) {
    throw new StepConfigurationError(
      `Cannot use ${show(value)} as steps: it must be an array of steps, which may be empty; ` +
        `only a workflow that extends another can do without`,
    );
  }
  const declared = Array.from(
    value as readonly unknown[],
    (step, at) => stepFrom(step, { position: inherited.length + at + 1, sourceLocation }),
  );
  return orderSteps(inherited, declared);
}

function heroFrom(value: unknown): HeroDefinition | null {
  if (value === undefined) return null;
  if (isMade<HeroDefinition>(value, "hero")) return value;
  throw new StepConfigurationError(
    `Cannot use ${show(value)} as hero: it must be what hero() made, hero("User", { load })`,
  );
}

/** The hooks, as a list of at most one; a copy, so that the user's own object is not frozen. */
function hooksFrom(value: unknown): readonly Hooks[] {
  if (value === undefined) return [];
  const given = optionsObject(value, HOOK_KEYS, "hooks");
  const set = HOOK_KEYS.filter((key) => given[key] !== undefined);
  if (set.length === 0) return [];
  const hooks = set.map((key) => [key, callable(given[key], `${key} of hooks`)]);
  return [Object.freeze(Object.fromEntries(hooks))];
}

/** A schema may be a function as well as an object: in some libraries a type can be called. */
function schemaFrom(value: unknown): InputSchema | null {
  if (value === undefined) return null;
  const standard = (value as Partial<InputSchema> | null)?.["~standard"];
  if (standard?.version === 1 && typeof standard.validate === "function") {
    return value as InputSchema;
  }
  throw new StepConfigurationError(
    `Cannot use ${show(value)} as input: it must be a Standard Schema of version 1, such as the ` +
      `schemas of zod, valibot and arktype`,
  );
}

function recoveryFrom(value: unknown): WorkflowDefinition["recovery"] {
  return value === undefined ? null : oneOf(value, RECOVERIES, "recovery");
}

function retentionFrom(value: unknown): number | null {
  return value === null ? null : positiveDurationMs(value, "retention");
}
