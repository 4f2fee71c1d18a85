/**
 * One worker process. It says every body that runs in its own journal, and ends on SIGTERM.
 *
 * `deno run -A tests/processes/_worker.ts <address of the store> <journal file> <milliseconds per body> <JSON of its queue>`
 */

import { closeSync, openSync, writeSync } from "node:fs";
import process from "node:process";
import { createEngine } from "../../mod.ts";
import { LEASE_MS, order } from "./_story.ts";
import { type QueueAddress, queueOptions } from "./_queues.ts";
import { openStore } from "./_stores.ts";

const [address = "", journal = "", paceMs = "0", task = "null"] = process.argv.slice(2);
const queue = (JSON.parse(task) ?? undefined) as QueueAddress | undefined;
const file = openSync(journal, "a");
const definition = order(async (line) => {
  writeSync(file, `${line}\n`);
  if (paceMs !== "0") await new Promise((resolve) => setTimeout(resolve, Number(paceMs)));
}, { queued: queue !== undefined });
const engine = createEngine({
  store: await openStore(address),
  ...await queueOptions(queue),
  workflows: [definition],
  leaseMs: LEASE_MS,
  pollMs: 50,
});
const worker = engine.work({ concurrency: 20 });
process.once("SIGTERM", () => void worker.stop());
await worker.stopped;
await engine.close();
closeSync(file);
