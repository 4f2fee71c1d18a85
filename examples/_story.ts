/**
 * What the examples share: an engine on SQLite in memory whose clock moves only when the story says
 * so, and a voice that puts the day and the time of that clock before each line.
 *
 * In an application these are `createEngine({ store: sqliteStore("app.db"), … })`, a worker, and the
 * time itself. The definitions in the examples do not change for it.
 *
 * @module
 */

import type { Clock, EngineOptions, Run } from "@pawl/pawl";
import { sqliteStore } from "@pawl/pawl/sqlite";
import { type TestEngine, testEngine } from "@pawl/pawl/testing";

let clock: Pick<Clock, "now"> = { now: () => Date.now() };
let begunAt = clock.now();

/** Makes the engine of a story; its clock starts on a Thursday, 1 January 2026, at nine. */
export async function stage(options: Partial<EngineOptions>): Promise<TestEngine> {
  const made = await testEngine({
    store: sqliteStore(":memory:"),
    now: new Date("2026-01-01T09:00:00Z"),
    ...options,
  });
  clock = made.clock;
  begunAt = Date.parse("2026-01-01T00:00:00Z");
  return made;
}

/** Prints a line with the day and the time of the story before it. */
export function say(line: string): void {
  const now = clock.now();
  const day = Math.floor((now - begunAt) / 86_400_000);
  console.log(`day ${day} ${new Date(now).toISOString().slice(11, 19)} | ${line}`);
}

/** The instant of the story. */
export function now(): Date {
  return new Date(clock.now());
}

/** Prints the attempts of a workflow, one a line, and where it stands. */
export async function recount(run: Run): Promise<void> {
  await run.reload();
  console.log(`\n${run.name} ${run.id} is ${run.state}:`);
  for (const { stepName, state, outcome, cause, attempt, errorMessage } of await run.history()) {
    const how = outcome === "success" ? "completed" : outcome ?? state;
    console.log(
      `  ${stepName}${attempt > 1 ? `, attempt ${attempt}` : ""}: ${how}` +
        (cause === null ? "" : ` by ${cause}`) + (errorMessage === null ? "" : `: ${errorMessage}`),
    );
  }
}
