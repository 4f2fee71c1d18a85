import assert from "node:assert/strict";
import { workflow } from "../../mod.ts";
import { chart, niceTop, percent } from "../../src/dashboard/overview/chart.ts";
import { stateBar } from "../../src/dashboard/overview/definitions.ts";
import { markupOf } from "../../src/dashboard/html.ts";
import { bulk, open, order, regionOf, review, runDue, textOf } from "./_world.ts";

const MINUTE = 60_000;

Deno.test("an empty database is welcomed, with its definitions", async () => {
  await using bare = await open({ workflows: [] });
  const page = await bare.page("/");
  assert.match(textOf(page), /Nothing has been started yet/);
  assert.match(textOf(page), /Nothing is failing\. No workflow is paused\./);
  await using world = await open();
  const known = textOf(regionOf(await world.page("/"), "definitions"));
  assert.match(known, /bulk_mail 0 0 0 0 0/);
  assert.match(known, /0 workflows stored/);
});

Deno.test("the figures say what runs, waits, is paused and has failed", async () => {
  await using world = await open();
  const { engine } = world;
  await engine.start(order, { hero: "1" });
  await engine.start(order, { hero: "2", input: { fail: "card" } });
  await engine.start(order, { hero: "3", input: { fail: "card" } });
  await engine.start(review, { hero: "4" });
  await runDue(world);
  const figures = textOf(regionOf(await world.page("/"), "figures"));
  assert.match(figures, /Running 0 no worker at work/);
  assert.match(figures, /Ready 1 nothing is scheduled/);
  assert.match(figures, /Lag none/);
  assert.match(figures, /Paused 3 2 by an error/);
  assert.match(figures, /Steps, last hour 4/);
  assert.match(figures, /Failed, last hour 2 50\.0 %, 0 retried/);
});

Deno.test("the next due time is told, and a lag that is somebody's trouble", async () => {
  await using world = await open();
  const run = await world.engine.start(order, { hero: "1" });
  await runDue(world);
  await run.signal("approved");
  await runDue(world);
  assert.match(textOf(await world.page("/")), /next due in 1 d 23 h|next due in 2 d/);
  // Nobody runs it: the clock jumps over its time.
  world.clock.travelTo(world.clock.now() + 2 * 86_400_000 + 5 * MINUTE);
  const page = textOf(await world.page("/"));
  assert.match(page, /oldest due 5 min ago|oldest due 4 min 59 s ago/);
  assert.match(page, /Work is waiting for a worker\./);
  assert.match(page, /No worker holds a step: is one running\?/);
});

Deno.test("states are listed per definition, each with a way to its list", async () => {
  await using world = await open();
  const { engine } = world;
  await engine.start(order, { hero: "1" });
  await (await engine.start(order, { hero: "2" })).pause();
  await (await engine.start(order, { hero: "3" })).cancel();
  const page = regionOf(await world.page("/"), "definitions");
  assert.match(textOf(page), /order 1 0 1 0 1/);
  assert.match(page, /href="\.\/workflows\?workflow=order&amp;state=paused"/);
});

Deno.test("a definition that the engine does not have is told, and the deploy gate speaks", async () => {
  await using world = await open();
  await world.engine.start(order, { hero: "1" });
  const renamed = workflow({ name: "order", steps: [{ name: "charge_card", run: () => {} }] });
  await using other = await open({ workflows: [renamed], store: world.store });
  const page = textOf(await other.page("/"));
  assert.match(page, /1 workflow of "order" waits at the step "charge"/);
  assert.match(page, /removedStep\("charge"\)/);
  await using none = await open({ workflows: [bulk], store: world.store });
  assert.match(textOf(await none.page("/")), /order unknown/);
  await using looker = await open({ workflows: [], store: world.store });
  assert.doesNotMatch(textOf(await looker.page("/")), /the code does not have/);
});

Deno.test("failures are grouped by their reason, with a way to all of them and to one", async () => {
  await using world = await open();
  const { engine } = world;
  for (const hero of ["1", "2", "3"]) await engine.start(order, { hero, input: { fail: "card" } });
  await engine.start(order, { hero: "4", input: { fail: "carrier" } });
  await runDue(world);
  await world.clock.tick("1 minute");
  await world.clock.tick("1 minute");
  const { failures } = await world.json("/json/overview");
  assert.deepEqual(failures.map((one: { count: number }) => one.count), [3, 1]);
  const region = regionOf(await world.page("/"), "failures");
  assert.match(textOf(region), /2 reasons, 4 workflows/);
  assert.match(textOf(region), /3 paused CardDeclined Card <#> was declined order › charge/);
  assert.ok(region.includes(`workflows?fingerprint=${failures[0].fingerprint}`));
  const list = await world.json(`/json/workflows?fingerprint=${failures[0].fingerprint}`);
  assert.deepEqual(list.workflows.map((one: { heroId: string }) => one.heroId), ["3", "2", "1"]);
});

Deno.test("workers are those that hold steps, and a silent one is told", async () => {
  await using world = await open();
  const { store, clock } = world;
  const run = await world.engine.start(order, { hero: "1" });
  const active = await store.active(run.id);
  const [claim] = await store.claim([active?.id ?? ""], {
    now: new Date(clock.now()),
    token: "t",
    leaseMs: 30_000,
    worker: "host-1",
  });
  assert.equal(claim?.kind, "claimed");
  assert.match(textOf(regionOf(await world.page("/"), "workers")), /host-1 1 alive/);
  assert.match(textOf(await world.page("/")), /1 worker at work/);
  clock.travelTo(clock.now() + 31_000);
  const page = textOf(await world.page("/"));
  assert.match(page, /host-1 1 silent since/);
  assert.match(page, /1 worker went silent with 1 step in hand/);
});

Deno.test("the JSON of the overview has everything that the page shows", async () => {
  await using world = await open();
  await world.engine.start(order, { hero: "1" });
  await runDue(world);
  const data = await world.json("/json/overview");
  assert.equal(data.at, new Date(world.clock.now()).toISOString());
  assert.equal(data.lastHour.length, 60);
  assert.equal(data.lastDay.length, 96);
  assert.equal(data.lastHour.at(-1).completed, 1);
  assert.deepEqual(data.definitions.find((one: { name: string }) => one.name === "order"), {
    name: "order",
    known: true,
    ready: 1,
    performing: 0,
    paused: 0,
    finished: 0,
    canceled: 0,
  });
  assert.deepEqual(data.deployFindings, []);
});

Deno.test("the last bar of a chart is the minute that is under way", async () => {
  await using world = await open();
  world.clock.travelTo(Date.UTC(2026, 0, 1, 12, 30, 20));
  await world.engine.start(order, { hero: "1" });
  await runDue(world);
  const before = await world.json("/json/overview");
  assert.equal(before.lastHour.at(-1).from, "2026-01-01T12:30:00.000Z");
  assert.equal(before.lastHour.at(-1).completed, 1);
  world.clock.travelTo(Date.UTC(2026, 0, 1, 13, 29, 59));
  const later = await world.json("/json/overview");
  assert.equal(later.lastHour[0].from, "2026-01-01T12:30:00.000Z");
  assert.equal(later.lastHour[0].completed, 1);
  world.clock.travelTo(Date.UTC(2026, 0, 1, 13, 30, 1));
  const gone = await world.json("/json/overview");
  assert.equal(
    gone.lastHour.reduce((sum: number, one: { completed: number }) => sum + one.completed, 0),
    0,
  );
});

Deno.test("the bars of a chart are as high as their numbers, and never too low to be seen", () => {
  const from = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 12, minute));
  const none = { completed: 0, reattempted: 0, failed: 0, skipped: 0, canceled: 0 };
  const markup = markupOf(chart({
    buckets: [
      { from: from(0), ...none, completed: 1_000 },
      { from: from(1), ...none, completed: 500, failed: 1 },
      { from: from(2), ...none },
      { from: from(3), ...none },
    ],
    until: from(4),
  }, { title: "Steps", labelEveryMs: 2 * MINUTE }));
  const heights = [...markup.matchAll(/class="k-(\w+)"[^>]*\sheight="([\d.]+)"/g)]
    .map(([, kind, height]) => [kind, Number(height)]);
  assert.deepEqual(heights, [["completed", 104], ["completed", 52], ["failed", 1.5]]);
  assert.match(markup, /aria-label="Steps: 1,500 completed, 1 failed"/);
  const labels = [...markup.matchAll(/class="tick-x"[^>]*>([\d:]+)</g)].map((one) => one[1]);
  assert.deepEqual(labels, ["12:00", "12:02"]);
  assert.equal([...markup.matchAll(/class="catch"/g)].length, 4);
});

Deno.test("a chart of nothing is still a chart", () => {
  const none = { completed: 0, reattempted: 0, failed: 0, skipped: 0, canceled: 0 };
  const markup = markupOf(
    chart({ buckets: [{ from: new Date(0), ...none }], until: new Date(MINUTE) }, {
      title: "Steps",
      labelEveryMs: MINUTE,
    }),
  );
  assert.doesNotMatch(markup, /NaN|Infinity/);
  assert.match(markup, /nothing/);
});

Deno.test("round numbers and percentages", () => {
  const tops = [0, 1, 2, 3, 7, 10, 11, 45, 99, 101, 4_500].map(niceTop);
  assert.deepEqual(tops, [2, 2, 2, 4, 10, 10, 20, 50, 100, 200, 5_000]);
  assert.equal(percent(1 / 3), "0.333%");
});

Deno.test("a bar of states fills its width, and little is wide enough to be seen", () => {
  const markup = markupOf(
    stateBar({ ready: 1, performing: 0, paused: 0, finished: 9_999, canceled: 0 }),
  );
  const parts = [...markup.matchAll(/x="([\d.]+)%" width="([\d.]+)%"/g)]
    .map(([, x, width]) => [Number(x), Number(width)] as const);
  assert.equal(parts.length, 2);
  assert.ok((parts[0]?.[1] ?? 0) > 2);
  assert.ok(Math.abs((parts[1]?.[0] ?? 0) + (parts[1]?.[1] ?? 0) - 100) < 0.01);
  assert.match(markup, /aria-label="1 ready, 9,999 finished"/);
  const empty = markupOf(
    stateBar({ ready: 0, performing: 0, paused: 0, finished: 0, canceled: 0 }),
  );
  assert.doesNotMatch(empty, /NaN|Infinity/);
  assert.match(empty, /aria-label="none"/);
});
