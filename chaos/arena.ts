/** The arena: a fresh database with workflows in it, and worker processes to do things to. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import process from "node:process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createEngine, type Engine, type Run } from "../mod.ts";
import { check, type Findings, readJournal } from "./checker.ts";
import { type Application, openApplication, openStore } from "./databases.ts";
import { story } from "./story.ts";

const WORKER = fileURLToPath(new URL("./worker.ts", import.meta.url));
/** A run that takes longer than this is stuck. */
const DEADLINE_MS = 120_000;
/** How long a body takes, so that faults meet running bodies. */
const PACE_MS = 3;

/** Workflows under way, and the processes that run them. */
export interface Arena {
  readonly engine: Engine;
  readonly application: Application;
  /** The worker processes that live. */
  readonly workers: readonly ChildProcess[];
  /** Starts a worker process; its clock may be wrong. */
  spawn(skewMs?: number): ChildProcess;
  /** Ends a worker process. */
  end(child: ChildProcess, signal: NodeJS.Signals): Promise<void>;
  /** How many workflows have not come to rest. */
  left(): Promise<number>;
  /** Waits until all have, or says which have not. */
  settle(): Promise<void>;
  /** Ends the workers and checks rows and journals. */
  verdict(): Promise<Findings>;
  close(): Promise<void>;
}

/** Opens an arena with so many workflows. */
export async function openArena(address: string, workflows: number): Promise<Arena> {
  const folder = mkdtempSync(join(tmpdir(), "pawl-chaos-"));
  const definition = story({ journal: () => {}, book: () => Promise.resolve(), paceMs: 0 });
  const engine = createEngine({ store: openStore(address), workflows: [definition] });
  await engine.migrate();
  const application = await openApplication(address);
  await application.run("CREATE TABLE ledger (workflow_id VARCHAR(40) NOT NULL)");
  await engine.startMany(definition, Array.from({ length: workflows }, () => ({})));
  const workers: ChildProcess[] = [];
  let spawned = 0;

  async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
    workers.splice(workers.indexOf(child), 1);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    if (child.pid !== undefined) process.kill(child.pid, signal);
    await gone;
  }

  async function left(): Promise<number> {
    const counts = await patiently(() => engine.counts());
    return counts.filter(({ state }) => state === "ready" || state === "performing")
      .reduce((sum, { count }) => sum + count, 0);
  }

  return {
    engine,
    application,
    workers,
    spawn(skewMs = 0) {
      const journal = join(folder, String(++spawned));
      const args = ["run", "-A", "--no-check", WORKER, address, journal, `${PACE_MS}`, `${skewMs}`];
      const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
      workers.push(child);
      return child;
    },
    end,
    left,
    async settle() {
      const deadline = Date.now() + DEADLINE_MS;
      while (await left() > 0) {
        if (Date.now() > deadline) return;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    async verdict() {
      for (const child of [...workers]) await end(child, "SIGTERM");
      const lines = readdirSync(folder)
        .flatMap((name) => readJournal(readFileSync(join(folder, name), "utf8")));
      const runs = await allRuns(engine);
      const dossiers: { run: Run; history: Awaited<ReturnType<Run["history"]>> }[] = [];
      const ledger = new Map<string, number>();
      for (const run of runs) {
        dossiers.push({ run, history: await run.history() });
        const sql = `SELECT count(*) AS n FROM ledger WHERE workflow_id = '${run.id}'`;
        ledger.set(run.id, await application.count(sql));
      }
      return check(dossiers, lines, ledger);
    },
    async close() {
      for (const child of [...workers]) await end(child, "SIGKILL");
      await application.close();
      await engine.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Asks again while the database is away: that is what the chaos is about. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + DEADLINE_MS;
  while (true) {
    try {
      return await ask();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

async function allRuns(engine: Engine): Promise<Run[]> {
  const runs: Run[] = [];
  let after: string | null = null;
  do {
    const page: { items: Run[]; next: string | null } = await engine.list({ limit: 500, after });
    runs.push(...page.items);
    after = page.next;
  } while (after !== null);
  return runs;
}
