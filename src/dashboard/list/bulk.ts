/**
 * Actions on all workflows that match a filter: first a page that says how many there are and what
 * will happen to them, then the deed, in portions that a request can bear.
 *
 * @module
 */

import { PawlError, StoreError } from "../../errors.ts";
import { createRun, type Run } from "../../run/run.ts";
import type { WorkflowRow } from "../../state/records.ts";
import { toError } from "../../state/stored_error.ts";
import { type Content, type Html, html } from "../html.ts";
import { messagePage, stateChip, tokenField } from "../parts.ts";
import { workflowHref } from "../routes.ts";
import type { Desk, Frame } from "../view.ts";
import { count, counted } from "../words.ts";
import type { BulkAction, BulkActionName } from "./bulk_actions.ts";
import { countedUpTo, described, type ListQuery, paramsOf, statesOf } from "./query.ts";
import { matching } from "./read.ts";

/** More than so many are not counted one by one for a preview. */
const MAX_COUNTED = 2_000;
const EXAMPLES = 8;
/** So many are acted on in one request; a page then offers to go on with the rest. */
const PORTION = 1_000;
const AT_A_TIME = 8;
const BATCH = 200;

/** What a bulk action would touch. */
export interface Preview {
  /** How many are eligible; at most `MAX_COUNTED`. */
  readonly eligible: number;
  /** Whether these are all. */
  readonly isAll: boolean;
  /** The first of them. */
  readonly examples: readonly WorkflowRow[];
}

/** The same query, only for those whose state allows the action. */
function eligible(query: ListQuery, action: BulkAction): ListQuery {
  const asked = statesOf(query) ?? action.states;
  return { ...query, after: null, states: action.states.filter((state) => asked.includes(state)) };
}

/** The workflows that an action would touch, newest first; nothing that was made after `before`. */
async function* candidates(
  desk: Desk,
  query: ListQuery,
  { action, now, before }: {
    readonly action: BulkAction;
    readonly now: Date;
    readonly before: Date;
  },
): AsyncGenerator<WorkflowRow> {
  const narrowed = eligible(query, action);
  if (narrowed.states.length === 0) return;
  for await (const row of matching(desk, narrowed, { now, batch: BATCH })) {
    if (!action.states.includes(row.state) || row.createdAt > before) continue;
    yield row;
  }
}

/** Counts what an action would touch. */
export async function preview(desk: Desk, query: ListQuery, action: BulkAction): Promise<Preview> {
  const now = desk.core.now();
  const examples: WorkflowRow[] = [];
  let found = 0;
  for await (const row of candidates(desk, query, { action, now, before: now })) {
    if (found === MAX_COUNTED) return { eligible: found, isAll: false, examples };
    if (found++ < EXAMPLES) examples.push(row);
  }
  return { eligible: found, isAll: true, examples };
}

/** What the pages of a bulk action are made with. */
export interface BulkPageParts {
  /** The filter. */
  readonly query: ListQuery;
  /** What is to be done. */
  readonly action: BulkAction;
  /** The frame of the page, with its token. */
  readonly frame: Frame & { readonly token: string };
  /** Workflows that were made after this are left alone. */
  readonly before: Date;
}

/** The page that asks for a confirmation. */
export function previewPage(
  { eligible: found, isAll, examples }: Preview,
  parts: BulkPageParts,
): Html {
  const { query, action, frame: { root } } = parts;
  const back = html`<a class="button" href="${listHref(parts)}">Do nothing</a>`;
  const which = described(query);
  if (found === 0) {
    return messagePage(`Nothing to ${action.word.toLowerCase()}`, {
      tone: "calm",
      body: html`
        <p>
          None of the workflows ${which} is ${action.states.join(
            " or ",
          )}, and only such can be ${action
            .done}.
        </p>
        <p><a class="button" href="${listHref(parts)}">Back to the list</a></p>
      `,
    });
  }
  const number = countedUpTo(found, isAll);
  const rest = found - examples.length;
  const items = examples.map(({ id, name, state, heroType, heroId }) =>
    html`
      <li>
        ${stateChip(state)} <a href="${workflowHref(root, id)}">${name} ${id}</a>
        ${heroType !== null && html`<span class="quiet">${heroType} ${heroId}</span>`}
      </li>
    `
  );
  return messagePage(`${action.word} ${number} ${found === 1 ? "workflow" : "workflows"}?`, {
    tone: action.name === "cancel" ? "bad" : "warn",
    body: html`
      <p>
        All workflows ${which} whose state is ${action.states.join(" or ")}. ${action.effect}
      </p>
      <ul class="examples">
        ${items}
        ${rest > 0 && html`<li class="quiet">and ${countedUpTo(rest, isAll)} others</li>`}
      </ul>
      ${deedForm(parts, `${action.word} ${number}`, back)}
      <p class="quiet">Workflows that are started from now on are left alone.</p>
    `,
  });
}

function listHref({ query, frame: { root } }: BulkPageParts): string {
  return `${root}workflows?${paramsOf(query, { after: null }).toString()}`;
}

/** The form that does it, with the filter and the instant of the preview. */
function deedForm(parts: BulkPageParts, word: string, beside: Content): Html {
  const { query, action, before, frame: { root, token } } = parts;
  const fields = [...paramsOf(query, { after: null })].map(([name, value]) =>
    html`<input type="hidden" name="${name}" value="${value}">`
  );
  return html`
    <form method="post" action="${root}bulk" class="confirm">
      ${tokenField(token)}
      <input type="hidden" name="action" value="${action.name}">
      <input type="hidden" name="before" value="${before.getTime()}">
      ${fields}
      <button type="submit" class="b-${action.name}">${word}</button>
      ${beside}
    </form>
  `;
}

/** What became of a bulk action. */
export interface BulkResult {
  /** How many it was done to. */
  readonly done: number;
  /** Why others were refused, with how many. */
  readonly refusals: ReadonlyMap<string, number>;
  /** Whether there may be more. */
  readonly more: boolean;
}

/** Does it, to at most a portion. */
export async function perform(
  desk: Desk,
  query: ListQuery,
  { action, before }: { readonly action: BulkAction; readonly before: Date },
): Promise<BulkResult> {
  const refusals = new Map<string, number>();
  const now = desk.core.now();
  const chosen: WorkflowRow[] = [];
  for await (const row of candidates(desk, query, { action, now, before })) {
    if (chosen.length === PORTION) break;
    chosen.push(row);
  }
  let done = 0;
  for (let at = 0; at < chosen.length; at += AT_A_TIME) {
    await Promise.all(
      chosen.slice(at, at + AT_A_TIME).map(async (row) => {
        try {
          await act(createRun(desk.core, row), action.name);
          done++;
        } catch (thrown) {
          const why = refusalOf(thrown);
          refusals.set(why, (refusals.get(why) ?? 0) + 1);
        }
      }),
    );
  }
  // Were all of them refused, the next portion would be the same ones.
  return { done, refusals, more: chosen.length === PORTION && done > 0 };
}

function act(run: Run, action: BulkActionName): Promise<Run> {
  return run[action]();
}

/** A refusal of one workflow is told; a database that does not answer ends the whole. */
function refusalOf(thrown: unknown): string {
  if (thrown instanceof PawlError && !(thrown instanceof StoreError)) return thrown.message;
  throw toError(thrown);
}

/** The page that says what became of it. */
export function resultPage({ done, refusals, more }: BulkResult, parts: BulkPageParts): Html {
  const refused = [...refusals.values()].reduce((sum, one) => sum + one, 0);
  const reasons = [...refusals].map(([why, number]) =>
    html`<li><b>${count(number)} ×</b> ${why}</li>`
  );
  return messagePage(`${counted(done, "workflow")} ${parts.action.done}`, {
    tone: refused > 0 ? "warn" : "calm",
    body: html`
      ${refused > 0 && html`
        <p>${counted(refused, "workflow")} refused:</p>
        <ul class="examples">${reasons}</ul>
      `}
      ${more && html`
        <p>There are more.</p>
        ${deedForm(parts, `Go on with the next ${count(PORTION)}`, null)}
      `}
      <p><a class="button" href="${listHref(parts)}">Back to the list</a></p>
    `,
  });
}
