/**
 * What an attacker may try, in a real browser, on every database that can be reached.
 */

import assert from "node:assert/strict";
import { createEngine, hero, workflow, type WorkflowDefinition } from "../../mod.ts";
import { dashboard } from "../../src/dashboard/mod.ts";
import { browserTests, openPage, type Scenario, until, untilCount } from "./_browser.ts";
import { order } from "./_world.ts";

/** Shows itself if any of it is ever run: by a mark, by a dialog, by a request. */
const EVIL =
  `"'><script>globalThis.pwned=1;alert(1)</script><img src=/pwned onerror="globalThis.pwned=1">` +
  `<svg onload=globalThis.pwned=1><style>*{display:none}</style><iframe src=javascript:alert(1)>`;

/** Fits the narrowest column. */
const SHORT_EVIL = `"'><img src=/pwned onerror=globalThis.pwned=1>`;

const evil: WorkflowDefinition = workflow({
  name: `name ${SHORT_EVIL}`,
  hero: hero(`type ${SHORT_EVIL}`, { load: (id) => ({ id }) }),
  steps: [
    {
      name: `step ${SHORT_EVIL}`,
      resumable: true,
      run: async ({ iter }) => {
        iter.progress(1, 2, EVIL);
        await iter.set({ [EVIL]: EVIL });
        throw new Error(EVIL, { cause: new TypeError(EVIL) });
      },
    },
    { name: `second ${SHORT_EVIL}`, waitFor: `signal ${SHORT_EVIL}`, run: () => {} },
  ],
});

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  async "a payload in every field stays text"({ site, page }) {
    const engine = createEngine({ store: site.store, workflows: [evil] });
    const run = await engine.start(evil, {
      hero: `hero ${SHORT_EVIL}`,
      input: { [EVIL]: EVIL },
      metadata: { [EVIL]: EVIL },
    });
    await run.signal(`signal ${SHORT_EVIL}`, { [EVIL]: EVIL }, { idempotencyKey: SHORT_EVIL });
    const worker = engine.work();
    while ((await run.reload()).state !== "paused") {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await worker.stop();
    const requests: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    const query = new URLSearchParams({ hero: `hero ${SHORT_EVIL}`, step: EVIL.slice(0, 200) });
    const addresses = [
      "",
      "workflows",
      `workflows?${query}`,
      `workflows?q=${encodeURIComponent(EVIL)}`,
      `workflows/${run.id}`,
      `workflows/${run.id}?all=1&waits=short&done=${encodeURIComponent(EVIL)}`,
      `bulk?action=cancel&${query}`,
    ];
    for (const address of addresses) {
      await page.goto(`${site.url}${address}`);
      await until(page, "main", /onerror=/);
      // What the stream sends is put into the page, too.
      if (!address.startsWith("bulk")) await untilCount(page, "#live[data-renewed]", 1);
      assert.equal(await page.evaluate("globalThis.pwned ?? 0"), 0, address);
      assert.equal(await page.locator("main script, main iframe, main img, main style").count(), 0);
      assert.ok(await page.locator("header.top").isVisible(), "no style of it counts");
    }
    assert.deepEqual(requests.filter((url) => url.includes("pwned") && !url.includes("?")), []);
    await page.goto(`${site.url}workflows/${run.id}`);
    await page.locator("rect.body").first().hover();
    await until(page, "#tip", /onerror=/);
    assert.equal(await page.evaluate("globalThis.pwned ?? 0"), 0);
  },

  async "the page runs nothing that was written into it"({ site, page, complaints }) {
    await page.goto(site.url);
    await page.evaluate(`{
      const script = document.createElement("script");
      script.textContent = "globalThis.pwned = 1";
      document.body.append(script);
      const image = document.createElement("div");
      image.innerHTML = "<p onclick='globalThis.pwned = 1' style='color: red'>x</p>";
      document.body.append(image);
      image.firstChild.click();
    }`);
    assert.equal(await page.evaluate("globalThis.pwned ?? 0"), 0);
    assert.ok(
      complaints.length >= 2 && complaints.every((one) => /Content Security Policy/.test(one)),
    );
    complaints.length = 0;
  },

  async "a stranger sees nothing, neither pages nor data nor streams"(
    { site, page, browser, complaints },
  ) {
    const run = await site.engine.start(order, { hero: "confidential" });
    const handler = dashboard(site.engine, {
      actions: true,
      authorize: (request) => request.headers.get("authorization") === "Bearer right",
    });
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, handler);
    const url = `http://127.0.0.1:${server.addr.port}/`;
    for (
      const address of [
        "",
        "workflows",
        `workflows/${run.id}`,
        "json/workflows",
        "live/workflows",
        "bulk?action=cancel",
      ]
    ) {
      const response = await page.goto(`${url}${address}`);
      assert.equal(response?.status(), 403, address);
      assert.doesNotMatch(await page.content(), /confidential/);
    }
    // The browser complains of each refusal, some time later: a closed page has said all it will.
    await page.close();
    complaints.length = 0;
    await using operator = await openPage(browser, {
      extraHTTPHeaders: { authorization: "Bearer right" },
    });
    await operator.page.goto(`${url}workflows`);
    await until(operator.page, "#rows", /confidential/);
    handler.close();
    await operator.page.close();
    await server.shutdown();
  },

  async "a page of another site can neither act nor look"({ site, page, complaints }) {
    const run = await site.engine.start(order, { hero: "1" });
    // The reader has the dashboard open, with its cookie, and then visits an attacker's page.
    await page.goto(`${site.url}workflows/${run.id}`);
    const token = await page.locator("input[name=pawl_csrf]").first().inputValue();
    const attack = (fields: string): string =>
      `<!doctype html><form method="post" action="${site.url}workflows/${run.id}">
        <input name="action" value="cancel">${fields}</form>
        <iframe src="${site.url}workflows/${run.id}"></iframe>
        <script>document.forms[0].submit()</script>`;
    for (const fields of ["", `<input name="pawl_csrf" value="${token}">`]) {
      const attacker = Deno.serve(
        { hostname: "127.0.0.1", port: 0, onListen: () => {} },
        ({ url }) => {
          const body = url.endsWith("/nothing") ? "" : attack(fields);
          return new Response(body, { headers: { "content-type": "text/html" } });
        },
      );
      // Another name for the same machine is another site.
      await page.goto(`http://localhost:${attacker.addr.port}/`);
      await until(page, "h1", /Nothing was done/);
      assert.equal((await run.reload()).state, "ready");
      await page.goto(`http://localhost:${attacker.addr.port}/nothing`);
      const read = `fetch("${site.url}json/workflows").then((r) => r.text(), () => "refused")`;
      assert.equal(await page.evaluate(read), "refused");
      await page.goto("about:blank");
      await attacker.shutdown();
    }
    complaints.length = 0;
    // The very same form on the dashboard's own page does it.
    await page.goto(`${site.url}workflows/${run.id}`);
    await page.locator("summary.b-cancel").click();
    await page.getByRole("button", { name: "Cancel it for good" }).click();
    await until(page, "[role=status]", /Canceled for good/);
    // What the browser had to say of the attacks may come late.
    const late = /status of 403|Refused to|blocked by|ERR_(FAILED|BLOCKED)/;
    complaints.splice(0, complaints.length, ...complaints.filter((one) => !late.test(one)));
  },
};

await browserTests("attacks", SCENARIOS);
