/**
 * Measuring: Pawl and its baseline take turns in one run, several rounds each, and the median
 * counts. Absolute figures move from machine to machine; ratios of one run are what counts.
 */

/** One figure that is compared with another. */
export interface Row {
  /** The number in the table of targets. */
  readonly id: string;
  /** What is measured. */
  readonly name: string;
  /** In what. */
  readonly unit: string;
  /** The bar: a ratio that must be reached, or must not be passed; null: for comparison only. */
  readonly bar: { readonly atLeast: number } | { readonly atMost: number } | null;
  /** Measures both sides once; null when something it needs is not there. */
  measure(size: Size): Promise<Measured | null>;
}

/** How much work a measurement does: 1 is the whole of it. */
export interface Size {
  /** From just above 0 to 1. */
  readonly scale: number;
}

/** Both sides of one round. */
export interface Measured {
  /** Pawl. */
  readonly value: number;
  /** What it is compared with. */
  readonly baseline: number;
  /** What else is worth knowing, such as a version. */
  readonly note?: string;
}

/** A row of the table. */
export interface Result {
  readonly id: string;
  readonly name: string;
  readonly value: number | null;
  readonly unit: string;
  readonly baseline: number | null;
  readonly ratio: number | null;
  readonly spread: number | null;
  readonly bar: string;
  readonly ok: boolean | null;
  readonly note: string | null;
}

/** Measures a row in so many rounds. */
export async function measureRow(
  row: Row,
  options: { readonly rounds: number; readonly size: Size },
): Promise<Result> {
  const rounds: Measured[] = [];
  for (let round = 0; round < options.rounds; round++) {
    const measured = await row.measure(options.size);
    if (measured === null) break;
    rounds.push(measured);
  }
  const { id, name, unit } = row;
  const bar = barText(row.bar);
  if (rounds.length === 0) {
    return {
      id,
      name,
      unit,
      value: null,
      baseline: null,
      ratio: null,
      spread: null,
      bar,
      ok: null,
      note: null,
    };
  }
  const ratios = rounds.map(({ value, baseline }) => value / baseline).sort((a, b) => a - b);
  const ratio = median(ratios);
  return {
    id,
    name,
    unit,
    value: median(rounds.map((one) => one.value)),
    baseline: median(rounds.map((one) => one.baseline)),
    ratio,
    spread: (ratios.at(-1) ?? 0) - (ratios[0] ?? 0),
    bar,
    ok: row.bar === null ? null : isReached(row.bar, ratio),
    note: rounds[0]?.note ?? null,
  };
}

function barText(bar: Row["bar"]): string {
  if (bar === null) return "–";
  return "atLeast" in bar ? `≥ ${bar.atLeast}` : `≤ ${bar.atMost}`;
}

function isReached(bar: NonNullable<Row["bar"]>, ratio: number): boolean {
  return "atLeast" in bar ? ratio >= bar.atLeast : ratio <= bar.atMost;
}

/** The middle of some figures. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const high = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? high : (high + (sorted[middle - 1] ?? 0)) / 2;
}

/** Runs work and answers how many of its units it did per second. */
export async function perSecond(units: number, work: () => unknown): Promise<number> {
  const startedAt = performance.now();
  await work();
  return units / ((performance.now() - startedAt) / 1000);
}

/** The table, for people. */
export function table(results: readonly Result[]): string {
  const head = ["#", "what", "Pawl", "baseline", "unit", "ratio", "spread", "bar", ""];
  const rows = results.map((one) => [
    one.id,
    one.name,
    figure(one.value),
    figure(one.baseline),
    one.unit,
    figure(one.ratio),
    figure(one.spread),
    one.bar,
    one.value === null ? "not measured" : one.ok === null ? "" : one.ok ? "ok" : "missed",
  ]);
  const widths = head.map((title, at) =>
    Math.max(title.length, ...rows.map((row) => (row[at] as string).length))
  );
  return [head, ...rows]
    .map((row) => row.map((cell, at) => cell.padEnd(widths[at] as number)).join("  ").trimEnd())
    .join("\n");
}

function figure(value: number | null): string {
  if (value === null) return "–";
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toPrecision(3);
}
