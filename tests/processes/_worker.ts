/**
 * One worker process. It says every body that runs in its own journal, and ends on SIGTERM.
 *
 * `deno run -A tests/processes/_worker.ts <address of the store> <journal file> <milliseconds per body>`
 */

import { closeSync, openSync, writeSync } from "node:fs";
import process from "node:process";
import { createEngine } from "../../mod.ts";
import { LEASE_MS, order } from "./_story.ts";
import { openStore } from "../_open_store.ts";

const [address = "", journal = "", paceMs = "0"] = process.argv.slice(2);
const file = openSync(journal, "a");
const definition = order(async (line) => {
  writeSync(file, `${line}\n`);
  if (paceMs !== "0") await new Promise((resolve) => setTimeout(resolve, Number(paceMs)));
});
const engine = createEngine({
  store: await openStore(address),
  workflows: [definition],
  leaseMs: LEASE_MS,
  pollMs: 50,
});
const worker = engine.work({ concurrency: 20 });
process.once("SIGTERM", () => void worker.stop());
await worker.stopped;
await engine.close();
closeSync(file);
