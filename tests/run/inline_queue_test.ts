/**
 * Who hears of a body's error: with an inline queue the caller, once it is stored; with a worker
 * only the reporter and the events.
 */

import assert from "node:assert/strict";
import { createEngine, type Engine, type Job, workflow } from "../../mod.ts";
import { inlineQueue } from "../../drivers/queues/mod.ts";
import { createFakeClock } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingQueue, until } from "./_doubles.ts";

const NOON = Date.UTC(2026, 5, 1, 12);

behaviour("EXE-21 an inline queue runs a whole workflow within start()", async ({ store }) => {
  const ran: string[] = [];
  const relay = workflow({
    name: "relay",
    steps: ["one", "two", "three"].map((name) => ({ name, run: () => void ran.push(name) })),
  });
  const engine = createEngine({ store: store(), queue: inlineQueue(), workflows: [relay] });
  await engine.migrate();
  const run = await engine.start(relay);
  assert.deepEqual(ran, ["one", "two", "three"]);
  assert.equal((await run.reload()).state, "finished");
  await engine.close();
});

behaviour(
  "EXE-21 start() rejects with what a body threw, and the state is stored by then",
  async ({ store }) => {
    const broken = new TypeError("no such baton");
    const reports: Error[] = [];
    const relay = workflow({
      name: "relay",
      steps: [{ name: "one", run: () => {} }, { name: "two", run: () => Promise.reject(broken) }],
    });
    const engine = createEngine({
      store: store(),
      queue: inlineQueue(),
      workflows: [relay],
      reportError: (error) => void reports.push(error),
    });
    await engine.migrate();
    await assert.rejects(engine.start(relay), (error) => {
      assert.equal(error, broken);
      return true;
    });
    const { items: [run] } = await engine.list();
    assert.equal(run?.state, "paused");
    const states = (await run?.history())?.map((one) => [one.stepName, one.state]);
    assert.deepEqual(states, [["one", "completed"], ["two", "failed"]]);
    assert.deepEqual(reports, [broken]);
    await assert.rejects(run?.resume() as Promise<unknown>, (error) => error === broken);
    await engine.close();
  },
);

behaviour(
  "EXE-21 of many that are started at once all run, and the first error comes back",
  async ({ store }) => {
    const ran: unknown[] = [];
    const relay = workflow({
      name: "relay",
      steps: [{
        name: "one",
        run({ input }) {
          ran.push(input);
          if (input !== "fine") throw new Error(`${input}`);
        },
      }],
    });
    const engine = createEngine({ store: store(), queue: inlineQueue(), workflows: [relay] });
    await engine.migrate();
    const items = ["fine", "late", "lost", "fine"].map((input) => ({ input }));
    await assert.rejects(engine.startMany(relay, items), /late/);
    assert.deepEqual(ran, ["fine", "late", "lost", "fine"]);
    const states = (await engine.list()).items.map((run) => run.state);
    assert.deepEqual(states, ["finished", "paused", "paused", "finished"]);
    await engine.close();
  },
);

behaviour(
  "EXE-21 of jobs that an in-process queue delivers together each runs, also after an error",
  async ({ store }) => {
    const ran: unknown[] = [];
    const relay = workflow({
      name: "relay",
      steps: [{
        name: "one",
        run({ input }) {
          ran.push(input);
          throw new Error(`${input}`);
        },
      }],
    });
    const waiting: Job[] = [];
    let deliver: (jobs: readonly Job[]) => Promise<void> = () => assert.fail("nobody listens");
    const queue = recordingQueue({
      inProcess: true,
      enqueue: (jobs: readonly Job[]) => Promise.resolve(void waiting.push(...jobs)),
      listen(handler, { signal }) {
        deliver = handler;
        return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
      },
    });
    const engine = createEngine({ store: store(), queue, workflows: [relay] });
    await engine.migrate();
    await engine.startMany(relay, [{ input: "a" }, { input: "b" }, { input: "c" }]);
    await assert.rejects(deliver(waiting), /a/);
    assert.deepEqual(ran, ["a", "b", "c"]);
    assert.deepEqual(await engine.counts(), [{ workflow: "relay", state: "paused", count: 3 }]);
    await engine.close();
  },
);

behaviour("EXE-21 a worker never lets the error of a body reach the queue", async ({ store }) => {
  const clock = createFakeClock({ now: NOON });
  const [reports, events, ran]: [string[], string[], unknown[]] = [[], [], []];
  const relay = workflow({
    name: "relay",
    steps: [{
      name: "one",
      run({ input }) {
        ran.push(input);
        if (input !== "fine") throw new Error(`${input}`);
      },
    }],
  });
  let deliver: ((jobs: readonly Job[]) => Promise<void>) | null = null;
  const queue = recordingQueue({
    listen(handler, { signal }) {
      deliver = handler;
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
    },
  });
  const engine = createEngine({
    store: store(),
    queue,
    workflows: [relay],
    clock,
    reportError: (error) => void reports.push(error.message),
  });
  engine.events.on("step", ({ outcome, error }) => events.push(`${outcome} ${error?.message}`));
  await engine.migrate();
  await engine.startMany(relay, [{ input: "late" }, { input: "fine" }]);
  const worker = engine.work();
  await until(() => deliver !== null);
  const twice = queue.jobs.flatMap((job) => [job, job]);
  await (deliver as unknown as typeof queue.enqueue)([...twice, ...twice]);
  await worker.idle();
  assert.deepEqual(ran.sort(), ["fine", "late"]);
  assert.deepEqual(reports, ["late"]);
  assert.deepEqual(events.sort(), ["completed undefined", "exception late"]);
  const counts = (await engine.counts()).map(({ state, count }) => [state, count]);
  assert.deepEqual(counts.sort(), [["finished", 1], ["paused", 1]]);
  await engine.close();
});

behaviour(
  "EXE-02 a body may start another workflow, which runs within that call",
  async ({ store }) => {
    const ran: string[] = [];
    const child = workflow({
      name: "child",
      steps: [{ name: "play", run: () => void ran.push("child plays") }],
    });
    const parent = workflow({
      name: "parent",
      steps: [{
        name: "wake",
        async run() {
          ran.push("parent wakes");
          const run = await engine.start(child);
          ran.push(`child is ${(await run.reload()).state}`);
        },
      }],
    });
    const engine: Engine = createEngine({
      store: store(),
      queue: inlineQueue(),
      workflows: [child, parent],
    });
    await engine.migrate();
    await engine.start(parent);
    assert.deepEqual(ran, ["parent wakes", "child plays", "child is finished"]);
    await engine.close();
  },
);

behaviour(
  "SCH-18 an inline queue runs what is due later when its time comes, errors go to the reporter",
  async ({ store }) => {
    const clock = createFakeClock({ now: NOON });
    const reports: string[] = [];
    const ran: number[] = [];
    const alarm = workflow({
      name: "alarm",
      steps: [{
        name: "ring",
        wait: "1 hour",
        run() {
          ran.push(clock.now());
          throw new Error("the bell is broken");
        },
      }],
    });
    const engine = createEngine({
      store: store(),
      queue: inlineQueue(),
      workflows: [alarm],
      clock,
      reportError: (error) => void reports.push(error.message),
    });
    await engine.migrate();
    const run = await engine.start(alarm);
    assert.equal((await run.reload()).state, "ready");
    await clock.tick("59 minutes");
    assert.deepEqual(ran, []);
    await clock.tick("1 minute");
    await until(() => reports.length > 0);
    assert.deepEqual(ran, [NOON + 3_600_000]);
    assert.deepEqual(reports, ["the bell is broken"]);
    assert.equal((await run.reload()).state, "paused");
    await engine.close();
  },
);

behaviour(
  "EXE-16 a closed engine leaves no timers behind, and its jobs to the sweep",
  async ({ store }) => {
    const clock = createFakeClock({ now: NOON });
    const alarm = workflow({
      name: "alarm",
      steps: [{ name: "ring", wait: "1 hour", run: () => assert.fail("the engine is closed") }],
    });
    const shared = store();
    const engine: Engine = createEngine({
      store: shared,
      queue: inlineQueue(),
      workflows: [alarm],
      clock,
    });
    await engine.migrate();
    await engine.start(alarm);
    assert.equal(clock.timers, 1);
    await engine.close();
    assert.equal(clock.timers, 0);
  },
);
