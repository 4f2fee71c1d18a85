/**
 * How the server finds rows: the statements that the store really sends are explained, on tables of
 * 100,000 rows with and without statistics, and on tables of a few rows, where a planner likes to
 * read everything, and so to wait for rows that others have locked.
 *
 * @module
 */

import assert from "node:assert/strict";
import mysql from "mysql2/promise";
import { mysqlStore } from "../../drivers/mysql/mod.ts";
import type { StoreDriver } from "../../src/seams/store.ts";
import {
  after,
  claim,
  claimOptions,
  dueOptions,
  finish,
  finished,
  newExecution,
  newSignal,
  newWorkflows,
  send,
  start,
  T0,
} from "../../src/testing/store_cases/_builders.ts";
import { mysqlTest, queryOn, type Row } from "./_mysql.ts";

interface Watched {
  readonly store: StoreDriver<mysql.Connection>;
  /** What the store sent since this was last asked. */
  sent(): string[];
  /** How many rows and index entries the server touched since this was last asked. */
  touched(): Promise<number>;
  query(text: string): Promise<Row[]>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A store of which every statement is seen; it has one connection, so that the server can count. */
function watch(url: string): Watched {
  let texts: string[] = [];
  const pool = mysql.createPool({
    uri: url,
    connectionLimit: 1,
    queryFormat: (text) => {
      texts.push(text);
      return text;
    },
  });
  const query = async (text: string): Promise<Row[]> => (await pool.query(text))[0] as Row[];
  return {
    store: mysqlStore(pool),
    query,
    sent() {
      const sent = texts.filter((text) => /\bpawl_(work|step|sig)/.test(text));
      texts = [];
      return sent;
    },
    async touched() {
      const rows = await query("SHOW SESSION STATUS LIKE 'Handler_read%'");
      await query("FLUSH STATUS");
      return rows.reduce((sum, row) => sum + Number(row.Value), 0);
    },
    [Symbol.asyncDispose]: () => pool.end(),
  };
}

const DIGITS =
  "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL " +
  "SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 " +
  "UNION ALL SELECT 9)";
const NUMBERS =
  `SELECT a.d + 10 * b.d + 100 * c.d + 1000 * x.d + 10000 * y.d AS n FROM ${DIGITS} a, ` +
  `${DIGITS} b, ${DIGITS} c, ${DIGITS} x, ${DIGITS} y`;

/** 80,000 workflows of the past, and 20,000 that wait: 19,990 for tomorrow, in several lanes. */
async function fill(url: string): Promise<void> {
  await queryOn(
    url,
    "INSERT INTO pawl_workflows (name, hero_type, hero_id, state, allow_multiple, transitioned_at, " +
      "created_at, updated_at) SELECT CONCAT('workflow ', n % 7), 'User', CONCAT('hero ', n), " +
      "IF(n < 80000, 'finished', 'ready'), 0, IF(n < 80000, '2026-02-01', NULL), '2026-01-01', " +
      `'2026-01-01' FROM (${NUMBERS}) numbers ORDER BY n`,
  );
  await queryOn(
    url,
    "INSERT INTO pawl_step_executions (workflow_id, seq, step_name, state, attempt, failures, " +
      "scheduled_for, wake_at, queue, priority, created_at) SELECT id, 1, 'first', " +
      "IF(state = 'ready', 'scheduled', 'completed'), 1, 0, due, IF(state = 'ready', due, NULL), " +
      "IF(id % 2, 'default', 'mail'), id % 3, created_at FROM (SELECT w.*, " +
      "IF(id % 2000 = 0, '2026-02-28', '2026-03-02') AS due FROM pawl_workflows w " +
      "WHERE hero_id LIKE 'hero %') filled",
  );
}

/** Whether a statement reads a whole table or a whole index of ours. */
async function readsEverything(watched: Watched, text: string): Promise<boolean> {
  const plan = await watched.query(`EXPLAIN ${text}`);
  return plan.some(({ table, type }) =>
    ["ALL", "index"].includes(String(type)) && !String(table).startsWith("<")
  );
}

async function assertIndexed(watched: Watched, what: string): Promise<void> {
  const sent = watched.sent().filter((text) => /^\(?(SELECT|UPDATE|DELETE)/.test(text));
  assert.ok(sent.length > 0, `${what} sends something`);
  for (const text of sent) {
    assert.equal(await readsEverything(watched, text), false, `${what}: ${text.slice(0, 400)}`);
  }
  watched.sent();
}

/** Everything that goes on while workflows run; each is explained after it was done. */
async function walk(watched: Watched): Promise<void> {
  const { store } = watched;
  const hold = { token: "token-2", leaseMs: 30_000, worker: "worker-1" };
  const on = {
    next: newExecution({ stepName: "second", hold, waitingFor: "approved" }),
    nextStepName: "second",
    workflowState: "ready" as const,
  };
  await store.list({}, { limit: 1 });
  watched.sent();
  const claims = [
    ...await store.claimDue(dueOptions({ limit: 2 })),
    ...await store.claimDue(dueOptions({ limit: 2, newestFirst: true })),
  ];
  assert.equal(claims.length, 4);
  await assertIndexed(watched, "claimDue()");
  const marks = claims.map(({ execution }) => ({
    executionId: execution.id,
    token: "token-1",
    cursor: "7",
  }));
  await store.checkpoint(marks.slice(0, 1), { now: T0, leaseMs: 30_000 });
  await assertIndexed(watched, "checkpoint() of one");
  await store.checkpoint(marks, { now: T0, leaseMs: 30_000 });
  await assertIndexed(watched, "checkpoint() of several");
  await finish(store, finished(claims[0] as (typeof claims)[number], on));
  await assertIndexed(watched, "finish() of one");
  const rest = await store.finish(claims.slice(1).map((one) => finished(one, on)), { now: T0 });
  assert.deepEqual(rest.map((one) => one.kind), ["done", "done", "done"]);
  await assertIndexed(watched, "finish() of several");
  const { workflow, execution } = await start(store, { heroId: "a new one" });
  // It only inserts; there is nothing to find.
  watched.sent();
  await store.create(newWorkflows(5), { now: T0 });
  await assertIndexed(watched, "create() of several");
  await claim(store, execution.id);
  await assertIndexed(watched, "claim()");
  await store.claim(claims.map((one) => one.execution.id), claimOptions());
  await assertIndexed(watched, "claim() of several");
  await send(store, workflow.id, newSignal({ idempotencyKey: "key" }));
  await assertIndexed(watched, "signal()");
  await store.command(workflow.id, { kind: "cancel" }, { now: T0 });
  await assertIndexed(watched, "command()");
  await store.purge({ before: after(1_000), limit: 3 });
  await assertIndexed(watched, "purge()");
  await store.noteJobIds([{ executionId: execution.id, jobId: "job" }]);
  await assertIndexed(watched, "noteJobIds()");
}

async function look(watched: Watched): Promise<void> {
  const { store } = watched;
  const [row] = await store.list({ heroId: "hero 5", heroType: "User" }, { limit: 3 });
  await assertIndexed(watched, "list() of a hero");
  await store.list({ names: ["workflow 1", "workflow 2"], states: ["ready"] }, { limit: 20 });
  await assertIndexed(watched, "list() of names and states");
  await store.list({ states: ["ready", "paused"] }, { limit: 20 });
  await assertIndexed(watched, "list() of states");
  await store.due({ before: T0, limit: 20 });
  await assertIndexed(watched, "due()");
  await store.failures({}, { limit: 20 });
  await assertIndexed(watched, "failures()");
  await store.history(row?.id ?? "1", { limit: 20 });
  await assertIndexed(watched, "history()");
  await store.active(row?.id ?? "1");
  await assertIndexed(watched, "active()");
}

mysqlTest(
  "U33 the store finds its rows by an index in 100,000 rows, with and without statistics",
  async ({ url }) => {
    await using watched = watch(url);
    await watched.store.migrate({ keyType: "bigint" });
    await fill(url);
    await walk(watched);
    await look(watched);
    await queryOn(url, "ANALYZE TABLE pawl_workflows, pawl_step_executions, pawl_signals");
    await queryOn(
      url,
      "DELETE FROM pawl_workflows WHERE hero_id IN ('a new one', '1', '2', '3', '4', '5')",
    );
    await walk(watched);
    await look(watched);
  },
);

for (const keyType of ["bigint", "uuid"] as const) {
  mysqlTest(
    `U33 the store finds its rows by an index in small tables too (${keyType})`,
    async ({ url }) => {
      await using watched = watch(url);
      await watched.store.migrate({ keyType });
      for (const heroId of ["x", "y", "z", "w"]) await start(watched.store, { heroId });
      await walk(watched);
    },
  );
}

mysqlTest(
  "U33 looking for due work costs the same however much is done and however much waits",
  async ({ url }) => {
    await using watched = watch(url);
    await watched.store.migrate({ keyType: "bigint" });
    const cost = async (): Promise<number> => {
      await watched.touched();
      const found = await watched.store.claimDue(dueOptions({ limit: 5 }));
      assert.equal(found.length, 5);
      return await watched.touched();
    };
    for (const priority of [0, 1, 2]) {
      for (const queue of ["default", "mail"]) {
        const first = newExecution({ priority, queue });
        await start(watched.store, { heroId: `${priority} ${queue}`, first });
      }
    }
    const before = await cost();
    await fill(url);
    const later = await cost();
    assert.ok(later < before + 60, `${before} rows and entries were touched, then ${later}`);
  },
);
