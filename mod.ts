/**
 * Pawl: durable, resumable, multi-step workflows in the database an application already has.
 *
 * A workflow is a plain object with a list of steps, each attempt to run a step is a row, and the
 * database's own constraints keep it from running twice.
 *
 * @example A workflow, from its definition to its end
 * ```ts
 * import { createEngine, workflow } from "@pawl/pawl";
 * import { sqliteStore } from "@pawl/pawl/sqlite";
 *
 * const greeting = workflow({
 *   name: "greeting",
 *   steps: [
 *     { name: "say_hello", run: ({ log }) => log.info("hello") },
 *     { name: "say_it_again", wait: "2 days", run: ({ log }) => log.info("hello again") },
 *   ],
 * });
 *
 * const engine = createEngine({ store: sqliteStore(":memory:"), workflows: [greeting] });
 * await engine.migrate();
 * const run = await engine.start(greeting);
 * console.assert(run.nextStepName === "say_hello");
 * await engine.close();
 * ```
 *
 * @module
 */

import { pollingQueue } from "./drivers/queues/polling.ts";
import { buildEngine, type Engine } from "./src/run/engine.ts";
import type { EngineOptions } from "./src/run/options.ts";
import type { QueueDriver } from "./src/seams/queue.ts";
import type { StoreDriver } from "./src/seams/store.ts";

/**
 * Makes an engine on a store; without a `queue`, workers look at the store's own table.
 *
 * @throws {StepConfigurationError} When an option is unknown or not valid.
 */
export function createEngine<Tx>(options: EngineOptions<Tx>): Engine {
  return buildEngine(
    { ...options, queue: options?.queue ?? defaultQueue(options?.store) } as Parameters<
      typeof buildEngine
    >[0],
  );
}

/** Polling, with a wake-up from other processes where the store's database can give one. */
function defaultQueue(store: StoreDriver | undefined): QueueDriver {
  return typeof store?.listen === "function"
    ? pollingQueue({ wake: (heard, how) => store.listen?.(heard, how) ?? Promise.resolve() })
    : pollingQueue();
}

export { backoff } from "./src/define/backoff.ts";
export { hero } from "./src/define/hero.ts";
export { policy } from "./src/define/policy.ts";
export { removedStep } from "./src/define/steps.ts";
export { workflow } from "./src/define/workflow.ts";
export * from "./src/errors.ts";
export { checkDeploy } from "./src/run/deploy_gate.ts";
export { failureGroups } from "./src/run/failures.ts";
export { systemClock } from "./src/seams/clock.ts";
export { metrics } from "./src/observe/metrics.ts";
export { progressEstimate } from "./src/observe/progress.ts";
export { jsonCodec } from "./src/state/codec.ts";
export { encryptedCodec } from "./src/state/encrypted_codec.ts";

export type * from "./src/define/backoff.ts";
export type * from "./src/define/context.ts";
export type * from "./src/define/definition.ts";
export type * from "./src/define/durations.ts";
export type * from "./src/define/hero.ts";
export type * from "./src/define/job_options.ts";
export type * from "./src/define/policy.ts";
export type * from "./src/define/records.ts";
export type * from "./src/define/types.ts";
export type * from "./src/observe/events.ts";
export type { Gauges } from "./src/observe/gauges.ts";
export type { Measurable, Metrics } from "./src/observe/metrics.ts";
export type { ProgressEstimate } from "./src/observe/progress.ts";
export type * from "./src/observe/tracing.ts";
export type { ReportContext, ReportError } from "./src/run/core.ts";
export type { CommandOptions, SignalOptions, SignalRecord } from "./src/run/commands.ts";
export type { DeployFinding, DeployFindingKind, DeployReport } from "./src/run/deploy_gate.ts";
export type { Engine } from "./src/run/engine.ts";
export type { FailureGroup, FailureOptions, FailureReport } from "./src/run/failures.ts";
export type { HousekeepingSummary } from "./src/run/housekeeping.ts";
export type { ListFilter, RunPage } from "./src/run/list.ts";
export type { EngineOptions, HousekeepingOptions } from "./src/run/options.ts";
export type { Run } from "./src/run/run.ts";
export type { Started, StartOptions } from "./src/run/start.ts";
export type { WatchdogOptions } from "./src/run/watchdog.ts";
export type { Worker, WorkOptions } from "./src/run/worker.ts";
export type * from "./src/seams/clock.ts";
export type * from "./src/seams/queue.ts";
export type * from "./src/seams/store.ts";
export type {
  Activity,
  ActivityBucket,
  ActivityClass,
  ActivityOptions,
  WorkerActivity,
} from "./src/state/activity.ts";
export type * from "./src/state/checkpoint.ts";
export type * from "./src/state/claim.ts";
export type { Codec } from "./src/state/codec.ts";
export type * from "./src/state/command.ts";
export type { EncryptedCodecOptions } from "./src/state/encrypted_codec.ts";
export type * from "./src/state/finish.ts";
export type * from "./src/state/records.ts";
export type * from "./src/state/signal.ts";
export type * from "./src/state/transitions.ts";
