import assert from "node:assert/strict";
import { memoryStore } from "../../drivers/memory/mod.ts";
import { StoreError } from "../../mod.ts";
import { open, order, runDue, type World } from "./_world.ts";

/** One event of a stream. */
interface LiveEvent {
  readonly name: string;
  // deno-lint-ignore no-explicit-any -- tests look into it
  readonly data: any;
}

/** Reads a stream event by event. */
interface Listener extends AsyncDisposable {
  /** The next event; null at the end. */
  next(): Promise<LiveEvent | null>;
  /** Whether anything more is there by now. */
  isSilent(): Promise<boolean>;
  /** Goes away. */
  leave(): Promise<void>;
}

async function listen(world: World, path: string): Promise<Listener> {
  const response = await world.ask(path);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = "";
  let pending: Promise<{ done: boolean; value?: Uint8Array | undefined }> | null = null;

  async function fill(): Promise<boolean> {
    pending ??= reader.read();
    const { done, value } = await pending;
    pending = null;
    if (done) return false;
    text += decoder.decode(value, { stream: true });
    return true;
  }

  async function next(): Promise<LiveEvent | null> {
    while (true) {
      const end = text.indexOf("\n\n");
      if (end >= 0) {
        const block = text.slice(0, end);
        text = text.slice(end + 2);
        const name = /^event: (.*)$/m.exec(block)?.[1];
        if (name === undefined) continue;
        return { name, data: JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? "null") };
      }
      if (!await fill()) return null;
    }
  }

  const leave = (): Promise<void> => reader.cancel();
  return {
    next,
    leave,
    async isSilent() {
      pending ??= reader.read();
      const { promise, resolve } = Promise.withResolvers<null>();
      const timer = setTimeout(resolve, 20, null);
      const first = await Promise.race([pending, promise]);
      clearTimeout(timer);
      return text === "" && first === null;
    },
    [Symbol.asyncDispose]: leave,
  };
}

Deno.test("a stream first sends all regions of its page, then only those that changed", async () => {
  await using world = await open({}, { refreshMs: 1_000 });
  const run = await world.engine.start(order, { hero: "1" });
  await using stream = await listen(world, `/live/workflows/${run.id}`);
  const first = await stream.next();
  assert.equal(first?.name, "regions");
  assert.equal(first?.data.now, world.clock.now());
  assert.ok(Object.keys(first?.data.regions).includes("headline"));
  assert.match(first?.data.regions.headline, /Next is/);

  await world.clock.tick(1_000);
  const second = await stream.next();
  assert.match(second?.data.regions.headline, /Waits for the signal/);
  assert.ok(second?.data.regions.timeline !== undefined);
  assert.equal(second?.data.regions.values, undefined, "its data did not change");
});

Deno.test("seconds that pass are no change", async () => {
  await using world = await open({ workflows: [order] }, { refreshMs: 1_000 });
  const run = await world.engine.start(order, { hero: "1" });
  await world.clock.tick("1 day");
  await using stream = await listen(world, `/live/workflows/${run.id}`);
  assert.equal((await stream.next())?.name, "regions");
  await world.clock.tick(5_000);
  assert.ok(await stream.isSilent());
  await run.cancel();
  await world.clock.tick(1_000);
  assert.match((await stream.next())?.data.regions.headline, /Canceled/);
});

Deno.test("the overview's stream tells of new workflows, and of what ended", async () => {
  await using world = await open({}, { refreshMs: 1_000 });
  await using stream = await listen(world, "/live/overview");
  await stream.next();
  await world.engine.start(order, { hero: "1" });
  await world.clock.tick(1_000);
  const { regions } = (await stream.next())?.data ?? {};
  assert.match(regions.definitions, /1 workflow stored/);
  assert.match(regions.activity, /1 completed/);
});

Deno.test("a list's stream shows the page that was asked for", async () => {
  await using world = await open({}, { refreshMs: 1_000 });
  await using stream = await listen(world, "/live/workflows?state=paused");
  assert.match((await stream.next())?.data.regions.rows, /No workflows that are paused/);
  const run = await world.engine.start(order, { hero: "77" });
  await run.pause();
  await world.clock.tick(1_000);
  const { rows } = (await stream.next())?.data.regions ?? {};
  assert.match(rows, /<b>77<\/b>/);
  assert.match(rows, new RegExp(`href="\\./workflows/${run.id}"`), "links as seen from the page");
});

Deno.test("a stream stops looking when its reader goes", async () => {
  await using world = await open({}, { refreshMs: 1_000 });
  const stream = await listen(world, "/live/overview");
  await stream.next();
  assert.equal(world.handler.openPages, 1);
  const timers = world.clock.timers;
  await stream.leave();
  assert.equal(world.handler.openPages, 0);
  assert.equal(world.clock.timers, timers - 1, "its timer is gone");
});

Deno.test("close() ends all streams, and later ones end at once", async () => {
  await using world = await open({}, { refreshMs: 1_000 });
  await using first = await listen(world, "/live/overview");
  await using second = await listen(world, "/live/workflows");
  await first.next();
  await second.next();
  world.handler.close();
  assert.equal(await first.next(), null);
  assert.equal(await second.next(), null);
  await using late = await listen(world, "/live/overview");
  assert.equal(await late.next(), null);
  assert.equal(world.handler.openPages, 0);
  assert.equal((await world.ask("/")).status, 200, "pages are still answered");
});

Deno.test("a stream ends after some minutes, so that its reader is asked for his right again", async () => {
  await using world = await open({}, { refreshMs: 60_000 });
  await using stream = await listen(world, "/live/overview");
  await stream.next();
  for (let minute = 0; minute < 11; minute++) await world.clock.tick("1 minute");
  let event = await stream.next();
  while (event !== null) event = await stream.next();
  assert.equal(world.handler.openPages, 0);
});

Deno.test("a silent stream shows now and then that it is there", async () => {
  await using world = await open({}, { refreshMs: 1_000 });
  const run = await world.engine.start(order, { hero: "1" });
  await run.pause();
  await runDue(world);
  const response = await world.ask(`/live/workflows/${run.id}`);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const read = async (): Promise<string> => new TextDecoder().decode((await reader.read()).value);
  assert.match(await read(), /^retry: 1000\n\n/);
  assert.match(await read(), /event: regions/);
  await world.clock.tick("16 seconds");
  assert.equal(await read(), ": still here\n\n");
  await reader.cancel();
});

Deno.test("a stream tells once of trouble with the database, and goes on when it is over", async () => {
  let isDown = false;
  const inner = memoryStore();
  const store = new Proxy(inner, {
    get: (target, name) =>
      name === "get" && isDown
        ? () => Promise.reject(new StoreError("memory", "It is down"))
        : Reflect.get(target, name),
  });
  await using world = await open({ store }, { refreshMs: 1_000 });
  const run = await world.engine.start(order, { hero: "1" });
  await run.pause();
  await using stream = await listen(world, `/live/workflows/${run.id}`);
  await stream.next();
  isDown = true;
  await world.clock.tick(1_000);
  assert.deepEqual(await stream.next(), {
    name: "trouble",
    data: { message: "[memory] It is down" },
  });
  await world.clock.tick(3_000);
  assert.ok(await stream.isSilent());
  isDown = false;
  await world.clock.tick(1_000);
  assert.equal((await stream.next())?.name, "regions");
});

Deno.test("a stream on a workflow that is gone says so, once", async () => {
  await using world = await open({}, { refreshMs: 1_000 });
  const run = await world.engine.start(order, { hero: "1" });
  await run.cancel();
  await using stream = await listen(world, `/live/workflows/${run.id}`);
  await stream.next();
  await world.store.purge({ before: new Date(world.clock.now() + 1), limit: 1 });
  await world.clock.tick(1_000);
  assert.equal((await stream.next())?.name, "gone");
  await world.clock.tick(5_000);
  assert.ok(await stream.isSilent());
});

Deno.test("readers of one overview share their looks at the database", async () => {
  let counts = 0;
  const inner = memoryStore();
  const store = new Proxy(inner, {
    get: (target, name) => {
      if (name === "counts") counts++;
      return Reflect.get(target, name);
    },
  });
  await using world = await open({ store }, { refreshMs: 1_000 });
  const streams = await Promise.all(
    Array.from({ length: 5 }, () => listen(world, "/live/overview")),
  );
  for (const stream of streams) await stream.next();
  counts = 0;
  await world.clock.tick(3_000);
  // The deploy gate counts, too, though rarely.
  assert.ok(counts <= 4, `${counts} looks for five readers in three seconds`);
  assert.ok(counts >= 3, `${counts} looks in three seconds`);
  for (const stream of streams) await stream.leave();
});
