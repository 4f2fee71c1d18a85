/**
 * Starting workflows: from a definition and a hero to a row.
 *
 * @module
 */

import type { HeroDefinition, WorkflowDefinition } from "../define/definition.ts";
import { nextOf } from "../define/definition.ts";
import { jobOptions as checkJobOptions, type JobOptionsInput } from "../define/job_options.ts";
import { optionsObject } from "../define/options.ts";
import { DuplicateWorkflowError, InvalidInputError } from "../errors.ts";
import type { Created } from "../seams/store.ts";
import type { NewExecution, NewWorkflow, WorkflowRow } from "../state/records.ts";
import { writeOptions } from "./announce.ts";
import { attach, attached } from "./attach.ts";
import type { Core } from "./core.ts";
import { MAX_BATCH, requireRegistered } from "./create_core.ts";
import { encoded, storableText, storableTime } from "./given.ts";
import { planStep } from "./plan.ts";
import { createRun, type Run } from "./run.ts";
import { announceIn, emitIn, graceMs, refuseWithoutTx } from "./transactions.ts";

/** What `start` may be given beside the definition. */
export interface StartOptions<Hero = unknown, Input = unknown> {
  /** The hero itself (with `idOf`) or its id; not for definitions without a hero. */
  readonly hero?: Hero | string | number | bigint | null;
  /** The input; checked by the definition's schema. */
  readonly input?: Input;
  /** Start it beside an ongoing one of the same hero. */
  readonly allowMultiple?: boolean;
  /** This instance's own queue options. */
  readonly jobOptions?: JobOptionsInput;
  /** A transaction of the caller to join. */
  readonly tx?: unknown;
  /** When it starts; default now. */
  readonly at?: Date | number;
  /** Free JSON kept with the workflow. */
  readonly metadata?: Record<string, unknown>;
}

const KEYS = ["hero", "input", "allowMultiple", "jobOptions", "tx", "at", "metadata"] as const;

/** What came of one of many starts. */
export type Started =
  | { readonly kind: "started"; readonly run: Run }
  | { readonly kind: "duplicate"; readonly existingId: string | null };

/** Starts a workflow, together with whatever else is started in the same moment. */
export async function start(
  core: Core,
  definition: WorkflowDefinition,
  options: StartOptions,
): Promise<Run> {
  refuseWithoutTx(core, options.tx, "start a workflow");
  const fresh = await newWorkflow(core, definition, options);
  const created = options.tx === undefined
    ? await core.create(fresh)
    : (await core.store.create([fresh], writeOptions(core, options.tx)))[0] as Created;
  if (created.kind === "duplicate") {
    const { heroType, heroId } = fresh;
    const { existingId } = created;
    throw new DuplicateWorkflowError({
      workflowName: definition.name,
      heroType,
      heroId,
      existingId,
    });
  }
  await afterCreate(core, [created], options.tx);
  return createRun(core, created.workflow);
}

/** Starts many workflows at once; duplicates are reported per item. */
export async function startMany(
  core: Core,
  definition: WorkflowDefinition,
  items: readonly StartOptions[],
  tx: unknown,
): Promise<Started[]> {
  refuseWithoutTx(core, tx, "start workflows");
  if (!Array.isArray(items)) {
    throw new InvalidInputError(
      `Cannot start many "${definition?.name}": pass an array of options`,
    );
  }
  const fresh: NewWorkflow[] = [];
  for (const item of items) {
    const made = newWorkflow(core, definition, tx === undefined ? item : { ...item, tx });
    // Awaiting ten thousand times what is there already takes as long as inserting it.
    fresh.push(made instanceof Promise ? await made : made);
  }
  const { created, failure } = await createAll(core, fresh, tx);
  // What is committed is announced, also when a later batch failed.
  await afterCreate(core, created, tx);
  if (failure !== null) throw failure.reason;
  return created.map((one) => one.kind === "created" ? started(core, one.workflow) : one);
}

/** How many batches are under way at a time: while the database writes one, the next is made. */
const CARRIERS = 2;

/** Hands workflows to the store in batches; after one that fails no other is begun. */
async function createAll(
  core: Core,
  fresh: readonly NewWorkflow[],
  tx: unknown,
): Promise<{ created: Created[]; failure: PromiseRejectedResult | null }> {
  const answers: Created[][] = [];
  let next = 0;
  const carry = async (): Promise<void> => {
    while (next * MAX_BATCH < fresh.length) {
      const at = next++;
      const batch = fresh.slice(at * MAX_BATCH, (at + 1) * MAX_BATCH);
      try {
        answers[at] = await core.store.create(batch, writeOptions(core, tx));
      } catch (error) {
        next = Infinity;
        throw error;
      }
    }
  };
  // In one transaction, and where only one can write, two would wait for each other.
  const alone = tx !== undefined || core.store.exclusive === true;
  const ends = await Promise.allSettled(Array.from({ length: alone ? 1 : CARRIERS }, carry));
  const failure = ends.find((one) => one.status === "rejected") ?? null;
  return { created: answers.flat(), failure };
}

/** What the run of a start is made from, and the run once it was. */
interface Makings {
  readonly core: Core;
  readonly workflow: WorkflowRow;
  run: Run | null;
}

const RUN: PropertyDescriptor = {
  enumerable: true,
  get(): Run {
    const makings = attached<Makings>(this);
    return makings.run ??= createRun(makings.core, makings.workflow);
  },
};

/** Whoever starts ten thousand workflows looks at few of their runs: each is made when asked for. */
function started(core: Core, workflow: WorkflowRow): Started {
  const one = { kind: "started" };
  attach(one, { core, workflow, run: null } satisfies Makings);
  return Object.defineProperty(one, "run", RUN) as unknown as Started;
}

async function afterCreate(core: Core, created: readonly Created[], tx: unknown): Promise<void> {
  for (const one of created) {
    if (one.kind !== "created" || !core.events.has("workflow")) continue;
    emitIn(core, tx, {
      workflowId: one.workflow.id,
      workflowName: one.workflow.name,
      action: "start",
      workflowState: one.workflow.state,
    });
  }
  await announceIn(core, tx, created.map((one) => one.kind === "created" ? one.job : null));
}

/** Builds the row of a new workflow and of its first execution; a promise only where it must. */
export function newWorkflow(
  core: Core,
  definition: WorkflowDefinition,
  options: StartOptions,
): NewWorkflow | Promise<NewWorkflow> {
  if (definition?.kind !== "workflow") {
    throw new InvalidInputError("Cannot start a workflow: pass what workflow({...}) returned");
  }
  requireRegistered(core, definition);
  optionsObject(options, KEYS, `the options of start("${definition.name}")`);
  if (options.allowMultiple !== undefined && typeof options.allowMultiple !== "boolean") {
    throw new InvalidInputError("allowMultiple must be true or false");
  }
  const hero = heroOf(definition, options);
  return definition.input === null
    ? withFirst(core, definition, options, {
      ...hero,
      input: inputText(core, definition, options.input),
    })
    : checkedInput(core, definition, options.input).then((input) =>
      withFirst(core, definition, options, { ...hero, input })
    );
}

function withFirst(
  core: Core,
  definition: WorkflowDefinition,
  options: StartOptions,
  given: Pick<NewWorkflow, "heroType" | "heroId" | "input">,
): NewWorkflow | Promise<NewWorkflow> {
  const own = options.jobOptions === undefined
    ? null
    : JSON.stringify(checkJobOptions(options.jobOptions, "jobOptions"));
  const metadata = metadataFrom(core, definition, options.metadata);
  const base = {
    name: definition.name,
    heroType: given.heroType,
    heroId: given.heroId,
    allowMultiple: options.allowMultiple === true,
    input: given.input,
    metadata,
    jobOptions: own,
    traceparent: core.tracing?.startOf(definition.name) ?? null,
  };
  const first = firstExecution(core, definition, base, options);
  return first instanceof Promise
    ? first.then((planned) => ({ ...base, first: planned }))
    : { ...base, first };
}

function firstExecution(
  core: Core,
  definition: WorkflowDefinition,
  base: Omit<NewWorkflow, "first">,
  options: StartOptions,
): NewExecution | null | Promise<NewExecution> {
  const step = nextOf(definition, null);
  if (step === null) return null;
  return planStep(core, step, {
    definition,
    workflow: provisional(core, base),
    now: options.at === undefined ? core.now() : storableTime(options.at, '"at"'),
    graceMs: graceMs(core, options.tx),
  });
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
  if (typeof id === "string" && id !== "") return storableText(id, `the id of a ${hero.type}`);
  if (typeof id === "bigint" || Number.isSafeInteger(id)) {
    return storableText(String(id), `the id of a ${hero.type}`);
  }
  if (typeof id === "number") {
    throw new InvalidInputError(
      `Cannot use ${id} as the id of a ${hero.type}: a number must be whole and below 2^53; ` +
        `pass a bigint or a string`,
    );
  }
  const how = hero.idOf === null
    ? `pass its id, or give hero("${hero.type}") an idOf`
    : "a string, number or bigint is needed";
  throw new InvalidInputError(`Cannot tell the id of this ${hero.type}: ${how}`);
}

function metadataFrom(
  core: Core,
  definition: WorkflowDefinition,
  metadata: unknown,
): string | null {
  if (metadata === undefined) return null;
  if (typeof metadata !== "object" || metadata === null || Array.isArray(metadata)) {
    throw new InvalidInputError(
      `Cannot start "${definition.name}": its metadata must be an object of values by name`,
    );
  }
  return encoded(core, metadata, `the metadata of "${definition.name}"`);
}

async function checkedInput(
  core: Core,
  definition: WorkflowDefinition,
  given: unknown,
): Promise<string | null> {
  const checked = await definition.input?.["~standard"].validate(given) ?? { value: given };
  if (checked.issues !== undefined) {
    const what = checked.issues.map(complaint).join("; ");
    throw new InvalidInputError(`The input of "${definition.name}" is not valid: ${what}`, {
      issues: checked.issues,
    });
  }
  return inputText(core, definition, (checked as { value: unknown }).value);
}

/** What a schema has against a value, and where: a path is of keys, or of objects that have one. */
function complaint({ message, path }: InvalidInputError["issues"][number]): string {
  const keys = (path ?? []).map((part) =>
    typeof part === "object" && part !== null && "key" in part ? part.key : part
  );
  return keys.length === 0 ? message : `${keys.map(String).join(".")}: ${message}`;
}

function inputText(core: Core, { name }: WorkflowDefinition, input: unknown): string | null {
  if (input === undefined || input === null) return null;
  return encoded(core, input, `the input of "${name}"`);
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
