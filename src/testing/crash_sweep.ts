/**
 * The crash sweep: a workflow is run once for every point at which its process could die, and the
 * report says how often each effect happened and whether the workflow always came to an end.
 *
 * 1. A first run without a crash counts the points: before and after every write to the store
 *    (claims, checkpoints, finishes, commits) and before and after every call of a watched object.
 * 2. For each point the workflow is run again in a fresh store. At the point the process dies: what
 *    it was about to do never happens, what it waits for never comes. A second process finds the
 *    dead lease and goes on until the workflow rests.
 * 3. For each point it is run once more, and there the process only freezes: it loses its lease,
 *    the second one takes over, and then the first wakes up and goes on as if nothing had happened.
 *
 * Every job is delivered twice. Time is a fake clock, so waits of days take no time.
 *
 * @module
 */

import type { WorkflowDefinition } from "../define/definition.ts";
import { buildEngine, type Engine } from "../run/engine.ts";
import { type EngineOptions, whole } from "../run/options.ts";
import type { Run } from "../run/run.ts";
import type { StartOptions } from "../run/start.ts";
import type { QueueDriver } from "../seams/queue.ts";
import type { StoreDriver } from "../seams/store.ts";
import type { WorkflowState } from "../state/records.ts";
import { createStage, type Fault, type Sweep } from "./crash_stage.ts";
import { createFakeClock, type FakeClock } from "./fake_clock.ts";

/** How often something happened over all runs. */
export interface Frequency {
  /** In the run with the fewest. */
  readonly min: number;
  /** In the run with the most: more than 1 means that a crash can repeat it. */
  readonly max: number;
}

/** What happened at one point. */
export interface SweepRun {
  /** The point's number; 0 is the run without a crash. */
  readonly point: number;
  /** What happened to the first process there. */
  readonly mode: "none" | "crash" | "freeze";
  /** Where it was, such as `after finish` or `before bank.charge`. */
  readonly where: string;
  /** The state in which the workflow came to rest. */
  readonly state: WorkflowState;
  /** Whether it came to rest at all, and not only to the limit of executions. */
  readonly rested: boolean;
  /** How often each watched effect happened. */
  readonly effects: Readonly<Record<string, number>>;
  /** How often each step's body was begun. */
  readonly bodies: Readonly<Record<string, number>>;
}

/** What a sweep found out. */
export interface SweepReport {
  /** How many points there are. */
  readonly points: number;
  /** Every run; only the one without a crash when that did not come to rest. */
  readonly runs: readonly SweepRun[];
  /** Whether every run came to rest in the state in which the run without a crash did. */
  readonly alwaysEnds: boolean;
  /** The runs that did not. */
  readonly stuck: readonly SweepRun[];
  /** How often each watched effect happened. */
  readonly effects: Readonly<Record<string, Frequency>>;
  /** How often each step's body was begun. */
  readonly bodies: Readonly<Record<string, Frequency>>;
}

/** A signal that a workflow is sent. */
export interface SweepSignal {
  /** Its name. */
  readonly name: string;
  /** What it carries. */
  readonly payload?: unknown;
}

/** A workflow to sweep, and how it is started. */
export interface SweepSubject {
  /** The definition. */
  readonly definition: WorkflowDefinition;
  /** How it is started. */
  readonly start?: StartOptions;
  /**
   * What it is sent once it was started; kept until a step waits for it. A step that waits for a
   * signal that is not here waits for somebody outside: there the workflow rests.
   */
  readonly signals?: readonly SweepSignal[];
}

/** How a sweep is made. */
export interface SweepOptions
  extends Pick<EngineOptions, "logger" | "codec">, Omit<SweepSubject, "definition"> {
  /** How many executions a run may take before it counts as endless; default 1,000. */
  readonly maxExecutions?: number;
}

const DEFAULT_MAX_EXECUTIONS = 1_000;

/** A queue that delivers nothing by itself: the sweep does. */
const SILENT: QueueDriver = {
  name: "sweep",
  commit: "none",
  enqueue: () => Promise.resolve(),
  listen: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

/** Sweeps a workflow, each run on a store of its own. */
export async function sweepOn(
  openStore: () => StoreDriver,
  subject: WorkflowDefinition | ((sweep: Sweep) => SweepSubject),
  options: SweepOptions = {},
): Promise<SweepReport> {
  const setup = typeof subject === "function"
    ? subject
    : (): SweepSubject => ({ ...options, definition: subject });
  const limit = whole(options.maxExecutions ?? DEFAULT_MAX_EXECUTIONS, "maxExecutions");
  const run = (fault: Fault): ReturnType<typeof runOnce> =>
    runOnce(openStore, setup, { ...options, limit }, fault);
  const { points, run: undisturbed } = await run({ point: 0, mode: "none" });
  const runs: SweepRun[] = [undisturbed];
  // What does not end by itself has no end of points either.
  for (let point = 1; undisturbed.rested && point <= points; point++) {
    for (const mode of ["crash", "freeze"] as const) runs.push((await run({ point, mode })).run);
  }
  const stuck = runs.filter((one) => !one.rested || one.state !== undisturbed.state);
  return {
    points,
    runs,
    alwaysEnds: stuck.length === 0,
    stuck,
    effects: frequencies(runs.map((one) => one.effects)),
    bodies: frequencies(runs.map((one) => one.bodies)),
  };
}

function frequencies(
  counts: readonly Readonly<Record<string, number>>[],
): Record<string, Frequency> {
  const names = new Set(counts.flatMap((one) => Object.keys(one)));
  return Object.fromEntries([...names].map((name) => {
    const all = counts.map((one) => one[name] ?? 0);
    return [name, { min: Math.min(...all), max: Math.max(...all) }];
  }));
}

async function runOnce(
  openStore: () => StoreDriver,
  setup: (sweep: Sweep) => SweepSubject,
  { logger, codec, limit }: SweepOptions & { readonly limit: number },
  fault: Fault,
): Promise<{ run: SweepRun; points: number }> {
  const clock = createFakeClock();
  const stage = createStage(fault);
  const store = openStore();
  await store.migrate();
  const { definition, start, signals = [] } = setup({ watch: stage.watch });
  const bodies: Record<string, number> = {};
  const open = (on: StoreDriver): Engine => {
    const engine = buildEngine({
      store: on,
      queue: SILENT,
      clock,
      workflows: [definition],
      ...(logger && { logger }),
      ...(codec && { codec }),
    });
    engine.events.on("precondition", ({ outcome, stepName }) => {
      if (outcome === "passed") bodies[stepName] = (bodies[stepName] ?? 0) + 1;
    });
    return engine;
  };
  const second = open(store);
  const { id } = await second.start(definition, start);
  const run = await second.find(id) as Run;
  for (const { name, payload } of signals) await run.signal(name, payload);

  const first = stage.perform(() =>
    drive({ engine: open(stage.around(store)), run, clock, store, limit })
  );
  let rested = await Promise.race([first, stage.stopped.then(() => false)]);
  if (stage.where !== null) rested = await drive({ engine: second, run, clock, store, limit });
  stage.thaw();
  if (fault.mode === "freeze") await first;
  const { state } = await run.reload();
  const { points, where } = stage;
  const effects = stage.effects();
  return { points, run: { ...fault, where: where ?? "nowhere", state, rested, effects, bodies } };
}

interface Drive {
  readonly engine: Engine;
  readonly run: Run;
  readonly clock: FakeClock;
  readonly store: StoreDriver;
  readonly limit: number;
}

/**
 * Delivers whatever is due next, twice, moving the clock to it, until the workflow rests; false when
 * it did not within the limit.
 */
async function drive({ engine, run, clock, store, limit }: Drive): Promise<boolean> {
  for (let executions = 0; executions < limit; executions++) {
    const workflow = await store.get(run.id);
    const active = await store.active(run.id);
    if (workflow === null || workflow.state === "paused" || active === null) return true;
    // What waits for a signal waits for somebody outside: the workflow rests.
    if (active.wakeAt === null) return true;
    if (active.state === "scheduled") {
      clock.travelTo(Math.max(clock.now(), active.scheduledFor.getTime(), waitEnd(active)));
      await Promise.all([ignore(engine.handle(active.id)), ignore(engine.handle(active.id))]);
    } else {
      clock.travelTo(Math.max(clock.now(), active.wakeAt.getTime()));
      await engine.housekeep();
    }
  }
  return false;
}

function waitEnd(
  { waitingFor, waitUntil }: { waitingFor: string | null; waitUntil: Date | null },
): number {
  return waitingFor === null ? 0 : waitUntil?.getTime() ?? 0;
}

/** What a body throws is the business of its policy; the sweep looks at where the workflow goes. */
function ignore(handling: Promise<void>): Promise<void> {
  return handling.catch(() => {});
}
