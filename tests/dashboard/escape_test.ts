import assert from "node:assert/strict";
import { hero, workflow, type WorkflowDefinition } from "../../mod.ts";
import { open, regionOf, runDue, type World } from "./_world.ts";

/** Breaks out of text, of attributes in either quotes, of comments, and of a script's strings. */
const EVIL = `"'><script>alert(1)</script><img src=x onerror=alert(2)>--><b>&lt;\${x}`;

/** A workflow that has the payload wherever a user can put text. */
const evil: WorkflowDefinition = workflow({
  name: `name ${EVIL}`,
  hero: hero(`type ${EVIL}`, { load: (id) => ({ id }) }),
  steps: [
    {
      name: `step ${EVIL}`,
      resumable: true,
      run: async ({ iter }) => {
        await iter.set({ [EVIL]: EVIL });
        iter.progress(1, 2, EVIL);
        await iter.checkpoint();
        const error = new Error(EVIL, { cause: new TypeError(EVIL) });
        Object.defineProperty(error, "name", { value: EVIL });
        throw error;
      },
    },
    { name: `second ${EVIL}`, waitFor: `signal ${EVIL}`, run: () => {} },
  ],
});

/** Whether any of the payload got through as markup. */
function assertText(markup: string, where: string): void {
  assert.match(markup, /&lt;script&gt;/, `the payload is in ${where}`);
  assert.doesNotMatch(markup, /<script>|<img|<b>&amp;lt;/i, where);
  // Tags and attributes that are ours never hold a handler.
  for (const [tag] of markup.matchAll(/<[a-z][^>]*>/gi)) {
    const bare = tag.slice(1).replace(/"[^"]*"/g, '""');
    assert.doesNotMatch(bare, /\son[a-z]+\s*=|['<]/i, `${where}: ${tag}`);
  }
}

async function evilWorld(actions: boolean): Promise<{ world: World; id: string }> {
  const world = await open({ workflows: [evil] }, { actions, title: EVIL });
  const run = await world.engine.start(evil, {
    hero: EVIL.slice(0, 80),
    input: { [EVIL]: EVIL },
    metadata: { [EVIL]: EVIL },
  });
  await run.signal(EVIL, { [EVIL]: EVIL }, { idempotencyKey: EVIL });
  await runDue(world);
  assert.equal((await run.reload()).state, "paused");
  return { world, id: run.id };
}

for (const actions of [false, true]) {
  Deno.test(`a payload in every field stays text on every page${actions ? ", also of forms" : ""}`, async () => {
    const { world, id } = await evilWorld(actions);
    await using _ = world;
    const query = new URLSearchParams({ workflow: EVIL, hero: EVIL, step: EVIL, error: EVIL });
    const paths = [
      "/",
      "/workflows",
      "/workflows?state=paused",
      `/workflows?${query}`,
      `/workflows?q=${encodeURIComponent(EVIL)}`,
      `/workflows/${id}`,
      `/workflows/${id}?all=1&done=${encodeURIComponent(EVIL)}&waits=short`,
    ];
    for (const path of paths) assertText(await world.page(path), path);
    const missing = await world.ask(`/workflows/${encodeURIComponent(EVIL)}`);
    assert.equal(missing.status, 404);
    assertText(await missing.text(), "a page that is not there");
    if (!actions) return;
    const preview = await world.page(`/bulk?action=resume&${query}`);
    assertText(preview, "a preview");
  });
}

Deno.test("each region of a workflow's page shows the payload as text", async () => {
  const { world, id } = await evilWorld(true);
  await using _ = world;
  const page = await world.page(`/workflows/${id}`);
  for (
    const region of [
      "identity",
      "headline",
      "progress",
      "timeline",
      "problem",
      "history",
      "actions",
      "steps",
      "values",
      "signals",
    ]
  ) assertText(regionOf(page, region), region);
});

Deno.test("a refusal repeats what was typed as text", async () => {
  const { world, id } = await evilWorld(true);
  await using _ = world;
  const fields = { action: "signal", name: EVIL, payload: EVIL, key: EVIL };
  const response = await world.post(`/workflows/${id}`, fields);
  assert.equal(response.status, 400);
  const text = await response.text();
  assertText(text, "a refusal");
  assert.match(text, /not JSON/);
});

Deno.test("a stream sends the payload as text, in one line per event", async () => {
  const { world, id } = await evilWorld(false);
  await using _ = world;
  const response = await world.ask(`/live/workflows/${id}`);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = "";
  while (!text.includes("event: regions") || !text.endsWith("\n\n")) {
    const { value } = await reader.read();
    text += new TextDecoder().decode(value);
  }
  await reader.cancel();
  const data = /^data: (.*)$/m.exec(text)?.[1] ?? "";
  for (const markup of Object.values(JSON.parse(data).regions as Record<string, string>)) {
    assert.doesNotMatch(markup, /<script>|<img/i);
  }
});

Deno.test("JSON endpoints hand the payload on unchanged, and never as HTML", async () => {
  const { world, id } = await evilWorld(false);
  await using _ = world;
  const data = await world.json(`/json/workflows/${id}`);
  assert.equal(data.workflow.name, `name ${EVIL}`);
  assert.equal(data.workflow.input[EVIL], EVIL);
  assert.equal(data.signals[0].payload[EVIL], EVIL);
  const response = await world.ask(`/json/workflows/${id}`);
  assert.equal(response.headers.get("x-content-type-options"), "nosniff");
  await response.body?.cancel();
});
