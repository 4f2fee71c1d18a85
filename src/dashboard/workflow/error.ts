/**
 * An error on a workflow's page: class, message, stack, cause by cause.
 *
 * @module
 */

import type { StoredError } from "../../state/records.ts";
import { type Html, html, nothing } from "../html.ts";
import { ago } from "../times.ts";
import type { Desk } from "../view.ts";
import { errorOf } from "./headline.ts";
import type { Dossier } from "./read.ts";

/** The newest error of the step at which the workflow stands or ended. */
export function errorPanel({ executions, now, workflow }: Dossier, { values }: Desk): Html {
  const last = executions.at(-1);
  if (last === undefined || workflow.state === "finished") return nothing;
  const own = executions.filter((one) => one.stepName === last.stepName).toReversed();
  const one = own.find((candidate) => errorOf(candidate) !== null);
  const error = one === undefined ? null : errorOf(one);
  if (one === undefined || error === null) return nothing;
  const isFinal = one === last;
  return html`
    <div class="card error-panel ${isFinal ? "t-bad" : "t-warn"}">
      <div class="card-head">
        <h2>${isFinal ? "The error" : "The last error"}</h2>
        <p class="quiet">
          attempt ${one.attempt} of <code>${one.stepName}</code>,
          ${ago(one.finishedAt ?? one.createdAt, now)}
        </p>
      </div>
      ${errorBody(error, values.text)}
    </div>
  `;
}

/** An error with its stack and its causes; `show` masks what is not to be read. */
export function errorBody(error: StoredError, show: (text: string) => string): Html {
  const [own = "", ...causes] = (error.stack ?? "").split(/\n(?=Caused by: )/);
  const links = causes.map((text) => {
    const { said, frames } = partsOf(show(text.replace(/^Caused by: /, "")));
    return html`
      <li>
        <p class="error-line"><span class="quiet">caused by</span> ${said}</p>
        ${stackBlock(frames)}
      </li>
    `;
  });
  return html`
    <p class="error-line"><b>${error.errorClass}</b>: ${show(error.message)}</p>
    ${stackBlock(partsOf(show(own)).frames)}
    ${links.length > 0 && html`<ol class="causes">${links}</ol>`}
  `;
}

/** What was said, and where: the frames begin at the first line that looks like one. */
function partsOf(text: string): { said: string; frames: string } {
  const lines = text.split("\n");
  const at = lines.findIndex((line) => /^\s+at |^\S*@\S+:\d+/.test(line));
  return at < 0
    ? { said: text.trim(), frames: "" }
    : { said: lines.slice(0, at).join("\n").trim(), frames: lines.slice(at).join("\n") };
}

function stackBlock(frames: string): Html {
  if (frames === "") return nothing;
  const plain = frames.split("\n").map((line) => line.trim()).join("\n");
  return html`
    <details class="stack" open>
      <summary>Stack</summary>
      <pre tabindex="0">${plain}</pre>
    </details>
  `;
}
