/** What docs/drivers.md says of the mistakes people make is tried: each breaks the case it names. */

import assert from "node:assert/strict";
import { memoryDatabase, memoryStore } from "../../drivers/memory/mod.ts";
import { type QueueDriver, type StoreDriver, systemClock } from "../../mod.ts";
import { queueCases, runStoreCase, storeCases } from "../../src/testing/conformance.ts";
import { createFakeClock } from "../../src/testing/fake_clock.ts";
import { fakeSqs } from "../../examples/_fake_sqs.ts";
import { type SqsLike, sqsQueue } from "../../examples/sqs_queue.ts";

const DOC = await Deno.readTextFile(new URL("../../docs/drivers.md", import.meta.url));

/** The rows of the tables whose first column is called "mistake". */
const rows = [...DOC.matchAll(/^\| mistake .*\n\|[ |-]+\n((?:\|.*\n)+)/gm)]
  .flatMap(([, table]) => (table as string).trim().split("\n"))
  .map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));

const names = ["default", "mail", "slow", "slower", "größe 🐢"];
const urls = Object.fromEntries(names.map((name, at) => [name, `https://sqs.example/${at}`]));

/** How each mistake about a queue is made, on the queue of the example. */
const QUEUE_MISTAKES: Readonly<
  Record<string, {
    readonly queue?: (queue: QueueDriver) => Partial<QueueDriver>;
    readonly sqs?: (sqs: SqsLike) => Partial<SqsLike>;
    readonly onRealTime?: boolean;
  }>
> = {
  "`listen` does not wait for its handlers": {
    queue: (queue) => ({
      listen: (handler, how) =>
        queue.listen((jobs) => {
          void handler(jobs);
          return Promise.resolve();
        }, how),
    }),
  },
  "it rejects when it is aborted": {
    queue: (queue) => ({
      async listen(handler, how) {
        await queue.listen(handler, how);
        how.signal.throwIfAborted();
      },
    }),
  },
  "it takes jobs of queues that the worker does not serve": {
    queue: (queue) => ({
      listen: (handler, { queues: _, ...how }) => queue.listen(handler, how),
    }),
  },
  "it waits on a timer of the runtime": { onRealTime: true },
  "it rounds a delay down": {
    sqs: (sqs) => ({
      sendMessageBatch: ({ Entries, ...rest }) =>
        sqs.sendMessageBatch({
          ...rest,
          Entries: Entries.map((one) => ({
            ...one,
            DelaySeconds: Math.max(0, one.DelaySeconds - 1),
          })),
        }),
    }),
  },
  "it sends JSON and forgets that `runAt` is a `Date`": {
    queue: (queue) => ({
      listen: (handler, how) =>
        queue.listen((jobs) => handler(JSON.parse(JSON.stringify(jobs))), how),
    }),
  },
  "it drops a job whose execution it has seen": {
    queue(queue) {
      const seen = new Set<string>();
      return {
        enqueue(jobs) {
          const fresh = jobs.filter((job) => !seen.has(job.executionId));
          for (const job of fresh) seen.add(job.executionId);
          return queue.enqueue(fresh);
        },
      };
    },
  },
  "it keeps a job in memory until somebody listens": {
    queue(queue) {
      let listening = 0;
      return {
        enqueue: (jobs) => listening > 0 ? queue.enqueue(jobs) : Promise.resolve(),
        async listen(handler, how) {
          listening++;
          await queue.listen(handler, how);
          listening--;
        },
      };
    },
  },
};

/** How each mistake about a store is made, on the store in memory. */
const STORE_MISTAKES: Readonly<Record<string, (store: StoreDriver) => Partial<StoreDriver>>> = {
  "it takes its own time instead of `now`": (store) => ({
    claim: (ids, options) => store.claim(ids, { ...options, now: new Date() }),
  }),
  "one duplicate fails the whole batch": (store) => ({
    async create(batch, options) {
      const created = await store.create(batch, options);
      if (created.some((one) => one.kind === "duplicate")) throw new Error("unique constraint");
      return created;
    },
  }),
  "`beforeCommit` is called after the commit": (store) => ({
    async create(batch, { beforeCommit, ...options }) {
      const created = await store.create(batch, options);
      await beforeCommit?.({}, []);
      return created;
    },
  }),
  "`claimDue` forgets the queues": (store) => ({
    claimDue: ({ queues: _, ...options }) => store.claimDue(options),
  }),
  "`claimDue` forgets the limit": (store) => ({
    claimDue: (options) => store.claimDue({ ...options, limit: 1_000 }),
  }),
};

Deno.test("docs/drivers.md tells of the mistakes that are tried here, and of no others", () => {
  assert.deepEqual(
    rows.map(([mistake]) => mistake),
    [...Object.keys(QUEUE_MISTAKES), ...Object.keys(STORE_MISTAKES)],
  );
});

for (const [mistake = "", name, says = ""] of rows) {
  const queue = QUEUE_MISTAKES[mistake];
  const store = STORE_MISTAKES[mistake];
  Deno.test(`a case notices the mistake: ${mistake}`, async () => {
    const cases = queue === undefined ? storeCases : queueCases;
    const one = cases.find((candidate) => candidate.name === name);
    assert.ok(one !== undefined, `there is no case "${name}"`);
    await assert.rejects(
      store === undefined ? runQueue(name as string, queue ?? {}) : runStore(name as string, store),
      (error: Error) => error.message.includes(says),
    );
  });
}

async function runQueue(name: string, mistake: (typeof QUEUE_MISTAKES)[string]): Promise<void> {
  await queueCases.find((one) => one.name === name)?.run({
    open() {
      const clock = createFakeClock();
      const time = mistake.onRealTime ? systemClock : clock;
      const sqs = fakeSqs({ clock: time, urls: Object.values(urls) });
      const right = sqsQueue({ ...sqs, ...mistake.sqs?.(sqs) }, { urls, clock });
      const queue = { ...right, ...mistake.queue?.(right) };
      return Promise.resolve({ queue, clock, advance: (ms) => clock.tick(ms) });
    },
  });
}

async function runStore(
  name: string,
  mistake: (typeof STORE_MISTAKES)[string],
): Promise<void> {
  const database = memoryDatabase();
  const one = storeCases.find((candidate) => candidate.name === name);
  assert.ok(one !== undefined);
  await runStoreCase(one, {
    open() {
      const store = memoryStore({ database }) as StoreDriver;
      return { ...store, ...mistake(store) };
    },
  });
}
