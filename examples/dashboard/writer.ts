/**
 * Writes the past: a history that took a day, in seconds. Every write of a store takes its instant
 * as a parameter, so a story can be told with the very operations that an engine uses.
 */

import type { ExecutionRow, NewExecution, StoredError, StoreDriver } from "../../mod.ts";

/** How one attempt at a step went. */
export interface Attempt {
  /** How long its body ran. */
  readonly runMs: number;
  /** What came of it. */
  readonly end: "success" | "retry" | "pause" | "cancel" | "skip" | "continue" | "own_pause";
  /** What it failed with. */
  readonly error?: StoredError;
  /** How long the next attempt waits. */
  readonly waitMs?: number;
  /** The cursor and the progress that it left behind. */
  readonly progress?: { readonly done: number; readonly total: number };
}

/** How one step went. */
export interface StepStory {
  /** The step. */
  readonly name: string;
  /** How long it waits. */
  readonly waitMs: number;
  /** The signal that it waits for, and how long after it began to wait the signal came. */
  readonly signal?: { readonly name: string; readonly afterMs: number; readonly payload: unknown };
  /** Its attempts, in order; none: it is still to come. */
  readonly attempts: readonly Attempt[];
}

/** How one workflow went. */
export interface Story {
  /** The definition's name. */
  readonly name: string;
  /** Its hero; null: none. */
  readonly hero: { readonly type: string; readonly id: string } | null;
  /** Its input. */
  readonly input: unknown;
  /** When it was started. */
  readonly startMs: number;
  /** Its steps. */
  readonly steps: readonly StepStory[];
  /** Which worker runs it. */
  readonly worker: string;
}

const LEASE_MS = 30_000;
let tokens = 0;

/** Tells a story up to an instant; what would come later is left to the worker. */
export async function tell(store: StoreDriver, story: Story, nowMs: number): Promise<void> {
  const [first] = story.steps;
  if (first === undefined || story.startMs > nowMs) return;
  const [created] = await store.create([{
    name: story.name,
    heroType: story.hero?.type ?? null,
    heroId: story.hero?.id ?? null,
    allowMultiple: false,
    input: story.input === undefined ? null : JSON.stringify(story.input),
    metadata: null,
    jobOptions: null,
    traceparent: null,
    first: planned(first, story.startMs),
  }], { now: new Date(story.startMs) });
  if (created?.kind !== "created" || created.execution === null) return;
  let execution: ExecutionRow | null = created.execution;
  for (const [place, step] of story.steps.entries()) {
    const following = story.steps[place + 1];
    if (execution === null) return;
    execution = await tellStep(store, { story, step, following, execution, nowMs });
  }
}

interface Telling {
  readonly story: Story;
  readonly step: StepStory;
  readonly following: StepStory | undefined;
  readonly execution: ExecutionRow;
  readonly nowMs: number;
}

/** One step, attempt by attempt; answers the execution of the next step, or null at the end. */
async function tellStep(store: StoreDriver, telling: Telling): Promise<ExecutionRow | null> {
  const { story, step, following, nowMs } = telling;
  let { execution } = telling;
  let dueMs = execution.scheduledFor.getTime();
  if (step.signal !== undefined) {
    dueMs += step.signal.afterMs;
    if (dueMs > nowMs) return null;
    await store.signal(execution.workflowId, {
      name: step.signal.name,
      payload: JSON.stringify(step.signal.payload),
      idempotencyKey: null,
      graceMs: 0,
    }, { now: new Date(dueMs) });
  }
  for (const [at, attempt] of step.attempts.entries()) {
    const startMs = Math.max(dueMs, execution.createdAt.getTime()) + 40 + (tokens * 37) % 400;
    const endMs = startMs + attempt.runMs;
    if (endMs > nowMs) return null;
    const token = `told-${++tokens}`;
    const [claim] = await store.claim([execution.id], {
      now: new Date(startMs),
      token,
      leaseMs: LEASE_MS,
      worker: story.worker,
    });
    if (claim?.kind !== "claimed") return null;
    const next = nextOf(telling, { execution, attempt, at, endMs });
    await noteProgress(store, { attempt, executionId: execution.id, token, endMs });
    const [result] = await store.finish([{
      executionId: execution.id,
      workflowId: execution.workflowId,
      token,
      ...ENDS[attempt.end],
      error: attempt.end === "retry" ? null : attempt.error ?? null,
      metadata: attempt.error === undefined ? null : JSON.stringify({
        exception: {
          class: attempt.error.errorClass,
          message: attempt.error.message,
          stack: attempt.error.stack?.split("\n") ?? [],
        },
      }),
      keepCursor: attempt.end === "continue",
      bodyStarted: attempt.end !== "skip",
      workflowState: stateAfter(attempt, next),
      nextStepName: next?.stepName ??
        (attempt.end === "pause" || attempt.end === "own_pause" ? step.name : null),
      next,
    }], { now: new Date(endMs) });
    if (result?.kind !== "done" || result.next === null) return null;
    execution = result.next;
    dueMs = execution.scheduledFor.getTime();
    if (execution.stepName === following?.name) return execution;
  }
  return null;
}

const ENDS = {
  success: { closing: { state: "completed", outcome: "success", cause: null } },
  retry: { closing: { state: "completed", outcome: "reattempted", cause: "exception" } },
  continue: { closing: { state: "completed", outcome: "continued", cause: "interrupt" } },
  pause: { closing: { state: "failed", outcome: "failed", cause: "exception" } },
  own_pause: { closing: { state: "completed", outcome: "workflow_paused", cause: "flow_control" } },
  cancel: { closing: { state: "failed", outcome: "canceled", cause: "exception" } },
  skip: { closing: { state: "skipped", outcome: "skipped", cause: "condition" } },
} as const;

function stateAfter(
  { end }: Attempt,
  next: NewExecution | null,
): "ready" | "paused" | "finished" | "canceled" {
  if (end === "pause" || end === "own_pause") return "paused";
  if (end === "cancel") return "canceled";
  return next === null ? "finished" : "ready";
}

function nextOf(
  { step, following }: Telling,
  { execution, attempt, at, endMs }: {
    readonly execution: ExecutionRow;
    readonly attempt: Attempt;
    readonly at: number;
    readonly endMs: number;
  },
): NewExecution | null {
  if (attempt.end === "retry" || attempt.end === "continue") {
    return {
      ...planned(step, endMs),
      scheduledFor: new Date(endMs + (attempt.waitMs ?? 0)),
      attempt: attempt.end === "retry" ? at + 2 : 1,
      failures: attempt.end === "retry" ? at + 1 : 0,
      waitingFor: null,
      continuesFromId: attempt.end === "continue" ? execution.id : null,
      cursor: attempt.progress === undefined ? null : String(attempt.progress.done),
    };
  }
  if (attempt.end !== "success" && attempt.end !== "skip") return null;
  return following === undefined ? null : planned(following, endMs);
}

function planned(step: StepStory, fromMs: number): NewExecution {
  return {
    stepName: step.name,
    scheduledFor: new Date(fromMs + step.waitMs),
    graceMs: 0,
    attempt: 1,
    failures: 0,
    continuesFromId: null,
    cursor: null,
    waitingFor: step.signal?.name ?? null,
    waitUntil: null,
    metadata: null,
    queue: "default",
    priority: 0,
    hold: null,
  };
}

async function noteProgress(
  store: StoreDriver,
  { attempt, executionId, token, endMs }: {
    readonly attempt: Attempt;
    readonly executionId: string;
    readonly token: string;
    readonly endMs: number;
  },
): Promise<void> {
  if (attempt.progress === undefined) return;
  const { done, total } = attempt.progress;
  await store.checkpoint([{
    executionId,
    token,
    cursor: String(done),
    progress: { done, total, message: "upserting products" },
  }], { now: new Date(endMs), leaseMs: LEASE_MS });
}
