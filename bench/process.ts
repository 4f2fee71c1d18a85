/** What a process of its own costs: memory after many steps, and the time to import Pawl. */

import { execFileSync } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { sqliteStore } from "../drivers/sqlite/mod.ts";
import { createEngine } from "../mod.ts";
import { freshSqlite } from "../tests/_servers.ts";
import { noops } from "./pawl.ts";

/** Runs so many workflows, started here, in a process of its own and answers its memory in MB. */
export async function workerMegabytes(workflows: number): Promise<number> {
  await using database = await freshSqlite({ record: false });
  const store = sqliteStore(database.url);
  const definition = noops(5);
  const engine = createEngine({ store, workflows: [definition] });
  await engine.migrate();
  await engine.startMany(definition, Array.from({ length: workflows }, () => ({})));
  await store.close();
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
