/** The faults: each scenario does one kind of harm, again and again, while the workflows run. */

import type { ChildProcess } from "node:child_process";
import process from "node:process";
import { mysqlError, mysqlStatement } from "../tests/_wire.ts";
import type { Arena } from "./arena.ts";
import type { DatabaseName } from "./databases.ts";
import { patiently, pause } from "./patience.ts";
import type { Random } from "./random.ts";
import { LIMITS } from "./story.ts";
import { MAX_SKEW_MS, type Orders } from "./worker.ts";

/** One kind of harm. */
export interface Scenario {
  readonly name: string;
  /** What is done, for people. */
  readonly what: string;
  /** Only on these databases; default: on all. */
  readonly only?: readonly DatabaseName[];
  /** Whether it needs a server of its own. */
  readonly ownServer?: boolean;
  /** How the workers harm themselves meanwhile. */
  readonly workers?: Orders["harm"];
  /** How often harm is done. */
  readonly times: number;
  /** Begins something that goes on; what it resolves to ends it, and says how many faults it made. */
  begin?(arena: Arena): Promise<() => Promise<number>>;
  /** Does harm once; resolves to how many faults that were. */
  harm(arena: Arena, random: Random): Promise<number>;
  /**
   * How long after the last fault all must be at rest; default: a lease, a sweep, the work that was
   * left, and a machine that does other things too.
   */
  readonly restMs?: number;
}

/** The default of `restMs`. */
export const REST_MS: number = LIMITS.leaseMs + 5_000;

const SERVERS: readonly DatabaseName[] = ["postgres", "mysql"];

function victimOf(arena: Arena, random: Random): ChildProcess {
  return random.pick(arena.workers);
}

/** Ends a worker in some way and starts another. */
async function replace(arena: Arena, random: Random, signal: NodeJS.Signals): Promise<number> {
  await pause(random.between(100, 500));
  await arena.end(victimOf(arena, random), signal);
  arena.spawn();
  return 1;
}

/** The next message of some worker has this fate. */
async function strike(
  arena: Arena,
  fate: "is torn" | "stalls" | "loses its answer",
): Promise<number> {
  const { wire } = arena;
  if (wire === null) return 0;
  const deadline = Date.now() + 2_000;
  let struck = false;
  wire.decide = () => {
    if (struck) return "arrives";
    struck = true;
    return fate;
  };
  while (!struck && Date.now() < deadline) await pause(5);
  wire.decide = () => "arrives";
  return struck ? 1 : 0;
}

const CALM: Scenario = {
  name: "calm",
  what: "nothing at all: the checker must find nothing",
  times: 10,
  harm: async () => {
    await pause(200);
    return 0;
  },
};

const PROCESSES: readonly Scenario[] = [
  {
    name: "kill",
    what: "SIGKILL of workers again and again, with a SIGTERM in between",
    times: 16,
    harm: (arena, random) =>
      replace(arena, random, random.pick(["SIGKILL", "SIGKILL", "SIGKILL", "SIGTERM"])),
  },
  {
    name: "deploy",
    what: "SIGTERM of workers, which hand back what they have not ended",
    times: 12,
    harm: (arena, random) => replace(arena, random, "SIGTERM"),
  },
  {
    name: "freeze",
    what: "SIGSTOP for longer than the lease, then SIGCONT",
    times: 5,
    async harm(arena, random) {
      await pause(random.between(50, 300));
      const { pid } = victimOf(arena, random);
      if (pid === undefined) return 0;
      process.kill(pid, "SIGSTOP");
      await pause(LIMITS.leaseMs + random.between(200, 1_000));
      process.kill(pid, "SIGCONT");
      return 1;
    },
  },
  {
    name: "clocks",
    what: `the clocks of workers are set forward and back, up to ${MAX_SKEW_MS} ms`,
    workers: "clock",
    times: 20,
    harm: async () => {
      await pause(300);
      return 0;
    },
    restMs: REST_MS + 2 * MAX_SKEW_MS,
  },
  {
    name: "jobs",
    what: "jobs that are lost, doubled, early and late, and some for nothing",
    workers: "queue",
    times: 20,
    async harm(arena) {
      await pause(250);
      const { items } = await arena.engine.list({ ongoing: true, limit: 20 });
      const executions = await Promise.all(items.map((run) => run.currentExecution()));
      // The engine here has a definition without effects, so it must not win a claim: only ids of
      // executions that somebody runs, or that never were, are delivered to it.
      const taken = executions.flatMap((one) => one?.state === "in_progress" ? [one.id] : []);
      const harmless = [...taken, "not an id"];
      await Promise.all(harmless.map((id) => arena.engine.handle(id).catch(() => {})));
      return harmless.length;
    },
  },
];

const SQLITE: readonly Scenario[] = [
  {
    name: "busy",
    what: "another process takes the write lock of the file again and again",
    only: ["sqlite"],
    times: 20,
    async begin(arena) {
      const locker = arena.spawnHelper("./locker.ts");
      const since = Date.now();
      await pause(0);
      return async () => {
        await arena.end(locker, "SIGKILL");
        // It keeps the lock for 128 ms on average, and lets go for 33.
        return Math.round((Date.now() - since) / 160);
      };
    },
    harm: async () => {
      await pause(300);
      return 0;
    },
  },
  {
    name: "full",
    what: "a disk that is full for a while",
    only: ["sqlite"],
    workers: "disk",
    times: 10,
    async harm(arena, random) {
      await pause(random.between(100, 300));
      tellAll(arena, "full");
      await pause(random.between(100, 400));
      tellAll(arena, "room");
      return 0;
    },
  },
];

function tellAll({ workers }: Arena, word: string): void {
  for (const { stdin } of workers) stdin?.write(`${word}\n`);
}

const NETWORK: readonly Scenario[] = [
  {
    name: "cut",
    what: "all connections ended by the server, in a stream",
    only: SERVERS,
    times: 25,
    async harm({ ground }, random) {
      await pause(random.between(50, 250));
      return await ground.cutConnections().catch(() => 0);
    },
  },
  {
    name: "reset",
    what: "connections reset in the middle of a statement, or before its answer",
    only: SERVERS,
    times: 40,
    async harm(arena, random) {
      await pause(random.between(20, 200));
      return await strike(arena, random.pick(["is torn", "loses its answer"]));
    },
  },
  {
    name: "half-open",
    what: "connections that go silent in the middle of a statement, and nobody is told",
    only: SERVERS,
    times: 6,
    async harm(arena, random) {
      await pause(random.between(100, 600));
      // One connection of one worker, or all connections of all.
      return random.between(0, 2) > 0 ? await strike(arena, "stalls") : arena.wire?.stall() ?? 0;
    },
    restMs: REST_MS + 6_000,
  },
  {
    name: "slow",
    what: "connections that let a few bytes through at a time",
    only: SERVERS,
    times: 6,
    async harm({ wire }, random) {
      await pause(random.between(100, 400));
      wire?.slow(random.between(4, 40));
      await pause(random.between(300, 1_200));
      wire?.slow(null);
      return wire?.size ?? 0;
    },
    restMs: REST_MS + 3_000,
  },
];

const TROUBLED_SERVERS: readonly Scenario[] = [
  {
    name: "restart",
    what: "restarts of the server, orderly ones and kills",
    only: SERVERS,
    ownServer: true,
    times: 4,
    async harm({ ground }, random) {
      await pause(random.between(400, 1_200));
      await ground.restart?.(random.pick(["fast", "crash"]));
      return 1;
    },
    restMs: REST_MS + 3_000,
  },
  {
    name: "exhaust",
    what: "idle connections of the application take all that the server has",
    only: SERVERS,
    ownServer: true,
    times: 5,
    async harm({ ground }, random) {
      await pause(random.between(100, 400));
      return await patiently(() => ground.exhaust(random.between(300, 1_000)));
    },
    restMs: REST_MS + 3_000,
  },
  {
    name: "deadlock",
    what: "another process locks rows in the opposite order; on MariaDB errors 1213 beside",
    only: SERVERS,
    ownServer: true,
    times: 20,
    async begin(arena) {
      const before = await arena.ground.deadlocks();
      const locker = arena.spawnHelper("./deadlocker.ts");
      return async () => {
        await arena.end(locker, "SIGKILL");
        return await patiently(arena.ground.deadlocks) - before;
      };
    },
    async harm({ wire, ground }, random) {
      await pause(random.between(100, 400));
      if (ground.name !== "mysql" || wire === null) return 0;
      let injected = 0;
      wire.decide = (sent) => {
        if (injected > 0 || !/^(UPDATE|INSERT|SELECT .* FOR UPDATE)/.test(mysqlStatement(sent))) {
          return "arrives";
        }
        injected++;
        return mysqlError(1213, "40001", "Deadlock found when trying to get lock");
      };
      await pause(50);
      wire.decide = () => "arrives";
      return injected;
    },
  },
];

/** All of them, in the order in which they are run. */
export const SCENARIOS: readonly Scenario[] = [
  CALM,
  ...PROCESSES,
  ...SQLITE,
  ...NETWORK,
  ...TROUBLED_SERVERS,
];
