/**
 * What the tests of the SQLite store share: builders, databases that are cleaned up, and a second
 * process that holds a lock.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import { sqliteStore, type SqliteStoreOptions } from "../../drivers/sqlite/mod.ts";
import type { ClaimOptions, Created, MigrateOptions, StoreDriver } from "../../src/seams/store.ts";
import type { Claimed } from "../../src/state/claim.ts";
import type { Finished } from "../../src/state/finish.ts";
import type { NewExecution, NewWorkflow } from "../../src/state/records.ts";

/** The instant at which tests start. */
export const NOW: Date = new Date("2026-03-01T10:00:00.000Z");

/** An instant so many milliseconds after `NOW`. */
export function after(ms: number): Date {
  return new Date(NOW.getTime() + ms);
}

/** How tests claim unless they say otherwise. */
export const CLAIM: ClaimOptions = {
  now: NOW,
  token: "token-1",
  leaseMs: 30_000,
  worker: "worker-1",
};

/** An execution to insert. */
export function newExecution(over: Partial<NewExecution> = {}): NewExecution {
  return {
    stepName: "welcome",
    scheduledFor: NOW,
    graceMs: 0,
    attempt: 1,
    failures: 0,
    continuesFromId: null,
    cursor: null,
    waitingFor: null,
    waitUntil: null,
    metadata: null,
    queue: "default",
    priority: 0,
    hold: null,
    ...over,
  };
}

/** A workflow to insert. */
export function newWorkflow(over: Partial<NewWorkflow> = {}): NewWorkflow {
  return {
    name: "onboarding",
    heroType: "User",
    heroId: "1",
    allowMultiple: false,
    input: null,
    metadata: null,
    jobOptions: null,
    traceparent: null,
    first: newExecution(),
    ...over,
  };
}

/** A verdict: the step was completed and the workflow is finished. */
export function finished(claim: Claimed, over: Partial<Finished> = {}): Finished {
  return {
    executionId: claim.execution.id,
    workflowId: claim.workflow.id,
    token: claim.execution.token as string,
    closing: { state: "completed", outcome: "success", cause: null },
    error: null,
    metadata: null,
    keepCursor: false,
    bodyStarted: true,
    workflowState: "finished",
    nextStepName: null,
    next: null,
    ...over,
  };
}

/** One that was created; fails for a duplicate. */
export function made(created: Created | undefined): Extract<Created, { kind: "created" }> {
  if (created?.kind === "created") return created;
  throw new Error(`Expected a created workflow, got ${JSON.stringify(created)}`);
}

/** Creates one workflow. */
export async function start(
  store: StoreDriver<DatabaseSync>,
  over: Partial<NewWorkflow> = {},
): Promise<Extract<Created, { kind: "created" }>> {
  return made((await store.create([newWorkflow(over)], { now: NOW }))[0]);
}

/** Runs a test with a file that does not exist yet, and removes whatever came of it. */
export async function withFile(test: (path: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "pawl_sqlite_" });
  try {
    await test(`${folder}/app.db`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Runs a test with a migrated store on a file. */
export async function withStore(
  test: (store: StoreDriver<DatabaseSync>, path: string) => Promise<void>,
  options: SqliteStoreOptions & MigrateOptions = {},
): Promise<void> {
  const { keyType, dryRun: _, ...rest } = options;
  await withFile(async (path) => {
    const store = sqliteStore(path, rest);
    try {
      await store.migrate({ keyType });
      await test(store, path);
    } finally {
      await store.close();
    }
  });
}

/** Runs a test with a migrated store on a database in memory that the test can look into. */
export async function withMemory(
  test: (store: StoreDriver<DatabaseSync>, db: DatabaseSync) => Promise<void>,
  options: SqliteStoreOptions & MigrateOptions = {},
): Promise<void> {
  const { keyType, dryRun: _, ...rest } = options;
  const db = new DatabaseSync(":memory:");
  try {
    const store = sqliteStore(db, rest);
    await store.migrate({ keyType });
    await test(store, db);
  } finally {
    db.close();
  }
}

/** How many rows a table has. */
export function rowCount(db: DatabaseSync, table: string): number {
  return Number(db.prepare(`SELECT COUNT(*) AS total FROM ${table}`).get()?.total);
}

/** Another process that holds the write lock of a file until it is told to let go. */
export interface Holder {
  /** Lets go of the lock and ends the process. */
  release(): Promise<void>;
  /** Kills the process in the middle of its transaction. */
  kill(): Promise<void>;
}

/** Starts a process that takes the write lock; resolves once it has it. */
export async function holdLock(path: string): Promise<Holder> {
  const script = new URL("./_hold_lock.ts", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", script, path],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  const said = new TextDecoder().decode(value).trim();
  if (said !== "held") throw new Error(`The holder said ${JSON.stringify(said)}`);
  async function ended(): Promise<void> {
    while (!(await reader.read()).done);
    await child.status;
  }
  return {
    async release() {
      await child.stdin.close();
      await ended();
    },
    async kill() {
      child.kill("SIGKILL");
      await ended();
      await child.stdin.abort().catch(() => {});
    },
  };
}
