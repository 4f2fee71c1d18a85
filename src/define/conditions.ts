/**
 * Conditions: what skips a step and what cancels a workflow.
 *
 * @module
 */

import { StepConfigurationError } from "../errors.ts";
import type { Condition } from "./definition.ts";
import { show } from "./options.ts";

function always(): boolean {
  return true;
}

/** Checks a condition; null when it is a constant that never holds. */
export function conditionFrom(value: unknown, what: string): Condition | null {
  if (typeof value === "function") return value as Condition;
  if (value === true) return always;
  if (value === false || value === null || value === undefined) return null;
  throw new StepConfigurationError(
    `Cannot use ${show(value)} as ${what}: it must be a function, true, false, null or undefined`,
  );
}

/** Checks one condition or a list of them; those that never hold are left out. */
export function conditionsFrom(value: unknown, what: string): readonly Condition[] {
  if (Array.isArray(value) && value.length === 0) {
    throw new StepConfigurationError(
      `Cannot use an empty list as ${what}: it has no condition; name one, or leave ${what} out`,
    );
  }
  const members: readonly unknown[] = Array.isArray(value) ? [...value] : [value];
  return members.flatMap((member) => conditionFrom(member, what) ?? []);
}
