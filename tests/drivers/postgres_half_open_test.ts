/**
 * Connections that go silent without a word: nobody may wait for ever, and whoever only has to wait
 * long must be left in peace.
 */

import assert from "node:assert/strict";
import { createEngine, InvalidInputError, type StoreDriver, workflow } from "../../mod.ts";
import { postgresStore } from "../../drivers/postgres/mod.ts";
import { start, startClaimed, T0 } from "../../src/testing/store_cases/_builders.ts";
import { once, openWire, type Wire } from "../_wire.ts";
import { disposable, postgresTest, type TestDatabase, testPool } from "./_postgres.ts";

const SILENCE_MS = 150;
/** Names would hide the texts that the wire looks for. */
const READABLE = { preparedStatements: false, silenceMs: SILENCE_MS, maxConnections: 3 };

function silentTest(
  name: string,
  test: (
    given: { wire: Wire; store: StoreDriver & AsyncDisposable; database: TestDatabase },
  ) => Promise<void>,
): void {
  postgresTest(name, async (database) => {
    await using wire = await openWire(database.url);
    await using store = disposable(postgresStore(wire.url, { ...READABLE, notify: false }));
    await store.migrate();
    await test({ wire, store: store as StoreDriver & AsyncDisposable, database });
  });
}

silentTest(
  "a start whose statement goes silent is made once",
  async ({ wire, store, database }) => {
    wire.decide = once("INSERT INTO pawl_workflows", "stalls");
    const { workflow: row } = await start(store, { allowMultiple: true });
    wire.decide = once("COMMIT\0", "stalls");
    await start(store, { allowMultiple: true });
    const rows = await database.query("SELECT id FROM pawl_workflows ORDER BY id");
    assert.equal(rows.length, 2);
    assert.equal(String(rows[0]?.id), row.id);
  },
);

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
  async ({ wire, store, database }) => {
    const { workflow: row, execution } = await startClaimed(store);
    await using pool = testPool(database.url);
    const client = await pool.connect();
    await client.query("BEGIN");
    await client.query("SELECT 1 FROM pawl_workflows FOR UPDATE");
    const pausing = store.command(row.id, { kind: "pause" }, { now: T0 });
    // Meanwhile the server is asked twice whether it is at work.
    let asked = 0;
    wire.decide = (sent) => {
      if (sent.includes("pg_stat_activity")) asked++;
      return "arrives";
    };
    while (asked < 2) await new Promise((resolve) => setTimeout(resolve, 10));
    await client.query("COMMIT");
    client.release();
    assert.equal((await pausing).kind, "done");
    assert.equal((await store.getExecution(execution.id))?.state, "in_progress");
  },
);

silentTest(
  "a transaction whose body does something else for longer than that is left in peace",
  async ({ store, wire }) => {
    let asked = 0;
    wire.decide = (sent) => {
      if (sent.includes("pg_stat_activity")) asked++;
      return "arrives";
    };
    const answer = await store.transaction(async (tx) => {
      const client = tx as { query(text: string): Promise<{ rows: unknown[] }> };
      await client.query("SELECT 1");
      await new Promise((resolve) => setTimeout(resolve, 4 * SILENCE_MS));
      return (await client.query("SELECT 2 AS two")).rows;
    });
    assert.deepEqual(answer, [{ two: 2 }]);
    assert.equal(asked, 0);
  },
);

silentTest("a body's own statement that goes silent fails", async ({ wire, store }) => {
  const silent = store.transaction(async (tx) => {
    wire.decide = once("SELECT 'silent'", "stalls");
    await (tx as { query(text: string): Promise<unknown> }).query("SELECT 'silent'");
  });
  await assert.rejects(silent, /terminated/);
});

postgresTest(
  "EXE-05 a worker that is alone goes on after all its connections went silent",
  async (database) => {
    await using wire = await openWire(database.url);
    let runs = 0;
    const knock = workflow({ name: "knock", steps: [{ name: "door", run: () => void runs++ }] });
    const store = postgresStore(wire.url, { silenceMs: SILENCE_MS });
    await using engine = createEngine({ store, workflows: [knock], leaseMs: 2_000, pollMs: 20 });
    await engine.migrate();
    const worker = engine.work();
    await engine.start(knock);
    while (runs < 1) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.ok(wire.stall() > 0);
    await engine.start(knock);
    while (runs < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    wire.stall();
    await worker.stop();
  },
);

Deno.test("a silence that is no time is refused", () => {
  for (const silenceMs of [0, -1, NaN, Infinity, "long" as unknown as number]) {
    assert.throws(() => postgresStore("postgres://nowhere/x", { silenceMs }), InvalidInputError);
  }
});
