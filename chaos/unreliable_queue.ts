/**
 * A queue that a process keeps in its memory, and badly: it loses jobs, doubles them, hands them
 * over too early and too late, and forgets all of them when its process dies. Rows whose job got
 * lost are found by the sweep.
 */

import type { Job, JobHandler, QueueDriver } from "../mod.ts";
import type { Random } from "./random.ts";

/** How late a late job is at the most: later than a job counts as lost. */
const LATEST_MS = 900;

/** Makes a queue that is told after the store's commit; `tell` hears of what it does to jobs. */
export function unreliableQueue(random: Random, tell: (fault: string) => void): QueueDriver {
  const timers = new Set<ReturnType<typeof setTimeout>>();
  let handle: JobHandler | null = null;

  function deliver(job: Job, inMs: number): void {
    const timer = setTimeout(() => {
      timers.delete(timer);
      void handle?.([job]);
    }, Math.max(0, inMs));
    timers.add(timer);
  }

  function mishandle(job: Job): void {
    const inMs = job.runAt.getTime() - Date.now();
    const fate = random.pick(["lost", "doubled", "early", "late", "timely"]);
    if (fate !== "timely") tell(`job of ${job.executionId} ${fate}`);
    if (fate === "lost") return;
    deliver(
      job,
      fate === "early" ? 0 : fate === "late" ? inMs + random.between(50, LATEST_MS) : inMs,
    );
    if (fate === "doubled") deliver(job, inMs + random.between(0, 100));
  }

  return {
    name: "unreliable",
    commit: "after-store",
    enqueue(jobs) {
      jobs.forEach(mishandle);
      return Promise.resolve();
    },
    async listen(handler, { signal }) {
      handle = handler;
      if (signal.aborted) return;
      await new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
      handle = null;
    },
    close() {
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
      return Promise.resolve();
    },
  };
}
