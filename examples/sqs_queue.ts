/**
 * A queue on Amazon SQS, in fifty lines, and a workflow that waits on it for longer than SQS can.
 *
 * `deno run -A examples/sqs_queue.ts`
 *
 * Shows how a driver for a queue is written; `docs/drivers.md` walks through it. The SQS is a fake in
 * this process. The client of AWS (`SQS` of `@aws-sdk/client-sqs`) has the same three methods.
 *
 * @module
 */

import {
  type Clock,
  createEngine,
  type Job,
  type QueueDriver,
  systemClock,
  workflow,
} from "@pawl/pawl";
import { sqliteStore } from "@pawl/pawl/sqlite";
import { createFakeClock } from "@pawl/pawl/testing";
import { fakeSqs } from "./_fake_sqs.ts";

/** What is needed of the client: three methods of `SQS` in `@aws-sdk/client-sqs`. */
export interface SqsLike {
  sendMessageBatch(input: {
    QueueUrl: string;
    Entries: { Id: string; MessageBody: string; DelaySeconds: number }[];
  }): Promise<{ Failed?: unknown[] }>;
  receiveMessage(
    input: { QueueUrl: string; MaxNumberOfMessages: number; WaitTimeSeconds: number },
    options: { abortSignal: AbortSignal },
  ): Promise<{ Messages?: { Body?: string | undefined; ReceiptHandle?: string | undefined }[] }>;
  deleteMessageBatch(input: {
    QueueUrl: string;
    Entries: { Id: string; ReceiptHandle: string | undefined }[];
  }): Promise<{ Failed?: unknown[] }>;
}

// The driver begins here.
/** Makes a queue on SQS; `urls` says which queue of SQS stands for which queue of Pawl. */
export function sqsQueue(
  sqs: SqsLike,
  { urls, clock = systemClock }: { urls: Record<string, string>; clock?: Clock },
): QueueDriver {
  function urlOf(queue: string): string {
    const url = urls[queue];
    if (url === undefined) throw new Error(`Cannot use queue "${queue}": it has no URL`);
    return url;
  }

  function entry(job: Job, at: number): { Id: string; MessageBody: string; DelaySeconds: number } {
    const seconds = Math.ceil((job.runAt.getTime() - clock.now()) / 1_000);
    const DelaySeconds = Math.min(Math.max(seconds, 0), 900);
    return { Id: `${at}`, MessageBody: JSON.stringify(job), DelaySeconds };
  }

  return {
    name: "sqs",
    commit: "after-store", // it is told after the commit; what gets lost is found by the sweep
    maxDelayMs: 900_000, // longer waits arrive early, and are announced again
    async enqueue(jobs) {
      for (const [queue, those] of Map.groupBy(jobs, (job) => job.queue)) {
        for (let at = 0; at < those.length; at += 10) {
          const Entries = those.slice(at, at + 10).map(entry);
          const { Failed = [] } = await sqs.sendMessageBatch({ QueueUrl: urlOf(queue), Entries });
          if (Failed.length > 0) throw new Error(`SQS did not take ${Failed.length} messages`);
        }
      }
    },
    async listen(handler, { signal, clock, queues = Object.keys(urls) }) {
      async function receive(QueueUrl: string): Promise<void> {
        const { Messages = [] } = await sqs.receiveMessage(
          { QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 20 },
          { abortSignal: signal },
        );
        if (Messages.length === 0) return;
        const jobs = Messages.map(({ Body }) => JSON.parse(Body ?? "{}"));
        await handler(jobs.map((job) => ({ ...job, runAt: new Date(job.runAt) })));
        // Only now: if this process had died, the messages would have come again.
        const Entries = Messages.map(({ ReceiptHandle }, at) => ({ Id: `${at}`, ReceiptHandle }));
        await sqs.deleteMessageBatch({ QueueUrl, Entries });
      }

      await Promise.all(queues.map(async (queue) => {
        while (!signal.aborted) {
          // An SQS that is away is asked again, on the engine's clock; nothing is lost meanwhile.
          await receive(urlOf(queue)).catch(() => signal.aborted ? undefined : pause(clock, 1_000));
        }
      }));
    },
    close: () => Promise.resolve(), // it has opened nothing
  };
}
// The driver ends here.

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.setTimeout(resolve, ms));
}

const clock = createFakeClock({ now: new Date("2026-01-01T09:00:00Z") });
const urls = { default: "https://sqs.example/pawl", mail: "https://sqs.example/pawl-mail" };

const mail = { queue: "mail" };
const trial = workflow({
  name: "trial",
  steps: [
    { name: "welcome", jobOptions: mail, run: ({ input }) => say(`Welcome, ${input}!`) },
    { name: "check", wait: "2 hours", run: ({ input }) => say(`Is ${input} still here?`) },
    { name: "remind", jobOptions: mail, run: ({ input }) => say(`How do you like it, ${input}?`) },
  ],
});

function say(line: string): void {
  console.log(`${new Date(clock.now()).toISOString().slice(11, 16)} | ${line}`);
}

if (import.meta.main) {
  const sqs = fakeSqs({ clock, urls: Object.values(urls) });
  const queue = sqsQueue(sqs, { urls, clock });
  const store = sqliteStore(":memory:");
  const engine = createEngine({ store, queue, clock, workflows: [trial] });
  await engine.migrate();
  const run = await engine.start(trial, { input: "Ada" });
  const worker = engine.work();
  for (let minute = 0; minute < 125; minute++) await clock.tick(60_000);
  await worker.stop();
  console.log(`\nIt is ${(await run.reload()).state}.`);
  console.log(
    `SQS was sent ${sqs.sent} messages, delivered ${sqs.received}, has ${sqs.left} left.`,
  );
  await engine.close();
}

/* It prints:

09:00 | Welcome, Ada!
11:00 | Is Ada still here?
11:00 | How do you like it, Ada?

It is finished.
SQS was sent 11 messages, delivered 12, has 0 left.
*/
