import assert from "node:assert/strict";
import { workflow } from "../../mod.ts";
import { open, order, ORIGIN, regionOf, review, runDue, textOf, type World } from "./_world.ts";

async function actionsOf(world: World, id: string): Promise<string> {
  return textOf(regionOf(await world.page(`/workflows/${id}`), "actions"));
}

/** Presses a button; answers the page that the browser ends on. */
async function press(
  world: World,
  id: string,
  fields: Readonly<Record<string, string>>,
): Promise<string> {
  const response = await world.post(`/workflows/${id}`, fields);
  assert.equal(response.status, 303, await response.clone().text());
  const target = new URL(response.headers.get("location") ?? "", `${ORIGIN}/workflows/${id}`);
  assert.equal(target.pathname, `/workflows/${id}`);
  return textOf(await world.page(`${target.pathname}${target.search}`));
}

Deno.test("each action says what it will do, and one that the state forbids says why", async () => {
  await using world = await open({}, { actions: true });
  const { engine } = world;
  const run = await engine.start(order, { hero: "1" });
  const ready = await actionsOf(world, run.id);
  assert.match(ready, /Pause It stops before its next step\. What is scheduled keeps its time\./);
  assert.match(ready, /Resume Only a paused workflow can be resumed\./);
  assert.match(ready, /Skip step It leaves charge out and goes on with approve \. Skip the step/);
  assert.match(
    ready,
    /Cancel It ends for good, and nothing of it runs any more\. This cannot be taken back\./,
  );
  assert.match(ready, /Send signal The signal is kept until a step waits for it\./);

  await runDue(world);
  assert.match(
    await actionsOf(world, run.id),
    /Send signal It waits for approved and goes on as soon/,
  );
  await run.pause();
  const paused = await actionsOf(world, run.id);
  assert.match(paused, /Pause It is paused already\./);
  assert.match(paused, /Resume It goes on with approve at once\. Resume it/);
  assert.match(paused, /Resume at… What was scheduled is canceled/);

  await run.cancel();
  assert.match(
    await actionsOf(world, run.id),
    /It is canceled for good: there is nothing left to do\./,
  );
});

Deno.test("a running step can be paused and canceled, and neither skipped nor placed", async () => {
  await using world = await open({}, { actions: true });
  const run = await world.engine.start(order, { hero: "1" });
  const active = await world.store.active(run.id);
  await world.store.claim([active?.id ?? ""], {
    now: new Date(world.clock.now()),
    token: "t",
    leaseMs: 30_000,
    worker: "w",
  });
  const running = await actionsOf(world, run.id);
  assert.match(running, /Pause It stops before its next step\. The body of charge runs now/);
  assert.match(running, /Skip step Its step runs right now/);
  const refused = await world.post(`/workflows/${run.id}`, { action: "skip", expected: "charge" });
  assert.equal(refused.status, 409);
  assert.match(textOf(await refused.text()), /Not done\. Cannot skip a performing workflow/);
});

Deno.test("pressing the buttons does what they say", async () => {
  await using world = await open({}, { actions: true });
  const run = await world.engine.start(order, { hero: "1" });
  assert.match(await press(world, run.id, { action: "pause" }), /Paused\. order 1 ❚❚ paused/);
  assert.match(await press(world, run.id, { action: "resume" }), /Resumed: it goes on\./);
  assert.match(
    await press(world, run.id, { action: "skip", expected: "charge" }),
    /Skipped: it goes on with the step after it\..*Waits for the signal approved/,
  );
  const sent = await press(world, run.id, {
    action: "signal",
    name: "approved",
    payload: '{"by":"ann"}',
  });
  assert.match(sent, /The signal was sent\..*\{ "by": "ann" \}/);
  await runDue(world);
  await press(world, run.id, { action: "pause" });
  assert.match(
    await press(world, run.id, { action: "resumeAt", step: "thank" }),
    /Resumed at the chosen step\..*Next is thank/,
  );
  assert.match(await press(world, run.id, { action: "cancel" }), /Canceled for good\./);
  assert.equal((await run.reload()).state, "canceled");
});

Deno.test("what is refused says why, and nothing was done", async () => {
  await using world = await open({}, { actions: true });
  const run = await world.engine.start(order, { hero: "1" });
  const cases: [Record<string, string>, number, RegExp][] = [
    [{ action: "resume" }, 409, /Cannot resume a ready workflow/],
    [{ action: "resumeAt", step: "thank" }, 409, /Cannot resume a ready workflow/],
    [{ action: "resumeAt", step: "nonsense" }, 409, /has no step "nonsense"/],
    [
      { action: "skip", expected: "ship" },
      409,
      /Cannot skip the step "ship": .* moved on to "charge"/,
    ],
    [{ action: "explode" }, 400, /names no action/],
    [{ action: "signal", name: "" }, 400, /the name of a signal|without a name/],
    [{ action: "signal", name: "x", payload: "{" }, 400, /payload is not JSON/],
  ];
  const before = await world.json(`/json/workflows/${run.id}`);
  for (const [fields, status, why] of cases) {
    const response = await world.post(`/workflows/${run.id}`, fields);
    assert.equal(response.status, status, JSON.stringify(fields));
    assert.match(textOf(await response.text()), why);
  }
  assert.deepEqual(await world.json(`/json/workflows/${run.id}`), before);
  assert.equal((await world.post("/workflows/999", { action: "pause" })).status, 404);
});

Deno.test("a signal that was refused keeps what was typed", async () => {
  await using world = await open({}, { actions: true });
  const run = await world.engine.start(order, { hero: "1" });
  const fields = { action: "signal", name: "approved", payload: "{oops", key: "k-9" };
  const page = await (await world.post(`/workflows/${run.id}`, fields)).text();
  assert.match(page, /<details class="action" open>/);
  assert.match(page, />\{oops<\/textarea>/);
  assert.match(page, /name="key"[^>]*value="k-9"/);
});

Deno.test("a signal that is sent twice by one click is one signal", async () => {
  await using world = await open({}, { actions: true });
  const run = await world.engine.start(order, { hero: "1" });
  const page = await world.page(`/workflows/${run.id}`);
  const nonce = /name="nonce" value="([^"]+)"/.exec(page)?.[1] ?? "";
  assert.match(nonce, /^dashboard-/);
  const fields = { action: "signal", name: "approved", nonce };
  await press(world, run.id, fields);
  await press(world, run.id, fields);
  assert.equal((await run.signals()).length, 1);
  await press(world, run.id, { ...fields, nonce: "another" });
  await press(world, run.id, { ...fields, key: "mine" });
  assert.deepEqual((await run.signals()).map((one) => one.idempotencyKey), [
    nonce,
    "another",
    "mine",
  ]);
});

Deno.test("without the definition a workflow can be paused and canceled, and no more", async () => {
  await using world = await open();
  const run = await world.engine.start(order, { hero: "1" });
  await run.pause();
  await using looker = await open({ workflows: [], store: world.store }, { actions: true });
  const said = await actionsOf(looker, run.id);
  assert.match(said, /Resume This engine does not have its definition/);
  assert.match(said, /Resume at… This engine does not have its definition/);
  assert.match(said, /Skip step This engine does not have its definition/);
  const refused = await looker.post(`/workflows/${run.id}`, { action: "resume" });
  assert.equal(refused.status, 409);
  assert.match(await press(looker, run.id, { action: "cancel" }), /Canceled for good/);
});

Deno.test("a workflow whose step the code lacks can be resumed at another", async () => {
  await using world = await open();
  const run = await world.engine.start(order, { hero: "1" });
  await run.pause();
  const renamed = workflow({ name: "order", steps: [{ name: "charge_card", run: () => {} }] });
  await using other = await open({ workflows: [renamed], store: world.store }, { actions: true });
  assert.match(
    await actionsOf(other, run.id),
    /does not have its step "charge": resume it at another one/,
  );
  await press(other, run.id, { action: "resumeAt", step: "charge_card" });
  assert.equal((await run.reload()).nextStepName, "charge_card");
});

/** Twelve orders, of which every third is paused, and a review that paused itself. */
async function crowd(): Promise<World> {
  const world = await open({}, { actions: true });
  for (let hero = 1; hero <= 12; hero++) {
    const run = await world.engine.start(order, { hero: String(hero) });
    if (hero % 3 === 0) await run.pause();
  }
  await world.engine.start(review, { hero: "99" });
  await runDue(world);
  return world;
}

Deno.test("a bulk action first says how many it would touch, and which", async () => {
  await using world = await crowd();
  const page = await world.page("/bulk?action=resume&workflow=order");
  const said = textOf(page);
  assert.match(said, /Resume 4 workflows\? All workflows of "order" whose state is paused\./);
  assert.match(said, /order 12 Order 12/);
  assert.doesNotMatch(said, /review/);
  assert.match(page, /name="before" value="\d+"/);
  assert.match(
    textOf(await world.page("/bulk?action=pause&workflow=order")),
    /Pause 8 workflows\?/,
  );
  assert.match(
    textOf(await world.page("/bulk?action=resume&state=ready")),
    /Nothing to resume None of the workflows that are ready is paused, and only such/,
  );
  assert.equal((await world.ask("/bulk?action=explode")).status, 404);
  assert.equal((await world.engine.list({ state: "paused" })).items.length, 5, "nothing was done");
});

/** The fields of the form of a preview. */
function fieldsOf(page: string): Record<string, string> {
  const found = [...page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)];
  const fields = Object.fromEntries(found.map(([, name, value]) => [name, value])) as Record<
    string,
    string
  >;
  delete fields.pawl_csrf;
  return fields;
}

Deno.test("a bulk action does it to all that match, and to none that came later", async () => {
  await using world = await crowd();
  const fields = fieldsOf(await world.page("/bulk?action=resume&workflow=order"));
  await world.clock.tick(1_000);
  const late = await world.engine.start(order, { hero: "late" });
  await late.pause();
  const response = await world.post("/bulk", fields);
  assert.equal(response.status, 200);
  assert.match(textOf(await response.text()), /4 workflows resumed/);
  const paused = (await world.engine.list({ state: "paused" })).items;
  assert.deepEqual(paused.map((one) => one.heroId), ["late", "99"]);
});

Deno.test("a bulk action tells how many were refused, and why", async () => {
  await using world = await crowd();
  const renamed = workflow({ name: "order", steps: [{ name: "other", run: () => {} }] });
  await using other = await open({ workflows: [renamed], store: world.store }, { actions: true });
  const fields = fieldsOf(await other.page("/bulk?action=resume"));
  const said = textOf(await (await other.post("/bulk", fields)).text());
  assert.match(said, /0 workflows resumed 5 workflows refused:/);
  assert.match(said, /1 × No workflow is registered under the name "review"/);
  assert.doesNotMatch(said, /Go on with the next/);
});

Deno.test("a bulk action goes in portions, and offers to go on", async () => {
  await using world = await open({}, { actions: true });
  const items = Array.from({ length: 1_250 }, (_, at) => ({ hero: String(at) }));
  await world.engine.startMany(order, items);
  const preview = await world.page("/bulk?action=cancel");
  assert.match(textOf(preview), /Cancel 1,250 workflows\?/);
  const first = await (await world.post("/bulk", fieldsOf(preview))).text();
  assert.match(
    textOf(first),
    /1,000 workflows canceled There are more\. Go on with the next 1,000/,
  );
  const second = await (await world.post("/bulk", fieldsOf(first))).text();
  assert.match(textOf(second), /250 workflows canceled/);
  assert.doesNotMatch(textOf(second), /There are more/);
  const counts = await world.engine.counts();
  assert.deepEqual(counts, [{ workflow: "order", state: "canceled", count: 1_250 }]);
});

Deno.test("a bulk action needs the instant of its preview", async () => {
  await using world = await crowd();
  const response = await world.post("/bulk", { action: "cancel", workflow: "order" });
  assert.equal(response.status, 400);
  assert.equal((await world.engine.list({ state: "canceled" })).items.length, 0);
});

Deno.test("more than a preview counts is said to be more", async () => {
  await using world = await open({}, { actions: true });
  const items = Array.from({ length: 2_001 }, (_, at) => ({ hero: String(at) }));
  await world.engine.startMany(order, items);
  assert.match(textOf(await world.page("/bulk?action=pause")), /Pause more than 2,000 workflows\?/);
});
