/**
 * A process of its own that migrates one file over several connections at once and prints how many
 * of them applied something.
 *
 * @module
 */

import { sqliteStore } from "../../drivers/sqlite/mod.ts";

const [path, count] = Deno.args;
const stores = Array.from({ length: Number(count) }, () => sqliteStore(path as string));
const reports = await Promise.all(stores.map((store) => store.migrate()));
console.log(reports.filter((report) => report.applied.length > 0).length);
await Promise.all(stores.map((store) => store.close()));
