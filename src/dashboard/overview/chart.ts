/**
 * A chart of what ended when: one bar per slice of time, drawn as SVG on the server. Everything is
 * placed in percent of the width, so that it fits any screen without a script.
 *
 * @module
 */

import type { ActivityBucket, ActivityClass } from "../../state/activity.ts";
import { type Html, html } from "../html.ts";
import { inTip } from "../times.ts";
import { count } from "../words.ts";
import type { Span } from "./read.ts";

/** The ways of ending, from the bottom of a bar to its top; trouble is on top, where it is seen. */
export const CLASSES: readonly { readonly name: ActivityClass; readonly word: string }[] = [
  { name: "completed", word: "completed" },
  { name: "skipped", word: "skipped" },
  { name: "canceled", word: "canceled" },
  { name: "reattempted", word: "retried" },
  { name: "failed", word: "failed" },
];

/** These are named even where there were none: no failures is good news. */
const ALWAYS: ReadonlySet<ActivityClass> = new Set(["completed", "failed"]);

const HEIGHT = 132;
const FLOOR = 112;
const CEILING = 8;

/** How a chart is drawn. */
export interface ChartOptions {
  /** Its title. */
  readonly title: string;
  /** How far apart the times on the axis are. */
  readonly labelEveryMs: number;
}

/** Draws a chart with its title, its sums and its legend. */
export function chart(span: Span, { title, labelEveryMs }: ChartOptions): Html {
  const sums = sumsOf(span.buckets);
  const shown = CLASSES.filter(({ name }) => sums[name] > 0 || ALWAYS.has(name));
  const items = shown.map(({ name, word }) => {
    const key = html`<span class="key k-${name}" aria-hidden="true"></span>`;
    return html`<li>${key}${word} <b>${count(sums[name])}</b></li>`;
  });
  const spoken = shown.map(({ name, word }) => `${count(sums[name])} ${word}`).join(", ");
  return html`
    <figure class="chart card">
      <figcaption>
        <h2>${title}</h2>
        <ul class="legend">${items}</ul>
      </figcaption>
      <svg class="bars" width="100%" height="${HEIGHT}" role="img"
        aria-label="${title}: ${spoken}">
        ${drawing(span, labelEveryMs)}
      </svg>
    </figure>
  `;
}

/** What ended in all slices together. */
export function sumsOf(buckets: readonly ActivityBucket[]): Record<ActivityClass, number> {
  const sums = { completed: 0, reattempted: 0, failed: 0, skipped: 0, canceled: 0 };
  for (const bucket of buckets) {
    for (const { name } of CLASSES) sums[name] += bucket[name];
  }
  return sums;
}

function totalOf(bucket: ActivityBucket): number {
  return CLASSES.reduce((sum, { name }) => sum + bucket[name], 0);
}

function drawing({ buckets, until }: Span, labelEveryMs: number): Html {
  const top = niceTop(Math.max(0, ...buckets.map(totalOf)));
  const slice = 100 / buckets.length;
  const bars = buckets.map((bucket, at) => {
    const end = buckets[at + 1]?.from ?? until;
    return bar(bucket, { x: at * slice, width: slice, top, end });
  });
  const labels = buckets.map(({ from }, at) => {
    const place = at * slice;
    if (from.getTime() % labelEveryMs !== 0 || place > 97) return null;
    const iso = from.toISOString();
    const anchor = place < 3 ? "start" : "middle";
    return html`
      <text class="tick-x" x="${percent(place)}" y="${HEIGHT - 4}" text-anchor="${anchor}"
        data-time="clock" data-at="${iso}">${iso.slice(11, 16)}</text>
    `;
  });
  const levels = [0, 0.5, 1].map((share) => ({
    y: FLOOR - share * (FLOOR - CEILING),
    number: top * share,
  }));
  const lines = levels.map(({ y }) =>
    html`<line class="grid" x1="0" x2="100%" y1="${y}" y2="${y}" />`
  );
  // Numbers stand over the bars, and only where they are whole ones.
  const numbers = levels.filter(({ number }) => number > 0 && Number.isInteger(number))
    .map(({ y, number }) => html`<text class="tick-y" x="0" y="${y + 11}">${count(number)}</text>`);
  return html`${lines}${bars}${numbers}${labels}`;
}

interface Place {
  readonly x: number;
  readonly width: number;
  readonly top: number;
  readonly end: Date;
}

/** One slice; an invisible bar over the full height takes the pointer. */
function bar(bucket: ActivityBucket, { x, width, top, end }: Place): Html {
  const present = CLASSES.filter(({ name }) => bucket[name] > 0);
  let y = FLOOR;
  const parts = present.map(({ name }) => {
    // What there is one of in a thousand must be seen, too.
    const height = Math.max(1.5, bucket[name] / top * (FLOOR - CEILING));
    y -= height;
    return html`
      <rect class="k-${name}" x="${percent(x + width * 0.12)}" y="${fixed(y)}"
        width="${percent(width * 0.76)}" height="${fixed(height)}" />
    `;
  });
  const said = present.map(({ name, word }) => `${count(bucket[name])} ${word}`).join("\n");
  const tip = `${inTip(bucket.from)} – ${inTip(end)}\n${said || "nothing"}`;
  return html`
    ${parts}<rect class="catch" x="${percent(x)}" y="${CEILING}" width="${percent(width)}"
      height="${FLOOR - CEILING}" data-tip="${tip}" />
  `;
}

/** A round number at or above a value. */
export function niceTop(value: number): number {
  if (value <= 2) return 2;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 4, 5, 10].find((one) => one * power >= value) as number;
  return step * power;
}

/** A number with a percent sign, short. */
export function percent(value: number): string {
  return `${fixed(value)}%`;
}

function fixed(value: number): string {
  return String(Math.round(value * 1_000) / 1_000);
}
