/**
 * What a test runner of another runtime printed, and what failed in it.
 */

/** How many tests had which end. */
export interface Report {
  readonly passed: number;
  readonly failed: number;
  /** The failed tests with their errors, in words for people; empty when there are none. */
  readonly failures: string;
}

// deno-lint-ignore no-control-regex -- the escape character is what colours begin with
const COLOUR = /\x1b\[[0-9;]*m/g;
const TAP_FAILURE = /^not ok \d+ - (.*)\n([\s\S]*?)^ {2}\.\.\.$/gm;
const TAP_COMMENT = /^# (?!Subtest:|\w+ [\d.]+$)/;
const MAX_LENGTH = 12_000;

/** Reads the output of `node --test` (as TAP) or of `bun test`. */
export function reportOf(coloured: string): Report {
  const output = coloured.replace(COLOUR, "");
  const passed = countOf(output, "pass");
  const failed = countOf(output, "fail");
  if (passed === null || failed === null) {
    return {
      passed: 0,
      failed: 1,
      failures: `It printed no summary:\n${output.slice(-MAX_LENGTH)}`,
    };
  }
  return { passed, failed, failures: failed === 0 ? "" : failuresIn(output) };
}

/** TAP says `# pass 7`, Bun says `7 pass`. */
function countOf(output: string, word: string): number | null {
  const found = new RegExp(`^(?:# ${word} (\\d+)| *(\\d+) ${word})$`, "m").exec(output);
  return found === null ? null : Number(found[1] ?? found[2]);
}

function failuresIn(output: string): string {
  const found = [...output.matchAll(TAP_FAILURE)].map(([, name, detail]) => `✗ ${name}\n${detail}`);
  if (found.length === 0) return output.slice(-MAX_LENGTH);
  // Why a whole file could not be run stands in the comments only.
  const comments = output.split("\n").filter((line) => TAP_COMMENT.test(line));
  return [...found, ...comments].join("\n").slice(0, MAX_LENGTH);
}
