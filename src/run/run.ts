/**
 * A run: the handle on one workflow that `start`, `find` and `list` give.
 *
 * @module
 */

import { nextOf, previousOf } from "../define/definition.ts";
import { InvalidInputError } from "../errors.ts";
import type { Command } from "../state/command.ts";
import { isOngoing } from "../state/records.ts";
import type { ExecutionRecord, WorkflowRecord, WorkflowRow } from "../state/records.ts";
import {
  command,
  type CommandOptions,
  mustGet,
  planPlace,
  planResume,
  planSkip,
  sendSignal,
  type SignalOptions,
  type SignalRecord,
  signalRecord,
} from "./commands.ts";
import type { Core } from "./core.ts";
import { executionRecord, workflowRecord } from "./view.ts";

/** One workflow: its record as last read, and what can be done with it. */
export interface Run extends WorkflowRecord {
  /** Whether it is neither finished nor canceled. */
  readonly isOngoing: boolean;
  /** The step before the one it points at; the last one when it is finished. */
  readonly previousStepName: string | null;
  /** The waits of the steps that follow the one it points at, in milliseconds; functions count as 0. */
  readonly remainingWaitMs: number;
  /** Reads the row again. */
  reload(): Promise<Run>;
  /** Pauses it: what is scheduled keeps its time, a running body is asked to stop. */
  pause(options?: CommandOptions): Promise<Run>;
  /** Lets a paused one go on where it stands. */
  resume(options?: CommandOptions): Promise<Run>;
  /** Skips the step it points at. */
  skip(options?: CommandOptions): Promise<Run>;
  /** Cancels it for good. */
  cancel(options?: CommandOptions): Promise<Run>;
  /** Lets a paused one go on at another step. */
  resumeAt(stepName: string, options?: CommandOptions): Promise<Run>;
  /** Sends it a signal. */
  signal(name: string, payload?: unknown, options?: SignalOptions): Promise<SignalRecord>;
  /** The signals it was sent, oldest first. */
  signals(): Promise<SignalRecord[]>;
  /** All executions in the order in which they were made. */
  history(): Promise<ExecutionRecord[]>;
  /** The scheduled or running execution, or null. */
  currentExecution(): Promise<ExecutionRecord | null>;
}

/** The engine behind a run, for helpers that work on runs. */
const cores = new WeakMap<object, Core>();

/** The engine behind a run. */
export function coreOf(run: Run): Core {
  const core = cores.get(run);
  if (core === undefined) {
    throw new InvalidInputError("Not a run: pass what start(), find() or list() gave");
  }
  return core;
}

const HISTORY_PAGE = 1_000;

/** Makes the handle on a workflow. */
export function createRun(core: Core, first: WorkflowRow): Run {
  let row = first;
  let record = workflowRecord(row, core.codec);
  const update = (fresh: WorkflowRow): Run => {
    row = fresh;
    record = workflowRecord(row, core.codec);
    return run;
  };
  const issue = async (
    action: "pause" | "resume" | "skip" | "cancel" | "resumeAt",
    plan: (row: WorkflowRow) => Command | Promise<Command>,
    options: CommandOptions = {},
  ): Promise<Run> => update(await command(core, row, { action, plan, tx: options.tx }));

  const methods = {
    reload: async (): Promise<Run> => update(await mustGet(core, row.id)),
    pause: (options?: CommandOptions): Promise<Run> =>
      issue("pause", () => ({ kind: "pause" }), options),
    resume: (options?: CommandOptions): Promise<Run> =>
      issue("resume", (at) => planResume(core, at, options?.tx), options),
    skip: (options?: CommandOptions): Promise<Run> =>
      issue("skip", (at) => planSkip(core, at, options?.tx), options),
    cancel: (options?: CommandOptions): Promise<Run> =>
      issue("cancel", () => ({ kind: "cancel" }), options),
    resumeAt: (stepName: string, options?: CommandOptions): Promise<Run> =>
      issue(
        "resumeAt",
        (at) => planPlace(core, at, { stepName, from: "paused", tx: options?.tx }),
        options,
      ),
    signal: (name: string, payload?: unknown, options?: SignalOptions): Promise<SignalRecord> =>
      sendSignal(core, row, { name, payload, options: options ?? {} }),
    signals: async (): Promise<SignalRecord[]> =>
      (await core.store.signals(row.id)).map((signal) => signalRecord(core, signal)),
    history: async (): Promise<ExecutionRecord[]> => await history(core, row.id),
    currentExecution: async (): Promise<ExecutionRecord | null> => {
      const active = await core.store.active(row.id);
      return active === null ? null : executionRecord(active, core.codec);
    },
  };
  const run = Object.defineProperties(methods, {
    ...recordProperties(() => record),
    isOngoing: property(() => isOngoing(row.state)),
    previousStepName: property(() => previousStepName(core, row)),
    remainingWaitMs: property(() => remainingWaitMs(core, row)),
  }) as unknown as Run;
  cores.set(run, core);
  return run;
}

function recordProperties(record: () => WorkflowRecord): PropertyDescriptorMap {
  const names = Object.keys(record()) as (keyof WorkflowRecord)[];
  return Object.fromEntries(names.map((name) => [name, property(() => record()[name])]));
}

function property(get: () => unknown): PropertyDescriptor {
  return { get, enumerable: true };
}

async function history(core: Core, workflowId: string): Promise<ExecutionRecord[]> {
  const records: ExecutionRecord[] = [];
  let afterSeq: number | undefined;
  while (true) {
    const page = await core.store.history(workflowId, { limit: HISTORY_PAGE, afterSeq });
    records.push(...page.map((row) => executionRecord(row, core.codec)));
    if (page.length < HISTORY_PAGE) return records;
    afterSeq = page.at(-1)?.seq;
  }
}

function previousStepName(core: Core, row: WorkflowRow): string | null {
  const definition = core.definitions.get(row.name);
  if (definition === undefined) return null;
  if (row.state === "finished") return definition.steps.at(-1)?.name ?? null;
  return previousOf(definition, row.nextStepName)?.name ?? null;
}

function remainingWaitMs(core: Core, row: WorkflowRow): number {
  const definition = core.definitions.get(row.name);
  if (definition === undefined || row.nextStepName === null) return 0;
  let total = 0;
  let step = nextOf(definition, row.nextStepName);
  while (step !== null) {
    if (typeof step.wait === "number") total += step.wait;
    step = nextOf(definition, step.name);
  }
  return total;
}
