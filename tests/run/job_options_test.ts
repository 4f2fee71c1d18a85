/**
 * Queue options: of a definition, of one workflow, of a step, and which of them wins.
 */

import assert from "node:assert/strict";
import { type Job, workflow } from "../../mod.ts";
import { performNextStep, runIterations } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";
import { recordingQueue } from "./_doubles.ts";

const NOON = Date.UTC(2026, 5, 1, 12);

/** Where a job goes. */
function lane({ queue, priority }: Job): [string, number] {
  return [queue, priority];
}

behaviour(
  "SCH-13 a definition's queue and priority go with every job of its workflows",
  async ({ engine }) => {
    const mailing = workflow({
      name: "mailing",
      jobOptions: { queue: "mail", priority: 7 },
      onException: "reattempt",
      steps: [
        {
          name: "send",
          run({ attempt, reattempt }) {
            if (attempt === 1) reattempt();
            if (attempt === 2) throw new Error("the mail server is away");
          },
        },
        { name: "archive", wait: "1 hour", run: () => {} },
      ],
    });
    const queue = recordingQueue();
    const t = await engine({ workflows: [mailing], queue });
    const run = await t.engine.start(mailing);
    await performNextStep(run);
    await assert.rejects(performNextStep(run), /away/);
    await performNextStep(run);
    assert.deepEqual(queue.jobs.map(lane), Array(4).fill(["mail", 7]));
    const rows = (await run.history()).map(({ queue, priority }) => [queue, priority]);
    assert.deepEqual(rows, Array(4).fill(["mail", 7]));
  },
);

behaviour(
  "SCH-14 a derived definition's own keys win over the base's, the others are inherited",
  async ({ engine }) => {
    const base = workflow({
      name: "mailing",
      jobOptions: { queue: "mail", priority: 7 },
      steps: [{ name: "send", run: () => {} }],
    });
    const urgent = workflow({
      name: "urgent_mailing",
      extends: base,
      jobOptions: { priority: -1 },
    });
    const queue = recordingQueue();
    const t = await engine({ workflows: [base, urgent], queue });
    await t.engine.start(urgent);
    await t.engine.start(base);
    assert.deepEqual(queue.jobs.map(lane), [["mail", -1], ["mail", 7]]);
  },
);

behaviour(
  "SCH-15 the workflow's own options win over the definition's, and the step's over both",
  async ({ engine }) => {
    const mailing = workflow({
      name: "mailing",
      jobOptions: { queue: "mail", priority: 7 },
      steps: [
        { name: "send", run: () => {} },
        { name: "print", jobOptions: { queue: "print" }, run: () => {} },
        { name: "bill", jobOptions: { queue: "money", priority: 0 }, run: () => {} },
      ],
    });
    const queue = recordingQueue();
    const t = await engine({ workflows: [mailing], queue });
    const plain = await t.engine.start(mailing);
    const own = await t.engine.start(mailing, { jobOptions: { queue: "vip", priority: 1 } });
    const half = await t.engine.start(mailing, { jobOptions: { priority: 2 } });
    assert.deepEqual(queue.take().map(lane), [["mail", 7], ["vip", 1], ["mail", 2]]);
    for (const run of [plain, own, half]) await performNextStep(run);
    assert.deepEqual(queue.take().map(lane), [["print", 7], ["print", 1], ["print", 2]]);
    for (const run of [plain, own, half]) await performNextStep(run);
    assert.deepEqual(queue.take().map(lane), Array(3).fill(["money", 0]));
  },
);

behaviour(
  "SCH-15 reattempts, continuations, resumes, skips and early jobs go the same way",
  async ({ engine }) => {
    const mailing = workflow({
      name: "mailing",
      steps: [
        {
          name: "send",
          resumable: true,
          jobOptions: { priority: 3 },
          async run({ attempt, iter, reattempt }) {
            await iter.over(["ann", "bo", "cy"], () => {});
            if (attempt === 1) reattempt({ wait: "1 hour" });
          },
        },
        { name: "archive", run: () => {} },
      ],
    });
    const queue = recordingQueue();
    const t = await engine({ workflows: [mailing], queue });
    const run = await t.engine.start(mailing, { jobOptions: { queue: "vip", priority: 1 } });
    await runIterations(run, { count: 1 });
    await performNextStep(run);
    assert.deepEqual(queue.take().map(lane), Array(3).fill(["vip", 3]));

    await t.engine.handle((await run.currentExecution())?.id as string);
    assert.deepEqual(queue.take().map(lane), [["vip", 3]]);
    await run.pause();
    await run.resume();
    assert.deepEqual(queue.take().map(lane), [["vip", 3]]);
    await run.skip();
    assert.deepEqual(queue.take().map(lane), [["vip", 1]]);
    await run.pause();
    await t.engine.handle((await run.currentExecution())?.id as string);
    await run.resume();
    assert.deepEqual(queue.take().map(lane), [["vip", 1]]);
  },
);

behaviour(
  "SCH-16 a wait among the job options does not change when a step is due",
  async ({ engine }) => {
    const mailing = workflow({
      name: "mailing",
      jobOptions: { wait: "5 days" },
      steps: [
        { name: "send", wait: "1 hour", run: ({ reattempt }) => reattempt({ wait: "10 minutes" }) },
      ],
    });
    const queue = recordingQueue();
    const t = await engine({ workflows: [mailing], queue, now: NOON });
    const run = await t.engine.start(mailing, {
      jobOptions: { waitUntil: new Date(NOON + 1e10), queue: "vip" },
    });
    assert.deepEqual(queue.take().map((job) => job.runAt), [new Date(NOON + 3_600_000)]);
    t.clock.travelTo(NOON + 3_600_000);
    await performNextStep(run);
    const [job] = queue.take();
    assert.deepEqual(job?.runAt, new Date(NOON + 4_200_000));
    assert.equal(job?.queue, "vip");
  },
);

behaviour(
  "SCH-15 job options that cannot work are refused and nothing is written",
  async ({ engine }) => {
    const mailing = workflow({ name: "mailing", steps: [{ name: "send", run: () => {} }] });
    const t = await engine({ workflows: [mailing] });
    for (const jobOptions of [{ queue: "" }, { priority: 1.5 }, { qeue: "mail" }, "mail"]) {
      await assert.rejects(
        t.engine.start(mailing, { jobOptions: jobOptions as never }),
        { name: "StepConfigurationError" },
      );
    }
    assert.deepEqual((await t.engine.list()).items, []);
  },
);
