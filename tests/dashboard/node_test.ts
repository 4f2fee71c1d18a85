import assert from "node:assert/strict";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type FetchHandler, toNodeListener } from "../../src/dashboard/mod.ts";
import { open, order } from "./_world.ts";

/** Serves a handler on node:http while a test runs. */
async function withServer(
  handler: FetchHandler,
  test: (url: string) => Promise<void>,
  prepare: (incoming: IncomingMessage) => void = () => {},
): Promise<void> {
  const listener = toNodeListener(handler);
  const server = createServer((incoming: IncomingMessage, outgoing: ServerResponse) => {
    prepare(incoming);
    void listener(incoming, outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await test(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }
}

Deno.test("toNodeListener() hands a request on as it is, and its answer back", async () => {
  await withServer(async (given) => {
    const body = await given.text();
    const headers = new Headers({
      "x-method": given.method,
      "x-path": new URL(given.url).pathname,
    });
    headers.append("set-cookie", "a=1");
    headers.append("set-cookie", "b=2");
    return new Response(`${body}|${given.headers.get("x-mine")}`, { status: 418, headers });
  }, async (url) => {
    const answer = await fetch(`${url}/a/b?c=d`, {
      method: "POST",
      headers: { "x-mine": "yes" },
      body: "hello",
    });
    assert.equal(answer.status, 418);
    assert.equal(answer.headers.get("x-method"), "POST");
    assert.equal(answer.headers.get("x-path"), "/a/b");
    assert.deepEqual(answer.headers.getSetCookie(), ["a=1", "b=2"]);
    assert.equal(await answer.text(), "hello|yes");
    const empty = await fetch(url, { method: "HEAD" });
    assert.equal(empty.headers.get("x-method"), "HEAD");
  });
});

Deno.test("toNodeListener() tells where a request came from, and the whole path of Express", async () => {
  const seen: unknown[] = [];
  const handler: FetchHandler = (given, connection) => {
    seen.push(new URL(given.url).pathname, connection);
    return Promise.resolve(new Response(null, { status: 204 }));
  };
  await withServer(handler, async (url) => {
    assert.equal((await fetch(`${url}/cut`)).status, 204);
  }, (incoming) => Object.assign(incoming, { originalUrl: "/ops/cut" }));
  assert.deepEqual(seen, ["/ops/cut", { remoteAddr: { hostname: "127.0.0.1" } }]);
});

Deno.test("toNodeListener() ends the stream of a reader who goes", async () => {
  let isCanceled = false;
  const { promise: canceled, resolve } = Promise.withResolvers<void>();
  const handler: FetchHandler = () =>
    Promise.resolve(
      new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode("first")),
          cancel: () => {
            isCanceled = true;
            resolve();
          },
        }),
      ),
    );
  await withServer(handler, async (url) => {
    const answer = await fetch(url);
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    assert.equal(new TextDecoder().decode((await reader.read()).value), "first");
    assert.equal(isCanceled, false);
    await reader.cancel();
    await canceled;
  });
});

/** Asks with headers that fetch would not send. */
function ask(
  url: string,
  headers: Record<string, string>,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { headers }, (incoming) => {
      let text = "";
      incoming.setEncoding("utf8");
      incoming.on("data", (chunk) => text += chunk);
      incoming.on("end", () => resolve({ status: incoming.statusCode ?? 0, text }));
    });
    outgoing.on("error", reject);
    outgoing.end();
  });
}

Deno.test("toNodeListener() answers for a handler that fails, and for a Host that is none", async () => {
  await withServer(() => Promise.reject(new Error("detail")), async (url) => {
    const failed = await ask(url, {});
    assert.deepEqual(failed, { status: 500, text: "" });
    const odd = await ask(url, { host: "a b<script>" });
    assert.deepEqual(odd, { status: 400, text: "" });
  });
});

Deno.test("the dashboard works behind node:http, forms and streams included", async () => {
  await using world = await open({}, { actions: true });
  const run = await world.engine.start(order, { hero: "1" });
  await withServer(world.handler, async (url) => {
    const first = await fetch(`${url}/workflows/${run.id}`);
    const cookie = (first.headers.get("set-cookie") ?? "").split(";")[0] as string;
    assert.match(await first.text(), /Next is <code>charge/);
    const answer = await fetch(`${url}/workflows/${run.id}`, {
      method: "POST",
      redirect: "manual",
      headers: { cookie, "sec-fetch-site": "same-origin" },
      body: new URLSearchParams({ action: "pause", pawl_csrf: cookie.split("=")[1] as string }),
    });
    assert.equal(answer.status, 303);
    await answer.body?.cancel();
    assert.equal((await run.reload()).state, "paused");
    const stream = await fetch(`${url}/live/overview`);
    const reader = (stream.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    assert.equal(world.handler.openPages, 1);
    await reader.cancel();
    while (world.handler.openPages > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const stranger = await ask(`${url}/`, { host: "evil.example" });
    assert.equal(stranger.status, 403);
  });
});
