/**
 * A real browser for tests: Debian's Chromium, or the one that `PAWL_TEST_CHROMIUM` names. Where
 * there is none the tests are ignored; in CI as root on Debian it is installed.
 */

import assert from "node:assert/strict";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
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
  /** Waits until so many open pages renew themselves. */
  untilOpenPages(count: number): Promise<void>;
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
    untilOpenPages: (count) =>
      look(
        () => Promise.resolve(handler.openPages),
        (seen) => seen === count,
        `${count} open pages`,
      ),
    async [Symbol.asyncDispose]() {
      handler.close();
      await server.shutdown();
      await engine.close();
      await fresh.drop();
    },
  };
}

/** A page that reports what a browser complains about. */
export interface Watched extends AsyncDisposable {
  /** The page. */
  readonly page: Page;
  /** Errors of scripts, refusals of the Content-Security-Policy, dialogs. */
  readonly complaints: string[];
}

/** Opens a page in a context of its own. */
export async function openPage(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<Watched> {
  const context = await browser.newContext({ timezoneId: "Asia/Kolkata", ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("dialog", (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return { page, complaints, [Symbol.asyncDispose]: () => context.close() };
}

/** What a scenario is given. */
export interface Scene {
  /** A dashboard on a database of its own, with actions. */
  readonly site: Site;
  /** The browser. */
  readonly browser: Browser;
  /** A page of it; at the end it must have had nothing to complain about. */
  readonly page: Page;
  /** What it complained about so far. */
  readonly complaints: string[];
  /** The kind of the database. */
  readonly database: BrowserDatabase;
}

/** Something that somebody does with the dashboard. */
export type Scenario = (scene: Scene) => Promise<void>;

/** Registers a test per database, with a step per scenario. */
export async function browserTests(
  title: string,
  scenarios: Readonly<Record<string, Scenario>>,
): Promise<void> {
  const path = await findBrowser();
  for (const database of await databases()) {
    const ignore = path === null || !database.isThere;
    Deno.test({ name: `${title} in a browser on ${database.name}`, ignore }, async (t) => {
      const browser = await launch(path as string);
      try {
        for (const [name, scenario] of Object.entries(scenarios)) {
          await t.step(name, async () => {
            await using site = await serve(database);
            await using watched = await openPage(browser);
            await scenario({ site, browser, database, ...watched });
            assert.deepEqual(watched.complaints, []);
          });
        }
      } finally {
        await browser.close();
      }
    });
  }
}

const PATIENCE_MS = 20_000;
const GLANCE_MS = 30;

/** Looks again and again until something holds, and says what it saw when it never does. */
async function look<T>(
  read: () => Promise<T>,
  holds: (seen: T) => boolean,
  what: string,
): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  let seen = await read();
  while (!holds(seen)) {
    if (Date.now() > deadline) throw new Error(`Never ${what}; at last: ${seen}`);
    await new Promise((resolve) => setTimeout(resolve, GLANCE_MS));
    seen = await read();
  }
}

function textIn(page: Page, selector: string): Promise<string> {
  return page.locator(selector).first().innerText({ timeout: PATIENCE_MS }).catch(() => "");
}

/** Waits until an element says something. */
export async function until(page: Page, selector: string, text: RegExp): Promise<void> {
  await look(() => textIn(page, selector), (seen) => text.test(seen), `${selector} says ${text}`);
}

/** Waits until an element says something else than before. */
export async function untilOther(page: Page, selector: string, before: string): Promise<void> {
  await look(() => textIn(page, selector), (seen) => seen !== before, `${selector} changes`);
}

/** Waits until there are so many elements. */
export async function untilCount(page: Page, selector: string, count: number): Promise<void> {
  const many = (): Promise<number> => page.locator(selector).count();
  await look(many, (seen) => seen === count, `${count} of ${selector}`);
}
