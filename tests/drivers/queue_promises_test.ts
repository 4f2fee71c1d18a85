/** What every queue on a server of its own promises beyond the cases of all queues. */

import assert from "node:assert/strict";
import { createEngine, workflow } from "../../mod.ts";
import { memoryStore } from "../../drivers/memory/mod.ts";
import { until } from "../run/_doubles.ts";
import { type FreshPlace, QUEUE_KINDS } from "./_queue_kinds.ts";
import { HOUR_MS, ids, job, listenTo } from "./_queue_trials.ts";

/** A promise, and how it is proved at an empty place. */
const PROMISES: Readonly<Record<string, (place: FreshPlace) => Promise<void>>> = {
  async "an execution that is announced again for an earlier time comes at that time"({ open }) {
    const queue = open();
    const { came, stop } = listenTo(queue);
    await queue.enqueue([job("1", { runAt: new Date(Date.now() + HOUR_MS) })]);
    await queue.enqueue([job("1")]);
    await until(() => came.length > 0);
    assert.ok((came[0]?.runAt.getTime() ?? Infinity) <= Date.now());
    await stop();
  },

  async "EXT-01 a job that is announced again after it was handed over comes again"({ open }) {
    const queue = open();
    const again = job("1");
    const { came, stop } = listenTo(queue);
    await queue.enqueue([again]);
    await until(() => came.length === 1);
    // As when a workflow is paused at its time and resumed a moment later.
    await queue.enqueue([again]);
    await until(() => came.length === 2);
    assert.deepEqual(came, [again, again]);
    await stop();
  },

  async "EXT-01 a job that is announced again while it is handed over comes again"({ open }) {
    const queue = open();
    const again = job("1");
    const { came, stop } = listenTo(queue, {
      // The worker has judged the row already when somebody resumes its workflow.
      work: () => came.length === 1 ? queue.enqueue([again]) as Promise<void> : undefined,
    });
    await queue.enqueue([again]);
    await until(() => came.length === 2);
    assert.deepEqual(came[1], again);
    await stop();
  },

  async "SCH-13 queues whose names look alike stay apart"({ open }) {
    const queue = open();
    const long = "🐢".repeat(127);
    const names = [
      ...["a:b", "a%3Ab", "a%253Ab", "a=3Ab", "a.b", "a::b", "größe 🐢", "{a}", "queues", "*", ">"],
      ...["~", "now", "a b", long, `${long}!`],
    ];
    await queue.enqueue(names.map((name, at) => job(`${at}`, { queue: name })));
    for (const [at, name] of names.entries()) {
      const { came, stop } = listenTo(queue, { queues: [name] });
      await until(() => came.length > 0);
      assert.deepEqual(came.map((one) => [one.executionId, one.queue]), [[`${at}`, name]]);
      await stop();
    }
  },

  async "a listener of all queues finds a queue that another process has made meanwhile"(
    { open },
  ) {
    const { came, stop } = listenTo(open());
    await open().enqueue([job("1", { queue: "brand new" })]);
    await until(() => came.length > 0);
    assert.equal(came[0]?.queue, "brand new");
    await stop();
  },

  async "a job that is held for too long goes to others as well"({ open }) {
    const queue = open({ holdMs: 100, batchSize: 1 });
    const gate = Promise.withResolvers<void>();
    const busy = listenTo(queue, { work: () => gate.promise });
    await queue.enqueue([job("1")]);
    await until(() => busy.came.length > 0);
    const other = listenTo(queue);
    await until(() => other.came.length > 0);
    assert.deepEqual(ids(other.came), ["1"]);
    gate.resolve();
    await Promise.all([busy.stop(), other.stop()]);
  },

  async "2,000 jobs that wait do not hold up one that is due"({ open }) {
    const queue = open();
    const later = new Date(Date.now() + HOUR_MS);
    const waiting = Array.from({ length: 2_000 }, (_, at) => job(`later ${at}`, { runAt: later }));
    await queue.enqueue(waiting);
    const { came, stop } = listenTo(queue);
    await queue.enqueue([job("soon", { runAt: new Date(Date.now() + 50) }), job("now")]);
    await until(() => came.length === 2);
    assert.deepEqual(ids(came).toSorted(), ["now", "soon"]);
    await stop();
  },

  async "a workflow runs from its start to its end, through a wait and a signal"({ open }) {
    const ran: string[] = [];
    const order = workflow({
      name: "order",
      steps: [
        { name: "pack", run: () => void ran.push("pack") },
        { name: "ship", wait: 100, run: () => void ran.push("ship") },
        {
          name: "confirm",
          waitFor: "delivered",
          timeout: "3 days",
          run: () => void ran.push("confirm"),
        },
      ],
    });
    const engine = createEngine({ store: memoryStore(), queue: open(), workflows: [order] });
    const worker = engine.work();
    const run = await engine.start(order, { jobOptions: { queue: "orders" } });
    await until(async () => (await run.reload()).nextStepName === "confirm");
    await run.signal("delivered", null);
    await until(async () => (await run.reload()).state === "finished");
    assert.deepEqual(ran, ["pack", "ship", "confirm"]);
    await worker.stop();
    await engine.close();
  },

  async "a worker that stops gives back what it has not begun"({ open }) {
    const gate = Promise.withResolvers<void>();
    const ran: string[] = [];
    const definition = workflow({
      name: "slow",
      steps: [{
        name: "only",
        run: async ({ workflow }) => {
          ran.push(workflow.id);
          if (ran.length === 1) await gate.promise;
        },
      }],
    });
    const store = memoryStore();
    const first = createEngine({ store, queue: open(), workflows: [definition] });
    const second = createEngine({ store, queue: open(), workflows: [definition] });
    await first.startMany(definition, Array.from({ length: 5 }, () => ({})));
    const worker = first.work({ concurrency: 1 });
    await until(() => ran.length === 1);
    const stopping = worker.stop();
    gate.resolve();
    await stopping;
    const other = second.work();
    await until(() => ran.length === 5);
    await other.stop();
    assert.deepEqual(await second.counts(), [{ workflow: "slow", state: "finished", count: 5 }]);
    await Promise.all([first.close(), second.close()]);
  },
};

for (const kind of QUEUE_KINDS) {
  for (const [name, prove] of Object.entries(PROMISES)) {
    Deno.test({
      name: `${kind.name}: ${name}`,
      ignore: !kind.isThere,
      async fn() {
        await using place = await kind.fresh();
        await prove(place);
      },
    });
  }
}
