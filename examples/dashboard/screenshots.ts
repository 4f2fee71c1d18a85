/**
 * Takes the pictures for the documentation, of the dashboard and of the command line:
 * `deno task screenshots`, or `deno task screenshots terminal` for the latter only.
 *
 * It opens the shop of the demo and needs a Chromium: Debian's, or the one that
 * `PAWL_TEST_CHROMIUM` names.
 */

import { mkdirSync } from "node:fs";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import { night } from "../timeline.ts";
import { openShop } from "./main.ts";
import { terminalPage } from "./terminal.ts";

const FOLDER = fileURLToPath(new URL("../../docs/images/", import.meta.url));
const TRAFFIC_MS = 20_000;

/** One picture. */
interface Picture {
  readonly name: string;
  readonly path: string;
  readonly dark?: boolean;
  readonly size?: { readonly width: number; readonly height: number };
  /** What is done before it is taken. */
  readonly prepare?: (page: Page) => Promise<void>;
}

const SCREEN = { width: 1_280, height: 900 };
const PHONE = { width: 390, height: 844 };

async function take(browser: Browser, url: string, picture: Picture): Promise<void> {
  const context = await browser.newContext({
    viewport: picture.size ?? SCREEN,
    colorScheme: picture.dark ? "dark" : "light",
    timezoneId: "Europe/Berlin",
    deviceScaleFactor: picture.size === PHONE ? 2 : 1,
  });
  const page = await context.newPage();
  await page.goto(`${url}${picture.path}`);
  await page.locator("#live[data-renewed], body:not([data-live])").first().waitFor();
  await picture.prepare?.(page);
  await page.screenshot({ path: `${FOLDER}${picture.name}.png` });
  await context.close();
  console.log(`docs/images/${picture.name}.png`);
}

/** The command line's own drawing of a workflow. */
async function takeTerminal(browser: Browser): Promise<void> {
  const page = await browser.newPage({ viewport: SCREEN, deviceScaleFactor: 2 });
  await page.setContent(terminalPage(await night({ colours: true })));
  await page.locator("pre").screenshot({ path: `${FOLDER}timeline.png` });
  await page.close();
  console.log("docs/images/timeline.png");
}

async function takeDashboard(browser: Browser): Promise<void> {
  const shop = await openShop({ port: 0, workflows: 3_000, actions: true, traffic: true });
  try {
    // Some customers come in first, so that the last minutes are not empty.
    await sleep(TRAFFIC_MS);
    const paused =
      (await shop.engine.list({ state: "paused", workflow: "order_fulfilment" })).items;
    const histories = await Promise.all(paused.map((run) => run.history()));
    const failed = paused[histories.findIndex((history) => history.length > 5)]?.id ?? "";
    const [running] = (await shop.engine.list({ workflow: "catalogue_import" })).items;
    const pictures: readonly Picture[] = [
      { name: "overview", path: "" },
      { name: "overview_dark", path: "", dark: true },
      { name: "list", path: "workflows?state=paused" },
      { name: "workflow", path: `workflows/${failed}` },
      { name: "import_dark", path: `workflows/${running?.id}`, dark: true },
      { name: "phone", path: `workflows/${failed}`, size: PHONE },
      {
        name: "actions",
        path: `workflows/${failed}`,
        prepare: (page) => page.locator("summary.b-resume").click(),
      },
    ];
    for (const picture of pictures) await take(browser, shop.url, picture);
  } finally {
    await shop.close();
  }
}

async function main(only: string | undefined): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  const browser = await chromium.launch({
    executablePath: process.env.PAWL_TEST_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
  });
  try {
    await takeTerminal(browser);
    if (only !== "terminal") await takeDashboard(browser);
  } finally {
    await browser.close();
  }
}

await main(process.argv[2]);
