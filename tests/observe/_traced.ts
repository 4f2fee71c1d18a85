/** A process that traces: starts a workflow and runs its first step, or runs the next one. */

import process from "node:process";
import { createEngine, workflow } from "../../mod.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { performNextStep } from "../../src/testing/mod.ts";

const [file = "", id = ""] = process.argv.slice(2);
const parcel = workflow({
  name: "parcel",
  steps: [{ name: "pack", run: () => {} }, { name: "ship", wait: "3 days", run: () => {} }],
});
const engine = createEngine({ store: sqliteStore(file), workflows: [parcel] });
await engine.migrate();
const run = id === "" ? await engine.start(parcel) : await engine.find(id);
if (run !== null) await performNextStep(run);
await engine.close();
