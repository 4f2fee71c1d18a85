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

/** The time that a drawing covers, and where in it each instant is. */
export interface Scale {
  /** Its left edge. */
  readonly fromMs: number;
  /** Its right edge. */
  readonly untilMs: number;
  /** Instants and their places in percent, both growing; between two of them it is even. */
  readonly points: readonly (readonly [ms: number, place: number])[];
  /** Where work begins again after a rest, on a shortened scale; null on an even one. */
  readonly begins: readonly number[] | null;
}

/** How a scale is made. */
export interface ScaleOptions {
  /** The workflow. */
  readonly workflow: WorkflowRow;
  /** The present instant. */
  readonly now: Date;
  /** How many executions before the first lane are left out. */
  readonly hidden: number;
  /** Whether long times in which nothing ran are shortened. */
  readonly isShort: boolean;
}

/**
 * From the beginning to the end, or to now and the next due time, as far as it is worth its room: a
 * wait of a month must not press the hour before it into nothing.
 */
export function scaleOf(lanes: readonly Lane[], options: ScaleOptions): Scale {
  const { workflow, now, hidden, isShort } = options;
  const spans = lanes.flatMap((lane) => lane.spans);
  const firstMs = hidden > 0 ? spans[0]?.fromMs : undefined;
  const fromMs = firstMs ?? workflow.createdAt.getTime();
  const goesOn = spans.some(({ execution }) => execution.finishedAt === null);
  const pastMs = Math.max(
    fromMs + 1,
    ...spans.filter((one) => one.kind !== "future").map((one) => one.untilMs),
    goesOn ? now.getTime() : fromMs,
  );
  const future = spans.find((one) => one.kind === "future");
  const roomMs = Math.max(60_000, pastMs - fromMs);
  const untilMs = future === undefined ? pastMs : Math.min(future.untilMs, pastMs + roomMs);
  return isShort
    ? shortened(spans, fromMs, untilMs)
    : { fromMs, untilMs, points: [[fromMs, 0], [untilMs, 100]], begins: null };
}

/** The kinds of spans in which no body runs. */
const RESTS: ReadonlySet<SpanKind> = new Set(["wait", "future", "queued", "overdue"]);

/** Whether a span shows a body, and not a wait. */
export function isBody({ kind }: LaneSpan): boolean {
  return !RESTS.has(kind);
}

/** Times of running keep their proportions; a time of rest is never longer than a fifth of them. */
function shortened(spans: readonly LaneSpan[], fromMs: number, untilMs: number): Scale {
  const busy = busyTimes(spans.filter(isBody));
  const busyMs = busy.reduce((sum, one) => sum + one.untilMs - one.fromMs, 0);
  const longestRestMs = Math.max(busyMs / 5, 200);
  const points: [number, number][] = [[fromMs, 0]];
  let weight = 0;
  const goTo = (ms: number, mostMs: number): void => {
    const [lastMs] = points.at(-1) as [number, number];
    if (ms <= lastMs) return;
    weight += Math.min(ms - lastMs, mostMs);
    points.push([ms, weight]);
  };
  for (const one of busy) {
    goTo(one.fromMs, longestRestMs);
    goTo(one.untilMs, Infinity);
  }
  goTo(untilMs, longestRestMs);
  return {
    fromMs,
    untilMs,
    points: points.map(([ms, place]) => [ms, weight === 0 ? 0 : place / weight * 100]),
    begins: busy.map((one) => one.fromMs),
  };
}

/** The times in which anything ran, joined where they touch. */
export function busyTimes(
  spans: readonly Pick<LaneSpan, "fromMs" | "untilMs">[],
): { fromMs: number; untilMs: number }[] {
  const joined: { fromMs: number; untilMs: number }[] = [];
  for (const { fromMs, untilMs } of spans.toSorted((a, b) => a.fromMs - b.fromMs)) {
    const last = joined.at(-1);
    if (last !== undefined && fromMs <= last.untilMs) {
      last.untilMs = Math.max(last.untilMs, untilMs);
    } else joined.push({ fromMs, untilMs });
  }
  return joined;
}

/** Where an instant is on a scale, from 0 to 100. */
export function placeOn({ points }: Scale, ms: number): number {
  let before = points[0] as readonly [number, number];
  if (ms <= before[0]) return before[1];
  for (const point of points) {
    if (ms <= point[0]) {
      const share = point[0] === before[0] ? 1 : (ms - before[0]) / (point[0] - before[0]);
      return before[1] + share * (point[1] - before[1]);
    }
    before = point;
  }
  return 100;
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

/** The marks of a scale, and how far apart they are. */
export interface Ticks {
  /** The time between two marks; of a shortened scale, the least. */
  readonly stepMs: number;
  /** Where they are. */
  readonly atMs: readonly number[];
}

/** The marks of a scale: at most so many, at round times, or (when shortened) where work begins. */
export function ticksOf(scale: Scale, most: number): Ticks {
  const { fromMs, untilMs, begins } = scale;
  const spanMs = untilMs - fromMs;
  if (begins !== null) return ticksWhereWorkBegins(scale, begins, most);
  const stepMs = STEPS.find((one) => spanMs / one <= most) ?? Math.ceil(spanMs / most / DAY) * DAY;
  const atMs: number[] = [];
  for (let at = Math.ceil(fromMs / stepMs) * stepMs; at <= untilMs; at += stepMs) atMs.push(at);
  return { stepMs, atMs };
}

function ticksWhereWorkBegins(scale: Scale, begins: readonly number[], most: number): Ticks {
  const atMs: number[] = [];
  let lastPlace = -Infinity;
  for (const ms of begins) {
    const place = placeOn(scale, ms);
    if (place - lastPlace < 100 / most) continue;
    atMs.push(ms);
    lastPlace = place;
  }
  const steps = atMs.slice(1).map((ms, at) => ms - (atMs[at] as number));
  return { stepMs: Math.min(SECOND, ...steps), atMs };
}
