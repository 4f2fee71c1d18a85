import assert from "node:assert/strict";
import { routeOf } from "../../src/dashboard/routes.ts";
import { open, order, ORIGIN } from "./_world.ts";

const OVERVIEW = { kind: "page", view: { kind: "overview" } };
const LIST = { kind: "page", view: { kind: "list" } };
const SEVEN = { kind: "page", view: { kind: "workflow", id: "7" } };

Deno.test("a path leads to its page, under any mount path and without knowing it", () => {
  for (const base of ["", "/ops", "/ops/pawl", "/workflows", "/a/b/c/d"]) {
    assert.deepEqual(routeOf(`${base}/`, null), OVERVIEW, base);
    assert.deepEqual(routeOf(`${base}/workflows`, null), LIST, base);
    assert.deepEqual(routeOf(`${base}/workflows/7`, null), SEVEN, base);
    assert.deepEqual(routeOf(`${base}/bulk`, null), { kind: "bulk" }, base);
    assert.deepEqual(routeOf(`${base}/assets/x.css`, null), { kind: "asset", name: "x.css" });
    assert.deepEqual(routeOf(`${base}/live/workflows/7`, null), { ...SEVEN, kind: "live" }, base);
    assert.deepEqual(routeOf(`${base}/json/overview`, null), { ...OVERVIEW, kind: "json" }, base);
  }
});

Deno.test("with a basePath only what is under it is a page", () => {
  assert.deepEqual(routeOf("/ops/", "/ops"), OVERVIEW);
  assert.deepEqual(routeOf("/ops/workflows/7", "/ops"), SEVEN);
  assert.deepEqual(routeOf("/ops", "/ops"), { kind: "slash", to: "ops/" });
  assert.deepEqual(routeOf("/a/b", "/a/b"), { kind: "slash", to: "b/" });
  assert.deepEqual(routeOf("/workflows/7", "/ops"), SEVEN, "a framework cut the path off");
  assert.equal(routeOf("/other/workflows/7", "/ops"), null);
  assert.equal(routeOf("/ops/other/", "/ops"), null);
  assert.equal(routeOf("/opsworkflows", "/ops"), null);
  assert.deepEqual(routeOf("/", ""), OVERVIEW);
});

Deno.test("ids are decoded, and what is no path of ours is none", () => {
  assert.deepEqual(routeOf("/workflows/a%2Fb", null), {
    kind: "page",
    view: { kind: "workflow", id: "a/b" },
  });
  for (
    const path of [
      "/nowhere",
      "/workflows/7/8",
      "/workflows/%E0%A4%A",
      "/live",
      "/json/x",
      "/assets",
    ]
  ) {
    assert.equal(routeOf(path, null), null, path);
  }
});

Deno.test("every page answers with its type, its title and the headers that keep it in", async () => {
  await using world = await open();
  const run = await world.engine.start(order, { hero: "1" });
  for (const path of ["/", "/workflows", `/workflows/${run.id}`]) {
    const response = await world.ask(path);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "text/html; charset=utf-8");
    assert.equal(response.headers.get("x-content-type-options"), "nosniff");
    assert.equal(response.headers.get("x-frame-options"), "DENY");
    assert.equal(response.headers.get("referrer-policy"), "same-origin");
    assert.equal(response.headers.get("cache-control"), "no-store");
    assert.equal(response.headers.get("cross-origin-resource-policy"), "same-origin");
    const policy = response.headers.get("content-security-policy") ?? "";
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /script-src 'self';/);
    assert.match(policy, /style-src 'self';/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /unsafe|\*|data:|https?:/);
    const text = await response.text();
    assert.match(text, /^<!doctype html>/);
    assert.match(text, /<title>.+ · Pawl<\/title>/);
    assert.doesNotMatch(text, /<script(?![^>]+src=)|\sstyle=|\son[a-z]+=/i, "nothing inline");
  }
});

Deno.test("HEAD answers as GET does, without a body", async () => {
  await using world = await open();
  for (const path of ["/", "/workflows", "/nowhere", "/live/overview"]) {
    const got = await world.ask(path);
    const head = await world.ask(path, { method: "HEAD" });
    assert.equal(head.status, got.status, path);
    assert.equal(head.headers.get("content-type"), got.headers.get("content-type"), path);
    assert.equal(await head.text(), "");
    await got.body?.cancel();
  }
  assert.equal(world.handler.openPages, 0, "no stream stays open for a HEAD");
});

Deno.test("what is not there is answered with 404 and a way out", async () => {
  await using world = await open();
  for (
    const [path, said] of [
      ["/nowhere", /no such page/],
      ["/workflows/999", /No workflow has the id <b>999<\/b>/],
      ["/workflows/abc", /No workflow has the id <b>abc<\/b>/],
      ["/assets/pawl-0.css", /no such page/],
    ] as const
  ) {
    const response = await world.ask(path);
    assert.equal(response.status, 404, path);
    const text = await response.text();
    assert.match(text, said, path);
    assert.match(text, /<style>/, "it needs no style sheet");
  }
  const json = await world.ask("/json/workflows/999");
  assert.equal(json.status, 404);
  assert.deepEqual(await json.json(), {
    error: { status: 404, message: "There is no such workflow" },
  });
});

Deno.test("the style of a page that stands alone is allowed by its hash", async () => {
  await using world = await open();
  const response = await world.ask("/nowhere");
  const style = /<style>([^]*)<\/style>/.exec(await response.text())?.[1] ?? "";
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(style));
  const base64 = btoa(String.fromCharCode(...new Uint8Array(hash)));
  assert.ok(response.headers.get("content-security-policy")?.includes(`'sha256-${base64}'`));
});

Deno.test("a method that a page does not know is answered with 405 and those it knows", async () => {
  await using world = await open({}, { actions: true });
  const run = await world.engine.start(order, { hero: "1" });
  const cases: [string, string, string][] = [
    ["POST", "/", "GET, HEAD"],
    ["DELETE", "/workflows", "GET, HEAD"],
    ["PUT", `/workflows/${run.id}`, "GET, HEAD, POST"],
    ["POST", "/json/overview", "GET, HEAD"],
    ["OPTIONS", "/live/overview", "GET, HEAD"],
    ["PATCH", "/bulk", "GET, HEAD, POST"],
  ];
  for (const [method, path, allow] of cases) {
    const response = await world.ask(path, { method });
    assert.equal(response.status, 405, `${method} ${path}`);
    assert.equal(response.headers.get("allow"), allow);
    await response.body?.cancel();
  }
});

Deno.test("assets are kept for ever, because their names change with them", async () => {
  await using world = await open();
  const page = await world.page("/");
  const names = [...page.matchAll(/(?:href|src)="\.\/(assets\/[^"]+)"/g)].map((one) => one[1]);
  assert.equal(names.length, 3);
  for (const name of names) {
    assert.match(name ?? "", /-[0-9a-f]{10}\.(css|js|svg)$/);
    const response = await world.ask(`/${name}`);
    assert.equal(response.status, 200);
    assert.match(response.headers.get("cache-control") ?? "", /immutable/);
    assert.ok((await response.text()).length > 100);
  }
});

/** The addresses of a page, resolved as a browser would. */
function addressesIn(page: string, from: string): string[] {
  const found = [...page.matchAll(/(?:href|src|action|data-live)="([^"#]+)"/g)];
  return found.map((one) => new URL(one[1]?.replaceAll("&amp;", "&") ?? "", from).href);
}

Deno.test("all addresses of a page stay under the mount path, wherever that is", async () => {
  await using world = await open({}, { actions: true });
  const run = await world.engine.start(order, { hero: "1" });
  for (const base of ["", "/ops", "/very/deep"]) {
    for (
      const path of ["/", "/workflows?state=ready", `/workflows/${run.id}`, "/bulk?action=cancel"]
    ) {
      const from = `${ORIGIN}${base}${path}`;
      const response = await world.handler(new Request(from));
      assert.equal(response.status, 200, from);
      const all = addressesIn(await response.text(), from);
      assert.ok(all.length > 5);
      for (const address of all) {
        assert.ok(address.startsWith(`${ORIGIN}${base}/`), `${address} on ${from}`);
        const { pathname } = new URL(address);
        assert.notEqual(routeOf(pathname, base), null, `${address} on ${from} is a page`);
      }
    }
  }
});

Deno.test("a basePath without its slash is led to the overview", async () => {
  await using world = await open({}, { basePath: "/ops/" });
  const response = await world.ask("/ops");
  assert.equal(response.status, 308);
  const target = new URL(response.headers.get("location") ?? "", `${ORIGIN}/ops`);
  assert.equal(target.pathname, "/ops/");
  assert.equal((await world.ask("/elsewhere/")).status, 404);
});

Deno.test("dashboard() refuses options that cannot be meant, and says what it wants", async () => {
  const cases: [Record<string, unknown>, RegExp][] = [
    [{ basepath: "/ops" }, /did you mean "basePath"/],
    [{ basePath: "ops" }, /basePath/],
    [{ basePath: "/a b" }, /basePath/],
    [{ actions: "yes" }, /actions/],
    [{ authorize: true }, /authorize/],
    [{ redact: "password" }, /redact/],
    [{ redact: [""] }, /redact/],
    [{ title: " " }, /title/],
    [{ refreshMs: 0 }, /refreshMs/],
  ];
  for (const [options, said] of cases) {
    await assert.rejects(async () => void await open({}, options), said, JSON.stringify(options));
  }
});

Deno.test("a database that is not ready or does not answer is told as such", async () => {
  await using world = await open();
  const { StoreError, MigrationError } = await import("../../mod.ts");
  const failing = (error: Error) => ({
    store: new Proxy(world.store, {
      get: (target, name) =>
        name === "counts" ? () => Promise.reject(error) : Reflect.get(target, name),
    }),
  });
  const cases: [Error, number, RegExp][] = [
    [
      new StoreError("postgres", "Cannot connect; is it running?"),
      503,
      /does not answer[^]+is it running/,
    ],
    [new MigrationError("The tables are missing"), 503, /not ready[^]+pawl migrate/],
    [new TypeError("internal detail"), 500, /Something went wrong/],
  ];
  for (const [error, status, said] of cases) {
    await using other = await open(failing(error));
    const response = await other.ask("/");
    assert.equal(response.status, status);
    const text = await response.text();
    assert.match(text, said);
    assert.doesNotMatch(text, /internal detail/);
  }
});
