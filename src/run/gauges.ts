/**
 * Reading the gauges of all workflows.
 *
 * @module
 */

import { type Gauges, pausedShares } from "../observe/gauges.ts";
import type { Core } from "./core.ts";

/** How all workflows stand now. */
export async function readGauges(core: Core): Promise<Gauges> {
  const now = core.now();
  const [counts, due] = await Promise.all([
    core.store.counts(),
    core.store.due({ before: now, limit: 1 }),
  ]);
  const oldestDueAt = due[0]?.scheduledFor ?? null;
  return {
    counts,
    pausedShare: pausedShares(counts),
    oldestDueAt,
    lagMs: oldestDueAt === null ? 0 : now.getTime() - oldestDueAt.getTime(),
    running: core.holdings.size,
  };
}
