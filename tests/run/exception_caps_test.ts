/** How often a step is reattempted, what is done then, and when the count starts again. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { policy, type StepContext, workflow } from "../../mod.ts";
import { performNextStep, testEngine } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { executionAt, startAndDeliver, storyOf } from "./_story.ts";

class Busy extends Error {}
class Broken extends Error {}

/** A workflow of one failing step and one that follows. */
function feed(body: (context: StepContext) => unknown, onException: unknown, step = {}) {
  return workflow({
    name: "feed",
    steps: [
      { name: "pull", ...step, onException: onException as "reattempt", run: body },
      { name: "publish", wait: "1 day", run: () => {} },
    ],
  });
}

function busy(): never {
  throw new Busy("come back later");
}

behaviour(
  "EXC-20 EXC-21 after N reattempts the next failure pauses the workflow",
  async (world) => {
    const definition = feed(busy, "reattempt", { maxReattempts: 3 });
    const { engine, clock } = await world.engine({ workflows: [definition] });
    const run = await engine.start(definition);
    await clock.tick("1 minute");
    assert.equal((await run.reload()).state, "paused");
    assert.equal(run.nextStepName, "pull");
    assert.deepEqual(await storyOf(run), [
      "pull: completed/reattempted (exception)",
      "pull: completed/reattempted (exception)",
      "pull: completed/reattempted (exception)",
      "pull: failed/failed (exception)",
    ]);
    const last = await executionAt(run, -1);
    assert.deepEqual([last.errorClass, last.errorMessage], ["Busy", "come back later"]);
    assert.deepEqual((await run.history()).map((one) => one.attempt), [1, 2, 3, 4]);
  },
);

behaviour("EXC-22 the terminal action cancel cancels", async ({ engine: open }) => {
  const definition = feed(busy, "reattempt", { maxReattempts: 1, terminalAction: "cancel" });
  const { engine, clock } = await open({ workflows: [definition] });
  const run = await engine.start(definition);
  await clock.tick("1 minute");
  assert.equal((await run.reload()).state, "canceled");
  assert.deepEqual(await storyOf(run), [
    "pull: completed/reattempted (exception)",
    "pull: failed/canceled (exception)",
  ]);
  assert.equal((await executionAt(run, -1)).errorClass, "Busy");
});

behaviour(
  "EXC-23 the terminal action skip goes on with the next step",
  async ({ engine: open }) => {
    const definition = feed(busy, "reattempt", { maxReattempts: 1, terminalAction: "skip" });
    const { engine, clock } = await open({ workflows: [definition] });
    const run = await engine.start(definition);
    await clock.tick("1 minute");
    assert.equal((await run.reload()).state, "ready");
    assert.deepEqual(await storyOf(run), [
      "pull: completed/reattempted (exception)",
      "pull: skipped/skipped (exception)",
      "publish: scheduled",
    ]);
    await clock.tick("1 day");
    assert.equal((await run.reload()).state, "finished");
  },
);

behaviour(
  "EXC-24 the smallest cap of a list limits alternating errors",
  async ({ engine: open }) => {
    const alternating = ({ attempt }: StepContext): never => {
      throw attempt % 2 === 1 ? new Busy("busy") : new Broken("broken");
    };
    const list = [
      policy("reattempt", { matching: Busy, maxReattempts: 3 }),
      policy("reattempt", { matching: Broken, maxReattempts: 7 }),
    ];
    const definition = feed(alternating, list);
    const { engine, clock } = await open({ workflows: [definition] });
    const run = await engine.start(definition);
    await clock.tick("1 minute");
    assert.equal((await run.reload()).state, "paused");
    assert.equal((await run.history()).length, 4);
  },
);

behaviour(
  "EXC-24 the cap of the workflow's list does not limit a step's own",
  async ({ engine: open }) => {
    const definition = workflow({
      name: "feed",
      onException: policy("reattempt", { maxReattempts: 1 }),
      steps: [{
        name: "pull",
        onException: [policy("reattempt", { matching: Busy, maxReattempts: 4 })],
        run: busy,
      }],
    });
    const { engine, clock } = await open({ workflows: [definition] });
    const run = await engine.start(definition);
    await clock.tick("1 minute");
    assert.equal((await run.history()).length, 5);
  },
);

behaviour(
  "EXC-25 at the common cap the matched policy's own terminal action is taken",
  async (world) => {
    for (const [last, state] of [[Busy, "canceled"], [Broken, "ready"]] as const) {
      const definition = feed(
        ({ attempt }) => {
          throw attempt <= 2 ? new Busy("busy") : new last("the last one");
        },
        [
          policy("reattempt", { matching: Busy, maxReattempts: 2, terminalAction: "cancel" }),
          policy("reattempt", { matching: Broken, maxReattempts: 9, terminalAction: "skip" }),
        ],
      );
      const { engine, clock } = await world.engine({ workflows: [definition] });
      const run = await engine.start(definition);
      await clock.tick("1 minute");
      assert.equal((await run.reload()).state, state);
      const pulls = (await run.history()).filter((one) => one.stepName === "pull");
      assert.equal(pulls.length, 3);
      assert.equal(pulls.at(-1)?.state, last === Busy ? "failed" : "skipped");
    }
  },
);

behaviour("EXC-26 EXC-33 with a cap of null there is no limit", async ({ engine: open }) => {
  const list = [
    policy("reattempt", { matching: Busy, maxReattempts: null }),
    policy("reattempt", { matching: Broken, maxReattempts: null }),
  ];
  const forms: [unknown, Record<string, unknown>][] = [
    [list, {}],
    ["reattempt", { maxReattempts: null }],
  ];
  for (const [onException, step] of forms) {
    const definition = feed(
      ({ attempt }) => {
        if (attempt <= 120) throw attempt % 2 === 0 ? new Busy("busy") : new Broken("broken");
      },
      onException,
      step,
    );
    const { engine, clock } = await open({ workflows: [definition] });
    const run = await engine.start(definition);
    await clock.tick("1 minute");
    assert.equal((await run.reload()).nextStepName, "publish");
    assert.equal((await run.history()).length, 122);
  }
});

behaviour(
  "EXC-27 reattempts by flow call do not count towards the cap",
  async ({ engine: open }) => {
    const definition = feed(
      ({ attempt, reattempt }) => {
        if (attempt % 2 === 0) reattempt();
        throw new Busy(`attempt ${attempt}`);
      },
      "reattempt",
      { maxReattempts: 2 },
    );
    const { engine, clock } = await open({ workflows: [definition] });
    const run = await engine.start(definition);
    await clock.tick("1 minute");
    assert.equal((await run.reload()).state, "paused");
    assert.deepEqual(await storyOf(run), [
      "pull: completed/reattempted (exception)",
      "pull: completed/reattempted (flow_control)",
      "pull: completed/reattempted (exception)",
      "pull: completed/reattempted (flow_control)",
      "pull: failed/failed (exception)",
    ]);
  },
);

behaviour(
  "EXC-28 EXC-29 after a success the same step has a fresh budget",
  async ({ engine: open }) => {
    let failing = true;
    const definition = feed(
      ({ attempt }) => {
        if (failing && attempt <= 2) throw new Busy("busy");
        failing = false;
      },
      "reattempt",
      { maxReattempts: 2 },
    );
    const { engine, clock } = await open({ workflows: [definition] });
    const run = await engine.start(definition);
    await clock.tick("1 minute");
    assert.equal((await run.reload()).nextStepName, "publish");
    failing = true;
    await run.pause();
    await run.resumeAt("pull");
    await clock.tick("1 minute");
    assert.equal((await run.reload()).nextStepName, "publish");
    const pulls = (await run.history()).filter((one) => one.stepName === "pull");
    assert.deepEqual(pulls.map((one) => one.attempt), [1, 2, 3, 1, 2, 3]);
  },
);

behaviour(
  "EXC-29 EXC-41 only reattempts of this step of this workflow count",
  async ({ engine: open }) => {
    const fails = (name: string, times: number) => ({
      name,
      onException: "reattempt" as const,
      maxReattempts: 2,
      run: ({ attempt }: StepContext) => {
        if (attempt <= times) throw new Busy(name);
      },
    });
    const definition = workflow({
      name: "feed",
      steps: [fails("pull", 2), fails("sort", 2), fails("publish", 9)],
    });
    const { engine, clock } = await open({ workflows: [definition] });
    const runs = [await engine.start(definition), await engine.start(definition)];
    await clock.tick("1 minute");
    for (const run of runs) {
      assert.equal((await run.reload()).state, "paused");
      assert.equal(run.nextStepName, "publish");
      assert.equal((await run.history()).length, 9);
    }
  },
);

behaviour("EXC-30 the count does not depend on the order of ids", async ({ engine: open }) => {
  const definition = feed(busy, "reattempt", { maxReattempts: 3 });
  const { engine, clock } = await open({ workflows: [definition] });
  const runs = [];
  for (let i = 0; i < 4; i++) runs.push(await engine.start(definition));
  // Running backwards in time must not matter either: there is no "since" to compare with.
  for (let turn = 0; turn < 3; turn++) {
    clock.travelTo(clock.now() - 1_000);
    for (const run of runs) await assert.rejects(performNextStep(run), Busy);
  }
  for (const run of runs) {
    assert.equal((await run.reload()).state, "ready");
    await assert.rejects(performNextStep(run), Busy);
    assert.equal((await run.reload()).state, "paused");
    assert.deepEqual((await run.history()).map((one) => one.attempt), [1, 2, 3, 4]);
  }
});

behaviour("EXC-31 an operator's resume gives a fresh budget", async ({ engine: open }) => {
  const definition = feed(busy, "reattempt", { maxReattempts: 1 });
  const { engine, clock } = await open({ workflows: [definition] });
  const run = await engine.start(definition);
  for (const again of [() => run.resume(), () => run.resumeAt("pull"), null]) {
    await clock.tick("1 minute");
    assert.equal((await run.reload()).state, "paused");
    if (again !== null) await again();
  }
  assert.deepEqual((await run.history()).map((one) => [one.attempt, one.outcome]), [
    [1, "reattempted"],
    [2, "failed"],
    [1, "reattempted"],
    [2, "failed"],
    [1, "reattempted"],
    [2, "failed"],
  ]);
});

Deno.test("EXC-32 the count survives the loss of all metadata", async () => {
  const definition = feed(busy, "reattempt", { maxReattempts: 2 });
  const database = new DatabaseSync(":memory:");
  await using t = await testEngine({ store: sqliteStore(database), workflows: [definition] });
  const run = await t.engine.start(definition);
  for (let failures = 1; failures <= 3; failures++) {
    await assert.rejects(performNextStep(run), Busy);
    database.exec("UPDATE pawl_step_executions SET metadata = NULL");
  }
  assert.equal((await run.reload()).state, "paused");
  assert.equal((await run.history()).length, 3);
});

behaviour("EXC-34 a policy without a cap has one of 100", async ({ engine: open }) => {
  const definition = workflow({
    name: "feed",
    onException: policy("reattempt"),
    steps: [{ name: "pull", run: busy }],
  });
  const { engine, clock } = await open({ workflows: [definition] });
  const run = await engine.start(definition);
  await clock.tick("1 minute");
  assert.equal((await run.reload()).state, "paused");
  assert.equal((await run.history()).length, 101);
});

behaviour(
  "EXC-24 EXC-27 whatever the order of failures, the budget is the smallest cap in a row",
  async (world) => {
    const events = fc.array(fc.constantFrom("busy", "broken", "again"), { maxLength: 12 });
    const cap = fc.integer({ min: 1, max: 4 });
    await fc.assert(
      fc.asyncProperty(events, cap, cap, async (events, busyCap, brokenCap) => {
        const definition = feed(
          ({ attempt, reattempt }) => {
            const event = events[attempt - 1];
            if (event === "again") reattempt();
            if (event !== undefined) throw event === "busy" ? new Busy(event) : new Broken(event);
          },
          [
            policy("reattempt", { matching: Busy, maxReattempts: busyCap }),
            policy("reattempt", { matching: Broken, maxReattempts: brokenCap }),
          ],
        );
        const { engine, clock } = await world.engine({ workflows: [definition] });
        const run = await engine.start(definition);
        await clock.tick("1 minute");
        await run.reload();
        const failures = events.flatMap((event, at) => event === "again" ? [] : [at]);
        const last = failures[Math.min(busyCap, brokenCap)];
        const pulls = (await run.history()).filter((one) => one.stepName === "pull");
        assert.equal(run.state, last === undefined ? "ready" : "paused");
        assert.equal(pulls.length, last === undefined ? events.length + 1 : last + 1);
      }),
      { numRuns: 25 },
    );
  },
);

behaviour(
  "U37 a cap that a deploy lowers is compared with the history",
  async ({ engine: open }) => {
    const before = feed(busy, "reattempt", { maxReattempts: 10 });
    const { engine } = await open({ workflows: [before] });
    const { run } = await startAndDeliver(engine, before);
    for (let failures = 2; failures <= 5; failures++) {
      await assert.rejects(performNextStep(run), Busy);
    }
    assert.equal(run.state, "ready");
    engine.register(feed(busy, "reattempt", { maxReattempts: 3 }), { replace: true });
    await assert.rejects(performNextStep(run), Busy);
    assert.equal((await run.reload()).state, "paused");
    assert.equal((await run.history()).length, 6);
  },
);
