/**
 * Deno KV runs the cases of all queues on real time, because its delays are its own; what only it
 * promises is tested beside them.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { createEngine, type Job, workflow } from "../../mod.ts";
import { denoKvQueue, type KvLike } from "../../drivers/queues/deno_kv.ts";
import { memoryStore } from "../../drivers/memory/mod.ts";
import { systemClock, wait } from "../../src/seams/clock.ts";
import { registerQueueCases } from "../../src/testing/conformance.ts";
import { until } from "../run/_doubles.ts";

registerQueueCases("Deno KV", {
  open: () => ({
    queue: denoKvQueue({ path: ":memory:" }),
    clock: systemClock,
    advance: (ms) => wait(systemClock, ms),
  }),
}, (name, fn, skip) => Deno.test({ name, fn, ignore: skip !== null }));

/** A KV that only remembers what it was told. */
function recordingKv(): KvLike & {
  readonly told: [unknown, number | undefined][];
  closed: boolean;
} {
  const told: [unknown, number | undefined][] = [];
  return {
    told,
    closed: false,
    enqueue(value, options) {
      told.push([value, options?.delay]);
      return Promise.resolve();
    },
    listenQueue: () => new Promise(() => {}),
    close() {
      this.closed = true;
    },
  };
}

Deno.test("U10 Deno KV takes no delay beyond 30 days: the engine asks again after them", async () => {
  const kv = recordingKv();
  const queue = denoKvQueue({ kv });
  const days = (count: number): number => count * 86_400_000;
  assert.equal(queue.maxDelayMs, days(30));
  const runAt = new Date(Date.now() + days(90));
  await queue.enqueue([{ executionId: "1", runAt, queue: "mail", priority: 3 }]);
  const [value, delay] = kv.told[0] as [Job, number];
  assert.equal(delay, days(30));
  assert.deepEqual([value.executionId, value.queue, value.priority], ["1", "mail", 3]);
  await queue.close();
  assert.equal(kv.closed, false, "a KV of the application stays open");
});

Deno.test("a workflow runs over Deno KV from its start to its end, also through a wait", async () => {
  const ran: string[] = [];
  const parcel = workflow({
    name: "parcel",
    steps: [
      { name: "pack", run: () => void ran.push("pack") },
      { name: "ship", wait: 200, run: () => void ran.push("ship") },
    ],
  });
  const engine = createEngine({
    store: memoryStore(),
    queue: denoKvQueue({ path: ":memory:" }),
    workflows: [parcel],
  });
  const worker = engine.work();
  const run = await engine.start(parcel);
  await until(async () => (await run.reload()).state === "finished");
  assert.deepEqual(ran, ["pack", "ship"]);
  await worker.stop();
  await engine.close();
});

Deno.test("messages of the application in the same KV are none of our business", async () => {
  const { openKv } = Deno as unknown as { openKv(path: string): Promise<KvLike> };
  const kv = await openKv(":memory:");
  const queue = denoKvQueue({ kv });
  const stopping = new AbortController();
  const seen: string[] = [];
  const listening = queue.listen((jobs) => {
    seen.push(...jobs.map((job) => job.executionId));
    return Promise.resolve();
  }, { signal: stopping.signal, clock: systemClock, pollMs: 1_000 });
  await kv.enqueue({ kind: "newsletter", to: "ann" });
  await kv.enqueue("just text");
  await queue.enqueue([{ executionId: "7", runAt: new Date(), queue: "default", priority: 0 }]);
  await until(() => seen.length > 0);
  assert.deepEqual(seen, ["7"]);
  stopping.abort();
  await listening;
  kv.close();
});

Deno.test("without the flag Deno KV says which one is missing, before anything is started", () => {
  const entry = new URL("../../drivers/queues/deno_kv.ts", import.meta.url);
  const script = `import { denoKvQueue } from ${JSON.stringify(fileURLToPath(entry))};
    try { denoKvQueue(); } catch (error) { console.log(error.name, error.message); }`;
  // Outside of this folder, whose deno.json has the flag.
  const { stdout, stderr } = spawnSync(Deno.execPath(), ["eval", "--no-config", script], {
    encoding: "utf8",
    cwd: Deno.env.get("TMPDIR") ?? "/tmp",
  });
  assert.match(
    stdout,
    /StoreError \[deno-kv\] Cannot open Deno KV: run with --unstable-kv/,
    stderr,
  );
});
