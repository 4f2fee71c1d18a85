/** The arena: a fresh database with workflows in it, and worker processes to do things to. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import process from "node:process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createEngine, type Engine } from "../mod.ts";
import { openStore } from "../tests/_open_store.ts";
import { allRuns } from "../tests/_runs.ts";
import { openWire, type Wire } from "../tests/_wire.ts";
import { check, type Complaint, type Dossier, type Findings } from "./checker.ts";
import type { Ground } from "./databases.ts";
import { type Journals, readHeaps, readJournals } from "./journal.ts";
import { createLevels, type Levels } from "./levels.ts";
import { patiently } from "./patience.ts";
import { story } from "./story.ts";
import { unreliableQueue } from "./unreliable_queue.ts";
import { LOST_JOB_MS, type Orders } from "./worker.ts";

const WORKER = fileURLToPath(new URL("./worker.ts", import.meta.url));
/** How long a body and an item take, so that faults meet running bodies. */
const PACE_MS = 25;
/** How long a worker may take to stop. */
const STOP_MS = 10_000;

/** Workflows under way, and the processes that run them. */
export interface Arena extends AsyncDisposable {
  readonly engine: Engine;
  readonly ground: Ground;
  /** What the workers' connections go through; null on SQLite. */
  readonly wire: Wire | null;
  /** The worker processes that live. */
  readonly workers: readonly ChildProcess[];
  readonly levels: Levels;
  /** Starts a worker process. */
  spawn(): ChildProcess;
  /** Starts another program of the chaos, with the database's address and a seed. */
  spawnHelper(program: string): ChildProcess;
  /** Breaks the stores of the workers, also of those to come, where that was asked for. */
  breakStores(): void;
  /** Ends a process; false when it had to be killed because it did not go. */
  end(child: ChildProcess, signal: NodeJS.Signals): Promise<boolean>;
  /** Starts so many more workflows. */
  start(workflows: number): Promise<void>;
  /** How many workflows have not come to rest. */
  left(): Promise<number>;
  /** What the journals say so far. */
  journals(): Journals;
  /** Ends the workers and checks rows, journals and what is left on the server. */
  verdict(): Promise<Findings>;
}

/** What an arena is opened for. */
export interface ArenaOptions extends Pick<Orders, "harm" | "broken"> {
  /** What the workers' own faults are drawn from. */
  readonly seed: number;
  /** Keep the journals in this folder, and the rows in a file beside it. */
  readonly keepIn?: string | undefined;
}

/** Opens an arena without workflows. */
export async function openArena(ground: Ground, options: ArenaOptions): Promise<Arena> {
  const { address } = ground;
  const folder = options.keepIn ?? mkdtempSync(join(tmpdir(), "pawl-chaos-"));
  const definition = story({
    journal: { body() {} },
    book: () => Promise.resolve(),
    pace: () => Promise.resolve(),
  });
  const engine = createEngine({
    store: await openStore(address, { maxConnections: 2 }),
    // Of a queue in the memory of the workers the arena cannot know: all its jobs are lost.
    ...options.harm === "queue" ? { queue: deafQueue() } : {},
    housekeeping: { stuckScheduled: LOST_JOB_MS },
    workflows: [definition],
  });
  await engine.migrate();
  await ground.ask("CREATE TABLE ledger (workflow_id VARCHAR(40) NOT NULL)");
  const wire = ground.name === "sqlite" ? null : await openWire(address);
  const workers: ChildProcess[] = [];
  const journalOf = new Map<ChildProcess, string>();
  const helpers: ChildProcess[] = [];
  let spawned = 0;
  let storesBreak = false;
  let unwilling = 0;

  function run(program: string, args: readonly string[]): ChildProcess {
    const path = program === WORKER ? WORKER : fileURLToPath(new URL(program, import.meta.url));
    const all = ["run", "-A", "--no-check", "--v8-flags=--expose-gc", path, ...args];
    return spawn(process.execPath, all, { stdio: ["pipe", "ignore", "inherit"] });
  }

  async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<boolean> {
    for (const list of [workers, helpers]) {
      if (list.includes(child)) list.splice(list.indexOf(child), 1);
    }
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) {
      return true;
    }
    const { pid } = child;
    const gone = once(child, "exit");
    child.stdin?.end();
    let stays = false;
    const timer = setTimeout(() => {
      stays = true;
      process.kill(pid, "SIGKILL");
    }, STOP_MS);
    // Not `child.kill`: a process that was signalled once counts as killed for it.
    process.kill(pid, signal);
    await gone;
    clearTimeout(timer);
    if (stays) unwilling++;
    return !stays;
  }

  const levels = createLevels({
    ground,
    workers,
    heaps: (worker) => readHeaps(journalOf.get(worker) ?? ""),
  });
  return {
    engine,
    ground,
    wire,
    workers,
    levels,
    spawn() {
      const journal = join(folder, String(++spawned));
      const orders: Orders = {
        address: wire?.url ?? address,
        journal,
        seed: options.seed + spawned,
        paceMs: PACE_MS,
        harm: options.harm,
        broken: options.broken,
      };
      const child = run(WORKER, [JSON.stringify(orders)]);
      workers.push(child);
      journalOf.set(child, journal);
      if (storesBreak) child.stdin?.write("break\n");
      return child;
    },
    breakStores() {
      storesBreak = true;
      for (const { stdin } of workers) stdin?.write("break\n");
    },
    spawnHelper(program) {
      const child = run(program, [address, String(options.seed)]);
      helpers.push(child);
      return child;
    },
    end,
    async start(workflows) {
      const items = Array.from({ length: workflows }, () => ({}));
      await patiently(() => engine.startMany(definition, items));
    },
    async left() {
      const counts = await patiently(() => engine.counts());
      return counts.filter(({ state }) => state === "ready" || state === "performing")
        .reduce((sum, { count }) => sum + count, 0);
    },
    journals: () => readJournals(folder),
    async verdict() {
      for (const child of [...helpers]) await end(child, "SIGKILL");
      for (const child of [...workers]) await end(child, "SIGTERM");
      const dossiers = await dossiersOf(engine, ground);
      const findings = check(dossiers, readJournals(folder).lines);
      if (options.keepIn !== undefined) {
        writeFileSync(`${folder}.json`, JSON.stringify(dossiers, null, 1));
      }
      const complaints: Complaint[] = [
        ...findings.complaints,
        ...await stuckRows(ground),
        ...unwillingWorkers(unwilling),
        ...await levels.complaintsAfterwards(),
      ];
      return { ...findings, complaints };
    },
    async [Symbol.asyncDispose]() {
      for (const child of [...helpers, ...workers]) await end(child, "SIGKILL");
      await wire?.[Symbol.asyncDispose]();
      await engine.close();
      if (options.keepIn === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

function deafQueue(): ReturnType<typeof unreliableQueue> {
  return {
    ...unreliableQueue({ between: (from) => from, pick: ([first]) => first as never }, () => {}),
    enqueue: () => Promise.resolve(),
  };
}

async function dossiersOf(engine: Engine, ground: Ground): Promise<Dossier[]> {
  const entries = await ground.ask(
    "SELECT workflow_id AS id, count(*) AS n FROM ledger GROUP BY 1",
  );
  const booked = new Map(entries.map(({ id, n }) => [String(id), Number(n)]));
  const dossiers: Dossier[] = [];
  for (const run of await allRuns(engine)) {
    const { id, state } = run;
    dossiers.push({ id, state, history: await run.history(), booked: booked.get(id) ?? 0 });
  }
  return dossiers;
}

function unwillingWorkers(count: number): Complaint[] {
  if (count === 0) return [];
  const sentence = `${count} workers did not stop within ${STOP_MS} ms and had to be killed`;
  return [{ kind: "stuck", sentence }];
}

/** Rows that nobody would look at again, though their workflow has ended. */
async function stuckRows(ground: Ground): Promise<Complaint[]> {
  const rows = await ground.ask(
    "SELECT e.id AS id, e.state AS state, w.state AS stands FROM pawl_step_executions e " +
      "JOIN pawl_workflows w ON w.id = e.workflow_id " +
      "WHERE e.state IN ('scheduled', 'in_progress') AND w.state IN ('finished', 'canceled')",
  );
  return rows.map(({ id, state, stands }) => {
    return { kind: "stuck", sentence: `execution ${id} is ${state}, its workflow is ${stands}` };
  });
}
