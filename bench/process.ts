/** What a process of its own costs: memory after many steps, and the time to import Pawl. */

import { execFileSync } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { freshSqlite } from "../tests/_servers.ts";

/** Runs so many workflows of five steps in a process of its own and answers its memory in MB. */
export async function peakMegabytes(workflows: number): Promise<number> {
  await using database = await freshSqlite({ record: false });
  const worker = fileURLToPath(new URL("./worker.ts", import.meta.url));
  return Number(runDeno(["run", "-A", "--no-check", worker, database.url, String(workflows)]));
}

/** How long a process of its own takes to import mod.ts, in milliseconds. */
export function startUpMs(): Promise<number> {
  const entry = new URL("../mod.ts", import.meta.url).href;
  const script = `const at = performance.now(); await import(${JSON.stringify(entry)});
    console.log(performance.now() - at);`;
  // Once for the cache of compiled code, once for the figure.
  runDeno(["eval", script]);
  return Promise.resolve(Number(runDeno(["eval", script])));
}

function runDeno(args: string[]): string {
  return execFileSync(process.execPath, args, { encoding: "utf8" }).trim();
}
