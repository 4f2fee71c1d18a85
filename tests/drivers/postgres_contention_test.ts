/** Others hold locks: a claim passes them by, the rest waits, and a victim is run again. */

import assert from "node:assert/strict";
// @ts-types="@types/pg"
import pg from "pg";
import { StoreError } from "../../mod.ts";
import { postgresStore } from "../../drivers/postgres/mod.ts";
import {
  after,
  claimOptions,
  command,
  dueOptions,
  finished,
  newExecution,
  newWorkflow,
  start,
  startClaimed,
  T0,
} from "../../src/testing/store_cases/_builders.ts";
import { disposable, postgresTest, type TestDatabase, testPool } from "./_postgres.ts";

/** A session of somebody else that is in a transaction. */
async function stranger({ url }: TestDatabase): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("BEGIN");
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

/** Resolves when so many sessions wait for a lock. */
async function untilWaiting(database: TestDatabase, count: number): Promise<void> {
  while (true) {
    const rows = await database.query(
      "SELECT 1 FROM pg_stat_activity " +
        "WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
    if (rows.length >= count) return;
  }
}

postgresTest(
  "EXE-05 a claim of what is due passes by what others hold, of either table",
  async (database) => {
    await using store = database.store();
    await store.migrate();
    const made = [];
    for (const heroId of ["1", "2", "3"]) made.push(await start(store, { heroId }));
    const [one, two, three] = made as [(typeof made)[0], (typeof made)[0], (typeof made)[0]];
    await using other = await stranger(database);
    await other.query("SELECT FROM pawl_workflows WHERE id = $1 FOR UPDATE", [one.workflow.id]);
    await other.query("SELECT FROM pawl_step_executions WHERE id = $1 FOR UPDATE", [
      two.execution.id,
    ]);
    const claims = await store.claimDue(dueOptions());
    assert.deepEqual(claims.map((claim) => claim.workflow.id), [three.workflow.id]);
    await other.query("ROLLBACK");
    const rest = await store.claimDue(dueOptions({ token: "2" }));
    assert.deepEqual(rest.map((claim) => claim.workflow.id), [one.workflow.id, two.workflow.id]);
  },
);

postgresTest(
  "EXE-05 when the urgent work is held by others, the rest is still found",
  async (database) => {
    await using store = database.store();
    await store.migrate();
    const urgent = newExecution({ priority: -1 });
    const held = await start(store, { heroId: "1", first: urgent });
    const plain = await start(store, { heroId: "2" });
    await using other = await stranger(database);
    await other.query("SELECT FROM pawl_workflows WHERE id = $1 FOR UPDATE", [held.workflow.id]);
    const claims = await store.claimDue(dueOptions({ limit: 1 }));
    assert.deepEqual(claims.map((claim) => claim.workflow.id), [plain.workflow.id]);
  },
);

postgresTest("EXE-10 a claim of a named execution waits for whoever holds it", async (database) => {
  await using store = database.store();
  await store.migrate();
  const { workflow, execution } = await start(store);
  await using other = await stranger(database);
  await other.query("SELECT FROM pawl_workflows WHERE id = $1 FOR UPDATE", [workflow.id]);
  const claiming = store.claim([execution.id], claimOptions());
  await untilWaiting(database, 1);
  await other.query("UPDATE pawl_workflows SET state = 'paused' WHERE id = $1", [workflow.id]);
  await other.query("COMMIT");
  assert.deepEqual(await claiming, [{ kind: "stopped", state: "paused" }]);
});

postgresTest("EXE-18 a finish that waits for a pause takes it into account", async (database) => {
  await using store = database.store();
  await store.migrate();
  const claimed = await startClaimed(store);
  await using other = await stranger(database);
  await other.query(
    "UPDATE pawl_workflows SET state = 'paused', transitioned_at = $2 WHERE id = $1",
    [
      claimed.workflow.id,
      T0,
    ],
  );
  const next = newExecution({ stepName: "second" });
  const finishing = store.finish(
    [finished(claimed, { next, nextStepName: "second", workflowState: "ready" })],
    { now: after(1) },
  );
  await untilWaiting(database, 1);
  await other.query("COMMIT");
  const [done] = await finishing;
  assert.equal(done?.kind, "done");
  assert.ok(done?.kind === "done");
  assert.deepEqual([done.workflow.state, done.next], ["paused", null]);
});

postgresTest(
  "EXE-17 the victim of a deadlock is run again, and nothing is done twice",
  async (database) => {
    await using store = database.store();
    await store.migrate();
    const { workflow, execution } = await start(store);
    await using other = await stranger(database);
    // The other one looks for deadlocks late, so that the store is the victim.
    await other.query("SET LOCAL deadlock_timeout = '60s'");
    await other.query("SELECT FROM pawl_step_executions WHERE id = $1 FOR UPDATE", [execution.id]);
    const pausing = command(store, workflow.id, { kind: "pause" });
    await untilWaiting(database, 1);
    await other.query("SELECT FROM pawl_workflows WHERE id = $1 FOR UPDATE", [workflow.id]);
    await other.query("COMMIT");
    assert.equal((await pausing).workflow.state, "paused");
  },
);

postgresTest(
  "a lock timeout is a passing trouble, and in the end an error that says what to do",
  async (database) => {
    const url = new URL(database.url);
    url.searchParams.set("options", "-c lock_timeout=20");
    await using store = disposable(postgresStore(url));
    await store.migrate();
    const { workflow } = await start(store);
    await using other = await stranger(database);
    await other.query("SELECT FROM pawl_workflows WHERE id = $1 FOR UPDATE", [workflow.id]);
    const pausing = command(store, workflow.id, { kind: "pause" });
    await untilWaiting(database, 1);
    await other.query("COMMIT");
    assert.equal((await pausing).workflow.state, "paused");
    await other.query("BEGIN");
    await other.query("SELECT FROM pawl_workflows WHERE id = $1 FOR UPDATE", [workflow.id]);
    await assert.rejects(command(store, workflow.id, { kind: "cancel" }), (error) => {
      assert.ok(error instanceof StoreError);
      assert.match(error.message, /a lock was held too long; keep transactions short/);
      return true;
    });
  },
);

postgresTest(
  "HERO-04 batches with the same heroes in any order do not wait for each other in a circle",
  async (database) => {
    const url = new URL(database.url);
    // Nobody looks for deadlocks in time: one would take a minute.
    url.searchParams.set("options", "-c deadlock_timeout=60s");
    await using store = disposable(postgresStore(url, { maxConnections: 6 }));
    await store.migrate();
    const heroes = Array.from({ length: 40 }, (_, at) => `${at}`);
    const batches = Array.from({ length: 6 }, (_, at) => {
      const shuffled = at % 2 === 0 ? heroes : [...heroes].reverse();
      return shuffled.map((heroId) => newWorkflow({ heroId }));
    });
    const startedAt = performance.now();
    const created = await Promise.all(batches.map((batch) => store.create(batch, { now: T0 })));
    const made = created.flat().filter((one) => one.kind === "created");
    assert.equal(made.length, heroes.length);
    assert.ok(performance.now() - startedAt < 30_000, "there was a deadlock");
  },
);

postgresTest("nothing of the store stays in the sessions that it used", async (database) => {
  await using pool = testPool(database.url, { max: 1 });
  const store = postgresStore(pool);
  await store.migrate();
  const settings = async (): Promise<unknown> =>
    (await pool.query(
      "SELECT name, setting FROM pg_settings WHERE source = 'session' ORDER BY name",
    )).rows;
  const before = await settings();
  const claimed = await startClaimed(store);
  await store.finish([finished(claimed)], { now: after(1) });
  await store.claimDue(dueOptions());
  await store.transaction((tx) => store.get(claimed.workflow.id, { tx }));
  await assert.rejects(store.create([newWorkflow({ name: "\0" })], { now: T0 }));
  assert.deepEqual(await settings(), before);
  const { rows: [left] } = await pool.query(
    "SELECT (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = " +
      "(SELECT oid FROM pg_database WHERE datname = current_database())) AS locks, " +
      "(SELECT count(*) FROM pg_listening_channels()) AS channels",
  );
  assert.deepEqual(left, { locks: "0", channels: "0" });
});
