import assert from "node:assert/strict";
import { removedStep, workflow } from "../../mod.ts";
import { bulk, open, order, regionOf, review, runDue, textOf, type World } from "./_world.ts";

/** What a region of a workflow's page says. */
async function said(world: World, id: string, region: string, query = ""): Promise<string> {
  return textOf(regionOf(await world.page(`/workflows/${id}${query}`), region));
}

Deno.test("the headline says what is the matter, in every situation", async () => {
  await using world = await open();
  const { engine, store, clock } = world;
  const run = await engine.start(order, { hero: "1" });
  assert.match(await said(world, run.id, "headline"), /^Next is charge , due now/);

  await runDue(world);
  assert.match(
    await said(world, run.id, "headline"),
    /^Waits for the signal approved in approve , for as long as it takes\.$/,
  );

  await run.signal("approved");
  await runDue(world);
  assert.match(await said(world, run.id, "headline"), /^Next is ship , due in (2 d|1 d 23 h)/);

  await run.pause();
  assert.match(
    await said(world, run.id, "headline"),
    /^Paused from outside now \. ship keeps its due time/,
  );

  await run.resume();
  clock.travelTo(clock.now() + 2 * 86_400_000 + 120_000);
  assert.match(
    await said(world, run.id, "headline"),
    /^Overdue: ship was due .+ ago , and no worker has taken it from the queue default/,
  );

  const active = await store.active(run.id);
  const [claim] = await store.claim([active?.id ?? ""], {
    now: new Date(clock.now()),
    token: "t",
    leaseMs: 30_000,
    worker: "host-1",
  });
  assert.equal(claim?.kind, "claimed");
  assert.match(
    await said(world, run.id, "headline"),
    /^Runs ship for 0 s , on the worker host-1 \.$/,
  );
  clock.travelTo(clock.now() + 60_000);
  assert.match(await said(world, run.id, "headline"), /^The worker went silent while it ran ship/);
  await run.pause();
  assert.match(await said(world, run.id, "headline"), /^Paused now , while ship still runs/);
  await run.cancel();
  assert.match(await said(world, run.id, "headline"), /^Canceled now/);
});

Deno.test("the headline of what ended or stands still says why", async () => {
  await using world = await open();
  const { engine } = world;
  const failed = await engine.start(order, { hero: "1", input: { fail: "card" } });
  const own = await engine.start(review, { hero: "2" });
  const finished = await engine.start(bulk);
  const canceled = await engine.start(order, { hero: "3" });
  await canceled.cancel();
  await runDue(world);
  assert.match(
    await said(world, failed.id, "headline"),
    /^Paused by an error in charge now : CardDeclined: Card 4711 was declined$/,
  );
  assert.match(await said(world, own.id, "headline"), /^Paused by its own step look now \.$/);
  assert.match(await said(world, finished.id, "headline"), /^Finished now \.$/);
  assert.match(
    await said(world, canceled.id, "headline"),
    /^Canceled now from outside, at charge \.$/,
  );
});

Deno.test("the error is shown with its class, message, stack and causes", async () => {
  class GatewayTimeout extends Error {}
  const paying = workflow({
    name: "paying",
    steps: [{
      name: "pay",
      run: () => {
        throw new GatewayTimeout("No answer", {
          cause: new TypeError("fetch failed", { cause: new Error("ECONNRESET") }),
        });
      },
    }],
  });
  await using world = await open({ workflows: [paying] });
  const run = await world.engine.start(paying);
  await runDue(world);
  const problem = await said(world, run.id, "problem");
  assert.match(
    problem,
    /^<?.*The error attempt 1 of pay , now GatewayTimeout : No answer Stack at /,
  );
  assert.match(problem, /caused by TypeError: fetch failed Stack at /);
  assert.match(problem, /caused by Error: ECONNRESET Stack at /);
  assert.match(problem, /workflow_test\.ts/);
});

Deno.test("the last error of a step that is tried again stays in sight", async () => {
  await using world = await open();
  const run = await world.engine.start(order, { hero: "1", input: { fail: "carrier" } });
  await runDue(world);
  const problem = await said(world, run.id, "problem");
  assert.match(problem, /The last error attempt 1 of charge/);
  assert.match(problem, /CarrierDown : The carrier answered 503/);
  assert.match(
    await said(world, run.id, "headline"),
    /^Next is charge , due in 29 s .* attempt 2\./,
  );
  const history = await said(world, run.id, "history");
  assert.match(history, /2 charge scheduled 2 due in 29 s – –/);
  assert.match(history, /1 charge tried again: an error 1/);
});

Deno.test("progress is shown with rate and end, and chunks are one lane", async () => {
  await using world = await open();
  const run = await world.engine.start(bulk);
  await runDue(world);
  const page = await world.page(`/workflows/${run.id}`);
  const lanes = textOf(regionOf(page, "timeline"));
  assert.match(lanes, /send 3 chunks/);
  const history = textOf(regionOf(page, "history"));
  assert.match(history, /goes on in the next chunk 3 of 7/);
  assert.match(history, /completed 7 of 7/);

  const half = workflow({
    name: "half",
    steps: [{
      name: "read",
      resumable: true,
      maxIterations: 2,
      run: async ({ iter, suspend }) => {
        iter.progress(250, 1_000, "reading");
        await iter.set(1);
        suspend({ wait: "1 hour" });
      },
    }],
  });
  await using other = await open({ workflows: [half] });
  const reading = await other.engine.start(half);
  await runDue(other);
  const progress = await said(other, reading.id, "progress");
  assert.match(progress, /Progress of read 25 % 250 of 1,000 .*reading/);
  assert.match(
    await other.page(`/workflows/${reading.id}`),
    /<progress[^>]+value="250" max="1000"/,
  );
});

Deno.test("input, metadata, cursor and signals are shown as they are stored", async () => {
  await using world = await open();
  const run = await world.engine.start(order, {
    hero: "1",
    input: { lines: [1, 2], at: new Date("2026-02-03T04:05:06Z") },
    metadata: { source: "web" },
  });
  await run.signal("approved", { by: "ann" }, { idempotencyKey: "k-1" });
  const values = await said(world, run.id, "values");
  assert.match(values, /Input \{ "lines": \[ 1, 2 \], "at": "2026-02-03T04:05:06.000Z" \}/);
  assert.match(values, /Metadata \{ "source": "web" \}/);
  assert.match(await said(world, run.id, "signals"), /approved kept now key k-1 \{ "by": "ann" \}/);
  await runDue(world);
  await runDue(world);
  assert.match(await said(world, run.id, "signals"), /approved received/);
  assert.match(await said(world, run.id, "history"), /Notes \{ "event": \{ "name": "approved"/);
});

Deno.test("the steps are shown with where the workflow stands", async () => {
  const removed = workflow({
    name: "staged",
    steps: [
      { name: "first", run: () => {} },
      { name: "maybe", skipIf: true, run: () => {} },
      removedStep("gone"),
      { name: "wait_here", waitFor: "go", run: () => {} },
      { name: "last", wait: "2 days", run: () => {} },
    ],
  });
  await using world = await open({ workflows: [removed] });
  const run = await world.engine.start(removed);
  await runDue(world);
  const page = regionOf(await world.page(`/workflows/${run.id}`), "steps");
  const kinds = [...page.matchAll(/class="step-(\w+)"/g)].map((one) => one[1])
    .filter((one) => one !== "mark" && one !== "name");
  assert.deepEqual(kinds, ["done", "skipped", "passed", "here", "ahead"]);
  assert.match(page, /class="step-here" aria-current="step"/);
  assert.match(textOf(page), /wait_here waits for “go” the workflow stands here/);
  assert.match(textOf(page), /last after 2 d yet to come/);
});

Deno.test("the deploy gate speaks about the workflow whose page it is", async () => {
  await using world = await open();
  const run = await world.engine.start(order, { hero: "1" });
  const renamed = workflow({ name: "order", steps: [{ name: "charge_card", run: () => {} }] });
  await using other = await open({ workflows: [renamed], store: world.store }, { actions: true });
  const gate = await said(other, run.id, "gate");
  assert.match(
    gate,
    /Deploy gate: 1 workflow of "order" waits at the step "charge", which the code/,
  );
  assert.match(
    await said(other, run.id, "steps"),
    /It stands at charge , which the code does not have/,
  );
  await using looker = await open({ workflows: [], store: world.store });
  assert.equal(await said(looker, run.id, "gate"), "");
  assert.match(await said(looker, run.id, "steps"), /runs without the application's definitions/);
});

Deno.test("a long history is drawn from its newest part, however long it is", async () => {
  const long = workflow({
    name: "long",
    steps: Array.from({ length: 1_203 }, (_, at) => ({ name: `s${at + 1}`, run: () => {} })),
  });
  await using world = await open({ workflows: [long] });
  const run = await world.engine.start(long);
  await runDue(world);
  await run.reload();
  assert.equal(run.state, "finished");
  const data = await world.json(`/json/workflows/${run.id}`);
  assert.equal(data.hidden, 803);
  assert.equal(data.executions.length, 400);
  assert.equal(data.executions[0].stepName, "s804");
  assert.equal(data.executions.at(-1).stepName, "s1203");
  const page = await world.page(`/workflows/${run.id}`);
  assert.match(textOf(page), /The newest 400 of 1,203 executions/);
  assert.match(page, /Show 375 older executions/);
  const whole = regionOf(await world.page(`/workflows/${run.id}?all=1`), "history");
  assert.equal([...whole.matchAll(/id="x\d+"/g)].length, 400);
});

Deno.test("waits can be drawn shorter than they were, and to scale again", async () => {
  await using world = await open();
  const run = await world.engine.start(order, { hero: "1" });
  await runDue(world);
  const even = await world.page(`/workflows/${run.id}`);
  assert.match(even, /href="\?waits=short">Shorten waits/);
  const short = await world.page(`/workflows/${run.id}?waits=short`);
  assert.match(short, /href="\?">Draw waits to scale/);
  assert.match(short, /data-live="\.\.\/live\/workflows\/1\?waits=short"/);
});

Deno.test("the JSON of a workflow has its history, its data and its signals", async () => {
  await using world = await open();
  const run = await world.engine.start(order, { hero: "1", input: { fail: "card" } });
  await runDue(world);
  await run.signal("approved", 1);
  const data = await world.json(`/json/workflows/${run.id}`);
  assert.equal(data.workflow.state, "paused");
  assert.deepEqual(data.workflow.input, { fail: "card" });
  assert.equal(data.executions.length, 1);
  assert.equal(data.executions[0].error.class, "CardDeclined");
  assert.match(data.executions[0].error.stack, /_world\.ts/);
  assert.equal(data.signals[0].payload, 1);
  assert.deepEqual(data.deployFindings, []);
});

Deno.test("a stored value that cannot be read does not keep anybody from the rest", async () => {
  await using world = await open();
  const [created] = await world.store.create([{
    name: "order",
    heroType: null,
    heroId: null,
    allowMultiple: true,
    input: "{broken",
    metadata: "[1,",
    jobOptions: null,
    traceparent: null,
    first: null,
  }], { now: new Date(world.clock.now()) });
  assert.equal(created?.kind, "created");
  const id = created?.kind === "created" ? created.workflow.id : "";
  assert.match(await said(world, id, "values"), /Input "unreadable: /);
  assert.match(textOf(await world.page(`/workflows/${id}`)), /Nothing has been scheduled/);
});
