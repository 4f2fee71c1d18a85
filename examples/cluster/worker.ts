/**
 * One worker process. It notes every body that runs in its own journal, and ends on SIGTERM or when
 * whoever started it has gone.
 *
 * `deno run -A examples/cluster/worker.ts <JSON of WorkerTask>`
 */

import { closeSync, openSync, writeSync } from "node:fs";
import process from "node:process";
import { openEngine, orderAt, type Where } from "./engine.ts";

/** What a worker process is told. */
export interface WorkerTask extends Where {
  /** The file in which it notes the bodies that ran. */
  readonly journal: string;
  /** How long each body takes. */
  readonly paceMs: number;
}

if (import.meta.main) await main(JSON.parse(process.argv[2] ?? "") as WorkerTask);

async function main({ journal, paceMs, ...where }: WorkerTask): Promise<void> {
  const file = openSync(journal, "a");
  const definition = orderAt(where, async (line) => {
    writeSync(file, `${line}\n`);
    if (paceMs > 0) await new Promise((resolve) => setTimeout(resolve, paceMs));
  });
  const engine = await openEngine(where, definition);
  const worker = engine.work({ concurrency: 20 });
  const stop = (): void => void worker.stop();
  process.once("SIGTERM", stop);
  // Ctrl-C reaches every process of a terminal; the one who started this one decides.
  process.on("SIGINT", () => {});
  process.stdin.once("end", stop).resume();
  await worker.stopped;
  await engine.close();
  closeSync(file);
  process.stdin.destroy();
}
