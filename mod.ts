/**
 * Pawl: durable, resumable, multi-step workflows in the database an application already has.
 *
 * A workflow is a plain object with a list of steps, each attempt to run a step is a row, and the
 * database's own constraints keep it from running twice.
 *
 * The stores are entries of their own, so that nobody installs a client he does not use:
 * `@pawl/pawl/sqlite`, `/postgres`, `/mysql` and `/memory`. Other queues than polling the store are in
 * `@pawl/pawl/queues` and `/deno-kv`, helpers for tests in `/testing`, the dashboard in `/dashboard`
 * and the command line in `/cli`.
 *
 * @example A workflow, from its definition to its end
 * ```ts
 * import { createEngine, workflow } from "@pawl/pawl";
 * import { sqliteStore } from "@pawl/pawl/sqlite";
 *
 * const greeting = workflow({
 *   name: "greeting",
 *   steps: [
 *     { name: "say_hello", run: () => console.log("hello") },
 *     { name: "say_it_again", wait: "2 days", run: () => console.log("hello again") },
 *   ],
 * });
 *
 * const engine = createEngine({ store: sqliteStore(":memory:"), workflows: [greeting] });
 * await engine.migrate();
 * const run = await engine.start(greeting);
 * await engine.work().idle(); // what is due has run
 * await run.reload();
 * console.assert(run.nextStepName === "say_it_again");
 * await engine.close();
 * ```
 *
 * @module
 */

import { pollingQueue } from "./drivers/queues/polling.ts";
import { troubleLogger } from "./src/observe/logging.ts";
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
    {
      ...options,
      logger: options?.logger ?? troubleLogger(),
      queue: options?.queue ?? defaultQueue(options?.store),
    } as Parameters<typeof buildEngine>[0],
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

export type {
  Backoff,
  Backoffs,
  BackoffWait,
  ExponentialOptions,
  JitterOptions,
  PolicyWaitInput,
} from "./src/define/backoff.ts";
export type * from "./src/define/context.ts";
export type {
  Condition,
  ErrorMatcher,
  ExceptionAction,
  ExceptionHandler,
  HeroDefinition,
  Hooks,
  InputSchema,
  JobOptions,
  Policy,
  PolicyLayer,
  PolicyWait,
  ReportMode,
  SchemaResult,
  StepDefinition,
  TerminalAction,
  WorkflowDefinition,
} from "./src/define/definition.ts";
export type { Duration, DurationFields } from "./src/define/durations.ts";
export type { HeroOptions } from "./src/define/hero.ts";
export type { JobOptionsInput } from "./src/define/job_options.ts";
export type {
  ActionOptions,
  OnException,
  PolicyOptions,
  ReattemptPolicyOptions,
} from "./src/define/policy.ts";
export type * from "./src/define/records.ts";
export type * from "./src/define/types.ts";
export type {
  ErrorEvent,
  EventBase,
  EventMap,
  Events,
  FinalizeEvent,
  HousekeepingEvent,
  IterationEvent,
  LostEvent,
  PreconditionEvent,
  RecoveredEvent,
  StepEvent,
  WorkflowEvent,
} from "./src/observe/events.ts";
export type { Gauges } from "./src/observe/gauges.ts";
export type { Measurable, Metrics } from "./src/observe/metrics.ts";
export type { ProgressEstimate } from "./src/observe/progress.ts";
export type { AttributeValue, Span, SpanContext, Tracer } from "./src/observe/tracing.ts";
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
export type { Clock } from "./src/seams/clock.ts";
export type * from "./src/seams/queue.ts";
export type * from "./src/seams/store.ts";
export type {
  Activity,
  ActivityBucket,
  ActivityClass,
  ActivityOptions,
  WorkerActivity,
} from "./src/state/activity.ts";
export type { Checkpoint, CheckpointAnswer } from "./src/state/checkpoint.ts";
export type { Claim, Claimed, ClaimHolder } from "./src/state/claim.ts";
export type { Codec } from "./src/state/codec.ts";
export type { Command, CommandResult } from "./src/state/command.ts";
export type { EncryptedCodecOptions } from "./src/state/encrypted_codec.ts";
export type { Finished, FinishResult, Verdict } from "./src/state/finish.ts";
export type {
  ExecutionRow,
  Hold,
  Job,
  NewExecution,
  NewWorkflow,
  StoredError,
  WorkflowRow,
} from "./src/state/records.ts";
export type { NewSignal, SignalResult, SignalRow } from "./src/state/signal.ts";
export type { Closing } from "./src/state/transitions.ts";
