/**
 * Situations to decide about, and a short way to write down what must come of them.
 *
 * @module
 */

import assert from "node:assert/strict";
import { decide, type Ruling, type Situation, type StepResult } from "../../src/state/decide.ts";
import type { Then } from "../../src/state/decide.ts";
import { executionIn } from "./_rows.ts";

/** A plain step in its first attempt. */
export function plain(over: Partial<Situation> = {}): Situation {
  return {
    execution: executionIn("in_progress"),
    cursor: null,
    resumable: false,
    maxUnchanged: null,
    maxRecoveries: null,
    ranMs: 250,
    chance: 0.5,
    ...over,
  };
}

/** A resumable step that began at cursor 5 and stands at 8. */
export function resumable(over: Partial<Situation> = {}): Situation {
  return plain({
    execution: executionIn("in_progress", { cursor: "5" }),
    cursor: "8",
    resumable: true,
    ...over,
  });
}

/** `completed/reattempted/exception`, as the tables write it. */
export function closingOf({ closing }: Ruling): string {
  return `${closing.state}/${closing.outcome}/${closing.cause}`;
}

/** `next`, `again`, `finished`, `canceled` or `paused`. */
export function goalOf({ then }: Ruling): string {
  return then.to === "end" ? then.workflowState : then.to;
}

/** What comes next when the same step runs again. */
export function againOf(ruling: Ruling): Extract<Then, { to: "again" }> {
  assert.equal(ruling.then.to, "again");
  return ruling.then as Extract<Then, { to: "again" }>;
}

/** Decides and says in short what came of it. */
export function inShort(result: StepResult, situation: Situation): string {
  const ruling = decide(result, situation);
  return `${closingOf(ruling)} -> ${goalOf(ruling)}`;
}
