/**
 * The worker: free slots on one side, due executions on the other.
 *
 * With a queue that has no jobs of its own (`none`), every hint makes the worker claim as many due
 * executions as it has free slots. With any other queue it claims what is delivered, and from time
 * to time sweeps: whatever nobody looks after (a lost job, an ended lease) has a `wakeAt` in the
 * past and is found by the same index.
 *
 * A slot that finished a step goes on with the next one in process, until its fairness budget is
 * used up; then the slot is given back and the execution takes its turn like any other. While there
 * is a backlog, a share of the claims takes the newest work first, so that nothing starves behind it.
 *
 * @module
 */

import { optionsObject } from "../define/options.ts";
import { StepConfigurationError } from "../errors.ts";
import { wait } from "../seams/clock.ts";
import type { Claimed } from "../state/claim.ts";
import type { Job, NewExecution } from "../state/records.ts";
import { enqueue } from "./announce.ts";
import { createBacklog } from "./backlog.ts";
import { createBreath } from "./breath.ts";
import type { Core } from "./core.ts";
import { claimJobs } from "./deliver.ts";
import { shutDown } from "./holdings.ts";
import { housekeepInTurn } from "./housekeeping.ts";
import { positive, whole } from "./options.ts";
import { perform } from "./perform.ts";
import { scopeLogger } from "./step_scope.ts";
import { startWatchdog, watchdogOf, type WatchdogOptions } from "./watchdog.ts";

/** What a worker may be told. */
export interface WorkOptions {
  /** How many steps it runs at a time; default: the engine's. */
  readonly concurrency?: number;
  /** The queues it serves; default: all. */
  readonly queues?: readonly string[];
  /** Stops it when aborted. */
  readonly signal?: AbortSignal;
  /** How long `stop` waits for plain steps before it hands them back; default 10 seconds. */
  readonly graceMs?: number;
  /**
   * A thread that speaks up when a body does not yield, and may kill the process; default: none.
   * Without one a body that never yields is only met by other workers, when its lease has ended.
   */
  readonly watchdog?: WatchdogOptions;
}

/** A running worker. */
export interface Worker extends AsyncDisposable {
  /** How many steps run now. */
  readonly running: number;
  /** Stops claiming, asks the bodies to stop, waits for them, and hands back what did not end. */
  stop(): Promise<void>;
  /** Resolves when it has stopped. */
  readonly stopped: Promise<void>;
  /** Resolves when nothing runs, nothing is being claimed and, with a polling queue, nothing is due. */
  idle(): Promise<void>;
}

/** How many steps a slot may run in a row before others get their turn. */
const BUDGET_STEPS = 100;
/** And for how long. */
const BUDGET_MS = 1_000;
const DEFAULT_GRACE_MS = 10_000;

/** Starts a worker. */
export function createWorker(core: Core, options: WorkOptions = {}): Worker {
  const { concurrency, queues, graceMs, watched } = checked(core, options);
  const watchdog = watched && startWatchdog(core, watched);
  const stopping = new AbortController();
  const owner = {};
  const backlog = createBacklog(core.clock);
  const breathe = createBreath();
  const polls = core.queue.commit === "none";
  let running = 0;
  let claiming = 0;
  let pumpAgain = false;
  let waiters: (() => void)[] = [];

  const serves = (queue: string): boolean => queues === undefined || queues.includes(queue);

  function changed(): void {
    const woken = waiters;
    waiters = [];
    for (const wake of woken) wake();
  }

  const change = (): Promise<void> => new Promise((resolve) => waiters.push(resolve));

  /** A sweep finds lost jobs, and rows of which the queue was never told; only the first are late. */
  function isJobLost({ from, execution }: Claimed): boolean {
    return !polls && from === "scheduled" &&
      core.clock.now() - execution.scheduledFor.getTime() >= core.settings.lostJobMs;
  }

  /** Runs an execution and, while the budget lasts, what follows it. */
  async function occupy(first: Claimed, jobLost: boolean): Promise<void> {
    running++;
    const startedAt = core.clock.now();
    let steps = 0;
    const mayContinue = (next: NewExecution): boolean =>
      !stopping.signal.aborted && serves(next.queue) && steps < BUDGET_STEPS &&
      core.clock.now() - startedAt < BUDGET_MS;
    let at = first;
    try {
      let claimed: Claimed | null = first;
      while (claimed !== null) {
        const breath = breathe();
        if (breath !== null) await breath;
        at = claimed;
        steps++;
        const lost: boolean = jobLost && steps === 1;
        const ended = watchdog?.note(claimed);
        try {
          claimed = (await perform(core, claimed, { mayContinue, owner, jobLost: lost })).next;
        } finally {
          ended?.();
        }
      }
    } catch (error) {
      const log = scopeLogger(core.log, at.workflow, at.execution);
      log.error("An execution could not be brought to its end; its lease will be recovered", {
        error,
      });
    } finally {
      running--;
      // Slots of one group commit get free one after the other: one claim for all of them. It comes
      // before whoever waits for a change, so that nobody takes the worker for idle in between.
      if (polls) queueMicrotask(pump);
      changed();
    }
  }

  /** Claims whatever is due, as long as there are slots and there is work. */
  async function pump(): Promise<void> {
    if (claiming > 0) {
      pumpAgain = true;
      return;
    }
    claiming++;
    try {
      do {
        pumpAgain = false;
        const breath = breathe();
        if (breath !== null) await breath;
        const free = concurrency - running;
        if (free <= 0 || stopping.signal.aborted) break;
        const claims = await core.store.claimDue({
          now: core.now(),
          token: core.token(),
          leaseMs: core.settings.leaseMs,
          worker: core.workerId,
          limit: free,
          queues,
          newestFirst: backlog.newestFirst(),
        });
        backlog.note(claims, free);
        for (const claim of claims) void occupy(claim, isJobLost(claim));
        if (claims.length === free) pumpAgain = true;
      } while (pumpAgain);
    } catch (error) {
      core.log.error("Due executions could not be claimed; the next look tries again", { error });
    } finally {
      claiming--;
      changed();
    }
  }

  /** Takes over what a queue delivered, once there is a slot for it. */
  async function deliver(jobs: readonly Job[]): Promise<void> {
    if (jobs.length === 0) return await pump();
    const wanted = jobs.filter((job) => serves(job.queue));
    let at = 0;
    while (at < wanted.length) {
      while (running >= concurrency && !stopping.signal.aborted) await change();
      if (stopping.signal.aborted) break;
      const batch = wanted.slice(at, at + Math.max(1, concurrency - running));
      at += batch.length;
      claiming++;
      try {
        for (const claim of await claimJobs(core, batch)) void occupy(claim, false);
      } catch (error) {
        core.log.error("Delivered jobs could not be claimed; the sweep will find them", { error });
      } finally {
        claiming--;
        changed();
      }
    }
    // The queue takes a job for delivered now, so what was not begun must be told to it again.
    await enqueue(core, wanted.slice(at));
  }

  /** Finds what nobody looks after; a polling queue does so with every look. */
  async function sweepAndTidy(): Promise<void> {
    const everyMs = Math.max(core.settings.pollMs, Math.ceil(core.settings.leaseMs / 6));
    let tidyAt = core.clock.now() + (core.settings.housekeepingMs ?? Infinity);
    while (!stopping.signal.aborted) {
      await wait(core.clock, everyMs, stopping.signal);
      if (stopping.signal.aborted) return;
      if (!polls) await pump();
      if (core.clock.now() >= tidyAt) {
        tidyAt = core.clock.now() + (core.settings.housekeepingMs ?? Infinity);
        await housekeepInTurn(core);
      }
    }
  }

  /** With a polling queue, first looks whether something is due. */
  async function idle(): Promise<void> {
    if (polls) await pump();
    while (running > 0 || claiming > 0) await change();
  }

  async function listen(): Promise<void> {
    const { clock, settings: { pollMs } } = core;
    try {
      await core.queue.listen(deliver, {
        signal: stopping.signal,
        clock,
        pollMs,
        queues,
        concurrency,
        onTrouble: (error) =>
          core.log.warn("The queue cannot be listened to yet; the sweep goes on", { error }),
      });
    } catch (error) {
      core.log.error("The queue stopped listening; the sweep goes on", { error });
    }
  }

  async function live(): Promise<void> {
    await warnOfSkew(core);
    // The engine itself listens to a queue that runs jobs in process; a worker then only sweeps.
    const listening = core.queue.inProcess ? Promise.resolve() : listen();
    await sweepAndTidy();
    await listening;
    await idle();
    core.pollers.delete(owner);
    await watchdog?.stop();
  }

  async function stop(): Promise<void> {
    if (!stopping.signal.aborted) {
      stopping.abort(shutDown());
      changed();
      core.holdings.stopAll(owner, shutDown());
      const patience = new AbortController();
      const over = wait(core.clock, graceMs, patience.signal);
      await Promise.race([idle(), over]);
      patience.abort();
      core.holdings.abandonAll(owner);
    }
    await stopped;
  }

  if (polls) core.pollers.add(owner);
  const stopped = live();
  if (options.signal?.aborted) void stop();
  else options.signal?.addEventListener("abort", () => void stop(), { once: true });
  return {
    get running() {
      return running;
    },
    stop,
    stopped,
    idle,
    [Symbol.asyncDispose]: stop,
  };
}

const KEYS = ["concurrency", "queues", "signal", "graceMs", "watchdog"] as const;

/** Checks the options of a worker and fills in the defaults. */
function checked(core: Core, options: WorkOptions): {
  readonly concurrency: number;
  readonly queues: readonly string[] | undefined;
  readonly graceMs: number;
  readonly watched: ReturnType<typeof watchdogOf>;
} {
  optionsObject(options, KEYS, "work()");
  const { queues, signal, graceMs = DEFAULT_GRACE_MS } = options;
  const isName = (one: unknown): boolean => typeof one === "string" && one !== "";
  if (
    queues !== undefined && !(Array.isArray(queues) && queues.length > 0 && queues.every(isName))
  ) {
    throw new StepConfigurationError("Cannot serve these queues: pass a list of their names");
  }
  if (signal !== undefined && typeof signal?.addEventListener !== "function") {
    throw new StepConfigurationError("Cannot use this signal: it must be an AbortSignal");
  }
  return {
    concurrency: whole(options.concurrency ?? core.settings.concurrency, "concurrency"),
    queues: queues === undefined ? undefined : [...queues],
    graceMs: graceMs === 0 ? 0 : positive(graceMs, "graceMs"),
    watched: watchdogOf(options.watchdog),
  };
}

const MAX_SKEW_MS = 1_000;

async function warnOfSkew(core: Core): Promise<void> {
  if (core.store.serverTime === undefined) return;
  try {
    const skewMs = core.clock.now() - await core.store.serverTime();
    if (Math.abs(skewMs) <= MAX_SKEW_MS) return;
    core.log.warn(
      "This machine's clock and the database's differ; due times follow this machine's",
      {
        skewMs,
      },
    );
  } catch (error) {
    core.log.debug("The database's clock could not be read", { error });
  }
}
