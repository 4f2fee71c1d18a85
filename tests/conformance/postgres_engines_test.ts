/** The queues over other people's engines in PostgreSQL run the same cases as every queue. */

import { graphileWorkerQueue } from "../../drivers/queues/graphile_worker.ts";
import { pgBossQueue } from "../../drivers/queues/pg_boss.ts";
import { type QueueDriver, systemClock } from "../../mod.ts";
import { wait } from "../../src/seams/clock.ts";
import { type CaseQueue, registerQueueCases } from "../../src/testing/conformance.ts";
import { type FreshDatabase, freshPostgres } from "../_servers.ts";
import { HAS_POSTGRES, queryOn } from "../drivers/_postgres.ts";

/** The engines: how a queue is opened, and how it is emptied. */
const ENGINES: Readonly<Record<string, { open(url: string): QueueDriver; empty: string }>> = {
  "graphile-worker": {
    open: (url) => graphileWorkerQueue(url),
    empty: "DELETE FROM graphile_worker._private_jobs",
  },
  "pg-boss": {
    open: (url) => pgBossQueue(url),
    empty: "DELETE FROM pgboss.job",
  },
};

let shared: Promise<FreshDatabase> | null = null;

Deno.test.afterAll(async () => await (await shared)?.drop());

for (const [name, { open, empty }] of Object.entries(ENGINES)) {
  const bench = async (): Promise<CaseQueue> => {
    const { url } = await (shared ??= freshPostgres());
    return {
      queue: open(url),
      clock: systemClock,
      advance: (ms) => wait(systemClock, ms),
      // A case that used nothing has made no table.
      drop: () => queryOn(url, empty).then(() => {}, () => {}),
    };
  };
  registerQueueCases(name, { open: bench }, (title, run, skip) => {
    Deno.test({ name: title, fn: run, ignore: skip !== null || !HAS_POSTGRES });
  });
}
