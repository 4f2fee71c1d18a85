/**
 * The command line of Pawl.
 *
 * @example Look at the workflows in a database
 * ```sh
 * deno run -A jsr:@pawl/pawl/cli status --database postgres://localhost/app
 * ```
 *
 * @module
 */

import { realpathSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { systemIo } from "./io.ts";
import { run } from "./run.ts";

export type { Address, DatabaseKind } from "./database.ts";
export type { Io, StopSignal } from "./io.ts";
export { systemIo } from "./io.ts";
export { run } from "./run.ts";

/** Runs the command line on this process's arguments, and ends the process. */
export async function main(): Promise<void> {
  // Who pipes into `head` closes the pipe before everything is written.
  process.stdout.on("error", (error: Error & { code?: string }) => {
    process.exit(error.code === "EPIPE" ? 0 : 1);
  });
  const code = await run(process.argv.slice(2), systemIo());
  process.exitCode = code;
  // A body that did not end within a worker's grace period would keep the process alive.
  process.stdout.write("", () => process.exit(code));
}

/** Node 22 has no `import.meta.main`; there, the script that was started is compared. */
function isMain(): boolean {
  const { main } = import.meta as { main?: boolean };
  if (main !== undefined) return main;
  const script = process.argv[1];
  try {
    return script !== undefined && realpathSync(script) === fileURLToPath(import.meta.url);
  } catch {
    return false;
  }
}

if (isMain()) await main();
