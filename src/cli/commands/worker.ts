/**
 * `pawl worker`: a process that runs the workflows of a module until it is told to stop.
 *
 * SIGTERM and SIGINT drain: nothing new is claimed, resumable steps stop at their next checkpoint,
 * plain steps get a grace period, what did not end is handed back so that another worker takes it at
 * once, and the exit code is 0. A second signal ends the process where it stands; the leases it held
 * are recovered when they end.
 *
 * @module
 */

import { coreOfEngine, type Engine } from "../../run/engine.ts";
import type { Worker, WorkOptions } from "../../run/worker.ts";
import { choiceOf, durationOf, textOf, wholeOf, wordsOf } from "../args.ts";
import { type Command, type Context, DONE } from "../command.ts";
import type { StopSignal } from "../io.ts";
import { LEVELS, stderrLogger } from "../log.ts";
import { duration } from "../style.ts";

/** Runs a worker. */
export const workerCommand: Command = {
  name: "worker",
  summary: "run the workflows of a module, until SIGTERM or Ctrl-C",
  words: "<module>",
  count: [1, 1],
  options: {
    concurrency: { value: "N", about: "how many steps at a time, 10 by default" },
    queues: { value: "A,B", about: "only these queues" },
    grace: {
      value: "TIME",
      about: "how long plain steps may go on after SIGTERM before they are handed back, 10s",
    },
    retention: {
      value: "TIME",
      about:
        'how long after its end a workflow is kept, 30 days by default, or "never" to keep all',
    },
    "log-level": { value: "LEVEL", about: `${LEVELS.join(", ")}; info by default` },
  },
  about: [
    "The module exports what workflow({...}) returned, each by itself or in arrays. Start as many " +
    "workers as you like, on as many machines; they share the work through the database.",
    "SIGTERM and SIGINT drain: no new step begins, resumable steps stop at their next checkpoint, " +
    "plain steps have the grace period, and the rest is handed back for another worker to take at " +
    "once. Then the exit code is 0. A second signal ends the process at once.",
  ],
  shape: `log lines on stderr, each an object:
{ "time": "…", "level": "info", "message": "…", "workflow": "payment", "workflowId": "7", … }`,
  examples: [
    ["pawl worker ./workflows.ts --concurrency 20", "a worker"],
    ["pawl worker ./workflows.ts --queues mail --grace 30s", "one for slow mails"],
  ],
  run,
};

const DEFAULT_GRACE_MS = 10_000;
const SIGNAL_NUMBERS: Readonly<Record<StopSignal, number>> = { SIGINT: 2, SIGTERM: 15 };

async function run(context: Context): Promise<number> {
  const { io } = context;
  const level = choiceOf(context, "log-level", LEVELS) ?? "info";
  const logger = stderrLogger(io, { level, json: context.json });
  const never = textOf(context, "retention") === "never";
  const retention = never ? null : durationOf(context, "retention");
  const [specifier] = context.words as [string];
  const options = optionsOf(context);
  return await context.withEngine({
    module: "needed",
    specifier,
    options: {
      logger,
      housekeeping: retention === undefined ? {} : { retention },
    },
  }, async (engine) => {
    const { store, clock, definitions } = coreOfEngine(engine);
    // A database without tables is told now and not once per look at it.
    await store.due({ before: new Date(clock.now()), limit: 1 });
    const counted = countSteps(engine);
    const worker = engine.work(options);
    logger.info("Worker started", {
      workflows: [...definitions.keys()].join(","),
      concurrency: options.concurrency,
      queues: options.queues?.join(",") ?? "all",
      store: store.name,
    });
    const off = io.onStop(stopper(worker, { context, logger, graceMs: options.graceMs }));
    try {
      await worker.stopped;
    } finally {
      off();
    }
    logger.info("Worker stopped", { steps: counted.steps, interrupted: counted.interrupted });
    return DONE;
  });
}

function optionsOf(context: Context): WorkOptions & { concurrency: number; graceMs: number } {
  const queues = wordsOf(context, "queues");
  return {
    concurrency: wholeOf(context, "concurrency") ?? 10,
    graceMs: durationOf(context, "grace") ?? DEFAULT_GRACE_MS,
    ...(queues === undefined ? {} : { queues }),
  };
}

/** The first signal drains, the second one ends the process. */
function stopper(
  worker: Worker,
  { context, logger, graceMs }: {
    readonly context: Context;
    readonly logger: ReturnType<typeof stderrLogger>;
    readonly graceMs: number;
  },
): (signal: StopSignal) => void {
  let heard = false;
  return (signal) => {
    if (heard) {
      logger.warn(`${signal} again: ending at once; the leases are recovered when they end`);
      return context.io.exit(128 + SIGNAL_NUMBERS[signal]);
    }
    heard = true;
    logger.info(`${signal}: draining, at most ${duration(graceMs)}; again to end at once`, {
      running: worker.running,
    });
    void worker.stop();
  };
}

function countSteps({ events }: Engine): { readonly steps: number; readonly interrupted: number } {
  const counted = { steps: 0, interrupted: 0 };
  events.on("step", ({ outcome }) => {
    counted.steps++;
    if (outcome === "interrupted") counted.interrupted++;
  });
  return counted;
}
