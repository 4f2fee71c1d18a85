/**
 * Peers: the same workload on other systems, on the same servers, in the same run. They are
 * installed by `deno task bench` only, when it needs them, and each runs in a process of its own.
 */

import { execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { postgresStore } from "../drivers/postgres/mod.ts";
import { sqliteStore } from "../drivers/sqlite/mod.ts";
import { freshPostgres, freshSqlite, postgresServer } from "../tests/_servers.ts";
import type { Measured, Row, Size } from "./measure.ts";
import { stepsPerSecond } from "./pawl.ts";

const FOLDER = fileURLToPath(new URL("./peers/", import.meta.url));
const run = promisify(execFile);

/** Installs the peers, unless they are there. */
export async function installPeers(): Promise<void> {
  const installed = path.join(FOLDER, "node_modules", ".package-lock.json");
  const wanted = path.join(FOLDER, "package.json");
  const isNew = existsSync(installed) && statSync(installed).mtimeMs > statSync(wanted).mtimeMs;
  if (isNew) return;
  process.stderr.write("installing the peers …\n");
  const flags = ["--no-package-lock", "--no-audit", "--no-fund"];
  try {
    await run("npm", ["install", "--prefix", FOLDER, ...flags]);
  } catch (cause) {
    throw new Error(
      "Cannot install the peers with npm: see what it says, or leave them out with --no-peers",
      { cause },
    );
  }
}

/** Runs the workload on a peer; resolves to its steps per second and its version. */
async function peer(
  name: string,
  address: string,
  workflows: number,
): Promise<{ readonly version: string; readonly perSecond: number }> {
  const args = ["run", "-A", "--no-check", "--config", `${FOLDER}deno.json`, `${FOLDER}run.mjs`];
  const { stdout } = await run(process.execPath, [...args, name, address, String(workflows)]);
  return JSON.parse(stdout.trim().split("\n").at(-1) as string);
}

function scaled(count: number, { scale }: Size): number {
  return Math.max(100, Math.round(count * scale));
}

/** How many workflows Pawl runs, and how many a peer that is ten times slower. */
const OURS = 4_000;
const THEIRS = 1_000;

async function onPostgres(size: Size): Promise<number> {
  await using database = await freshPostgres({ record: false });
  const store = postgresStore(database.url);
  try {
    return await stepsPerSecond(store, scaled(OURS, size));
  } finally {
    await store.close();
  }
}

function postgresPeer(id: string, name: string, title: string, bar: Row["bar"]): Row {
  return {
    id,
    name: `Postgres: 5 no-op steps, 100 in flight, against ${title}`,
    unit: "steps/s",
    bar,
    async measure(size): Promise<Measured | null> {
      if (await postgresServer() === null) return null;
      const value = await onPostgres(size);
      await using database = await freshPostgres({ record: false });
      const { perSecond, version } = await peer(name, database.url, scaled(THEIRS, size));
      return { value, baseline: perSecond, note: version };
    },
  };
}

const bullmq: Row = {
  id: "3",
  name: "Postgres: 5 no-op steps, 100 in flight, against BullMQ on Redis (AOF everysec)",
  unit: "steps/s",
  bar: { atLeast: 1 },
  async measure(size) {
    if (await postgresServer() === null) return null;
    const value = await onPostgres(size);
    const redis = await startRedis();
    try {
      const { perSecond, version } = await peer("bullmq", redis.url, scaled(OURS, size));
      return { value, baseline: perSecond, note: version };
    } finally {
      redis.stop();
    }
  },
};

const openworkflowSqlite: Row = {
  id: "4b",
  name: "SQLite: 5 no-op steps, 100 in flight, against OpenWorkflow on SQLite",
  unit: "steps/s",
  bar: { atLeast: 15 },
  async measure(size) {
    await using ours = await freshSqlite({ record: false });
    await using theirs = await freshSqlite({ record: false });
    const store = sqliteStore(ours.url);
    const value = await stepsPerSecond(store, scaled(OURS, size));
    await store.close();
    const { perSecond, version } = await peer(
      "openworkflow_sqlite",
      theirs.url,
      scaled(THEIRS, size),
    );
    return { value, baseline: perSecond, note: version };
  },
};

/** A Redis of our own, so that nobody else's settings count: every write is on disk in a second. */
async function startRedis(): Promise<{ readonly url: string; stop(): void }> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "pawl_bench_redis_"));
  const port = await freePort();
  const child = spawn("redis-server", [
    ...["--port", String(port), "--bind", "127.0.0.1", "--dir", folder],
    ...["--appendonly", "yes", "--appendfsync", "everysec", "--save", ""],
  ], { stdio: ["ignore", "pipe", "ignore"] });
  await new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.stdout?.on("data", (text) => String(text).includes("Ready to accept") && resolve());
  });
  return {
    url: `redis://127.0.0.1:${port}`,
    stop() {
      child.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

/** The rows that need the peers; those without a bar are for comparison only. */
export const PEER_ROWS: readonly Row[] = [
  postgresPeer("2a", "dbos", "DBOS", { atLeast: 8 }),
  postgresPeer("2b", "openworkflow_postgres", "OpenWorkflow", { atLeast: 8 }),
  postgresPeer("2c", "graphile", "chains of graphile-worker jobs", null),
  postgresPeer("2d", "pgboss", "chains of pg-boss jobs", null),
  bullmq,
  openworkflowSqlite,
];
