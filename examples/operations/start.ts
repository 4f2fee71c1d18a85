/**
 * Starts payments for so many orders: `deno run -A examples/operations/start.ts 3`.
 *
 * The database is the one that `PAWL_DATABASE` names, as it is for the command line.
 *
 * @module
 */

import process from "node:process";
import { createEngine, type StoreDriver } from "@pawl/pawl";
import { payment } from "./payments.ts";

async function open(address: string): Promise<StoreDriver> {
  if (address.startsWith("postgres:")) {
    return (await import("@pawl/pawl/postgres")).postgresStore(address);
  }
  if (address.startsWith("mysql:")) return (await import("@pawl/pawl/mysql")).mysqlStore(address);
  return (await import("@pawl/pawl/sqlite")).sqliteStore(address);
}

const count = Number(process.argv[2] ?? 1);
const store = await open(process.env.PAWL_DATABASE ?? "app.db");
const engine = createEngine({ store, workflows: [payment] });
const heroes = Array.from({ length: count }, (_, at) => ({
  hero: String(101 + at),
  input: { amount: 4200 + at },
}));
const started = await engine.startMany(payment, heroes);
console.log(`Started ${started.filter((one) => one.kind === "started").length} payments`);
await engine.close();
