/**
 * Several real processes on one database: starting and killing them, and checking afterwards, from
 * the rows and from the journals that the bodies wrote, that the promises were kept.
 */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createEngine, type Engine, type ExecutionRecord } from "../../mod.ts";
import { allRuns } from "../_runs.ts";
import { LEASE_MS, order, STEPS } from "./_story.ts";
import { openStore } from "../_open_store.ts";

const WORKER = fileURLToPath(new URL("./_worker.ts", import.meta.url));
const DEADLINE_MS = 120_000;

/** A database with workflows in it, and the processes that work on them. */
export interface Cluster extends AsyncDisposable {
  readonly engine: Engine;
  /** Starts a worker process whose bodies take so long. */
  spawn(paceMs?: number): ChildProcess;
  /** Kills a worker process and notes when. */
  kill(child: ChildProcess): Promise<void>;
  /** Resolves when all workflows have ended; `meanwhile` is called at every look. */
  ended(meanwhile?: (left: number) => Promise<void>): Promise<void>;
  /** Checks rows and journals; with `crashes`, bodies may have run more than once. */
  check(options: { crashes: boolean }): Promise<void>;
}

/** Starts so many workflows on a migrated, empty database. */
export async function cluster(address: string, workflows: number): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), "pawl-cluster-"));
  const definition = order(() => {});
  const engine = createEngine({ store: await openStore(address), workflows: [definition] });
  await engine.migrate();
  await engine.startMany(definition, Array.from({ length: workflows }, () => ({})));
  const children = new Set<ChildProcess>();
  const kills: number[] = [];
  let spawned = 0;

  return {
    engine,
    spawn(paceMs = 0) {
      const journal = join(folder, `${++spawned}`);
      const args = ["run", "-A", "--no-check", WORKER, address, journal, `${paceMs}`];
      const child = spawn(Deno.execPath(), args, { stdio: ["ignore", "inherit", "inherit"] });
      children.add(child);
      return child;
    },
    async kill(child) {
      kills.push(Date.now());
      await stop(child, "SIGKILL");
      children.delete(child);
    },
    async ended(meanwhile) {
      const deadline = Date.now() + DEADLINE_MS;
      while (true) {
        const counts = await engine.counts();
        const left = counts.filter((one) => one.state !== "finished")
          .reduce((sum, one) => sum + one.count, 0);
        if (left === 0) return;
        assert.ok(Date.now() < deadline, `not done in time: ${JSON.stringify(counts)}`);
        await meanwhile?.(left);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    async check({ crashes }) {
      for (const child of children) await stop(child, "SIGTERM");
      children.clear();
      const bodies = journalled(folder);
      const runs = await allRuns(engine);
      assert.equal(runs.length, workflows);
      for (let at = 0; at < runs.length; at += 50) {
        await Promise.all(
          runs.slice(at, at + 50).map(async (run) => {
            checkHistory(await run.history(), bodies, { crashes, kills });
          }),
        );
      }
      const total = [...bodies.values()].reduce((sum, count) => sum + count, 0);
      if (!crashes) assert.equal(total, workflows * STEPS.length, "every body ran exactly once");
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) await stop(child, "SIGKILL");
      await engine.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function stop(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill(signal);
  await gone;
}

/** How often the body of each execution ran, by the execution's id. */
function journalled(folder: string): Map<string, number> {
  const bodies = new Map<string, number>();
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    for (const line of readFileSync(join(folder, name), "utf8").split("\n")) {
      const id = line.split(" ")[2];
      // A killed process may leave half a line: that body's write did not happen.
      if (id !== undefined && id !== "") bodies.set(id, (bodies.get(id) ?? 0) + 1);
    }
  }
  return bodies;
}

function checkHistory(
  history: readonly ExecutionRecord[],
  bodies: ReadonlyMap<string, number>,
  { crashes, kills }: { crashes: boolean; kills: readonly number[] },
): void {
  const succeeded = history.filter((one) => one.outcome === "success");
  assert.deepEqual(succeeded.map((one) => one.stepName), [...STEPS]);
  for (const { id } of succeeded) assert.equal(bodies.get(id), 1, `the body of ${id} ran once`);
  for (const one of history) {
    if (one.outcome === "success") continue;
    assert.ok(crashes, `execution ${one.id} is ${one.state}/${one.outcome} without a crash`);
    assert.equal(one.outcome, "recovered");
    assert.ok((bodies.get(one.id) ?? 0) <= 1);
    const ended = one.finishedAt?.getTime() ?? Infinity;
    const killedAt = Math.max(...kills.filter((at) => at <= ended));
    const tookMs = ended - killedAt;
    assert.ok(tookMs < LEASE_MS + 5_000, `recovery took ${tookMs} ms after the kill`);
  }
}
