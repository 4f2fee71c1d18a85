import assert from "node:assert/strict";
import { jsonCodec } from "../../mod.ts";
import { createRedactor, MASK } from "../../src/observe/redact.ts";
import { createValueReader } from "../../src/dashboard/values.ts";
import { open, order, runDue } from "./_world.ts";

const redactor = createRedactor(["cardNumber", "iban"]);
const reader = createValueReader(jsonCodec, redactor);

Deno.test("fields are masked by their names, without case, hyphens and underscores", () => {
  for (
    const name of ["cardNumber", "card_number", "CARD-NUMBER", "cardnumber", "IBAN", "Password"]
  ) {
    assert.ok(redactor.hides(name), name);
  }
  for (const name of ["card", "number", "tokens_used", "passwordless", ""]) {
    assert.ok(!redactor.hides(name), name);
  }
});

Deno.test("values of masked fields are masked at any depth, whatever they are", () => {
  const value = {
    id: 7,
    payment: { cardNumber: "4111", items: [{ token: { deep: 1 } }], iban: null },
    map: new Map<string, unknown>([["apiKey", 12]]),
  };
  assert.deepEqual(JSON.parse(JSON.stringify(reader.value(value))), {
    id: 7,
    payment: { cardNumber: MASK, items: [{ token: MASK }], iban: null },
    map: { apiKey: MASK },
  });
});

Deno.test("texts are masked after a name and a sign", () => {
  const cases: [string, string][] = [
    ["login with password=hunter2 failed", `login with password=${MASK} failed`],
    ['{"token":"abc","x":1}', `{"token":${MASK},"x":1}`],
    ["card_number: 4111-1111, next", `card_number: ${MASK}, next`],
    ["Authorization: Bearer abc.def ghi", `Authorization: ${MASK} ghi`],
    ["https://x.example/?api_key=s3cr3t&y=1", `https://x.example/?api_key=${MASK}&y=1`],
    [`secret = "two words"`, `secret = ${MASK}`],
  ];
  for (const [text, masked] of cases) assert.equal(redactor.text(text), masked);
  const plain = "The token was not found; passwords are not shown: ok";
  assert.equal(redactor.text(plain), plain);
});

Deno.test("a name of a field is never read as a pattern", () => {
  const odd = createRedactor(["a.b", "(c", "[d]*"]);
  assert.equal(odd.text("axb=1 a.b=2"), `axb=1 a.b=${MASK}`);
  assert.ok(odd.hides("(c"));
});

Deno.test("values that JSON has no words for are shown all the same", () => {
  const shown = reader.value({
    date: new Date("2026-01-01T00:00:00Z"),
    never: new Date(NaN),
    big: 12n,
    bytes: new Uint8Array(3),
    set: new Set([1]),
    odd: [NaN, Infinity, undefined],
  });
  assert.deepEqual(JSON.parse(JSON.stringify(shown)), {
    date: "2026-01-01T00:00:00.000Z",
    never: "Invalid Date",
    big: "12n",
    bytes: "3 bytes",
    set: [1],
    odd: ["NaN", "Infinity", null],
  });
});

Deno.test("a value is cut to what a page can hold", () => {
  const long = reader.value({ text: "x".repeat(10_000), list: Array(1_000).fill(1) }) as {
    text: string;
    list: unknown[];
  };
  assert.ok(long.text.length < 2_100);
  assert.match(long.text, /10000 in all/);
  assert.equal(long.list.length, 201);
  let deep: unknown = 1;
  for (let at = 0; at < 100; at++) deep = { deep };
  assert.ok(JSON.stringify(reader.value(deep)).length < 300);
});

Deno.test("a column that cannot be read says so in its place", () => {
  assert.match(String(reader.column("input", "{")), /input/);
  assert.equal(reader.column("input", null), null);
});

Deno.test("no page and no endpoint shows the value of a masked field", async () => {
  await using world = await open({}, { redact: ["card"], actions: true });
  const { engine, store } = world;
  const run = await engine.start(order, {
    hero: "7",
    input: { card: "SECRET-1", nested: { password: "SECRET-2" } },
    metadata: { apiKey: "SECRET-3" },
  });
  await runDue(world);
  await run.signal("approved", { token: "SECRET-4", by: "ann" });
  await runDue(world);
  const failing = await engine.start(order, { hero: "8", input: { fail: "card" } });
  const [execution] = await store.history(failing.id, { limit: 1 });
  const [claim] = await store.claim([execution?.id ?? ""], {
    now: new Date(world.clock.now()),
    token: "t",
    leaseMs: 1_000,
    worker: "w",
  });
  assert.equal(claim?.kind, "claimed");
  await store.finish([{
    executionId: execution?.id ?? "",
    workflowId: failing.id,
    token: "t",
    closing: { state: "failed", outcome: "failed", cause: "exception" },
    error: {
      errorClass: "E",
      message: "card=SECRET-5",
      stack: "E: card=SECRET-6\n    at x (y:1:1)",
    },
    metadata: null,
    keepCursor: false,
    bodyStarted: true,
    workflowState: "paused",
    nextStepName: "charge",
    next: null,
  }], { now: new Date(world.clock.now()) });
  const paths = ["/", "/workflows", `/workflows/${run.id}`, `/workflows/${failing.id}`];
  for (const path of [...paths, "/json/overview", "/json/workflows"]) {
    assert.doesNotMatch(await (await world.ask(path)).text(), /SECRET/, path);
  }
  for (const id of [run.id, failing.id]) {
    assert.doesNotMatch(await (await world.ask(`/json/workflows/${id}`)).text(), /SECRET/);
  }
  const page = await world.page(`/workflows/${run.id}`);
  assert.match(page, new RegExp(MASK));
  assert.match(page, /ann/);
});
