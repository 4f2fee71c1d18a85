/**
 * Connections that go silent without a word: nobody may wait for ever, and whoever only has to wait
 * long must be left in peace.
 *
 * @module
 */

import assert from "node:assert/strict";
import mysql, { type Connection } from "mysql2/promise";
import { mysqlStore } from "../../drivers/mysql/mod.ts";
import { createEngine, InvalidInputError, type StoreDriver, workflow } from "../../mod.ts";
import { newWorkflow, start, startClaimed, T0 } from "../../src/testing/store_cases/_builders.ts";
import { mysqlStatement, once, openWire, type Wire } from "../_wire.ts";
import { mysqlTest, queryOn, until } from "./_mysql.ts";

const SILENCE_MS = 150;
const HEROLESS = newWorkflow({ heroType: null, heroId: null });

function silentTest(
  name: string,
  test: (given: { wire: Wire; store: StoreDriver<Connection>; url: string }) => Promise<void>,
): void {
  mysqlTest(name, async ({ url }) => {
    await using wire = await openWire(url);
    const store = mysqlStore(wire.url, { silenceMs: SILENCE_MS, maxConnections: 3 });
    try {
      await store.migrate();
      await test({ wire, store, url });
    } finally {
      await store.close();
    }
  });
}

/** Counts how often the server is asked whether it is at work. */
function countQuestions(wire: Wire): () => number {
  let asked = 0;
  wire.decide = (sent) => {
    if (sent.includes("processlist")) asked++;
    return "arrives";
  };
  return () => asked;
}

silentTest("a start whose statement goes silent is made once", async ({ wire, store, url }) => {
  wire.decide = once("INSERT INTO pawl_workflows", "stalls");
  await store.create([HEROLESS], { now: T0 });
  let stalled = false;
  wire.decide = (sent) => {
    if (stalled || mysqlStatement(sent) !== "COMMIT") return "arrives";
    stalled = true;
    return "stalls";
  };
  await store.create([HEROLESS], { now: T0 });
  assert.equal((await queryOn(url, "SELECT id FROM pawl_workflows")).length, 2);
});

silentTest("idle connections that went silent are replaced", async ({ wire, store }) => {
  const { workflow: row } = await start(store);
  await Promise.all(Array.from({ length: 3 }, () => store.get(row.id)));
  assert.equal(wire.stall(), 3);
  const answers = await Promise.all(Array.from({ length: 3 }, () => store.get(row.id)));
  assert.deepEqual(answers.map((one) => one?.id), [row.id, row.id, row.id]);
});

silentTest("a store closes though its connections are silent", async ({ wire, store }) => {
  await Promise.all(Array.from({ length: 3 }, () => store.counts()));
  assert.ok(wire.stall() > 0);
  await store.close();
});

silentTest(
  "a statement that waits for a lock for longer than that is left in peace",
  async ({ wire, store, url }) => {
    const { workflow: row } = await startClaimed(store);
    const holder = await mysql.createConnection(url);
    await holder.query("START TRANSACTION");
    await holder.query("SELECT id FROM pawl_workflows FOR UPDATE");
    const asked = countQuestions(wire);
    const pausing = store.command(row.id, { kind: "pause" }, { now: T0 });
    await until("it was asked twice", () => asked() >= 2);
    await holder.end();
    assert.equal((await pausing).kind, "done");
  },
);

silentTest(
  "a transaction whose body does something else for longer than that is left in peace",
  async ({ store, wire }) => {
    const asked = countQuestions(wire);
    const answer = await store.transaction(async (tx) => {
      await tx.query("SELECT 1");
      await new Promise((resolve) => setTimeout(resolve, 4 * SILENCE_MS));
      return (await tx.query("SELECT 2 AS two"))[0];
    });
    assert.deepEqual(answer, [{ two: 2 }]);
    assert.equal(asked(), 0);
  },
);

silentTest("a body's own statement that goes silent fails", async ({ wire, store }) => {
  const silent = store.transaction(async (tx) => {
    wire.decide = once("SELECT 'silent'", "stalls");
    await tx.query("SELECT 'silent'");
  });
  await assert.rejects(silent, /Connection lost/);
});

mysqlTest("connections of a given pool that go silent are found too", async ({ url }) => {
  await using wire = await openWire(url);
  const pool = mysql.createPool({ uri: wire.url, connectionLimit: 3 });
  const store = mysqlStore(pool, { silenceMs: SILENCE_MS });
  await store.migrate();
  wire.decide = once("INSERT INTO pawl_workflows", "stalls");
  const [created] = await store.create([HEROLESS], { now: T0 });
  assert.equal(created?.kind, "created");
  assert.equal((await queryOn(url, "SELECT id FROM pawl_workflows")).length, 1);
  await store.close();
  await pool.end();
});

mysqlTest(
  "EXE-05 a worker that is alone goes on after all its connections went silent",
  async ({ url }) => {
    await using wire = await openWire(url);
    let runs = 0;
    const knock = workflow({ name: "knock", steps: [{ name: "door", run: () => void runs++ }] });
    const store = mysqlStore(wire.url, { silenceMs: SILENCE_MS });
    await using engine = createEngine({ store, workflows: [knock], leaseMs: 2_000, pollMs: 20 });
    await engine.migrate();
    const worker = engine.work();
    await engine.start(knock);
    await until("it has run", () => runs === 1);
    assert.ok(wire.stall() > 0);
    await engine.start(knock);
    await until("it has run again", () => runs === 2);
    wire.stall();
    await worker.stop();
  },
);

Deno.test("a silence that is no time is refused", () => {
  for (const silenceMs of [0, -1, NaN, Infinity, "long" as unknown as number]) {
    assert.throws(() => mysqlStore("mysql://nowhere/x", { silenceMs }), InvalidInputError);
  }
});
