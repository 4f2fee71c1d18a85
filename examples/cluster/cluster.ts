/**
 * Several real processes on one database: starting and killing them, and checking afterwards, from
 * the rows and from the journals that the bodies wrote, that the promises were kept.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Engine } from "../../mod.ts";
import { check, type Harm, type Verdict } from "./checker.ts";
import { openEngine, orderAt, type Where } from "./engine.ts";
import type { WorkerTask } from "./worker.ts";

const WORKER = fileURLToPath(new URL("./worker.ts", import.meta.url));
const DEADLINE_MS = 120_000;

/** A database with workflows in it, and the processes that work on them. */
export interface Cluster extends AsyncDisposable {
  /** An engine that starts workflows and runs none. */
  readonly engine: Engine;
  /** Starts so many workflows. */
  start(count: number): Promise<void>;
  /** Starts a worker process whose bodies take so long. */
  spawn(paceMs?: number): ChildProcess;
  /** Kills a worker process and notes when. */
  kill(child: ChildProcess): Promise<void>;
  /** Notes that something else was harmed just now, such as the database. */
  harmed(): void;
  /** How many workflows have not ended. */
  left(): Promise<number>;
  /** Resolves when all workflows have ended; `meanwhile` is called at every look. */
  ended(meanwhile?: (left: number) => Promise<void>): Promise<void>;
  /** How many bodies have begun so far: in one process, or in all. */
  begun(child?: ChildProcess): number;
  /** Stops the processes and checks rows and journals. */
  verdict(harm: Omit<Harm, "kills">): Promise<Verdict>;
}

/**
 * Opens a cluster on an empty database. What the workers log goes where errors of this process go,
 * or line by line to `hear`.
 */
export async function cluster(
  where: Where,
  hear?: (line: string) => void,
): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), "pawl-cluster-"));
  const definition = orderAt(where, () => {});
  const engine = await openEngine(where, definition);
  await engine.migrate();
  const children = new Set<ChildProcess>();
  const journals = new Map<ChildProcess, string>();
  const kills: number[] = [];
  let started = 0;

  async function left(): Promise<number> {
    const counts = await engine.counts();
    const open = counts.filter(({ state }) => state !== "finished");
    return open.reduce((sum, { count }) => sum + count, 0);
  }

  return {
    engine,
    left,
    async start(count) {
      await engine.startMany(definition, Array.from({ length: count }, () => ({})));
      started += count;
    },
    spawn(paceMs = 0) {
      const journal = join(folder, `${journals.size + 1}`);
      const task: WorkerTask = { ...where, journal, paceMs };
      const args = ["run", "-A", "--no-check", WORKER, JSON.stringify(task)];
      const errors = hear === undefined ? "inherit" : "pipe";
      const child = spawn(process.execPath, args, { stdio: ["pipe", "inherit", errors] });
      if (hear !== undefined && child.stderr !== null) {
        createInterface({ input: child.stderr }).on("line", hear);
      }
      children.add(child);
      journals.set(child, journal);
      return child;
    },
    harmed: () => void kills.push(Date.now()),
    async kill(child) {
      kills.push(Date.now());
      await end(child, "SIGKILL");
      children.delete(child);
    },
    async ended(meanwhile) {
      const deadline = Date.now() + DEADLINE_MS;
      for (let open = await left(); open > 0; open = await left()) {
        if (Date.now() > deadline) throw new Error(`Not done in time: ${open} have not ended`);
        await meanwhile?.(open);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    begun(child) {
      const files = child === undefined ? [...journals.values()] : [journals.get(child) ?? ""];
      return files.reduce((sum, file) => sum + linesIn(file), 0);
    },
    async verdict(harm) {
      for (const child of children) {
        if (child.exitCode !== null) throw new Error("A worker process has ended by itself");
        await end(child, "SIGTERM");
      }
      children.clear();
      const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
      return await check(engine, started, texts, { ...harm, kills });
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) await end(child, "SIGKILL");
      await engine.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill(signal);
  await gone;
}

/** How many lines a journal has; one that was not begun has none. */
function linesIn(file: string): number {
  if (!existsSync(file)) return 0;
  const bytes = readFileSync(file);
  let lines = 0;
  for (const byte of bytes) if (byte === 10) lines++;
  return lines;
}
