/**
 * Reading the overview: counts, lag, activity, workers, failures and the deploy gate.
 *
 * @module
 */

import type { WorkflowState } from "../../define/records.ts";
import { checkDeploy, type DeployFinding } from "../../run/deploy_gate.ts";
import { coreOfEngine, type Engine } from "../../run/engine.ts";
import { failureGroups, type FailureReport } from "../../run/failures.ts";
import type { ActivityBucket, WorkerActivity } from "../../state/activity.ts";
import { createReading, type Reading } from "../shared.ts";
import { STATES } from "../words.ts";

/** How the workflows of one definition stand. */
export interface DefinitionCounts {
  /** The definition's name. */
  readonly name: string;
  /** Whether the engine has it. */
  readonly known: boolean;
  /** How many are in each state. */
  readonly counts: Readonly<Record<WorkflowState, number>>;
}

/** How everything stands now. */
export interface Standing {
  /** Per definition, by name. */
  readonly definitions: readonly DefinitionCounts[];
  /** Over all definitions. */
  readonly totals: Readonly<Record<WorkflowState, number>>;
  /** The due time of the earliest execution that waits for one; null: none does. */
  readonly nextDueAt: Date | null;
}

/** What ended in a span of time. */
export interface Span {
  /** The slices, oldest first. */
  readonly buckets: readonly ActivityBucket[];
  /** Where the last slice ends. */
  readonly until: Date;
}

/** All that the overview shows. */
export interface Overview extends Standing {
  /** The instant of the reading. */
  readonly now: Date;
  /** The last hour, by minutes. */
  readonly hour: Span;
  /** The last day, by quarters of an hour. */
  readonly day: Span;
  /** The workers that hold executions. */
  readonly workers: readonly WorkerActivity[];
  /** What has paused workflows, grouped by its reason. */
  readonly failures: FailureReport;
  /** What the deploy gate says of the definitions that this engine has; null: it has none. */
  readonly findings: readonly DeployFinding[] | null;
}

/** What open overviews share. */
export interface OverviewReadings {
  /** Counts and the next due time. */
  readonly standing: Reading<Standing>;
  /** The last hour, with the workers. */
  readonly hour: Reading<Span & { readonly workers: readonly WorkerActivity[] }>;
  /** The last day. */
  readonly day: Reading<Span>;
  /** Failures by reason. */
  readonly failures: Reading<FailureReport>;
  /** What the deploy gate says. */
  readonly findings: Reading<readonly DeployFinding[] | null>;
}

const MINUTE_MS = 60_000;
const QUARTER_MS = 15 * MINUTE_MS;
/** Stacks are large: more failures than this are looked at by the command line. */
const MAX_FAILURES = 500;
/** Later than any wait that is written by people, and a time that every database can hold. */
const FAR_MS = 100 * 365 * 86_400_000;

/** Makes the shared readings; what changes slowly or costs much is read less often. */
export function createOverviewReadings(engine: Engine, refreshMs: number): OverviewReadings {
  const { clock, store } = coreOfEngine(engine);
  const every = (everyMs: number) => ({ clock, everyMs });
  return {
    standing: createReading(() => readStanding(engine), every(refreshMs)),
    hour: createReading(async () => {
      const { since, until } = spanOf(clock.now(), MINUTE_MS, 60);
      const { buckets, workers } = await store.activity({ since, until, buckets: 60 });
      return { buckets, until, workers };
    }, every(refreshMs)),
    day: createReading(async () => {
      const { since, until } = spanOf(clock.now(), QUARTER_MS, 96);
      const { buckets } = await store.activity({ since, until, buckets: 96 });
      return { buckets, until };
    }, every(refreshMs * 15)),
    failures: createReading(
      () => failureGroups(engine, { limit: MAX_FAILURES }),
      every(refreshMs * 5),
    ),
    findings: createReading(() => readFindings(engine), every(refreshMs * 15)),
  };
}

/** So many slices that end with the one that is under way. */
function spanOf(nowMs: number, sliceMs: number, slices: number): { since: Date; until: Date } {
  const untilMs = (Math.floor(nowMs / sliceMs) + 1) * sliceMs;
  return { since: new Date(untilMs - slices * sliceMs), until: new Date(untilMs) };
}

async function readStanding(engine: Engine): Promise<Standing> {
  const { store, clock, definitions } = coreOfEngine(engine);
  const counts = await store.counts();
  const [first] = await store.due({ before: new Date(clock.now() + FAR_MS), limit: 1 });
  const byName = new Map<string, Record<WorkflowState, number>>();
  for (const name of definitions.keys()) byName.set(name, zeros());
  const totals = zeros();
  for (const { workflow, state, count } of counts) {
    const row = byName.get(workflow) ?? zeros();
    byName.set(workflow, row);
    row[state] += count;
    totals[state] += count;
  }
  const sorted = [...byName].sort(([a], [b]) => a < b ? -1 : 1);
  return {
    definitions: sorted.map(([name, own]) => ({ name, known: definitions.has(name), counts: own })),
    totals,
    nextDueAt: first?.scheduledFor ?? null,
  };
}

function zeros(): Record<WorkflowState, number> {
  return Object.fromEntries(STATES.map((state) => [state, 0])) as Record<WorkflowState, number>;
}

/** An engine without definitions only looks: every workflow would seem to lack its own. */
async function readFindings(engine: Engine): Promise<readonly DeployFinding[] | null> {
  if (coreOfEngine(engine).definitions.size === 0) return null;
  return (await checkDeploy(engine)).findings.filter((one) => one.blocks);
}

/** Reads everything, one after the other: a page must not take all connections of a pool. */
export async function readOverview(
  readings: OverviewReadings,
  { now, fresh }: { readonly now: Date; readonly fresh: boolean },
): Promise<Overview> {
  const read = <T>(reading: Reading<T>): Promise<T> => fresh ? reading.fresh() : reading.recent();
  const standing = await read(readings.standing);
  const { workers, ...hour } = await read(readings.hour);
  return {
    ...standing,
    now,
    hour,
    day: await read(readings.day),
    workers,
    failures: await read(readings.failures),
    findings: await read(readings.findings),
  };
}

/** How long the earliest due execution has been waiting for a worker. */
export function lagOf({ nextDueAt, now }: Pick<Overview, "nextDueAt" | "now">): number {
  return nextDueAt === null ? 0 : Math.max(0, now.getTime() - nextDueAt.getTime());
}
