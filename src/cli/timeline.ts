/**
 * A workflow's history as a drawing: one line per attempt, waits and runs to scale. The chunks of a
 * chain that went on without trouble are one line, each chunk with its own wait and run.
 *
 * @module
 */

import type { ExecutionRecord, Progress, WorkflowRecord } from "../define/records.ts";
import { type ProgressEstimate, progressEstimate } from "../observe/progress.ts";
import { duration, paint, type Palette, plainPalette } from "./style.ts";
import { clean } from "./table.ts";

/** How a timeline is drawn. */
export interface TimelineOptions {
  /** The present instant: where what still goes on is drawn up to. */
  readonly now: Date;
  /** How many cells the drawing takes. */
  readonly width?: number;
  /** How text is coloured; default: not at all. */
  readonly palette?: Palette;
  /** How many lines at the most, the newest; default: all. */
  readonly limit?: number;
  /** Draw every chunk of a chain in a line of its own. */
  readonly chunks?: boolean;
}

const DEFAULT_WIDTH = 36;

/** One line: the chunks of a chain, or a single execution. */
type Line = readonly [ExecutionRecord, ...ExecutionRecord[]];

/** The mark of each way an execution can stand or end. */
const MARKS: Readonly<Record<string, string>> = {
  scheduled: "…",
  in_progress: "▶",
  success: "✓",
  continued: "⤷",
  reattempted: "↻",
  recovered: "⟲",
  skipped: "»",
  workflow_paused: "‖",
  canceled: "✗",
  failed: "✗",
};

/** Draws the history of one workflow. */
export function timeline(
  workflow: WorkflowRecord,
  history: readonly ExecutionRecord[],
  options: TimelineOptions,
): string {
  const palette = options.palette ?? plainPalette;
  const scale = scaleOf(workflow, history, options);
  const all = options.chunks ? history.map((one): Line => [one]) : joined(history);
  const shown = options.limit === undefined ? all : all.slice(-options.limit);
  const estimate = progressEstimate(history, options.now);
  const nameWidth = Math.max(4, ...shown.map(([first]) => label(first).length));
  const lines = shown.map((line) => {
    const [first] = line;
    const last = line.at(-1) as ExecutionRecord;
    const [mark, colour] = markOf(last);
    const cells = [
      paint(palette, colour, mark),
      label(first).padEnd(nameWidth),
      drawing(line, scale, palette),
      tookOf(line, options.now).padStart(8),
      paint(palette, colour, outcomeOf(last, options.now)) + chunksOf(line, palette),
    ];
    const progress = last === history.at(-1) ? pace(estimate, options.now) : progressBar(last);
    return [`  ${cells.join("  ")}`, ...details(last, progress, palette)].join("\n");
  });
  const hidden = all.length - shown.length;
  const more = hidden === 0 ? [] : [paint(palette, "dim", `  … ${hidden} earlier lines`)];
  return [heading(workflow, options, palette), ...more, ...lines].join("\n");
}

/** A chunk that its predecessor handed over to is drawn in the predecessor's line. */
function joined(history: readonly ExecutionRecord[]): Line[] {
  const lines: [ExecutionRecord, ...ExecutionRecord[]][] = [];
  for (const one of history) {
    const line = lines.at(-1);
    const before = line?.at(-1);
    const goesOn = before?.outcome === "continued" && one.continuesFromId === before.id;
    if (line !== undefined && goesOn) line.push(one);
    else lines.push([one]);
  }
  return lines;
}

function chunksOf(line: Line, palette: Palette): string {
  return line.length === 1 ? "" : paint(palette, "dim", ` · ${line.length} chunks`);
}

function heading(workflow: WorkflowRecord, { now }: TimelineOptions, palette: Palette): string {
  const hero = workflow.heroType === null
    ? ""
    : ` · ${clean(`${workflow.heroType} ${workflow.heroId}`)}`;
  const ended = workflow.state === "finished" || workflow.state === "canceled";
  const until = ended ? workflow.transitionedAt ?? now : now;
  const age = duration(until.getTime() - workflow.createdAt.getTime());
  const colour = STATE_COLOURS[workflow.state];
  const title = paint(palette, "bold", `${workflow.name} ${workflow.id}`);
  const next = workflow.nextStepName === null ? "" : ` · next: ${workflow.nextStepName}`;
  return `${title}${hero} · ${paint(palette, colour, workflow.state)} · ${age}${next}`;
}

/** The colours of workflow states, everywhere. */
export const STATE_COLOURS: Readonly<Record<WorkflowRecord["state"], keyof Palette>> = {
  ready: "blue",
  performing: "cyan",
  paused: "yellow",
  finished: "green",
  canceled: "red",
};

/** A chunk that continues another one, and a further attempt, stand under the first with an arm. */
function label(one: ExecutionRecord): string {
  if (one.continuesFromId !== null) return `└ ${one.stepName}`;
  return one.attempt > 1 ? `└ ${one.stepName} (attempt ${one.attempt})` : one.stepName;
}

function markOf(one: ExecutionRecord): [string, keyof Palette] {
  const mark = MARKS[one.outcome ?? one.state] ?? "?";
  if (one.state === "failed") return [MARKS.failed as string, "red"];
  if (one.state === "canceled") return [mark, "red"];
  if (one.outcome === "success" || one.outcome === "continued") return [mark, "green"];
  return [mark, one.outcome === null ? "cyan" : "yellow"];
}

function outcomeOf(one: ExecutionRecord, now: Date): string {
  if (one.state === "scheduled") return expectationOf(one, now);
  const word = one.outcome ?? one.state;
  return one.cause === null ? word : `${word} (${one.cause.replaceAll("_", " ")})`;
}

function expectationOf({ waitingFor, scheduledFor }: ExecutionRecord, now: Date): string {
  if (waitingFor !== null) return `waits for the signal "${clean(waitingFor)}"`;
  const inMs = scheduledFor.getTime() - now.getTime();
  return inMs > 0 ? `due in ${duration(inMs)}` : `due since ${duration(-inMs)}`;
}

function details(one: ExecutionRecord, progress: string, palette: Palette): string[] {
  const lines: string[] = [];
  const stored = one.metadata.exception as { class?: string; message?: string } | undefined;
  const errorClass = one.errorClass ?? stored?.class;
  const message = one.errorMessage ?? stored?.message ?? "";
  if (errorClass !== undefined && errorClass !== null) {
    lines.push(paint(palette, "dim", `       ${errorClass}: ${firstLine(message)}`));
  }
  if (progress !== "") lines.push(paint(palette, "dim", `       ${progress}`));
  return lines;
}

function firstLine(text: string): string {
  const line = clean(text.split("\n", 1)[0] as string);
  return line.length > 100 ? `${line.slice(0, 99)}…` : line;
}

/** How far the newest chain is, how fast it goes, and how long it still takes. */
function pace(estimate: ProgressEstimate | null, now: Date): string {
  if (estimate === null) return "";
  const { ratePerSecond: rate, estimatedEndAt: end } = estimate;
  const speed = rate === null
    ? ""
    : ` · ${rate < 10 ? rate.toFixed(1) : Math.round(rate)} per second`;
  const restMs = end === null ? 0 : end.getTime() - now.getTime();
  return progressBar({ progress: estimate }) + speed +
    (restMs > 0 ? ` · about ${duration(restMs)} left` : "");
}

/** How far a resumable step is, as a bar where the end is known. */
export function progressBar({ progress }: { readonly progress: Progress | null }): string {
  if (progress === null) return "";
  const { done, total, message } = progress;
  const note = message === null ? "" : ` · ${clean(message)}`;
  if (total === null || total <= 0) return `${done} done${note}`;
  const share = Math.min(1, done / total);
  const cells = Math.round(share * 20);
  const bar = "█".repeat(cells) + "░".repeat(20 - cells);
  return `${bar} ${Math.floor(share * 100)} % · ${done} of ${total}${note}`;
}

interface Scale {
  readonly from: number;
  readonly until: number;
  readonly width: number;
  readonly now: number;
}

function scaleOf(
  workflow: WorkflowRecord,
  history: readonly ExecutionRecord[],
  { now, width = DEFAULT_WIDTH }: TimelineOptions,
): Scale {
  const ends = history.map((one) => (one.finishedAt ?? now).getTime());
  const from = workflow.createdAt.getTime();
  return { from, until: Math.max(from + 1, ...ends), width, now: now.getTime() };
}

/** `░` while a chunk waited for its time, `█` while its body ran, at least one cell each. */
function drawing(line: Line, scale: Scale, palette: Palette): string {
  const cells: ("░" | "█")[] = [];
  for (const one of line) {
    const end = one.finishedAt?.getTime() ?? scale.now;
    const start = one.startedAt?.getTime() ?? end;
    const created = cellOf(one.createdAt.getTime(), scale);
    const started = Math.max(created, cellOf(start, scale));
    const ended = Math.max(started + (one.startedAt === null ? 0 : 1), cellOf(end, scale));
    // What an earlier chunk has drawn stays: a run is never painted over by a wait.
    for (let at = created; at < started; at++) cells[at] ??= "░";
    for (let at = started; at < ended; at++) cells[at] = "█";
  }
  const [, colour] = markOf(line.at(-1) as ExecutionRecord);
  const length = Math.max(scale.width + 1, cells.length);
  const text = Array.from({ length }, (_, at) => cells[at] ?? " ").join("");
  return text.replace(/░+/g, (run) => paint(palette, "dim", run))
    .replace(/█+/g, (run) => paint(palette, colour, run));
}

function cellOf(at: number, { from, until, width }: Scale): number {
  const share = (at - from) / (until - from);
  return Math.round(Math.min(1, Math.max(0, share)) * width);
}

/** How long the bodies of a line ran, without the waits between them. */
function tookOf(line: Line, now: Date): string {
  const begun = line.filter((one) => one.startedAt !== null);
  if (begun.length === 0) return "";
  const ms = begun.map(({ startedAt, finishedAt }) =>
    (finishedAt ?? now).getTime() - (startedAt as Date).getTime()
  );
  return duration(ms.reduce((sum, one) => sum + one, 0));
}
