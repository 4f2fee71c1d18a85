/**
 * What the tests of runs look at: the history in one line per execution, and what was reported on
 * the way.
 */

import assert from "node:assert/strict";
import type { Engine, ExecutionRecord, ReportContext, Run, WorkflowDefinition } from "../../mod.ts";

/** The history: `ship: completed/success`, with the cause behind where there is one. */
export async function storyOf(run: Run): Promise<string[]> {
  return (await run.history()).map(({ stepName, state, outcome, cause }) => {
    const why = cause === null ? "" : ` (${cause})`;
    return `${stepName}: ${state}${outcome === null ? "" : `/${outcome}`}${why}`;
  });
}

/** An execution of the history; negative numbers count from its end. */
export async function executionAt(run: Run, at: number): Promise<ExecutionRecord> {
  const execution = (await run.history()).at(at);
  assert.ok(execution, `there is no execution ${at}`);
  return execution;
}

/** The execution that is scheduled or running, which must exist. */
export async function current(run: Run): Promise<ExecutionRecord> {
  const execution = await run.currentExecution();
  assert.ok(execution, "nothing is scheduled");
  return execution;
}

/** Asserts that something rejects with this very error. */
export async function rejectsWith(running: Promise<unknown>, error: unknown): Promise<void> {
  await assert.rejects(running, (thrown) => {
    assert.equal(thrown, error);
    return true;
  });
}

/** An error reporter that remembers. */
export interface Reports {
  /** For `createEngine`. */
  readonly reportError: (error: Error, context: ReportContext) => void;
  /** What was reported. */
  readonly errors: Error[];
  /** With what context. */
  readonly contexts: ReportContext[];
}

/** Makes an error reporter that remembers. */
export function recordReports(): Reports {
  const errors: Error[] = [];
  const contexts: ReportContext[] = [];
  return {
    errors,
    contexts,
    reportError(error, context) {
      errors.push(error);
      contexts.push(context);
    },
  };
}

/** Runs the scheduled execution as a queue would; resolves to what it rejected with, or null. */
export async function deliver(engine: Engine, run: Run): Promise<unknown> {
  const { id } = await current(run);
  try {
    await engine.handle(id);
    return null;
  } catch (thrown) {
    return thrown;
  } finally {
    await run.reload();
  }
}

/** Starts a workflow and delivers its first job. */
export async function startAndDeliver(
  engine: Engine,
  definition: WorkflowDefinition,
  hero?: string,
): Promise<{ run: Run; thrown: unknown }> {
  const run = await engine.start(definition, hero === undefined ? {} : { hero });
  return { run, thrown: await deliver(engine, run) };
}

/** Rejects with the signal's reason once it is aborted. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
