/**
 * Making the inside of an engine: the settings, the registry of definitions, the group commits.
 *
 * @module
 */

import type { Logger } from "../define/context.ts";
import type { WorkflowDefinition } from "../define/definition.ts";
import { show } from "../define/options.ts";
import { StepConfigurationError, StoreError, WorkflowNotDefinedError } from "../errors.ts";
import { createEventBus } from "../observe/events.ts";
import { maskedLogger, silentLogger, taggedLogger } from "../observe/logging.ts";
import { createTracing } from "../observe/tracing.ts";
import { systemClock } from "../seams/clock.ts";
import type { QueueDriver } from "../seams/queue.ts";
import { checkedCodec } from "../state/checked_codec.ts";
import { jsonCodec } from "../state/codec.ts";
import { toError } from "../state/stored_error.ts";
import { writeOptions } from "./announce.ts";
import type { Core, ReportContext, ReportError } from "./core.ts";
import { createHoldings } from "./holdings.ts";
import { type EngineOptions, redactorOf, settingsOf } from "./options.ts";
import { batched } from "./settle.ts";

/** How many writes travel together at the most: a statement has a limit of parameters. */
export const MAX_BATCH = 500;

/** Makes the inside of an engine from its options. */
export function createCore(options: EngineOptions & { readonly queue: QueueDriver }): Core {
  const settings = settingsOf(options);
  const { store, queue } = options;
  const clock = options.clock ?? systemClock;
  const redactor = redactorOf(options);
  const log = taggedLogger(
    maskedLogger(
      complainingLogger(options.logger ?? silentLogger, (error, context) => report(error, context)),
      redactor,
    ),
    () => ({}),
  );
  const report = safeReporter(options.reportError, log, redactor);
  const now = (): Date => new Date(clock.now());
  const renew: Parameters<typeof createHoldings>[0]["renew"] = (batch) =>
    store.checkpoint(batch, { now: now(), leaseMs: settings.leaseMs });
  const limits = { maxBatch: MAX_BATCH, maxInFlight: 1 };
  const holdings = createHoldings({ clock, log, renew, ...settings });
  // A claim that is held has one thing to write at a time.
  const ofClaims = { ...limits, expected: () => holdings.size };
  const core: Core = {
    store,
    queue,
    clock,
    codec: options.codec === undefined ? jsonCodec : checkedCodec(options.codec),
    definitions: registry(options.workflows ?? []),
    settings,
    events: createEventBus((error, name) => {
      log.error(`A listener of "${name}" events threw; it is not reported again`, { error });
    }),
    redactor,
    tracing: createTracing(options.tracer),
    log,
    report,
    workerId: uniqueWord(),
    holdings,
    finish: batched((batch) => store.finish(batch, writeOptions(core)), ofClaims),
    checkpoint: batched(renew, ofClaims),
    create: batched((batch) => store.create(batch, writeOptions(core)), {
      ...limits,
      mayRepeat: wasNotWritten,
    }),
    pollers: new Set(),
    now,
    token: uniqueWord,
    heldToken: uniqueWord(),
    chance: () => Math.random(),
  };
  return core;
}

const LETTERS = "0123456789abcdefghjkmnpqrstvwxyz";

/**
 * A word that nobody else says: 80 random bits. Each live row holds two of them, and a UUID of 128
 * bits takes 36 characters to these 16: a fifth of all that a step writes.
 */
function uniqueWord(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => LETTERS[byte & 31]).join("");
}

/** A start that may have been committed is not sent again: it would start a second workflow. */
function wasNotWritten(error: unknown): boolean {
  return !(error instanceof StoreError && error.uncertain);
}

/** The definitions by name. */
function registry(definitions: readonly WorkflowDefinition[]): Map<string, WorkflowDefinition> {
  if (!Array.isArray(definitions)) {
    throw new StepConfigurationError(
      `Cannot use ${show(definitions)} as workflows: pass an array, workflows: [onboarding]`,
    );
  }
  const byName = new Map<string, WorkflowDefinition>();
  for (const definition of definitions) register(byName, definition, false);
  return byName;
}

/** Adds a definition; two under one name could not be told apart in the rows. */
export function register(
  byName: Map<string, WorkflowDefinition>,
  definition: WorkflowDefinition,
  replace: boolean,
): void {
  if (definition?.kind !== "workflow") {
    throw new StepConfigurationError(
      "Cannot register a workflow: it must be what workflow({...}) returned",
    );
  }
  const other = byName.get(definition.name);
  if (other !== undefined && other !== definition && !replace) {
    throw new StepConfigurationError(
      `Cannot register two workflows under the name "${definition.name}": give one another name, ` +
        `or replace it with engine.register(definition, { replace: true })`,
    );
  }
  byName.set(definition.name, definition);
}

/** Refuses a definition that this engine would not run: rows know only its name. */
export function requireRegistered(core: Core, definition: WorkflowDefinition): void {
  const known = core.definitions.get(definition.name);
  if (known === definition) return;
  throw new WorkflowNotDefinedError({
    workflowName: definition.name,
    isOther: known !== undefined,
  });
}

/** A logger that breaks is reported once; whoever calls it sees to it that nothing else happens. */
function complainingLogger(logger: Logger, report: Core["report"]): Logger {
  let complained = false;
  const line = (level: keyof Logger): Logger["info"] => (message, fields = {}) => {
    try {
      logger[level](message, fields);
    } catch (thrown) {
      if (complained) return;
      // First, because what reports errors may well be this very logger.
      complained = true;
      void report(toError(thrown), contextIn(fields));
    }
  };
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}

/** What the tags of a line say of where it was logged; empty where it was about no workflow. */
function contextIn(tags: Record<string, unknown>): ReportContext {
  const text = (value: unknown): string => typeof value === "string" ? value : "";
  return {
    workflowId: text(tags.workflowId),
    workflowName: text(tags.workflow),
    executionId: text(tags.executionId),
    stepName: text(tags.step),
    heroType: text(tags.heroType) || null,
    heroId: text(tags.heroId) || null,
  };
}

/** A reporter that breaks must not break a step; without a reporter, an error is a line of a log. */
function safeReporter(
  report: ReportError | undefined,
  engineLog: Core["log"],
  redactor: Core["redactor"],
): Core["report"] {
  return async (error, context, log = engineLog) => {
    if (report === undefined) {
      const { executionId, stepName: step, workflowId, workflowName: workflow } = context;
      return log.error("A step failed", { workflow, workflowId, step, executionId, error });
    }
    try {
      await report(error, (redactor?.value(context) ?? context) as ReportContext);
    } catch (thrown) {
      engineLog.error("The error reporter threw", { error: thrown, reported: error });
    }
  };
}
