/** One scenario on one database, from the first worker to the verdict. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Arena, openArena } from "./arena.ts";
import type { ChaosOptions } from "./arguments.ts";
import type { Complaint, Findings } from "./checker.ts";
import type { Ground } from "./databases.ts";
import { pause } from "./patience.ts";
import { createRandom } from "./random.ts";
import { REST_MS, type Scenario } from "./scenarios.ts";

/** What came of a scenario. */
export interface Endured extends Findings {
  readonly faults: number;
  /** How many warnings and errors the workers logged. */
  readonly warnings: number;
  /** How long after the last fault all workflows were at rest. */
  readonly restMs: number;
  readonly tookMs: number;
  /** How much the heap grew most of a worker that lived through it, in megabytes; null: none. */
  readonly grownMb: number | null;
}

const WORKERS = 3;
/** How often new workflows are started in place of those that have ended. */
const FEED_MS = 50;
/** However slow the machine is, no scenario does harm for longer. */
const MAX_HARM_MS = 40_000;
/** How long the first bodies may take: processes have to start. */
const MAX_START_MS = 30_000;

/** Runs one scenario on a fresh database. */
export async function endure(
  scenario: Scenario,
  ground: Ground,
  { seed, workflows, broken, keep }: ChaosOptions,
): Promise<Endured> {
  const startedAt = Date.now();
  const random = createRandom(seed);
  const keepIn = keep === undefined ? undefined : join(keep, `${ground.name}-${scenario.name}`);
  if (keepIn !== undefined) mkdirSync(keepIn, { recursive: true });
  await using arena = await openArena(ground, { seed, harm: scenario.workers, broken, keepIn });
  await using feeding = feed(arena, workflows);
  for (let worker = 0; worker < WORKERS; worker++) arena.spawn();
  await untilAllWork(arena);
  if (broken !== undefined) arena.breakStores();
  await arena.levels.before();

  const finish = await scenario.begin?.(arena);
  let faults = 0;
  const harmUntil = Date.now() + MAX_HARM_MS;
  for (let time = 0; time < scenario.times && Date.now() < harmUntil; time++) {
    faults += await scenario.harm(arena, random);
  }
  faults += await finish?.() ?? 0;
  await feeding.stop();

  const calmAt = Date.now();
  const stuck = await settle(arena, scenario.restMs ?? REST_MS);
  const restMs = Date.now() - calmAt;
  await arena.levels.atRest();
  const findings = await arena.verdict();
  const journals = arena.journals();
  return {
    ...findings,
    complaints: [...stuck, ...findings.complaints],
    faults: faults + journals.faults,
    warnings: journals.complaints,
    restMs,
    tookMs: Date.now() - startedAt,
    grownMb: arena.levels.grownMb,
  };
}

/** Keeps so many workflows under way, until it is stopped. */
function feed(arena: Arena, workflows: number): { stop(): Promise<void> } & AsyncDisposable {
  let stopped = false;
  async function go(): Promise<void> {
    while (!stopped) {
      const missing = workflows - await arena.left();
      if (missing > 0 && !stopped) await arena.start(missing);
      await pause(FEED_MS);
    }
  }
  const going = go();
  const stop = async (): Promise<void> => {
    stopped = true;
    await going;
  };
  return { stop, [Symbol.asyncDispose]: stop };
}

/** Faults begin when every worker has run a body: they are to meet work. */
async function untilAllWork(arena: Arena): Promise<void> {
  const deadline = Date.now() + MAX_START_MS;
  while (arena.journals().working < WORKERS) {
    if (Date.now() > deadline) throw new Error("Cannot begin the chaos: the workers do not work");
    await pause(20);
  }
}

/** Waits until all workflows are at rest; what is not by then is stuck. */
async function settle(arena: Arena, withinMs: number): Promise<Complaint[]> {
  const deadline = Date.now() + withinMs;
  for (let left = await arena.left(); left > 0; left = await arena.left()) {
    if (Date.now() > deadline) {
      const sentence = `${left} workflows are not at rest ${withinMs} ms after the last fault`;
      return [{ kind: "stuck", sentence }];
    }
    await pause(20);
  }
  return [];
}
