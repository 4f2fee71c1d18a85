/** The conditions: what `skipIf` and `cancelIf` do. */

import assert from "node:assert/strict";
import { StepConfigurationError, workflow } from "../../mod.ts";
import { performNextStep, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { club, type Member } from "./_club.ts";
import { current, executionAt, startAndDeliver, storyOf } from "./_story.ts";

behaviour(
  "CND-01 a step whose skipIf holds is skipped and the next one scheduled",
  async (world) => {
    const { ann, members } = club();
    const done: string[] = [];
    const onboarding = workflow({
      name: "onboarding",
      hero: members,
      steps: [
        {
          name: "remind",
          skipIf: ({ hero }) => hero.profileComplete,
          run: () => done.push("remind"),
        },
        { name: "invite_friends", wait: "2 days", run: () => done.push("invite_friends") },
      ],
    });
    const { engine, clock } = await world.engine({ workflows: [onboarding] });
    ann.profileComplete = true;
    const run = await engine.start(onboarding, { hero: "ann" });

    const skipped = await performNextStep(run);

    assert.equal(skipped?.state, "skipped");
    assert.equal(skipped?.outcome, "skipped");
    assert.equal(skipped?.cause, "condition");
    assert.deepEqual(done, []);
    assert.equal(run.state, "ready");
    assert.equal(run.nextStepName, "invite_friends");
    assert.equal(run.currentStepName, null);
    assert.equal(run.transitionedAt, null);
    const next = await current(run);
    assert.equal(next.stepName, "invite_friends");
    assert.equal(next.scheduledFor.getTime(), clock.now() + 2 * 86_400_000);
    assert.equal((await run.history()).length, 2);
  },
);

behaviour("CND-02 skipping the last step finishes the workflow", async ({ engine: open }) => {
  const farewell = workflow({
    name: "farewell",
    steps: [
      { name: "thank", run: () => {} },
      { name: "send_voucher", skipIf: true, run: () => assert.fail("it must not run") },
    ],
  });
  const { engine } = await open({ workflows: [farewell] });
  const run = await speedrunWorkflow(await engine.start(farewell));
  assert.equal(run.state, "finished");
  assert.equal(run.nextStepName, null);
  assert.equal(run.currentStepName, null);
  assert.ok(run.transitionedAt);
  assert.deepEqual(await storyOf(run), [
    "thank: completed/success",
    "send_voucher: skipped/skipped (condition)",
  ]);
});

behaviour(
  "CND-03 skipIf is asked when the step runs, never when it is scheduled",
  async (world) => {
    const { ann, members } = club();
    let asked = 0;
    let reminded = 0;
    const remind = (wait: string) => ({
      wait,
      skipIf: ({ hero }: { hero: Member }) => {
        asked++;
        return hero.profileComplete;
      },
      run: () => void reminded++,
    });
    const reminders = workflow({
      name: "reminders",
      hero: members,
      steps: [{ name: "first", ...remind("1 day") }, { name: "second", ...remind("2 days") }],
    });
    const { engine, clock } = await world.engine({ workflows: [reminders] });
    ann.profileComplete = true;
    const run = await engine.start(reminders, { hero: "ann" });
    assert.equal(asked, 0);

    ann.profileComplete = false;
    await clock.tick("1 day");
    assert.deepEqual([asked, reminded], [1, 1]);

    ann.profileComplete = true;
    await clock.tick("2 days");
    assert.deepEqual([asked, reminded], [2, 1]);
    assert.deepEqual(await storyOf(run), [
      "first: completed/success",
      "second: skipped/skipped (condition)",
    ]);
  },
);

behaviour(
  "CND-04 CND-05 constants and whatever is truthy or falsy count as they read",
  async (world) => {
    const truthy: unknown[] = [true, 1, "no", {}, []];
    const falsy: unknown[] = [false, 0, "", NaN, null, undefined];
    const ran: string[] = [];
    const steps = [
      { name: "literal true", skipIf: true, run: () => ran.push("literal true") },
      { name: "literal false", skipIf: false, run: () => ran.push("literal false") },
      { name: "literal null", skipIf: null, run: () => ran.push("literal null") },
      ...[...truthy, ...falsy].map((value, at) => ({
        name: `answer ${at}`,
        skipIf: () => value,
        run: () => ran.push(`answer ${at}`),
      })),
    ];
    const survey = workflow({ name: "survey", steps });
    const { engine } = await world.engine({ workflows: [survey] });
    const run = await speedrunWorkflow(await engine.start(survey));
    assert.equal(run.state, "finished");
    const expected = falsy.map((_, at) => `answer ${truthy.length + at}`);
    assert.deepEqual(ran, ["literal false", "literal null", ...expected]);
    const skipped = (await run.history()).filter((one) => one.state === "skipped");
    assert.deepEqual(
      skipped.map((one) => one.stepName),
      ["literal true", ...truthy.map((_, at) => `answer ${at}`)],
    );
  },
);

Deno.test("CND-06 a list is not a condition for skipIf", () => {
  const conditions = [() => true, () => false];
  assert.throws(
    () =>
      workflow({
        name: "listed",
        // @ts-expect-error a list is refused by the type as well
        steps: [{ name: "only", skipIf: conditions, run: () => {} }],
      }),
    (error) => error instanceof StepConfigurationError && error.stepName === "only",
  );
});

behaviour("CND-07 CND-12 cancelIf cancels before any step and shows no start", async (world) => {
  const { ann, members } = club();
  const sent: string[] = [];
  const letters = workflow({
    name: "letters",
    hero: members,
    cancelIf: ({ hero }) => hero.accountClosed,
    steps: [
      { name: "welcome", run: () => sent.push("welcome") },
      { name: "news", wait: "1 day", run: () => sent.push("news") },
      { name: "offer", run: () => sent.push("offer") },
    ],
  });
  const { engine, clock } = await world.engine({ workflows: [letters] });
  const run = await engine.start(letters, { hero: "ann" });
  await performNextStep(run);
  ann.accountClosed = true;
  await clock.tick("1 hour");
  const { id } = await current(run);
  clock.travelTo(clock.now() + 2 * 86_400_000);

  await engine.handle(id);

  await run.reload();
  assert.deepEqual(sent, ["welcome"]);
  assert.equal(run.state, "canceled");
  assert.equal(run.currentStepName, null);
  assert.equal(run.transitionedAt?.getTime(), clock.now());
  assert.deepEqual(await storyOf(run), [
    "welcome: completed/success",
    "news: canceled/canceled (condition)",
  ]);
  const canceled = await executionAt(run, -1);
  assert.equal(canceled.startedAt, null);
  assert.equal(canceled.finishedAt?.getTime(), clock.now());
  assert.equal(canceled.canceledAt?.getTime(), clock.now());
  assert.equal(canceled.completedAt, null);
  assert.equal(canceled.failedAt, null);
  assert.equal(canceled.skippedAt, null);
  assert.equal(canceled.errorClass, null);
});

behaviour("CND-12 a skipped step shows no start either", async ({ engine: open }) => {
  const tidy = workflow({ name: "tidy", steps: [{ name: "sweep", skipIf: true, run: () => {} }] });
  const { engine, clock } = await open({ workflows: [tidy] });
  const run = await engine.start(tidy);
  const skipped = await performNextStep(run);
  assert.equal(skipped?.startedAt, null);
  assert.equal(skipped?.finishedAt?.getTime(), clock.now());
  assert.equal(skipped?.skippedAt?.getTime(), clock.now());
  assert.equal(skipped?.canceledAt, null);
});

behaviour("CND-08 one cancelIf of several is enough", async ({ engine: open }) => {
  const asked: string[] = [];
  const answer = (name: string, holds: boolean) => () => {
    asked.push(name);
    return holds;
  };
  const trial = workflow({
    name: "trial",
    cancelIf: [answer("expired", false), answer("refunded", true), answer("banned", true)],
    steps: [{ name: "extend", run: () => assert.fail("it must not run") }],
  });
  const { engine } = await open({ workflows: [trial] });
  const { run, thrown } = await startAndDeliver(engine, trial);
  assert.equal(thrown, null);
  assert.equal(run.state, "canceled");
  assert.deepEqual(asked, ["expired", "refunded"]);
});

behaviour(
  "CND-09 cancelIf that is false or null lets the step proceed",
  async ({ engine: open }) => {
    let ran = 0;
    const trial = workflow({
      name: "trial",
      cancelIf: [false, null, undefined, () => false, () => null, () => undefined],
      steps: [{ name: "extend", run: () => void ran++ }],
    });
    const { engine } = await open({ workflows: [trial] });
    const { run } = await startAndDeliver(engine, trial);
    assert.equal(run.state, "finished");
    assert.equal(ran, 1);
  },
);

behaviour("CND-10 cancelIf wins over skipIf, which is not even asked", async ({ engine: open }) => {
  const trial = workflow({
    name: "trial",
    cancelIf: true,
    steps: [{ name: "extend", skipIf: () => assert.fail("it must not be asked"), run: () => {} }],
  });
  const { engine } = await open({ workflows: [trial] });
  const { run, thrown } = await startAndDeliver(engine, trial);
  assert.equal(thrown, null);
  assert.equal(run.state, "canceled");
  assert.deepEqual(await storyOf(run), ["extend: canceled/canceled (condition)"]);
});
