/**
 * The options of an engine, checked and with their defaults.
 *
 * @module
 */

import type { Logger } from "../define/context.ts";
import type { WorkflowDefinition } from "../define/definition.ts";
import { type Duration, durationMs, MAX_DURATION_MS } from "../define/durations.ts";
import { optionsObject, show } from "../define/options.ts";
import { StepConfigurationError } from "../errors.ts";
import { createRedactor, type Redactor } from "../observe/redact.ts";
import type { Tracer } from "../observe/tracing.ts";
import type { Clock } from "../seams/clock.ts";
import type { QueueDriver } from "../seams/queue.ts";
import type { StoreDriver } from "../seams/store.ts";
import type { Codec } from "../state/codec.ts";
import type { ReportError, Settings } from "./core.ts";

/** How housekeeping is done. */
export interface HousekeepingOptions {
  /** How long after its end a workflow is kept; default 30 days, null: for ever. */
  readonly retention?: Duration | null;
  /** What to do with a step whose worker died; default "reattempt". */
  readonly recovery?: "reattempt" | "cancel";
  /** How long past its time a job counts as lost; default 15 minutes. */
  readonly stuckScheduled?: Duration;
  /** With `leaseMs: null`: how long after its last sign of life a worker counts as dead; default 1 hour. */
  readonly stuckInProgress?: Duration;
  /**
   * How many workers in a row may die over a step at one place before its workflow is paused;
   * default 10, null: any number.
   */
  readonly maxRecoveries?: number | null;
  /** How often a worker runs it by itself; default 5 minutes, null: never. */
  readonly interval?: Duration | null;
}

/** What an engine is made of. */
export interface EngineOptions<Tx = unknown> {
  /** The database. */
  readonly store: StoreDriver<Tx>;
  /** The job queue; default: polling over the store. */
  readonly queue?: QueueDriver<Tx>;
  /** The definitions this process knows. */
  // deno-lint-ignore no-explicit-any -- definitions of any hero and input
  readonly workflows?: readonly WorkflowDefinition<any, any, any>[];
  /** The time; default: the runtime's. */
  readonly clock?: Clock;
  /** Where log lines go; default: warnings and errors to the console, everything else nowhere. */
  readonly logger?: Logger;
  /** Hears of errors, as the policies' `report` says; default: they are lines of the logger. */
  readonly reportError?: ReportError;
  /**
   * How long a claim holds without a heartbeat; default 30 seconds. Null switches short leases off:
   * a claim then holds for `housekeeping.stuckInProgress`.
   */
  readonly leaseMs?: number | null;
  /** How often a held claim is renewed; default a third of the lease. */
  readonly heartbeatMs?: number;
  /** How often a polling queue looks at the table; default 250 ms. */
  readonly pollMs?: number;
  /** How many steps a worker runs at a time; default 10. */
  readonly concurrency?: number;
  /** The largest cursor in bytes; default 131,072, null: any size. */
  readonly maxCursorBytes?: number | null;
  /** Cursors, inputs and payloads to text and back; default: JSON with tags. */
  readonly codec?: Codec;
  /** The longest run of a resumable step's execution, for all steps. */
  readonly maxRuntime?: Duration;
  /** How many continuations in a row may leave the cursor where it was; default 100, null: any number. */
  readonly maxUnchangedContinuations?: number | null;
  /** How long a continuation waits by default; default: not at all. */
  readonly resumeDelay?: Duration;
  /** Retention, recovery and intervals; false: a worker does no housekeeping by itself. */
  readonly housekeeping?: HousekeepingOptions | false;
  /** `{ cycle }`: enqueue only what is due within a cycle and leave the rest to `engine.cycle()`. */
  readonly scheduling?: "forward" | { readonly cycle: Duration };
  /**
   * Names of fields whose values are masked in log lines, in the details of events and in the context
   * of error reports, beside those that then always are (`password`, `token` and the like); default:
   * nothing is masked.
   */
  readonly redact?: readonly string[];
  /** An OpenTelemetry tracer; default: that of the global API, where one is registered. */
  readonly tracer?: Tracer;
}

const KEYS = [
  "store",
  "queue",
  "workflows",
  "clock",
  "logger",
  "reportError",
  "leaseMs",
  "heartbeatMs",
  "pollMs",
  "concurrency",
  "maxCursorBytes",
  "codec",
  "maxRuntime",
  "maxUnchangedContinuations",
  "resumeDelay",
  "housekeeping",
  "scheduling",
  "redact",
  "tracer",
] as const;

const HOUSEKEEPING_KEYS = [
  "retention",
  "recovery",
  "stuckScheduled",
  "stuckInProgress",
  "maxRecoveries",
  "interval",
] as const;

/** Checks the options of an engine and fills in the defaults. */
export function settingsOf(options: EngineOptions): Settings {
  optionsObject(options, KEYS, "createEngine()");
  requireDriver(options.store, {
    what: "store",
    made: 'sqliteStore("app.db"), postgresStore(url) or mysqlStore(url)',
    members: ["create", "claim", "claimDue", "finish"],
  });
  if (options.queue !== undefined) {
    requireDriver(options.queue, {
      what: "queue",
      made: "pollingQueue() or another queue",
      members: ["enqueue", "listen"],
    });
    const { shouldStop } = options.queue;
    if (shouldStop !== undefined && typeof shouldStop !== "function") {
      throw new StepConfigurationError("Cannot use this queue: its shouldStop must be a function");
    }
  }
  const housekeeping = options.housekeeping === false ? {} : options.housekeeping ?? {};
  optionsObject(housekeeping, HOUSEKEEPING_KEYS, "housekeeping");
  const stuckMs = positive(
    durationMs(housekeeping.stuckInProgress ?? "1 hour", "housekeeping.stuckInProgress"),
    "housekeeping.stuckInProgress",
  );
  const leaseMs = options.leaseMs === null
    ? stuckMs
    : positive(options.leaseMs ?? 30_000, "leaseMs");
  const heartbeatMs = positive(options.heartbeatMs ?? Math.ceil(leaseMs / 3), "heartbeatMs");
  if (heartbeatMs >= leaseMs) {
    throw new StepConfigurationError(
      `heartbeatMs must be smaller than leaseMs: got ${heartbeatMs} and ${leaseMs}`,
    );
  }
  return {
    leaseMs,
    heartbeatMs,
    pollMs: positive(options.pollMs ?? 250, "pollMs"),
    concurrency: whole(options.concurrency ?? 10, "concurrency"),
    maxCursorBytes: options.maxCursorBytes === null
      ? null
      : whole(options.maxCursorBytes ?? 131_072, "maxCursorBytes"),
    maxUnchangedContinuations: options.maxUnchangedContinuations === null
      ? null
      : whole(options.maxUnchangedContinuations ?? 100, "maxUnchangedContinuations"),
    maxRuntimeMs: options.maxRuntime === undefined
      ? null
      : positive(durationMs(options.maxRuntime, "maxRuntime"), "maxRuntime"),
    resumeDelayMs: durationMs(options.resumeDelay ?? 0, "resumeDelay"),
    recovery: recoveryOf(housekeeping.recovery ?? "reattempt"),
    maxRecoveries: housekeeping.maxRecoveries === null
      ? null
      : whole(housekeeping.maxRecoveries ?? 10, "housekeeping.maxRecoveries"),
    lostJobMs: positive(
      durationMs(housekeeping.stuckScheduled ?? "15 minutes", "housekeeping.stuckScheduled"),
      "housekeeping.stuckScheduled",
    ),
    retentionMs: housekeeping.retention === null ? null : positive(
      durationMs(housekeeping.retention ?? "30 days", "housekeeping.retention"),
      "housekeeping.retention",
    ),
    housekeepingMs: options.housekeeping === false || housekeeping.interval === null
      ? null
      : positive(
        durationMs(housekeeping.interval ?? "5 minutes", "housekeeping.interval"),
        "housekeeping.interval",
      ),
    cycleMs: cycleOf(options.scheduling ?? "forward"),
  };
}

/** The redactor that the options ask for; null when nothing is masked. */
export function redactorOf({ redact }: Pick<EngineOptions, "redact">): Redactor | null {
  if (redact === undefined) return null;
  const isName = (one: unknown): boolean => typeof one === "string" && one.trim() !== "";
  if (Array.isArray(redact) && redact.every(isName)) return createRedactor(redact);
  throw new StepConfigurationError("Cannot redact these: pass a list of the names of fields");
}

/** A number above zero; none is larger than the longest duration, or no Date could hold its end. */
export function positive(value: number, what: string): number {
  if (typeof value !== "number" || !(value > 0 && value <= MAX_DURATION_MS)) {
    throw new StepConfigurationError(
      `${what} must be a positive number of at most ${MAX_DURATION_MS}: got ${show(value)}`,
    );
  }
  return value;
}

/** A whole number above zero. */
export function whole(value: number, what: string): number {
  if (!Number.isSafeInteger(value) || value <= 0) {
    throw new StepConfigurationError(
      `${what} must be a positive whole number: got ${show(value)}`,
    );
  }
  return value;
}

function recoveryOf(value: string): "reattempt" | "cancel" {
  if (value === "reattempt" || value === "cancel") return value;
  throw new StepConfigurationError(
    `housekeeping.recovery must be "reattempt" or "cancel": got ${show(value)}`,
  );
}

function cycleOf(scheduling: "forward" | { readonly cycle: Duration }): number | null {
  if (scheduling === "forward") return null;
  if (typeof scheduling === "object" && scheduling !== null) {
    optionsObject(scheduling, ["cycle"], "scheduling");
    return positive(durationMs(scheduling.cycle, "scheduling.cycle"), "scheduling.cycle");
  }
  throw new StepConfigurationError(
    `scheduling must be "forward" or { cycle }: got ${show(scheduling)}`,
  );
}

/** Tells somebody who forgot a driver which to take, and somebody who wrote one what it lacks. */
function requireDriver(
  value: unknown,
  driver: { readonly what: string; readonly made: string; readonly members: readonly string[] },
): void {
  const { what, made, members } = driver;
  const object = value as Record<string, unknown> | null | undefined;
  const missing = members.filter((member) => typeof object?.[member] !== "function");
  if (missing.length === 0) return;
  throw new StepConfigurationError(
    missing.length === members.length
      ? `createEngine() needs a ${what}: got ${show(value)}; pass what ${made} returned`
      : `createEngine() needs a ${what} driver: ${
        missing.map((name) => `${name}()`).join(", ")
      } missing`,
  );
}
