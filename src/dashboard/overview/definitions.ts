/**
 * The definitions with their workflows by state, and the workers.
 *
 * @module
 */

import type { WorkflowState } from "../../define/records.ts";
import { type Html, html, nothing } from "../html.ts";
import { at } from "../times.ts";
import type { Frame } from "../view.ts";
import { count, counted, STATE_MEANINGS, STATES } from "../words.ts";
import { percent } from "./chart.ts";
import type { DefinitionCounts, Overview } from "./read.ts";

/** One line per definition. */
export function definitions(data: Overview, frame: Frame): Html {
  const total = Object.values(data.totals).reduce((sum, one) => sum + one, 0);
  if (total === 0 && data.definitions.length === 0) return welcome();
  const heads = STATES.map((state) => {
    const meaning = `A ${state} workflow ${STATE_MEANINGS[state]}`;
    return html`<th scope="col" class="num" title="${meaning}">${state}</th>`;
  });
  return html`
    <div class="card">
      <div class="card-head">
        <h2>Workflows by definition</h2>
        <p class="quiet">${counted(total, "workflow")} stored</p>
      </div>
      <div class="scroll">
        <table class="definitions">
          <thead>
            <tr>
              <th scope="col">definition</th>
              <th scope="col" class="bar-head">states</th>
              ${heads}
            </tr>
          </thead>
          <tbody>${data.definitions.map((one) => definition(one, frame))}</tbody>
        </table>
      </div>
    </div>
  `;
}

function welcome(): Html {
  return html`
    <div class="card empty-state">
      <h2>Nothing has been started yet</h2>
      <p>
        As soon as <code>engine.start(definition, { hero })</code> has put a workflow into this
        database, it appears here by itself. Definitions that the engine was given are listed even
        before.
      </p>
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
  const cells = STATES.map((state) => {
    const number = counts[state] === 0
      ? html`<span class="zero">0</span>`
      : html`<a href="${href(state)}" class="n-${state}">${count(counts[state])}</a>`;
    return html`<td class="num">${number}</td>`;
  });
  const tag =
    html`<span class="tag" title="This engine was not given the definition">unknown</span>`;
  return html`
    <tr data-key="${name}">
      <th scope="row"><a href="${href()}">${name}</a> ${!known && tag}</th>
      <td class="bar-cell">${stateBar(counts)}</td>
      ${cells}
    </tr>
  `;
}

/** In percent: what there is little of is drawn wide enough to be seen. */
const LEAST = 2.5;

/** The states of a definition as one bar. */
export function stateBar(counts: Readonly<Record<WorkflowState, number>>): Html {
  const present = STATES.filter((state) => counts[state] > 0);
  const total = present.reduce((sum, state) => sum + counts[state], 0);
  const widths = present.map((state) => Math.max(LEAST, counts[state] / total * 100));
  const scale = 100 / widths.reduce((sum, one) => sum + one, 0);
  let x = 0;
  const parts = present.map((state, place) => {
    const width = (widths[place] as number) * scale;
    const tip = `${count(counts[state])} ${state}`;
    const rect = html`
      <rect class="s-${state}" x="${percent(x)}" width="${percent(width)}" height="10"
        data-tip="${tip}" />
    `;
    x += width;
    return rect;
  });
  const spoken = present.map((state) => `${count(counts[state])} ${state}`).join(", ") || "none";
  return html`
    <svg class="state-bar" width="100%" height="10" role="img" aria-label="${spoken}">
      ${total === 0 ? html`<rect class="empty" width="100%" height="10" />` : parts}
    </svg>
  `;
}

/** The workers that hold steps. */
export function workers({ workers: all, now }: Overview): Html {
  if (all.length === 0) return nothing;
  const rows = all.map(({ worker, running, leaseUntil }) => {
    const sign = leaseUntil >= now
      ? html`<span class="chip c-finished">alive</span>`
      : html`<span class="chip c-paused">silent since ${at(leaseUntil)}</span>`;
    return html`
      <tr data-key="${worker}">
        <th scope="row"><code>${worker}</code></th>
        <td class="num">${count(running)}</td>
        <td>${sign}</td>
      </tr>
    `;
  });
  return html`
    <div class="card">
      <div class="card-head">
        <h2>Workers at work</h2>
        <p class="quiet">Those that hold a step; an idle worker leaves no trace in the database.</p>
      </div>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">worker</th>
              <th scope="col" class="num">steps in hand</th>
              <th scope="col">sign of life</th>
            </tr>
          </thead>
          <tbody>${rows}</tbody>
        </table>
      </div>
    </div>
  `;
}
