/** Taking a breath: a worker that is busy lets the event loop turn, and all its slots together. */

import assert from "node:assert/strict";
import { createEngine, workflow } from "../../mod.ts";
import { createBreath } from "../../src/run/breath.ts";
import { behaviour } from "../_engines.ts";
import { storeWith } from "./_doubles.ts";

function spin(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

Deno.test("a worker that was busy for a while waits for one turn of the event loop", async () => {
  const breathe = createBreath();
  assert.equal(breathe(), null);
  assert.equal(breathe(), null, "the slice has only begun");
  spin(11);
  let turned = false;
  const timer = setTimeout(() => void (turned = true), 0);
  const breath = breathe();
  assert.ok(breath !== null);
  assert.equal(breathe(), breath, "all wait for the same turn");
  await breath;
  while (!turned) await new Promise((resolve) => setTimeout(resolve, 0));
  clearTimeout(timer);
  assert.equal(breathe(), null);
});

behaviour(
  "SCH-06 steps that take breath in between still travel together",
  async ({ store }) => {
    let batches = 0;
    const counting = storeWith(store(), (real) => ({
      finish(batch, options) {
        batches++;
        return real.finish(batch, options);
      },
    }));
    const busy = workflow({
      name: "busy",
      steps: Array.from({ length: 5 }, () => ({ run: () => spin(0.3) })),
    });
    const engine = createEngine({ store: counting, workflows: [busy] });
    await engine.migrate();
    await engine.startMany(busy, Array.from({ length: 50 }, () => ({})));
    const worker = engine.work({ concurrency: 50 });
    await worker.idle();
    assert.deepEqual(await engine.counts(), [{ workflow: "busy", state: "finished", count: 50 }]);
    // One for each of the five moments, and some where a breath came between.
    assert.ok(batches <= 25, `${batches} commits for 250 steps`);
    await engine.close();
  },
);
