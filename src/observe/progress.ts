/**
 * How far a resumable step is, how fast it goes and when it will be done, from the rows of its chain.
 *
 * @module
 */

import type { ExecutionRecord, Progress } from "../define/records.ts";

/** What the rows of a chain say about its progress. */
export interface ProgressEstimate extends Progress {
  /** How long its bodies ran, in milliseconds; waits and pauses between them do not count. */
  readonly ranMs: number;
  /** Items per second while a body runs; null as long as nothing can be said. */
  readonly ratePerSecond: number | null;
  /** When the step ends at this rate, or has ended; null while it stands still or nobody can know. */
  readonly estimatedEndAt: Date | null;
}

/**
 * Estimates the progress of the step that the last of these executions belongs to.
 *
 * @param executions Executions of one workflow in their order, such as `run.history()` gives.
 * @param now The present instant: up to it, a body that runs has run.
 * @returns Null when no execution of that chain has noted progress with `iter.progress()`.
 *
 * @example How long an import still takes
 * ```ts ignore
 * const estimate = progressEstimate(await run.history(), new Date());
 * console.log(`${estimate?.done} of ${estimate?.total}, done at ${estimate?.estimatedEndAt}`);
 * ```
 */
export function progressEstimate(
  executions: readonly ExecutionRecord[],
  now: Date,
): ProgressEstimate | null {
  let progress: Progress | null = null;
  let ranMs = 0;
  for (const one of chainOf(executions)) {
    // Less than before: the step was rewound, and what it did before counts no more.
    if (one.progress !== null && progress !== null && one.progress.done < progress.done) ranMs = 0;
    progress = one.progress ?? progress;
    ranMs += ranFor(one, now);
  }
  if (progress === null) return null;
  const last = executions.at(-1) as ExecutionRecord;
  const ratePerSecond = progress.done > 0 && ranMs > 0 ? progress.done / ranMs * 1_000 : null;
  const estimatedEndAt = endOf(last, { progress, ratePerSecond, now });
  return { ...progress, ranMs, ratePerSecond, estimatedEndAt };
}

/** The executions that the last one goes on from, oldest first, and itself. */
function chainOf(executions: readonly ExecutionRecord[]): ExecutionRecord[] {
  const byId = new Map(executions.map((one) => [one.id, one]));
  const chain: ExecutionRecord[] = [];
  let link = executions.at(-1);
  while (link !== undefined) {
    chain.push(link);
    link = link.continuesFromId === null ? undefined : byId.get(link.continuesFromId);
  }
  return chain.reverse();
}

function ranFor({ startedAt, finishedAt }: ExecutionRecord, now: Date): number {
  return startedAt === null ? 0 : Math.max(0, Number(finishedAt ?? now) - Number(startedAt));
}

function endOf(
  last: ExecutionRecord,
  known: { progress: Progress; ratePerSecond: number | null; now: Date },
): Date | null {
  if (last.outcome === "success") return last.finishedAt;
  const { progress: { done, total }, ratePerSecond, now } = known;
  // A row that was closed otherwise goes on only when somebody resumes the workflow.
  if (last.outcome !== null || total === null || ratePerSecond === null) return null;
  const from = last.state === "scheduled" ? Math.max(+last.scheduledFor, +now) : +now;
  const end = new Date(from + Math.max(0, total - done) / ratePerSecond * 1_000);
  return Number.isNaN(end.getTime()) ? null : end;
}
