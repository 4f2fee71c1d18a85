/** What tests of one queue driver share: jobs, somebody who listens, and work for a whole engine. */

import assert from "node:assert/strict";
import {
  createEngine,
  type Engine,
  type Job,
  type QueueDriver,
  workflow,
  type WorkflowDefinition,
} from "../../mod.ts";
import { memoryStore } from "../../drivers/memory/mod.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { until } from "../run/_doubles.ts";

export const HOUR_MS = 3_600_000;

/** A job that is due now. */
export function job(executionId: string, over: Partial<Job> = {}): Job {
  return { executionId, runAt: new Date(), queue: "default", priority: 0, ...over };
}

export function ids(jobs: readonly Job[]): string[] {
  return jobs.map((one) => one.executionId);
}

/** Somebody who listens. */
export interface Listening {
  /** The jobs that came, in order. */
  readonly came: Job[];
  stop(): Promise<void>;
}

export function listenTo(
  queue: QueueDriver,
  { work = () => {}, queues }: {
    readonly work?: (job: Job) => void | Promise<void>;
    readonly queues?: readonly string[];
  } = {},
): Listening {
  const stopping = new AbortController();
  const came: Job[] = [];
  const ended = queue.listen(async (jobs) => {
    came.push(...jobs);
    for (const one of jobs) await work(one);
  }, { signal: stopping.signal, clock: systemClock, pollMs: 20, queues });
  return {
    came,
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}

/** How long a job of `journey` may be late before the sweep looks for it. */
export const LOST_MS = 1_000;

/** Workflows on two engines whose queue is harmed in the middle. */
export interface Journey extends AsyncDisposable {
  readonly engine: Engine;
  readonly definition: WorkflowDefinition;
  /** Resolves when half of the bodies have begun. */
  readonly halfWay: Promise<void>;
  /** Resolves when all workflows have finished; then every body has run once. */
  arrive(): Promise<void>;
}

/**
 * Starts so many workflows of three steps on one store, with two workers on queues of their own. A
 * wait before each step makes every step go through the queue.
 */
export async function journey(
  open: () => QueueDriver,
  { workflows, lostMs = LOST_MS }: { readonly workflows: number; readonly lostMs?: number },
): Promise<Journey> {
  const bodies = new Map<string, number>();
  const half = Promise.withResolvers<void>();
  const definition = workflow({
    name: "journey",
    steps: ["a", "b", "c"].map((name) => ({
      name,
      wait: 30,
      run({ workflow: { id } }: { workflow: { id: string } }) {
        bodies.set(`${id} ${name}`, (bodies.get(`${id} ${name}`) ?? 0) + 1);
        if (bodies.size === Math.floor(workflows * 3 / 2)) half.resolve();
      },
    })),
  });
  const store = memoryStore();
  const [engine, second] = [1, 2].map(() =>
    createEngine({
      store,
      queue: open(),
      workflows: [definition],
      // The sweep looks six times per lease.
      leaseMs: 1_200,
      pollMs: 20,
      housekeeping: { stuckScheduled: lostMs },
    })
  ) as [Engine, Engine];
  const workers = [engine.work(), second.work()];
  await engine.startMany(definition, Array.from({ length: workflows }, () => ({})));
  return {
    engine,
    definition,
    halfWay: half.promise,
    async arrive() {
      await until(async () => {
        const counts = await engine.counts();
        return counts.length > 0 && counts.every(({ state }) => state === "finished");
      }, { looks: 20_000 });
      assert.equal(bodies.size, workflows * 3);
      assert.deepEqual([...new Set(bodies.values())], [1], "every body ran exactly once");
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(workers.map((worker) => worker.stop()));
      await Promise.all([engine.close(), second.close()]);
    },
  };
}
