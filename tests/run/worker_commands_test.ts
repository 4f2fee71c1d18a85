/** Commands from this process and from another that reach a running body. */

import assert from "node:assert/strict";
import { workflow } from "../../mod.ts";
import { behaviour } from "../_engines.ts";
import { createGate } from "./_gate.ts";
import { storyOf } from "./_story.ts";
import { reasonOf, twoEngines } from "./_two_engines.ts";

for (const [action, state] of [["pause", "paused"], ["cancel", "canceled"]] as const) {
  behaviour(
    `P9 a ${action} reaches the running body at once in its own process, and at the next heartbeat from another`,
    async ({ store }) => {
      const gates = [createGate(), createGate()];
      const signals: AbortSignal[] = [];
      const definition = workflow({
        name: "watch",
        steps: [{
          name: "observe",
          async run({ input, signal }) {
            signals[Number(input)] = signal;
            await gates[Number(input)]?.pass();
          },
        }],
      });
      await using two = await twoEngines(store(), [definition]);
      const near = await two.first.start(definition, { input: 0 });
      const far = await two.first.start(definition, { input: 1 });
      const worker = two.first.work();
      await Promise.all(gates.map((gate) => gate.arrived));
      await near[action]();
      assert.equal(reasonOf(signals[0]), state);
      await (await two.second.find(far.id))?.[action]();
      assert.equal((await far.reload()).state, state, "the row changes at once");
      await two.clock.tick(9_999);
      assert.equal(signals[1]?.aborted, false);
      await two.clock.tick(1);
      assert.equal(reasonOf(signals[1]), state);
      for (const gate of gates) gate.open();
      await worker.idle();
      for (const run of [near, far]) {
        const [story] = await storyOf(run);
        const expected = action === "pause" ? "completed/success" : "canceled/canceled (operator)";
        assert.equal(story, `observe: ${expected}`);
      }
      await worker.stop();
    },
  );
}

behaviour(
  "P9 a pause from another process stops a resumable step at its next checkpoint, without a heartbeat",
  async ({ store }) => {
    const gate = createGate();
    const seen: number[] = [];
    const definition = workflow({
      name: "watch",
      steps: [{
        name: "observe",
        resumable: true,
        async run({ iter }) {
          await iter.over([0, 1, 2], async (hour) => {
            seen.push(hour);
            if (hour === 0) await gate.pass();
          });
        },
      }],
    });
    await using two = await twoEngines(store(), [definition]);
    const run = await two.first.start(definition);
    const worker = two.first.work();
    await gate.arrived;
    await (await two.second.find(run.id))?.pause();
    gate.open();
    await worker.idle();
    assert.deepEqual(seen, [0]);
    assert.deepEqual(await storyOf(run), ["observe: completed/workflow_paused (operator)"]);
    await worker.stop();
  },
);
