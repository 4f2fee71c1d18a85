/**
 * Starting workflows: from a definition and a hero to a row.
 *
 * @module
 */

import type { HeroDefinition, JobOptions, WorkflowDefinition } from "../define/definition.ts";
import { nextOf } from "../define/definition.ts";
import { jobOptions as checkJobOptions } from "../define/job_options.ts";
import { refuseUnknownKeys } from "../define/options.ts";
import { InvalidInputError, WorkflowNotDefinedError } from "../errors.ts";
import type { NewExecution, NewWorkflow, WorkflowRow } from "../state/records.ts";
import { outsideContext } from "./commands.ts";
import { type Core, graceMs } from "./core.ts";
import { planStep } from "./plan.ts";

/** What `start` may be given beside the definition. */
export interface StartOptions<Hero = unknown, Input = unknown> {
  /** The hero itself (with `idOf`) or its id; not for definitions without a hero. */
  readonly hero?: Hero | string | number | bigint | null;
  /** The input; checked by the definition's schema. */
  readonly input?: Input;
  /** Start it beside an ongoing one of the same hero. */
  readonly allowMultiple?: boolean;
  /** This instance's own queue options. */
  readonly jobOptions?: JobOptions;
  /** A transaction of the caller to join. */
  readonly tx?: unknown;
  /** When it starts; default now. */
  readonly at?: Date | number;
  /** Free JSON kept with the workflow. */
  readonly metadata?: Record<string, unknown>;
}

const KEYS = ["hero", "input", "allowMultiple", "jobOptions", "tx", "at", "metadata"] as const;

/** Builds the row of a new workflow and of its first execution. */
export async function newWorkflow(
  core: Core,
  definition: WorkflowDefinition,
  options: StartOptions,
): Promise<NewWorkflow> {
  if (core.definitions.get(definition.name) !== definition) {
    throw new WorkflowNotDefinedError({ workflowName: definition.name });
  }
  refuseUnknownKeys(options, KEYS, `start("${definition.name}")`);
  if (options.allowMultiple !== undefined && typeof options.allowMultiple !== "boolean") {
    throw new InvalidInputError("allowMultiple must be true or false");
  }
  const hero = heroOf(definition, options);
  const input = await inputOf(core, definition, options.input);
  const own = options.jobOptions === undefined
    ? null
    : JSON.stringify(checkJobOptions(options.jobOptions, "jobOptions"));
  const metadata = options.metadata === undefined ? null : core.codec.encode(options.metadata);
  const base = {
    name: definition.name,
    ...hero,
    allowMultiple: options.allowMultiple === true,
    input,
    metadata,
    jobOptions: own,
    traceparent: null,
  };
  return { ...base, first: await firstExecution(core, definition, base, options) };
}

async function firstExecution(
  core: Core,
  definition: WorkflowDefinition,
  base: Omit<NewWorkflow, "first">,
  options: StartOptions,
): Promise<NewExecution | null> {
  const step = nextOf(definition, null);
  if (step === null) return null;
  const plan = {
    definition,
    jobOptions: base.jobOptions,
    now: startTime(core, options.at),
    graceMs: graceMs(core, options.tx),
  };
  return await planStep(step, plan, () => outsideContext(core, definition, provisional(core, base)));
}

function startTime(core: Core, at: Date | number | undefined): Date {
  if (at === undefined) return core.now();
  const date = typeof at === "number" ? new Date(at) : at;
  if (!(date instanceof Date) || Number.isNaN(date.getTime())) {
    throw new InvalidInputError(`"at" must be a valid Date or epoch milliseconds: got ${String(at)}`);
  }
  return date;
}

function heroOf(
  definition: WorkflowDefinition,
  options: StartOptions,
): { heroType: string | null; heroId: string | null } {
  const { hero } = definition;
  const given = options.hero;
  if (hero === null) {
    if (given === undefined || given === null) return { heroType: null, heroId: null };
    throw new InvalidInputError(`Workflow "${definition.name}" has no hero: leave the hero out`);
  }
  if (given === undefined || given === null) {
    if (definition.mayProceedWithoutHero) return { heroType: null, heroId: null };
    throw new InvalidInputError(
      `Workflow "${definition.name}" needs a hero: pass { hero } with a ${hero.type} or its id`,
    );
  }
  return { heroType: hero.type, heroId: heroIdOf(hero, given) };
}

/** The id of a hero that was given as itself or as its id. */
export function heroIdOf(hero: HeroDefinition, given: unknown): string {
  const id = typeof given === "object" && given !== null ? hero.idOf?.(given) : given;
  if (typeof id === "string" && id !== "") {
    if (id.length > 255) throw new InvalidInputError(`The id of a ${hero.type} has more than 255 characters`);
    return id;
  }
  if (typeof id === "bigint" || (typeof id === "number" && Number.isFinite(id))) return String(id);
  const how = hero.idOf === null
    ? `pass its id, or give hero("${hero.type}") an idOf`
    : "a string, number or bigint is needed";
  throw new InvalidInputError(`Cannot tell the id of this ${hero.type}: ${how}`);
}

async function inputOf(
  core: Core,
  definition: WorkflowDefinition,
  given: unknown,
): Promise<string | null> {
  if (definition.input === null) {
    return given === undefined || given === null ? null : core.codec.encode(given);
  }
  const checked = await definition.input["~standard"].validate(given);
  if (checked.issues !== undefined) {
    const what = checked.issues.map((issue) => issue.message).join("; ");
    throw new InvalidInputError(`The input of "${definition.name}" is not valid: ${what}`, {
      issues: checked.issues,
    });
  }
  const { value } = checked as { value: unknown };
  return value === undefined || value === null ? null : core.codec.encode(value);
}

/** The workflow's row as it will be, for a `wait` function of the first step: it has no id yet. */
function provisional(core: Core, base: Omit<NewWorkflow, "first">): WorkflowRow {
  const now = core.now();
  return {
    ...base,
    id: "",
    state: "ready",
    currentStepName: null,
    nextStepName: null,
    startedAt: null,
    transitionedAt: null,
    createdAt: now,
    updatedAt: now,
  };
}
