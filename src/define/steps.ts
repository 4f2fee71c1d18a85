/**
 * Steps: from what was written to what can run.
 *
 * @module
 */

import { StepConfigurationError } from "../errors.ts";
import { conditionFrom } from "./conditions.ts";
import { bareStep, type PolicyLayer, type StepDefinition } from "./definition.ts";
import { durationMs, positiveDurationMs } from "./durations.ts";
import { jobOptions } from "./job_options.ts";
import {
  about,
  callable,
  flag,
  isMade,
  nameText,
  optionsObject,
  positiveInteger,
  show,
} from "./options.ts";
import type { PlacedStep } from "./ordering.ts";
import { isAction, policiesFrom } from "./policy.ts";
import type { RemovedStep } from "./types.ts";

const KEYS = [
  "name",
  "run",
  "wait",
  "waitFor",
  "skipIf",
  "onException",
  "maxReattempts",
  "terminalAction",
  "beforeStep",
  "afterStep",
  "jobOptions",
  "timeout",
  "onTimeout",
  "transaction",
  "resumable",
  "maxIterations",
  "maxRuntime",
  "start",
  "parseCursor",
] as const;

const RESUMABLE_ONLY = ["maxIterations", "maxRuntime", "start", "parseCursor"] as const;

/** What was written, with its keys checked. */
type Given = Readonly<Record<string, unknown>>;

/**
 * Makes a tombstone: it keeps the place of a step that is gone from the code. Workflows whose rows
 * still hold the name skip it and go on; no workflow comes to it anew.
 *
 * @param name The name that the step had.
 * @throws {StepConfigurationError} When the name cannot be one.
 *
 * @example A reminder that is no longer sent
 * ```ts ignore
 * steps: [
 *   { name: "send_welcome", run: sendWelcome },
 *   removedStep("remind"),
 *   { name: "sync", run: sync },
 * ]
 * ```
 */
export function removedStep(name: string): RemovedStep {
  return Object.freeze({
    kind: "removed_step",
    name: nameText(name, "the name of a removed step"),
  });
}

/**
 * Checks one entry of a list of steps.
 *
 * @param position Its 1-based place among all declared steps, from which an anonymous one is named.
 * @throws {StepConfigurationError} When it cannot work; the message names step and option.
 */
export function stepFrom(
  value: unknown,
  { position, sourceLocation }: {
    readonly position: number;
    readonly sourceLocation: string | null;
  },
): PlacedStep {
  if (isMade<RemovedStep>(value, "removed_step")) {
    const step = Object.freeze({ ...bareStep(value.name), sourceLocation });
    return { step, beforeStep: null, afterStep: null };
  }
  const generated = `step_${position}`;
  const stepName = writtenName(value) ?? generated;
  return about({ where: `step ${show(stepName)}`, stepName }, () => {
    const given = optionsObject(value, KEYS, "the options of a step");
    const name = given.name === undefined ? generated : nameText(given.name, "name");
    return { step: checkedStep(given, name, sourceLocation), ...placeFrom(given) };
  });
}

/** The name an error can call a step by before anything of it is checked. */
function writtenName(value: unknown): string | null {
  if (typeof value !== "object" || value === null || !("name" in value)) return null;
  return typeof value.name === "string" && value.name !== "" ? value.name : null;
}

function checkedStep(given: Given, name: string, sourceLocation: string | null): StepDefinition {
  const resumable = flag(given.resumable, "resumable");
  const transaction = flag(given.transaction, "transaction");
  refuseMisfits(given, resumable, transaction);
  const policies = policiesFrom(
    given.onException,
    { maxReattempts: given.maxReattempts, terminalAction: given.terminalAction },
    "onException",
  );
  const action = isAction(given.onException) ? given.onException : null;
  return Object.freeze({
    name,
    removed: false,
    run: bodyFrom(given.run),
    wait: waitFrom(given.wait),
    waitFor: optional(given.waitFor, (value) => nameText(value, "waitFor")),
    skipIf: conditionFrom(given.skipIf, "skipIf"),
    policies,
    timeoutPolicies: timeoutPoliciesFrom(given),
    onException: action,
    maxReattempts: action === null ? null : policies?.[0]?.maxReattempts ?? null,
    jobOptions: jobOptions(given.jobOptions, "jobOptions"),
    timeoutMs: optional(given.timeout, (value) => positiveDurationMs(value, "timeout")),
    transaction,
    resumable,
    maxIterations: optional(
      given.maxIterations,
      (value) => positiveInteger(value, "maxIterations"),
    ),
    maxRuntimeMs: optional(given.maxRuntime, (value) => positiveDurationMs(value, "maxRuntime")),
    start: given.start ?? null,
    parseCursor: optional(
      given.parseCursor,
      (value) => callable<(cursor: unknown) => unknown>(value, "parseCursor"),
    ),
    sourceLocation,
  });
}

/** What was not given is null; what was given is checked. */
function optional<Checked>(
  value: unknown,
  check: (value: unknown) => Checked,
): Checked | null {
  return value === undefined ? null : check(value);
}

function refuseMisfits(given: Given, resumable: boolean, transaction: boolean): void {
  if (resumable && transaction) {
    throw new StepConfigurationError(
      "Cannot combine resumable with transaction: a checkpoint inside an open transaction would " +
        "not outlive a crash; leave one of them out",
    );
  }
  const key = resumable ? undefined : RESUMABLE_ONLY.find((key) => given[key] !== undefined);
  if (key === undefined) return;
  throw new StepConfigurationError(
    `Cannot use ${key} in a step that is not resumable: it has no cursor; set resumable to true`,
  );
}

function bodyFrom(value: unknown): NonNullable<StepDefinition["run"]> {
  if (value === undefined) {
    throw new StepConfigurationError(
      "Cannot declare a step without a body: run is required; give it a function",
    );
  }
  return callable(value, "run");
}

function waitFrom(value: unknown): StepDefinition["wait"] {
  if (typeof value === "function") return value as StepDefinition["wait"];
  return optional(value, (value) => durationMs(value, "wait"));
}

/** A handler for time that cannot run out would never be called: that is not what its author meant. */
function timeoutPoliciesFrom({ waitFor, timeout, onTimeout }: Given): PolicyLayer | null {
  if (onTimeout === undefined) return null;
  if (waitFor === undefined || timeout === undefined) {
    const missing = waitFor === undefined ? "waitFor" : "timeout";
    throw new StepConfigurationError(
      `Cannot use onTimeout without ${missing}: it is for a signal that does not come in time; ` +
        `give the step a ${missing} as well, or leave onTimeout out`,
    );
  }
  return policiesFrom(onTimeout, {}, "onTimeout");
}

function placeFrom(given: Given): Pick<PlacedStep, "beforeStep" | "afterStep"> {
  if (given.beforeStep !== undefined && given.afterStep !== undefined) {
    throw new StepConfigurationError(
      "Cannot use beforeStep and afterStep together: a step has one place; leave one of them out",
    );
  }
  return {
    beforeStep: optional(given.beforeStep, (value) => nameText(value, "beforeStep")),
    afterStep: optional(given.afterStep, (value) => nameText(value, "afterStep")),
  };
}
