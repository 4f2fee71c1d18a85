/**
 * The worker: free slots on one side, due executions on the other.
 */

import assert from "node:assert/strict";
import { pollingQueue } from "../../drivers/queues/mod.ts";
import { type Run, StepConfigurationError, workflow, type WorkflowDefinition } from "../../mod.ts";
import { assertWorkflowState } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingLogger, storeWith, until } from "./_doubles.ts";
import { createGate, type Gate } from "./_gate.ts";
import { current, recordReports, storyOf } from "./_story.ts";

/** A chain of so many steps, each of which says that it ran. */
function chain(name: string, length: number, ran: string[]): WorkflowDefinition {
  return workflow({
    name,
    steps: Array.from({ length }, (_, at) => ({
      name: `step_${at + 1}`,
      run: () => void ran.push(name),
    })),
  });
}

/** A visit that ends when its own gate is opened; `visits` counts who is inside. */
function visit(gates: Gate[], visits: { now: number; most: number }): WorkflowDefinition {
  return workflow({
    name: "visit",
    steps: [{
      name: "stay",
      async run({ input }) {
        visits.now++;
        visits.most = Math.max(visits.most, visits.now);
        await gates[Number(input)]?.pass();
        visits.now--;
      },
    }],
  });
}

behaviour("a worker runs what is due from its first step to its last", async ({ engine }) => {
  const ran: string[] = [];
  const definition = chain("walk", 3, ran);
  const t = await engine({ workflows: [definition], queue: pollingQueue() });
  const runs = await Promise.all([1, 2].map(() => t.engine.start(definition)));
  await using worker = t.engine.work();
  await worker.idle();
  assert.equal(ran.length, 6);
  assert.equal(worker.running, 0);
  for (const run of runs) {
    await assertWorkflowState(run, "finished");
    assert.equal((await run.history()).length, 3);
  }
});

behaviour("a worker runs no more steps at a time than its concurrency", async ({ engine }) => {
  const gates = Array.from({ length: 5 }, createGate);
  const visits = { now: 0, most: 0 };
  const definition = visit(gates, visits);
  const t = await engine({ workflows: [definition], queue: pollingQueue() });
  const runs: Run[] = [];
  for (const at of gates.keys()) runs.push(await t.engine.start(definition, { input: at }));
  await using worker = t.engine.work({ concurrency: 2 });
  await until(() => worker.running === 2);
  await Promise.all([gates[0]?.arrived, gates[1]?.arrived]);
  const states = async (): Promise<string[]> =>
    await Promise.all(runs.map(async (run) => (await run.reload()).state));
  assert.deepEqual(await states(), ["performing", "performing", "ready", "ready", "ready"]);
  gates[1]?.open();
  await gates[2]?.arrived;
  assert.deepEqual(await states(), ["performing", "finished", "performing", "ready", "ready"]);
  for (const gate of gates) gate.open();
  await worker.idle();
  assert.deepEqual(await states(), Array(5).fill("finished"));
  assert.equal(visits.most, 2);
});

behaviour(
  "the engine's own concurrency is what a worker has that is told nothing",
  async ({ engine }) => {
    const gates = Array.from({ length: 4 }, createGate);
    const visits = { now: 0, most: 0 };
    const definition = visit(gates, visits);
    const t = await engine({ workflows: [definition], queue: pollingQueue(), concurrency: 3 });
    for (const at of gates.keys()) await t.engine.start(definition, { input: at });
    await using worker = t.engine.work();
    await until(() => visits.now === 3);
    for (const gate of gates) gate.open();
    await worker.idle();
    assert.equal(visits.most, 3);
  },
);

behaviour(
  "a worker serves the queues it was told, also from one step to the next",
  async ({ engine }) => {
    const ran: string[] = [];
    const definition = workflow({
      name: "letter",
      jobOptions: { queue: "office" },
      steps: [
        { name: "write", run: () => void ran.push("write") },
        { name: "post", jobOptions: { queue: "mail" }, run: () => void ran.push("post") },
        { name: "file", run: () => void ran.push("file") },
      ],
    });
    const t = await engine({ workflows: [definition], queue: pollingQueue() });
    const run = await t.engine.start(definition);
    await using office = t.engine.work({ queues: ["office"] });
    await office.idle();
    assert.deepEqual(ran, ["write"]);
    assert.deepEqual(
      [(await current(run)).state, (await current(run)).queue],
      ["scheduled", "mail"],
      "it does not go on with a step of another queue",
    );
    await using mail = t.engine.work({ queues: ["mail", "parcels"] });
    await mail.idle();
    // The other worker hears of the last step at once and may have run it by now.
    assert.deepEqual(ran.slice(0, 2), ["write", "post"]);
    await office.idle();
    assert.deepEqual(ran, ["write", "post", "file"]);
    await assertWorkflowState(run, "finished");
  },
);

behaviour(
  "what has the smallest priority number runs first, then what has waited the longest",
  async ({ engine }) => {
    const order: unknown[] = [];
    const definition = workflow({
      name: "errand",
      steps: [{ name: "run", run: ({ input }) => void order.push(input) }],
    });
    const t = await engine({ workflows: [definition], queue: pollingQueue() });
    for (
      const [input, priority] of [["third", 5], ["first", -1], ["fourth", 5], [
        "second",
        0,
      ]] as const
    ) {
      await t.engine.start(definition, { input, jobOptions: { priority } });
      await t.clock.tick(1);
    }
    await using worker = t.engine.work({ concurrency: 1 });
    await worker.idle();
    assert.deepEqual(order, ["first", "second", "third", "fourth"]);
  },
);

behaviour(
  "a slot is given back after 100 steps in a row, so that others get their turn",
  async ({ engine }) => {
    const ran: string[] = [];
    const long = chain("long", 250, ran);
    const short = chain("short", 1, ran);
    const t = await engine({ workflows: [long, short], queue: pollingQueue() });
    await t.engine.start(long);
    await t.clock.tick(1);
    await t.engine.start(short);
    await using worker = t.engine.work({ concurrency: 1 });
    await worker.idle();
    assert.equal(ran.length, 251);
    assert.equal(ran.indexOf("short"), 100);
  },
);

behaviour(
  "a slot is given back after a second, however few steps it has run",
  async ({ engine }) => {
    const ran: string[] = [];
    let pass = (): void => {};
    const long = workflow({
      name: "long",
      steps: Array.from({ length: 8 }, () => ({
        run() {
          ran.push("long");
          pass();
        },
      })),
    });
    const short = chain("short", 1, ran);
    const t = await engine({ workflows: [long, short], queue: pollingQueue() });
    pass = () => t.clock.travelTo(t.clock.now() + 400);
    await t.engine.start(long);
    await t.clock.tick(1);
    await t.engine.start(short);
    await using worker = t.engine.work({ concurrency: 1 });
    await worker.idle();
    assert.equal(ran.length, 9);
    assert.equal(ran.indexOf("short"), 3, "at 0, 400 and 800 ms a step may begin");
  },
);

behaviour(
  "idle() resolves when nothing runs and nothing is due, and waits for what runs",
  async ({ engine }) => {
    const gate = createGate();
    const definition = workflow({
      name: "visit",
      steps: [{ name: "stay", run: gate.pass }, { name: "later", wait: "1 hour", run() {} }],
    });
    const t = await engine({ workflows: [definition], queue: pollingQueue() });
    await using worker = t.engine.work();
    await worker.idle();
    const run = await t.engine.start(definition);
    let idle = false;
    const idling = worker.idle().then(() => void (idle = true));
    await gate.arrived;
    await t.clock.tick(1);
    assert.equal(idle, false);
    gate.open();
    await idling;
    assert.deepEqual(await storyOf(run), ["stay: completed/success", "later: scheduled"]);
  },
);

behaviour(
  "P1 an error of a body goes to the reporter, and the worker goes on",
  async ({ engine }) => {
    const ran: string[] = [];
    const failing = workflow({
      name: "failing",
      steps: [{ name: "fail", run: () => Promise.reject(new Error("no luck")) }],
    });
    const definition = chain("walk", 1, ran);
    const reports = recordReports();
    const t = await engine({
      workflows: [failing, definition],
      queue: pollingQueue(),
      reportError: reports.reportError,
    });
    const failed = await t.engine.start(failing);
    await using worker = t.engine.work({ concurrency: 1 });
    await worker.idle();
    await assertWorkflowState(failed, "paused");
    assert.deepEqual(reports.errors.map((error) => error.message), ["no luck"]);
    await t.engine.start(definition);
    await worker.idle();
    assert.deepEqual(ran, ["walk"]);
  },
);

behaviour("a worker outlives a store that is away for a while", async ({ engine, store }) => {
  let away = true;
  const flaky = storeWith(store(), (real) => ({
    claimDue: (options) =>
      away ? Promise.reject(new Error("connection refused")) : real.claimDue(options),
  }));
  const ran: string[] = [];
  const logger = recordingLogger();
  const definition = chain("walk", 1, ran);
  const t = await engine({ workflows: [definition], queue: pollingQueue(), store: flaky, logger });
  await t.engine.start(definition);
  await using worker = t.engine.work();
  await t.clock.tick("1 second");
  assert.deepEqual(ran, []);
  const line = logger.lines.find(({ level }) => level === "error");
  assert.match(line?.message ?? "", /could not be claimed/);
  away = false;
  await t.clock.tick("1 second");
  await worker.idle();
  assert.deepEqual(ran, ["walk"]);
});

behaviour(
  "P2 a worker warns when its clock and the database's differ by more than a second",
  async ({ engine, store }) => {
    for (const [skewMs, warns] of [[900, false], [-1_500, true], [5_000, true]] as const) {
      const logger = recordingLogger();
      let now = (): number => 0;
      const skewed = storeWith(store(), () => ({
        serverTime: () => Promise.resolve(now() - skewMs),
      }));
      const t = await engine({ queue: pollingQueue(), store: skewed, logger });
      now = () => t.clock.now();
      const worker = t.engine.work();
      await worker.idle();
      await worker.stop();
      const lines = logger.lines.filter(({ level }) => level === "warn");
      assert.deepEqual(lines.map(({ fields }) => fields.skewMs), warns ? [skewMs] : []);
    }
  },
);

behaviour("a worker refuses options that make no sense", async ({ engine }) => {
  const t = await engine({ queue: pollingQueue() });
  const wrong: Record<string, unknown>[] = [
    { concurrency: 0 },
    { concurrency: 1.5 },
    { concurrency: -1 },
    { graceMs: -1 },
    { graceMs: NaN },
    { queues: "mail" },
    { queues: [] },
    { queues: [""] },
    { queue: "mail" },
    { signal: true },
  ];
  for (const options of wrong) {
    assert.throws(() => t.engine.work(options), StepConfigurationError, JSON.stringify(options));
  }
});
