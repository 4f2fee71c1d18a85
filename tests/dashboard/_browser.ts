/**
 * A real browser for tests: Debian's Chromium, or the one that `PAWL_TEST_CHROMIUM` names. Where
 * there is none the tests are ignored; in CI as root on Debian it is installed.
 */

import { type Browser, chromium, type Page } from "playwright-core";
import type { Engine, StoreDriver } from "../../mod.ts";
import { createEngine } from "../../mod.ts";
import { mysqlStore } from "../../drivers/mysql/mod.ts";
import { postgresStore } from "../../drivers/postgres/mod.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { dashboard, type DashboardOptions } from "../../src/dashboard/mod.ts";
import {
  type FreshDatabase,
  freshMysql,
  freshPostgres,
  freshSqlite,
  mysqlServer,
  postgresServer,
} from "../_servers.ts";
import { findPrograms, install, type Launcher, mayInstall } from "../_start_servers.ts";
import { SHOP } from "./_world.ts";

const VARIABLE = "PAWL_TEST_CHROMIUM";

/** Only its package is of interest: a browser is started per test, and not as a server. */
const PACKAGE: Launcher = {
  programs: ["chromium"],
  package: "chromium",
  stopSignal: "KILL",
  launch: () => Promise.reject(new Error("A browser is no server")),
};

/** The path of a browser, or null when there is none; in CI that is an error. */
export async function findBrowser(): Promise<string | null> {
  const given = Deno.env.get(VARIABLE);
  if (given !== undefined) return given;
  const find = async (): Promise<string | null> =>
    (await findPrograms(["chromium"]))?.get("chromium") ?? null;
  const found = await find();
  if (found !== null || Deno.env.get("CI") !== "true") return found;
  if (await mayInstall()) await install(PACKAGE);
  const installed = await find();
  if (installed !== null) return installed;
  throw new Error(
    `Cannot test in a browser: there is no chromium; install it, or name one in ${VARIABLE}`,
  );
}

/** Starts a browser. */
export function launch(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: [
      ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
      ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
    ],
  });
}

/** A database that browser tests run on. */
export interface BrowserDatabase {
  /** Its name. */
  readonly name: string;
  /** Whether it is there. */
  readonly isThere: boolean;
  /** A fresh one. */
  fresh(): Promise<FreshDatabase>;
  /** Opens a store on it. */
  open(url: string): StoreDriver;
}

/** SQLite, and the servers that can be reached. */
export async function databases(): Promise<BrowserDatabase[]> {
  return [
    { name: "SQLite", isThere: true, fresh: freshSqlite, open: (url) => sqliteStore(url) },
    {
      name: "PostgreSQL",
      isThere: await postgresServer() !== null,
      fresh: freshPostgres,
      open: (url) => postgresStore(url),
    },
    {
      name: "MariaDB",
      isThere: await mysqlServer() !== null,
      fresh: freshMysql,
      open: (url) => mysqlStore(url),
    },
  ];
}

/** A dashboard that is served. */
export interface Site extends AsyncDisposable {
  /** The engine behind it. */
  readonly engine: Engine;
  /** Its store. */
  readonly store: StoreDriver;
  /** Where it is. */
  readonly url: string;
  /** How many open pages renew themselves. */
  openPages(): number;
}

/** Serves a dashboard on a fresh database; closing it closes everything. */
export async function serve(
  database: BrowserDatabase,
  options: DashboardOptions = { actions: true, refreshMs: 200 },
): Promise<Site> {
  const fresh = await database.fresh();
  const store = database.open(fresh.url);
  const engine = createEngine({ store, workflows: SHOP, pollMs: 50 });
  await engine.migrate();
  const handler = dashboard(engine, options);
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, handler);
  return {
    engine,
    store,
    url: `http://127.0.0.1:${server.addr.port}/`,
    openPages: () => handler.openPages,
    async [Symbol.asyncDispose]() {
      handler.close();
      await server.shutdown();
      await engine.close();
      await fresh.drop();
    },
  };
}

/** Waits until something holds in the page, and says what it saw when it never does. */
export async function until(
  page: Page,
  selector: string,
  text: RegExp,
  timeoutMs = 10_000,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  let seen = "";
  while (Date.now() < deadline) {
    seen = await page.locator(selector).first().innerText().catch(() => "");
    if (text.test(seen)) return;
    await page.waitForTimeout(30);
  }
  throw new Error(`${selector} never said ${text}; at last it said: ${seen}`);
}
