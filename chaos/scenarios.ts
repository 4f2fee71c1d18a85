/** The faults: each scenario does one kind of harm, again and again, while the workflows run. */

import type { ChildProcess } from "node:child_process";
import process from "node:process";
import type { Arena } from "./arena.ts";
import type { Random } from "./random.ts";
import { LEASE_MS } from "./story.ts";

/** One kind of harm. */
export interface Scenario {
  readonly name: string;
  /** What is done, for people. */
  readonly what: string;
  /** Only on this kind of database; default: on all. */
  readonly only?: "sqlite" | "server";
  /** Does harm once; resolves to how many faults that were. */
  harm(arena: Arena, random: Random): Promise<number>;
  /** How many worker processes there are; default 3. */
  readonly workers?: number;
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

function victimOf(arena: Arena, random: Random): ChildProcess | null {
  return arena.workers.length === 0 ? null : random.pick(arena.workers);
}

/** Ends a worker in some way and starts another. */
async function replace(arena: Arena, random: Random, signal: NodeJS.Signals): Promise<number> {
  await pause(random.between(100, 500));
  const victim = victimOf(arena, random);
  if (victim === null) return 0;
  await arena.end(victim, signal);
  arena.spawn();
  return 1;
}

export const SCENARIOS: readonly Scenario[] = [
  {
    name: "calm",
    what: "nothing at all: the checker must find nothing",
    harm: async () => {
      await pause(200);
      return 0;
    },
  },
  {
    name: "kill",
    what: "SIGKILL of workers at random moments",
    harm: (arena, random) => replace(arena, random, "SIGKILL"),
  },
  {
    name: "deploy",
    what: "SIGTERM of workers, which hand back what they have not ended",
    harm: (arena, random) => replace(arena, random, "SIGTERM"),
  },
  {
    name: "freeze",
    what: "SIGSTOP for longer than the lease, then SIGCONT",
    async harm(arena, random) {
      await pause(random.between(50, 300));
      const victim = victimOf(arena, random);
      if (victim?.pid === undefined) return 0;
      // Not `victim.kill`: a process that was signalled once counts as killed for it.
      process.kill(victim.pid, "SIGSTOP");
      await pause(LEASE_MS + random.between(200, 1_000));
      process.kill(victim.pid, "SIGCONT");
      return 1;
    },
  },
  {
    name: "cut",
    what: "connections ended by the server in a stream; on SQLite the file is locked",
    async harm(arena, random) {
      await pause(random.between(50, 250));
      return await arena.application.cutConnections().catch(() => 0);
    },
  },
  {
    name: "deliveries",
    what: "jobs that come twice, early, late and for nothing",
    async harm(arena, random) {
      const { items } = await arena.engine.list({ ongoing: true, limit: 100 });
      const runs = Array.from({ length: 20 }, () => items.length === 0 ? null : random.pick(items));
      const executions = await Promise.all(runs.map((run) => run?.currentExecution() ?? null));
      const ids = [...executions.map((one) => one?.id ?? "0"), "999999999", "not an id"];
      // The engine here has a definition without effects, so it must not win a claim: only ids of
      // executions that somebody runs, that have ended or that never were are delivered to it.
      const taken = executions.filter((one) => one?.state === "in_progress").map((one) => one?.id);
      const harmless = ids.filter((id) =>
        taken.includes(id) || id.startsWith("9") || id === "not an id"
      );
      await Promise.all(harmless.map((id) => arena.engine.handle(id).catch(() => {})));
      return harmless.length;
    },
  },
  {
    name: "clocks",
    what: "workers whose clocks are up to three seconds wrong",
    async harm(arena, random) {
      await pause(random.between(200, 600));
      const victim = victimOf(arena, random);
      if (victim === null) return 0;
      await arena.end(victim, "SIGTERM");
      arena.spawn(random.between(-3_000, 3_000));
      return 1;
    },
  },
  {
    name: "full",
    what: "a disk that is full for a while",
    only: "sqlite",
    async harm(arena, random) {
      await pause(random.between(100, 300));
      const pages = await arena.application.count("SELECT page_count AS n FROM pragma_page_count");
      await arena.application.run(`PRAGMA max_page_count = ${pages}`);
      await pause(random.between(100, 400));
      await arena.application.run("PRAGMA max_page_count = 1073741823");
      return 1;
    },
  },
];
