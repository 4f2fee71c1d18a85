/**
 * The order of steps: declaration order, with the steps that ask for a place moved there.
 *
 * @module
 */

import { StepConfigurationError } from "../errors.ts";
import type { StepDefinition } from "./definition.ts";
import { nearest } from "./options.ts";

/** A step, and where it asks to stand. */
export interface PlacedStep {
  /** The step. */
  readonly step: StepDefinition;
  /** Directly before this step. */
  readonly beforeStep: string | null;
  /** Directly after this step. */
  readonly afterStep: string | null;
}

/**
 * Puts declared steps, one after the other, behind the inherited ones or where they ask to stand.
 * Tombstones keep their places, and others may stand next to them.
 *
 * @throws {StepConfigurationError} On a name that is there already, or a place that is not.
 */
export function orderSteps(
  inherited: readonly StepDefinition[],
  declared: readonly PlacedStep[],
): readonly StepDefinition[] {
  const ordered = [...inherited];
  const byName = new Map(ordered.map((step) => [step.name, step]));
  for (const { step, beforeStep, afterStep } of declared) {
    refuseDuplicate(byName.get(step.name), step);
    const neighbour = beforeStep ?? afterStep;
    if (neighbour === null) {
      ordered.push(step);
    } else {
      const at = ordered.indexOf(declaredNeighbour(byName, neighbour, step));
      ordered.splice(beforeStep === null ? at + 1 : at, 0, step);
    }
    byName.set(step.name, step);
  }
  return Object.freeze(ordered);
}

function refuseDuplicate(known: StepDefinition | undefined, step: StepDefinition): void {
  if (known === undefined) return;
  const name = JSON.stringify(step.name);
  const clash = known.removed === step.removed
    ? "the name is a duplicate; give one of them another name"
    : "the name belongs to a step and to a removed step at once";
  throw new StepConfigurationError(`Cannot declare step ${name} twice: ${clash}`, {
    stepName: step.name,
  });
}

function declaredNeighbour(
  byName: ReadonlyMap<string, StepDefinition>,
  neighbour: string,
  step: StepDefinition,
): StepDefinition {
  const found = byName.get(neighbour);
  if (found !== undefined) return found;
  const near = nearest(neighbour, [...byName.keys()]);
  const hint = near === null ? "" : `; did you mean ${JSON.stringify(near)}?`;
  throw new StepConfigurationError(
    `Cannot place step ${JSON.stringify(step.name)} next to ${JSON.stringify(neighbour)}: only ` +
      `steps that are already declared may be referenced${hint}`,
    { stepName: step.name },
  );
}
