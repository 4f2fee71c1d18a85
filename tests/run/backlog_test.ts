/**
 * Fairness: what is new does not wait for a backlog, what is merely busy keeps its order, and a
 * worker that has a lot to do lets the rest of its process have its turn.
 */

import assert from "node:assert/strict";
import { pollingQueue } from "../../drivers/queues/mod.ts";
import { createEngine, type Engine, workflow, type WorkflowDefinition } from "../../mod.ts";
import { createFakeClock } from "../../src/testing/mod.ts";
import { behaviour, type World } from "../_engines.ts";

/** An engine whose only step notes the input, and calls back in between. */
async function noting(
  world: World,
  between: (seen: readonly unknown[], engine: Engine) => void | Promise<void> = () => {},
): Promise<{
  engine: Engine;
  note: WorkflowDefinition;
  seen: unknown[];
  clock: ReturnType<typeof createFakeClock>;
}> {
  const seen: unknown[] = [];
  const note = workflow({
    name: "note",
    steps: [{
      name: "down",
      async run({ input }) {
        seen.push(input);
        await between(seen, engine);
      },
    }],
  });
  const clock = createFakeClock();
  const engine = createEngine({
    store: world.store(),
    queue: pollingQueue(),
    clock,
    workflows: [note],
  });
  await engine.migrate();
  return { engine, note, seen, clock };
}

behaviour("a start in the middle of a backlog does not wait for its end", async (world) => {
  const { engine, note, seen, clock } = await noting(world, async (seen, engine) => {
    if (seen.length === 50) await engine.start(note, { input: "new" });
  });
  const at = clock.now();
  await engine.startMany(note, Array.from({ length: 200 }, (_, input) => ({ input, at })));
  clock.travelTo(at + 3_600_000);
  const worker = engine.work({ concurrency: 1 });
  await worker.idle();
  assert.equal(seen.length, 201);
  const place = seen.indexOf("new");
  assert.ok(place >= 50 && place <= 54, `it came at ${place}`);
  // What is not new is taken from both ends, three of four from the old one.
  const early = seen.slice(0, 100).filter((one) => Number(one) < 100);
  assert.ok(early.length >= 75, `${early.length} of the first hundred are old`);
  assert.deepEqual(seen.filter((one) => one !== "new").sort((a, b) => Number(a) - Number(b)), [
    ...Array.from({ length: 200 }, (_, input) => input),
  ]);
  await worker.stop();
  await engine.close();
});

behaviour("work that is not late is done in its order, however much there is", async (world) => {
  const { engine, note, seen, clock } = await noting(world, async (seen, engine) => {
    if (seen.length === 50) await engine.start(note, { input: 100 });
  });
  const at = clock.now() - 100;
  const items = Array.from({ length: 100 }, (_, input) => ({ input, at: at + input }));
  await engine.startMany(note, items);
  const worker = engine.work({ concurrency: 1 });
  await worker.idle();
  assert.deepEqual(seen, Array.from({ length: 101 }, (_, input) => input));
  await worker.stop();
  await engine.close();
});

behaviour("a priority goes before all that is new", async (world) => {
  const { engine, note, seen, clock } = await noting(world, async (seen, engine) => {
    if (seen.length === 20) await engine.start(note, { input: "new", jobOptions: { priority: 1 } });
  });
  const at = clock.now();
  await engine.startMany(note, Array.from({ length: 60 }, (_, input) => ({ input, at })));
  clock.travelTo(at + 3_600_000);
  const worker = engine.work({ concurrency: 1 });
  await worker.idle();
  assert.equal(seen.indexOf("new"), 60);
  await worker.stop();
  await engine.close();
});

behaviour("a worker with a lot to do lets timers have their turn", async (world) => {
  let turns = 0;
  let turning = true;
  const turn = (): void => {
    turns++;
    if (turning) setTimeout(turn, 0);
  };
  const { engine, note, seen } = await noting(world);
  await engine.startMany(note, Array.from({ length: 4_000 }, (_, input) => ({ input })));
  turn();
  const worker = engine.work();
  await worker.idle();
  const during = turns;
  turning = false;
  assert.equal(seen.length, 4_000);
  assert.ok(during > 3, `timers fired ${during} times while 4,000 steps ran`);
  await worker.stop();
  await engine.close();
});
