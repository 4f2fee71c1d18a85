/**
 * Helpers for tests of workflows: an engine with its own clock, steps performed by hand,
 * assertions, and the cases that every store and every queue must pass.
 *
 * @module
 */

import { memoryStore } from "../../drivers/memory/mod.ts";
import { inlineQueue } from "../../drivers/queues/inline.ts";
import { makeTestEngine, type TestEngine, type TestEngineOptions } from "./test_engine.ts";

export {
  assertCursor,
  assertStepExecuted,
  assertStepHasSuccessor,
  assertWorkflowState,
} from "./assertions.ts";
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
