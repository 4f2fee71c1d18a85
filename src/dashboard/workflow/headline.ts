/**
 * What is the matter with a workflow, in one sentence: the first thing that somebody wants to know.
 *
 * @module
 */

import type { ExecutionRow, StoredError } from "../../state/records.ts";
import { exceptionIn } from "../../state/stored_error.ts";
import { type Content, type Html, html } from "../html.ts";
import { ago, at, elapsed } from "../times.ts";
import { firstLine } from "../words.ts";
import { OVERDUE_MS } from "./lanes.ts";
import type { Dossier } from "./read.ts";

/** A sentence, and how serious it is. */
export interface Headline {
  /** Its colour. */
  readonly tone: "performing" | "ready" | "paused" | "finished" | "canceled" | "bad";
  /** The sentence. */
  readonly text: Html;
}

/** Says what is the matter with a workflow. */
export function headlineOf(dossier: Dossier, show: (text: string) => string): Headline {
  const { workflow, active, now } = dossier;
  switch (workflow.state) {
    case "performing":
      return performing(active, now);
    case "ready":
      return ready(active, now);
    case "paused":
      return paused(dossier, show);
    case "finished":
      return {
        tone: "finished",
        text: html`<b>Finished</b> ${ago(workflow.transitionedAt ?? workflow.updatedAt, now)}.`,
      };
    case "canceled":
      return canceled(dossier, show);
  }
}

function performing(active: ExecutionRow | null, now: Date): Headline {
  if (active === null) return { tone: "performing", text: html`<b>Between two steps.</b>` };
  if (active.leaseUntil !== null && active.leaseUntil < now) {
    return {
      tone: "bad",
      text: html`
        <b>The worker went silent</b> while it ran <code>${active.stepName}</code>: its claim ended
        ${ago(active.leaseUntil, now)}. Any living worker takes over by itself; if this stays, no
        worker is running.
      `,
    };
  }
  const since = active.startedAt ?? active.createdAt;
  const attempt = active.attempt > 1 && `, attempt ${active.attempt}`;
  return {
    tone: "performing",
    text: html`
      <b>Runs <code>${active.stepName}</code></b> for ${elapsed(
        since,
        now,
      )}${attempt}, on the worker
      <code>${active.worker}</code>.
    `,
  };
}

function ready(active: ExecutionRow | null, now: Date): Headline {
  if (active === null) {
    return {
      tone: "bad",
      text: html`
        <b>Ready, but nothing is scheduled.</b> Pause and resume it to schedule its step again.
      `,
    };
  }
  const { stepName, waitingFor, waitUntil, scheduledFor, queue, attempt } = active;
  if (waitingFor !== null) {
    const limit = waitUntil === null
      ? ", for as long as it takes."
      : html`; it gives up ${ago(waitUntil, now)}.`;
    return {
      tone: "ready",
      text: html`
        <b>Waits for the signal <code>${waitingFor}</code></b> in <code>${stepName}</code>${limit}
      `,
    };
  }
  if (now.getTime() - scheduledFor.getTime() >= OVERDUE_MS) {
    return {
      tone: "bad",
      text: html`
        <b>Overdue:</b> <code>${stepName}</code> was due ${ago(
          scheduledFor,
          now,
        )}, and no worker has
        taken it from the queue <code>${queue}</code>. Is one running that serves it?
      `,
    };
  }
  return {
    tone: "ready",
    text: html`
      <b>Next is <code>${stepName}</code></b>, due ${ago(scheduledFor, now)}
      (${at(scheduledFor)})${attempt > 1 && `, attempt ${attempt}`}.
    `,
  };
}

function paused(dossier: Dossier, show: (text: string) => string): Headline {
  const { workflow, active, executions, now } = dossier;
  const since = ago(workflow.transitionedAt ?? workflow.updatedAt, now);
  const last = executions.at(-1);
  if (active?.state === "in_progress") {
    return {
      tone: "paused",
      text: html`
        <b>Paused</b> ${since}, while <code>${active
          .stepName}</code> still runs: it was asked to stop.
      `,
    };
  }
  if (active !== null) {
    return {
      tone: "paused",
      text: html`
        <b>Paused from outside</b> ${since}. <code>${active.stepName}</code> keeps its due time,
        ${at(active.scheduledFor)}.
      `,
    };
  }
  if (last?.state === "failed") {
    return {
      tone: "bad",
      text: html`
        <b>Paused by an error</b> in <code>${last.stepName}</code> ${since}${saidBy(last, show)}
      `,
    };
  }
  return {
    tone: "paused",
    text: last?.cause === "flow_control"
      ? html`<b>Paused by its own step</b> <code>${last.stepName}</code> ${since}.`
      : html`<b>Paused</b> ${since}, before <code>${workflow.nextStepName ?? "its end"}</code>.`,
  };
}

function canceled(dossier: Dossier, show: (text: string) => string): Headline {
  const { workflow, executions, now } = dossier;
  const last = executions.at(-1);
  const since = ago(workflow.transitionedAt ?? workflow.updatedAt, now);
  if (last === undefined) return { tone: "canceled", text: html`<b>Canceled</b> ${since}.` };
  return {
    tone: "canceled",
    text: html`
      <b>Canceled</b> ${since}${REASONS[last.cause ?? ""]}, at <code>${last
        .stepName}</code>${saidBy(last, show)}
    `,
  };
}

/** The error of an execution as the end of a sentence. */
function saidBy(one: ExecutionRow, show: (text: string) => string): Content {
  const error = errorOf(one);
  return error === null ? "." : `: ${error.errorClass}: ${firstLine(show(error.message), 200)}`;
}

const REASONS: Readonly<Record<string, string>> = {
  condition: " because a condition said so",
  flow_control: " by its own step",
  exception: " by an error",
  operator: " from outside",
  recovery: " because its worker was lost",
};

/** The error of an execution: in its columns, or (of one that was tried again) in its metadata. */
export function errorOf(one: ExecutionRow): StoredError | null {
  if (one.errorClass === null) return exceptionIn(one.metadata);
  return { errorClass: one.errorClass, message: one.errorMessage ?? "", stack: one.errorStack };
}
