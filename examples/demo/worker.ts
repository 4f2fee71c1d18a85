/**
 * One process of the demo: a worker that runs until it is told to stop, or killed.
 *
 * `deno run -A examples/demo/worker.ts <database file> <name> <milliseconds per day>`
 */

import { DatabaseSync } from "node:sqlite";
import process from "node:process";
import { createEngine } from "../../mod.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { signup } from "./signup.ts";
import { LEASE_MS } from "./lease.ts";

const [file = "", name = "worker", dayMs = "1000"] = process.argv.slice(2);
const db = new DatabaseSync(file);
db.exec("PRAGMA busy_timeout = 1000");
const definition = signup({
  db,
  dayMs: Number(dayMs),
  say: (line) => console.log(`    ${name} ${line}`),
});
const engine = createEngine({
  store: sqliteStore(db),
  workflows: [definition],
  leaseMs: LEASE_MS,
  pollMs: 100,
  // What goes wrong is told by the steps themselves; without a logger it would be on the console.
  logger: { debug() {}, info() {}, warn() {}, error() {} },
});
const worker = engine.work();
process.once("SIGTERM", () => void worker.stop());
await worker.stopped;
await engine.close();
db.close();
