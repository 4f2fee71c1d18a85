/**
 * When the queue hears of what was written in a transaction: after its commit, within it, or never.
 */

import assert from "node:assert/strict";
import { InvalidStateError, workflow } from "../../mod.ts";
import { assertWorkflowState, performNextStep } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingLogger, recordingQueue } from "./_doubles.ts";

const shipping = workflow({
  name: "shipping",
  steps: [{ name: "pack", run: () => {} }, { name: "send", wait: "1 day", run: () => {} }],
});
const dispatch = workflow({
  name: "dispatch",
  steps: [{ name: "await_truck", waitFor: "truck", run: () => {} }],
});
const workflows = [shipping, dispatch];

behaviour(
  "BLK-01 BLK-02 BLK-13 jobs of a transaction are enqueued once, when it has committed",
  async (world) => {
    const queue = recordingQueue();
    const { engine } = await world.engine({ workflows, queue });
    const runs = await engine.transaction(async (tx) => {
      const one = await engine.start(shipping, { tx });
      const [two] = await engine.startMany(shipping, [{}], { tx });
      assert.deepEqual(queue.jobs, [], "nobody may hear of rows that are not committed");
      return [one.id, two?.kind === "started" ? two.run.id : null];
    });
    assert.equal(queue.jobs.length, 2);
    for (const id of runs) {
      const execution = await (await engine.find(String(id)))?.currentExecution();
      assert.equal(queue.jobs.filter((job) => job.executionId === execution?.id).length, 1);
    }
  },
);

behaviour(
  "BLK-03 a transaction that rolls back leaves no workflow, no execution and no job",
  async (world) => {
    const queue = recordingQueue();
    const { engine } = await world.engine({ workflows, queue });
    const attempt = engine.transaction(async (tx) => {
      await engine.start(shipping, { tx });
      throw new Error("out of stock");
    });
    await assert.rejects(attempt, /out of stock/);
    assert.deepEqual(queue.jobs, []);
    assert.deepEqual((await engine.list()).items, []);
  },
);

behaviour(
  "BLK-04 BLK-07 BLK-14 within enqueueInline jobs are enqueued in the open transaction",
  async (world) => {
    const queue = recordingQueue();
    const { engine } = await world.engine({ workflows, queue });
    const answer = await engine.transaction((tx) =>
      engine.enqueueInline(async () => {
        await engine.startMany(shipping, [{}, {}, {}], { tx });
        assert.equal(queue.take().length, 3);
        return "the value of the callback";
      })
    );
    assert.equal(answer, "the value of the callback");
    assert.deepEqual(queue.take(), [], "nothing is enqueued a second time after the commit");
  },
);

behaviour(
  "BLK-05 BLK-06 an inline scope ends with its outermost callback, also by an error",
  async (world) => {
    const queue = recordingQueue();
    const { engine } = await world.engine({ workflows, queue });
    await engine.transaction(async (tx) => {
      await engine.enqueueInline(async () => {
        await engine.enqueueInline(() => engine.start(shipping, { tx }));
        assert.equal(queue.take().length, 1);
        await engine.start(shipping, { tx });
        assert.equal(queue.take().length, 1, "the outer scope is still inline");
      });
      const failing = () => engine.enqueueInline(() => Promise.reject(new Error("no")));
      await assert.rejects(failing, /no/);
      await engine.start(shipping, { tx });
      assert.deepEqual(queue.take(), [], "after the scopes jobs wait for the commit again");
    });
    assert.equal(queue.take().length, 1);
  },
);

behaviour("BLK-08 an inline scope does not reach into other flows of control", async (world) => {
  const queue = recordingQueue();
  const { engine } = await world.engine({ workflows, queue });
  let release = (): void => {};
  const inside = new Promise<void>((resolve) => void (release = resolve));
  const scope = engine.enqueueInline(() => inside);
  await engine.transaction(async (tx) => {
    await engine.start(shipping, { tx });
    assert.deepEqual(queue.jobs, []);
  });
  assert.equal(queue.jobs.length, 1);
  release();
  await scope;
});

behaviour(
  "BLK-15 NEW-05 resumes, skips and signals follow the transaction they are part of",
  async (world) => {
    const queue = recordingQueue();
    const { engine } = await world.engine({ workflows, queue });
    const paused = await engine.start(shipping);
    await paused.pause();
    const skipped = await engine.start(shipping);
    const waiting = await engine.start(dispatch);
    queue.take();
    await engine.transaction(async (tx) => {
      await paused.resume({ tx });
      await skipped.skip({ tx });
      await waiting.signal("truck", null, { tx });
      assert.deepEqual(queue.take(), []);
    });
    const ids = await Promise.all([paused, skipped, waiting].map(async (run) => {
      return (await run.currentExecution())?.id;
    }));
    assert.deepEqual(queue.take().map((job) => job.executionId), ids);
  },
);

behaviour(
  "BLK-10 BLK-12 in the caller's own transaction nothing is enqueued, and the sweep finds it",
  async (world) => {
    const queue = recordingQueue();
    const { engine, store, clock } = await world.engine({ workflows, queue });
    const run = await store.transaction((tx) => engine.start(shipping, { tx }));
    assert.deepEqual(queue.jobs, []);
    const worker = engine.work();
    await clock.tick("10 seconds");
    await worker.idle();
    await run.reload();
    assert.equal(run.nextStepName, "send");
    const [first] = await run.history();
    assert.equal(first?.outcome, "success", "it was not lost, so it is run and not recovered");
    await worker.stop();
  },
);

behaviour(
  "BLK-11 an enqueue that fails after the commit is logged, and the sweep recovers the job",
  async (world) => {
    const logger = recordingLogger();
    const queue = recordingQueue({ enqueue: () => Promise.reject(new Error("redis is away")) });
    const { engine, clock } = await world.engine({ workflows, queue, logger });
    const run = await engine.start(shipping);
    assert.equal(logger.lines.filter((line) => line.level === "error").length, 1);
    const worker = engine.work();
    await clock.tick("14 minutes");
    await assertWorkflowState(run, "ready");
    assert.equal((await run.history()).length, 1);
    await clock.tick("2 minutes");
    assert.deepEqual((await run.history()).map((one) => one.outcome).slice(0, 2), [
      "recovered",
      "success",
    ]);
    await worker.stop();
  },
);

behaviour(
  "BLK-09 a queue in the store's database is told inside the transaction, and only there",
  async (world) => {
    const handles: unknown[] = [];
    const queue = recordingQueue({ commit: "with-store" });
    const { enqueue } = queue;
    queue.enqueue = (jobs, options) => {
      handles.push(options?.tx);
      return enqueue(jobs);
    };
    const { engine } = await world.engine({ workflows, queue });
    const run = await engine.start(shipping);
    await performNextStep(run);
    assert.equal(queue.jobs.length, 2);
    assert.equal(handles.filter((tx) => tx === undefined).length, 0);
    await engine.transaction(async (tx) => {
      await engine.start(shipping, { tx });
      assert.ok(handles.at(-1), "it was told inside");
    });
    assert.equal(queue.jobs.length, 3);
  },
);

behaviour(
  "BLK-03 events of a transaction are told once it has committed, and never when it has not",
  async (world) => {
    const { engine } = await world.engine({ workflows, queue: recordingQueue() });
    const told: string[] = [];
    engine.events.on("workflow", ({ action }) => void told.push(action));
    const failing = engine.transaction(async (tx) => {
      await engine.start(shipping, { tx });
      throw new Error("out of stock");
    });
    await assert.rejects(failing);
    assert.deepEqual(told, []);
    await engine.transaction(async (tx) => {
      const run = await engine.start(shipping, { tx });
      await run.pause({ tx });
      assert.deepEqual(told, []);
    });
    assert.deepEqual(told, ["start", "pause"]);
  },
);

behaviour(
  "BLK-01 an embedded store refuses a write inside a transaction that would wait for itself",
  async (world) => {
    const { engine } = await world.engine({ workflows, queue: recordingQueue() });
    const other = await engine.start(shipping);
    await engine.transaction(async () => {
      for (
        const write of [
          () => engine.start(shipping),
          () => engine.startMany(shipping, [{}]),
          () => other.pause(),
          () => other.signal("truck"),
        ]
      ) {
        await assert.rejects(
          write,
          (error: unknown) =>
            error instanceof InvalidStateError && /pass \{ tx \}/.test(error.message),
        );
      }
    });
    await other.pause();
  },
);
