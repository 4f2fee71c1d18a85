/** The workflow of the crash test, for the test and for the process that it kills. */

import { workflow, type WorkflowDefinition } from "../../mod.ts";

export const ITEMS = 100_000;
export const CRASH_LEASE_MS = 500;

/** Walks over so many items and calls `visit` for each, with a checkpoint after every one. */
export function walk(visit: (item: number) => void): WorkflowDefinition {
  const items = Array.from({ length: ITEMS }, (_, item) => item);
  return workflow({
    name: "walk",
    steps: [
      { name: "visit", resumable: true, run: ({ iter }) => iter.over(items, visit) },
      { name: "end", run: () => {} },
    ],
  });
}
