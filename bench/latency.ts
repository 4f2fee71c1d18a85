/**
 * From a start to the body of its first step, with a worker that is idle, or under load; and what
 * an idle worker costs.
 */

import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import readline from "node:readline";
import { fileURLToPath } from "node:url";
// @ts-types="@types/pg"
import pg from "pg";
import { pollingQueue } from "../drivers/queues/mod.ts";
import { createEngine, type StoreDriver, workflow } from "../mod.ts";
import { median } from "./measure.ts";
import { noops } from "./pawl.ts";

/** The tables of the bare shape, and how a start writes and announces what a worker then claims. */
export const BARE_TABLES = `
  CREATE SCHEMA raw;
  CREATE TABLE raw.w (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text, state text);
  CREATE TABLE raw.e (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, workflow_id bigint,
    state text, token text, wake_at timestamptz);
  CREATE INDEX e_live ON raw.e (state, wake_at) WHERE wake_at IS NOT NULL;`;
const BARE_START = `
  WITH fresh AS (INSERT INTO raw.w (name, state) VALUES ('one', 'ready') RETURNING id),
    first AS (INSERT INTO raw.e (workflow_id, state, wake_at)
      SELECT id, 'scheduled', $1 FROM fresh RETURNING id)
  SELECT pg_notify('raw_wake', '') FROM first`;

/** The instant on a clock that processes of one machine share, with parts of milliseconds. */
export function instant(): number {
  return performance.timeOrigin + performance.now();
}

/** The middle of the times from start to body, in another process, of so many starts. */
export async function startToBodyMs(
  url: string,
  how: "pawl" | "bare",
  starts: number,
): Promise<number> {
  const worker = fileURLToPath(new URL("./idle_worker.ts", import.meta.url));
  const child = spawn(process.execPath, ["run", "-A", "--no-check", worker, how, url], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = linesOf(child);
  const starter = how === "pawl" ? await pawlStarter(url) : await bareStarter(url);
  try {
    await lines.next(); // It says that it is ready.
    const tookMs: number[] = [];
    for (let at = 0; at < starts; at++) {
      // Long enough for both sides to be idle again.
      await new Promise((resolve) => setTimeout(resolve, 5));
      const startedAt = instant();
      const line = lines.next();
      await starter.start();
      tookMs.push(Number((await line).value) - startedAt);
    }
    return median(tookMs);
  } finally {
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.stdin?.end();
    await gone;
    await starter.close();
  }
}

function linesOf(child: ChildProcess): AsyncIterator<string> {
  const input = child.stdout as NonNullable<typeof child.stdout>;
  return readline.createInterface({ input })[Symbol.asyncIterator]();
}

interface Starter {
  start(): Promise<unknown>;
  close(): Promise<void>;
}

async function pawlStarter(url: string): Promise<Starter> {
  const { postgresStore } = await import("../drivers/postgres/mod.ts");
  const store = postgresStore(url);
  const definition = workflow({ name: "one", steps: [{ name: "only", run: () => {} }] });
  const engine = createEngine({ store, workflows: [definition] });
  return { start: () => engine.start(definition), close: () => store.close() };
}

async function bareStarter(url: string): Promise<Starter> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return {
    start: () => client.query({ name: "start", text: BARE_START, values: [new Date()] }),
    close: () => client.end(),
  };
}

/** Starts workflows of five steps at a steady rate and answers the 99th of 100 latencies. */
export async function loadedP99Ms(store: StoreDriver, perSecond: number, forMs: number): Promise<{
  readonly p99: number;
  readonly stepsPerSecond: number;
}> {
  const tookMs: number[] = [];
  const definition = noops(5);
  const probe = workflow({
    name: "probe",
    steps: [{
      name: "only",
      run({ input }) {
        tookMs.push(performance.now() - (input as { startedAt: number }).startedAt);
      },
    }],
  });
  const engine = createEngine({ store, queue: pollingQueue(), workflows: [definition, probe] });
  await engine.migrate();
  let steps = 0;
  engine.events.on("finalize", () => void steps++);
  const worker = engine.work({ concurrency: 100 });
  const beganAt = performance.now();
  let started = 0;
  while (performance.now() - beganAt < forMs) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    const due = Math.floor((performance.now() - beganAt) / 1_000 * perSecond / 5) - started;
    started += due;
    await Promise.all([
      engine.start(probe, { input: { startedAt: performance.now() } }),
      ...Array.from({ length: due }, () => engine.start(definition)),
    ]);
  }
  const seconds = (performance.now() - beganAt) / 1_000;
  await worker.stop();
  tookMs.sort((a, b) => a - b);
  return { p99: tookMs[Math.floor(tookMs.length * 0.99)] ?? 0, stepsPerSecond: steps / seconds };
}

/** How much of one core an idle worker takes, in percent. */
export async function idlePercent(store: StoreDriver, forMs: number): Promise<number> {
  const engine = createEngine({ store, queue: pollingQueue(), workflows: [noops(5)] });
  await engine.migrate();
  const worker = engine.work({ concurrency: 100 });
  await new Promise((resolve) => setTimeout(resolve, 500));
  const before = process.cpuUsage();
  await new Promise((resolve) => setTimeout(resolve, forMs));
  const { user, system } = process.cpuUsage(before);
  await worker.stop();
  return 100 * (user + system) / 1_000 / forMs;
}
