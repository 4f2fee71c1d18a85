/**
 * A dashboard on an engine with a fake clock, asked without a server.
 */

import assert from "node:assert/strict";
import { hero, policy, workflow, type WorkflowDefinition } from "../../mod.ts";
import { type Dashboard, dashboard, type DashboardOptions } from "../../src/dashboard/mod.ts";
import { type TestEngine, testEngine, type TestEngineOptions } from "../../src/testing/mod.ts";

/** Where the dashboard is, as a browser on this machine sees it. */
export const ORIGIN = "http://localhost:8000";

/** What a test asks. */
export interface World extends TestEngine {
  /** The handler. */
  readonly handler: Dashboard;
  /** Asks for a path. */
  ask(path: string, init?: RequestInit): Promise<Response>;
  /** The text of a page, which must be there. */
  page(path: string): Promise<string>;
  /** The data of a JSON endpoint, which must be there. */
  // deno-lint-ignore no-explicit-any -- tests look into it
  json(path: string): Promise<any>;
  /** Sends the form of a page as its browser would: with its cookie and its token. */
  post(
    path: string,
    fields: Readonly<Record<string, string>>,
    init?: RequestInit,
  ): Promise<Response>;
}

/** Opens a dashboard; closing it closes the engine, too. */
export async function open(
  engineOptions: TestEngineOptions = {},
  options: DashboardOptions = {},
): Promise<World> {
  const t = await testEngine({ workflows: [...SHOP], ...engineOptions });
  const handler = dashboard(t.engine, options);
  const ask = (path: string, init?: RequestInit): Promise<Response> =>
    handler(new Request(`${ORIGIN}${path}`, init));
  const close = async (): Promise<void> => {
    handler.close();
    await t.engine.close();
  };
  return {
    ...t,
    handler,
    ask,
    async page(path) {
      const response = await ask(path);
      const text = await response.text();
      assert.equal(response.status, 200, text);
      return text;
    },
    async json(path) {
      const response = await ask(path);
      assert.equal(response.status, 200, path);
      assert.match(response.headers.get("content-type") ?? "", /^application\/json/);
      return await response.json();
    },
    async post(path, fields, init = {}) {
      const ticket = await ticketFor(ask);
      return await ask(path, {
        method: "POST",
        headers: { cookie: ticket.cookie, "sec-fetch-site": "same-origin" },
        body: new URLSearchParams({ pawl_csrf: ticket.token, ...fields }),
        ...init,
      });
    },
    [Symbol.dispose]: () => void close(),
    [Symbol.asyncDispose]: close,
  };
}

/** The cookie and the token that a browser has after its first page. */
export async function ticketFor(
  ask: World["ask"],
): Promise<{ cookie: string; token: string }> {
  const response = await ask("/");
  const cookie = (response.headers.get("set-cookie") ?? "").split(";")[0] as string;
  await response.body?.cancel();
  return { cookie, token: cookie.split("=")[1] as string };
}

class CardDeclined extends Error {}
class CarrierDown extends Error {}

const orders = hero("Order", { load: (id) => ({ id }) });

/** An order whose card may be refused. */
export const order: WorkflowDefinition = workflow({
  name: "order",
  hero: orders,
  onException: policy("reattempt", { matching: CarrierDown, wait: 30_000, maxReattempts: 2 }),
  steps: [
    {
      name: "charge",
      run: ({ input }) => {
        const { fail } = (input ?? {}) as { fail?: string };
        if (fail === "card") throw new CardDeclined("Card 4711 was declined");
        if (fail === "carrier") throw new CarrierDown("The carrier answered 503");
      },
    },
    { name: "approve", waitFor: "approved", run: () => {} },
    { name: "ship", wait: "2 days", run: () => {} },
    { name: "thank", run: () => {} },
  ],
});

/** A step that takes its time, in chunks. */
export const bulk: WorkflowDefinition = workflow({
  name: "bulk_mail",
  steps: [
    {
      name: "send",
      resumable: true,
      maxIterations: 3,
      run: async ({ iter }) => {
        await iter.over(Array.from({ length: 7 }, (_, at) => at), (at) => {
          iter.progress(at + 1, 7, "sending");
        });
      },
    },
    { name: "report", run: () => {} },
  ],
});

/** A step that asks for a pause itself. */
export const review: WorkflowDefinition = workflow({
  name: "review",
  hero: orders,
  steps: [
    { name: "look", run: ({ pause }) => pause() },
    { name: "file", run: () => {} },
  ],
});

/** All of them. */
export const SHOP: readonly WorkflowDefinition[] = [order, bulk, review];

/** Runs whatever is due now; what bodies throw is stored and not the test's business. */
export async function runDue({ clock }: Pick<World, "clock">): Promise<void> {
  await clock.tick(1);
}

/** The text of HTML without its tags, with its spaces made one. */
export function textOf(markup: string): string {
  return markup.replace(/<(style|script)[^]*?<\/\1>/g, " ").replace(/<[^>]+>/g, " ")
    .replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">").replaceAll("&amp;", "&").replace(/\s+/g, " ").trim();
}

/** The element of an id with its content, up to the next region. */
export function regionOf(page: string, id: string): string {
  const at = page.search(new RegExp(`<(div|section) id="${id}"`));
  assert.ok(at >= 0, `the page has the region ${id}`);
  const rest = page.slice(at + 1);
  const next = rest.search(/<(div|section) id="[a-z]+" data-region|<\/main>/);
  return `<${rest.slice(0, next < 0 ? undefined : next)}`;
}
