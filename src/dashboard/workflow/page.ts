/**
 * The page of one workflow: what is the matter with it, how it got there, and what can be done.
 *
 * @module
 */

import type { ExecutionRow } from "../../state/records.ts";
import { type Html, html, nothing } from "../html.ts";
import { region } from "../layout.ts";
import { rowJson } from "../list/page.ts";
import { stateChip } from "../parts.ts";
import { ago } from "../times.ts";
import type { Json, ValueReader } from "../values.ts";
import type { Desk, Frame, View } from "../view.ts";
import { duration } from "../words.ts";
import { type ActionName, actionsPanel, type Draft } from "./actions.ts";
import { errorPanel } from "./error.ts";
import { errorOf, headlineOf } from "./headline.ts";
import { historyPanel } from "./history.ts";
import { progressPanel, signalsPanel, stepsPanel, valuesPanel } from "./panels.ts";
import { type Dossier, readDossier } from "./read.ts";
import { timeline } from "./timeline.ts";

/** What a workflow's page is shown with. */
export interface WorkflowPageOptions {
  /** Show the whole table of executions. */
  readonly isWhole: boolean;
  /** Draw long waits shorter than they were. */
  readonly isShort: boolean;
  /** What was just done; null: nothing. */
  readonly done: ActionName | null;
  /** Why something that was asked for was not done; null: nothing was refused. */
  readonly refusal: string | null;
  /** What was typed for a signal that was refused. */
  readonly draft: Draft | null;
}

/** The view of one workflow. */
export function workflowView(desk: Desk, id: string, options: WorkflowPageOptions): View<Dossier> {
  return {
    read: ({ before }) => readDossier(desk, id, before),
    regions: (data, frame) => ({
      identity: identity(data),
      headline: headline(data, desk),
      gate: gate(data),
      progress: progressPanel(data, desk),
      timeline: timeline(data, options.isShort),
      problem: errorPanel(data, desk),
      history: historyPanel(data, desk, options.isWhole),
      actions: actions(data, desk, { frame, draft: options.draft }),
      steps: stepsPanel(data, desk),
      values: valuesPanel(data, desk),
      signals: signalsPanel(data, desk),
    }),
    page: ({ workflow }, regions, { root }) => ({
      title: `${workflow.name} ${workflow.id}`,
      body: html`
        <p class="crumbs">
          <a href="${root}workflows">Workflows</a> /
          <a href="${root}workflows?workflow=${encodeURIComponent(workflow.name)}">${workflow
            .name}</a>
        </p>
        ${notices(options)}
        ${region("identity", regions)}
        ${region("headline", regions)}
        ${region("gate", regions)}
        <div class="columns">
          <div class="wide">
            ${region("progress", regions, "Progress")}
            ${region("timeline", regions, "Timeline")}
            ${region("problem", regions, "Error")}
            ${region("history", regions, "Executions")}
          </div>
          <div class="narrow">
            ${region("actions", regions, "Actions")}
            ${region("steps", regions, "Steps")}
            ${region("values", regions, "Data")}
            ${region("signals", regions, "Signals")}
          </div>
        </div>
      `,
    }),
    json: (data) => dossierJson(data, desk),
  };
}

const DONE: Readonly<Record<ActionName, string>> = {
  pause: "Paused.",
  resume: "Resumed: it goes on.",
  resumeAt: "Resumed at the chosen step.",
  skip: "Skipped: it goes on with the step after it.",
  cancel: "Canceled for good.",
  signal: "The signal was sent.",
};

function notices({ done, refusal }: WorkflowPageOptions): Html {
  if (refusal !== null) {
    return html`<p class="alert bad" role="alert"><b>Not done.</b> ${refusal}</p>`;
  }
  return done === null ? nothing : html`<p class="alert good" role="status">${DONE[done]}</p>`;
}

function identity({ workflow, now }: Dossier): Html {
  const { heroType, heroId, createdAt, transitionedAt, state } = workflow;
  const isOver = state === "finished" || state === "canceled";
  const untilMs = (isOver && transitionedAt !== null ? transitionedAt : now).getTime();
  return html`
    <div class="identity">
      <h1>${workflow.name} <span class="id">${workflow.id}</span></h1>
      ${stateChip(state)}
      <p class="facts">
        ${heroType !== null && html`<span>${heroType} <b>${heroId}</b></span>`}
        <span>created ${ago(createdAt, now)}</span>
        ${isOver && html`<span>took ${duration(untilMs - createdAt.getTime())}</span>`}
        ${workflow.allowMultiple && html`<span>may run beside others of its hero</span>`}
      </p>
    </div>
  `;
}

function headline(data: Dossier, { values }: Desk): Html {
  const { tone, text } = headlineOf(data, values.text);
  return html`<p class="headline t-${tone}" aria-live="polite">${text}</p>`;
}

function gate({ findings }: Dossier): Html {
  const found = findings.map(({ message, advice, blocks }) =>
    html`<p class="alert ${blocks ? "bad" : "warn"}"><b>Deploy gate:</b> ${message}. ${advice}</p>`
  );
  return html`${found}`;
}

function actions(
  data: Dossier,
  { settings }: Desk,
  { frame: { token }, draft }: { readonly frame: Frame; readonly draft: Draft | null },
): Html {
  if (token !== null) return actionsPanel(data, token, draft);
  if (settings.actions) return nothing;
  return html`
    <p class="quiet read-only">
      This dashboard only looks. To act, make it with <code>actions: true</code>, or start it with
      <code>--actions</code>.
    </p>
  `;
}

function dossierJson(data: Dossier, { values }: Desk): Json {
  const { workflow, executions, signals, hidden, findings, now } = data;
  return {
    at: now.toISOString(),
    workflow: {
      ...rowJson(workflow),
      input: values.column("input", workflow.input),
      metadata: values.column("metadata", workflow.metadata),
    },
    hidden,
    executions: executions.map((one) => executionJson(one, values)),
    signals: signals.map((one) => ({
      id: one.id,
      name: one.name,
      payload: values.column("payload", one.payload),
      idempotencyKey: one.idempotencyKey,
      sentAt: one.sentAt.toISOString(),
      consumedById: one.consumedById,
    })),
    deployFindings: findings.map((one) => ({ ...one })),
  };
}

function executionJson(one: ExecutionRow, { column, text: show }: ValueReader): Json {
  const error = errorOf(one);
  return {
    id: one.id,
    seq: one.seq,
    stepName: one.stepName,
    state: one.state,
    outcome: one.outcome,
    cause: one.cause,
    attempt: one.attempt,
    continuesFromId: one.continuesFromId,
    cursor: column("cursor_value", one.cursor),
    progress: one.progress === null ? null : { ...one.progress },
    waitingFor: one.waitingFor,
    scheduledFor: one.scheduledFor.toISOString(),
    startedAt: one.startedAt?.toISOString() ?? null,
    finishedAt: one.finishedAt?.toISOString() ?? null,
    error: error === null ? null : {
      class: error.errorClass,
      message: show(error.message),
      stack: error.stack === null ? null : show(error.stack),
    },
    queue: one.queue,
    worker: one.worker,
  };
}
