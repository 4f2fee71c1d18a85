/** What is heard of a walk on a real engine, and what its log says. */

import assert from "node:assert/strict";
import type { Engine, Iter } from "../../mod.ts";
import { performNextStep, runIterations, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingLogger } from "../run/_doubles.ts";
import { current } from "../run/_story.ts";
import { importing, range } from "./_chain.ts";

interface Heard {
  readonly event: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** Writes down what is heard of iterations. */
function listen(engine: Engine): Heard[] {
  const heard: Heard[] = [];
  for (const name of ["iteration", "throttled"] as const) {
    engine.events.on(name, ({ event, detail, resumable, workflowName, stepName }) => {
      assert.deepEqual([resumable, workflowName, stepName], [true, "import", "rows"]);
      heard.push({ event, detail });
    });
  }
  return heard;
}

behaviour(
  "INS-12 JIT-39 JIT-42 a walk is heard of: built, each iteration, interrupted, resumed, completed",
  async (world) => {
    let work = (): void => {};
    const definition = importing(({ iter }) => iter.over(range(3), () => work()));
    const { engine, clock } = await world.engine({ workflows: [definition] });
    work = () => clock.travelTo(clock.now() + 100);
    const heard = listen(engine);
    const run = await engine.start(definition);
    await runIterations(run, { count: 2 });
    assert.deepEqual(heard.splice(0), [
      { event: "built", detail: { source: "over", cursor: null, items: 0 } },
      { event: "iteration", detail: { source: "over", cursor: 1, items: 1 } },
      { event: "iteration", detail: { source: "over", cursor: 2, items: 2 } },
      {
        event: "interrupted",
        detail: { source: "over", cursor: 2, items: 2, reason: "test", waitMs: 0 },
      },
    ]);
    await speedrunWorkflow(run);
    assert.deepEqual(heard, [
      { event: "built", detail: { source: "over", cursor: 2, items: 0 } },
      { event: "resumed", detail: { source: "over", cursor: 2, items: 0 } },
      { event: "iteration", detail: { source: "over", cursor: 3, items: 1 } },
      {
        event: "completed",
        detail: { source: "over", cursor: 3, items: 1, interruptions: 1, totalMs: 300 },
      },
    ]);
  },
);

behaviour(
  "INS-12 JIT-10 a throttle is heard of once, on its own channel, with the workflow's name",
  async (world) => {
    const definition = importing(async ({ iter }) => {
      iter.throttle(() => iter.cursor === 1 && !iter.resumed, { backoff: "10 seconds" });
      await iter.over(range(2), () => {});
    });
    const { engine } = await world.engine({ workflows: [definition] });
    const throttled: unknown[] = [];
    engine.events.on("throttled", (event) => throttled.push(event));
    const run = await engine.start(definition);
    const chunk = await performNextStep(run);
    await speedrunWorkflow(run);
    assert.deepEqual(throttled, [{
      workflowId: run.id,
      workflowName: "import",
      executionId: chunk?.id,
      stepName: "rows",
      durationMs: 0,
      resumable: true,
      event: "throttled",
      detail: { source: "over", cursor: 1, items: 1, reason: "throttled", waitMs: 10_000 },
    }]);
  },
);

behaviour(
  "INS-12 JIT-44 JIT-45 a source that is nothing, and one that has nothing, are heard of",
  async (world) => {
    const walks: [(iter: Iter) => Promise<void>, string[]][] = [
      [(iter) => iter.over(() => null, () => {}), ["nil-source"]],
      [(iter) => iter.over([], () => {}), ["built", "not-found", "completed"]],
    ];
    for (const [walk, expected] of walks) {
      const definition = importing(({ iter }) => walk(iter));
      const { engine } = await world.engine({ workflows: [definition] });
      const heard = listen(engine);
      await performNextStep(await engine.start(definition));
      assert.deepEqual(heard.map(({ event }) => event), expected);
    }
  },
);

behaviour(
  "INS-09 INS-02 JIT-39 the step event says that it is resumable, how it ended, why, and the wait",
  async (world) => {
    const definition = importing(async ({ iter, suspend }) => {
      if (iter.cursor === null) await iter.set(1);
      if (iter.cursor === 1) await iter.skipTo(2, { wait: "1 minute" });
      if (iter.cursor === 2) {
        await iter.skipTo(3).catch(() => {});
        assert.fail("only reached when nobody stops it");
      }
      if (iter.cursor === 3 && !suspended) {
        suspended = true;
        suspend({ wait: 1_000 });
      }
    }, { maxIterations: 1 });
    let suspended = false;
    const { engine } = await world.engine({ workflows: [definition] });
    const heard: unknown[] = [];
    engine.events.on("step", ({ stepName, outcome, reason, waitMs, resumable }) => {
      if (stepName === "rows") heard.push([outcome, reason, waitMs, resumable]);
    });
    const run = await engine.start(definition);
    await performNextStep(run);
    await performNextStep(run);
    await assert.rejects(performNextStep(run), /only reached/);
    await run.resume();
    await speedrunWorkflow(run);
    assert.deepEqual(heard, [
      ["interrupted", "max_iterations", 0, true],
      ["interrupted", "skip_to", 60_000, true],
      ["exception", undefined, undefined, true],
      ["suspend", "suspend", 1_000, true],
      ["completed", undefined, undefined, true],
    ]);
  },
);

behaviour("RES-74 iter as text names its step and its cursor", async (world) => {
  const texts: string[] = [];
  const definition = importing(async ({ iter }) => {
    texts.push(`${iter}`);
    await iter.set({ page: 2, big: 7n });
    texts.push(`${iter}`);
    await iter.set("x".repeat(1_000));
    assert.ok(`${iter}`.length < 300, "a large cursor is cut");
  });
  const { engine } = await world.engine({ workflows: [definition] });
  await performNextStep(await engine.start(definition));
  assert.equal(texts[0], 'iter of step "rows" at null');
  assert.equal(texts[1], 'iter of step "rows" at {"page":2,"big":{"$pawl":"bigint","v":"7"}}');
});

behaviour(
  "RES-75 JIT-39 the log says where a continuation resumes, and why a chunk was interrupted",
  async (world) => {
    const logger = recordingLogger();
    const definition = importing(({ iter }) => iter.over(range(5), () => {}), { maxIterations: 3 });
    const { engine } = await world.engine({ workflows: [definition], logger });
    const run = await engine.start(definition);
    const first = await current(run);
    await speedrunWorkflow(run);
    const told = logger.lines.filter(({ fields }) => fields.step === "rows")
      .map(({ level, message, fields }) => [level, message, fields.executionId === first.id]);
    assert.deepEqual(told, [
      ["info", "Interrupted: max_iterations", true],
      ["info", 'Continuing iter of step "rows" at 3', false],
    ]);
  },
);

behaviour(
  "INS-12 a listener that is not there costs nothing: items are only told of when somebody listens",
  async (world) => {
    const definition = importing(({ iter }) => iter.over(range(3), () => {}));
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    const heard: string[] = [];
    const off = engine.events.on("iteration", ({ event }) => void heard.push(event));
    await runIterations(run, { count: 1 });
    off();
    await speedrunWorkflow(run);
    assert.deepEqual(heard, ["built", "iteration", "interrupted"]);
  },
);
