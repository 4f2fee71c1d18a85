/** Executions that are handed back because their worker's grace period is over. */

import assert from "node:assert/strict";
import { pollingQueue } from "../../drivers/queues/mod.ts";
import { workflow } from "../../mod.ts";
import { behaviour } from "../_engines.ts";
import { storeWith } from "./_doubles.ts";
import { createGate } from "./_gate.ts";

behaviour(
  "RES-13 a cursor that is on its way when the grace period ends is where the next one continues",
  async ({ store, engine }) => {
    const answer = createGate();
    const visited: number[] = [];
    const walk = workflow({
      name: "walk",
      steps: [{
        name: "on",
        resumable: true,
        run: ({ iter }) => iter.over([0, 1, 2, 3], (item) => void visited.push(item)),
      }],
    });
    // The third item is stored, but the word of it does not come before the worker is impatient.
    const slow = storeWith(store(), (real) => ({
      async checkpoint(batch, options) {
        const answers = await real.checkpoint(batch, options);
        if (batch.some((one) => one.cursor === "3")) await answer.pass();
        return answers;
      },
    }));
    const t = await engine({ store: slow, workflows: [walk], queue: pollingQueue() });
    const run = await t.engine.start(walk);
    const worker = t.engine.work({ graceMs: 0 });
    await answer.arrived;
    const stopping = worker.stop();
    await t.clock.tick(1);
    answer.open();
    await stopping;
    const [closed, next] = await run.history();
    assert.deepEqual([closed?.outcome, closed?.cursor], ["continued", 3]);
    assert.deepEqual([next?.state, next?.cursor], ["scheduled", 3]);
    await using second = t.engine.work();
    await second.idle();
    assert.deepEqual(visited, [0, 1, 2, 3], "no item whose cursor was stored is visited again");
  },
);
