/**
 * The crash sweep: a workflow is run once for every point at which its process could die, and the
 * report says how often each effect happened and whether the workflow always came to an end.
 *
 * 1. A first run without a crash counts the points: before and after every write to the store
 *    (claims, checkpoints, finishes) and before and after every call of a watched object.
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

import { AsyncLocalStorage } from "node:async_hooks";
import type { WorkflowDefinition } from "../define/definition.ts";
import { buildEngine, type Engine } from "../run/engine.ts";
import type { EngineOptions } from "../run/options.ts";
import type { Run } from "../run/run.ts";
import type { StartOptions } from "../run/start.ts";
import type { QueueDriver } from "../seams/queue.ts";
import type { StoreDriver } from "../seams/store.ts";
import type { WorkflowState } from "../state/records.ts";
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
  /** How often each watched effect happened. */
  readonly effects: Readonly<Record<string, number>>;
  /** How often each step's body was begun. */
  readonly bodies: Readonly<Record<string, number>>;
}

/** What a sweep found out. */
export interface SweepReport {
  /** How many points there are. */
  readonly points: number;
  /** Every run. */
  readonly runs: readonly SweepRun[];
  /** Whether every run ended in the state in which the run without a crash ended. */
  readonly alwaysEnds: boolean;
  /** The runs that did not. */
  readonly stuck: readonly SweepRun[];
  /** How often each watched effect happened. */
  readonly effects: Readonly<Record<string, Frequency>>;
  /** How often each step's body was begun. */
  readonly bodies: Readonly<Record<string, Frequency>>;
}

/** What a setup is given: fresh for every run. */
export interface Sweep {
  /**
   * Watches an object: each call of one of its functions is an effect, named `name.function`, with
   * a point before and after it. With `key`, calls with the same key count once, as they do for a
   * service that is given an idempotency key.
   */
  // deno-lint-ignore no-explicit-any -- functions of any shape
  watch<T extends Record<string, (...args: any[]) => unknown>>(
    name: string,
    object: T,
    // deno-lint-ignore no-explicit-any -- the arguments of the object's own functions
    options?: { readonly key?: (...args: any[]) => string },
  ): T;
}

/** A workflow to sweep, and how it is started. */
export interface SweepSubject {
  /** The definition. */
  readonly definition: WorkflowDefinition;
  /** How it is started. */
  readonly start?: StartOptions;
}

/** How a sweep is made. */
export interface SweepOptions extends Pick<EngineOptions, "logger" | "codec"> {
  /** How the workflow is started, when only a definition is given. */
  readonly start?: StartOptions;
  /** How many executions a run may take before it counts as endless; default 1,000. */
  readonly maxExecutions?: number;
}

const WRITES = ["create", "claim", "claimDue", "checkpoint", "finish"] as const;

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
    : (): SweepSubject => ({ definition: subject, ...(options.start && { start: options.start }) });
  const whole = await runOnce(openStore, setup, options, { point: 0, mode: "none" });
  const runs: SweepRun[] = [whole.run];
  for (let point = 1; point <= whole.points; point++) {
    for (const mode of ["crash", "freeze"] as const) {
      runs.push((await runOnce(openStore, setup, options, { point, mode })).run);
    }
  }
  const stuck = runs.filter((run) => run.state !== whole.run.state);
  return {
    points: whole.points,
    runs,
    alwaysEnds: stuck.length === 0,
    stuck,
    effects: frequencies(runs.map((run) => run.effects)),
    bodies: frequencies(runs.map((run) => run.bodies)),
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

interface Fault {
  readonly point: number;
  readonly mode: "none" | "crash" | "freeze";
}

async function runOnce(
  openStore: () => StoreDriver,
  setup: (sweep: Sweep) => SweepSubject,
  options: SweepOptions,
  fault: Fault,
): Promise<{ run: SweepRun; points: number }> {
  const clock = createFakeClock();
  const stage = createStage(fault);
  const store = openStore();
  await store.migrate();
  const { definition, start } = setup({ watch: stage.watch });
  const bodies: Record<string, number> = {};
  const open = (on: StoreDriver): Engine => {
    const { logger, codec } = options;
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
  const limit = options.maxExecutions ?? 1_000;

  const first = stage.perform(() =>
    drive({ engine: open(stage.around(store)), run, clock, store, limit })
  );
  await Promise.race([first, stage.stopped]);
  if (stage.where !== null) await drive({ engine: second, run, clock, store, limit });
  stage.thaw();
  if (fault.mode === "freeze") await first;
  await run.reload();
  const where = stage.where ?? "nowhere";
  const effects = stage.effects();
  return { points: stage.points, run: { ...fault, where, state: run.state, effects, bodies } };
}

interface Drive {
  readonly engine: Engine;
  readonly run: Run;
  readonly clock: FakeClock;
  readonly store: StoreDriver;
  readonly limit: number;
}

/** Delivers whatever is due next, twice, moving the clock to it, until the workflow rests. */
async function drive({ engine, run, clock, store, limit }: Drive): Promise<void> {
  for (let executions = 0; executions < limit; executions++) {
    const workflow = await store.get(run.id);
    const active = await store.active(run.id);
    if (workflow === null || workflow.state === "paused" || active === null) return;
    // What waits for a signal waits for somebody outside: the workflow rests.
    if (active.wakeAt === null) return;
    if (active.state === "scheduled") {
      clock.travelTo(Math.max(clock.now(), active.scheduledFor.getTime(), waitEnd(active)));
      await Promise.all([ignore(engine.handle(active.id)), ignore(engine.handle(active.id))]);
    } else {
      clock.travelTo(Math.max(clock.now(), active.wakeAt.getTime()));
      await engine.housekeep();
    }
  }
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

interface Stage {
  readonly points: number;
  readonly where: string | null;
  readonly stopped: Promise<void>;
  watch: Sweep["watch"];
  /** Runs the first process: only what it does passes points. */
  perform<T>(work: () => T): T;
  /** Lets a frozen process go on. */
  thaw(): void;
  around(store: StoreDriver): StoreDriver;
  effects(): Record<string, number>;
}

/** The first process, and the point at which something happens to it. */
function createStage({ point, mode }: Fault): Stage {
  const counts = new Map<string, number>();
  const keys = new Set<string>();
  let points = 0;
  const inside = new AsyncLocalStorage<true>();
  let where: string | null = null;
  let stop = (): void => {};
  let thaw = (): void => {};
  const stopped = new Promise<void>((resolve) => void (stop = resolve));
  const thawed = new Promise<void>((resolve) => void (thaw = resolve));

  /** Passes a point, unless it is the one: there a crash waits for ever and a freeze for the thaw. */
  async function pass(what: string): Promise<void> {
    if (!inside.getStore()) return;
    if (where === null && (++points !== point || mode === "none")) return;
    if (where === null) {
      where = what;
      stop();
    }
    // Whatever else the process was doing stands still as well.
    await (mode === "crash" ? new Promise<never>(() => {}) : thawed);
  }

  function around(store: StoreDriver): StoreDriver {
    return new Proxy(store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (!(WRITES as readonly PropertyKey[]).includes(name) || typeof member !== "function") {
          return member;
        }
        return async (...args: unknown[]): Promise<unknown> => {
          await pass(`before ${String(name)}`);
          const result: unknown = await Reflect.apply(member, target, args);
          await pass(`after ${String(name)}`);
          return result;
        };
      },
    });
  }

  const watch: Sweep["watch"] = (name, object, options = {}) => {
    const watched = Object.entries(object).map(([key, fn]) => {
      const effect = `${name}.${key}`;
      const called = async (...args: unknown[]): Promise<unknown> => {
        await pass(`before ${effect}`);
        const once = options.key === undefined ? null : `${effect} ${options.key(...args)}`;
        if (once === null || !keys.has(once)) counts.set(effect, (counts.get(effect) ?? 0) + 1);
        if (once !== null) keys.add(once);
        const result = await fn(...args);
        await pass(`after ${effect}`);
        return result;
      };
      return [key, called];
    });
    return Object.fromEntries(watched);
  };

  return {
    get points() {
      return points;
    },
    get where() {
      return where;
    },
    stopped,
    watch,
    around,
    perform: (work) => inside.run(true, work),
    thaw: () => thaw(),
    effects: () => Object.fromEntries(counts),
  };
}
