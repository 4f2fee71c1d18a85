/**
 * A canary: some workflows are resumed first, and the others only when these got past the step.
 *
 * @module
 */

import type { Engine } from "../run/engine.ts";
import { type Clock, wait } from "../seams/clock.ts";

/** What became of the canaries. */
export interface CanaryReport {
  /** Those that got past the step. */
  readonly passed: readonly string[];
  /** Those that are paused again, or were canceled. */
  readonly failed: readonly string[];
  /** Those of which nobody knows yet. */
  readonly waiting: readonly string[];
}

/** How canaries are watched. */
export interface CanaryOptions {
  /** For how long at the most. */
  readonly patienceMs: number;
  /** The time. */
  readonly clock: Clock;
  /** Stops watching. */
  readonly signal: AbortSignal;
}

const LOOK_MS = 250;

/** The step that a workflow is to get past. */
export type Place = { readonly id: string; readonly stepName: string | null };

/** Watches resumed workflows until each has passed its step or failed, or patience ends. */
export async function watchCanaries(
  engine: Engine,
  canaries: readonly Place[],
  { patienceMs, clock, signal }: CanaryOptions,
): Promise<CanaryReport> {
  const passed: string[] = [];
  const failed: string[] = [];
  let waiting = canaries;
  const until = clock.now() + patienceMs;
  while (true) {
    const undecided: Place[] = [];
    for (const canary of waiting) {
      const fate = await fateOf(engine, canary);
      if (fate === "waiting") undecided.push(canary);
      else (fate === "passed" ? passed : failed).push(canary.id);
    }
    waiting = undecided;
    if (waiting.length === 0 || clock.now() >= until || signal.aborted) break;
    await wait(clock, LOOK_MS, signal);
  }
  return { passed, failed, waiting: waiting.map((one) => one.id) };
}

async function fateOf(
  engine: Engine,
  { id, stepName }: Place,
): Promise<"passed" | "failed" | "waiting"> {
  const run = await engine.find(id);
  if (run === null || run.state === "finished") return "passed";
  if (run.state === "canceled") return "failed";
  // A later step may pause it for reasons of its own: it got past this one.
  if (run.nextStepName !== stepName) return "passed";
  return run.state === "paused" ? "failed" : "waiting";
}
