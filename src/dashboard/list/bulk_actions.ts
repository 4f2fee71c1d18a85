/**
 * What can be done with all workflows that match a filter.
 *
 * @module
 */

import { COMMAND_STATES } from "../../state/command.ts";
import type { WorkflowState } from "../../state/records.ts";

/** The names of what can be done with many workflows. */
export type BulkActionName = "pause" | "resume" | "skip" | "cancel";

/** Something that can be done with many workflows. */
export interface BulkAction {
  /** Its name. */
  readonly name: BulkActionName;
  /** What its button says. */
  readonly word: string;
  /** What it does to each, as a sentence. */
  readonly effect: string;
  /** The past participle. */
  readonly done: string;
  /** The states in which it is possible. */
  readonly states: readonly WorkflowState[];
}

/** All of them. */
export const BULK_ACTIONS: readonly BulkAction[] = [
  {
    name: "pause",
    word: "Pause",
    effect: "Each stops before its next step; a body that runs is asked to stop, and what is " +
      "scheduled keeps its time.",
    done: "paused",
    states: COMMAND_STATES.pause,
  },
  {
    name: "resume",
    word: "Resume",
    effect:
      "Each goes on at the step where it stands, at once when that step is due; a resumable " +
      "step goes on from its cursor.",
    done: "resumed",
    states: COMMAND_STATES.resume,
  },
  {
    name: "skip",
    word: "Skip step",
    effect: "Each leaves out the step where it stands and goes on with the one after it.",
    done: "skipped",
    states: COMMAND_STATES.skip,
  },
  {
    name: "cancel",
    word: "Cancel",
    effect: "Each ends for good; nothing of it runs any more. This cannot be taken back.",
    done: "canceled",
    states: COMMAND_STATES.cancel,
  },
];

/** The action of a name, or null. */
export function bulkAction(name: string | null): BulkAction | null {
  return BULK_ACTIONS.find((one) => one.name === name) ?? null;
}
