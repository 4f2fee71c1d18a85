/**
 * Memory and connections: they may rise while harm is done, and must be back at their level
 * afterwards. Memory is the heap after a collection, because the garbage of many new connections
 * makes a process large for good without anything being kept.
 */

import type { ChildProcess } from "node:child_process";
import type { Complaint } from "./checker.ts";
import type { Ground } from "./databases.ts";
import { patiently, pause } from "./patience.ts";
import { MAX_CONNECTIONS } from "./worker.ts";

/** How much larger the heap may be after the harm than before: warm code, and the last work. */
const MAX_GROWTH_MB = 15;
/** How long an answer of a worker, or the end of a connection, may take. */
const PATIENCE_MS = 5_000;
/** What a worker may have open: its store's connections, and one that listens. */
const PER_WORKER = MAX_CONNECTIONS + 1;
/** What the arena's own engine may have open. */
const ARENA = 2;

/** What is measured beside the rows. */
export interface Levels {
  /** Takes the level before anything is done. */
  before(): Promise<void>;
  /** Looks at the workers that lived through it, at rest. */
  atRest(): Promise<void>;
  /** What is wrong after the workers have ended. */
  complaintsAfterwards(): Promise<Complaint[]>;
  /** How much the worker grew most that lived through it, in megabytes; null: none did. */
  readonly grownMb: number | null;
}

/** Measures the workers of an arena; `heaps` reads what a worker's journal says of its heap. */
export function createLevels(
  { ground, workers, heaps }: {
    readonly ground: Ground;
    readonly workers: readonly ChildProcess[];
    heaps(worker: ChildProcess): readonly number[];
  },
): Levels {
  const before = new Map<ChildProcess, number>();
  const complaints: Complaint[] = [];
  let grownMb: number | null = null;
  const complain = (sentence: string): void =>
    void complaints.push({ kind: "resources", sentence });

  /** Asks a worker for its heap; null when it does not say. */
  async function measured(worker: ChildProcess): Promise<number | null> {
    const known = heaps(worker).length;
    worker.stdin?.write("measure\n");
    const deadline = Date.now() + PATIENCE_MS;
    while (heaps(worker).length === known && Date.now() < deadline) await pause(10);
    return heaps(worker)[known] ?? null;
  }

  return {
    get grownMb() {
      return grownMb;
    },
    async before() {
      for (const worker of workers) {
        const mb = await measured(worker);
        if (mb !== null) before.set(worker, mb);
      }
    },
    async atRest() {
      for (const worker of workers) {
        const was = before.get(worker);
        const is = was === undefined ? null : await measured(worker);
        if (was === undefined || is === null) continue;
        const grown = Math.max(0, is - was);
        grownMb = Math.max(grownMb ?? 0, grown);
        if (grown > MAX_GROWTH_MB) complain(`the heap of a worker grew from ${was} to ${is} MB`);
      }
      const allowed = ARENA + workers.length * PER_WORKER;
      const found = await patiently(ground.connections);
      if (found > allowed) complain(`${found} connections are open at rest, ${allowed} may be`);
    },
    async complaintsAfterwards() {
      const deadline = Date.now() + PATIENCE_MS;
      let found = await patiently(ground.connections);
      while (found > ARENA && Date.now() < deadline) {
        await pause(50);
        found = await patiently(ground.connections);
      }
      if (found > ARENA) complain(`${found} connections are open after the workers have ended`);
      return complaints;
    },
  };
}
