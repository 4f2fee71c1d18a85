/** The summary: one line per scenario. */

import type { Kind } from "./checker.ts";
import type { Endured } from "./endure.ts";

const COLUMNS = [
  ...["database", "scenario", "faults", "steps", "lost", "doubled", "other", "taken over"],
  ...["recovery p50", "max", "at rest after", "grown", "took"],
];
const WIDTHS = [9, 10, 6, 6, 5, 8, 6, 11, 13, 8, 14, 7, 8];

/** What stands above the lines. */
export const HEADER: string = aligned(COLUMNS);

/** The line of one scenario on one database. */
export function lineOf(database: string, scenario: string, result: Endured): string {
  const of = (...kinds: Kind[]): number =>
    result.complaints.filter(({ kind }) => kinds.includes(kind)).length;
  const sorted = result.recoveriesMs.toSorted((a, b) => a - b);
  const { grownMb } = result;
  return aligned([
    database,
    scenario,
    String(result.faults),
    String(result.steps),
    String(of("lost")),
    String(of("doubled")),
    String(of("overlap", "late", "stuck", "resources")),
    String(result.recovered),
    shownMs(sorted[Math.floor(sorted.length / 2)]),
    shownMs(sorted.at(-1)),
    shownMs(result.restMs),
    grownMb === null ? "-" : `${grownMb} MB`,
    `${(result.tookMs / 1_000).toFixed(1)} s`,
  ]);
}

function shownMs(ms: number | undefined): string {
  return ms === undefined ? "-" : `${ms} ms`;
}

function aligned(cells: readonly string[]): string {
  return cells.map((cell, at) => {
    const width = WIDTHS[at] ?? 0;
    return at < 2 ? cell.padEnd(width) : cell.padStart(width);
  }).join(" ").trimEnd();
}
