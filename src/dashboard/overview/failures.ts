/**
 * What has paused workflows, grouped by its reason.
 *
 * @module
 */

import type { FailureGroup } from "../../run/failures.ts";
import { type Html, html } from "../html.ts";
import { workflowHref } from "../routes.ts";
import { ago } from "../times.ts";
import type { Frame } from "../view.ts";
import { count, counted, firstLine } from "../words.ts";
import type { Overview } from "./read.ts";

const MAX_GROUPS = 8;
const MAX_MESSAGE = 220;

/** The groups, the largest first; `show` masks what is not to be read. */
export function failures(data: Overview, frame: Frame, show: (text: string) => string): Html {
  const { groups, looked, complete } = data.failures;
  if (groups.length === 0) return allIsWell(data);
  const rest = groups.length - MAX_GROUPS;
  const items = groups.slice(0, MAX_GROUPS).map((one) => group(one, { data, frame, show }));
  return html`
    <div class="card">
      <div class="card-head">
        <h2>What has paused workflows</h2>
        <p class="quiet">
          ${counted(groups.length, "reason")}, ${counted(looked, "workflow")}${!complete &&
            " (the newest)"}
        </p>
      </div>
      <ul class="groups">${items}</ul>
      ${rest > 0 && html`<p class="quiet">and ${counted(rest, "rarer reason")}</p>`}
    </div>
  `;
}

function allIsWell({ totals: { paused } }: Overview): Html {
  const others = paused === 0
    ? "No workflow is paused."
    : `${counted(paused, "workflow")} ${paused === 1 ? "is" : "are"} paused, none by an error.`;
  return html`
    <div class="card calm-line">
      <span class="ok-mark" aria-hidden="true">✓</span>
      <p><b>Nothing is failing.</b> ${others}</p>
    </div>
  `;
}

function group(
  one: FailureGroup,
  { data: { now }, frame: { root }, show }: {
    readonly data: Overview;
    readonly frame: Frame;
    readonly show: (text: string) => string;
  },
): Html {
  const places = one.places.slice(0, 3).map(({ workflow, step }) => `${workflow} › ${step}`);
  const [example] = one.examples;
  return html`
    <li data-key="${one.fingerprint}">
      <a class="group-count" href="${root}workflows?fingerprint=${one.fingerprint}">
        <b>${count(one.count)}</b><span>paused</span>
      </a>
      <div class="group-text">
        <p class="group-error"><b>${one.errorClass}</b> ${firstLine(
          show(one.message),
          MAX_MESSAGE,
        )}</p>
        <p class="quiet">
          ${places.join(", ")}${one.frame !== null && html`
            · <code>${one.frame}</code>
          `}
        </p>
      </div>
      <p class="group-when quiet">
        <span>last ${ago(one.lastSeenAt, now)}</span>
        <span>first ${ago(one.firstSeenAt, now)}</span>
      </p>
      ${example !== undefined && html`
        <a class="group-example" href="${workflowHref(root, example.workflowId)}">Example</a>
      `}
    </li>
  `;
}
