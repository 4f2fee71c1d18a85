import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import type { StoreDriver } from "../../src/seams/store.ts";
import type { Claimed } from "../../src/state/claim.ts";
import {
  after,
  CLAIM,
  finished,
  made,
  newExecution,
  newWorkflow,
  NOW,
  rowCount,
  start,
  withFile,
  withMemory,
} from "./_sqlite.ts";

type Store = StoreDriver<DatabaseSync>;

async function claimOne(store: Store): Promise<Claimed> {
  const [claimed] = await store.claimDue({ ...CLAIM, limit: 1 });
  assert.ok(claimed !== undefined, "nothing was due");
  return claimed;
}

Deno.test("EXE-13 ids that are none are nothing everywhere, never an error", () =>
  withMemory(async (store) => {
    await start(store);
    for (const id of ["", "abc", "1; DROP TABLE users", "9223372036854775808", "00000000"]) {
      assert.equal(await store.get(id), null);
      assert.equal(await store.getExecution(id), null);
      assert.equal(await store.active(id), null);
      assert.deepEqual(await store.history(id, { limit: 5 }), []);
      assert.deepEqual(await store.signals(id), []);
      assert.deepEqual(await store.list({}, { limit: 5, after: id }), []);
      const signal = { name: "x", payload: null, idempotencyKey: null, graceMs: 0 };
      assert.deepEqual(await store.signal(id, signal, { now: NOW }), { kind: "missing" });
      const paused = await store.command(id, { kind: "pause" }, { now: NOW });
      assert.deepEqual(paused, { kind: "missing" });
      const held = await store.checkpoint([{ executionId: id, token: "t" }], {
        now: NOW,
        leaseMs: 1,
      });
      assert.deepEqual(held, ["lost"]);
      await store.noteJobIds([{ executionId: id, jobId: "job" }]);
    }
  }));

Deno.test("EXE-18 the largest id that SQLite can make is found and stays exact", () =>
  withMemory(async (store, db) => {
    const largest = 2n ** 63n - 10n;
    db.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('pawl_workflows', ?)").run(largest);
    db.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('pawl_step_executions', ?)")
      .run(largest);
    const { workflow } = await start(store);
    assert.equal(workflow.id, String(largest + 1n));
    assert.equal((await store.get(workflow.id))?.id, workflow.id);
    const claimed = await claimOne(store);
    assert.equal(claimed.execution.workflowId, workflow.id);
    assert.deepEqual(claimed.execution.scheduledFor, NOW);
    const [done] = await store.finish([finished(claimed)], { now: NOW });
    assert.equal(done?.kind, "done");
    assert.equal(await store.get("9223372036854775808"), null);
  }));

Deno.test("EXE-18 an id beyond the numbers of JavaScript is read inside a caller's transaction too", () =>
  withMemory(async (store, db) => {
    db.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('pawl_workflows', ?)").run(
      2n ** 60n,
    );
    const id = await store.transaction(async (tx) => {
      const [created] = await store.create([newWorkflow()], { now: NOW, tx });
      return made(created).workflow.id;
    });
    assert.equal(id, String(2n ** 60n + 1n));
    assert.equal(rowCount(db, "pawl_workflows"), 1);
  }));

Deno.test("HERO-01 hero ids with quotes, emoji and any other text come back as they were", () =>
  withMemory(async (store, db) => {
    const fixed = [`O'Brien "x"`, "🦦", "a\nb\\c", "%_", "ß", "NULL", "?", "--", "日本語", " 1 "];
    for (const heroId of fixed) {
      const { workflow } = await start(store, { heroId });
      assert.equal((await store.get(workflow.id))?.heroId, heroId);
      const listed = await store.list({ heroType: "User", heroId }, { limit: 5 });
      assert.deepEqual(listed.map((one) => one.id), [workflow.id]);
    }
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme", minLength: 1 }), async (text) => {
        if (!text.isWellFormed() || text.includes("\0")) return;
        db.prepare("DELETE FROM pawl_workflows").run();
        const { workflow, execution } = await start(store, {
          name: text,
          heroType: text,
          heroId: text,
          input: JSON.stringify(text),
          first: newExecution({ stepName: text, queue: text, metadata: JSON.stringify({ text }) }),
        });
        assert.deepEqual(await store.get(workflow.id), workflow);
        assert.deepEqual(await store.getExecution(execution?.id as string), execution);
        const [claimed] = await store.claimDue({ ...CLAIM, limit: 1, queues: [text] });
        assert.equal(claimed?.execution.stepName, text);
      }),
      { numRuns: 60 },
    );
  }));

Deno.test("AUD-14 a JSON column that holds no JSON is read as the text that it is", () =>
  withMemory(async (store, db) => {
    const { workflow } = await start(store);
    db.prepare("UPDATE pawl_workflows SET input = '{', metadata = 'x', job_options = ''").run();
    db.prepare("UPDATE pawl_step_executions SET metadata = '[', cursor_value = 'nonsense'").run();
    const read = await store.get(workflow.id);
    assert.deepEqual([read?.input, read?.metadata, read?.jobOptions], ["{", "x", ""]);
    const claimed = await claimOne(store);
    assert.deepEqual([claimed.execution.metadata, claimed.execution.cursor], ["[", "nonsense"]);
  }));

Deno.test("AUD-17 the history has every attempt in order, page by page", () =>
  withMemory(async (store) => {
    const { workflow } = await start(store);
    for (let attempt = 1; attempt <= 4; attempt++) {
      const claimed = await claimOne(store);
      const next = newExecution({ attempt: attempt + 1, failures: attempt });
      await store.finish([finished(claimed, {
        closing: { state: "completed", outcome: "reattempted", cause: "exception" },
        workflowState: "ready",
        nextStepName: "welcome",
        next,
      })], { now: NOW });
    }
    const all = await store.history(workflow.id, { limit: 100 });
    assert.deepEqual(all.map((one) => [one.seq, one.attempt]), [1, 2, 3, 4, 5].map((n) => [n, n]));
    const page = await store.history(workflow.id, { limit: 2, afterSeq: 2 });
    assert.deepEqual(page.map((one) => one.seq), [3, 4]);
    assert.deepEqual(await store.history(workflow.id, { limit: 0 }), []);
  }));

Deno.test("MIG-04 MIG-17 with UUID keys the whole walk works, and ids sort by creation", () =>
  withMemory(async (store, db) => {
    const batch = ["1", "2", "1"].map((heroId) => newWorkflow({ heroId }));
    const created = await store.create(batch, { now: NOW });
    const ids = [made(created[0]).workflow.id, made(created[1]).workflow.id];
    assert.deepEqual(created[2], { kind: "duplicate", existingId: ids[0] });
    assert.match(ids[0] as string, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-/);
    assert.deepEqual((await store.list({}, { limit: 5 })).map((one) => one.id), [...ids].reverse());
    const claims = await store.claimDue({ ...CLAIM, limit: 5 });
    const chained = finished(claims[0] as Claimed, {
      workflowState: "ready",
      nextStepName: "welcome",
      next: newExecution({ continuesFromId: claims[0]?.execution.id ?? null, waitingFor: "go" }),
    });
    const [done] = await store.finish([chained], { now: NOW });
    const nextId = done?.kind === "done" ? done.next?.id as string : "";
    assert.equal((await store.getExecution(nextId.toUpperCase()))?.id, nextId);
    assert.deepEqual(await store.claim([nextId.toUpperCase(), "42"], CLAIM), [
      { kind: "early", runAt: null },
      { kind: "missing" },
    ]);
    const signal = { name: "go", payload: "1", idempotencyKey: "k", graceMs: 0 };
    const [id] = ids as [string];
    const sent = await store.signal(id, signal, { now: NOW });
    assert.equal(sent.kind === "stored" && sent.job?.executionId, nextId);
    assert.equal((await store.signal(id, signal, { now: NOW })).kind, "known");
    const [woken] = await store.claimDue({ ...CLAIM, limit: 5 });
    assert.equal(woken?.execution.continuesFromId, claims[0]?.execution.id);
    assert.equal((await store.signals(id))[0]?.consumedById, nextId);
    await store.command(id, { kind: "cancel" }, { now: NOW });
    const gone = await store.purge({ before: after(1), limit: 5 });
    assert.deepEqual(gone, { workflows: 1, executions: 2 });
    assert.equal(rowCount(db, "pawl_signals"), 0);
  }, { keyType: "uuid" }));

Deno.test("MIG-01 a path is given as text, as a file URL, or as a URL object", () =>
  withFile(async (path) => {
    const first = sqliteStore(path);
    await first.migrate();
    await first.close();
    for (const source of [`file://${path}`, new URL(`file://${path}`)]) {
      const store = sqliteStore(source);
      assert.deepEqual(await store.counts(), []);
      await store.close();
    }
  }));
