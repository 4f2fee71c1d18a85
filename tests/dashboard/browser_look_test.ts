/**
 * Good to look at and to use: contrast, width, steadiness, keyboard, names for those who cannot see.
 */

import assert from "node:assert/strict";
import type { Browser, Page } from "playwright-core";
import {
  databases,
  findBrowser,
  launch,
  openPage,
  serve,
  type Site,
  until,
  untilCount,
} from "./_browser.ts";
import { bulk, order, review } from "./_world.ts";

const path = await findBrowser();
const [sqlite] = await databases();

/** A site with workflows in every state, and the addresses of its pages. */
async function furnished(site: Site): Promise<string[]> {
  const { engine } = site;
  const failed = await engine.start(order, {
    hero: "1",
    input: { fail: "card", note: "x".repeat(200) },
  });
  const retried = await engine.start(order, { hero: "2", input: { fail: "carrier" } });
  const waiting = await engine.start(order, { hero: "3" });
  const mailed = await engine.start(bulk);
  await (await engine.start(order, { hero: "4" })).cancel();
  await engine.start(review, { hero: "5" });
  const worker = engine.work();
  const isDone = async (): Promise<boolean> =>
    (await failed.reload()).state === "paused" && (await mailed.reload()).state === "finished" &&
    (await retried.history()).length > 1 && (await waiting.history()).length > 1;
  while (!await isDone()) await new Promise((resolve) => setTimeout(resolve, 10));
  await worker.stop();
  await waiting.signal("other", { by: "ann" });
  const ids = [failed, retried, waiting, mailed].map((run) => `workflows/${run.id}`);
  return ["", "workflows", "workflows?q=nobody", ...ids, "bulk?action=resume", "workflows/999"];
}

async function inBrowser(test: (browser: Browser, site: Site) => Promise<void>): Promise<void> {
  const browser = await launch(path as string);
  try {
    await using site = await serve(sqlite as NonNullable<typeof sqlite>);
    await test(browser, site);
  } finally {
    await browser.close();
  }
}

/** What is too pale to be read: every text against the colour that it really stands on. */
const PALE = `(() => {
  const luminance = ([r, g, b]) => {
    const part = (value) => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r / 255) + 0.7152 * part(g / 255) + 0.0722 * part(b / 255);
  };
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const colour = (text, under) => {
    canvas.fillStyle = "rgb(" + under.join(" ") + ")";
    canvas.fillRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const ground = (element) => {
    if (element === null) return [255, 255, 255];
    return colour(getComputedStyle(element).backgroundColor, ground(element.parentElement));
  };
  const found = [];
  for (const element of document.body.querySelectorAll("*")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== "");
    const style = getComputedStyle(element);
    if (!own || !element.checkVisibility() || element.closest(".off, .sr, noscript, svg, option")) continue;
    const under = ground(element);
    const text = colour(style.color, under).map((value, at) => {
      let opacity = 1;
      for (let one = element; one !== null; one = one.parentElement) opacity *= getComputedStyle(one).opacity;
      return value * opacity + under[at] * (1 - opacity);
    });
    const [light, dark] = [luminance(text), luminance(under)].sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05);
    const isLarge = parseFloat(style.fontSize) >= 24 ||
      (parseFloat(style.fontSize) >= 18.6 && style.fontWeight >= 700);
    if (ratio < (isLarge ? 3 : 4.5)) {
      found.push(element.className + " " + ratio.toFixed(2) + " " + element.textContent.trim().slice(0, 40));
    }
  }
  return found;
})()`;

/** What somebody who cannot see would meet without a name. */
const NAMELESS = `(() => {
  const found = [];
  for (const field of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    if (field.labels.length === 0 && !field.hasAttribute("aria-label")) found.push(field.outerHTML);
  }
  for (const element of document.querySelectorAll("a, button, summary")) {
    if (element.textContent.trim() === "" && !element.hasAttribute("aria-label")) found.push(element.outerHTML);
  }
  for (const svg of document.querySelectorAll("svg")) {
    const isHidden = svg.closest("[aria-hidden=true]") !== null;
    if (!isHidden && !(svg.getAttribute("role") === "img" && svg.getAttribute("aria-label"))) {
      found.push(svg.outerHTML.slice(0, 80));
    }
  }
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push("twice: " + id);
  return found;
})()`;

Deno.test(
  { name: "every text can be read, by day and by night", ignore: path === null },
  async () => {
    await inBrowser(async (browser, site) => {
      const addresses = await furnished(site);
      for (const colorScheme of ["light", "dark"] as const) {
        await using watched = await openPage(browser, { colorScheme });
        for (const address of addresses) {
          await watched.page.goto(`${site.url}${address}`);
          assert.deepEqual(await watched.page.evaluate(PALE), [], `${colorScheme} ${address}`);
        }
      }
    });
  },
);

Deno.test(
  { name: "no page is wider than a phone, a tablet or a screen", ignore: path === null },
  async () => {
    await inBrowser(async (browser, site) => {
      const addresses = await furnished(site);
      for (const width of [360, 768, 1_280]) {
        await using watched = await openPage(browser, { viewport: { width, height: 800 } });
        for (const address of addresses) {
          await watched.page.goto(`${site.url}${address}`);
          const wide = await watched.page.evaluate(
            "document.documentElement.scrollWidth - innerWidth",
          );
          assert.ok(Number(wide) <= 0, `${address} is ${wide} px wider than ${width}`);
        }
      }
    });
  },
);

/** How much has moved on the page without anybody having done anything. */
const MOVED = `new Promise((resolve) => {
  let moved = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) moved += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
  requestAnimationFrame(() => requestAnimationFrame(() => resolve(moved)));
})`;

Deno.test({
  name: "nothing moves when a page takes over from the server, or renews itself",
  ignore: path === null,
}, async () => {
  await inBrowser(async (browser, site) => {
    const addresses = await furnished(site);
    await using watched = await openPage(browser, { viewport: { width: 1_280, height: 900 } });
    const { page } = watched;
    for (const address of addresses.slice(0, 7)) {
      await page.goto(`${site.url}${address}`);
      await untilCount(page, "#live[data-renewed]", 1);
      const moved = Number(await page.evaluate(MOVED));
      assert.ok(moved < 0.01, `${address} moved by ${moved}`);
    }
  });
});

Deno.test(
  { name: "everything has a name for those who cannot see", ignore: path === null },
  async () => {
    await inBrowser(async (browser, site) => {
      const addresses = await furnished(site);
      await using watched = await openPage(browser);
      const { page } = watched;
      for (const address of addresses) {
        await page.goto(`${site.url}${address}`);
        assert.deepEqual(await page.evaluate(NAMELESS), [], address);
        assert.equal(await page.locator("h1").count(), 1, `${address} has one heading`);
        assert.equal(await page.getByRole("main").count(), 1);
        assert.equal(await page.getByRole("banner").count(), 1);
      }
      await page.goto(`${site.url}workflows`);
      assert.equal(await page.getByRole("navigation", { name: "Main" }).count(), 1);
      assert.equal(await page.getByRole("search").count(), 1);
      assert.equal(await page.getByRole("contentinfo").count(), 1);
    });
  },
);

/** Presses Tab until something has the focus. */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(`document.activeElement?.matches(${JSON.stringify(selector)})`)) return;
  }
  throw new Error(`Tab never reaches ${selector}`);
}

Deno.test({ name: "a workflow is paused without a mouse", ignore: path === null }, async () => {
  await inBrowser(async (browser, site) => {
    const run = await site.engine.start(order, { hero: "1" });
    await using watched = await openPage(browser);
    const { page } = watched;
    await page.goto(`${site.url}workflows`);
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate("document.activeElement.textContent"), "Skip to the content");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate("document.activeElement.id"), "main");
    await tabTo(page, ".row-link");
    await page.keyboard.press("Enter");
    await page.waitForURL(new RegExp(`/workflows/${run.id}$`));
    await tabTo(page, "summary.b-pause");
    await page.keyboard.press("Enter");
    await tabTo(page, "button.b-pause");
    await page.keyboard.press("Enter");
    await until(page, "[role=status]", /Paused/);
    assert.equal((await run.reload()).state, "paused");
  });
});

Deno.test(
  { name: "a filter keeps the focus of whoever uses the keyboard", ignore: path === null },
  async () => {
    await inBrowser(async (browser, site) => {
      await furnished(site);
      await using watched = await openPage(browser);
      const { page } = watched;
      await page.goto(`${site.url}workflows`);
      await tabTo(page, 'input[value="paused"]');
      await page.keyboard.press("Space");
      await page.waitForURL(/state=paused/);
      await until(page, "#summary", /^2 workflows/);
      assert.equal(await page.evaluate("document.activeElement.value"), "paused");
    });
  },
);

Deno.test(
  { name: "without JavaScript every page works, and stands still", ignore: path === null },
  async () => {
    await inBrowser(async (browser, site) => {
      const run = await site.engine.start(order, { hero: "1" });
      await using watched = await openPage(browser, { javaScriptEnabled: false });
      const { page } = watched;
      await page.goto(`${site.url}workflows`);
      await page.getByRole("checkbox", { name: "ready" }).check();
      await page.getByRole("button", { name: "Apply" }).click();
      await page.waitForURL(/state=ready/);
      await page.locator(".row-link").click();
      await page.locator("summary.b-pause").click();
      await page.getByRole("button", { name: "Pause it" }).click();
      await until(page, "[role=status]", /Paused/);
      assert.equal((await run.reload()).state, "paused");
      await until(page, "noscript", /does not renew itself/);
    });
  },
);
