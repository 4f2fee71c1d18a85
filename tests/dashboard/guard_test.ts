import assert from "node:assert/strict";
import { isLoopback } from "../../src/dashboard/guard.ts";
import { open, order, ticketFor } from "./_world.ts";

Deno.test("loopback is known by all of its names", () => {
  for (
    const host of [
      "localhost",
      "LOCALHOST",
      "app.localhost",
      "127.0.0.1",
      "127.9.9.9",
      "::1",
      "[::1]",
    ]
  ) assert.ok(isLoopback(host), host);
  assert.ok(isLoopback("::ffff:127.0.0.1"));
  for (
    const host of [
      "example.com",
      "localhost.evil.com",
      "127.0.0.1.evil.com",
      "10.0.0.1",
      "0.0.0.0",
      "",
      "::2",
    ]
  ) assert.ok(!isLoopback(host), host);
});

/** Requests of strangers, each given away by something else. */
const STRANGERS: Readonly<Record<string, readonly [Request, unknown?]>> = {
  "another host": [new Request("http://pawl.example.com/")],
  "a host that is bound to this machine by DNS": [new Request("http://evil.example/workflows/1")],
  "another Host header": [
    new Request("http://localhost/", { headers: { host: "evil.example" } }),
  ],
  "another address": [
    new Request("http://localhost/"),
    { remoteAddr: { transport: "tcp", hostname: "203.0.113.9", port: 5 } },
  ],
  "a proxy": [new Request("http://localhost/", { headers: { "x-forwarded-for": "203.0.113.9" } })],
  "a proxy with the standard's header": [
    new Request("http://localhost/", { headers: { forwarded: "for=203.0.113.9" } }),
  ],
};

for (const [how, [request, connection]] of Object.entries(STRANGERS)) {
  Deno.test(`without authorize a request of ${how} is refused, with what to do`, async () => {
    await using world = await open({}, { actions: true });
    const response = await world.handler(request.clone(), connection);
    assert.equal(response.status, 403);
    const text = await response.text();
    assert.match(text, /answers its own machine only/);
    assert.match(text, /authorize/);
    assert.match(response.headers.get("content-security-policy") ?? "", /default-src 'none'/);
  });
}

Deno.test("without authorize this machine is let in, by any of its names", async () => {
  await using world = await open();
  for (const host of ["localhost:8000", "127.0.0.1:8000", "[::1]:8000", "ops.localhost"]) {
    const response = await world.handler(new Request(`http://${host}/`), {
      remoteAddr: { hostname: "::1" },
    });
    assert.equal(response.status, 200, host);
    await response.body?.cancel();
  }
});

Deno.test("authorize is asked about every request, also of this machine, before anything is read", async () => {
  const asked: string[] = [];
  const reads: string[] = [];
  await using plain = await open();
  const store = new Proxy(plain.store, {
    get: (target, name) => {
      reads.push(String(name));
      return Reflect.get(target, name);
    },
  });
  await using world = await open({ store }, {
    actions: true,
    authorize: (request) => {
      asked.push(`${request.method} ${new URL(request.url).pathname}`);
      return false;
    },
  });
  reads.length = 0;
  const paths = [
    "/",
    "/workflows",
    "/workflows/1",
    "/json/overview",
    "/live/overview",
    "/assets/x",
    "/no",
  ];
  for (const path of paths) {
    const response = await world.ask(path);
    assert.equal(response.status, 403, path);
    await response.body?.cancel();
  }
  assert.equal((await world.ask("/workflows/1", { method: "POST" })).status, 403);
  assert.deepEqual(asked, [...paths.map((path) => `GET ${path}`), "POST /workflows/1"]);
  assert.deepEqual(reads.filter((name) => name !== "name"), []);
});

Deno.test("authorize lets strangers in, may take its time, and may answer by itself", async () => {
  const users: Record<string, boolean | Response> = {
    ann: true,
    bob: false,
    eve: new Response("log in", { status: 401, headers: { "www-authenticate": "Basic" } }),
  };
  await using world = await open({}, {
    authorize: async (request) => {
      await Promise.resolve();
      return users[request.headers.get("x-user") ?? ""] ?? false;
    },
  });
  const ask = (user: string) =>
    world.handler(
      new Request("https://ops.example.com/", {
        headers: { "x-user": user, "x-forwarded-for": "203.0.113.9" },
      }),
      { remoteAddr: { hostname: "203.0.113.9" } },
    );
  assert.equal((await ask("ann")).status, 200);
  assert.equal((await ask("bob")).status, 403);
  assert.equal((await ask("nobody")).status, 403);
  const eve = await ask("eve");
  assert.equal(eve.status, 401);
  assert.equal(await eve.text(), "log in");
});

Deno.test("anything but a plain true is a no, and an authorize that throws opens nothing", async () => {
  for (const answer of [undefined, null, 1, "yes", {}]) {
    await using world = await open({}, { authorize: () => answer as unknown as boolean });
    assert.equal((await world.ask("/")).status, 403, String(answer));
  }
  await using world = await open({}, {
    authorize: () => {
      throw new Error("session store is down");
    },
  });
  const response = await world.ask("/");
  assert.equal(response.status, 500);
  assert.doesNotMatch(await response.text(), /session store/);
});

Deno.test("a dashboard that only looks has no forms, sets no cookie and takes none", async () => {
  await using world = await open();
  const run = await world.engine.start(order, { hero: "1" });
  const response = await world.ask(`/workflows/${run.id}`);
  assert.equal(response.headers.get("set-cookie"), null);
  assert.doesNotMatch(await response.text(), /method="post"/);
  const post = await world.ask(`/workflows/${run.id}`, {
    method: "POST",
    headers: { "sec-fetch-site": "same-origin" },
    body: new URLSearchParams({ action: "cancel" }),
  });
  assert.equal(post.status, 403);
  assert.match(await post.text(), /only looks/);
  assert.equal((await world.ask("/bulk?action=cancel")).status, 403);
  assert.equal((await run.reload()).state, "ready");
});

/** Forms that another site could make a browser send, or a thief could forge. */
const FORGERIES: Readonly<
  Record<string, (ticket: { cookie: string; token: string }) => RequestInit>
> = {
  "another site": ({ cookie, token }) => ({
    headers: { cookie, "sec-fetch-site": "cross-site" },
    body: new URLSearchParams({ action: "cancel", pawl_csrf: token }),
  }),
  "another subdomain": ({ cookie, token }) => ({
    headers: { cookie, "sec-fetch-site": "same-site" },
    body: new URLSearchParams({ action: "cancel", pawl_csrf: token }),
  }),
  "another origin": ({ cookie, token }) => ({
    headers: { cookie, origin: "https://evil.example" },
    body: new URLSearchParams({ action: "cancel", pawl_csrf: token }),
  }),
  "a hidden origin": ({ cookie, token }) => ({
    headers: { cookie, origin: "null" },
    body: new URLSearchParams({ action: "cancel", pawl_csrf: token }),
  }),
  "nobody knows where": ({ cookie, token }) => ({
    headers: { cookie },
    body: new URLSearchParams({ action: "cancel", pawl_csrf: token }),
  }),
  "a page without the token": ({ cookie }) => ({
    headers: { cookie, "sec-fetch-site": "same-origin" },
    body: new URLSearchParams({ action: "cancel" }),
  }),
  "a page with another token": ({ cookie }) => ({
    headers: { cookie, "sec-fetch-site": "same-origin" },
    body: new URLSearchParams({ action: "cancel", pawl_csrf: "A".repeat(32) }),
  }),
  "a browser without the cookie": ({ token }) => ({
    headers: { "sec-fetch-site": "same-origin" },
    body: new URLSearchParams({ action: "cancel", pawl_csrf: token }),
  }),
  "a browser with an empty token on both sides": () => ({
    headers: { cookie: "pawl_csrf=", "sec-fetch-site": "same-origin" },
    body: new URLSearchParams({ action: "cancel", pawl_csrf: "" }),
  }),
};

for (const [how, init] of Object.entries(FORGERIES)) {
  Deno.test(`a form of ${how} does nothing`, async () => {
    await using world = await open({}, { actions: true });
    const run = await world.engine.start(order, { hero: "1" });
    const ticket = await ticketFor(world.ask);
    for (const path of [`/workflows/${run.id}`, "/bulk"]) {
      const response = await world.ask(path, { method: "POST", ...init(ticket) });
      assert.equal(response.status, 403, path);
      assert.match(await response.text(), /Nothing was done/);
    }
    assert.equal((await run.reload()).state, "ready");
  });
}

Deno.test("a form that says its origin, and nothing else, is trusted when it is this one", async () => {
  await using world = await open({}, { actions: true });
  const run = await world.engine.start(order, { hero: "1" });
  const { cookie, token } = await ticketFor(world.ask);
  const response = await world.ask(`/workflows/${run.id}`, {
    method: "POST",
    headers: { cookie, origin: "http://localhost:8000" },
    body: new URLSearchParams({ action: "pause", pawl_csrf: token }),
  });
  assert.equal(response.status, 303);
  assert.equal((await run.reload()).state, "paused");
});

Deno.test("the cookie of the token is for this site and for no script", async () => {
  await using world = await open({}, { actions: true, authorize: () => true });
  const plain = (await world.ask("/")).headers.get("set-cookie") ?? "";
  assert.match(plain, /^pawl_csrf=[\w-]{32}; Path=\/; HttpOnly; SameSite=Strict$/);
  const secure = await world.handler(new Request("https://ops.example.com/"));
  assert.match(secure.headers.get("set-cookie") ?? "", /; Secure$/);
  const again = await world.ask("/", { headers: { cookie: plain.split(";")[0] as string } });
  assert.equal(again.headers.get("set-cookie"), null, "a browser keeps the one it has");
  assert.notEqual((await world.ask("/")).headers.get("set-cookie"), plain, "each has its own");
});

Deno.test("a body that is no form, or too large for one, is not read", async () => {
  await using world = await open({}, { actions: true });
  const run = await world.engine.start(order, { hero: "1" });
  const headers = { "sec-fetch-site": "same-origin" };
  const json = await world.ask(`/workflows/${run.id}`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: '{"action":"cancel"}',
  });
  assert.equal(json.status, 415);
  const large = await world.post(`/workflows/${run.id}`, {
    action: "signal",
    payload: "x".repeat(300_000),
  });
  assert.equal(large.status, 413);
  assert.equal((await run.reload()).state, "ready");
});
