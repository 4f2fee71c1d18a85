/**
 * What a test run says at its end: which databases were tested, and how many tests passed.
 *
 * @module
 */

/** How many tests passed and failed. */
export interface Tally {
  /** Passed. */
  readonly passed: number;
  /** Failed. */
  readonly failed: number;
}

// deno-lint-ignore no-control-regex -- the escape character is what colours begin with
const COLOUR = /\x1b\[[0-9;]*m/g;
const SUMMARY = /^(?:ok|FAILED) \| (\d+) passed(?: \(\d+ steps?\))? \| (\d+) failed/gm;

/** The tally in the last summary that `deno test` printed, or null when it printed none. */
export function tallyIn(output: string): Tally | null {
  const last = [...output.replace(COLOUR, "").matchAll(SUMMARY)].at(-1);
  return last === undefined ? null : { passed: Number(last[1]), failed: Number(last[2]) };
}

/**
 * The tally that counts: a run that broke off before its summary, that ran no test, or that failed
 * without a failed test has one failure, so that nobody takes it for a success.
 */
export function finalTally(tally: Tally | null, exitCode: number): Tally {
  const { passed, failed } = tally ?? { passed: 0, failed: 0 };
  const silentFailure = failed === 0 && (exitCode !== 0 || passed === 0);
  return { passed, failed: silentFailure ? 1 : failed };
}

/** The closing line. */
export function closingLine({ passed, failed }: Tally): string {
  return `${passed} passed, ${failed} failed`;
}

const ORDER = ["SQLite", "PostgreSQL", "MariaDB", "MySQL", "Redis"];

/** The databases in a record of one line each, known ones first, each once. */
export function databasesIn(record: string): string[] {
  const rank = (line: string): number => {
    const at = ORDER.findIndex((name) => line.startsWith(`${name} `));
    return at === -1 ? ORDER.length : at;
  };
  const lines = new Set(record.split("\n").filter((line) => line !== ""));
  return [...lines].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

/** The line that says which databases were tested. */
export function databasesLine(databases: readonly string[]): string {
  return `Databases tested: ${databases.length === 0 ? "none" : databases.join(", ")}`;
}
