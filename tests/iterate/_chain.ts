/**
 * What the tests of resumable steps on a real engine share: a workflow with one such step, its chain
 * of executions, and an engine with a worker of its own.
 */

import type { ResumableStepOptions } from "../../mod.ts";
import {
  createEngine,
  type Engine,
  type EngineOptions,
  type ExecutionRecord,
  type Run,
  type StoreDriver,
  workflow,
  type WorkflowDefinition,
} from "../../mod.ts";
import { createFakeClock, type FakeClock } from "../../src/testing/mod.ts";

export type Body = ResumableStepOptions["run"];

/** An import: the step `rows` with this body, and behind it a plain step `report`. */
export function importing(
  run: Body,
  options: Omit<ResumableStepOptions, "run" | "resumable" | "name"> = {},
): WorkflowDefinition {
  return workflow({
    name: "import",
    steps: [{ ...options, name: "rows", resumable: true, run }, { name: "report", run() {} }],
  });
}

/** The executions of the step `rows`, oldest first. */
export async function chainOf(run: Run): Promise<ExecutionRecord[]> {
  return (await run.history()).filter(({ stepName }) => stepName === "rows");
}

/** The numbers from 0 up to, and without, `count`. */
export function range(count: number): number[] {
  return Array.from({ length: count }, (_, item) => item);
}

/** An engine without any queue but the table itself, on a clock that a test moves. */
export async function withWorkers(
  store: StoreDriver,
  options: Omit<EngineOptions, "store" | "clock">,
): Promise<{ engine: Engine; clock: FakeClock }> {
  const clock = createFakeClock();
  const engine = createEngine({ ...options, store, clock });
  await engine.migrate();
  return { engine, clock };
}
