/**
 * The timeline of a workflow: every execution to scale, drawn as SVG in percent of the width.
 *
 * @module
 */

import type { Cause, ExecutionRow, Outcome } from "../../state/records.ts";
import { type Content, type Html, html } from "../html.ts";
import { percent } from "../overview/chart.ts";
import { growing, inTip } from "../times.ts";
import { count, counted, duration, EXECUTION_WORDS } from "../words.ts";
import {
  isBody,
  type Lane,
  lanesOf,
  type LaneSpan,
  placeOn,
  type Scale,
  scaleOf,
  type SpanKind,
  type Ticks,
  ticksOf,
} from "./lanes.ts";
import type { Dossier } from "./read.ts";

const MAX_TICKS = 6;
/** Into how many parts of its width a change must fall to be drawn. */
const SHADES = 300;
const ROW = 26;
/** Spans narrower than this, in percent, that follow each other and look alike are drawn as one. */
const GRAIN = 0.12;

/** What the kinds of spans are called. */
const KINDS: Readonly<Record<SpanKind, string>> = {
  wait: "waiting",
  future: "still to wait",
  queued: "due",
  overdue: "overdue",
  running: "running",
  success: "completed",
  continued: "chunk",
  retried: "retried",
  failed: "failed",
  paused: "paused",
  skipped: "skipped",
  canceled: "canceled",
};

/** A scale with what is drawn on it in every lane. */
interface Canvas {
  readonly scale: Scale;
  readonly ticks: Ticks;
  readonly now: Date;
}

/** Draws the history of a workflow; `isShort`: long waits are drawn shorter than they were. */
export function timeline(dossier: Dossier, isShort: boolean): Html {
  const { executions, hidden, workflow } = dossier;
  if (executions.length === 0) {
    return html`
      <div class="card empty-state">
        <h2>Nothing has been scheduled</h2>
        <p>The definition of this workflow had no steps when it was started.</p>
      </div>
    `;
  }
  const now = coarseNow(dossier);
  const lanes = lanesOf(executions, { workflow, now });
  const scale = scaleOf(lanes, { workflow, now, hidden, isShort });
  const canvas = { scale, ticks: ticksOf(scale, MAX_TICKS), now };
  const all = hidden + executions.length;
  return html`
    <div class="card timeline">
      <div class="card-head">
        <h2>Timeline</h2>
        ${legend(lanes)}
        ${scaleSwitch(lanes, isShort)}
      </div>
      ${hidden > 0 && html`
        <p class="quiet">
          The newest ${count(executions.length)} of ${count(all)} executions; older ones are in the
          database.
        </p>
      `}
      <ol class="lanes">
        <li class="axis" aria-hidden="true">${axis(canvas)}</li>
        ${lanes.map((lane) => laneRow(lane, canvas, dossier))}
      </ol>
    </div>
  `;
}

/** A drawing of a day need not be sent again for a second that nobody could see in it. */
function coarseNow({ workflow, now }: Dossier): Date {
  const leastMs = Math.max(1, (now.getTime() - workflow.createdAt.getTime()) / SHADES);
  // A power of two, or else the grain itself would change with every second.
  const grainMs = 2 ** Math.floor(Math.log2(leastMs));
  return new Date(Math.floor(now.getTime() / grainMs) * grainMs);
}

function legend(lanes: readonly Lane[]): Html {
  const present = new Set(lanes.flatMap((lane) => lane.spans.map((span) => span.kind)));
  const kinds = (Object.keys(KINDS) as SpanKind[]).filter((kind) => present.has(kind));
  const items = kinds.map((kind) =>
    html`<li><span class="key l-${kind}" aria-hidden="true"></span>${KINDS[kind]}</li>`
  );
  return html`<ul class="legend">${items}</ul>`;
}

/** Where little of the time is spent running, a drawing to scale shows little of it. */
function scaleSwitch(lanes: readonly Lane[], isShort: boolean): Content {
  const hasRests = lanes.some((lane) => lane.spans.some((span) => !isBody(span)));
  if (!hasRests) return null;
  return isShort
    ? html`<a class="switch in-place" href="?">Draw waits to scale</a>`
    : html`<a class="switch in-place" href="?waits=short">Shorten waits</a>`;
}

function axis({ scale, ticks: { stepMs, atMs }, now }: Canvas): Html {
  const form = axisForm(stepMs, scale.untilMs - scale.fromMs);
  const labels = atMs.map((ms) => {
    const place = placeOn(scale, ms);
    if (place > 97) return null;
    const iso = new Date(ms).toISOString();
    const anchor = place < 4 ? "start" : "middle";
    return html`
      <text class="tick-x" x="${percent(place)}" y="12" text-anchor="${anchor}" data-time="${form}"
        data-at="${iso}">${axisText(iso, form)}</text>
    `;
  });
  if (scale.untilMs <= now.getTime()) {
    return html`<svg width="100%" height="18">${labels}</svg>`;
  }
  const x = percent(placeOn(scale, now.getTime()));
  return html`
    <svg width="100%" height="30">
      ${labels}
      <text class="now-text" x="${x}" y="26" text-anchor="middle">now</text>
    </svg>
  `;
}

type AxisForm = "millis" | "seconds" | "clock" | "day" | "daytime";

/** The shortest form in which the marks of an axis differ. */
function axisForm(stepMs: number, spanMs: number): AxisForm {
  if (stepMs >= 86_400_000) return "day";
  if (spanMs >= 86_400_000) return "daytime";
  if (stepMs >= 60_000) return "clock";
  return stepMs >= 1_000 ? "seconds" : "millis";
}

function axisText(iso: string, form: AxisForm): string {
  switch (form) {
    case "day":
      return iso.slice(5, 10);
    case "daytime":
      return `${iso.slice(5, 10)} ${iso.slice(11, 16)}`;
    case "clock":
      return iso.slice(11, 16);
    case "seconds":
      return iso.slice(11, 19);
    case "millis":
      return iso.slice(17, 23);
  }
}

function laneRow({ stepName, executions, spans }: Lane, canvas: Canvas, dossier: Dossier): Html {
  const { scale, ticks, now } = canvas;
  const last = executions.at(-1) as ExecutionRow;
  const lines = ticks.atMs.map((ms) => upright("grid", placeOn(scale, ms)));
  const present = scale.untilMs > now.getTime() &&
    upright("now", placeOn(scale, now.getTime()));
  const shapes = merged(spans, scale).map((span) => drawn(span, scale));
  const spoken = `${stepName}: ${executions.map(outcomeWords).join(", ")}`;
  return html`
    <li class="lane" data-key="${executions[0]?.id}">
      <span class="lane-name">
        <a href="#x${last.id}"><code>${stepName}</code></a>
        ${attemptsNote(executions)}
      </span>
      <svg class="lane-drawing" width="100%" height="${ROW}" role="img" aria-label="${spoken}">
        ${lines}${shapes}${present}
      </svg>
      <span class="lane-took">${tookText(executions, dossier.now)}</span>
    </li>
  `;
}

function upright(kind: string, place: number): Html {
  const x = percent(place);
  return html`<line class="${kind}" x1="${x}" x2="${x}" y1="0" y2="${ROW}" />`;
}

function attemptsNote(executions: readonly ExecutionRow[]): Content {
  if (executions.length === 1) return null;
  const chunks = executions.filter((one) => one.continuesFromId !== null).length;
  const retries = executions.filter((one) => one.outcome === "reattempted").length;
  const parts = [
    chunks > 0 ? counted(chunks + 1, "chunk") : "",
    retries > 0 ? (retries === 1 ? "1 retry" : `${retries} retries`) : "",
  ].filter((part) => part !== "");
  const text = parts.length === 0 ? counted(executions.length, "execution") : parts.join(", ");
  return html`<span class="quiet">${text}</span>`;
}

/** Joins spans that are too narrow to be told apart, so that ten thousand chunks are few shapes. */
function merged(spans: readonly LaneSpan[], scale: Scale): LaneSpan[] {
  const kept: LaneSpan[] = [];
  for (const span of spans) {
    const last = kept.at(-1);
    const from = placeOn(scale, span.fromMs);
    const gap = last === undefined ? Infinity : from - placeOn(scale, last.untilMs);
    const isThin = placeOn(scale, span.untilMs) - from < GRAIN && gap < GRAIN;
    if (last !== undefined && last.kind === span.kind && isThin) {
      kept[kept.length - 1] = { ...span, fromMs: last.fromMs };
    } else kept.push(span);
  }
  return kept;
}

function drawn(span: LaneSpan, scale: Scale): Html {
  const x = placeOn(scale, span.fromMs);
  const width = placeOn(scale, span.untilMs) - x;
  const isRun = isBody(span);
  const [y, height] = isRun ? [5, 16] : [10, 6];
  const look = `l-${span.kind} ${isRun ? "body" : "rest"}`;
  // A body of a millisecond in a history of a day is still a body: its outline keeps it visible.
  return html`
    <rect class="${look}" x="${percent(x)}" y="${y}" rx="${isRun ? 2 : 1}"
      width="${percent(Math.max(width, isRun ? 0.05 : 0))}" height="${height}" data-tip="${tipOf(
        span,
      )}" />
  `;
}

function tipOf({ kind, fromMs, untilMs, execution }: LaneSpan): string {
  const lines = [
    `${execution.stepName}: ${KINDS[kind]}`,
    untilMs > fromMs
      ? `${inTip(new Date(fromMs))} – ${inTip(new Date(untilMs))} (${duration(untilMs - fromMs)})`
      : inTip(new Date(fromMs)),
    `attempt ${execution.attempt}`,
  ];
  if (execution.errorClass !== null && kind === "failed") lines.push(execution.errorClass);
  return lines.join("\n");
}

/** How an execution stands or ended, in words. */
export function outcomeWords({ state, outcome, cause }: ExecutionRow): string {
  const word = outcome === null ? EXECUTION_WORDS[state] : OUTCOMES[outcome];
  // That a chunk was interrupted is what makes it a chunk.
  if (cause === null || outcome === "continued") return word;
  return `${word}: ${CAUSES[cause]}`;
}

const OUTCOMES: Readonly<Record<Outcome, string>> = {
  success: "completed",
  continued: "goes on in the next chunk",
  reattempted: "tried again",
  recovered: "recovered",
  workflow_paused: "paused",
  skipped: "skipped",
  canceled: "canceled",
  failed: "failed",
};

const CAUSES: Readonly<Record<Cause, string>> = {
  condition: "a condition said so",
  flow_control: "its body said so",
  exception: "an error",
  operator: "somebody from outside",
  recovery: "its worker was lost",
  interrupt: "it was interrupted",
};

/** How long the bodies of some executions ran, without the waits between them. */
export function tookText(executions: readonly ExecutionRow[], now: Date): Content {
  const begun = executions.filter((one) => one.startedAt !== null);
  if (begun.length === 0) return null;
  const ms = begun.reduce((sum, { startedAt, finishedAt }) => {
    return sum + Math.max(0, (finishedAt ?? now).getTime() - (startedAt as Date).getTime());
  }, 0);
  return begun.some((one) => one.finishedAt === null) ? growing(ms, now) : duration(ms);
}
