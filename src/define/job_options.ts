/**
 * Queue options: of a definition, of one workflow, and of a step.
 *
 * @module
 */

import { StepConfigurationError } from "../errors.ts";
import type { JobOptions } from "./definition.ts";
import { type Duration, durationMs } from "./durations.ts";
import { nameText, optionsObject, priorityNumber, show } from "./options.ts";

/** Queue options as they are written. */
export interface JobOptionsInput {
  /** The queue to run in. */
  readonly queue?: string;
  /** Smaller runs first. */
  readonly priority?: number;
  /** Accepted and kept; a step's own schedule wins over it. */
  readonly wait?: Duration;
  /** Accepted and kept; a step's own schedule wins over it. */
  readonly waitUntil?: Date;
}

const KEYS = ["queue", "priority", "wait", "waitUntil"] as const;

/** No options: what an absent value stands for. */
const NONE: JobOptions = Object.freeze({});

/** Checks queue options; keys without a value are left out, so that merging cannot erase others. */
export function jobOptions(value: unknown, what: string): JobOptions {
  if (value === undefined) return NONE;
  const { queue, priority, wait, waitUntil } = optionsObject(value, KEYS, what);
  return Object.freeze({
    ...(queue !== undefined && { queue: nameText(queue, `queue in ${what}`) }),
    ...(priority !== undefined && { priority: priorityNumber(priority, `priority in ${what}`) }),
    ...(wait !== undefined && { wait: durationMs(wait, `wait in ${what}`) }),
    ...(waitUntil !== undefined && { waitUntil: instant(waitUntil, `waitUntil in ${what}`) }),
  });
}

function instant(value: unknown, what: string): Date {
  if (!(value instanceof Date) || Number.isNaN(value.getTime())) {
    throw new StepConfigurationError(
      `Cannot use ${show(value)} as ${what}: it must be a valid Date`,
    );
  }
  // A copy, since a Date can be changed even in a frozen object.
  return new Date(value);
}

/** The options of one job: a step's own win over the workflow's, and those over the definition's. */
export function mergeJobOptions(
  definition: JobOptions | null,
  instance: JobOptions | null,
  step: JobOptions | null,
): JobOptions {
  return Object.freeze({ ...definition, ...instance, ...step });
}
