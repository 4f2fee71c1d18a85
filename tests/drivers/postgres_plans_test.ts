/**
 * The plans of the statements, as the server keeps them: on an empty database, on fresh tables that
 * were never analysed, on tables that were analysed while nothing was active, and on large ones.
 */

import assert from "node:assert/strict";
// @ts-types="@types/pg"
import type { ClientBase, Pool } from "pg";
import { postgresStore } from "../../drivers/postgres/mod.ts";
import { postgresQueue } from "../../drivers/queues/postgres.ts";
import type { StoreDriver } from "../../mod.ts";
import {
  after,
  claimOptions,
  dueOptions,
  finished,
  newExecution,
  newWorkflow,
  resume,
  send,
  T0,
} from "../../src/testing/store_cases/_builders.ts";
import { createFakeClock } from "../../src/testing/fake_clock.ts";
import { postgresTest, type TestDatabase, testPool } from "./_postgres.ts";

/** What the store switches off for its own transactions. */
const SETTINGS = ["enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin"];

interface Planned {
  readonly text: string;
  readonly plan: string;
}

/** Fills the tables with history, five executions per workflow. */
async function fill(database: TestDatabase, executions: number): Promise<void> {
  await database.query(
    "INSERT INTO pawl_workflows (name, hero_type, hero_id, state, allow_multiple, created_at, " +
      "updated_at, transitioned_at) SELECT 'old', 'User', i::text, 'finished', false, $2, $2, $2 " +
      "FROM generate_series(1, $1::int) i",
    [executions / 5, T0],
  );
  await database.query(
    "INSERT INTO pawl_step_executions (workflow_id, seq, step_name, state, attempt, failures, " +
      "scheduled_for, queue, priority, created_at, finished_at) " +
      "SELECT (SELECT min(id) FROM pawl_workflows) + i / 5, 1 + i % 5, 's', 'completed', 1, 0, $2, " +
      "'default', 0, $2, $2 FROM generate_series(0, $1::int - 1) i",
    [executions, T0],
  );
}

/** Uses every statement that writes, alone and in batches. */
async function useAll(store: StoreDriver<ClientBase>, pool: Pool): Promise<void> {
  const batch = (name: string, size: number) =>
    store.create(
      Array.from({ length: size }, (_, at) => newWorkflow({ name, heroId: `${at}` })),
      { now: T0 },
    );
  for (const size of [1, 6]) {
    const created = await batch(`size ${size}`, size);
    const claims = await store.claimDue(dueOptions({ limit: size }));
    assert.equal(claims.length, size);
    const beats = claims.map(({ execution }) => ({ executionId: execution.id, cursor: "1" }));
    const token = "token-1";
    await store.checkpoint(beats.map((one) => ({ ...one, token })), { now: T0, leaseMs: 1_000 });
    const next = newExecution({ stepName: "second", hold: { ...claimOptions() } });
    const on = { workflowState: "ready", nextStepName: "second", next } as const;
    // The first finish reads the rows, since checkpoints changed them; the second remembers them.
    const first = await store.finish(claims.map((one) => finished(one, on)), { now: after(1) });
    const held = first.flatMap((one) => one.kind === "done" && one.next ? [one.next] : []);
    const last = held.map((execution) => finished({ execution }));
    assert.ok((await store.finish(last, { now: after(2) })).every((one) => one.kind === "done"));
    assert.equal(created.length, size);
  }
  // Work of two priorities takes a second look, lane by lane; from either end.
  for (const newestFirst of [false, true]) {
    const firsts = [0, 5].map((priority) => newExecution({ priority }));
    const name = `levels ${newestFirst}`;
    await store.create(
      firsts.map((first, at) => newWorkflow({ name, heroId: `${at}`, first })),
      { now: T0 },
    );
    const options = dueOptions({ token: name, limit: 50, newestFirst });
    assert.equal((await store.claimDue(options)).length, 2);
  }
  const [one] = await batch("single", 2);
  assert.ok(one?.kind === "created" && one.execution !== null);
  const { id } = one.workflow;
  await send(store, id);
  await store.command(id, { kind: "pause" }, { now: T0 });
  await store.command(id, resume(), { now: T0 });
  await store.claim([one.execution.id], claimOptions({ now: after(9_000) }));
  await store.noteJobIds([{ executionId: one.execution.id, jobId: "j" }]);
  await store.purge({ before: T0, limit: 3, names: ["old"] });
  const queue = postgresQueue(pool);
  const job = { executionId: "1", runAt: T0, queue: "default", priority: 0 };
  await queue.enqueue([job]);
  const stopping = new AbortController();
  await queue.listen(() => {
    stopping.abort();
    return Promise.resolve();
  }, { signal: stopping.signal, clock: createFakeClock({ now: T0 }), pollMs: 1_000 });
  await queue.close();
}

/** The plans that the one connection of the pool keeps, of statements that touch our tables. */
async function plansIn(pool: Pool): Promise<Planned[]> {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    await client.query("SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL jit = off");
    for (const name of SETTINGS) await client.query(`SET LOCAL ${name} = off`);
    const { rows } = await client.query(
      "SELECT name, statement, coalesce(cardinality(parameter_types), 0) AS count " +
        "FROM pg_prepared_statements WHERE name LIKE 'pawl\\_%' AND " +
        "statement ~ '^(SELECT|INSERT|UPDATE|DELETE|WITH)' AND statement ~ 'pawl_(work|step|sig|jobs)'",
    );
    const planned: Planned[] = [];
    for (const { name, statement, count } of rows) {
      const values = Array.from({ length: Number(count) }, () => "NULL").join(", ");
      const call = Number(count) === 0 ? name : `${name}(${values})`;
      const explained = await client.query(`EXPLAIN EXECUTE ${call}`);
      const plan = explained.rows.map((row) => row["QUERY PLAN"]).join("\n");
      planned.push({ text: statement, plan });
    }
    await client.query("ROLLBACK");
    return planned;
  } finally {
    client.release();
  }
}

/** What is wrong with any of these plans anywhere. */
const FORBIDDEN =
  /Seq Scan on pawl_(workflows|step_executions|signals|jobs)|Bitmap|(Hash|Merge) Join/;

/** Statements that find their rows by id: a write, a lock, a checkpoint. */
const BY_ID = /^(UPDATE pawl_step_executions|WITH (held|written) )|WHERE id = ANY/;

function check(planned: readonly Planned[]): void {
  assert.ok(planned.length > 25, `only ${planned.length} statements were seen`);
  let byId = 0;
  let due = 0;
  for (const { text, plan } of planned) {
    assert.doesNotMatch(plan, FORBIDDEN, text);
    if (BY_ID.test(text)) {
      byId++;
      assert.doesNotMatch(plan, /step_executions_(live|active|due)/, text);
      assert.match(plan, /using pawl_(workflows|step_executions|jobs)_pkey/, text);
    }
    if (!text.includes("SKIP LOCKED") || !text.includes("e.wake_at <=")) continue;
    due++;
    // In the order of the index: what is due is found without sorting what is not.
    assert.match(plan, /Index Scan (Backward )?using pawl_step_executions_live/, text);
    assert.match(plan, /Index Scan using pawl_workflows_pkey/, text);
    assert.doesNotMatch(plan, /Sort/, text);
  }
  assert.ok(byId >= 8 && due === 4, `${byId} statements by id, ${due} for what is due`);
}

const SITUATIONS: Readonly<Record<string, (database: TestDatabase) => Promise<void>>> = {
  "an empty database": () => Promise.resolve(),
  "tables of one page that were analysed": async (database) => {
    await fill(database, 20);
    await database.query("ANALYZE");
  },
  "20,000 rows that were never analysed": (database) => fill(database, 20_000),
  "rows that were analysed while nothing was active": async (database) => {
    await fill(database, 20_000);
    await database.query("ANALYZE");
  },
  "200,000 rows": async (database) => {
    await fill(database, 200_000);
    await database.query("ANALYZE");
  },
};

for (const [situation, prepare] of Object.entries(SITUATIONS)) {
  postgresTest(`every write finds its rows by an index on ${situation}`, async (database) => {
    await using pool = testPool(database.url, { max: 1 });
    const store = postgresStore(pool);
    await store.migrate();
    await prepare(database);
    await useAll(store, pool);
    check(await plansIn(pool));
  });
}

postgresTest("a plan that was made on empty tables holds when they are full", async (database) => {
  await using pool = testPool(database.url, { max: 1 });
  const store = postgresStore(pool);
  await store.migrate();
  await useAll(store, pool);
  const before = await plansIn(pool);
  await database.query("DELETE FROM pawl_workflows");
  await fill(database, 20_000);
  check(before);
  check(await plansIn(pool));
});

postgresTest(
  "what is due is found in the live work, however much history there is",
  async (database) => {
    await using pool = testPool(database.url, { max: 1 });
    const store = postgresStore(pool);
    await store.migrate();
    await fill(database, 50_000);
    await store.create(
      Array.from({ length: 20 }, (_, at) => newWorkflow({ heroId: `${at}` })),
      { now: T0 },
    );
    const blocks = async (): Promise<number> => {
      await pool.query("SELECT pg_stat_force_next_flush()").catch(() => {});
      const { rows } = await pool.query(
        "SELECT coalesce(sum(heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit), 0) AS sum " +
          "FROM pg_statio_user_tables",
      );
      return Number(rows[0].sum);
    };
    const before = await blocks();
    assert.equal((await store.claimDue(dueOptions({ limit: 10 }))).length, 10);
    const touched = await blocks() - before;
    assert.ok(touched > 0 && touched < 600, `${touched} blocks were touched`);
  },
);
