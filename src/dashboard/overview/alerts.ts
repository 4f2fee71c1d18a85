/**
 * What somebody should look at now: work that nobody takes, workers that went silent, workflows that
 * the code does not fit any more.
 *
 * @module
 */

import { type Html, html } from "../html.ts";
import type { Frame } from "../view.ts";
import { coarse, counted } from "../words.ts";
import { lagOf, type Overview } from "./read.ts";

/** A few seconds of lag are how polling works; a minute is somebody's trouble. */
export const LATE_MS = 60_000;

/** All that is to be said; nothing, on a good day. */
export function alerts(data: Overview, frame: Frame): Html {
  return html`${lateness(data, frame)}${silence(data)}${misfits(data, frame)}`;
}

function lateness(data: Overview, { root }: Frame): Html | null {
  const lagMs = lagOf(data);
  if (lagMs < LATE_MS) return null;
  const hint = data.workers.length === 0
    ? "No worker holds a step: is one running?"
    : "The workers do not keep up: start more, or raise their concurrency.";
  return html`
    <p class="alert bad">
      <b>Work is waiting for a worker.</b> The oldest step has been due for ${coarse(
        lagMs,
      )}. ${hint}
      <a href="${root}workflows?state=ready">Show what is ready</a>
    </p>
  `;
}

function silence({ workers, now }: Overview): Html | null {
  const silent = workers.filter((one) => one.leaseUntil < now);
  if (silent.length === 0) return null;
  const held = silent.reduce((sum, one) => sum + one.running, 0);
  return html`
    <p class="alert warn">
      <b>${counted(silent.length, "worker")} went silent</b> with ${counted(
        held,
        "step",
      )} in hand. Any
      living worker takes over by itself.
    </p>
  `;
}

function misfits({ findings }: Overview, { root }: Frame): Html[] {
  return (findings ?? []).map(({ message, advice, workflow, step }) => {
    const query = new URLSearchParams(step === null ? { workflow } : { workflow, step });
    return html`
      <p class="alert warn">
        <b>${message}.</b> ${advice}
        <a href="${root}workflows?${query.toString()}">Show them</a>
      </p>
    `;
  });
}
