/**
 * One worker process under chaos.
 *
 * `deno run -A chaos/worker.ts <address> <journal> <milliseconds per body> <clock's error in ms>`
 */

import { closeSync, openSync, writeSync } from "node:fs";
import process from "node:process";
import { type Clock, createEngine, systemClock } from "../mod.ts";
import { book, openStore } from "./databases.ts";
import { LEASE_MS, story } from "./story.ts";

const [address = "", journal = "", paceMs = "0", skewMs = "0"] = process.argv.slice(2);
const file = openSync(journal, "a");
const clock: Clock = { ...systemClock, now: () => Date.now() + Number(skewMs) };
const engine = createEngine({
  store: openStore(address),
  clock,
  leaseMs: LEASE_MS,
  pollMs: 50,
  workflows: [story({
    paceMs: Number(paceMs),
    journal: (line) => void writeSync(file, `${line.join(" ")}\n`),
    book: (tx, id) => book(address, tx, id),
  })],
});
const worker = engine.work({ concurrency: 20, graceMs: 500 });
process.once("SIGTERM", () => void worker.stop());
await worker.stopped;
await engine.close();
closeSync(file);
