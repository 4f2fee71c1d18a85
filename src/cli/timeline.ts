/**
 * A workflow's history as a drawing: one line per execution, waits and runs to scale.
 *
 * @module
 */

import type { ExecutionRecord, WorkflowRecord } from "../define/records.ts";
import { duration, paint, type Palette, plainPalette } from "./style.ts";

/** How a timeline is drawn. */
export interface TimelineOptions {
  /** The present instant: where what still goes on is drawn up to. */
  readonly now: Date;
  /** How many cells the drawing takes. */
  readonly width?: number;
  /** How text is coloured; default: not at all. */
  readonly palette?: Palette;
}

const DEFAULT_WIDTH = 36;

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
  const nameWidth = Math.max(4, ...history.map((one) => label(one).length));
  const lines = history.map((one) => {
    const [mark, colour] = markOf(one);
    const cells = [
      paint(palette, colour, mark),
      label(one).padEnd(nameWidth),
      drawing(one, scale, palette),
      tookOf(one, options.now).padStart(8),
      paint(palette, colour, outcomeOf(one)),
    ];
    return [`  ${cells.join("  ")}`, ...details(one, palette)].join("\n");
  });
  return [heading(workflow, options, palette), ...lines].join("\n");
}

function heading(workflow: WorkflowRecord, { now }: TimelineOptions, palette: Palette): string {
  const hero = workflow.heroType === null ? "" : ` · ${workflow.heroType} ${workflow.heroId}`;
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

function outcomeOf(one: ExecutionRecord): string {
  const word = one.outcome ?? one.state;
  return one.cause === null ? word : `${word} (${one.cause.replaceAll("_", " ")})`;
}

function details(one: ExecutionRecord, palette: Palette): string[] {
  const lines: string[] = [];
  const stored = one.metadata.exception as { class?: string; message?: string } | undefined;
  const errorClass = one.errorClass ?? stored?.class;
  const message = one.errorMessage ?? stored?.message ?? "";
  if (errorClass !== undefined && errorClass !== null) {
    lines.push(paint(palette, "dim", `       ${errorClass}: ${firstLine(message)}`));
  }
  if (one.progress !== null) lines.push(paint(palette, "dim", `       ${progressBar(one)}`));
  return lines;
}

function firstLine(text: string): string {
  const line = text.split("\n", 1)[0] as string;
  return line.length > 100 ? `${line.slice(0, 99)}…` : line;
}

/** How far a resumable step is, as a bar where the end is known. */
export function progressBar({ progress }: Pick<ExecutionRecord, "progress">): string {
  if (progress === null) return "";
  const { done, total, message } = progress;
  const note = message === null ? "" : ` · ${message}`;
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

/** `░` while it waited for its time, `█` while its body ran, at least one cell each. */
function drawing(one: ExecutionRecord, scale: Scale, palette: Palette): string {
  const end = one.finishedAt?.getTime() ?? scale.now;
  const start = one.startedAt?.getTime() ?? end;
  const created = cellOf(one.createdAt.getTime(), scale);
  const started = Math.max(created, cellOf(start, scale));
  const ended = Math.max(started + (one.startedAt === null ? 0 : 1), cellOf(end, scale));
  const [, colour] = markOf(one);
  return " ".repeat(created) +
    paint(palette, "dim", "░".repeat(started - created)) +
    paint(palette, colour, "█".repeat(ended - started)) +
    " ".repeat(Math.max(0, scale.width + 1 - ended));
}

function cellOf(at: number, { from, until, width }: Scale): number {
  const share = (at - from) / (until - from);
  return Math.round(Math.min(1, Math.max(0, share)) * width);
}

function tookOf(one: ExecutionRecord, now: Date): string {
  if (one.startedAt === null) return "";
  return duration((one.finishedAt ?? now).getTime() - one.startedAt.getTime());
}
