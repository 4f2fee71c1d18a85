/**
 * Deno KV as a queue: `enqueue` with a delay, `listenQueue` as the wake-up.
 *
 * KV delivers a message again when its handler takes longer than about a minute, and has no way to
 * ask for more time; so no step ever runs inside the handler. It only hands the id over to the
 * worker, which claims the row: from then on the lease counts, and a second delivery finds it taken.
 * A message that no worker here can take is refused, and KV delivers it again.
 *
 * One process, or Deno Deploy: on a shared file another process hears of a message only after a
 * minute or so, and what gets lost is found by the sweep.
 *
 * @example With `--unstable-kv`
 * ```ts
 * import { createEngine } from "@pawl/pawl";
 * import { denoKvQueue } from "@pawl/pawl/deno-kv";
 * import { memoryStore } from "@pawl/pawl/memory";
 *
 * const queue = denoKvQueue({ path: ":memory:" }); // denoKvQueue() on Deno Deploy
 * const engine = createEngine({ store: memoryStore(), queue, workflows: [] });
 * await engine.close();
 * ```
 *
 * @module
 */

import { StoreError } from "../../src/errors.ts";
import type { JobHandler, ListenOptions, QueueDriver } from "../../src/seams/queue.ts";
import type { Job } from "../../src/state/records.ts";

/** What Pawl needs of Deno KV; `Deno.openKv()` and `openKv()` of the npm package `@deno/kv` give one. */
export interface KvLike {
  /** Enqueues a message. */
  enqueue(value: unknown, options?: { delay?: number }): Promise<unknown>;
  /** Hears of messages until the database is closed. */
  listenQueue(handler: (value: unknown) => Promise<void> | void): Promise<void>;
  /** Closes the database. */
  close(): void;
}

/** Where a Deno KV queue lives. */
export interface DenoKvQueueOptions {
  /** An open database of the application; it stays open. */
  readonly kv?: KvLike;
  /** A path for `Deno.openKv`; default: the runtime's own database. */
  readonly path?: string;
}

/** The longest delay that KV takes. */
const MAX_DELAY_MS = 30 * 86_400_000;
/** A handler that is not done by then is given up: KV would soon deliver the message again. */
const MAX_HANDLING_MS = 30_000;
/** What KV carries, told from messages of the application in the same database. */
const KIND = "pawl_job";

interface Listener {
  readonly handler: JobHandler;
  readonly options: ListenOptions;
}

/**
 * Makes a queue on Deno KV. Needs `--unstable-kv` (or `"unstable": ["kv"]` in deno.json), or a `kv`
 * of the npm package `@deno/kv` in Node.
 *
 * @throws {StoreError} When there is no Deno KV here.
 */
export function denoKvQueue(options: DenoKvQueueOptions = {}): QueueDriver {
  // Now and not at the first job: a start would go through, and its job would wait for the sweep.
  const openKv = options.kv === undefined ? opener() : null;
  const listeners: Listener[] = [];
  const underWay = new Set<Promise<void>>();
  let opening: Promise<KvLike> | null = null;
  let hearing: Promise<void> | null = null;

  const open = (): Promise<KvLike> =>
    opening ??= openKv?.(options.path) ?? Promise.resolve(options.kv as KvLike);

  /** Takes a message for one of the listeners that serve its queue, each in its turn. */
  async function hear(value: unknown): Promise<void> {
    const job = jobFrom(value);
    if (job === null) return;
    const at = listeners.findIndex(({ options: { queues, signal } }) =>
      !signal.aborted && (queues === undefined || queues.includes(job.queue))
    );
    const listener = listeners[at];
    if (listener === undefined) {
      throw new StoreError("deno-kv", `Nobody here serves queue "${job.queue}"; it comes again`);
    }
    listeners.push(...listeners.splice(at, 1));
    const handling = listener.handler([job]);
    underWay.add(handling);
    try {
      await withinLimit(handling, listener.options);
    } finally {
      underWay.delete(handling);
    }
  }

  return {
    name: "deno-kv",
    commit: "after-store",
    maxDelayMs: MAX_DELAY_MS,
    async enqueue(jobs: readonly Job[]): Promise<void> {
      const kv = await open();
      const clock = listeners[0]?.options.clock ?? { now: () => Date.now() };
      await Promise.all(jobs.map((job) => {
        const delay = Math.min(Math.max(0, job.runAt.getTime() - clock.now()), MAX_DELAY_MS);
        return kv.enqueue({ kind: KIND, ...job }, { delay });
      }));
    },
    async listen(handler: JobHandler, how: ListenOptions): Promise<void> {
      const kv = await open();
      const listener = { handler, options: how };
      listeners.push(listener);
      // KV accepts a second `listenQueue` and lets the two compete, so there is only ever one.
      hearing ??= kv.listenQueue(hear);
      await new Promise<void>((resolve) => {
        if (how.signal.aborted) resolve();
        else how.signal.addEventListener("abort", () => resolve(), { once: true });
      });
      listeners.splice(listeners.indexOf(listener), 1);
      await Promise.allSettled(underWay);
    },
    async close(): Promise<void> {
      if (opening === null || options.kv !== undefined) return;
      const kv = await opening;
      opening = null;
      kv.close();
      await hearing;
    },
  };
}

/** What opens a database in this runtime. */
function opener(): (path?: string) => Promise<KvLike> {
  const runtime = globalThis as { Deno?: { openKv?: (path?: string) => Promise<KvLike> } };
  if (typeof runtime.Deno?.openKv === "function") return runtime.Deno.openKv;
  throw new StoreError(
    "deno-kv",
    runtime.Deno === undefined
      ? "Cannot open Deno KV: this is not Deno; pass { kv: await openKv(path) } of npm:@deno/kv"
      : 'Cannot open Deno KV: run with --unstable-kv, or put "unstable": ["kv"] into deno.json',
  );
}

/** The job in a message; null when the message is the application's own. */
function jobFrom(value: unknown): Job | null {
  if (typeof value !== "object" || value === null) return null;
  const { kind, executionId, runAt, queue, priority } = value as Partial<Job & { kind: string }>;
  if (kind !== KIND || typeof executionId !== "string" || !(runAt instanceof Date)) return null;
  return { executionId, runAt, queue: String(queue), priority: Number(priority) };
}

/** Waits for a handler, but not for longer than KV does; the worker takes its job all the same. */
async function withinLimit(handling: Promise<void>, { clock }: ListenOptions): Promise<void> {
  let timer: unknown;
  const limit = new Promise<void>((resolve) => {
    timer = clock.setTimeout(resolve, MAX_HANDLING_MS);
  });
  await Promise.race([handling, limit]);
  clock.clearTimeout(timer);
}
