/**
 * The list of workflows: filters, a page of rows, and what can be done with all that match.
 *
 * @module
 */

import type { WorkflowRow, WorkflowState } from "../../state/records.ts";
import { type Html, html, nothing } from "../html.ts";
import { region } from "../layout.ts";
import { stateChip } from "../parts.ts";
import { workflowHref } from "../routes.ts";
import { ago } from "../times.ts";
import type { Json } from "../values.ts";
import type { Desk, Frame, View } from "../view.ts";
import { counted, firstLine, STATES } from "../words.ts";
import { BULK_ACTIONS } from "./bulk_actions.ts";
import { AGES, described, isNarrow, type ListQuery, paramsOf } from "./query.ts";
import { type List, readList } from "./read.ts";

/** The view of a page of workflows. */
export function listView(desk: Desk, query: ListQuery): View<List> {
  return {
    read: ({ fresh }) => readList(desk, query, fresh),
    regions: (data, frame) => ({
      summary: summary(data),
      rows: rows(data, desk, frame),
    }),
    page: (data, regions, frame) => ({
      title: query.search === null ? "Workflows" : `Search: ${query.search}`,
      body: html`
        <div class="head-row">
          <h1>Workflows</h1>
          ${region("summary", regions)}
        </div>
        ${filters(data, desk, frame)}
        ${frame.token !== null && bulkBar(query, frame)}
        ${region("rows", regions, "Workflows")}
      `,
    }),
    json: (data) => listJson(data, desk),
  };
}

function summary({ total, rows: all, next, query }: List): Html {
  if (total !== null) return html`<p class="quiet">${counted(total, "workflow")}</p>`;
  if (query.after !== null || next !== null) return html`<p class="quiet">newest first</p>`;
  return html`<p class="quiet">${counted(all.length, "workflow")}</p>`;
}

function filters({ query, names }: List, desk: Desk, { root }: Frame): Html {
  const isKnown = query.workflow === null || names.includes(query.workflow);
  const all = isKnown ? names : [...names, query.workflow as string];
  const definitions = all.map((name) => option(name, name, query.workflow));
  const created = AGES.map(({ name, word }) => option(name, `in the last ${word}`, query.created));
  const unchanged = AGES.map(({ name, word }) => option(name, `for ${word}`, query.unchanged));
  return html`
    <form class="filters card" action="${root}workflows" method="get" data-auto>
      <fieldset class="states">
        <legend>State</legend>
        ${STATES.map((state) => stateBox(state, query))}
      </fieldset>
      <div class="fields">
        <label>Definition
          <select name="workflow"><option value="">any</option>${definitions}</select>
        </label>
        <label>Step
          <input name="step" list="steps" value="${query.step ?? ""}" placeholder="any"
            autocomplete="off" spellcheck="false">
        </label>
        <label>Hero
          <input name="hero" value="${query.hero ?? ""}" placeholder="Type:id or id"
            autocomplete="off" spellcheck="false">
        </label>
        <label>Last error
          <input name="error" value="${query.error ?? ""}" placeholder="its class"
            autocomplete="off" spellcheck="false">
        </label>
        <label>Created
          <select name="created"><option value="">at any time</option>${created}</select>
        </label>
        <label>Unchanged
          <select name="unchanged"><option value="">or changed</option>${unchanged}</select>
        </label>
      </div>
      <datalist id="steps">${stepOptions(query, desk)}</datalist>
      ${pinned(query, root)}
      <div class="filter-buttons">
        <button type="submit">Apply</button>
        ${isNarrow(query) && html`<a class="in-place" href="${root}workflows">Clear all</a>`}
      </div>
    </form>
  `;
}

function stateBox(state: WorkflowState, { states }: ListQuery): Html {
  const isChecked = states.includes(state) && html`checked`;
  return html`
    <label class="state-box c-${state}">
      <input type="checkbox" name="state" value="${state}" ${isChecked}> ${state}
    </label>
  `;
}

function option(value: string, word: string, chosen: string | null): Html {
  const isChosen = value === chosen && html`selected`;
  return html`<option value="${value}" ${isChosen}>${word}</option>`;
}

function stepOptions({ workflow }: ListQuery, { core }: Desk): Html[] {
  const steps = [...core.definitions.values()]
    .filter(({ name }) => workflow === null || workflow === name)
    .flatMap(({ allSteps }) => allSteps.map((step) => step.name));
  return [...new Set(steps)].map((name) => html`<option value="${name}">`);
}

/** A fingerprint is not typed but followed, so it stands by itself and can be taken away. */
function pinned(query: ListQuery, root: string): Html {
  if (query.fingerprint === null) return nothing;
  const without = paramsOf(query, { fingerprint: null, after: null }).toString();
  return html`
    <p class="pinned">
      Paused by the failure <code>${query.fingerprint}</code>
      <input type="hidden" name="fingerprint" value="${query.fingerprint}">
      <a class="in-place" href="${root}workflows?${without}">remove</a>
    </p>
  `;
}

function bulkBar(query: ListQuery, { root }: Frame): Html {
  const params = paramsOf(query, { after: null });
  const links = BULK_ACTIONS.map(({ name, word }) => {
    const own = new URLSearchParams(params);
    own.set("action", name);
    return html`<a class="button b-${name}" href="${root}bulk?${own.toString()}">${word}…</a>`;
  });
  return html`
    <div class="bulk-bar" role="group" aria-label="Actions on all that match">
      <span class="quiet">${isNarrow(query) ? "All that match" : "All workflows"}</span>
      ${links}
    </div>
  `;
}

function rows(list: List, desk: Desk, frame: Frame): Html {
  if (list.rows.length === 0) return empty(list.query, frame);
  const lines = list.rows.map((row) => line(row, { list, desk, frame }));
  return html`
    <div class="card flush">
      <table class="workflows">
        <thead>
          <tr>
            <th scope="col">state</th>
            <th scope="col">workflow</th>
            <th scope="col">hero</th>
            <th scope="col">step</th>
            <th scope="col">changed</th>
            <th scope="col">created</th>
          </tr>
        </thead>
        <tbody>${lines}</tbody>
      </table>
    </div>
    ${pager(list.query, list.next, frame)}
  `;
}

function line(
  row: WorkflowRow,
  { list: { reasons, now }, desk, frame: { root } }: {
    readonly list: List;
    readonly desk: Desk;
    readonly frame: Frame;
  },
): Html {
  const reason = reasons.get(row.id);
  const why = reason !== undefined && html`
    <p class="reason">
      <b>${reason.errorClass}</b> ${firstLine(desk.values.text(reason.message), 140)}
    </p>
  `;
  return html`
    <tr data-key="${row.id}">
      <td class="c-state">${stateChip(row.state)}</td>
      <th scope="row">
        <a class="row-link" href="${workflowHref(root, row.id)}">${row.name}</a>
        <span class="id">${row.id}</span>
      </th>
      <td class="c-hero">${hero(row)}</td>
      <td class="c-step">${step(row)}${why}</td>
      <td class="when">${ago(row.updatedAt, now)}</td>
      <td class="when">${ago(row.createdAt, now)}</td>
    </tr>
  `;
}

function hero({ heroType, heroId }: WorkflowRow): Html {
  return heroType === null
    ? html`<span class="zero" title="It is about no hero">–</span>`
    : html`${heroType} <b>${heroId}</b>`;
}

function step({ currentStepName, nextStepName, state }: WorkflowRow): Html {
  const name = currentStepName ?? nextStepName;
  if (name === null || state === "finished") return html`<span class="zero">–</span>`;
  return html`<code>${name}</code>`;
}

function pager(query: ListQuery, next: string | null, { root }: Frame): Html {
  if (query.after === null && next === null) return nothing;
  const link = (word: string, after: string | null, isThere: boolean): Html => {
    if (!isThere) return html`<span class="button off" aria-disabled="true">${word}</span>`;
    const params = paramsOf(query, { after }).toString();
    return html`<a class="button in-place" href="${root}workflows?${params}">${word}</a>`;
  };
  return html`
    <nav class="pager" aria-label="Pages">
      ${link("Newest", null, query.after !== null)}
      ${link("Older", next, next !== null)}
    </nav>
  `;
}

function empty(query: ListQuery, { root }: Frame): Html {
  if (query.search !== null) {
    return html`
      <div class="card empty-state">
        <h2>Nothing has the id or the hero “${query.search}”</h2>
        <p>
          Ids and heroes are looked for exactly as they are stored. For a hero of one type write
          <code>Type:id</code>, such as <code>User:42</code>.
        </p>
      </div>
    `;
  }
  if (!isNarrow(query)) {
    return html`
      <div class="card empty-state">
        <h2>There are no ${query.after !== null && "older "}workflows</h2>
        <p>
          As soon as <code>engine.start(definition, { hero })</code> has put one into this database,
          it appears here.
        </p>
      </div>
    `;
  }
  return html`
    <div class="card empty-state">
      <h2>No ${query.after !== null && "older "}workflows ${described(query)}</h2>
      <p><a class="in-place" href="${root}workflows">Show all workflows</a></p>
    </div>
  `;
}

function listJson({ rows: all, next, total, reasons, now }: List, { values }: Desk): Json {
  return {
    at: now.toISOString(),
    total,
    next,
    workflows: all.map((row) => ({
      ...rowJson(row),
      error: reasons.has(row.id)
        ? {
          class: reasons.get(row.id)?.errorClass ?? null,
          message: values.text(reasons.get(row.id)?.message ?? ""),
        }
        : null,
    })),
  };
}

/** The plain columns of a workflow for machines. */
export function rowJson(row: WorkflowRow): Record<string, Json> {
  return {
    id: row.id,
    name: row.name,
    heroType: row.heroType,
    heroId: row.heroId,
    state: row.state,
    currentStepName: row.currentStepName,
    nextStepName: row.nextStepName,
    startedAt: row.startedAt?.toISOString() ?? null,
    transitionedAt: row.transitionedAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
