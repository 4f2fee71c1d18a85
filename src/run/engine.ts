/**
 * The engine: what an application holds in its hand.
 *
 * @module
 */

import type { WorkflowDefinition } from "../define/definition.ts";
import {
  DuplicateWorkflowError,
  InvalidInputError,
  StepConfigurationError,
  WorkflowNotDefinedError,
} from "../errors.ts";
import { createEventBus, type Events } from "../observe/events.ts";
import { silentLogger, taggedLogger } from "../observe/logging.ts";
import { systemClock } from "../seams/clock.ts";
import type { QueueDriver } from "../seams/queue.ts";
import type {
  Count,
  Created,
  MigrateOptions,
  MigrationReport,
  PresenceSql,
} from "../seams/store.ts";
import { jsonCodec } from "../state/codec.ts";
import type { NewWorkflow } from "../state/records.ts";
import { announce, enqueue, writeOptions } from "./announce.ts";
import type { Core, ReportError } from "./core.ts";
import { claimJobs } from "./deliver.ts";
import { createHoldings } from "./holdings.ts";
import { housekeep, type HousekeepingSummary } from "./housekeeping.ts";
import { listRuns, type ListFilter, type RunPage } from "./list.ts";
import { type EngineOptions, settingsOf } from "./options.ts";
import { perform } from "./perform.ts";
import { jobOf } from "./plan.ts";
import { createRun, type Run } from "./run.ts";
import { batched } from "./settle.ts";
import { newWorkflow, type StartOptions } from "./start.ts";
import { createWorker, type Worker, type WorkOptions } from "./worker.ts";

/** What came of one of many starts. */
export type Started =
  | { readonly kind: "started"; readonly run: Run }
  | { readonly kind: "duplicate"; readonly existingId: string | null };

/** Runs workflows in a database. */
export interface Engine extends AsyncDisposable {
  /** Everything that happens, to subscribe to. */
  readonly events: Events;
  /** Brings the database's schema up to date. */
  migrate(options?: MigrateOptions): Promise<MigrationReport>;
  /** Starts a workflow; rejects with `DuplicateWorkflowError` when its hero has an ongoing one. */
  start<Hero, Input, StartInput>(
    definition: WorkflowDefinition<Hero, Input, StartInput>,
    options?: StartOptions<NoInfer<Hero>, NoInfer<StartInput>>,
  ): Promise<Run>;
  /** Starts many workflows at once; duplicates are reported per item, in the order given. */
  startMany<Hero, Input, StartInput>(
    definition: WorkflowDefinition<Hero, Input, StartInput>,
    items: readonly Omit<StartOptions<NoInfer<Hero>, NoInfer<StartInput>>, "tx">[],
    options?: { readonly tx?: unknown },
  ): Promise<Started[]>;
  /** The workflow of this id, or null. */
  find(id: string): Promise<Run | null>;
  /** A page of workflows, newest first. */
  list(filter?: ListFilter): Promise<RunPage>;
  /** How many workflows of each definition are in each state. */
  counts(): Promise<Count[]>;
  /** The tombstones of a definition that ongoing workflows still point at; empty: they can go. */
  tombstones(definition: WorkflowDefinition): Promise<{ stepName: string; count: number }[]>;
  /** A correlated sub-query that is true for heroes that have such a workflow. */
  presenceSql(
    definition: WorkflowDefinition,
    options: { readonly heroIdColumn: string; readonly ongoing?: boolean },
  ): PresenceSql;
  /** Starts a worker in this process. */
  work(options?: WorkOptions): Worker;
  /** Runs one execution that a queue delivered; rejects with what its body threw, once it is stored. */
  handle(executionId: string): Promise<void>;
  /** Recovers what nobody looks after and deletes what has had its time. */
  housekeep(options?: { readonly batchSize?: number }): Promise<HousekeepingSummary>;
  /** Under cyclic scheduling: enqueues what is due within the next cycle; else does nothing. */
  cycle(): Promise<number>;
  /** Stops the workers of this engine and closes queue and store, as far as they opened something. */
  close(): Promise<void>;
}

const MAX_BATCH = 500;
const CYCLE_LIMIT = 1_000;

/** The engine behind an engine's handle, for helpers. */
const cores = new WeakMap<Engine, Core>();

/** The inside of an engine. */
export function coreOfEngine(engine: Engine): Core {
  const core = cores.get(engine);
  if (core === undefined) throw new InvalidInputError("Not an engine: pass what createEngine() gave");
  return core;
}

/** Makes an engine on a store and a queue. */
export function buildEngine(options: EngineOptions & { readonly queue: QueueDriver }): Engine {
  const core = createCore(options);
  const workers = new Set<Worker>();
  const work = (how?: WorkOptions): Worker => {
    const worker = createWorker(core, how);
    workers.add(worker);
    void worker.stopped.finally(() => workers.delete(worker));
    return worker;
  };
  const engine: Engine = {
    events: core.events,
    migrate: (how) => core.store.migrate(how),
    start: (definition, how) => start(core, definition, how ?? {}),
    startMany: (definition, items, how) => startMany(core, definition, items, how?.tx),
    async find(id) {
      const row = await core.store.get(String(id));
      return row === null ? null : createRun(core, row);
    },
    list: (filter) => listRuns(core, filter ?? {}),
    counts: () => core.store.counts(),
    tombstones: async (definition) => {
      const removed = new Set(definition.allSteps.filter((one) => one.removed).map((one) => one.name));
      const counts = await core.store.stepCounts(definition.name);
      return counts.filter(({ stepName }) => removed.has(stepName));
    },
    presenceSql: (definition, how) => presenceSql(core, definition, how),
    work,
    handle: (executionId) => handle(core, executionId),
    housekeep: (how) => housekeep(core, how),
    cycle: () => cycle(core),
    async close() {
      await Promise.all([...workers].map((worker) => worker.stop()));
      await core.queue.close();
      await core.store.close();
    },
    [Symbol.asyncDispose]: () => engine.close(),
  };
  cores.set(engine, core);
  if (core.queue.inProcess) work();
  return engine;
}

function createCore(options: EngineOptions & { readonly queue: QueueDriver }): Core {
  const settings = settingsOf(options);
  const { store, queue } = options;
  const clock = options.clock ?? systemClock;
  const log = taggedLogger(options.logger ?? silentLogger, {});
  const report = safeReporter(options.reportError ?? (() => {}), log);
  const now = (): Date => new Date(clock.now());
  const renew: Parameters<typeof createHoldings>[0]["renew"] = (batch) =>
    store.checkpoint(batch, { now: now(), leaseMs: settings.leaseMs });
  const limits = { maxBatch: MAX_BATCH, maxInFlight: 1 };
  const core: Core = {
    store,
    queue,
    clock,
    codec: options.codec ?? jsonCodec,
    definitions: registry(options.workflows ?? []),
    settings,
    events: createEventBus((error, name) => {
      log.error(`A listener of "${name}" events threw; it is not reported again`, { error });
    }),
    log,
    report,
    workerId: `${crypto.randomUUID()}`,
    holdings: createHoldings({ clock, log, renew, ...settings }),
    finish: batched((batch) => store.finish(batch, writeOptions(core)), limits),
    checkpoint: batched(renew, limits),
    create: batched((batch) => store.create(batch, writeOptions(core)), limits),
    pollers: new Set(),
    now,
    token: () => crypto.randomUUID(),
  };
  return core;
}

/** The definitions by name; two under one name could not be told apart in the rows. */
function registry(definitions: readonly WorkflowDefinition[]): Map<string, WorkflowDefinition> {
  const byName = new Map<string, WorkflowDefinition>();
  for (const definition of definitions) {
    if (definition?.kind !== "workflow") {
      throw new StepConfigurationError("workflows must hold what workflow({...}) returned");
    }
    const other = byName.get(definition.name);
    if (other !== undefined && other !== definition) {
      throw new StepConfigurationError(
        `Two workflows are registered under the name "${definition.name}"; give one another name`,
      );
    }
    byName.set(definition.name, definition);
  }
  return byName;
}

/** A reporter that breaks must not break a step. */
function safeReporter(report: ReportError, log: Core["log"]): ReportError {
  return async (error, context) => {
    try {
      await report(error, context);
    } catch (thrown) {
      log.error("The error reporter threw", { error: thrown, reported: error });
    }
  };
}

async function start(
  core: Core,
  definition: WorkflowDefinition,
  options: StartOptions,
): Promise<Run> {
  const fresh = await newWorkflow(core, definition, options);
  const created = options.tx === undefined
    ? await core.create(fresh)
    : (await core.store.create([fresh], writeOptions(core, options.tx)))[0] as Created;
  if (created.kind === "duplicate") {
    const { heroType, heroId } = fresh;
    const { existingId } = created;
    throw new DuplicateWorkflowError({ workflowName: definition.name, heroType, heroId, existingId });
  }
  await afterCreate(core, [created], options.tx);
  return createRun(core, created.workflow);
}

async function startMany(
  core: Core,
  definition: WorkflowDefinition,
  items: readonly StartOptions[],
  tx: unknown,
): Promise<Started[]> {
  const fresh: NewWorkflow[] = [];
  for (const item of items) {
    fresh.push(await newWorkflow(core, definition, tx === undefined ? item : { ...item, tx }));
  }
  const created: Created[] = [];
  for (let at = 0; at < fresh.length; at += MAX_BATCH) {
    created.push(
      ...await core.store.create(fresh.slice(at, at + MAX_BATCH), writeOptions(core, tx)),
    );
  }
  await afterCreate(core, created, tx);
  return created.map((one) =>
    one.kind === "created" ? { kind: "started", run: createRun(core, one.workflow) } : one
  );
}

/** In the caller's transaction nothing is announced: nobody can see the rows yet. */
async function afterCreate(core: Core, created: readonly Created[], tx: unknown): Promise<void> {
  for (const one of created) {
    if (one.kind !== "created" || !core.events.has("workflow")) continue;
    core.events.emit("workflow", {
      workflowId: one.workflow.id,
      workflowName: one.workflow.name,
      action: "start",
      workflowState: one.workflow.state,
    });
  }
  if (tx !== undefined) return;
  await announce(core, created.map((one) => one.kind === "created" ? one.execution : null));
}

async function handle(core: Core, executionId: string): Promise<void> {
  for (const claimed of await claimJobs(core, [{ executionId }])) {
    const { error } = await perform(core, claimed, { mayContinue: () => false });
    if (error !== null) throw error;
  }
}

/** One round of cyclic scheduling; each row is told of once, however many rounds overlap. */
async function cycle(core: Core): Promise<number> {
  const { cycleMs } = core.settings;
  if (cycleMs === null || core.queue.commit === "none") return 0;
  const before = new Date(core.clock.now() + cycleMs);
  const due = await core.store.due({ before, limit: CYCLE_LIMIT });
  const jobs = due.map(jobOf).filter((job) => job !== null);
  await enqueue(core, jobs);
  return jobs.length;
}

function presenceSql(
  core: Core,
  definition: WorkflowDefinition,
  options: { readonly heroIdColumn: string; readonly ongoing?: boolean },
): PresenceSql {
  if (core.definitions.get(definition.name) !== definition) {
    throw new WorkflowNotDefinedError({ workflowName: definition.name });
  }
  if (definition.hero === null) {
    throw new InvalidInputError(`Workflow "${definition.name}" has no hero to look for`);
  }
  return core.store.presence({
    name: definition.name,
    heroType: definition.hero.type,
    heroIdColumn: options.heroIdColumn,
    ongoing: options.ongoing === true,
  });
}
