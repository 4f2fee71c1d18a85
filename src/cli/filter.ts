/**
 * The options that choose workflows, the same for every command that looks at several.
 *
 * @module
 */

import type { ListFilter } from "../run/list.ts";
import type { WorkflowState } from "../state/records.ts";
import { chosen, isGiven, textOf, wordsOf } from "./args.ts";
import type { Given, OptionSpec } from "./command.ts";
import { UsageError } from "./usage.ts";

/** The states, in the order in which they are shown. */
export const STATES: readonly WorkflowState[] = [
  "ready",
  "performing",
  "paused",
  "finished",
  "canceled",
];

/** The options that choose workflows. */
export const FILTER_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  workflow: { value: "NAME", about: "only workflows of this definition" },
  state: { value: "STATE", about: `only in these states, with commas: ${STATES.join(", ")}` },
  ongoing: { about: "only what is neither finished nor canceled" },
  hero: { value: "TYPE:ID", about: "only of this hero, such as User:42" },
  step: { value: "NAME", about: "only what stands at this step" },
  "error-class": {
    value: "NAME",
    about: "only what is paused by an error of this class (or ended by it, with --state canceled)",
  },
};

/** The filter that was typed; empty when none was. */
export function filterOf(given: Given): Omit<ListFilter, "limit" | "after"> {
  const workflow = textOf(given, "workflow");
  const step = textOf(given, "step");
  const errorClass = textOf(given, "error-class");
  const state = statesOf(given) ?? (errorClass === undefined ? undefined : ["paused" as const]);
  return {
    ...(workflow === undefined ? {} : { workflow }),
    ...(state === undefined ? {} : { state }),
    ...(isGiven(given, "ongoing") ? { ongoing: true } : {}),
    ...heroOf(given),
    ...(step === undefined ? {} : { step }),
    ...(errorClass === undefined ? {} : { errorClass }),
  };
}

function statesOf(given: Given): WorkflowState[] | undefined {
  return wordsOf(given, "state")?.map((word) => chosen(word, "state", STATES));
}

function heroOf(given: Given): { hero?: { type: string; id: string } } {
  const text = textOf(given, "hero");
  if (text === undefined) return {};
  const at = text.indexOf(":");
  if (at < 1 || at === text.length - 1) {
    throw new UsageError(
      `Cannot use "${text}" as --hero: type and id are separated by a colon, such as User:42`,
    );
  }
  return { hero: { type: text.slice(0, at), id: text.slice(at + 1) } };
}

/** Whether any option that chooses workflows was typed. */
export function hasFilter(given: Given): boolean {
  return Object.keys(FILTER_OPTIONS).some((name) => isGiven(given, name));
}
