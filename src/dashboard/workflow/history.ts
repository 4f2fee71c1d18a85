/**
 * The executions as a table, newest first: the same as the timeline in words, for those who want to
 * read exactly, or to have it read to them.
 *
 * @module
 */

import { metadataOf } from "../../state/metadata.ts";
import type { ExecutionRow } from "../../state/records.ts";
import { type Content, type Html, html, nothing } from "../html.ts";
import { valueBlock } from "../parts.ts";
import { ago, at } from "../times.ts";
import type { Desk } from "../view.ts";
import { count, firstLine } from "../words.ts";
import { errorBody } from "./error.ts";
import { errorOf } from "./headline.ts";
import { kindOf } from "./lanes.ts";
import type { Dossier } from "./read.ts";
import { outcomeWords, tookText } from "./timeline.ts";

/** A page that renews itself every second must stay small; the rest is one click away. */
const SHORT = 25;
const COLUMNS = 7;

/** The table of executions. */
export function historyPanel(dossier: Dossier, desk: Desk, isWhole: boolean): Html {
  const { executions, now } = dossier;
  const newest = executions.toReversed();
  const shown = isWhole ? newest : newest.slice(0, SHORT);
  if (shown.length === 0) return nothing;
  const more = newest.length - shown.length;
  return html`
    <div class="card flush">
      <div class="card-head">
        <h2>Executions</h2>
        <p class="quiet">newest first</p>
      </div>
      <div class="scroll">
        <table class="executions">
          <thead>
            <tr>
              <th scope="col" class="num">#</th>
              <th scope="col">step</th>
              <th scope="col">outcome</th>
              <th scope="col" class="num">attempt</th>
              <th scope="col">started</th>
              <th scope="col" class="num">took</th>
              <th scope="col">worker</th>
            </tr>
          </thead>
          <tbody>${shown.map((one) => row(one, desk, now))}</tbody>
        </table>
      </div>
      ${more > 0 && html`
        <p class="more"><a href="?all=1#history">Show ${count(more)} older executions</a></p>
      `}
    </div>
  `;
}

function row(one: ExecutionRow, desk: Desk, now: Date): Html {
  const detail = detailsOf(one, desk);
  return html`
    <tr id="x${one.id}" data-key="x${one.id}">
      <td class="num">${one.seq}</td>
      <th scope="row"><code>${one.stepName}</code></th>
      <td class="outcome">
        <span class="dot l-${kindOf(one)}" aria-hidden="true"></span>
        ${one.state === "scheduled" ? waitingWords(one) : outcomeWords(one)}
        ${one.progress !== null && html`<span class="quiet">${progressText(one)}</span>`}
      </td>
      <td class="num">${one.attempt}</td>
      <td class="when">${beginning(one, now)}</td>
      <td class="num">${tookText([one], now) ?? "–"}</td>
      <td><code class="worker" title="${one.worker ?? ""}">${one.worker ?? "–"}</code></td>
    </tr>
    ${detail !== null && html`
      <tr class="detail" data-key="d${one.id}">
        <td colspan="${COLUMNS}">${detail}</td>
      </tr>
    `}
  `;
}

function beginning({ startedAt, scheduledFor, finishedAt }: ExecutionRow, now: Date): Content {
  if (startedAt !== null) return at(startedAt);
  return finishedAt === null ? html`due ${ago(scheduledFor, now)}` : "not started";
}

function waitingWords({ waitingFor }: ExecutionRow): Content {
  return waitingFor === null ? "scheduled" : html`waits for <code>${waitingFor}</code>`;
}

/** What an execution has beside its columns: an error, a note of the engine, a received signal. */
function detailsOf(one: ExecutionRow, { values, core }: Desk): Html | null {
  const error = errorOf(one);
  const { exception: _, event, ...notes } = metadataOf(one.metadata);
  const told = event === undefined ? notes : { ...notes, event: eventOf(event, core.codec.decode) };
  const hasNotes = Object.keys(told).length > 0;
  if (error === null && !hasNotes) return null;
  const summary = error === null
    ? "Notes"
    : html`<b>${error.errorClass}</b> ${firstLine(values.text(error.message), 120)}`;
  return html`
    <details>
      <summary>${summary}</summary>
      ${error !== null && errorBody(error, values.text)}
      ${hasNotes && valueBlock(values.value(told))}
    </details>
  `;
}

/** The payload of a signal is stored as text inside of the metadata. */
function eventOf(event: unknown, decode: (text: string) => unknown): unknown {
  const { payload, ...rest } = event as { payload?: unknown };
  if (typeof payload !== "string") return event;
  try {
    return { ...rest, payload: decode(payload) };
  } catch {
    return { ...rest, payload: "unreadable" };
  }
}

function progressText({ progress }: ExecutionRow): string {
  if (progress === null) return "";
  const { done, total } = progress;
  return total === null ? count(done) : `${count(done)} of ${count(total)}`;
}
