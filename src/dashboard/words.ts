/**
 * How numbers, lengths of time and states are written.
 *
 * @module
 */

import type { ExecutionState, WorkflowState } from "../define/records.ts";

/** The states, in the order in which they are shown. */
export const STATES: readonly WorkflowState[] = [
  "ready",
  "performing",
  "paused",
  "finished",
  "canceled",
];

/** What each state of a workflow means, for people who see it for the first time. */
export const STATE_MEANINGS: Readonly<Record<WorkflowState, string>> = {
  ready: "waits for the due time of its next step",
  performing: "runs a step right now",
  paused: "stands still until somebody resumes it",
  finished: "has run to its end",
  canceled: "was ended before its last step",
};

/** A mark beside each state, so that no state is told by its colour alone. */
export const STATE_MARKS: Readonly<Record<WorkflowState, string>> = {
  ready: "◷",
  performing: "▶",
  paused: "❚❚",
  finished: "✓",
  canceled: "✕",
};

/** What an execution's state is called. */
export const EXECUTION_WORDS: Readonly<Record<ExecutionState, string>> = {
  scheduled: "scheduled",
  in_progress: "running",
  completed: "completed",
  failed: "failed",
  canceled: "canceled",
  skipped: "skipped",
};

/** A whole number with its thousands apart. */
export function count(value: number): string {
  return Math.round(value).toLocaleString("en");
}

/** A number of things: `1 workflow`, `2 workflows`. */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

const UNITS: readonly (readonly [number, string])[] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1_000, "s"],
];

/** A length of time in at most two units: `340 ms`, `2.5 s`, `3 min 20 s`, `2 d 4 h`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  return coarse(ms);
}

/** The same in whole seconds: what a clock that ticks once a second can show without jitter. */
export function coarse(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000)) * 1_000;
  for (const [at, [unitMs, unit]] of UNITS.entries()) {
    if (seconds < unitMs) continue;
    const whole = Math.floor(seconds / unitMs);
    const [restMs, restUnit] = UNITS[at + 1] ?? [1, ""];
    const rest = restUnit === "" ? 0 : Math.floor((seconds - whole * unitMs) / restMs);
    return rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${restUnit}`;
  }
  return "0 s";
}

/** An instant relative to now, in words: `3 min ago`, `in 2 d 4 h`, `now`. */
export function relative(atMs: number, nowMs: number): string {
  const ms = atMs - nowMs;
  if (Math.abs(ms) < 1_000) return "now";
  return ms > 0 ? `in ${coarse(ms)}` : `${coarse(-ms)} ago`;
}

/** A text cut to so many characters. */
export function cut(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit - 1)}…`;
}

/** The first line of a text, cut to so many characters. */
export function firstLine(text: string, limit: number): string {
  return cut(text.split("\n", 1)[0] as string, limit);
}
