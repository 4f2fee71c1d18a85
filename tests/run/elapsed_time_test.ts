/**
 * Time: waits are elapsed time, and the drivers for tests keep the promises of the real ones.
 */

import assert from "node:assert/strict";
import { DuplicateWorkflowError, hero, workflow } from "../../mod.ts";
import { performNextStep } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { current } from "./_story.ts";

const DAY_MS = 86_400_000;

/** Runs work as if the machine stood in another time zone. */
async function inZone(zone: string, work: () => Promise<void>): Promise<void> {
  const before = Deno.env.get("TZ");
  Deno.env.set("TZ", zone);
  try {
    await work();
  } finally {
    if (before === undefined) Deno.env.delete("TZ");
    else Deno.env.set("TZ", before);
  }
}

behaviour(
  "U40 a wait across a change of the clocks is as long as any other",
  async ({ engine }) => {
    await inZone("Europe/Berlin", async () => {
      // At two o'clock in the night of the 29th of March 2026 it becomes three.
      const noon = new Date(2026, 2, 28, 12);
      assert.equal(new Date(2026, 2, 29, 12).getTime() - noon.getTime(), DAY_MS - 3_600_000);
      for (const wait of ["1 day", "P1D", "24 hours", { days: 1 }, DAY_MS]) {
        const rang: number[] = [];
        let now = (): number => 0;
        const definition = workflow({
          name: "alarm",
          steps: [{ name: "ring", wait, run: () => void rang.push(now()) }, {
            name: "again",
            wait,
            run: () => void rang.push(now()),
          }],
        });
        const t = await engine({ workflows: [definition], now: noon });
        now = () => t.clock.now();
        const run = await t.engine.start(definition);
        const { scheduledFor } = await current(run);
        assert.equal(scheduledFor.getTime() - noon.getTime(), DAY_MS);
        await t.clock.tick("2 days");
        assert.deepEqual(rang.map((at) => at - noon.getTime()), [DAY_MS, 2 * DAY_MS]);
      }
    });
  },
);

behaviour(
  "TST-17 the drivers for tests keep constraints, claims and due times like any other",
  async ({ engine }) => {
    let runs = 0;
    const definition = workflow({
      name: "lesson",
      hero: hero("Pupil", { load: (id: string) => ({ id }) }),
      steps: [{ name: "teach", wait: "1 hour", run: () => void runs++ }],
    });
    const t = await engine({ workflows: [definition] });
    const started = await Promise.allSettled(
      Array.from({ length: 5 }, () => t.engine.start(definition, { hero: "1" })),
    );
    const refused = started.filter((one) => one.status === "rejected");
    assert.equal(refused.length, 4, "one ongoing workflow per hero");
    for (const { reason } of refused) assert.ok(reason instanceof DuplicateWorkflowError);

    const run = started.find((one) => one.status === "fulfilled")?.value;
    assert.ok(run);
    const { id } = await current(run);
    const claim = { leaseMs: 30_000, worker: "w" };
    const early = await t.store.claim([id], { now: new Date(t.clock.now()), token: "a", ...claim });
    assert.deepEqual(early.map((one) => one.kind), ["early"]);
    await t.clock.tick(3_599_999);
    assert.equal(runs, 0, "nothing is delivered before its time");

    const now = new Date(t.clock.now() + 1);
    const claims = await Promise.all(
      ["a", "b", "c"].map((token) => t.store.claim([id], { now, token, ...claim })),
    );
    assert.deepEqual(claims.flat().map((one) => one.kind).sort(), ["claimed", "taken", "taken"]);
    await t.clock.tick("1 second");
    assert.equal(runs, 0, "what is claimed is nobody else's");

    const other = await t.engine.start(definition, { hero: "2" });
    await t.clock.tick("1 hour");
    assert.equal(runs, 1, "and what is due is delivered");
    assert.equal(await performNextStep(other), null);
  },
);
