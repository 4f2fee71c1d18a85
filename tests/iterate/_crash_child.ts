/**
 * A process that works on a resumable step until it is killed or the workflow has ended.
 *
 * `deno run -A tests/iterate/_crash_child.ts <database file> <journal file>`
 */

import { closeSync, openSync, writeSync } from "node:fs";
import process from "node:process";
import { createEngine } from "../../mod.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { CRASH_LEASE_MS, walk } from "./_crash_workflow.ts";

const [database = "", journal = ""] = process.argv.slice(2);
const file = openSync(journal, "a");
const definition = walk((item) => writeSync(file, `${item}\n`));
const engine = createEngine({
  store: sqliteStore(database),
  workflows: [definition],
  leaseMs: CRASH_LEASE_MS,
  pollMs: 20,
});
const worker = engine.work({ concurrency: 1 });
engine.events.on("finalize", ({ workflowState }) => {
  if (workflowState === "finished") void worker.stop();
});
await worker.stopped;
await engine.close();
closeSync(file);
