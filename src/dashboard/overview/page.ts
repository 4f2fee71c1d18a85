/**
 * The overview: what runs, what is stuck, why, and since when.
 *
 * @module
 */

import { type Content, type Html, html } from "../html.ts";
import { region } from "../layout.ts";
import { ago } from "../times.ts";
import type { Json } from "../values.ts";
import type { Desk, Frame, View } from "../view.ts";
import { count, counted, duration } from "../words.ts";
import { alerts, LATE_MS } from "./alerts.ts";
import { chart, sumsOf } from "./chart.ts";
import { definitions, workers } from "./definitions.ts";
import { failures } from "./failures.ts";
import { lagOf, type Overview, readOverview, type Span } from "./read.ts";

/** The view of everything. */
export function overviewView(desk: Desk): View<Overview> {
  return {
    read: ({ fresh }) => readOverview(desk.readings, { now: desk.core.now(), fresh }),
    regions: (data, frame) => ({
      alerts: alerts(data, frame),
      figures: figures(data, frame),
      activity: html`
        ${chart(data.hour, { title: "Steps in the last hour", labelEveryMs: 600_000 })}
        ${chart(data.day, { title: "Steps in the last 24 hours", labelEveryMs: 4 * 3_600_000 })}
      `,
      failures: failures(data, frame, desk.values.text),
      definitions: definitions(data, frame),
      workers: workers(data),
    }),
    page: (_, regions) => ({
      title: "Overview",
      body: html`
        <h1 class="sr">Overview</h1>
        ${region("alerts", regions)}
        ${region("figures", regions, "Key figures")}
        ${region("activity", regions, "Activity")}
        ${region("failures", regions, "Failures")}
        ${region("definitions", regions, "Workflows by definition")}
        ${region("workers", regions, "Workers")}
      `,
    }),
    json: (data) => overviewJson(data, desk.values.text),
  };
}

function figures(data: Overview, { root }: Frame): Html {
  const { totals, nextDueAt, now, hour } = data;
  const sums = sumsOf(hour.buckets);
  const ended = Object.values(sums).reduce((sum, one) => sum + one, 0);
  const lagMs = lagOf(data);
  const alive = data.workers.filter((one) => one.leaseUntil >= now).length;
  const failing = data.failures.groups.reduce((sum, one) => sum + one.count, 0);
  const next = nextDueAt !== null &&
    html`${lagMs > 0 ? "oldest" : "next"} due ${ago(nextDueAt, now)}`;
  const all = [
    figure("Running", totals.performing, {
      href: `${root}workflows?state=performing`,
      tone: totals.performing > 0 ? "performing" : "calm",
      note: alive === 0 ? "no worker at work" : `${counted(alive, "worker")} at work`,
    }),
    figure("Ready", totals.ready, {
      href: `${root}workflows?state=ready`,
      tone: "ready",
      note: next || "nothing is scheduled",
    }),
    figure("Lag", lagMs === 0 ? "none" : duration(lagMs), {
      tone: lagMs >= LATE_MS ? "bad" : "calm",
      note: "of the oldest due step",
    }),
    figure("Paused", totals.paused, {
      href: `${root}workflows?state=paused`,
      tone: totals.paused > 0 ? "paused" : "calm",
      note: failing === 0
        ? "none by an error"
        : `${count(failing)}${data.failures.complete ? "" : "+"} by an error`,
    }),
    figure("Steps, last hour", ended, {
      tone: "calm",
      note: `${(ended / 60).toFixed(ended < 600 ? 1 : 0)} a minute`,
    }),
    figure("Failed, last hour", sums.failed, {
      tone: sums.failed > 0 ? "bad" : "calm",
      note: ended === 0
        ? "no step ended"
        : `${(sums.failed / ended * 100).toFixed(1)} %, ${count(sums.reattempted)} retried`,
    }),
  ];
  return html`<dl class="figures">${all}</dl>`;
}

interface FigureOptions {
  readonly tone: string;
  readonly note: Content;
  readonly href?: string;
}

function figure(name: string, value: number | string, { tone, note, href }: FigureOptions): Html {
  const text = typeof value === "number" ? count(value) : value;
  return html`
    <div class="figure card t-${tone}">
      <dt>${name}</dt>
      <dd class="value">${href === undefined ? text : html`<a href="${href}">${text}</a>`}</dd>
      <dd class="note">${note}</dd>
    </div>
  `;
}

function overviewJson(data: Overview, show: (text: string) => string): Json {
  const span = ({ buckets }: Span): Json =>
    buckets.map(({ from, ...counts }) => ({ from: from.toISOString(), ...counts }));
  return {
    at: data.now.toISOString(),
    nextDueAt: data.nextDueAt?.toISOString() ?? null,
    lagMs: lagOf(data),
    definitions: data.definitions.map(({ name, known, counts }) => ({ name, known, ...counts })),
    lastHour: span(data.hour),
    lastDay: span(data.day),
    workers: data.workers.map(({ worker, running, leaseUntil }) => ({
      worker,
      running,
      leaseUntil: leaseUntil.toISOString(),
    })),
    failures: data.failures.groups.map((one) => ({
      fingerprint: one.fingerprint,
      errorClass: one.errorClass,
      message: show(one.message),
      count: one.count,
      firstSeenAt: one.firstSeenAt.toISOString(),
      lastSeenAt: one.lastSeenAt.toISOString(),
      places: one.places.map((place) => ({ ...place })),
      examples: one.examples.map((example) => example.workflowId),
    })),
    deployFindings: data.findings?.map((one) => ({ ...one })) ?? null,
  };
}
