/**
 * One worker process. It says every body that runs in its own journal, and ends on SIGTERM.
 *
 * `deno run -A tests/processes/_worker.ts <JSON of WorkerTask>`
 */

import { closeSync, openSync, writeSync } from "node:fs";
import process from "node:process";
import { openEngine, orderAt, type WorkerTask } from "./_engines.ts";

const { journal, paceMs, ...where } = JSON.parse(process.argv[2] ?? "") as WorkerTask;
const file = openSync(journal, "a");
const definition = orderAt(where, async (line) => {
  writeSync(file, `${line}\n`);
  if (paceMs > 0) await new Promise((resolve) => setTimeout(resolve, paceMs));
});
const engine = await openEngine(where, definition);
const worker = engine.work({ concurrency: 20 });
process.once("SIGTERM", () => void worker.stop());
await worker.stopped;
await engine.close();
closeSync(file);
