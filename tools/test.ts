/**
 * `deno task test`: runs the tests and says at the end which databases they ran on.
 *
 * Arguments are passed on to `deno test`, so `deno task test tests/state --filter EXC-24` works. The
 * last line is always `N passed, N failed`, and a run without a single test is a failure.
 *
 * @module
 */

import process from "node:process";
import { closingLine, databasesIn, databasesLine, finalTally, tallyIn } from "./summary.ts";

const ROOT = new URL("../", import.meta.url);

/** Runs the tests with these arguments and answers the exit code. */
export async function runTests(args: readonly string[]): Promise<number> {
  const record = await Deno.makeTempFile({ prefix: "pawl_test_record_" });
  try {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["test", "--allow-all", ...args],
      cwd: ROOT,
      env: { PAWL_TEST_RECORD: record },
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const output = await showAndKeep(child.stdout);
    const { code } = await child.status;
    const tally = tallyIn(output);
    if (tally === null) console.log("The tests did not run to their end");
    else if (tally.passed + tally.failed === 0) console.log("Not a single test was run");
    const final = finalTally(tally, code);
    console.log(databasesLine(databasesIn(await Deno.readTextFile(record))));
    console.log(closingLine(final));
    return code !== 0 ? code : final.failed > 0 ? 1 : 0;
  } finally {
    await Deno.remove(record);
  }
}

/** Shows what comes and keeps it too. */
async function showAndKeep(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let kept = "";
  for await (const chunk of stream) {
    kept += decoder.decode(chunk, { stream: true });
    await Deno.stdout.write(chunk);
  }
  return kept;
}

if (import.meta.main) process.exitCode = await runTests(Deno.args);
