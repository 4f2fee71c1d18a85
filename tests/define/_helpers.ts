/** What the tests of definitions share. */

import assert from "node:assert/strict";
import type { StepDefinition, WorkflowDefinition } from "../../src/define/definition.ts";
import type { WorkflowOptions } from "../../src/define/types.ts";
import { workflow } from "../../src/define/workflow.ts";
import { StepConfigurationError } from "../../src/errors.ts";

/** A body that does nothing. */
export function body(): void {}

/** Defines a workflow from what the types would refuse. */
export function untyped(options: unknown): WorkflowDefinition {
  return workflow(options as WorkflowOptions);
}

/** The step "only" of a workflow "sample", with these options besides a body. */
export function onlyStep(options: Record<string, unknown> = {}): StepDefinition {
  const definition = untyped({ name: "sample", steps: [{ name: "only", run: body, ...options }] });
  return definition.allSteps[0] as StepDefinition;
}

/** A definition whose steps have these names and do nothing. */
export function named(...names: string[]): WorkflowDefinition {
  return workflow({ name: "sample", steps: names.map((name) => ({ name, run: body })) });
}

/** The names of all steps in their order, tombstones included. */
export function order(definition: WorkflowDefinition): string[] {
  return definition.allSteps.map((step) => step.name);
}

/** The error with which something is refused; its message must contain all of the mentions. */
export function refusal(build: () => unknown, ...mentions: string[]): StepConfigurationError {
  let thrown: unknown;
  try {
    build();
  } catch (error) {
    thrown = error;
  }
  assert.ok(
    thrown instanceof StepConfigurationError,
    `expected a StepConfigurationError, got ${String(thrown)}`,
  );
  assert.equal(thrown.code, "step_configuration");
  for (const mention of mentions) {
    assert.ok(thrown.message.includes(mention), `${thrown.message} does not mention ${mention}`);
  }
  return thrown;
}

/** The error with which the option of a step is refused: it names workflow, step and mentions. */
export function stepRefusal(options: Record<string, unknown>, ...mentions: string[]): void {
  const error = refusal(
    () => onlyStep(options),
    'Workflow "sample"',
    'step "only"',
    ...mentions,
  );
  assert.equal(error.stepName, "only");
}
