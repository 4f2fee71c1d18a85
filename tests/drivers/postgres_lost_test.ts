/**
 * Connections get lost: before a COMMIT, during it, with or without its answer, while idle and in
 * the middle of somebody's transaction. Nothing may be done twice, and nothing may end the process.
 */

import assert from "node:assert/strict";
import { createEngine, StoreError, workflow } from "../../mod.ts";
import { postgresStore } from "../../drivers/postgres/mod.ts";
import {
  after,
  claim,
  command,
  dueOptions,
  finished,
  newExecution,
  newWorkflow,
  send,
  start,
  startClaimed,
  T0,
} from "../../src/testing/store_cases/_builders.ts";
import { disposable, postgresTest, type TestDatabase, testPool } from "./_postgres.ts";
import { once, openWire, type Wire } from "../_wire.ts";

/** Names would hide the texts that the wire looks for. */
const READABLE = { preparedStatements: false, maxConnections: 3, notify: false };

function wiredTest(
  name: string,
  test: (
    wired: {
      wire: Wire;
      database: TestDatabase;
      store: ReturnType<typeof postgresStore>;
      rows(table: string): Promise<number>;
    },
  ) => Promise<void>,
): void {
  postgresTest(name, async (database) => {
    await using wire = await openWire(database.url);
    await using store = disposable(postgresStore(wire.url, READABLE));
    await store.migrate();
    const rows = async (table: string): Promise<number> =>
      Number((await database.query(`SELECT count(*) AS count FROM ${table}`))[0]?.count);
    await test({ wire, database, store, rows });
  });
}

const COMMIT = "COMMIT\0";

wiredTest("BLK-02 a start whose COMMIT lost its answer has happened once", async (wired) => {
  const { wire, store, rows } = wired;
  wire.decide = once(COMMIT, "loses its answer");
  const { workflow: row } = await start(store, { allowMultiple: true });
  assert.equal((await store.get(row.id))?.id, row.id);
  assert.equal(await rows("pawl_workflows"), 1);
  assert.equal(await rows("pawl_step_executions"), 1);
});

wiredTest("BLK-02 a start whose COMMIT never arrived is made again, once", async (wired) => {
  const { wire, store, rows } = wired;
  wire.decide = once(COMMIT, "never arrives");
  const { workflow: row } = await start(store, { allowMultiple: true });
  assert.equal((await store.get(row.id))?.id, row.id);
  assert.equal(await rows("pawl_workflows"), 1);
});

wiredTest(
  "BLK-02 a start that lost its connection before the COMMIT is made once",
  async (wired) => {
    const { wire, store, rows } = wired;
    wire.decide = once("INSERT INTO pawl_workflows", "loses its answer");
    await start(store, { allowMultiple: true });
    wire.decide = once("INSERT INTO pawl_step_executions", "never arrives");
    await start(store, { allowMultiple: true });
    assert.equal(await rows("pawl_workflows"), 2);
    assert.equal(await rows("pawl_step_executions"), 2);
  },
);

wiredTest("a start of which nobody can say is uncertain, and not made again", async (wired) => {
  const { wire, store, rows } = wired;
  wire.decide = (sent) => {
    if (sent.includes(COMMIT)) return "loses its answer";
    return sent.includes("txid_status") ? "never arrives" : "arrives";
  };
  await assert.rejects(start(store, { allowMultiple: true }), (error) => {
    assert.ok(error instanceof StoreError);
    assert.equal(error.uncertain, true);
    assert.match(error.message, /lost during COMMIT, and whether it happened cannot be told/);
    return true;
  });
  assert.equal(await rows("pawl_workflows"), 1);
});

wiredTest(
  "EXT a command and a signal whose COMMIT lost its answer happened once",
  async (wired) => {
    const { wire, store, rows } = wired;
    const { workflow: row } = await start(store);
    wire.decide = once(COMMIT, "loses its answer");
    assert.equal((await command(store, row.id, { kind: "pause" })).workflow.state, "paused");
    wire.decide = once(COMMIT, "loses its answer");
    await send(store, row.id);
    assert.equal(await rows("pawl_signals"), 1);
    wire.decide = once(COMMIT, "never arrives");
    await send(store, row.id);
    assert.equal(await rows("pawl_signals"), 2);
  },
);

wiredTest("EXE-05 a claim that never arrived is made again", async (wired) => {
  const { wire, store } = wired;
  const { execution } = await start(store);
  wire.decide = once(COMMIT, "never arrives");
  const claims = await store.claimDue(dueOptions());
  assert.deepEqual(claims.map((one) => one.execution.id), [execution.id]);
});

wiredTest("HSK-08 a claim whose answer was lost comes back when its lease ends", async (wired) => {
  const { wire, store } = wired;
  const { execution } = await start(store);
  wire.decide = once(COMMIT, "loses its answer");
  await assert.rejects(store.claimDue(dueOptions()), { uncertain: true });
  assert.deepEqual(await store.claimDue(dueOptions({ token: "2" })), [], "somebody has it");
  const [taken] = await store.claimDue(dueOptions({ token: "3", now: after(30_000) }));
  assert.equal(taken?.execution.id, execution.id);
  assert.equal(taken?.from, "in_progress");
});

wiredTest("EXE-18 a finish whose answer was lost says so, and is not made twice", async (wired) => {
  const { wire, store, rows } = wired;
  const claimed = await startClaimed(store);
  const next = newExecution({ stepName: "second" });
  const end = finished(claimed, { next, nextStepName: "second" });
  wire.decide = once("UPDATE pawl_step_executions", "loses its answer");
  await assert.rejects(store.finish([end], { now: after(1) }), { uncertain: true });
  assert.equal(await rows("pawl_step_executions"), 2);
  assert.deepEqual(await store.finish([end], { now: after(2) }), [{ kind: "lost" }]);
  assert.equal(await rows("pawl_step_executions"), 2);
});

wiredTest("EXE-03 an engine whose finishes lose their answers goes on at once", async (wired) => {
  const { wire, store, database } = wired;
  const ran: string[] = [];
  const order = workflow({
    name: "order",
    steps: ["pay", "pack", "ship"].map((name) => ({ name, run: () => void ran.push(name) })),
  });
  await using engine = createEngine({ store, workflows: [order], pollMs: 20 });
  const ended = new Promise<void>((resolve) => {
    engine.events.on("finalize", ({ workflowState }) => workflowState === "finished" && resolve());
  });
  const run = await engine.start(order);
  let lost = 0;
  wire.decide = (sent) => {
    if (lost === 2 || !sent.includes("finished_at = ")) return "arrives";
    lost++;
    return "loses its answer";
  };
  await using _worker = engine.work();
  await ended;
  assert.equal(lost, 2);
  assert.deepEqual(ran, ["pay", "pack", "ship"]);
  const history = await run.history();
  assert.deepEqual(history.map((one) => one.outcome), ["success", "success", "success"]);
  assert.equal((await database.query("SELECT 1 FROM pawl_step_executions")).length, 3);
});

wiredTest("reads and checkpoints are simply made again", async (wired) => {
  const { wire, store } = wired;
  const claimed = await startClaimed(store);
  const { id: executionId } = claimed.execution;
  wire.decide = once("lease_until = ", "loses its answer");
  const beat = { executionId, token: "token-1", cursor: "5" };
  assert.deepEqual(await store.checkpoint([beat], { now: after(5), leaseMs: 1_000 }), ["held"]);
  wire.decide = once("FROM pawl_step_executions", "never arrives");
  assert.equal((await store.getExecution(executionId))?.cursor, "5");
  wire.cut();
  assert.equal((await store.getExecution(executionId))?.cursor, "5");
});

wiredTest(
  "a transaction whose connection dies is rolled back, and the process lives",
  async (wired) => {
    const { wire, store, rows } = wired;
    await assert.rejects(
      store.transaction(async (tx) => {
        await store.create([newWorkflow()], { now: T0, tx });
        wire.cut();
        await store.create([newWorkflow({ heroId: "2" })], { now: T0, tx });
      }),
      (error) => error instanceof StoreError && /connection/.test(error.message),
    );
    assert.equal(await rows("pawl_workflows"), 0);
    await start(store);
    assert.equal(await rows("pawl_workflows"), 1);
  },
);

wiredTest("a transaction whose COMMIT lost its answer was committed", async (wired) => {
  const { wire, store, rows } = wired;
  let runs = 0;
  const result = await store.transaction(async (tx) => {
    runs++;
    await store.create([newWorkflow()], { now: T0, tx });
    wire.decide = once(COMMIT, "loses its answer");
    return "done";
  });
  assert.deepEqual([result, runs, await rows("pawl_workflows")], ["done", 1, 1]);
});

wiredTest(
  "a transaction whose COMMIT never arrived is an error, and not run again",
  async (wired) => {
    const { wire, store, rows } = wired;
    let runs = 0;
    const failing = store.transaction(async (tx) => {
      runs++;
      await store.create([newWorkflow()], { now: T0, tx });
      wire.decide = once(COMMIT, "never arrives");
    });
    await assert.rejects(failing, (error) => error instanceof StoreError && !error.uncertain);
    assert.deepEqual([runs, await rows("pawl_workflows")], [1, 0]);
  },
);

/** Ends the connections of a database, save the one that asks. */
async function terminateAll(database: TestDatabase): Promise<void> {
  await database.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity " +
      "WHERE datname = current_database() AND pid <> pg_backend_pid()",
  );
}

postgresTest("idle connections that the server ends are replaced", async (database) => {
  await using pool = testPool(database.url);
  for (const store of [database.store(), postgresStore(pool)]) {
    await store.migrate();
    await Promise.all([start(store), start(store, { heroId: "2" }), store.get("1")]);
    await terminateAll(database);
    assert.equal((await start(store, { heroId: "3" })).workflow.heroId, "3");
    await database.query("DELETE FROM pawl_workflows");
    await store.close();
  }
});

postgresTest("EXE-05 ended connections under load lose and double nothing", async (database) => {
  await using store = database.store({ maxConnections: 3 });
  await store.migrate();
  const ran = new Map<string, number>();
  const journey = workflow({
    name: "journey",
    steps: ["a", "b", "c"].map((name) => ({
      name,
      run({ workflow: { id } }: { workflow: { id: string } }) {
        const key = `${id} ${name}`;
        ran.set(key, (ran.get(key) ?? 0) + 1);
      },
    })),
  });
  await using engine = createEngine({ store, workflows: [journey], pollMs: 20, leaseMs: 2_000 });
  let left = 300;
  const ended = new Promise<void>((resolve) => {
    engine.events.on("finalize", ({ workflowState }) => {
      if (workflowState === "finished" && --left === 0) resolve();
    });
  });
  await engine.startMany(journey, Array.from({ length: left }, () => ({})));
  await using _worker = engine.work({ concurrency: 10 });
  for (let times = 0; times < 80; times++) await terminateAll(database);
  await ended;
  const rows = await database.query(
    "SELECT workflow_id, step_name, count(*) FILTER (WHERE outcome = 'success') AS successes " +
      "FROM pawl_step_executions GROUP BY workflow_id, step_name",
  );
  assert.equal(rows.length, 900);
  for (const row of rows) assert.equal(row.successes, "1");
  assert.equal(ran.size, 900);
  const again = [...ran.values()].filter((times) => times > 1).length;
  const recovered = rows.length - 900 + Number(
    (await database.query(
      "SELECT count(*) AS count FROM pawl_step_executions WHERE outcome = 'recovered'",
    ))[0]?.count,
  );
  assert.ok(again <= recovered, `${again} bodies ran again, ${recovered} were recovered`);
});

postgresTest("a server that is away for a moment is waited for", async (database) => {
  await using wire = await openWire(database.url);
  await using store = disposable(postgresStore(wire.url, { maxConnections: 2 }));
  await store.migrate();
  const claimed = await startClaimed(store);
  wire.refuse(true);
  wire.cut();
  const reading = store.get(claimed.workflow.id);
  const timer = setTimeout(() => wire.refuse(false), 150);
  assert.equal((await reading)?.id, claimed.workflow.id);
  clearTimeout(timer);
  wire.refuse(true);
  wire.cut();
  await assert.rejects(store.get(claimed.workflow.id), (error) => {
    assert.ok(error instanceof StoreError);
    assert.match(error.message, /^\[postgres\] Cannot read from 127\.0\.0\.1:\d+\/pawl_test_/);
    return true;
  });
  wire.refuse(false);
  assert.equal(await claim(store, claimed.execution.id).catch(() => null), null, "it is taken");
});
