/**
 * The demo of the dashboard: a shop on a busy day.
 *
 * `deno task demo:dashboard` fills an SQLite database with the last 24 hours of a shop, starts a
 * worker and new orders, and serves the dashboard on this machine. `--port`, `--workflows`,
 * `--read-only`.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import { createEngine, type Engine } from "../../mod.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { dashboard, toNodeListener } from "../../src/dashboard/mod.ts";
import { diceFrom, storiesOfADay } from "./day.ts";
import { orderFulfilment, refund, SHOP, welcome } from "./shop.ts";
import { tell } from "./writer.ts";

/** A shop that is open. */
export interface OpenShop {
  /** Where its dashboard is. */
  readonly url: string;
  /** Its engine. */
  readonly engine: Engine;
  /** Closes it and deletes its database. */
  close(): Promise<void>;
}

/** How a shop is opened. */
export interface ShopOptions {
  /** The port of the dashboard; 0: any. */
  readonly port: number;
  /** How many workflows the last 24 hours had. */
  readonly workflows: number;
  /** Whether workflows can be steered. */
  readonly actions: boolean;
  /** Whether new customers come in. */
  readonly traffic: boolean;
}

/** Opens the shop. */
export async function openShop(options: ShopOptions): Promise<OpenShop> {
  const folder = mkdtempSync(join(tmpdir(), "pawl-shop-"));
  const db = new DatabaseSync(join(folder, "shop.db"));
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA busy_timeout = 1000");
  const store = sqliteStore(db);
  const reportError = (): void => {}; // what fails in this shop is seen on the dashboard
  const engine = createEngine({
    store,
    workflows: SHOP,
    concurrency: 12,
    pollMs: 200,
    reportError,
  });
  await engine.migrate();
  const nowMs = Date.now();
  for (const story of storiesOfADay(options.workflows, nowMs, diceFrom(7))) {
    await tell(store, story, nowMs);
  }
  db.exec("ANALYZE");
  const stop = options.traffic ? traffic(engine) : () => Promise.resolve();
  const handler = dashboard(engine, { actions: options.actions, title: "Shop" });
  const server = createServer(toNodeListener(handler));
  await new Promise<void>((resolve) => server.listen(options.port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    engine,
    async close() {
      handler.close();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await stop();
      await engine.close();
      db.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A worker, and customers who come and go as long as it runs. */
function traffic(engine: Engine): () => Promise<void> {
  const worker = engine.work();
  let customer = 500_000;
  const timer = setInterval(() => {
    const id = String(++customer);
    const luck = Math.random();
    const started = luck < 0.7
      ? engine.start(orderFulfilment, { hero: id, input: { lines: 2, total: 49.9 } })
      : luck < 0.93
      ? engine.start(welcome, { hero: id, input: { plan: "free" } })
      : engine.start(refund, { hero: id, input: { amount: 12.5 } });
    started.catch((error) => console.error(error));
  }, 900);
  return async () => {
    clearInterval(timer);
    await worker.stop();
  };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: "string", default: "8123" },
      workflows: { type: "string", default: "3000" },
      "read-only": { type: "boolean", default: false },
    },
  });
  const [port, workflows] = [Number(values.port), Number(values.workflows)];
  if (!(port >= 0 && port < 65_536) || !Number.isSafeInteger(workflows) || workflows < 1) {
    console.error("Cannot open the shop: --port and --workflows must be whole numbers");
    process.exit(2);
  }
  console.log("Writing the last 24 hours of the shop …");
  const shop = await openShop({ port, workflows, actions: !values["read-only"], traffic: true });
  console.log(`The dashboard is at ${shop.url} (Ctrl-C ends it)`);
  const end = async (): Promise<void> => {
    await shop.close();
    process.exit(0);
  };
  process.once("SIGINT", () => void end());
  process.once("SIGTERM", () => void end());
}

if (import.meta.main) await main();
