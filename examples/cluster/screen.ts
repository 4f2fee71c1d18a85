/** What one sees of a cluster: a line per worker, drawn again and again, and what happened. */

import process from "node:process";
import { ansiPalette, type Palette, plainPalette } from "../../src/cli/style.ts";

/** A worker, as it is drawn. */
export interface WorkerView {
  /** Its name. */
  readonly name: string;
  /** Steps per second, in the last second or so. */
  readonly speed: number;
  /** Steps since it began. */
  readonly steps: number;
  /** Whether it is still there. */
  readonly alive: boolean;
}

/** Everything, as it is drawn. */
export interface ClusterView {
  /** The workers, in the order in which they came. */
  readonly workers: readonly WorkerView[];
  /** How many steps there are to run. */
  readonly total: number;
}

/** Where a cluster is drawn. */
export interface Screen {
  /** The colours. */
  readonly palette: Palette;
  /** Draws how it stands, over what was drawn before. */
  draw(view: ClusterView): void;
  /** Says what happened; it stays above what is drawn. */
  say(line: string): void;
  /** Takes what a worker has logged; lines that tell of the same are said as one, with the next look. */
  hear(line: string): void;
}

const CELLS = 24;
const NUMBERS = new Intl.NumberFormat("en");

/** A number as people write it. */
export function number(value: number): string {
  return NUMBERS.format(Math.round(value));
}

/** Makes the screen: a picture on a terminal, a line now and then for a file or a pipe. */
export function createScreen(): Screen {
  const isTerminal = process.stdout.isTTY === true;
  const palette = isTerminal && process.env.NO_COLOR === undefined ? ansiPalette : plainPalette;
  const startedAt = performance.now();
  let drawn = 0;
  let fastest = 1;
  let saidAt = 0;
  const heard = new Map<string, number>();

  function erase(): void {
    if (drawn > 0) process.stdout.write(`\x1b[${drawn}A\x1b[J`);
    drawn = 0;
  }

  function seconds(): number {
    return (performance.now() - startedAt) / 1_000;
  }

  function say(line: string): void {
    erase();
    console.log(`${palette.dim(`${seconds().toFixed(1).padStart(6)} s`)}  ${line}`);
  }

  /** A log ends with what it is about, in brackets: of many that differ in nothing else one is said. */
  function sayHeard(): void {
    for (const [text, times] of heard) {
      say(palette.dim(times > 1 ? `${text} (${times} times)` : text));
    }
    heard.clear();
  }

  return {
    palette,
    say,
    hear(line) {
      const text = line.replace(/ \([^()]*\)$/, "");
      heard.set(text, (heard.get(text) ?? 0) + 1);
    },
    draw(view) {
      sayHeard();
      fastest = Math.max(fastest, ...view.workers.map(({ speed }) => speed));
      if (isTerminal) {
        const lines = picture(view, fastest, palette);
        erase();
        process.stdout.write(`${lines.join("\n")}\n`);
        drawn = lines.length;
      } else if (seconds() - saidAt >= 1) {
        saidAt = seconds();
        const all = view.workers.map(({ speed, alive }) => alive ? number(speed) : "gone");
        console.log(`${saidAt.toFixed(1).padStart(6)} s  ${all.join(" + ")} steps per second`);
      }
    },
  };
}

function picture(
  { workers, total }: ClusterView,
  fastest: number,
  palette: Palette,
): string[] {
  const sum = (of: (worker: WorkerView) => number): number =>
    workers.reduce((so, worker) => so + of(worker), 0);
  const steps = sum((worker) => worker.steps);
  const speed = sum((worker) => worker.speed);
  const lines = workers.map((worker) => {
    const { name, alive } = worker;
    const counted = figures(worker);
    if (!alive) return palette.red(`  ${name.padEnd(10)}${"killed".padEnd(CELLS)}${counted}`);
    return `  ${name.padEnd(10)}${palette.cyan(bar(worker.speed / fastest))}${counted}`;
  });
  const all = `  ${"all".padEnd(10)}${palette.green(bar(steps / total))}`;
  return ["", ...lines, palette.bold(`${all}${figures({ speed, steps })}`), ""];
}

function bar(share: number): string {
  const full = Math.round(Math.min(1, share) * CELLS);
  return "█".repeat(full) + "░".repeat(CELLS - full);
}

function figures({ speed, steps }: Pick<WorkerView, "speed" | "steps">): string {
  return `${number(speed).padStart(8)} steps/s${number(steps).padStart(10)} steps`;
}
