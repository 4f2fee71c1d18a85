/**
 * Assertions about workflows; each reads the rows again and fails with a sentence.
 *
 * @module
 */

import { AssertionError } from "node:assert";
import { isDeepStrictEqual } from "node:util";
import type { Run } from "../run/run.ts";
import type { ExecutionRecord, ExecutionState, WorkflowState } from "../state/records.ts";

/** Asserts that a workflow is in a state. */
export async function assertWorkflowState(run: Run, state: WorkflowState): Promise<void> {
  await run.reload();
  if (run.state === state) return;
  const last = (await run.history()).at(-1);
  const why = last === undefined || last.errorMessage === null
    ? ""
    : `; its step "${last.stepName}" threw ${last.errorClass}: ${last.errorMessage}`;
  throw new AssertionError({
    message: `Expected workflow "${run.name}" (${run.id}) to be ${state}, ` +
      `but it is ${run.state}${why}`,
    actual: run.state,
    expected: state,
  });
}

/** Asserts that a step was executed: an execution of it is in a state, by default completed. */
export async function assertStepExecuted(
  run: Run,
  stepName: string,
  options: { readonly state?: ExecutionState } = {},
): Promise<void> {
  const { state = "completed" } = options;
  const states = (await run.history()).filter((one) => one.stepName === stepName)
    .map((one) => one.state);
  if (states.includes(state)) return;
  throw new AssertionError({
    message:
      `Expected step "${stepName}" of workflow "${run.name}" to have a ${state} execution, ` +
      (states.length === 0 ? "but it has none at all" : `but it has ${states.join(", ")}`),
    actual: states,
    expected: state,
  });
}

/** Asserts that the scheduled or running execution, or else the last one, has a cursor. */
export async function assertCursor(run: Run, cursor: unknown): Promise<void> {
  const active = await run.currentExecution() ?? (await run.history()).at(-1) ?? null;
  const actual = active?.cursor ?? null;
  if (isDeepStrictEqual(actual, cursor)) return;
  throw new AssertionError({
    message: `Expected the cursor of step "${active?.stepName}" to be ${shown(cursor)}, ` +
      `but it is ${shown(actual)}`,
    actual,
    expected: cursor,
  });
}

/** Asserts that a completed execution of a step is continued by a scheduled one. */
export async function assertStepHasSuccessor(run: Run, stepName: string): Promise<void> {
  const history = (await run.history()).filter((one) => one.stepName === stepName);
  const completed = new Set(history.filter((one) => one.state === "completed").map(idOf));
  const successor = history.some((one) =>
    one.state === "scheduled" && one.continuesFromId !== null && completed.has(one.continuesFromId)
  );
  if (successor) return;
  throw new AssertionError({
    message:
      `Expected a completed execution of step "${stepName}" to have a scheduled successor, ` +
      `but its executions are ${history.map((one) => one.state).join(", ") || "none"}`,
    actual: history.map((one) => one.state),
    expected: "a scheduled successor",
  });
}

function idOf(execution: ExecutionRecord): string {
  return execution.id;
}

function shown(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
