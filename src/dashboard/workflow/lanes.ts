/**
 * From executions to what is drawn of them: one lane per step, with every attempt and every chunk of
 * it, cut into spans of waiting, of being late and of running. Pure, so that it can be tested
 * without looking at a picture.
 *
 * @module
 */

import type { ExecutionRow, WorkflowRow } from "../../state/records.ts";

/** What a span of a lane shows. */
export type SpanKind =
  /** Before its due time, or for a signal. */
  | "wait"
  /** The part of a wait that has yet to come. */
  | "future"
  /** Due, and no worker has taken it yet. */
  | "queued"
  /** The same, for so long that somebody should look at it. */
  | "overdue"
  /** Its body runs. */
  | "running"
  | "success"
  | "continued"
  | "retried"
  | "failed"
  | "paused"
  | "skipped"
  | "canceled";

/** A span of a lane, in epoch milliseconds. */
export interface LaneSpan {
  /** What it shows. */
  readonly kind: SpanKind;
  /** Where it begins. */
  readonly fromMs: number;
  /** Where it ends; where it begins, for what ended before it could run. */
  readonly untilMs: number;
  /** The execution that it belongs to. */
  readonly execution: ExecutionRow;
}

/** The executions of one step that follow each other, and their spans. */
export interface Lane {
  /** The step. */
  readonly stepName: string;
  /** Its executions, in their order. */
  readonly executions: readonly ExecutionRow[];
  /** What is drawn, in the order of time. */
  readonly spans: readonly LaneSpan[];
}

/** A queue delivers within seconds; what is late for longer is drawn in another colour. */
export const OVERDUE_MS = 60_000;

/** Cuts a history into lanes. */
export function lanesOf(
  executions: readonly ExecutionRow[],
  { workflow, now }: { readonly workflow: WorkflowRow; readonly now: Date },
): Lane[] {
  const groups: ExecutionRow[][] = [];
  for (const one of executions) {
    const group = groups.at(-1);
    if (group !== undefined && group[0]?.stepName === one.stepName) group.push(one);
    else groups.push([one]);
  }
  return groups.map((group) => ({
    stepName: (group[0] as ExecutionRow).stepName,
    executions: group,
    spans: group.flatMap((one) => spansOf(one, workflow, now.getTime())),
  }));
}

/** The spans of one execution. */
export function spansOf(one: ExecutionRow, workflow: WorkflowRow, nowMs: number): LaneSpan[] {
  const createdMs = one.createdAt.getTime();
  const dueMs = one.scheduledFor.getTime();
  const endMs = one.finishedAt?.getTime() ?? null;
  const startMs = one.startedAt?.getTime() ?? null;
  const spans: LaneSpan[] = [];
  const add = (kind: SpanKind, fromMs: number, untilMs: number): void => {
    if (untilMs > fromMs) spans.push({ kind, fromMs, untilMs, execution: one });
  };
  const reachedMs = startMs ?? endMs ?? nowMs;
  // What waits for a signal, or is paused, is never late.
  const isFree = one.waitingFor === null &&
    (one.state !== "scheduled" || workflow.state === "ready");
  const lateFromMs = isFree ? Math.max(createdMs, dueMs) : Infinity;
  add("wait", createdMs, Math.min(reachedMs, lateFromMs));
  const isLate = reachedMs - lateFromMs >= OVERDUE_MS;
  add(isLate ? "overdue" : "queued", lateFromMs, reachedMs);
  if (one.state === "scheduled" && isFree) add("future", Math.max(nowMs, createdMs), dueMs);
  if (startMs !== null) {
    const untilMs = Math.max(startMs, endMs ?? nowMs);
    spans.push({ kind: kindOf(one), fromMs: startMs, untilMs, execution: one });
  } else if (endMs !== null) {
    spans.push({ kind: kindOf(one), fromMs: endMs, untilMs: endMs, execution: one });
  }
  return spans;
}

/** How the end of an execution is drawn. */
export function kindOf({ state, outcome }: ExecutionRow): SpanKind {
  if (state === "in_progress") return "running";
  if (outcome === "reattempted" || (outcome === "recovered" && state === "completed")) {
    return "retried";
  }
  if (outcome === "workflow_paused") return "paused";
  if (outcome === "continued") return "continued";
  if (state === "failed" || state === "skipped" || state === "canceled") return state;
  return "success";
}

/** The time that a drawing covers. */
export interface Scale {
  /** Its left edge. */
  readonly fromMs: number;
  /** Its right edge. */
  readonly untilMs: number;
}

/** From the beginning to the end, or to now and the next due time, as far as it is worth its room. */
export function scaleOf(
  lanes: readonly Lane[],
  { workflow, now, hidden }: {
    readonly workflow: WorkflowRow;
    readonly now: Date;
    readonly hidden: number;
  },
): Scale {
  const spans = lanes.flatMap((lane) => lane.spans);
  const nowMs = now.getTime();
  const firstMs = hidden > 0 ? spans[0]?.fromMs : undefined;
  const fromMs = firstMs ?? workflow.createdAt.getTime();
  const isOver = workflow.state === "finished" || workflow.state === "canceled";
  const pastMs = Math.max(
    fromMs + 1,
    ...spans.filter((one) => one.kind !== "future").map((one) => one.untilMs),
    isOver ? fromMs : nowMs,
  );
  const future = spans.find((one) => one.kind === "future");
  if (future === undefined) return { fromMs, untilMs: pastMs };
  // A wait of a month must not press the hour before it into nothing.
  const roomMs = Math.max(60_000, pastMs - fromMs);
  return { fromMs, untilMs: Math.min(future.untilMs, pastMs + roomMs) };
}

/** Where an instant is on a scale, from 0 to 100. */
export function placeOn({ fromMs, untilMs }: Scale, ms: number): number {
  return Math.min(100, Math.max(0, (ms - fromMs) / (untilMs - fromMs) * 100));
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((one) => one * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((one) => one * MINUTE),
  ...[1, 2, 3, 6, 12].map((one) => one * HOUR),
  ...[1, 2, 7, 14, 30, 90, 180, 365].map((one) => one * DAY),
];

/** The marks of a scale: at most so many, at round times. */
export function ticksOf(
  { fromMs, untilMs }: Scale,
  most: number,
): { stepMs: number; atMs: number[] } {
  const spanMs = untilMs - fromMs;
  const stepMs = STEPS.find((one) => spanMs / one <= most) ?? Math.ceil(spanMs / most / DAY) * DAY;
  const atMs: number[] = [];
  for (let at = Math.ceil(fromMs / stepMs) * stepMs; at <= untilMs; at += stepMs) atMs.push(at);
  return { stepMs, atMs };
}
