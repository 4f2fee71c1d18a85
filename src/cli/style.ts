/**
 * How text looks on a terminal: colours, and durations as people say them.
 *
 * @module
 */

/** Colours and weights, each a function of text. */
export interface Palette {
  /** For headings. */
  bold(text: string): string;
  /** For what matters less. */
  dim(text: string): string;
  /** For failures. */
  red(text: string): string;
  /** For success. */
  green(text: string): string;
  /** For what wants attention. */
  yellow(text: string): string;
  /** For what is scheduled. */
  blue(text: string): string;
  /** For what runs. */
  cyan(text: string): string;
}

/** No colours at all: for files, pipes and machines. */
export const plainPalette: Palette = {
  bold: same,
  dim: same,
  red: same,
  green: same,
  yellow: same,
  blue: same,
  cyan: same,
};

/** The colours of a terminal. */
export const ansiPalette: Palette = {
  bold: ansi(1, 22),
  dim: ansi(2, 22),
  red: ansi(31, 39),
  green: ansi(32, 39),
  yellow: ansi(33, 39),
  blue: ansi(34, 39),
  cyan: ansi(36, 39),
};

function same(text: string): string {
  return text;
}

function ansi(on: number, off: number): (text: string) => string {
  return (text) => text === "" ? "" : `\x1b[${on}m${text}\x1b[${off}m`;
}

/** Colours text; empty text stays empty, so that nothing invisible is printed. */
export function paint(palette: Palette, colour: keyof Palette, text: string): string {
  return text === "" ? "" : palette[colour](text);
}

const UNITS: readonly (readonly [number, string])[] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
];

/** A length of time in at most two units: `340 ms`, `2.5 s`, `3 min 20 s`, `2 d 4 h`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  for (const [at, [unitMs, unit]] of UNITS.entries()) {
    if (ms < unitMs) continue;
    const whole = Math.floor(ms / unitMs);
    const [restMs, restUnit] = UNITS[at + 1] ?? [1000, "s"];
    const rest = Math.floor((ms - whole * unitMs) / restMs);
    return rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${restUnit}`;
  }
  return `${Math.round(ms / 1000)} s`;
}

/** A count with its noun: `1 workflow`, `1,204 workflows`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
