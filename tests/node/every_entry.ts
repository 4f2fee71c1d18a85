/**
 * Every entry of the package but one as TypeScript sees it: what is inferred and what is refused. It is
 * compiled against the sources by Deno and against the installed package by `tsc`; nobody runs it.
 */

import {
  backoff,
  createEngine,
  DuplicateWorkflowError,
  type Engine,
  type ExecutionRecord,
  hero,
  type Iter,
  policy,
  type QueueDriver,
  removedStep,
  type Run,
  type SignalEvent,
  type StoreDriver,
  workflow,
} from "@pawl/pawl";
import { bullmqQueue } from "@pawl/pawl/bullmq";
import { run as runCommandLine } from "@pawl/pawl/cli";
import { dashboard, toNodeListener } from "@pawl/pawl/dashboard";
import { denoKvQueue } from "@pawl/pawl/deno-kv";
import { graphileWorkerQueue } from "@pawl/pawl/graphile-worker";
import { memoryStore } from "@pawl/pawl/memory";
import { mysqlStore } from "@pawl/pawl/mysql";
import { pgBossQueue } from "@pawl/pawl/pg-boss";
import { postgresStore } from "@pawl/pawl/postgres";
import { inlineQueue, pollingQueue, postgresQueue } from "@pawl/pawl/queues";
import { sqliteStore } from "@pawl/pawl/sqlite";
import {
  assertWorkflowState,
  crashSweep,
  queueCases,
  registerQueueCases,
  registerStoreCases,
  type StoreCase,
  storeCases,
  type TestEngine,
  testEngine,
} from "@pawl/pawl/testing";
import { Redis } from "ioredis";
import { createPool } from "mysql2/promise";
import { createServer, type Server } from "node:http";
import { DatabaseSync } from "node:sqlite";
// @ts-types="@types/pg"
import pg from "pg";

/** True when two types are the same, not only assignable. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : false;

/** Compiles only when both types are the same. */
function same<A, B>(..._proof: Same<A, B> extends true ? [] : ["the types differ"]): void {}

interface User {
  readonly id: string;
  readonly name: string;
}

const users = hero("User", {
  load: (id): User | null => ({ id, name: "Ada" }),
  idOf: (user: User) => user.id,
});

const onboarding = workflow({
  name: "onboarding",
  hero: users,
  cancelIf: (context) => same<typeof context.hero, User>(),
  onException: policy("reattempt", { wait: backoff.polynomial(), maxReattempts: 5 }),
  steps: [
    {
      name: "plain",
      wait: "2 days",
      skipIf: ({ hero }) => hero.name === "",
      run: (context) => {
        same<typeof context.hero, User>();
        same<typeof context.attempt, number>();
        same<typeof context.signal, AbortSignal>();
        same<ReturnType<typeof context.cancel>, never>();
        // @ts-expect-error -- a plain step has no iteration
        context.iter;
      },
    },
    {
      name: "resumable",
      resumable: true,
      maxRuntime: "5 minutes",
      run: async ({ iter }) => {
        same<typeof iter, Iter>();
        await iter.over(["a", "b"], (item) => same<typeof item, string>());
      },
    },
    {
      name: "signalled",
      waitFor: "approved",
      run: ({ event }) => same<typeof event, SignalEvent>(),
    },
    removedStep("gone"),
    // @ts-expect-error -- an unknown option
    { name: "wrong", runs: () => {}, run: () => {} },
  ],
});

const pool = new pg.Pool();
const mysqlPool = createPool("mysql://root@localhost/app");

/** The stores, each with what it takes and with the type of its transactions. */
export const stores: readonly StoreDriver[] = [
  memoryStore(),
  sqliteStore("app.db", { synchronous: "full" }),
  sqliteStore(new DatabaseSync(":memory:")),
  postgresStore("postgres://localhost/app", { schema: "jobs" }),
  postgresStore(pool),
  mysqlStore("mysql://localhost/app", { tablePrefix: "jobs_" }),
  mysqlStore(mysqlPool),
];

/** The queues. */
export const queues: readonly QueueDriver[] = [
  inlineQueue({ deferred: true }),
  pollingQueue(),
  denoKvQueue({ path: "jobs.kv" }),
  postgresQueue(pool, { batchSize: 5 }),
  bullmqQueue("redis://localhost", { prefix: "app" }),
  bullmqQueue({ host: "localhost" }),
  bullmqQueue(new Redis()),
  graphileWorkerQueue(pool, { schema: "jobs" }),
  graphileWorkerQueue("postgres://localhost/app"),
  pgBossQueue(pool, { batchSize: 5 }),
  pgBossQueue("postgres://localhost/app"),
];

/** A queue in the store's own database. */
export const inOneDatabase: Engine = createEngine({
  store: postgresStore(pool),
  queue: postgresQueue(pool),
  workflows: [onboarding],
});

/** What an application does with an engine. */
export async function useEngine(): Promise<void> {
  const engine = createEngine({ store: sqliteStore("app.db"), workflows: [onboarding] });
  same<typeof engine, Engine>();
  await engine.migrate();
  try {
    const run = await engine.start(onboarding, { hero: { id: "1", name: "Ada" } });
    same<typeof run, Run>();
    same<Awaited<ReturnType<typeof run.history>>, ExecutionRecord[]>();
    // @ts-expect-error -- not a hero of this workflow
    await engine.start(onboarding, { hero: { paws: 4 } });
  } catch (error) {
    if (error instanceof DuplicateWorkflowError) same<typeof error.existingId, string | null>();
  }
  await sqliteStore("app.db").transaction((tx) => {
    same<typeof tx, DatabaseSync>();
    return Promise.resolve();
  });
  await postgresStore(pool).transaction(async (tx) => void await tx.query("SELECT 1"));
  await mysqlStore(mysqlPool).transaction(async (tx) => void await tx.query("SELECT 1"));
  engine.events.on("finalize", (event) => same<typeof event.durationMs, number>());
  await engine.close();
  await engine[Symbol.asyncDispose]();
}

/** The dashboard behind the server of Node. */
export function useDashboard(engine: Engine): Server {
  return createServer(toNodeListener(dashboard(engine, { basePath: "/pawl" })));
}

/** What a test does. */
export async function useTesting(): Promise<void> {
  const made = await testEngine({ workflows: [onboarding] });
  same<typeof made, TestEngine>();
  await made.clock.tick("2 days");
  await assertWorkflowState(await made.engine.start(onboarding, { hero: "1" }), "ready");
  same<typeof storeCases, readonly StoreCase[]>();
  registerQueueCases(`mine of ${queueCases.length}`, { open: () => null as never }, () => {});
  await crashSweep(onboarding);
  registerStoreCases("mine", { database: () => ({ open: () => memoryStore() }) }, () => {});
}

/** The command line as a function. */
export const commandLine: Promise<number> = runCommandLine(["--version"], {} as never);
