/**
 * Failures grouped by their reason: which errors have paused workflows, how many, since when.
 *
 * Whoever looks at five hundred paused workflows wants to know that it is two reasons. A failure is
 * the last execution of a paused workflow, when it failed; what an earlier attempt failed with, and
 * somebody resumed since, is history.
 *
 * @module
 */

import { optionsObject } from "../define/options.ts";
import type { Failure } from "../seams/store.ts";
import { type Fingerprint, fingerprintOf } from "../state/fingerprint.ts";
import type { ExecutionRow } from "../state/records.ts";
import type { Core } from "./core.ts";
import { coreOfEngine, type Engine } from "./engine.ts";
import { whole } from "./options.ts";

/** The failures that have one reason. */
export interface FailureGroup {
  /** Twelve hexadecimal digits for the reason: the same for the same class, message and place. */
  readonly fingerprint: string;
  /** The error's class. */
  readonly errorClass: string;
  /** Its message, with a mark in the place of everything that differs from case to case. */
  readonly message: string;
  /** The first frame of the application in the stack, as `function file`; null when there is none. */
  readonly frame: string | null;
  /** How many workflows are paused by it. */
  readonly count: number;
  /** When the first of these failed. */
  readonly firstSeenAt: Date;
  /** When the last of these failed. */
  readonly lastSeenAt: Date;
  /** In which steps of which definitions, the most frequent first. */
  readonly places: readonly {
    readonly workflow: string;
    readonly step: string;
    readonly count: number;
  }[];
  /** Some of them, newest first. */
  readonly examples: readonly {
    readonly workflowId: string;
    readonly executionId: string;
    readonly message: string;
  }[];
}

/** What has paused workflows. */
export interface FailureReport {
  /** The groups, the largest first. */
  readonly groups: readonly FailureGroup[];
  /** How many failures were looked at. */
  readonly looked: number;
  /** Whether these were all. */
  readonly complete: boolean;
}

/** Which failures to look at. */
export interface FailureOptions {
  /** Only those of one definition, by name. */
  readonly workflow?: string;
  /** How many at the most, newest workflows first; default 10,000. */
  readonly limit?: number;
}

const DEFAULT_LIMIT = 10_000;
const EXAMPLES = 3;
/** Rows of failures are large, because stacks are. */
const PAGE = 200;

/** Groups what has paused workflows by its reason. */
export async function failureGroups(
  engine: Engine,
  options: FailureOptions = {},
): Promise<FailureReport> {
  optionsObject(options, ["workflow", "limit"], "failureGroups()");
  const limit = whole(options.limit ?? DEFAULT_LIMIT, "limit");
  const groups = new Map<string, Group>();
  let looked = 0;
  for await (const { fingerprint, failure } of failures(coreOfEngine(engine), options.workflow)) {
    if (looked === limit) return { groups: sorted(groups), looked, complete: false };
    looked++;
    const group = groups.get(fingerprint.id) ?? newGroup(fingerprint);
    groups.set(fingerprint.id, group);
    group.failures.push(digestOf(failure, group.failures.length < EXAMPLES));
  }
  return { groups: sorted(groups), looked, complete: true };
}

/** A workflow that one reason has paused. */
export interface FailedWorkflow {
  /** The workflow. */
  readonly workflowId: string;
  /** The whole fingerprint. */
  readonly fingerprint: string;
}

/** The workflows that are paused by a fingerprint, which may be shortened; newest first. */
export async function failedWith(
  engine: Engine,
  prefix: string,
  options: Required<Pick<FailureOptions, "limit">> & Pick<FailureOptions, "workflow">,
): Promise<FailedWorkflow[]> {
  const found: FailedWorkflow[] = [];
  for await (const { fingerprint, failure } of failures(coreOfEngine(engine), options.workflow)) {
    if (!fingerprint.id.startsWith(prefix)) continue;
    found.push({ workflowId: failure.execution.workflowId, fingerprint: fingerprint.id });
    if (found.length === options.limit) break;
  }
  return found;
}

/** All failures, page by page, newest workflows first. */
async function* failures(
  core: Core,
  workflow: string | undefined,
): AsyncGenerator<{ fingerprint: Fingerprint; failure: Failure }> {
  const names = workflow === undefined ? undefined : [workflow];
  let after: string | undefined;
  while (true) {
    const page = await core.store.failures({ names }, { limit: PAGE, after });
    for (const failure of page) {
      const { errorClass, errorMessage, errorStack } = failure.execution;
      const error = {
        errorClass: errorClass ?? "",
        message: errorMessage ?? "",
        stack: errorStack,
      };
      yield { fingerprint: fingerprintOf(error), failure };
    }
    if (page.length < PAGE) return;
    after = page.at(-1)?.execution.workflowId;
  }
}

interface Digest {
  readonly workflow: string;
  readonly step: string;
  readonly failedAt: Date;
  /** Kept of the first few only: a message may be long, and there may be ten thousand. */
  readonly example: FailureGroup["examples"][number] | null;
}

interface Group {
  readonly fingerprint: Fingerprint;
  readonly failures: Digest[];
}

function newGroup(fingerprint: Fingerprint): Group {
  return { fingerprint, failures: [] };
}

function digestOf({ workflowName, execution }: Failure, isExample: boolean): Digest {
  return {
    workflow: workflowName,
    step: execution.stepName,
    failedAt: failedAt(execution),
    example: isExample
      ? {
        workflowId: execution.workflowId,
        executionId: execution.id,
        message: execution.errorMessage ?? "",
      }
      : null,
  };
}

function failedAt({ failedAt, finishedAt, createdAt }: ExecutionRow): Date {
  return failedAt ?? finishedAt ?? createdAt;
}

function sorted(groups: ReadonlyMap<string, Group>): FailureGroup[] {
  return [...groups.values()].map(summary).sort((a, b) =>
    b.count - a.count || b.lastSeenAt.getTime() - a.lastSeenAt.getTime()
  );
}

function summary({ fingerprint, failures }: Group): FailureGroup {
  const times = failures.map((one) => one.failedAt.getTime());
  return {
    fingerprint: fingerprint.id,
    errorClass: fingerprint.errorClass,
    message: fingerprint.message,
    frame: fingerprint.frame,
    count: failures.length,
    firstSeenAt: new Date(times.reduce((a, b) => Math.min(a, b))),
    lastSeenAt: new Date(times.reduce((a, b) => Math.max(a, b))),
    places: placesOf(failures),
    examples: failures.flatMap((one) => one.example ?? []),
  };
}

function placesOf(failures: readonly Digest[]): FailureGroup["places"] {
  const counts = new Map<string, { workflow: string; step: string; count: number }>();
  for (const { workflow, step } of failures) {
    const key = JSON.stringify([workflow, step]);
    const place = counts.get(key) ?? { workflow, step, count: 0 };
    counts.set(key, place);
    place.count++;
  }
  return [...counts.values()].sort((a, b) => b.count - a.count);
}
