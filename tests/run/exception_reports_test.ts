/** Who hears of errors, when, and with what context. */

import assert from "node:assert/strict";
import { hero, policy, workflow } from "../../mod.ts";
import { behaviour } from "../_engines.ts";
import { backup, Offline } from "./_backup.ts";
import { deliver, executionAt, recordReports, startAndDeliver, storyOf } from "./_story.ts";

behaviour("EXC-42 by default every failure is reported once", async ({ engine: open }) => {
  const error = new Offline("no network");
  const { reportError, errors } = recordReports();
  const definition = backup(error, policy("reattempt", { maxReattempts: 2 }));
  const { engine, clock } = await open({ workflows: [definition], reportError });
  const heard: unknown[] = [];
  engine.events.on("error", (event) => heard.push(event.error));
  await engine.start(definition);
  await clock.tick("1 minute");
  assert.deepEqual(errors, [error, error, error]);
  assert.deepEqual(heard, [error, error, error]);
});

behaviour(
  "EXC-43 report never: the action is taken, the error rethrown, nobody told",
  async (world) => {
    for (const action of ["pause", "cancel", "skip", "reattempt"] as const) {
      const error = new Offline("no network");
      const { reportError, errors } = recordReports();
      const definition = backup(error, policy(action as "pause", { report: "never" }));
      const { engine } = await world.engine({ workflows: [definition], reportError });
      const { run, thrown } = await startAndDeliver(engine, definition);
      assert.equal(thrown, error);
      assert.deepEqual(errors, []);
      const ends = { pause: "paused", cancel: "canceled", skip: "ready", reattempt: "ready" };
      assert.equal(run.state, ends[action]);
    }
  },
);

behaviour(
  "EXC-44 report terminalOnly: only the failure at the cap is reported",
  async ({ engine: open }) => {
    let count = 0;
    const { reportError, errors } = recordReports();
    const definition = workflow({
      name: "backup",
      onException: policy("reattempt", {
        maxReattempts: 2,
        terminalAction: "cancel",
        report: "terminalOnly",
      }),
      steps: [{
        name: "upload",
        run: () => {
          throw new Offline(`failure ${++count}`);
        },
      }],
    });
    const { engine } = await open({ workflows: [definition], reportError });
    const { run } = await startAndDeliver(engine, definition);
    assert.ok(await deliver(engine, run) instanceof Offline);
    assert.equal(errors.length, 0);
    await deliver(engine, run);
    assert.deepEqual(errors.map((error) => error.message), ["failure 3"]);
    assert.equal(run.state, "canceled");
  },
);

behaviour("EXC-45 terminalOnly without a reattempt is never reported", async ({ engine: open }) => {
  const policies = [
    policy("pause", { report: "terminalOnly" }),
    policy("cancel", { report: "terminalOnly" }),
    policy("skip", { report: "terminalOnly" }),
    policy(({ skip }) => skip(), { report: "terminalOnly" }),
    policy(() => {}, { report: "terminalOnly" }),
  ];
  for (const one of policies) {
    const { reportError, errors } = recordReports();
    const definition = backup(new Offline("no network"), one);
    const { engine } = await open({ workflows: [definition], reportError });
    assert.ok((await startAndDeliver(engine, definition)).thrown instanceof Offline);
    assert.deepEqual(errors, []);
  }
});

behaviour(
  "EXC-42 EXC-43 a handler's errors are reported as its policy says",
  async ({ engine: open }) => {
    for (const [report, times] of [["always", 1], ["never", 0]] as const) {
      const { reportError, errors } = recordReports();
      const definition = backup(
        new Offline("no network"),
        policy(({ skip }) => skip(), { report }),
      );
      const { engine } = await open({ workflows: [definition], reportError });
      await startAndDeliver(engine, definition);
      assert.equal(errors.length, times);
    }
  },
);

behaviour(
  "EXC-46 the policy is found and its handler has run before anybody is told",
  async (world) => {
    const order: string[] = [];
    const error = new Offline("no network");
    const definition = backup(error, [
      policy(({ skip }) => {
        order.push("handler");
        skip();
      }, {
        matching: () => {
          order.push("matcher");
          return true;
        },
      }),
    ]);
    const { engine } = await world.engine({
      workflows: [definition],
      reportError: () => void order.push("reporter"),
    });
    engine.events.on("error", () => order.push("event"));
    await startAndDeliver(engine, definition);
    assert.deepEqual(order, ["matcher", "handler", "event", "reporter"]);
  },
);

behaviour("EXC-46 what is reported is committed already", async (world) => {
  const error = new Offline("no network");
  const definition = backup(error, "pause");
  let seen: string[] = [];
  const t = await world.engine({
    workflows: [definition],
    reportError: async (_, { workflowId }) => {
      const run = await t.engine.find(workflowId);
      seen = run === null ? [] : [run.state, ...await storyOf(run)];
    },
  });
  await startAndDeliver(t.engine, definition);
  assert.deepEqual(seen, ["paused", "upload: failed/failed (exception)"]);
});

behaviour("EXC-47 the reporter is told which workflow, execution, step and hero", async (world) => {
  const { reportError, contexts } = recordReports();
  const disks = hero("Disk", { load: (id: string) => ({ id }) });
  const failing = {
    name: "upload",
    run: () => {
      throw new Offline("no network");
    },
  };
  const withHero = workflow({ name: "backup", hero: disks, steps: [failing] });
  const without = workflow({ name: "cleanup", steps: [failing] });
  const { engine } = await world.engine({ workflows: [withHero, without], reportError });
  const first = (await startAndDeliver(engine, withHero, "sda")).run;
  const second = (await startAndDeliver(engine, without)).run;
  assert.deepEqual(contexts, [
    {
      workflowId: first.id,
      workflowName: "backup",
      executionId: (await executionAt(first, 0)).id,
      stepName: "upload",
      heroType: "Disk",
      heroId: "sda",
    },
    {
      workflowId: second.id,
      workflowName: "cleanup",
      executionId: (await executionAt(second, 0)).id,
      stepName: "upload",
      heroType: null,
      heroId: null,
    },
  ]);
});

behaviour("EXC-42 a reporter that throws changes nothing", async ({ engine: open }) => {
  const error = new Offline("no network");
  const definition = backup(error, policy("skip"));
  const { engine } = await open({
    workflows: [definition],
    reportError: () => {
      throw new Error("the reporter is down");
    },
  });
  const { run, thrown } = await startAndDeliver(engine, definition);
  assert.equal(thrown, error);
  assert.equal(run.nextStepName, "verify");
});
