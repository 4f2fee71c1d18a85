/**
 * The panels beside a workflow's history: progress, steps, values, signals.
 *
 * @module
 */

import type { StepDefinition } from "../../define/definition.ts";
import { progressEstimate } from "../../observe/progress.ts";
import { executionRecord } from "../../run/view.ts";
import { type Html, html, nothing } from "../html.ts";
import { valueBlock } from "../parts.ts";
import { ago, at } from "../times.ts";
import type { Desk } from "../view.ts";
import { coarse, count, duration } from "../words.ts";
import type { Dossier } from "./read.ts";

/** How far a resumable step is, how fast, and until when. */
export function progressPanel({ executions, now }: Dossier, { core, values }: Desk): Html {
  const records = executions.map((row) => executionRecord(row, core.codec));
  const estimate = progressEstimate(records, now);
  const last = executions.at(-1);
  if (estimate === null || last === undefined) return nothing;
  const { done, total, message, ratePerSecond, estimatedEndAt } = estimate;
  const share = total === null || total <= 0 ? null : Math.min(1, done / total);
  const leftMs = last.finishedAt === null && estimatedEndAt !== null
    ? estimatedEndAt.getTime() - now.getTime()
    : null;
  const scale = share === null ? null : html`value="${Math.round(share * 1_000)}" max="1000"`;
  return html`
    <div class="card progress">
      <div class="card-head">
        <h2>Progress of <code>${last.stepName}</code></h2>
        <p class="percent">${share === null ? null : `${Math.floor(share * 100)} %`}</p>
      </div>
      <progress aria-label="Progress of ${last.stepName}" ${scale}></progress>
      <p class="facts">
        <span>${total === null ? `${count(done)} done` : `${count(done)} of ${count(total)}`}</span>
        ${ratePerSecond !== null && html`<span>${rateText(ratePerSecond)}</span>`}
        ${leftMs !== null && html`
          <span>about ${coarse(leftMs)} left, until ${at(estimatedEndAt as Date)}</span>
        `}
        ${message !== null && html`<span>${values.text(message)}</span>`}
      </p>
    </div>
  `;
}

function rateText(perSecond: number): string {
  if (perSecond >= 10) return `${count(perSecond)} per second`;
  if (perSecond >= 0.1) return `${perSecond.toFixed(1)} per second`;
  return `${(perSecond * 60).toFixed(1)} per minute`;
}

/** The definition's steps, with where the workflow stands. */
export function stepsPanel(dossier: Dossier, desk: Desk): Html {
  const { definition, workflow } = dossier;
  if (definition === null) {
    const why = desk.core.definitions.size === 0
      ? "This dashboard runs without the application's definitions, so it cannot list the steps."
      : `This engine was not given a definition named "${workflow.name}".`;
    return html`
      <div class="card">
        <h2>Steps</h2>
        <p class="quiet">${why}</p>
      </div>
    `;
  }
  const { allSteps } = definition;
  const pointed = workflow.currentStepName ?? workflow.nextStepName;
  const here = workflow.state === "finished"
    ? allSteps.length
    : allSteps.findIndex((step) => step.name === pointed);
  const items = allSteps.map((step, place) =>
    stepItem(step, placeKind(step, place - here, dossier))
  );
  return html`
    <div class="card">
      <h2>Steps</h2>
      ${here < 0 && html`
        <p class="alert bad">
          <b>It stands at <code>${pointed}</code></b>, which the code does not have.
        </p>
      `}
      <ol class="steps">${items}</ol>
    </div>
  `;
}

type PlaceKind = "here" | "skipped" | "done" | "passed" | "ahead";

/** How a step stands; `distance` is how many steps it is behind (below 0) or ahead. */
function placeKind(
  { name }: StepDefinition,
  distance: number,
  { executions, hidden }: Dossier,
): PlaceKind {
  if (distance === 0) return "here";
  if (distance > 0) return "ahead";
  const last = executions.findLast((one) => one.stepName === name);
  if (last?.state === "skipped") return "skipped";
  return last === undefined && hidden === 0 ? "passed" : "done";
}

const STEP_MARKS: Readonly<Record<PlaceKind, string>> = {
  here: "▸",
  skipped: "»",
  done: "✓",
  passed: "·",
  ahead: "",
};

const STEP_WORDS: Readonly<Record<PlaceKind, string>> = {
  here: "the workflow stands here",
  skipped: "skipped",
  done: "done",
  passed: "never run",
  ahead: "yet to come",
};

function stepItem(step: StepDefinition, kind: PlaceKind): Html {
  const current = kind === "here" && html`aria-current="step"`;
  const notes = notesOf(step).map((note) =>
    html`
      <span class="tag">${note}</span>
    `
  );
  return html`
    <li class="step-${kind}" ${current}>
      <span class="step-mark" aria-hidden="true">${STEP_MARKS[kind]}</span>
      <span class="step-name"><code>${step.name}</code>${notes}</span>
      <span class="sr">${STEP_WORDS[kind]}</span>
    </li>
  `;
}

function notesOf(step: StepDefinition): string[] {
  const notes = [
    step.removed ? "removed" : "",
    typeof step.wait === "number" && step.wait > 0 ? `after ${duration(step.wait)}` : "",
    typeof step.wait === "function" ? "after a computed wait" : "",
    step.waitFor === null ? "" : `waits for “${step.waitFor}”`,
    step.resumable ? "resumable" : "",
    step.transaction ? "transactional" : "",
    step.skipIf === null ? "" : "conditional",
  ];
  return notes.filter((note) => note !== "");
}

/** Input, metadata and cursor. */
export function valuesPanel({ workflow, executions }: Dossier, { values }: Desk): Html {
  const parts: readonly (readonly [name: string, text: string | null, column: string])[] = [
    ["Input", workflow.input, "input"],
    ["Metadata", workflow.metadata, "metadata"],
    ["Cursor", executions.at(-1)?.cursor ?? null, "cursor_value"],
  ];
  const blocks = parts.filter(([, text]) => text !== null).map(([name, text, column]) =>
    html`<h3>${name}</h3>${valueBlock(values.column(column, text))}`
  );
  const nothingThere = html`<p class="quiet">It was started without input and metadata.</p>`;
  return html`
    <div class="card">
      <h2>Data</h2>
      ${blocks.length === 0 ? nothingThere : blocks}
    </div>
  `;
}

/** The signals it was sent. */
export function signalsPanel({ signals, now }: Dossier, { values }: Desk): Html {
  if (signals.length === 0) return nothing;
  const items = signals.map(({ id, name, payload, idempotencyKey, sentAt, consumedById }) => {
    const fate = consumedById === null
      ? html`<span class="chip c-ready">kept</span>`
      : html`<span class="chip c-finished">received</span>`;
    return html`
      <li data-key="${id}">
        <p>
          <code>${name}</code> ${fate} <span class="quiet">${ago(sentAt, now)}</span>
          ${idempotencyKey !== null && html`<span class="quiet">key ${idempotencyKey}</span>`}
        </p>
        ${payload !== null && valueBlock(values.column("payload", payload))}
      </li>
    `;
  });
  return html`
    <div class="card">
      <h2>Signals</h2>
      <ul class="signals">${items}</ul>
    </div>
  `;
}
