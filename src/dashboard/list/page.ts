/**
 * The list of workflows: filters, a page of rows, and what can be done with all that match.
 *
 * @module
 */

import type { WorkflowRow } from "../../state/records.ts";
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
      body: html`<div class="head-row"><h1>Workflows</h1>${region("summary", regions)}</div>
        ${filters(data, desk, frame)}
        ${frame.token === null ? nothing : bulkBar(query, frame)}
        ${region("rows", regions, "Workflows")}`,
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
  const all = query.workflow === null || names.includes(query.workflow)
    ? names
    : [...names, query.workflow];
  const steps = [...desk.core.definitions.values()]
    .filter(({ name }) => query.workflow === null || query.workflow === name)
    .flatMap(({ allSteps }) => allSteps.map((step) => step.name));
  return html`<form class="filters card" action="${root}workflows" method="get" data-auto>
    <fieldset class="states"><legend>State</legend>${
    STATES.map((state) =>
      html`
        <label
          class="state-box c-${state}"><input type="checkbox" name="state" value="${state}" ${query
              .states.includes(state)
            ? html`checked`
            : null}> ${state}</label>
      `
    )
  }</fieldset>
    <div class="fields">
      <label>Definition <select name="workflow"><option value="">any</option>${
    all.map((name) => option(name, name, query.workflow))
  }</select></label>
      <label>Step <input name="step" list="steps" value="${query.step ?? ""}" placeholder="any"
        autocomplete="off" spellcheck="false"></label>
      <datalist id="steps">${
    [...new Set(steps)].map((name) => html`<option value="${name}">`)
  }</datalist>
      <label>Hero <input name="hero" value="${query.hero ?? ""}" placeholder="Type:id or id"
        autocomplete="off" spellcheck="false"></label>
      <label>Last error <input name="error" value="${query.error ?? ""}" placeholder="class"
        autocomplete="off" spellcheck="false"></label>
      <label>Created <select name="created"><option value="">any time</option>${
    AGES.map(({ name, word }) => option(name, `in the last ${word}`, query.created))
  }</select></label>
      <label>Unchanged <select name="unchanged"><option value="">or not</option>${
    AGES.map(({ name, word }) => option(name, `for the last ${word}`, query.unchanged))
  }</select></label>
    </div>
    ${
    query.fingerprint === null
      ? null
      : html`<p class="pinned">Paused by the failure <code>${query.fingerprint}</code>
      <input type="hidden" name="fingerprint" value="${query.fingerprint}">
      <a href="${root}workflows?${
        paramsOf(query, { fingerprint: null, after: null }).toString()
      }">remove</a></p>`
  }
    <div class="filter-buttons"><button type="submit">Apply</button> ${
    isNarrow(query) ? html`<a class="quiet" href="${root}workflows">Clear all</a>` : null
  }</div>
  </form>`;
}

function option(value: string, word: string, chosen: string | null): Html {
  return html`<option value="${value}" ${
    value === chosen ? html`selected` : null
  }>${word}</option>`;
}

function bulkBar(query: ListQuery, { root }: Frame): Html {
  const params = paramsOf(query, { after: null });
  const links = BULK_ACTIONS.map(({ name, word }) => {
    const own = new URLSearchParams(params);
    own.set("action", name);
    return html`<a class="button b-${name}" href="${root}bulk?${own.toString()}">${word}…</a>`;
  });
  return html`<div class="bulk-bar" role="group" aria-label="Actions on all that match"><span
    class="quiet">${isNarrow(query) ? "All that match" : "All workflows"}</span>${links}</div>`;
}

function rows({ rows: all, query, next, reasons, now }: List, desk: Desk, frame: Frame): Html {
  if (all.length === 0) return empty(query, frame);
  const { root } = frame;
  const lines = all.map((row) => {
    const reason = reasons.get(row.id);
    return html`
      <tr data-key="${row.id}">
        <td class="c-state">${stateChip(row.state)}</td>
        <th scope="row"><a class="row-link" href="${workflowHref(root, row.id)}">${row.name}</a>
              <span class="quiet id">${row.id}</span></th>
        <td>${hero(row)}</td>
        <td>${step(row)}${reason === undefined
          ? null
          : html`<p class="reason"><b>${reason.errorClass}</b> ${
            firstLine(desk.values.text(reason.message), 140)
          }</p>`}</td>
        <td class="when">${ago(row.updatedAt, now)}</td>
        <td class="when">${ago(row.createdAt, now)}</td>
      </tr>
    `;
  });
  return html`
    <div class="card flush">
      <table class="workflows">
        <thead>
          <tr>
            <th scope="col">state</th>
            <th
              scope="col">workflow</th>
            <th scope="col">hero</th>
            <th scope="col">step</th>
            <th scope="col"
            >changed</th>
            <th scope="col">created</th>
          </tr>
        </thead>
        <tbody>${lines}</tbody>
      </table>
    </div>
        ${pager(query, next, frame)}
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
  const to = (after: string | null): string => `${root}workflows?${paramsOf(query, { after })}`;
  return html`<nav class="pager" aria-label="Pages">
    ${
    query.after === null
      ? html`<span class="button off" aria-disabled="true">Newest</span>`
      : html`<a class="button" href="${to(null)}">Newest</a>`
  }
    ${
    next === null
      ? html`<span class="button off" aria-disabled="true">Older</span>`
      : html`<a class="button" href="${to(next)}" rel="next">Older</a>`
  }</nav>`;
}

function empty(query: ListQuery, { root }: Frame): Html {
  if (query.search !== null) {
    return html`
      <div class="card empty-state">
        <h2>Nothing has the id or the hero “${query.search}”</h2>
        <p>Ids and heroes are looked for exactly as they are stored. For a hero of one type write
            <code>Type:id</code>, such as <code>User:42</code>.</p>
      </div>
    `;
  }
  if (!isNarrow(query)) {
    return html`
      <div class="card empty-state">
        <h2>There are no workflows yet</h2>
        <p>As soon as
            <code>engine.start(definition, { hero })</code> has put one into this database, it appears
            here.</p>
      </div>
    `;
  }
  return html`
    <div class="card empty-state">
      <h2>No workflows ${described(query)}</h2>
      <p>${query.after === null
        ? null
        : "There are no older ones. "}<a href="${root}workflows">Show all workflows</a></p>
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
