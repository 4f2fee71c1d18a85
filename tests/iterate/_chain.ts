/**
 * What the tests of resumable steps on a real engine share: a workflow with one such step, its chain
 * of executions, and an engine with a worker of its own.
 */

import assert from "node:assert/strict";
import {
  createEngine,
  type Engine,
  type EngineOptions,
  type ExecutionRecord,
  type Iter,
  type ResumableStepOptions,
  type Run,
  type StoreDriver,
  workflow,
  type WorkflowDefinition,
} from "../../mod.ts";
import { createFakeClock, type FakeClock, performNextStep } from "../../src/testing/mod.ts";
import type { World } from "../_engines.ts";
import { storyOf } from "../run/_story.ts";

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

/** Starts a walk whose body is told in full by what it iterates over. */
export async function startWalk(
  world: World,
  walk: (iter: Iter) => unknown,
): Promise<{ run: Run; clock: FakeClock }> {
  const definition = importing(({ iter }) => walk(iter));
  const { engine, clock } = await world.engine({ workflows: [definition] });
  return { clock, run: await engine.start(definition) };
}

/** Asserts that a walk fails before its first item, with an error of a class that says something. */
export async function refused(
  world: World,
  walk: (iter: Iter) => unknown,
  [type, message]: [new (message: string) => Error, RegExp],
): Promise<void> {
  const { run } = await startWalk(world, walk);
  await assert.rejects(performNextStep(run), (error) => {
    assert.ok(error instanceof type, String(error));
    assert.match(error.message, message);
    return true;
  });
  assert.deepEqual(await storyOf(run), ["rows: failed/failed (exception)"]);
}

/** A callback that is never called. */
export function never(): never {
  assert.fail("no item must be passed");
}
