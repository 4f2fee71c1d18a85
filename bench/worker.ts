/** A process that runs workflows which others started, and prints its resident memory in MB. */

import process from "node:process";
import { sqliteStore } from "../drivers/sqlite/mod.ts";
import { runAll } from "./pawl.ts";

const [file = "", workflows = "100"] = process.argv.slice(2);
const store = sqliteStore(file);
await runAll(store, Number(workflows));
console.log(process.memoryUsage().rss / 1_000_000);
await store.close();
