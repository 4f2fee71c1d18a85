/**
 * The panels of a workflow's page: progress, error, steps, values, signals.
 *
 * @module
 */

import type { StepDefinition } from "../../define/definition.ts";
import { progressEstimate } from "../../observe/progress.ts";
import { executionRecord } from "../../run/view.ts";
import type { ExecutionRow, StoredError } from "../../state/records.ts";
import { type Content, type Html, html, nothing } from "../html.ts";
import { valueBlock } from "../parts.ts";
import { ago, at } from "../times.ts";
import type { Desk } from "../view.ts";
import { coarse, count, duration } from "../words.ts";
import { errorOf } from "./headline.ts";
import type { Dossier } from "./read.ts";

/** How far a resumable step is, how fast, and until when. */
export function progressPanel({ executions, now }: Dossier, { core, values }: Desk): Html {
  const records = executions.map((row) => executionRecord(row, core.codec));
  const estimate = progressEstimate(records, now);
  const last = executions.at(-1);
  if (estimate === null || last === undefined) return nothing;
  const { done, total, message, ratePerSecond, estimatedEndAt } = estimate;
  const rate = ratePerSecond === null ? null : rateText(ratePerSecond);
  const isOpen = last.finishedAt === null;
  const facts: Content[] = [
    total === null ? `${count(done)} done` : `${count(done)} of ${count(total)}`,
    rate === null ? null : html`
      · ${rate}
    `,
    estimatedEndAt === null || !isOpen ? null : html`
      · about ${coarse(estimatedEndAt.getTime() - now.getTime())} left, until ${at(estimatedEndAt)}
    `,
    message === null ? null : html`
      · ${values.text(message)}
    `,
  ];
  const share = total === null || total <= 0 ? null : Math.min(1, done / total);
  return html`
    <div
      class="card progress"><div class="card-head"><h2>Progress of <code>${last
        .stepName}</code></h2><p class="percent">${share === null
        ? null
        : `${Math.floor(share * 100)} %`}</p></div>
        <progress aria-label="Progress of ${last.stepName}" ${share === null
          ? null
          : html`value="${Math.round(share * 1_000)}" max="1000"`}></progress><p>${facts}</p></div>
  `;
}

function rateText(perSecond: number): string {
  if (perSecond >= 10) return `${count(perSecond)} per second`;
  if (perSecond >= 0.1) return `${perSecond.toFixed(1)} per second`;
  return `${(perSecond * 60).toFixed(1)} per minute`;
}

/** The newest error of the step at which the workflow stands or ended. */
export function errorPanel({ executions, now, workflow }: Dossier, { values }: Desk): Html {
  const last = executions.at(-1);
  if (last === undefined || workflow.state === "finished") return nothing;
  const own = executions.filter((one) => one.stepName === last.stepName);
  const found = own.toReversed().map((one) => ({ one, error: errorOf(one) }))
    .find(({ error }) => error !== null);
  if (found === undefined || found.error === null) return nothing;
  const { one, error } = found;
  const isFinal = one === last;
  return html`
    <div
      class="card error-panel ${isFinal ? "t-bad" : "t-warn"}"><div class="card-head"><h2>${isFinal
        ? "The error"
        : "The last error"}</h2><p class="quiet">attempt ${one.attempt} of <code>${one
        .stepName}</code>, ${ago(one.finishedAt ?? one.createdAt, now)}</p></div>${errorBody(
          error,
          values.text,
        )}</div>
  `;
}

/** An error with its stack, cause by cause. */
export function errorBody(error: StoredError, show: (text: string) => string): Html {
  const links = (error.stack ?? "").split(/\n(?=Caused by: )/).filter((part) => part.trim() !== "");
  const causes = links.slice(1).map((part) => {
    const text = show(part.replace(/^Caused by: /, ""));
    const frames = text.search(/\n\s+at /);
    const said = frames < 0 ? text : text.slice(0, frames);
    return html`<li><p class="error-line"><span class="quiet">caused by</span> ${said.trim()}</p>${
      frames < 0 ? null : stackBlock(text.slice(frames + 1))
    }</li>`;
  });
  const stack = show(links[0] ?? "");
  const frames = stack.search(/(^|\n)\s+at /);
  return html`<p class="error-line"><b>${error.errorClass}</b>: ${show(error.message)}</p>${
    frames < 0 ? null : stackBlock(stack.slice(frames).replace(/^\n/, ""))
  }${causes.length === 0 ? null : html`<ol class="causes">${causes}</ol>`}`;
}

function stackBlock(frames: string): Html {
  return html`
    <details class="stack" open>
      <summary>Stack</summary>
      <pre tabindex="0">${frames}</pre>
    </details>
  `;
}

/** The definition's steps, with where the workflow stands. */
export function stepsPanel(dossier: Dossier, desk: Desk): Html {
  const { definition, workflow, executions, hidden } = dossier;
  if (definition === null) {
    return html`
      <div class="card">
        <h2>Steps</h2>
        <p class="quiet">${desk.core.definitions.size === 0
          ? "This dashboard runs without the application's definitions, so it cannot list the steps."
          : html`This engine was not given a definition named <b>${workflow.name}</b>.`}</p>
      </div>
    `;
  }
  const { allSteps } = definition;
  const pointed = workflow.currentStepName ?? workflow.nextStepName;
  const here = workflow.state === "finished"
    ? allSteps.length
    : allSteps.findIndex((step) => step.name === pointed);
  const ends = new Map(executions.map((one) => [one.stepName, one]));
  const items = allSteps.map((step, place) => {
    const last = ends.get(step.name);
    const isHere = place === here;
    const kind = isHere
      ? "here"
      : last?.state === "skipped"
      ? "skipped"
      : last !== undefined && place < here
      ? "done"
      : place < here && hidden === 0
      ? "passed"
      : place < here
      ? "done"
      : "ahead";
    return html`<li class="step-${kind}" ${isHere ? html`aria-current="step"` : null}><span
      class="step-mark" aria-hidden="true">${
      STEP_MARKS[kind]
    }</span><span class="step-name"><code>${step.name}</code>${
      stepNotes(step)
    }</span><span class="sr">${STEP_WORDS[kind]}</span></li>`;
  });
  const lost = pointed !== null && here < 0
    ? html`<p class="alert bad"><b>It stands at <code>${pointed}</code></b>, which the code does not
        have.</p>`
    : null;
  return html`<div class="card"><h2>Steps</h2>${lost}<ol class="steps">${items}</ol></div>`;
}

const STEP_MARKS = { here: "▸", skipped: "»", done: "✓", passed: "·", ahead: "" } as const;
const STEP_WORDS = {
  here: "the workflow stands here",
  skipped: "skipped",
  done: "done",
  passed: "never run",
  ahead: "yet to come",
} as const;

function stepNotes(step: StepDefinition): Html {
  const notes = [
    step.removed ? "removed" : "",
    typeof step.wait === "number" && step.wait > 0 ? `after ${duration(step.wait)}` : "",
    typeof step.wait === "function" ? "after a computed wait" : "",
    step.waitFor === null ? "" : `waits for “${step.waitFor}”`,
    step.resumable ? "resumable" : "",
    step.transaction ? "transactional" : "",
    step.skipIf === null ? "" : "conditional",
  ].filter((note) => note !== "");
  return html`${
    notes.map((note) =>
      html`
        <span class="tag">${note}</span>
      `
    )
  }`;
}

/** Input, metadata and cursor. */
export function valuesPanel({ workflow, executions }: Dossier, { values }: Desk): Html {
  const last = executions.at(-1);
  const parts: readonly (readonly [string, string | null, string])[] = [
    ["Input", workflow.input, "input"],
    ["Metadata", workflow.metadata, "metadata"],
    ["Cursor", last?.cursor ?? null, "cursor_value"],
  ];
  const shown = parts.filter(([, text]) => text !== null);
  return html`<div class="card"><h2>Data</h2>${
    shown.length === 0
      ? html`<p class="quiet">It was started without input and metadata.</p>`
      : shown.map(([name, text, column]) =>
        html`<h3>${name}</h3>${valueBlock(values.column(column, text))}`
      )
  }</div>`;
}

/** The signals it was sent. */
export function signalsPanel({ signals, now }: Dossier, { values }: Desk): Html {
  if (signals.length === 0) return nothing;
  const items = signals.map((one) =>
    html`
      <li
        data-key="${one.id}"><p><code>${one.name}</code> <span class="quiet">${ago(
          one.sentAt,
          now,
        )}</span> ${one.consumedById === null
          ? html`<span class="chip c-ready">kept</span>`
          : html`<span class="chip c-finished">received</span>`}${one.idempotencyKey === null
          ? null
          : html`
            <span class="quiet">key ${one.idempotencyKey}</span>
          `}</p>${one.payload === null
          ? null
          : valueBlock(values.column("payload", one.payload))}</li>
    `
  );
  return html`
    <div class="card">
      <h2>Signals</h2>
      <ul class="signals">${items}</ul>
    </div>
  `;
}

/** The columns of an execution that say where and when. */
export function whenOf(one: ExecutionRow, now: Date): string {
  if (one.startedAt === null) return "–";
  const untilMs = one.finishedAt?.getTime() ?? now.getTime();
  return duration(Math.max(0, untilMs - one.startedAt.getTime()));
}
