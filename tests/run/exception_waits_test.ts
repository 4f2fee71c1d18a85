/** How long a reattempt waits. */

import assert from "node:assert/strict";
import { backoff, policy, StepConfigurationError, workflow } from "../../mod.ts";
import { performNextStep } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { backup, Offline } from "./_backup.ts";
import { current } from "./_story.ts";

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
