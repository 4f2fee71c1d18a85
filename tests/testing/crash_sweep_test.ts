import assert from "node:assert/strict";
import { workflow, type WorkflowDefinition } from "../../mod.ts";
import { crashSweep, type SweepReport } from "../../src/testing/mod.ts";

type Bank = { charge(key?: string): Promise<void> };

function payment(bank: Bank, mail: { send(): Promise<void> }): WorkflowDefinition {
  return workflow({
    name: "payment",
    steps: [
      { name: "charge", run: ({ workflow }) => bank.charge(`charge-${workflow.id}`) },
      { name: "thank", wait: "1 day", run: () => mail.send() },
    ],
  });
}

function sweepPayment(key?: (key: string) => string): Promise<SweepReport> {
  return crashSweep((sweep) => {
    const bank = sweep.watch("bank", { charge: () => Promise.resolve() }, key && { key });
    const mail = sweep.watch("mail", { send: () => Promise.resolve() });
    return { definition: payment(bank as Bank, mail) };
  });
}

Deno.test("RES-62 a crash sweep finds the step whose effect a crash repeats", async () => {
  const report = await sweepPayment();
  assert.equal(report.alwaysEnds, true);
  assert.deepEqual(report.effects, {
    "bank.charge": { min: 1, max: 2 },
    "mail.send": { min: 1, max: 2 },
  });
  // A claim, a call and a finish per step, each with a point before and after it; the second
  // delivery of each job is a claim of its own.
  assert.equal(report.points, 2 * (2 * 2 + 2 + 2));
  assert.equal(report.runs.length, 1 + 2 * report.points);
  const twice = report.runs.filter((run) => (run.effects["bank.charge"] ?? 0) > 1);
  const where = new Set(twice.map((run) => run.where));
  assert.ok(where.has("after bank.charge") && where.has("before finish"), [...where].join());
  assert.ok(!where.has("after finish"), "what was recorded as completed is not repeated");
});

Deno.test("RES-62 a service that is given an idempotency key is charged once at every crash point", async () => {
  const report = await sweepPayment((key) => key);
  assert.equal(report.alwaysEnds, true);
  assert.deepEqual(report.effects["bank.charge"], { min: 1, max: 1 });
});

Deno.test("RES-62 JIT-02 a crash sweep passes every checkpoint of a resumable step", async () => {
  const report = await crashSweep((sweep) => {
    const list = sweep.watch("list", { notify: (_name: string) => Promise.resolve() });
    const definition = workflow({
      name: "newsletter",
      steps: [{
        name: "notify_all",
        resumable: true,
        run: ({ iter }) => iter.over(["ann", "bob", "cy"], (name) => list.notify(name)),
      }],
    });
    return { definition };
  });
  assert.equal(report.alwaysEnds, true);
  assert.deepEqual(report.effects["list.notify"], { min: 3, max: 4 });
  assert.ok(report.runs.some((run) => run.where === "after checkpoint"));
});

Deno.test("HSK-22 a process that freezes and comes back late changes nothing", async () => {
  const report = await sweepPayment();
  const frozen = report.runs.filter((run) => run.mode === "freeze");
  assert.equal(frozen.length, report.points);
  assert.ok(frozen.every((run) => run.state === "finished"));
});

Deno.test("a crash sweep names the runs in which a workflow does not end", async () => {
  const report = await crashSweep((sweep) => {
    const door = sweep.watch("door", { open: () => Promise.resolve() });
    let opened = false;
    const definition = workflow({
      name: "brittle",
      steps: [{
        name: "open",
        run: async () => {
          if (opened) throw new Error("the door is open already");
          opened = true;
          await door.open();
        },
      }],
    });
    return { definition };
  });
  assert.equal(report.alwaysEnds, false);
  assert.deepEqual(new Set(report.stuck.map((run) => run.state)), new Set(["paused"]));
  assert.ok(report.stuck.some((run) => run.where === "before door.open" && run.mode === "crash"));
});

Deno.test("a crash sweep takes a plain definition with what starts it", async () => {
  const seen: unknown[] = [];
  const definition = workflow({
    name: "greeting",
    steps: [{ name: "greet", run: ({ input }) => void seen.push(input) }],
  });
  const report = await crashSweep(definition, { start: { input: { name: "Ada" } } });
  assert.equal(report.alwaysEnds, true);
  assert.deepEqual(report.bodies, { greet: { min: 1, max: 2 } });
  assert.deepEqual(seen[0], { name: "Ada" });
});

Deno.test("RES-62 a crash sweep passes every point of a step in a transaction", async () => {
  const report = await crashSweep((sweep) => {
    const bank = sweep.watch("bank", { charge: () => Promise.resolve() });
    const definition = workflow({
      name: "booking",
      steps: [
        { name: "book", transaction: true, run: () => bank.charge() },
        { name: "thank", run() {} },
      ],
    });
    return { definition };
  });
  assert.equal(report.alwaysEnds, true);
  assert.deepEqual(report.effects["bank.charge"], { min: 1, max: 2 });
  const twice = new Set(
    report.runs.filter((run) => (run.bodies.book ?? 0) > 1).map((run) => run.where),
  );
  // What was written before the commit is rolled back with it; after it nothing is repeated.
  assert.ok(twice.has("after bank.charge") && twice.has("after finish"), [...twice].join());
  assert.ok(report.runs.some((run) => run.where === "after commit" && run.bodies.book === 1));
  assert.ok(!twice.has("after commit"));
});

Deno.test("a workflow that never ends is not said to end", async () => {
  const definition = workflow({
    name: "endless",
    onException: "reattempt",
    steps: [{
      name: "fail",
      run: () => {
        throw new Error("never");
      },
    }],
  });
  const report = await crashSweep(definition, { maxExecutions: 20 });
  assert.equal(report.alwaysEnds, false);
  assert.deepEqual(report.stuck.map(({ mode, rested }) => [mode, rested]), [["none", false]]);
  await assert.rejects(crashSweep(definition, { maxExecutions: NaN }), /maxExecutions/);
});

Deno.test("a crash sweep goes on behind a step that waits for a signal", async () => {
  const report = await crashSweep((sweep) => {
    const shop = sweep.watch("shop", { send: (_what: unknown) => Promise.resolve() });
    const definition = workflow({
      name: "order",
      steps: [{ name: "paid", waitFor: "payment", run: ({ event }) => shop.send(event?.payload) }],
    });
    return { definition, signals: [{ name: "payment", payload: { cents: 5 } }] };
  });
  assert.deepEqual(report.runs[0]?.state, "finished");
  assert.equal(report.alwaysEnds, true);
  assert.deepEqual(report.effects["shop.send"], { min: 1, max: 2 });
});

Deno.test("a crash sweep watches an instance of a class, with what it keeps to itself", async () => {
  class Mailer {
    readonly host = "mail.example";
    #sent = 0;
    async send(): Promise<number> {
      await this.connect();
      return ++this.#sent;
    }
    connect(): Promise<string> {
      return Promise.resolve(this.host);
    }
  }
  const report = await crashSweep((sweep) => {
    const mailer = sweep.watch("mailer", new Mailer());
    const definition = workflow({
      name: "mail",
      steps: [{ name: "send", run: async () => void await mailer.send() }],
    });
    assert.equal(mailer.host, "mail.example");
    return { definition };
  });
  assert.equal(report.runs[0]?.state, "finished");
  assert.deepEqual(report.effects, { "mailer.send": { min: 1, max: 2 } });
});
