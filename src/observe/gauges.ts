/**
 * What can be counted of all workflows at one instant.
 *
 * @module
 */

import type { WorkflowState } from "../define/records.ts";

/** How the workflows stand at one instant. */
export interface Gauges {
  /** How many workflows of each definition are in each state. */
  readonly counts: readonly {
    readonly workflow: string;
    readonly state: WorkflowState;
    readonly count: number;
  }[];
  /** Of the ongoing workflows of each definition, the share that is paused, from 0 to 1. */
  readonly pausedShare: Readonly<Record<string, number>>;
  /** When the oldest execution that nobody has taken yet was due; null when nothing is due. */
  readonly oldestDueAt: Date | null;
  /** How long it has been due, in milliseconds. */
  readonly lagMs: number;
  /** How many steps run in this process. */
  readonly running: number;
}

/** The share of paused workflows per definition, from the counts. */
export function pausedShares(counts: Gauges["counts"]): Record<string, number> {
  const ongoing = new Map<string, { all: number; paused: number }>();
  for (const { workflow, state, count } of counts) {
    if (state === "finished" || state === "canceled") continue;
    const sums = ongoing.get(workflow) ?? { all: 0, paused: 0 };
    ongoing.set(workflow, sums);
    sums.all += count;
    if (state === "paused") sums.paused += count;
  }
  return Object.fromEntries([...ongoing].map(([name, { all, paused }]) => [name, paused / all]));
}
