/**
 * The journals: what the bodies really did, each process in a file of its own, one line per moment.
 * The checker reads them beside the rows, which only say what was recorded.
 */

import { closeSync, existsSync, openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";

/** A moment of a body. The time is the machine's, also in a process whose clock is wrong. */
export interface Line {
  /**
   * A body begins; it ends; it ends after its signal was aborted; it is left by an error or an
   * interruption; it has done an item of its walk.
   */
  readonly what: "begin" | "end" | "aborted" | "left" | "item";
  readonly workflowId: string;
  readonly stepName: string;
  readonly executionId: string;
  readonly at: number;
  readonly item: number | null;
}

/** What all journals say. */
export interface Journals {
  readonly lines: readonly Line[];
  /** How many processes have run a body. */
  readonly working: number;
  /** How many faults the processes did to themselves, such as jobs that they lost. */
  readonly faults: number;
  /** How many warnings and errors they logged. */
  readonly complaints: number;
}

/** Writes one journal. */
export interface JournalWriter {
  /** A moment of a body; it is on its way to the disk when this returns. */
  body(line: Omit<Line, "at" | "item"> & { readonly item?: number }): void;
  /** A fault that this process does to itself. */
  fault(what: string): void;
  /** How large the heap is after a collection, in megabytes. */
  heap(mb: number): void;
  /** A line of the log. */
  log(level: string, message: string): void;
  close(): void;
}

/** Opens a journal for writing. */
export function openJournal(path: string): JournalWriter {
  const file = openSync(path, "a");
  const write = (words: readonly (string | number)[]): void =>
    void writeSync(file, `${words.join(" ")}\n`);
  return {
    body: ({ what, workflowId, stepName, executionId, item }) =>
      write([
        what,
        workflowId,
        stepName,
        executionId,
        Date.now(),
        ...item === undefined ? [] : [item],
      ]),
    fault: (what) => write(["fault", what]),
    heap: (mb) => write(["heap", mb]),
    log: (level, message) => write(["log", level, Date.now(), message.replaceAll("\n", " ")]),
    close: () => closeSync(file),
  };
}

/** Reads the journals in a folder. */
export function readJournals(folder: string): Journals {
  const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
  // A line that a kill cut in two is no line.
  const all = texts.flatMap((text) => text.split("\n").slice(0, -1));
  const starting = (word: string): string[] => all.filter((line) => line.startsWith(`${word} `));
  return {
    lines: all.flatMap((line) => lineOf(line) ?? []),
    working: texts.filter((text) => /^begin .*\n/m.test(text)).length,
    faults: starting("fault").length,
    complaints: starting("log").length,
  };
}

/** What one journal says of the heap, in the order of the questions. */
export function readHeaps(path: string): number[] {
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  return [...text.matchAll(/^heap (\d+)\n/gm)].map(([, mb]) => Number(mb));
}

const MOMENTS: readonly string[] = ["begin", "end", "aborted", "left", "item"];

function lineOf(text: string): Line | null {
  const [what = "", workflowId = "", stepName = "", executionId = "", at, item] = text.split(" ");
  if (!MOMENTS.includes(what)) return null;
  return {
    what: what as Line["what"],
    workflowId,
    stepName,
    executionId,
    at: Number(at),
    item: item === undefined ? null : Number(item),
  };
}
