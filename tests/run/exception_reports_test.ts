/** Who hears of errors, when, and what is stored of errors that hardly fit anywhere. */

import assert from "node:assert/strict";
import { backoff, hero, policy, StepConfigurationError, workflow } from "../../mod.ts";
import type { Policy } from "../../mod.ts";
import { performNextStep } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import {
  current,
  deliver,
  executionAt,
  recordReports,
  startAndDeliver,
  storyOf,
} from "./_story.ts";

class Offline extends Error {}

/** A backup whose first step always throws this error. */
function backup(error: unknown, onException: Policy | readonly Policy[] | "pause") {
  return workflow({
    name: "backup",
    onException,
    steps: [
      {
        name: "upload",
        run: () => {
          throw error;
        },
      },
      { name: "verify", wait: "1 day", run: () => {} },
    ],
  });
}

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

behaviour(
  "EXC-50 a polynomial backoff waits n^4 + 2 seconds and some jitter",
  async ({ engine: open }) => {
    const seconds = (n: number): number => n ** 4 + 2;
    const forms = [
      { wait: backoff.polynomial({ jitter: 0 }), extra: () => 0 },
      { wait: "polynomial", jitter: 0, extra: () => 0 },
      { wait: backoff.polynomial({ random: () => 1 }), extra: (n: number) => 0.15 * n ** 4 },
      {
        wait: backoff.polynomial({ random: () => 0.5 }),
        jitter: 1,
        extra: (n: number) => 0.5 * n ** 4,
      },
    ] as const;
    for (const { extra, ...options } of forms) {
      const definition = backup(new Offline("no network"), policy("reattempt", options));
      const { engine, clock } = await open({ workflows: [definition] });
      const run = await engine.start(definition);
      for (let n = 1; n <= 4; n++) {
        await assert.rejects(performNextStep(run), Offline);
        const waitMs = (await current(run)).scheduledFor.getTime() - clock.now();
        assert.equal(waitMs, Math.round((seconds(n) + extra(n)) * 1_000));
      }
    }
  },
);

behaviour("EXC-50 the default jitter stays within 15 %", async ({ engine: open }) => {
  const definition = backup(new Offline("no network"), policy("reattempt", { wait: "polynomial" }));
  const { engine, clock } = await open({ workflows: [definition] });
  const run = await engine.start(definition);
  for (let n = 1; n <= 5; n++) {
    await assert.rejects(performNextStep(run), Offline);
    const waitMs = (await current(run)).scheduledFor.getTime() - clock.now();
    const base = (n ** 4 + 2) * 1_000;
    assert.ok(waitMs >= base && waitMs <= base + 150 * n ** 4, `${waitMs} after failure ${n}`);
  }
});

behaviour(
  "EXC-51 a wait function gets the count of error reattempts in a row",
  async ({ engine: open }) => {
    const counts: number[] = [];
    const definition = workflow({
      name: "backup",
      onException: policy("reattempt", {
        wait: (count) => {
          counts.push(count);
          return count * 1_000;
        },
      }),
      steps: [{
        name: "upload",
        run: ({ attempt, reattempt }) => {
          if (attempt === 3) reattempt({ wait: "1 hour" });
          throw new Offline("no network");
        },
      }],
    });
    const { engine, clock } = await open({ workflows: [definition] });
    const run = await engine.start(definition);
    const waits: number[] = [];
    for (let attempt = 1; attempt <= 5; attempt++) {
      await performNextStep(run).catch(() => {});
      waits.push((await current(run)).scheduledFor.getTime() - clock.now());
    }
    assert.deepEqual(waits, [1_000, 2_000, 3_600_000, 3_000, 4_000]);
    assert.deepEqual(counts, [1, 2, 3, 4]);
  },
);

behaviour("EXC-51 at the cap the wait is not asked for any more", async ({ engine: open }) => {
  const counts: number[] = [];
  const wait = (count: number): number => {
    counts.push(count);
    if (count > 2) throw new Error("there is no third wait");
    return 1_000;
  };
  const definition = backup(
    new Offline("no network"),
    policy("reattempt", { wait, maxReattempts: 2, terminalAction: "cancel" }),
  );
  const { engine, clock } = await open({ workflows: [definition] });
  const run = await engine.start(definition);
  await clock.tick("1 minute");
  assert.deepEqual(counts, [1, 2]);
  assert.equal((await run.reload()).state, "canceled");
});

Deno.test("EXC-52 an unknown backoff or a wait of a wrong type is refused", () => {
  for (const wait of ["fibonacci", "", -1, NaN, Infinity, null, true, {}, []]) {
    assert.throws(
      () => policy("reattempt", { wait: wait as number }),
      StepConfigurationError,
      `wait: ${String(wait)}`,
    );
  }
});

behaviour("EXC-53 a fixed wait is the same for each attempt", async ({ engine: open }) => {
  for (const wait of ["10 seconds", backoff.fixed(10_000)] as const) {
    const definition = backup(new Offline("no network"), policy("reattempt", { wait }));
    const { engine, clock } = await open({ workflows: [definition] });
    const run = await engine.start(definition);
    for (let failures = 1; failures <= 3; failures++) {
      await assert.rejects(performNextStep(run), Offline);
      assert.equal((await current(run)).scheduledFor.getTime() - clock.now(), 10_000);
    }
  }
});

/** Errors that are too large, cyclic, or that throw when they are read. */
function awkwardErrors(): Record<string, Error> {
  const cyclic = new Error("first", { cause: new Error("second") });
  (cyclic.cause as Error).cause = cyclic;
  const deep = Array.from({ length: 50 }).reduce<Error>(
    (cause, _, at) => new Error(`level ${at}`, { cause }),
    new Error("the root"),
  );
  const hostile = new Error("hidden");
  for (const key of ["message", "stack", "name", "cause", "constructor"]) {
    Object.defineProperty(hostile, key, {
      get: () => {
        throw new Error(`${key} cannot be read`);
      },
    });
  }
  return {
    large: new Error("x".repeat(5_000_000)),
    cyclic,
    deep,
    hostile,
    odd: new Error("NUL \0 and a lone \uD800 surrogate and \u{1F600}"),
  };
}

behaviour("U35 errors of any size and shape are stored", async ({ engine: open }) => {
  for (const [name, error] of Object.entries(awkwardErrors())) {
    for (const action of ["pause", "reattempt", "skip"] as const) {
      const definition = backup(error, policy(action as "pause"));
      const { engine } = await open({ workflows: [definition] });
      const { run, thrown } = await startAndDeliver(engine, definition);
      assert.equal(thrown, error, name);
      assert.equal(run.state, action === "pause" ? "paused" : "ready", `${name} under ${action}`);
      const { errorClass, errorMessage, errorStack, metadata } = await executionAt(run, 0);
      const { exception } = metadata as { exception: { message: string; stack: string[] } };
      assert.ok(exception.message.length <= 4_000);
      assert.ok(exception.stack.join("\n").length <= 12_000);
      if (action === "reattempt") continue;
      assert.equal(errorClass, "Error");
      assert.ok((errorMessage ?? "").length <= 4_000 && (errorStack ?? "").length <= 12_000);
    }
  }
});

behaviour(
  "U35 a cut says how much is missing, and the chain of causes is flattened",
  async (world) => {
    const { large, cyclic, deep, odd } = awkwardErrors();
    const stored: Record<string, { message: string; stack: string }> = {};
    for (const [name, error] of Object.entries({ large, cyclic, deep, odd })) {
      const definition = backup(error, "pause");
      const { engine } = await world.engine({ workflows: [definition] });
      const { run } = await startAndDeliver(engine, definition);
      const { errorMessage, errorStack } = await executionAt(run, 0);
      stored[name] = { message: errorMessage ?? "", stack: errorStack ?? "" };
    }
    assert.match(stored.large?.message ?? "", /^x+… \(4996000 more characters\)$/);
    assert.equal(stored.cyclic?.message, "first");
    assert.equal(stored.cyclic?.stack.match(/Caused by: /g)?.length, 1);
    assert.match(stored.cyclic?.stack ?? "", /Caused by: Error: second/);
    const causes = stored.deep?.stack.match(/Caused by: /g)?.length ?? 0;
    assert.ok(causes > 0 && causes < 10, `${causes} causes`);
    assert.equal(stored.odd?.message, "NUL \uFFFD and a lone \uFFFD surrogate and \u{1F600}");
  },
);
