/**
 * The dashboard in a real browser, on every database that can be reached.
 */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { browserTests, type Scenario, until, untilCount, untilOther } from "./_browser.ts";
import { bulk, order, review } from "./_world.ts";

/** Marks the document, to see later whether it was loaded again. */
async function mark(page: Page): Promise<void> {
  await page.evaluate(() => void ((globalThis as { marked?: boolean }).marked = true));
}

async function isMarked(page: Page): Promise<boolean> {
  return await page.evaluate(() => (globalThis as { marked?: boolean }).marked === true);
}

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  async "the overview renews itself, without a reload"({ site, page }) {
    await page.goto(site.url);
    await until(page, "#live", /Live/);
    await until(page, "#definitions", /0 workflows stored/);
    await mark(page);
    for (let hero = 0; hero < 3; hero++) await site.engine.start(order, { hero: String(hero) });
    await until(page, "#definitions", /3 workflows stored/);
    await until(page, "#figures", /READY\s*3|Ready\s*3/i);
    const worker = site.engine.work();
    await until(page, "#figures", /Steps, last hour\s*3/);
    await worker.stop();
    assert.ok(await isMarked(page));
  },

  async "filters change the list in place, and the browser's buttons go back and forth"(
    { site, page },
  ) {
    const { engine } = site;
    await (await engine.start(order, { hero: "1" })).pause();
    await (await engine.start(review, { hero: "2" })).pause();
    await engine.start(order, { hero: "3" });
    await page.goto(`${site.url}workflows`);
    await until(page, "#summary", /3 workflows/);
    await mark(page);
    await page.getByRole("checkbox", { name: "paused" }).check();
    await until(page, "#summary", /2 workflows/);
    assert.match(page.url(), /\?state=paused$/);
    assert.equal(await page.getByRole("checkbox", { name: "paused" }).isChecked(), true);
    await page.getByLabel("Definition").selectOption("review");
    await until(page, "#summary", /1 workflow$/);
    await page.goBack();
    await until(page, "#summary", /2 workflows/);
    assert.equal(await page.getByLabel("Definition").inputValue(), "");
    await page.goForward();
    await until(page, "#summary", /1 workflow$/);
    await page.getByRole("link", { name: "Clear all" }).click();
    await until(page, "#summary", /3 workflows/);
    assert.ok(await isMarked(page));
    // The list goes on renewing itself with its new filter.
    await engine.start(order, { hero: "4" });
    await until(page, "#summary", /4 workflows/);
  },

  async "pages are turned by key, and lead back"({ site, page }) {
    const items = Array.from({ length: 60 }, (_, at) => ({ hero: String(at) }));
    await site.engine.startMany(order, items);
    await page.goto(`${site.url}workflows?workflow=order`);
    await until(page, "#summary", /60 workflows/);
    assert.equal(await page.locator(".workflows tbody tr").count(), 50);
    await page.getByRole("link", { name: "Older" }).click();
    await untilCount(page, ".workflows tbody tr", 10);
    assert.match(page.url(), /after=/);
    await page.getByRole("link", { name: "Newest" }).click();
    await untilCount(page, ".workflows tbody tr", 50);
  },

  async "a search finds a hero, and goes straight to an id"({ site, page }) {
    const run = await site.engine.start(order, { hero: "the-hero" });
    await page.goto(site.url);
    await page.keyboard.press("/");
    await page.keyboard.type("the-hero");
    await page.keyboard.press("Enter");
    await until(page, "#rows", /the-hero/);
    await page.getByRole("searchbox").fill(run.id);
    await page.keyboard.press("Enter");
    await page.waitForURL(new RegExp(`/workflows/${run.id}$`));
    await until(page, "h1", /order/);
  },

  async "a paused workflow is resumed by clicking, and the page shows it finish"({ site, page }) {
    const run = await site.engine.start(bulk);
    await run.pause();
    await page.goto(`${site.url}workflows/${run.id}`);
    await until(page, "#headline", /Paused from outside/);
    const worker = site.engine.work();
    await page.locator("summary.b-resume").click();
    await page.getByRole("button", { name: "Resume it" }).click();
    await until(page, "[role=status]", /Resumed: it goes on/);
    assert.doesNotMatch(page.url(), /done/, "a reload does not say it again");
    await mark(page);
    await until(page, "#headline", /Finished/);
    await until(page, "#timeline", /3 chunks/);
    await until(page, "#actions", /nothing left to do/);
    assert.ok(await isMarked(page));
    await worker.stop();
  },

  async "a signal is typed while the page renews itself, and nothing typed is lost"(
    { site, page },
  ) {
    const run = await site.engine.start(order, { hero: "typed" });
    const worker = site.engine.work();
    await page.goto(`${site.url}workflows/${run.id}`);
    await until(page, "#headline", /Waits for the signal/);
    await page.locator("summary.b-signal").click();
    assert.equal(await page.getByLabel("Name").inputValue(), "approved");
    await page.getByLabel("Payload").fill('{ "by": "ann" }');
    // Another signal comes, and with it a new region with the form in it.
    await run.signal("other", 1);
    await until(page, "#signals", /other/);
    assert.equal(await page.getByLabel("Payload").inputValue(), '{ "by": "ann" }');
    assert.ok(
      await page.locator("details.action[open]").count() === 1,
      "what was opened stays open",
    );
    await page.getByRole("button", { name: "Send it" }).click();
    await until(page, "#signals", /approved[^]*"by": "ann"/);
    await until(page, "#headline", /Next is ship/);
    await worker.stop();
  },

  async "all that match are resumed after a look at how many they are"({ site, page }) {
    for (let hero = 0; hero < 4; hero++) {
      await (await site.engine.start(order, { hero: String(hero) })).pause();
    }
    await page.goto(`${site.url}workflows?state=paused`);
    await page.getByRole("link", { name: "Resume…" }).click();
    await until(page, "h1", /Resume 4 workflows\?/);
    await page.getByRole("button", { name: "Resume 4" }).click();
    await until(page, "h1", /4 workflows resumed/);
    await page.getByRole("link", { name: "Back to the list" }).click();
    await until(page, "#rows", /No workflows that are paused/);
  },

  async "times are in the reader's zone, with the exact instant on hover"({ site, page }) {
    const run = await site.engine.start(order, { hero: "1" });
    const worker = site.engine.work();
    await page.goto(`${site.url}workflows/${run.id}`);
    await until(page, "#headline", /Waits for the signal/);
    await worker.stop();
    await until(page, "#zone", /Asia\/(Kolkata|Calcutta)/);
    const started = page.locator('#history time[data-time="at"]').first();
    const iso = await started.getAttribute("datetime") ?? "";
    const local = new Date(Date.parse(iso) + 5.5 * 3_600_000).toISOString();
    assert.equal(await started.innerText(), `${local.slice(0, 10)} ${local.slice(11, 19)}`);
    const title = await started.getAttribute("title") ?? "";
    assert.ok(title.includes(iso), title);
    const created = page.locator("#identity time").first();
    const first = await created.innerText();
    await untilOther(page, "#identity time", first);
  },

  async "an open page can be held still, and a page that is left holds no stream"({ site, page }) {
    await page.goto(site.url);
    await until(page, "#definitions", /stored/);
    await untilCount(page, '#live[data-state="live"]', 1);
    await site.untilOpenPages(1);
    const button = page.locator("#live");
    await button.click();
    assert.equal(await button.getAttribute("aria-pressed"), "false");
    await until(page, "#live", /Paused/);
    await site.untilOpenPages(0);
    const before = await page.locator("#definitions").innerText();
    await site.engine.start(review, { hero: "unseen" });
    assert.equal(await page.locator("#definitions").innerText(), before);
    await button.click();
    await untilOther(page, "#definitions", before);
    await page.goto("about:blank");
    await site.untilOpenPages(0);
  },

  async "what the pointer is on is explained"({ site, page }) {
    const run = await site.engine.start(bulk);
    const worker = site.engine.work();
    await page.goto(`${site.url}workflows/${run.id}`);
    await until(page, "#headline", /Finished/);
    await worker.stop();
    await page.locator("#timeline rect.body").first().hover();
    await until(page, "#tip", /send: (chunk|completed)[^]+attempt 1/);
    assert.doesNotMatch(await page.locator("#tip").innerText(), /[{}]/);
  },
};

await browserTests("the dashboard", SCENARIOS);
