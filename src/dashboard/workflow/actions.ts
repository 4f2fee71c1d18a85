/**
 * What can be done with one workflow: each action says what it will do, and one that the state
 * forbids says why.
 *
 * @module
 */

import { nextOf, stepNamed } from "../../define/definition.ts";
import { COMMAND_STATES } from "../../state/command.ts";
import { isOngoing } from "../../state/records.ts";
import { type Content, type Html, html } from "../html.ts";
import { tokenField } from "../parts.ts";
import type { Dossier } from "./read.ts";

/** The names of what can be done. */
export const ACTIONS = ["pause", "resume", "resumeAt", "skip", "cancel", "signal"] as const;
/** The name of something that can be done. */
export type ActionName = typeof ACTIONS[number];

/** What an action would do now. */
export type Offer =
  | { readonly kind: "possible"; readonly effect: Content }
  | { readonly kind: "forbidden"; readonly why: string };

/** What an action would do to a workflow as it stands, or why it cannot. */
export function offerOf(action: ActionName, dossier: Dossier): Offer {
  const { workflow: { state, nextStepName }, active, definition } = dossier;
  const forbidden = (why: string): Offer => ({ kind: "forbidden", why });
  if (!isOngoing(state)) return forbidden(`It is ${state}: that is for good.`);
  switch (action) {
    case "pause": {
      if (!COMMAND_STATES.pause.includes(state)) return forbidden("It is paused already.");
      const running = active?.state === "in_progress"
        ? html`The body of <code>${active.stepName}</code> runs now and is asked to stop.`
        : "What is scheduled keeps its time.";
      return possible(html`It stops before its next step. ${running}`);
    }
    case "cancel": {
      const running = active?.state === "in_progress" && "; the body that runs is asked to stop";
      return possible(
        html`It ends for good, and nothing of it runs any more${running}. This cannot be
        taken back.`,
      );
    }
    case "signal":
      if (active === null || active.waitingFor === null) {
        return possible("The signal is kept until a step waits for it.");
      }
      return possible(
        html`It waits for <code>${active.waitingFor}</code> and goes on as soon as that
        comes. Any other signal is kept until a step waits for it.`,
      );
    case "resume":
      if (state !== "paused") return forbidden("Only a paused workflow can be resumed.");
      if (nextStepName !== null && definition === null) return forbidden(UNKNOWN);
      return resumeOffer(dossier);
    case "resumeAt":
      if (state !== "paused") return forbidden("Only a paused workflow can be placed elsewhere.");
      if (active?.state === "in_progress") return forbidden(RUNNING);
      if (definition === null) return forbidden(UNKNOWN);
      return possible("What was scheduled is canceled, and it goes on at the chosen step at once.");
    case "skip":
      if (!COMMAND_STATES.skip.includes(state) || active?.state === "in_progress") {
        return forbidden(RUNNING);
      }
      return skipOffer(dossier);
  }
}

const UNKNOWN = "This engine does not have its definition, from which the next step is planned.";
const RUNNING = "Its step runs right now: wait for its end, or pause it first.";

function possible(effect: Content): Offer {
  return { kind: "possible", effect };
}

function resumeOffer({ workflow: { nextStepName }, active, definition, now }: Dossier): Offer {
  if (nextStepName === null) return possible("It has no step left, and is finished.");
  const step = definition === null ? null : stepNamed(definition, nextStepName);
  if (step === null) {
    return {
      kind: "forbidden",
      why: `The code does not have its step "${nextStepName}": resume it at another one.`,
    };
  }
  if (active?.state === "in_progress") return possible("The body that still runs may go on.");
  const isLater = active !== null && active.scheduledFor > now;
  const when = isLater ? ", at the time that this step has kept" : " at once";
  const from = step.resumable && ", from its cursor";
  return possible(html`It goes on with <code>${nextStepName}</code>${when}${from}.`);
}

function skipOffer({ workflow: { nextStepName }, definition }: Dossier): Offer {
  if (definition === null) return { kind: "forbidden", why: UNKNOWN };
  if (nextStepName === null) return { kind: "forbidden", why: "It has no step left." };
  if (stepNamed(definition, nextStepName) === null) {
    return { kind: "forbidden", why: `The code does not have its step "${nextStepName}".` };
  }
  const next = nextOf(definition, nextStepName);
  const then = next === null ? "is finished" : html`goes on with <code>${next.name}</code>`;
  return possible(html`It leaves <code>${nextStepName}</code> out and ${then}.`);
}

const WORDS: Readonly<Record<ActionName, string>> = {
  pause: "Pause",
  resume: "Resume",
  resumeAt: "Resume at…",
  skip: "Skip step",
  cancel: "Cancel",
  signal: "Send signal",
};

/** What somebody had typed into the form of a signal that was refused. */
export interface Draft {
  /** The signal's name. */
  readonly name: string;
  /** Its payload, as it was typed. */
  readonly payload: string;
  /** Its idempotency key. */
  readonly key: string;
}

/** The panel with all actions. */
export function actionsPanel(dossier: Dossier, token: string, draft: Draft | null): Html {
  const { state } = dossier.workflow;
  if (!isOngoing(state)) {
    return html`<p class="quiet read-only">It is ${state} for good: there is nothing left to do.</p>`;
  }
  const items = ACTIONS.map((name) => {
    const offer = offerOf(name, dossier);
    return offer.kind === "forbidden"
      ? forbiddenAction(name, offer.why)
      : possibleAction(name, offer.effect, { dossier, token, draft });
  });
  return html`
    <div class="card actions">
      <h2>Actions</h2>
      ${items}
    </div>
  `;
}

function forbiddenAction(name: ActionName, why: string): Html {
  return html`
    <div class="action off">
      <span class="button off" aria-disabled="true">${WORDS[name]}</span>
      <p class="quiet">${why}</p>
    </div>
  `;
}

/** What the forms of actions are made with. */
interface FormParts {
  readonly dossier: Dossier;
  readonly token: string;
  readonly draft: Draft | null;
}

function possibleAction(name: ActionName, effect: Content, parts: FormParts): Html {
  const { dossier: { workflow }, token, draft } = parts;
  const isOpen = name === "signal" && draft !== null && html`open`;
  return html`
    <details class="action" ${isOpen}>
      <summary class="button b-${name}">${WORDS[name]}</summary>
      <form method="post" action="${encodeURIComponent(workflow.id)}">
        ${tokenField(token)}
        <input type="hidden" name="action" value="${name}">
        <input type="hidden" name="expected" value="${workflow.nextStepName ?? ""}">
        <p>${effect}</p>
        ${name === "resumeAt" && stepField(parts)}
        ${name === "signal" && signalFields(parts)}
        <button type="submit" class="b-${name}">${CONFIRM[name]}</button>
      </form>
    </details>
  `;
}

const CONFIRM: Readonly<Record<ActionName, string>> = {
  pause: "Pause it",
  resume: "Resume it",
  resumeAt: "Resume it there",
  skip: "Skip the step",
  cancel: "Cancel it for good",
  signal: "Send it",
};

function stepField({ dossier: { definition, workflow } }: FormParts): Html {
  const options = (definition?.steps ?? []).map(({ name }) => {
    const isHere = name === workflow.nextStepName && html`selected`;
    return html`<option ${isHere}>${name}</option>`;
  });
  return html`<label>Step <select name="step" required>${options}</select></label>`;
}

/** The key that is made up is the same until the signal is there: sent twice, it is one signal. */
function signalFields({ dossier, token, draft }: FormParts): Html {
  const { definition, active, signals } = dossier;
  const known = new Set((definition?.steps ?? []).flatMap(({ waitFor }) => waitFor ?? []));
  const options = [...known].map((name) => html`<option value="${name}">`);
  const key = `dashboard-${token.slice(0, 8)}-${signals.length}`;
  return html`
    <label>Name
      <input name="name" list="signal-names" required maxlength="255" spellcheck="false"
        autocomplete="off" value="${draft?.name ?? active?.waitingFor ?? ""}">
    </label>
    <datalist id="signal-names">${options}</datalist>
    <label>Payload, as JSON
      <textarea name="payload" rows="3" spellcheck="false"
        placeholder="{ &quot;by&quot;: &quot;ann&quot; }">${draft?.payload ?? ""}</textarea>
    </label>
    <label>Idempotency key
      <input name="key" maxlength="255" spellcheck="false" autocomplete="off"
        placeholder="made up for you" value="${draft?.key ?? ""}">
    </label>
    <input type="hidden" name="nonce" value="${key}">
  `;
}
