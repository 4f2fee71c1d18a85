/** The callbacks of a walk on a real engine. */

import assert from "node:assert/strict";
import { type IterationOptions } from "../../mod.ts";
import {
  interruptEvery,
  performNextStep,
  runIterations,
  speedrunWorkflow,
} from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingQueue } from "../run/_doubles.ts";
import { current, deliver, executionAt } from "../run/_story.ts";
import { importing, range } from "./_chain.ts";

/** Callbacks that write down when they are called. */
function noting(calls: string[]): IterationOptions {
  return {
    onStart: () => void calls.push("start"),
    onShutdown: () => void calls.push("shutdown"),
    onComplete: () => void calls.push("complete"),
  };
}

behaviour(
  "JIT-30 JIT-31 JIT-32 over a chain: start once, shutdown in every chunk, complete once",
  async (world) => {
    const calls: string[] = [];
    const definition = importing(({ iter }) =>
      iter.over(range(5), (item) => void calls.push(`${item}`), noting(calls))
    );
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    await interruptEvery(run, 2);
    assert.deepEqual(calls, [
      ...["start", "0", "1", "shutdown"],
      ...["2", "3", "shutdown"],
      ...["4", "shutdown", "complete"],
    ]);
  },
);

behaviour(
  "JIT-30 JIT-31 JIT-32 an error calls neither shutdown nor complete, and no second start after it",
  async (world) => {
    for (const onException of ["pause", "reattempt"] as const) {
      const calls: string[] = [];
      let fails = true;
      const definition = importing(({ iter }) =>
        iter.over(range(2), (item) => {
          if (fails) throw new Error("no");
          calls.push(`${item}`);
        }, noting(calls)), { onException });
      const { engine } = await world.engine({ workflows: [definition] });
      const run = await engine.start(definition);
      await assert.rejects(performNextStep(run), /no/);
      assert.deepEqual(calls, ["start"]);
      fails = false;
      if (run.state === "paused") await run.resume();
      await speedrunWorkflow(run);
      assert.deepEqual(calls, ["start", "0", "1", "shutdown", "complete"]);
    }
  },
);

behaviour(
  "JIT-30 a step that never got to its body has not started: onStart comes with the first that does",
  async (world) => {
    const calls: string[] = [];
    let broken = true;
    const definition = importing(({ iter }) => iter.over([1], () => {}, noting(calls)), {
      skipIf: () => {
        if (broken) throw new Error("condition");
        return false;
      },
      onException: "reattempt",
    });
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    await assert.rejects(performNextStep(run), /condition/);
    broken = false;
    await speedrunWorkflow(run);
    assert.deepEqual(calls, ["start", "shutdown", "complete"]);
  },
);

behaviour(
  "JIT-31 onShutdown is called before the chunk is closed and its continuation is announced",
  async (world) => {
    const queue = recordingQueue();
    const seen: unknown[] = [];
    let look = (): Promise<unknown> => Promise.resolve();
    const definition = importing(({ iter }) =>
      iter.over(range(4), () => {}, {
        onShutdown: async () => void seen.push(await look()),
      }), { maxIterations: 2 });
    const { engine } = await world.engine({ workflows: [definition], queue });
    const run = await engine.start(definition);
    look = async () => {
      const { state, cursor } = await current(run);
      return [queue.jobs.length, state, cursor];
    };
    await engine.handle((await current(run)).id);
    assert.deepEqual(seen, [[1, "in_progress", 2]], "the cursor is stored already");
    assert.equal(queue.jobs.length, 2);
  },
);

behaviour(
  "JIT-31 JIT-32 onShutdown is called, onComplete is not, when the callback itself ends the walk",
  async (world) => {
    const flows = ["suspend", "pause", "skip", "cancel", "finish", "reattempt"] as const;
    for (const flow of flows) {
      const calls: string[] = [];
      const definition = importing((context) =>
        context.iter.over(range(3), (item) => {
          if (item === 1) context[flow]();
        }, noting(calls))
      );
      const { engine } = await world.engine({ workflows: [definition] });
      await performNextStep(await engine.start(definition));
      assert.deepEqual(calls, ["start", "shutdown"], flow);
    }
  },
);

behaviour(
  "JIT-31 JIT-32 a throttle and a pause from outside call onShutdown and not onComplete",
  async (world) => {
    const calls: string[] = [];
    let held = true;
    const definition = importing(async ({ iter }) => {
      iter.throttle(() => held, { backoff: "1 minute" });
      await iter.over(range(3), () => pause(), noting(calls));
    });
    const { engine } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    const pause = (): Promise<unknown> => run.pause();
    await performNextStep(run);
    assert.deepEqual(calls, ["start", "shutdown"]);
    held = false;
    calls.length = 0;
    await performNextStep(run);
    assert.deepEqual([calls, run.state], [["shutdown"], "paused"]);
  },
);

behaviour(
  "a callback that fails is the step's error, and the walk goes on from what was done",
  async (world) => {
    for (const name of ["onStart", "onShutdown", "onComplete", "aroundIteration"] as const) {
      const done: number[] = [];
      let fails = true;
      const definition = importing(({ iter }) =>
        iter.over(range(3), (item) => void done.push(item), {
          [name]: async (next?: () => Promise<void>) => {
            if (fails) throw new Error(name);
            await next?.();
          },
        })
      );
      const { engine } = await world.engine({ workflows: [definition] });
      const run = await engine.start(definition);
      const thrown = await deliver(engine, run);
      assert.equal((thrown as Error).message, name);
      assert.deepEqual([run.state, (await executionAt(run, 0)).state], ["paused", "failed"]);
      fails = false;
      await run.resume();
      await speedrunWorkflow(run);
      assert.deepEqual(done, range(3), name);
      assert.equal(run.state, "finished");
    }
  },
);

behaviour("JIT-33 aroundIteration wraps every call, in every chunk", async (world) => {
  const calls: string[] = [];
  const definition = importing(({ iter }) =>
    iter.over(["a", "b", "c"], (item) => void calls.push(item), {
      async aroundIteration(next, item) {
        calls.push(`<${item}`);
        await next();
        calls.push(">");
      },
    })
  );
  const { engine } = await world.engine({ workflows: [definition] });
  const run = await engine.start(definition);
  await runIterations(run, { count: 1 });
  await speedrunWorkflow(run);
  assert.deepEqual(calls, ["<a", "a", ">", "<b", "b", ">", "<c", "c", ">"]);
});
