/**
 * Helpers for tests of workflows: an engine with its own clock, steps performed by hand,
 * assertions, and the cases that every store and every queue must pass.
 *
 * @example Two weeks in a millisecond
 * ```ts
 * import { workflow } from "@pawl/pawl";
 * import { assertWorkflowState, testEngine } from "@pawl/pawl/testing";
 *
 * const trial = workflow({
 *   name: "trial",
 *   steps: [{ name: "welcome", run: () => {} }, { name: "end", wait: "14 days", run: () => {} }],
 * });
 * using t = await testEngine({ workflows: [trial] });
 * const run = await t.engine.start(trial);
 * await t.clock.tick("14 days"); // runs what becomes due on the way
 * await assertWorkflowState(run, "finished");
 * ```
 *
 * @module
 */

import { memoryStore } from "../../drivers/memory/mod.ts";
import { inlineQueue } from "../../drivers/queues/inline.ts";
import type { WorkflowDefinition } from "../define/definition.ts";
import type { Sweep } from "./crash_stage.ts";
import { sweepOn, type SweepOptions, type SweepReport, type SweepSubject } from "./crash_sweep.ts";
import { makeTestEngine, type TestEngine, type TestEngineOptions } from "./test_engine.ts";

export {
  assertCursor,
  assertStepExecuted,
  assertStepHasSuccessor,
  assertWorkflowState,
} from "./assertions.ts";
export type { Sweep } from "./crash_stage.ts";
export type {
  Frequency,
  SweepOptions,
  SweepReport,
  SweepRun,
  SweepSignal,
  SweepSubject,
} from "./crash_sweep.ts";
export * from "./conformance.ts";
export { createFakeClock, type FakeClock, type FakeClockOptions } from "./fake_clock.ts";
export {
  interruptAfterStep,
  interruptEvery,
  interruptWhen,
  performNextStep,
  performStepInline,
  runIterations,
  speedrunCurrentStep,
  type SpeedrunOptions,
  speedrunWorkflow,
} from "./perform.ts";
export type { TestEngine, TestEngineOptions } from "./test_engine.ts";

/**
 * Makes an engine for a test: in memory, with its own fake clock, and nothing runs until the clock
 * is moved or a step is performed by hand.
 */
export async function testEngine(options: TestEngineOptions = {}): Promise<TestEngine> {
  return await makeTestEngine(options, {
    store: options.store ?? memoryStore(),
    queue: options.queue ?? inlineQueue({ deferred: true }),
  });
}

/**
 * Runs a workflow once for every point at which its process could die or freeze, in memory and on a
 * fake clock, and says how often each effect happened and whether the workflow always ended.
 *
 * @example Finding a step that charges twice
 * ```ts
 * import { workflow } from "@pawl/pawl";
 * import { crashSweep } from "@pawl/pawl/testing";
 * import assert from "node:assert/strict";
 *
 * const report = await crashSweep((sweep) => {
 *   const bank = sweep.watch("bank", { charge: () => Promise.resolve() });
 *   const definition = workflow({
 *     name: "payment",
 *     steps: [{ name: "charge", run: () => bank.charge() }],
 *   });
 *   return { definition };
 * });
 * assert.equal(report.alwaysEnds, true);
 * assert.equal(report.effects["bank.charge"]?.max, 2); // a crash between the charge and its commit
 * ```
 */
export async function crashSweep(
  subject: WorkflowDefinition | ((sweep: Sweep) => SweepSubject),
  options: SweepOptions = {},
): Promise<SweepReport> {
  return await sweepOn(memoryStore, subject, options);
}
