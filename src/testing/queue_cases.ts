/**
 * What every queue must do, as cases.
 *
 * @module
 */

import assert from "node:assert/strict";
import { wait } from "../seams/clock.ts";
import type { Job } from "../state/records.ts";
import { POLL_MS, type QueueCase, queueCase, STEP_MS } from "./queue_trial.ts";

export type { CaseQueue, QueueCase, QueueCaseContext } from "./queue_trial.ts";

/** What a real timer and a real clock may differ by. */
const EARLY_MS = 5;

const NAMES = Array.from({ length: 20 }, (_, at) => String(at + 1));

const deliveryCases: readonly QueueCase[] = [
  queueCase("SCH-02 a job that is due is delivered", async ({ listen, enqueue, job, arrive }) => {
    listen();
    await enqueue([job("1")]);
    await arrive(["1"]);
  }),

  queueCase(
    "BLK-01 a job that was enqueued before anybody listened is delivered",
    async (trial) => {
      await trial.enqueue([trial.job("1")]);
      trial.listen();
      await trial.arrive(["1"]);
    },
  ),

  queueCase(
    "a job that was due long ago is delivered",
    async ({ listen, enqueue, job, arrive }) => {
      listen();
      await enqueue([job("1", -86_400_000)]);
      await arrive(["1"]);
    },
  ),

  queueCase(
    "EXE-15 SCH-03 a job for later is delivered, and not before its time",
    async (trial) => {
      const { listen, enqueue, job, arrive, deliveries } = trial;
      listen();
      await enqueue([job("later", 300), job("soon", 100), job("now")]);
      await arrive(["now", "soon", "later"]);
      for (const { job: { executionId, runAt }, at } of deliveries) {
        assert.ok(at >= runAt.getTime() - EARLY_MS, `job "${executionId}" came early`);
      }
    },
  ),

  queueCase(
    "a job for later that was enqueued before anybody listened keeps its time",
    async (trial) => {
      await trial.enqueue([trial.job("later", 200)]);
      trial.listen();
      await trial.arrive(["later"]);
      const [delivery] = trial.deliveries;
      assert.ok((delivery?.at ?? 0) >= (delivery?.job.runAt.getTime() ?? 0) - EARLY_MS);
    },
  ),

  queueCase("a job for later does not hold up one for now that comes after it", async (trial) => {
    trial.listen();
    await trial.enqueue([trial.job("in an hour", 3_600_000)]);
    await trial.enqueue([trial.job("now")]);
    await trial.arrive(["now"]);
    assert.deepEqual(trial.deliveries.map(({ job }) => job.executionId), ["now"]);
  }),

  queueCase("SCH-13 a job arrives with its time, its queue and its priority", async (trial) => {
    trial.listen();
    const jobs = [
      trial.job("1", 0, { queue: "mail", priority: -5 }),
      trial.job("2", 20, { queue: "größe 🐢", priority: 100 }),
    ];
    await trial.enqueue(jobs);
    await trial.arrive(["1", "2"]);
    for (const sent of jobs) {
      const found = trial.deliveries.find(({ job }) => job.executionId === sent.executionId);
      const { executionId, runAt, queue, priority } = found?.job as Job;
      assert.deepEqual({ executionId, runAt, queue, priority }, sent);
    }
  }),

  queueCase("what is delivered was enqueued, or is a call to look at the table", async (trial) => {
    const calls: (readonly Job[])[] = [];
    trial.listen({ called: (jobs) => void calls.push(jobs) });
    await trial.enqueue([trial.job("1"), trial.job("2")]);
    await trial.arrive(["1", "2"]);
    assert.ok(calls.length > 0);
    for (const { executionId } of calls.flat()) assert.ok(["1", "2"].includes(executionId));
    const isEmpty = calls.every((jobs) => jobs.length === 0);
    assert.equal(isEmpty, trial.queue.commit === "none");
  }),

  queueCase("a queue without jobs of its own calls for a look from time to time", async (trial) => {
    let looks = 0;
    trial.listen({ called: (jobs) => void (looks += jobs.length === 0 ? 1 : 0) });
    if (trial.queue.commit === "none") return await trial.until(() => looks >= 4, "No fourth look");
    await trial.enqueue([trial.job("1")]);
    await trial.arrive(["1"]);
  }),

  queueCase("enqueueing nothing is harmless", async ({ listen, enqueue, job, arrive }) => {
    await enqueue([]);
    listen();
    await enqueue([]);
    await enqueue([job("1")]);
    await arrive(["1"]);
  }),

  queueCase(
    "SCH-24 a job that is enqueued twice is delivered",
    async ({ listen, enqueue, job, arrive }) => {
      listen();
      await enqueue([job("1"), job("1")]);
      await enqueue([job("1")]);
      await arrive(["1"]);
    },
  ),

  queueCase(
    "EXE-15 a job that is enqueued again while it is delivered comes again, with its new time",
    async (trial) => {
      const again = trial.job("1", 60);
      let isTold = false;
      trial.listen({
        async work() {
          if (isTold || trial.deliveries.length === 0) return;
          isTold = true;
          await trial.enqueue([again]);
        },
      });
      await trial.enqueue([trial.job("1")]);
      const isAgain = ({ job }: { job: Job }): boolean =>
        job.executionId === "1" && job.runAt.getTime() === again.runAt.getTime();
      await trial.until(() => trial.deliveries.some(isAgain), "It did not come again");
    },
  ),

  queueCase("1,000 jobs at once all arrive", async ({ listen, enqueue, job, arrive }) => {
    listen();
    const ids = Array.from({ length: 1_000 }, (_, at) => `job ${at}`);
    await enqueue(ids.map((id) => job(id)));
    await arrive(ids);
  }),

  queueCase("jobs from many calls at once all arrive", async ({ listen, enqueue, job, arrive }) => {
    listen();
    const ids = Array.from({ length: 100 }, (_, at) => `job ${at}`);
    await Promise.all(ids.map((id, at) => enqueue([job(id, at % 5 === 0 ? 30 : 0)])));
    await arrive(ids);
  }),
];

const listenerCases: readonly QueueCase[] = [
  queueCase("a slow handler loses no jobs", async (trial) => {
    let underWay = 0;
    const during = async (work: Promise<void>): Promise<void> => {
      underWay++;
      await work;
      underWay--;
    };
    trial.listen({ work: () => during(wait(trial.clock, 3)) });
    for (const name of NAMES) {
      void during(trial.enqueue([trial.job(name)]));
      await trial.advance(1);
    }
    await trial.arrive(NAMES);
    await trial.until(() => underWay === 0, "The work does not end");
  }),

  queueCase("several listeners get all jobs between them", async (trial) => {
    trial.listen({ name: "a" });
    trial.listen({ name: "b" });
    for (const name of NAMES) await trial.enqueue([trial.job(name)]);
    await trial.arrive(NAMES);
  }),

  queueCase("a listener that stops leaves the work to the others", async (trial) => {
    const first = trial.listen({ name: "a" });
    trial.listen({ name: "b" });
    await trial.enqueue([trial.job("1")]);
    await trial.arrive(["1"]);
    await first.stop();
    const before = trial.deliveries.length;
    await trial.enqueue(NAMES.slice(1).map((name) => trial.job(name)));
    await trial.arrive(NAMES);
    for (const { listener } of trial.deliveries.slice(before)) assert.equal(listener, "b");
  }),

  queueCase("jobs that come while nobody listens wait for the next listener", async (trial) => {
    const first = trial.listen();
    await trial.enqueue([trial.job("1")]);
    await trial.arrive(["1"]);
    await first.stop();
    await trial.enqueue([trial.job("2"), trial.job("3", 40)]);
    trial.listen();
    await trial.arrive(["2", "3"]);
  }),

  queueCase("a job reaches a listener that serves its queue", async (trial) => {
    trial.listen({ name: "mail", queues: ["mail"] });
    trial.listen({ name: "slow", queues: ["slow", "slower"] });
    const jobs = NAMES.map((name, at) =>
      trial.job(name, 0, { queue: ["mail", "slow", "slower"][at % 3] as string })
    );
    await trial.enqueue(jobs);
    const served = new Set<string>();
    const isServed = (): boolean => {
      for (const { job, listener } of trial.deliveries) {
        if ((job.queue === "mail") === (listener === "mail")) served.add(job.executionId);
      }
      return served.size === jobs.length;
    };
    await trial.until(isServed, "Jobs did not reach a listener of their queue");
  }),
];

const endCases: readonly QueueCase[] = [
  queueCase("an aborted listener ends", async ({ listen, enqueue, job, arrive }) => {
    const listener = listen();
    await enqueue([job("1")]);
    await arrive(["1"]);
    await listener.stop();
  }),

  queueCase("an idle listener ends at once, also while a job waits for its time", async (trial) => {
    const listener = trial.listen();
    await trial.enqueue([trial.job("in an hour", 3_600_000)]);
    await trial.advance(STEP_MS);
    await listener.stop();
    assert.deepEqual(trial.deliveries, []);
  }),

  queueCase("a listener whose signal is aborted already ends without a delivery", async (trial) => {
    await trial.enqueue([trial.job("1")]);
    let calls = 0;
    await trial.queue.listen(
      () => {
        calls++;
        return Promise.resolve();
      },
      { signal: AbortSignal.abort(), clock: trial.clock, pollMs: POLL_MS },
    );
    assert.equal(calls, 0);
  }),

  queueCase("a listener ends only when what is under way has ended", async (trial) => {
    const gate = Promise.withResolvers<void>();
    let ended = false;
    const listener = trial.listen({
      work: async () => {
        if (trial.deliveries.length > 0) await gate.promise;
      },
    });
    void listener.ended.then(() => void (ended = true));
    const told = trial.enqueue([trial.job("1")]);
    try {
      await trial.until(() => trial.deliveries.length > 0, "The job did not arrive");
      void listener.stop();
      await trial.advance(STEP_MS);
      assert.equal(ended, false, "the handler still runs");
    } finally {
      gate.resolve();
    }
    await listener.ended;
    await told;
  }),

  queueCase("nothing is delivered after a listener has ended", async (trial) => {
    const listener = trial.listen();
    await trial.enqueue([trial.job("1")]);
    await trial.arrive(["1"]);
    await listener.stop();
    const before = trial.deliveries.length;
    await trial.enqueue([trial.job("2"), trial.job("3", 20)]);
    await trial.advance(POLL_MS * 3);
    assert.equal(trial.deliveries.length, before);
  }),

  queueCase("a queue can be closed twice", async ({ queue, listen, enqueue, job, arrive }) => {
    const listener = listen();
    await enqueue([job("1")]);
    await arrive(["1"]);
    await listener.stop();
    await queue.close();
    await queue.close();
  }),

  queueCase("a queue that was never used can be closed", async ({ queue }) => {
    await queue.close();
  }),

  queueCase("after the close a job is refused or ignored, never delivered", async (trial) => {
    const listener = trial.listen();
    await listener.stop();
    await trial.queue.close();
    await trial.enqueue([trial.job("1")]).catch((error: unknown) => {
      assert.ok(error instanceof Error && error.message.length > 0);
    });
    await trial.advance(POLL_MS);
    assert.deepEqual(trial.deliveries, []);
  }),

  queueCase("a queue says who it is and how it relates to the store's commit", ({ queue }) => {
    assert.ok(queue.name.length > 0);
    assert.ok(["none", "with-store", "after-store"].includes(queue.commit));
    if (queue.maxDelayMs !== undefined) assert.ok(queue.maxDelayMs > 0);
    return Promise.resolve();
  }),
];

/** All cases of a queue. */
export const queueCases: readonly QueueCase[] = [...deliveryCases, ...listenerCases, ...endCases];
