/**
 * The overview: what runs, what is stuck, why, and since when.
 *
 * @module
 */

import type { WorkflowState } from "../../define/records.ts";
import type { FailureGroup } from "../../run/failures.ts";
import { type Content, type Html, html, nothing } from "../html.ts";
import { region } from "../layout.ts";
import { workflowHref } from "../routes.ts";
import { ago, at } from "../times.ts";
import type { Json } from "../values.ts";
import type { Desk, Frame, View } from "../view.ts";
import { coarse, count, counted, duration, firstLine, STATE_MEANINGS, STATES } from "../words.ts";
import { chart, percent, sumsOf } from "./chart.ts";
import { type DefinitionCounts, lagOf, type Overview, readOverview } from "./read.ts";

/** The view of everything. */
export function overviewView(desk: Desk): View<Overview> {
  return {
    read: ({ fresh }) => readOverview(desk.readings, { now: desk.core.now(), fresh }),
    regions: (data, frame) => ({
      alerts: alerts(data, frame),
      figures: figures(data, frame),
      activity: html`${chart(data.hour, { title: "Steps in the last hour", labelEvery: 10 })}
        ${chart(data.day, { title: "Steps in the last 24 hours", labelEvery: 16 })}`,
      failures: failures(data, frame),
      definitions: definitions(data, frame),
      workers: workers(data),
    }),
    page: (_, regions) => ({
      title: "Overview",
      body: html`<h1 class="sr">Overview</h1>
        ${region("alerts", regions)}
        ${region("figures", regions, "Key figures")}
        ${region("activity", regions, "Activity")}
        ${region("failures", regions, "Failures")}
        ${region("definitions", regions, "Workflows by definition")}
        ${region("workers", regions, "Workers")}`,
    }),
    json: overviewJson,
  };
}

/** A few seconds of lag are how polling works; a minute is somebody's trouble. */
const LATE_MS = 60_000;

function alerts(data: Overview, { root }: Frame): Html {
  const found: Content[] = [];
  const lagMs = lagOf(data);
  if (lagMs >= LATE_MS) {
    found.push(
      html`<p class="alert bad"><b>Work is waiting for a worker.</b> The oldest step has been
      due for ${coarse(lagMs)}. ${
        data.workers.length === 0
          ? "No worker holds a step: is one running?"
          : "The workers do not keep up: start more, or raise their concurrency."
      } <a href="${root}workflows?state=ready">Show what is ready</a></p>`,
    );
  }
  const silent = data.workers.filter((one) => one.leaseUntil < data.now);
  if (silent.length > 0) {
    const held = silent.reduce((sum, one) => sum + one.running, 0);
    found.push(html`<p class="alert warn"><b>${counted(silent.length, "worker")} went silent</b>
      with ${counted(held, "step")} in hand. Any living worker takes over by itself.</p>`);
  }
  for (const { message, advice, workflow, step } of data.findings ?? []) {
    const query = new URLSearchParams(step === null ? { workflow } : { workflow, step });
    found.push(html`<p class="alert warn"><b>${message}.</b> ${advice}
      <a href="${root}workflows?${query.toString()}">Show them</a></p>`);
  }
  return html`${found}`;
}

function figures(data: Overview, { root }: Frame): Html {
  const { totals, nextDueAt, now, workers, hour } = data;
  const sums = sumsOf(hour.buckets);
  const ended = Object.values(sums).reduce((sum, one) => sum + one, 0);
  const lagMs = lagOf(data);
  const alive = workers.filter((one) => one.leaseUntil >= now).length;
  const failing = data.failures.groups.reduce((sum, one) => sum + one.count, 0);
  return html`<dl class="figures">
    ${
    figure("Running", totals.performing, {
      href: `${root}workflows?state=performing`,
      tone: totals.performing > 0 ? "performing" : "calm",
      note: alive === 0 ? "no worker at work" : `${counted(alive, "worker")} at work`,
    })
  }
    ${
    figure("Ready", totals.ready, {
      href: `${root}workflows?state=ready`,
      tone: "ready",
      note: nextDueAt === null
        ? "nothing is scheduled"
        : lagMs > 0
        ? html`oldest due ${ago(nextDueAt, now)}`
        : html`next due ${ago(nextDueAt, now)}`,
    })
  }
    ${
    figure("Lag", lagMs === 0 ? "none" : duration(lagMs), {
      tone: lagMs >= LATE_MS ? "bad" : "calm",
      note: "how long due work has waited",
    })
  }
    ${
    figure("Paused", totals.paused, {
      href: `${root}workflows?state=paused`,
      tone: totals.paused > 0 ? "paused" : "calm",
      note: failing === 0
        ? "none by an error"
        : `${count(failing)}${data.failures.complete ? "" : "+"} by an error`,
    })
  }
    ${
    figure("Steps per hour", ended, {
      tone: "calm",
      note: `${(ended / 60).toFixed(ended < 600 ? 1 : 0)} a minute`,
    })
  }
    ${
    figure("Failed per hour", sums.failed, {
      tone: sums.failed > 0 ? "bad" : "calm",
      note: ended === 0
        ? "no step ended"
        : `${(sums.failed / ended * 100).toFixed(1)} % · ${count(sums.reattempted)} retried`,
    })
  }
  </dl>`;
}

interface FigureOptions {
  readonly tone: string;
  readonly note: Content;
  readonly href?: string;
}

function figure(name: string, value: number | string, { tone, note, href }: FigureOptions): Html {
  const text = typeof value === "number" ? count(value) : value;
  const shown = href === undefined ? html`${text}` : html`<a href="${href}">${text}</a>`;
  return html`
    <div class="figure card t-${tone}">
      <dt>${name}</dt>
      <dd class="value">${shown}</dd>
      <dd
        class="note">${note}</dd>
    </div>
  `;
}

function failures(data: Overview, frame: Frame): Html {
  const { groups, looked, complete } = data.failures;
  if (groups.length === 0) {
    return html`<div class="card calm-line"><span class="ok-mark" aria-hidden="true">✓</span>
      <p><b>Nothing is failing.</b> ${
      data.totals.paused === 0
        ? "No workflow is paused."
        : html`${counted(data.totals.paused, "workflow")} ${
          data.totals.paused === 1 ? "is" : "are"
        } paused, none by an error.`
    }</p></div>`;
  }
  return html`<div class="card"><div class="card-head"><h2>What has paused workflows</h2><p
      class="quiet">${counted(groups.length, "reason")}, ${counted(looked, "workflow")}${
    complete ? nothing : " (the newest)"
  }</p></div>
    <ul class="groups">${groups.slice(0, MAX_GROUPS).map((one) => group(one, data, frame))}</ul>
    ${
    groups.length > MAX_GROUPS
      ? html`<p class="quiet">and ${counted(groups.length - MAX_GROUPS, "rarer reason")}</p>`
      : null
  }</div>`;
}

const MAX_GROUPS = 8;
const MAX_MESSAGE = 220;

function group(one: FailureGroup, { now }: Overview, { root }: Frame): Html {
  const places = one.places.slice(0, 3).map(({ workflow, step }) => `${workflow} › ${step}`);
  const [example] = one.examples;
  return html`<li data-key="${one.fingerprint}">
    <a class="group-count" href="${root}workflows?fingerprint=${one.fingerprint}"><b>${
    count(one.count)
  }</b><span>paused</span></a>
    <div class="group-text"><p class="group-error"><b>${one.errorClass}</b> ${
    firstLine(one.message, MAX_MESSAGE)
  }</p><p class="quiet">${places.join(", ")}${
    one.frame === null ? null : html`
      · <code>${one.frame}</code>
    `
  }</p></div>
    <p class="group-when quiet">last ${ago(one.lastSeenAt, now)}<br>first ${
    ago(one.firstSeenAt, now)
  }</p>
    ${
    example === undefined
      ? null
      : html`<a class="group-example" href="${workflowHref(root, example.workflowId)}">Example</a>`
  }
  </li>`;
}

function definitions(data: Overview, frame: Frame): Html {
  const total = Object.values(data.totals).reduce((sum, one) => sum + one, 0);
  if (total === 0 && data.definitions.length === 0) return welcome();
  const heads = STATES.map((state) =>
    html`<th scope="col" class="num" title="A ${state} workflow ${
      STATE_MEANINGS[state]
    }">${state}</th>`
  );
  return html`
    <div class="card">
      <div class="card-head">
        <h2>Workflows by definition</h2>
        <p
          class="quiet">${counted(total, "workflow")} stored</p>
      </div>
      <div class="scroll">
        <table class="definitions">
          <thead>
            <tr><th scope="col">definition</th><th
          scope="col" class="bar-head">states</th>${heads}</tr>
          </thead>
          <tbody>${data.definitions.map((one) => definition(one, frame))}</tbody>
        </table>
      </div>
    </div>
  `;
}

function definition({ name, known, counts }: DefinitionCounts, { root }: Frame): Html {
  const href = (state?: WorkflowState): string => {
    const query = new URLSearchParams({
      workflow: name,
      ...(state === undefined ? {} : { state }),
    });
    return `${root}workflows?${query.toString()}`;
  };
  const cells = STATES.map((state) =>
    html`<td class="num">${
      counts[state] === 0
        ? html`<span class="zero">0</span>`
        : html`<a href="${href(state)}" class="n-${state}">${count(counts[state])}</a>`
    }</td>`
  );
  return html`
    <tr
      data-key="${name}"><th scope="row"><a href="${href()}">${name}</a>${known ? null : html`
        <span class="tag" title="This engine was not given the definition">unknown</span>
      `}</th><td class="bar-cell">${stateBar(counts)}</td>${cells}</tr>
  `;
}

/** The states of a definition as one bar; what there is little of is drawn wide enough to be seen. */
export function stateBar(counts: Readonly<Record<WorkflowState, number>>): Html {
  const present = STATES.filter((state) => counts[state] > 0);
  const total = present.reduce((sum, state) => sum + counts[state], 0);
  if (total === 0) {
    return html`
      <svg class="state-bar" width="100%" height="10" role="img" aria-label="none">
        <rect
          class="empty" width="100%" height="10" rx="2" />
      </svg>
    `;
  }
  const least = 2.5;
  const widths = present.map((state) => Math.max(least, counts[state] / total * 100));
  const scale = 100 / widths.reduce((sum, one) => sum + one, 0);
  let x = 0;
  const parts = present.map((state, place) => {
    const width = (widths[place] as number) * scale;
    const rect = html`
      <rect class="s-${state}" x="${percent(x)}" width="${percent(width)}" height="10"
        data-tip="${count(counts[state])} ${state}" />
    `;
    x += width;
    return rect;
  });
  const spoken = present.map((state) => `${count(counts[state])} ${state}`).join(", ");
  return html`
    <svg class="state-bar" width="100%" height="10" role="img"
      aria-label="${spoken}">${parts}</svg>
  `;
}

function welcome(): Html {
  return html`
    <div class="card empty-state">
      <h2>Nothing has been started yet</h2>
      <p>As soon as <code>engine.start(definition, { hero })</code> has put a workflow into this
          database, it appears here by itself. Definitions that the engine was given are listed even
          before.</p>
    </div>
  `;
}

function workers({ workers: all, now }: Overview): Html {
  if (all.length === 0) return nothing;
  const rows = all.map(({ worker, running, leaseUntil }) =>
    html`
      <tr data-key="${worker}">
        <th scope="row"><code>${worker}</code></th>
        <td class="num">${count(running)}</td>
        <td>${leaseUntil >= now
          ? html`<span class="chip c-finished">alive</span>`
          : html`<span class="chip c-paused">silent since ${at(leaseUntil)}</span>`}</td>
      </tr>
    `
  );
  return html`
    <div class="card">
      <div class="card-head">
        <h2>Workers at work</h2>
        <p class="quiet">Those
          that hold a step; an idle worker leaves no trace in the database.</p>
      </div>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">worker</th>
              <th scope="col" class="num">steps
          in hand</th>
              <th scope="col">sign of life</th>
            </tr>
          </thead>
          <tbody>${rows}</tbody>
        </table>
      </div>
    </div>
  `;
}

function overviewJson(data: Overview): Json {
  const span = (buckets: Overview["hour"]["buckets"]): Json =>
    buckets.map(({ from, ...counts }) => ({ from: from.toISOString(), ...counts }));
  return {
    at: data.now.toISOString(),
    nextDueAt: data.nextDueAt?.toISOString() ?? null,
    lagMs: lagOf(data),
    definitions: data.definitions.map(({ name, known, counts }) => ({ name, known, ...counts })),
    lastHour: span(data.hour.buckets),
    lastDay: span(data.day.buckets),
    workers: data.workers.map(({ worker, running, leaseUntil }) => ({
      worker,
      running,
      leaseUntil: leaseUntil.toISOString(),
    })),
    failures: data.failures.groups.map((one) => ({
      fingerprint: one.fingerprint,
      errorClass: one.errorClass,
      message: one.message,
      count: one.count,
      firstSeenAt: one.firstSeenAt.toISOString(),
      lastSeenAt: one.lastSeenAt.toISOString(),
      places: one.places.map((place) => ({ ...place })),
      examples: one.examples.map((example) => example.workflowId),
    })),
    deployFindings: data.findings === null ? null : data.findings.map((one) => ({ ...one })),
  };
}
