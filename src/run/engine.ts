/**
 * The engine: what an application holds in its hand.
 *
 * @module
 */

import type { Logger } from "../define/context.ts";
import type { WorkflowDefinition } from "../define/definition.ts";
import { InvalidInputError, InvalidStateError } from "../errors.ts";
import type { Events } from "../observe/events.ts";
import type { Gauges } from "../observe/gauges.ts";
import { maskedLogger } from "../observe/logging.ts";
import type { QueueDriver } from "../seams/queue.ts";
import type { Count, MigrateOptions, MigrationReport, PresenceSql } from "../seams/store.ts";
import type { Job } from "../state/records.ts";
import { enqueue } from "./announce.ts";
import type { Core } from "./core.ts";
import { createCore, register, requireRegistered } from "./create_core.ts";
import { claimJobs } from "./deliver.ts";
import { readGauges } from "./gauges.ts";
import { housekeep, type HousekeepingSummary } from "./housekeeping.ts";
import { type ListFilter, listRuns, type RunPage } from "./list.ts";
import type { EngineOptions } from "./options.ts";
import { performOn, type PerformOptions } from "./perform.ts";
import { createRun, type Run } from "./run.ts";
import { start, type Started, startMany, type StartOptions } from "./start.ts";
import { enqueueInline, inTransaction } from "./transactions.ts";
import { createWorker, type Worker, type WorkOptions } from "./worker.ts";

/** Runs workflows in a database. */
export interface Engine extends AsyncDisposable {
  /** Everything that happens, to subscribe to. */
  readonly events: Events;
  /** Brings the database's schema up to date. */
  migrate(options?: MigrateOptions): Promise<MigrationReport>;
  /** Adds a definition; with `replace` in the place of another one of its name, for hot reload. */
  register(definition: WorkflowDefinition, options?: { readonly replace?: boolean }): void;
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
  /**
   * Runs work in a transaction of the store: pass its `tx` to `start`, `startMany`, `signal` and the
   * commands, and write with it. What was scheduled is announced once it is committed.
   */
  // deno-lint-ignore no-explicit-any -- the handle is the database client's own
  transaction<T>(work: (tx: any) => Promise<T>): Promise<T>;
  /**
   * Runs work whose jobs are handed to the queue in the very call, inside whatever transaction is
   * open, instead of after its commit; other flows of control are not affected.
   */
  enqueueInline<T>(work: () => T): T;
  /** The workflow of this id, or null. */
  find(id: string): Promise<Run | null>;
  /** A page of workflows, newest first. */
  list(filter?: ListFilter): Promise<RunPage>;
  /** How many workflows of each definition are in each state. */
  counts(): Promise<Count[]>;
  /** How all workflows stand: counts, paused shares, the oldest due and its lag. */
  gauges(): Promise<Gauges>;
  /** The tombstones of a definition that ongoing workflows still point at; empty: they can go. */
  tombstones(definition: WorkflowDefinition): Promise<{ stepName: string; count: number }[]>;
  /** A correlated sub-query that is true for heroes that have such a workflow. */
  presenceSql(
    definition: WorkflowDefinition,
    options: { readonly heroIdColumn: string; readonly ongoing?: boolean },
  ): PresenceSql;
  /** Starts a worker in this process. */
  work(options?: WorkOptions): Worker;
  /**
   * Runs one execution that a queue delivered; rejects with what its body threw, once it is stored.
   * A `logger` of the job keeps its own tags, and Pawl's are added.
   */
  handle(executionId: string, options?: { readonly logger?: Logger }): Promise<void>;
  /** Recovers what nobody looks after and deletes what has had its time. */
  housekeep(options?: { readonly batchSize?: number }): Promise<HousekeepingSummary>;
  /** Under cyclic scheduling: enqueues what is due within the next cycle; else does nothing. */
  cycle(): Promise<number>;
  /** Stops the workers of this engine and closes queue and store, as far as they opened something. */
  close(): Promise<void>;
}

/** How many due executions the first look of a cycle takes. */
const CYCLE_LIMIT = 1_000;

/** The engine behind an engine's handle, for helpers. */
const cores = new WeakMap<Engine, Core>();

/** The inside of an engine. */
export function coreOfEngine(engine: Engine): Core {
  const core = cores.get(engine);
  if (core === undefined) {
    throw new InvalidInputError("Not an engine: pass what createEngine() gave");
  }
  return core;
}

/** Makes an engine on a store and a queue. */
export function buildEngine(options: EngineOptions & { readonly queue: QueueDriver }): Engine {
  const core = createCore(options);
  const workers = new Set<Worker>();
  const closing = new AbortController();
  const work = (how?: WorkOptions): Worker => {
    if (closing.signal.aborted) {
      throw new InvalidStateError("Cannot work: the engine is closed; make another one");
    }
    const worker = createWorker(core, how);
    workers.add(worker);
    void worker.stopped.finally(() => workers.delete(worker));
    return worker;
  };
  const engine: Engine = {
    events: core.events,
    migrate: (how) => core.store.migrate(how),
    register: (definition, how) => register(core.definitions, definition, how?.replace === true),
    start: (definition, how) => start(core, definition, how ?? {}),
    startMany: (definition, items, how) => startMany(core, definition, items, how?.tx),
    transaction: (work) => inTransaction(core, work),
    enqueueInline,
    async find(id) {
      const known = typeof id === "string" || typeof id === "number" || typeof id === "bigint";
      const row = known ? await core.store.get(String(id)) : null;
      return row === null ? null : createRun(core, row);
    },
    list: (filter) => listRuns(core, filter ?? {}),
    counts: () => core.store.counts(),
    gauges: () => readGauges(core),
    tombstones: async (definition) => {
      const removed = new Set(
        definition.allSteps.filter((one) => one.removed).map((one) => one.name),
      );
      const counts = await core.store.stepCounts(definition.name);
      return counts.filter(({ stepName }) => removed.has(stepName));
    },
    presenceSql: (definition, how) => presenceSql(core, definition, how),
    work,
    handle: (executionId, how) =>
      runJobs(core, [{ executionId }], {
        ...(how?.logger === undefined ? {} : { logger: maskedLogger(how.logger, core.redactor) }),
        mayContinue: () => false,
      }),
    housekeep: (how) => housekeep(core, how),
    cycle: () => cycle(core),
    async close() {
      closing.abort();
      await Promise.all([inProcess, ...[...workers].map((worker) => worker.stop())]);
      await core.queue.close();
      await core.store.close();
    },
    [Symbol.asyncDispose]: () => engine.close(),
  };
  const inProcess = core.queue.inProcess ? listenInProcess(core, closing.signal) : null;
  cores.set(engine, core);
  return engine;
}

/** A queue that runs jobs in process is listened to as long as the engine is open. */
function listenInProcess(core: Core, signal: AbortSignal): Promise<void> {
  const { queue, clock, settings: { pollMs } } = core;
  const run = (jobs: readonly Job[]): Promise<void> =>
    runJobs(core, jobs, { mayContinue: () => !signal.aborted });
  return queue.listen(run, { signal, clock, pollMs });
}

/** Runs jobs that were delivered, one after the other; rejects with the first error of a body. */
async function runJobs(
  core: Core,
  jobs: readonly Pick<Job, "executionId">[],
  options: PerformOptions,
): Promise<void> {
  let first: Error | null = null;
  for (const claimed of await claimJobs(core, jobs)) {
    const error = await performOn(core, claimed, options);
    first ??= error;
  }
  if (first !== null) throw first;
}

/**
 * One round of cyclic scheduling: whatever is due within the cycle is told of once. A look cannot
 * start where the last one ended, because rows leave the list meanwhile, so each looks twice as far.
 */
async function cycle(core: Core): Promise<number> {
  const { cycleMs } = core.settings;
  if (cycleMs === null || core.queue.commit === "none") return 0;
  const before = new Date(core.clock.now() + cycleMs);
  const told = new Set<string>();
  for (let limit = CYCLE_LIMIT;; limit *= 2) {
    const due = await core.store.due({ before, limit });
    const fresh = due.filter(({ id }) => !told.has(id));
    for (const { id } of fresh) told.add(id);
    await enqueue(
      core,
      fresh.map(({ id, scheduledFor, queue, priority }) => {
        return { executionId: id, runAt: scheduledFor, queue, priority };
      }),
    );
    if (due.length < limit) return told.size;
  }
}

function presenceSql(
  core: Core,
  definition: WorkflowDefinition,
  options: { readonly heroIdColumn: string; readonly ongoing?: boolean },
): PresenceSql {
  requireRegistered(core, definition);
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
