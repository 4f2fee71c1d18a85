/**
 * The watchdog: a thread that says when this process does not yield.
 *
 * A body that never awaits (an endless loop, a regular expression that backtracks for ever) stops
 * everything in its process: timers, heartbeats, all other bodies. Nothing that runs on the same
 * thread can say so. Another worker takes the execution over when its lease has ended, and says
 * whose it was; but where there is no other worker, or where each of them would be caught by the
 * same body, only a thread of its own can tell, and only the end of the process can help.
 *
 * A process that stood still as a whole (it was frozen, or the machine slept) is not to blame: the
 * watchdog counts only time in which it was awake itself.
 *
 * The main thread counts ticks in memory that both share, and notes beside them which executions it
 * runs. When the count stands still for too long, the thread writes a line to the standard error
 * output, which needs nothing of the main thread. If it was told to, it then kills the process: who
 * supervises it starts another, and a step that does it again and again is paused after as many
 * recoveries as housekeeping allows.
 *
 * @module
 */

import { type Duration, durationMs } from "../define/durations.ts";
import { optionsObject } from "../define/options.ts";
import { StepConfigurationError } from "../errors.ts";
import type { Claimed } from "../state/claim.ts";
import type { Core } from "./core.ts";
import { MAX_TIMER_MS } from "../seams/clock.ts";
import { positive } from "./options.ts";

/** How a worker is watched. */
export interface WatchdogOptions {
  /** How long the process may go without yielding before the watchdog speaks. */
  readonly after: Duration;
  /** Whether it then kills the process (SIGKILL), for whoever supervises it to start another. */
  readonly kill?: boolean;
}

/** A watchdog that watches. */
export interface Watchdog {
  /** Notes that an execution is being run; what it returns notes that it is not any more. */
  note(claimed: Claimed): () => void;
  /** Ends the thread. */
  stop(): Promise<void>;
}

/** How many ticks there are in the time that the process may go without yielding. */
const TICKS = 4;
/** How many bytes of names are shared. */
const TEXT_BYTES = 4_096;
/** Two numbers come before the text: the ticks, and the length of the text. */
const HEAD = 2;

/** Checks the options; null when there are none. */
export function watchdogOf(options: WatchdogOptions | undefined): Watched | null {
  if (options === undefined) return null;
  optionsObject(options, ["after", "kill"], "watchdog");
  const { after, kill = false } = options;
  if (typeof kill !== "boolean") {
    throw new StepConfigurationError("watchdog.kill must be true or false");
  }
  return { afterMs: positive(durationMs(after, "watchdog.after"), "watchdog.after"), kill };
}

interface Watched {
  readonly afterMs: number;
  readonly kill: boolean;
}

/** Starts the thread; where there are no threads, the log says so and nobody watches. */
export function startWatchdog(core: Core, { afterMs, kill }: Watched): Watchdog {
  const shared = new SharedArrayBuffer(HEAD * 4 + TEXT_BYTES);
  const head = new Int32Array(shared, 0, HEAD);
  const bytes = new Uint8Array(shared, HEAD * 4);
  const encoder = new TextEncoder();
  const running = new Set<string>();
  const periodMs = Math.min(afterMs / TICKS, MAX_TIMER_MS);
  // No clock that somebody sets: a jump of that one would look like a body that did not yield.
  let tickedAt = performance.now();

  function write(): void {
    // Threads share bytes, but no encoder writes into shared ones.
    const text = encoder.encode([...running].join("; ")).subarray(0, TEXT_BYTES);
    bytes.set(text);
    Atomics.store(head, 1, text.length);
  }

  function tick(): void {
    const now = performance.now();
    const late = Math.round(now - tickedAt - periodMs);
    tickedAt = now;
    Atomics.add(head, 0, 1);
    if (late < afterMs) return;
    core.log.warn("This process did not yield for a while; its heartbeats stood still meanwhile", {
      blockedMs: late,
      running: [...running],
    });
  }

  const timer = setInterval(tick, periodMs);
  const thread = startThread(core, { shared, afterMs, kill, periodMs });
  return {
    note({ workflow, execution }) {
      const label = `step ${JSON.stringify(execution.stepName)} of workflow ` +
        `${JSON.stringify(workflow.name)} ${workflow.id} (execution ${execution.id})`;
      running.add(label);
      write();
      return () => {
        running.delete(label);
        write();
      };
    },
    async stop() {
      clearInterval(timer);
      await (await thread)?.terminate();
    },
  };
}

async function startThread(
  core: Core,
  workerData: Record<string, unknown>,
): Promise<{ terminate(): Promise<unknown> } | null> {
  try {
    const { Worker } = await import("node:worker_threads");
    const thread = new Worker(THREAD, { eval: true, workerData });
    thread.on("error", (error) => core.log.warn("The watchdog has died", { error }));
    // It must not be what keeps a process alive.
    thread.unref();
    return thread;
  } catch (error) {
    core.log.warn("The watchdog cannot watch: there are no threads here", { error });
    return null;
  }
}

/**
 * What the thread runs, as text: so it needs no file of its own, wherever the package was put. It
 * writes to the descriptor itself, because the console of a thread may wait for the main thread.
 */
export const THREAD: string = `
const { workerData: { shared, afterMs, kill, periodMs } } = require("node:worker_threads");
const { writeSync } = require("node:fs");
const { pid, kill: send } = require("node:process");
const head = new Int32Array(shared, 0, ${HEAD});
const bytes = new Uint8Array(shared, ${HEAD * 4});
let count = -1, since = 0, lookedAt = performance.now(), awakeMs = 0, nextMs = afterMs;
setInterval(() => {
  const now = performance.now();
  awakeMs += Math.min(now - lookedAt, periodMs);
  lookedAt = now;
  const ticks = Atomics.load(head, 0);
  if (ticks !== count) { count = ticks; since = now; awakeMs = 0; nextMs = afterMs; return; }
  if (awakeMs < nextMs) return;
  nextMs *= 2;
  const blockedMs = Math.round(now - since);
  const text = new TextDecoder().decode(bytes.slice(0, Atomics.load(head, 1)));
  writeSync(2, "[pawl] process " + pid + " has not yielded for " + blockedMs + " ms; " +
    (text === "" ? "it runs no step" : "one of these keeps it from yielding: " + text) +
    (kill ? "; it is killed" : "") + "\\n");
  if (kill) send(pid, "SIGKILL");
}, periodMs);
`;
