/**
 * The options of an iteration, checked, and how often they want the cursor stored.
 *
 * @module
 */

import type { IterationOptions } from "../define/context.ts";
import { InvalidInputError } from "../errors.ts";
import type { Clock } from "../seams/clock.ts";
import type { Position } from "./position.ts";

const CALLBACKS = ["onStart", "onShutdown", "onComplete", "aroundIteration"] as const;

/** Checks the options before anything is iterated. */
export function checkOptions(options: IterationOptions = {}): IterationOptions {
  for (const name of CALLBACKS) {
    const callback = options[name];
    if (callback !== undefined && typeof callback !== "function") {
      throw new InvalidInputError(`Cannot iterate: ${name} must be a function`);
    }
  }
  const { items, ms } = options.checkpointEvery ?? {};
  if (items !== undefined) positiveInteger(items, "checkpointEvery.items");
  if (ms !== undefined && !(Number.isFinite(ms) && ms >= 0)) {
    throw new InvalidInputError("Cannot iterate: checkpointEvery.ms must be a number from 0");
  }
  return options;
}

/** Whether the cursor is to be stored after this item: by default after every one. */
export function isDue(
  { checkpointEvery }: IterationOptions,
  position: Pick<Position, "unsaved" | "writer">,
  clock: Pick<Clock, "now">,
): boolean {
  if (checkpointEvery === undefined) return true;
  const { items, ms } = checkpointEvery;
  if (items === undefined && ms === undefined) return true;
  if (items !== undefined && position.unsaved >= items) return true;
  return ms !== undefined && clock.now() - position.writer.savedAtMs >= ms;
}

/** A whole number from 1, or an argument error that names it. */
export function positiveInteger(value: unknown, what: string): number {
  if (Number.isSafeInteger(value) && (value as number) > 0) return value as number;
  throw new InvalidInputError(`Cannot iterate: ${what} must be a whole number from 1`);
}

/** A function, or an argument error that names it. */
export function callable<Fn>(value: Fn, what: string): Fn {
  if (typeof value === "function") return value;
  throw new InvalidInputError(`Cannot iterate: ${what} must be a function`);
}
