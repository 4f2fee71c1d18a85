/**
 * Small pieces that several pages use.
 *
 * @module
 */

import type { WorkflowState } from "../define/records.ts";
import { type Content, type Html, html } from "./html.ts";
import { TOKEN } from "./csrf.ts";
import type { Json } from "./values.ts";
import { STATE_MARKS, STATE_MEANINGS } from "./words.ts";

/** A workflow's state as a chip. */
export function stateChip(state: WorkflowState): Html {
  return html`<span class="chip c-${state}" title="It ${STATE_MEANINGS[state]}"><span
    aria-hidden="true">${STATE_MARKS[state]}</span> ${state}</span>`;
}

/** A value as text that keeps its lines. */
export function valueBlock(value: Json): Html {
  return html`<pre class="value-block" tabindex="0">${JSON.stringify(value, null, 2)}</pre>`;
}

/** The hidden field that every form that changes something carries. */
export function tokenField(token: string): Html {
  return html`<input type="hidden" name="${TOKEN}" value="${token}">`;
}

/** A page that says one thing, and what to do about it. */
export function messagePage(
  title: string,
  { tone, body }: { readonly tone: "bad" | "warn" | "calm"; readonly body: Content },
): Html {
  return html`<div class="card message t-${tone}"><h1>${title}</h1>${body}</div>`;
}
