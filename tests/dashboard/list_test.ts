import assert from "node:assert/strict";
import { filterOf, heroOf, paramsOf, queryOf } from "../../src/dashboard/list/query.ts";
import { createReading } from "../../src/dashboard/shared.ts";
import {
  bulk,
  open,
  order,
  ORIGIN,
  regionOf,
  review,
  runDue,
  textOf,
  type World,
} from "./_world.ts";

/** The heroes of a list, in its order. */
async function heroes(world: World, query: string): Promise<(string | null)[]> {
  const { workflows } = await world.json(`/json/workflows?${query}`);
  return workflows.map((one: { heroId: string | null }) => one.heroId);
}

/** Workflows in many situations: heroes 1 to 6, and one without. */
async function filled(): Promise<World> {
  const world = await open({}, { actions: true });
  const { engine, clock } = world;
  await engine.start(order, { hero: "1", input: { fail: "card" } });
  await engine.start(order, { hero: "2", input: { fail: "carrier" } });
  await runDue(world);
  for (let minute = 0; minute < 3; minute++) await clock.tick("1 minute");
  await clock.tick("2 hours");
  await engine.start(order, { hero: "3" });
  await runDue(world);
  await (await engine.start(order, { hero: "4" })).cancel();
  await (await engine.start(review, { hero: "5" })).pause();
  await engine.start(order, { hero: "6" });
  await engine.start(bulk);
  return world;
}

Deno.test("a list shows workflows newest first, with what they are about", async () => {
  await using world = await filled();
  const page = await world.page("/workflows");
  const rows = textOf(regionOf(page, "rows"));
  assert.match(rows, /bulk_mail 7 – send/);
  assert.match(rows, /order 6 Order 6 charge/);
  assert.match(rows, /order 1 Order 1 charge CardDeclined Card 4711 was declined/);
  assert.match(textOf(regionOf(page, "summary")), /7 workflows/);
  assert.deepEqual(await heroes(world, ""), [null, "6", "5", "4", "3", "2", "1"]);
});

Deno.test("a list is filtered by definition, state, hero, step, error and time", async () => {
  await using world = await filled();
  const cases: [string, (string | null)[]][] = [
    ["workflow=review", ["5"]],
    ["workflow=none", []],
    ["state=paused", ["5", "2", "1"]],
    ["state=paused&state=canceled", ["5", "4", "2", "1"]],
    ["state=paused,canceled", ["5", "4", "2", "1"]],
    ["state=nonsense", [null, "6", "5", "4", "3", "2", "1"]],
    ["hero=3", ["3"]],
    ["hero=Order:3", ["3"]],
    ["hero=User:3", []],
    ["step=approve", ["3"]],
    ["step=charge", ["6", "2", "1"]],
    ["error=CardDeclined", ["1"]],
    ["error=CarrierDown", ["2"]],
    ["created=1h", [null, "6", "5", "4", "3"]],
    ["created=7d", [null, "6", "5", "4", "3", "2", "1"]],
    ["unchanged=1h", ["2", "1"]],
    ["unchanged=7d", []],
    ["workflow=order&state=paused&error=CardDeclined&created=24h", ["1"]],
    ["state=paused&created=1h", ["5"]],
  ];
  for (const [query, expected] of cases) {
    assert.deepEqual(await heroes(world, query), expected, query);
  }
});

Deno.test("the filters of a page show what was asked for", async () => {
  await using world = await filled();
  const page = await world.page(
    "/workflows?state=paused&workflow=order&step=charge&hero=1&error=X&created=7d&unchanged=1h",
  );
  assert.match(page, /value="paused"\s+checked/);
  assert.doesNotMatch(page, /value="ready"\s+checked/);
  assert.match(page, /<option value="order"\s+selected>/);
  assert.match(page, /name="step"[^>]*value="charge"/);
  assert.match(page, /name="hero"[^>]*value="1"/);
  assert.match(page, /name="error"[^>]*value="X"/);
  assert.match(page, /<option value="7d"\s+selected>/);
  assert.match(page, /<option value="1h"\s+selected>/);
  assert.match(page, /Clear all/);
});

Deno.test("an empty list says of what there is none, and how to see more", async () => {
  await using world = await filled();
  const page = textOf(await world.page("/workflows?workflow=review&state=finished"));
  assert.match(page, /No workflows of "review", that are finished Show all workflows/);
  await using empty = await open();
  assert.match(textOf(await empty.page("/workflows")), /There are no workflows/);
});

Deno.test("a search finds by id or by hero, and goes straight to a sole id", async () => {
  await using world = await filled();
  const byId = await world.ask("/workflows?q=7");
  assert.equal(byId.status, 303);
  const target = new URL(byId.headers.get("location") ?? "", `${ORIGIN}/workflows`);
  assert.equal(target.pathname, "/workflows/7");
  assert.deepEqual(await heroes(world, "q=Order:3"), ["3"]);
  // Workflow 3 is about hero 3 here, and workflow 4 about hero 4: the id comes first.
  await world.engine.start(review, { hero: "3" });
  assert.deepEqual(await heroes(world, "q=3"), ["3", "3"]);
  const nothing = textOf(await world.page("/workflows?q=nobody"));
  assert.match(nothing, /Nothing has the id or the hero “nobody”/);
  for (const odd of ["0", "-1", "1e3", "🐢", "x".repeat(400), "' OR 1=1"]) {
    const response = await world.ask(`/workflows?q=${encodeURIComponent(odd)}`);
    assert.equal(response.status, 200, odd);
    await response.body?.cancel();
  }
});

Deno.test("pages follow each other by key, without gaps or repeats, also while rows are added", async () => {
  await using world = await open();
  const started = await world.engine.startMany(
    order,
    Array.from({ length: 120 }, (_, at) => ({ hero: String(at) })),
  );
  assert.equal(started.length, 120);
  const seen: string[] = [];
  let path: string | null = "/workflows?state=ready";
  let pages = 0;
  while (path !== null && pages++ < 10) {
    const region = regionOf(await world.page(path), "rows");
    seen.push(...[...region.matchAll(/data-key="(\d+)"/g)].map((one) => one[1] as string));
    const next: RegExpExecArray | null = /href="\.(\/workflows\?[^"]+)">Older/.exec(region);
    path = next === null ? null : (next[1] as string).replaceAll("&amp;", "&");
    await world.engine.start(order, { hero: `new ${pages}` });
  }
  assert.equal(pages, 3);
  assert.deepEqual(seen, Array.from({ length: 120 }, (_, at) => String(120 - at)));
});

Deno.test("a list by fingerprint has pages, too", async () => {
  await using world = await open();
  for (let hero = 0; hero < 60; hero++) {
    await world.engine.start(order, { hero: String(hero), input: { fail: "card" } });
  }
  await runDue(world);
  const { failures } = await world.json("/json/overview");
  const query = `fingerprint=${failures[0].fingerprint}`;
  const first = await world.json(`/json/workflows?${query}`);
  assert.equal(first.workflows.length, 50);
  const second = await world.json(`/json/workflows?${query}&after=${first.next}`);
  assert.equal(second.workflows.length, 10);
  assert.equal(second.next, null);
  const page = textOf(await world.page(`/workflows?${query}`));
  assert.match(page, /Paused by the failure [0-9a-f]{12} remove/);
});

Deno.test("why workflows are paused is looked up once, until they change", async () => {
  let looks = 0;
  await using plain = await open();
  const store = new Proxy(plain.store, {
    get: (target, name) => {
      if (name === "failures") looks++;
      return Reflect.get(target, name);
    },
  });
  await using world = await open({ store });
  const run = await world.engine.start(order, { hero: "1", input: { fail: "card" } });
  await world.engine.start(review, { hero: "2" });
  await runDue(world);
  const first = await world.json("/json/workflows?state=paused");
  assert.deepEqual(first.workflows.map((one: { error: unknown }) => one.error), [
    null,
    { class: "CardDeclined", message: "Card 4711 was declined" },
  ]);
  assert.equal(looks, 1);
  await world.json("/json/workflows?state=paused");
  assert.equal(looks, 1);
  await run.resume();
  await runDue(world);
  await world.json("/json/workflows?state=paused");
  assert.equal(looks, 2);
});

Deno.test("why a workflow is paused is also found when it was searched for", async () => {
  await using world = await open();
  // Workflow 1 is about hero 9, and hero 1 has the newer workflows 2 and 3.
  await (await world.engine.start(review, { hero: "9" })).cancel();
  await world.engine.start(order, { hero: "1", input: { fail: "card" } });
  await world.engine.start(review, { hero: "1" });
  await runDue(world);
  const { workflows } = await world.json("/json/workflows?q=1");
  assert.deepEqual(
    workflows.map((one: { id: string; error: { class: string } | null }) => [
      one.id,
      one.error?.class ?? null,
    ]),
    [["1", null], ["3", null], ["2", "CardDeclined"]],
  );
});

Deno.test("a query goes into an address and comes back", () => {
  const params = new URLSearchParams(
    "q=x&workflow=a&state=ready&state=paused&hero=U:1&step=s&error=E&fingerprint=abcdef012345" +
      "&created=1h&unchanged=7d&after=9",
  );
  const query = queryOf(params);
  assert.deepEqual(queryOf(paramsOf(query)), query);
  const odd = queryOf(
    new URLSearchParams("fingerprint=zz'--&created=tomorrow&state=&workflow=%20"),
  );
  assert.equal(paramsOf(odd).size, 0);
  assert.equal(queryOf(new URLSearchParams({ hero: "x".repeat(1_000) })).hero?.length, 300);
});

Deno.test("only what goes on is searched for a step or for standing still", () => {
  const now = new Date(0);
  const of = (text: string) => filterOf(queryOf(new URLSearchParams(text)), now).states;
  assert.deepEqual(of("step=a"), ["ready", "performing", "paused"]);
  assert.deepEqual(of("unchanged=1h"), ["ready", "performing", "paused"]);
  assert.deepEqual(of("error=E"), ["paused"]);
  assert.deepEqual(of("error=E&state=canceled"), ["canceled"]);
  assert.equal(of("workflow=a"), undefined);
});

Deno.test("a hero is a type and an id, or an id alone", () => {
  assert.deepEqual(heroOf("User:42"), { heroType: "User", heroId: "42" });
  assert.deepEqual(heroOf("User: a:b "), { heroType: "User", heroId: "a:b" });
  assert.deepEqual(heroOf("42"), { heroId: "42" });
  assert.deepEqual(heroOf(":42"), { heroId: ":42" });
  assert.deepEqual(heroOf("User:"), { heroId: "User:" });
});

Deno.test("a reading is shared while it is young, and rarer the slower it is", async () => {
  let nowMs = 0;
  let reads = 0;
  let tookMs = 0;
  const clock = { now: () => nowMs, setTimeout: () => null, clearTimeout: () => {} };
  const reading = createReading(() => {
    nowMs += tookMs;
    return Promise.resolve(++reads);
  }, { clock, everyMs: 1_000 });
  assert.deepEqual(await Promise.all([reading.recent(), reading.recent()]), [1, 1]);
  nowMs = 999;
  assert.equal(await reading.recent(), 1);
  nowMs = 1_000;
  tookMs = 300;
  assert.equal(await reading.recent(), 2);
  nowMs = 3_999;
  assert.equal(await reading.recent(), 2, "it took 300 ms, so it is made every 3 seconds");
  nowMs = 4_000;
  assert.equal(await reading.recent(), 3);
  assert.equal(await reading.fresh(), 4);
  nowMs = 0;
  assert.equal(await reading.recent(), 5, "a clock that was set back keeps nothing for ever");
});

Deno.test("a reading that failed is made again", async () => {
  let isDown = true;
  const clock = { now: () => 0, setTimeout: () => null, clearTimeout: () => {} };
  const reading = createReading(
    () => isDown ? Promise.reject(new Error("down")) : Promise.resolve(1),
    { clock, everyMs: 1_000 },
  );
  await assert.rejects(reading.recent(), /down/);
  isDown = false;
  assert.equal(await reading.recent(), 1);
});
